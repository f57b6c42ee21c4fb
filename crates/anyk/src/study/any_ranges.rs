//! One any-gnn over budgets, antennas, loss targets, roads and service classes: trained over ranges, beside
//! the one that was trained in the paper's cell alone.

use super::verdict::either;
use super::{Lab, TEST_SEED};
use crate::Config;
use crate::framework::{Claim, Error, Quietly, Session, Table, strings};
use crate::network::SplitRule;
use crate::problems::urllc::{AnyPolicy, TestSet, TrainRanges, train_any_policy, wide_services};
use crate::qos::ServiceClass;

const SIZES: [usize; 2] = [10, 200];
/// Service classes of the mixed cells, and the seed of their draw: not a training's.
const MIXED: (usize, u64) = (8, 4242);

/// A cell, and the classes of its users if they are several.
struct Condition {
    label: String,
    config: Config,
    services: Vec<ServiceClass>,
}

fn conditions() -> Vec<Condition> {
    let mut list = Vec::new();
    let mut add = |label: &str, mixed: bool, change: &dyn Fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        let services = if mixed { wide_services(MIXED.1, MIXED.0) } else { vec![config.service] };
        list.push(Condition { label: label.to_owned(), config, services });
    };
    add("the paper's cell", false, &|_| ());
    for dbm in [20.0, 30.0, 50.0] {
        add(&format!("P_max {dbm} dBm"), false, &|config| config.cell.max_power_dbm = dbm);
    }
    for antennas in [1, 2, 64] {
        add(&format!("N_t {antennas}"), false, &|config| config.cell.antennas = antennas);
    }
    for epsilon in [1e-7, 1e-3] {
        add(&format!("ε {epsilon:e}"), false, &|config| config.service.epsilon = epsilon);
    }
    for radius_m in [500.0, 1000.0] {
        add(&format!("radius {radius_m} m"), false, &|c| c.road.cell_radius_m = radius_m);
    }
    add("packets of 1000 bit", false, &|config| config.service.packet_bits = 1000.0);
    add("eight classes", true, &|_| ());
    add("eight classes, N_t 32, 500 m, 46 dBm", true, &|config| {
        config.cell.antennas = 32;
        config.cell.max_power_dbm = 46.0;
        config.road.cell_radius_m = 500.0;
    });
    list
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let conditions = conditions();
    let parts = 2 * lab.runs() + conditions.len() as u64;
    lab.watched("any-gnn over ranges, parts", parts, || table(lab, &conditions))
        .map(|table| vec![table])
}

fn table(lab: &Lab<'_>, conditions: &[Condition]) -> Result<Table, Error> {
    let train = |ranges: TrainRanges| -> Result<Vec<AnyPolicy>, Error> {
        (0..lab.runs())
            .map(|run| {
                lab.go_on()?;
                let settings = lab.any_settings(ranges, SplitRule::Kkt, 100 + run);
                let policy = train_any_policy(
                    &lab.system,
                    &settings,
                    &mut Session::new(&Quietly(lab.observer)),
                )?;
                lab.observer.done(1);
                Ok(policy)
            })
            .collect()
    };
    let (narrow, wide) = (train(TrainRanges::Paper)?, train(TrainRanges::Wide)?);
    let (mut rows, mut worst) = (Vec::new(), [(1.0f64, 0.0f64); 2]);
    for Condition { label, config, services } in conditions {
        lab.go_on()?;
        let system = config.validate()?;
        let set = TestSet::draw_mixed(&system, services, &SIZES, lab.cells, TEST_SEED)?;
        let mut line = vec![label.clone()];
        line.extend(set.served().iter().map(ToString::to_string));
        for (policies, worst) in [&narrow, &wide].into_iter().zip(&mut worst) {
            let results = policies
                .iter()
                .map(|policy| set.evaluate(policy))
                .collect::<Result<Vec<_>, _>>()?;
            for (size, &served) in set.served().iter().enumerate() {
                if served == 0 {
                    line.push("–".to_owned());
                    continue;
                }
                let gaps = results.iter().map(|run| run[size].gap_percent);
                let gap = gaps.fold(f64::NEG_INFINITY, f64::max);
                let availability =
                    results.iter().map(|run| run[size].availability).fold(1.0, f64::min);
                *worst = (worst.0.min(availability), worst.1.max(gap));
                line.push(format!("{:.4}", if gap.abs() < 5e-5 { 0.0 } else { gap }));
            }
        }
        rows.push(line);
        lab.observer.done(1);
    }
    let availability = worst[0].0.min(worst[1].0);
    Ok(Table {
        name: "any-ranges".into(),
        title: "One any-gnn over budgets, antennas, loss targets, roads and service classes".into(),
        note: format!(
            "Bandwidth over the exact optimum in percent, the worst of {} trainings, of {} cells for each \
             condition less those that the budget cannot serve. Trained at K = 10 in the paper's cell alone, \
             any-gnn is at most {:.4} % over the optimum, trained over the wide ranges {:.4} %. {} (smallest \
             availability {availability:.4}).",
            lab.runs(),
            lab.cells,
            worst[0].1,
            worst[1].1,
            enough(availability),
        ),
        columns: strings([
            "condition",
            "served, K = 10",
            "K = 200",
            "trained on paper, K = 10",
            "K = 200",
            "trained wide, K = 10",
            "K = 200",
        ]),
        rows,
        claims: vec![Claim::own(
            "One any-gnn serves everyone over budgets, antennas, loss targets, roads and service classes",
            format!(
                "smallest availability {availability:.4}, at most {:.4} % over the optimum when trained over wide ranges",
                worst[1].1
            ),
            is_enough(availability),
        )],
        ..Table::default()
    })
}

/// Whether every user was served.
fn is_enough(availability: f64) -> bool {
    availability >= 1.0
}

/// What the smallest availability says of all answers.
fn enough(availability: f64) -> &'static str {
    either(
        is_enough(availability),
        [
            "Every user of every answer was served in either case: what was learned decides how much bandwidth is \
             spent, not whether it is enough",
            "Not every user was served",
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::enough;

    #[test]
    fn enough_is_enough_for_all() {
        assert!(enough(1.0).starts_with("Every user") && enough(0.999).starts_with("Not every"));
    }
}
