//! Networks of links with weights: trained at one size over random weights, measured at others.

use rayon::prelude::*;

use super::{Lab, TEST_SEED};
use crate::channel::D2dField;
use crate::framework::{Counted, Error, Model, Table, strings};
use crate::problems::interference::{
    PASSES, PowerOutput, PowerPolicy, PowerSizeResult, RandomLinks, Scenario, WeightLaw, Wmmse,
    WmmseSettings, power_over_sizes,
};

/// Iterations of WMMSE beside the usual 100, after which it still rises where links have weights.
const MORE_ITERATIONS: usize = 1000;
/// Weights of training and test.
const LAW: WeightLaw = WeightLaw::LogUniform;
/// Sizes, and networks of each: on trial, as usual, in full.
const SIZES: [(usize, [u64; 3]); 5] = [
    (20, [2, 200, 1000]),
    (50, [2, 100, 500]),
    (100, [1, 50, 250]),
    (200, [1, 25, 100]),
    (500, [1, 10, 50]),
];
/// What makes powers of the outputs of one and the same network.
const OUTPUTS: [(&str, PowerOutput); 3] = [
    ("powers", PowerOutput::Priced { steps: 1 }),
    ("network alone", PowerOutput::Sigmoid),
    ("schedule", PowerOutput::Ranked { passes: PASSES }),
];

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let runs = lab.trainings_or(10, 5);
    let scenario = Scenario::D2d(D2dField::DEFAULT);
    let trained = lab.watched("networks, trainings", runs, || {
        let settings = |run| lab.links_settings(scenario, 100 + run).with_weights(LAW);
        let train = |run| lab.links_policy(&settings(run), OUTPUTS[0].1);
        (0..runs).into_par_iter().map(train).collect::<Result<Vec<_>, Error>>()
    })?;
    // All outputs of the first training, then of the second.
    let all = |policy: &PowerPolicy| OUTPUTS.map(|(_, output)| policy.with_output(output));
    let policies: Vec<PowerPolicy> = trained.iter().flat_map(all).collect();
    let counts = SIZES.map(|(size, counts)| (size, lab.effort.of(counts)));
    let networks = counts.iter().map(|count| count.1).sum();
    let results = lab.watched("networks measured", networks, || {
        let measure = |&count| measure(lab, scenario, &policies, count);
        counts.iter().map(measure).collect::<Result<Vec<_>, Error>>()
    })?;
    Ok(vec![shown(&results, runs)])
}

/// All policies at a size; then the means of WMMSE after more iterations, and of full power, over that of the usual
/// WMMSE, in percent.
type Measured = (PowerSizeResult, f64, f64);

/// Measures a size.
fn measure(
    lab: &Lab<'_>,
    scenario: Scenario,
    policies: &[PowerPolicy],
    (size, samples): (usize, u64),
) -> Result<Measured, Error> {
    let records: Vec<_> = policies.iter().map(Model::record).collect();
    lab.cache.get_or("links, weighted", &(records, size, samples, MORE_ITERATIONS), || {
        lab.go_on()?;
        let networks = RandomLinks { scenario, weights: Some(LAW) };
        let counted = Counted(lab.observer);
        let results = power_over_sizes(networks, policies, &[size], samples, TEST_SEED, &counted);
        let result = results.map_err(Error::other)?.into_iter().next().ok_or(Error::Interrupted)?;
        let settings = WmmseSettings { iterations: MORE_ITERATIONS, ..WmmseSettings::default() };
        let others = |index: u64| -> Result<(f64, f64), Error> {
            lab.go_on()?;
            let problem = networks.draw(TEST_SEED, size, index).map_err(Error::other)?;
            let longer = Wmmse::new(settings).solve(&problem).sum_rate_bits;
            Ok((longer, problem.sum_rate_bits(&vec![1.0; size])))
        };
        let others = (0..samples).into_par_iter().map(others);
        let others = others.collect::<Result<Vec<(f64, f64)>, Error>>()?;
        let percent = |one: fn(&(f64, f64)) -> f64| {
            100.0 * others.iter().map(one).sum::<f64>() / samples as f64 / result.wmmse_bits
        };
        let (longer, full) = (percent(|pair| pair.0), percent(|pair| pair.1));
        Ok((result, longer, full))
    })
}

fn shown(results: &[Measured], runs: u64) -> Table {
    type Cell<'a> = &'a dyn Fn(&PowerSizeResult, f64) -> f64;
    let row = |label: String, digits: usize, value: Cell<'_>| {
        let value = |(result, longer, _): &Measured| value(result, *longer);
        let cells = results.iter().map(|result| format!("{:.digits$}", value(result)));
        std::iter::once(label).chain(cells).collect::<Vec<String>>()
    };
    // Of all trainings with an output, the one at a place from the worst.
    let at = |result: &PowerSizeResult, output: usize, place: fn(usize) -> usize| {
        let of_output = result.policies.iter().skip(output).step_by(OUTPUTS.len());
        let mut percents: Vec<f64> = of_output.map(|policy| policy.sum_rate_percent).collect();
        percents.sort_by(f64::total_cmp);
        percents[place(percents.len()).min(percents.len() - 1)]
    };
    let mut rows = Vec::new();
    for (output, (name, _)) in OUTPUTS.iter().enumerate() {
        rows.push(row(format!("{name}, worst of {runs} trainings"), 2, &|result, _| {
            at(result, output, |_| 0)
        }));
        if output == 0 {
            rows.push(row(format!("{name}, second worst"), 2, &|result, _| {
                at(result, output, |_| 1)
            }));
        }
        rows.push(row(format!("{name}, median"), 2, &|result, _| {
            at(result, output, |count| count / 2)
        }));
    }
    rows.extend([
        row(format!("WMMSE, {MORE_ITERATIONS} iterations"), 2, &|_, longer| longer),
        row("FPLinQ".into(), 2, &|result, _| result.fplinq_percent),
        row("greedy".into(), 2, &|result, _| result.greedy_percent),
        row("greedy, links tried again".into(), 2, &|result, _| result.greedy_improved_percent),
        std::iter::once("full power".to_owned())
            .chain(results.iter().map(|(.., full)| format!("{full:.2}")))
            .collect(),
        row("WMMSE: weighted bit/s/Hz".into(), 3, &|result, _| result.wmmse_bits),
    ]);
    let longer = || results.iter().map(|measured| measured.1);
    let (least, most) = (longer().fold(f64::INFINITY, f64::min), longer().fold(0.0, f64::max));
    let mut columns = strings(["% of WMMSE's mean weighted sum rate"]);
    columns.extend(results.iter().map(|result| format!("K = {}", result.0.k)));
    Table {
        name: "links-weighted".into(),
        title:
            "Weighted sum rate on device-to-device fields, learned at K = 50 over random weights"
                .into(),
        note: format!(
            "Weights are log-uniform from 0.1 to 10, of each link on its own, in training and in the networks of seed \
             {TEST_SEED} that are measured on. WMMSE takes 100 iterations from full power, as everywhere; \
             {MORE_ITERATIONS} of them reach {least:.1} to {most:.1} % of that. Powers are the network's \
             after one step to the prices of interference; a schedule switches links on in the order of its outputs."
        ),
        columns,
        rows,
        chart: None,
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::interference::PowerPolicyResult;

    /// Trainings lie output by output within each: rows show the right ones.
    #[test]
    fn rows_are_those_of_their_output() {
        let policy = |sum_rate_percent| PowerPolicyResult {
            sum_rate_bits: 1.0,
            sum_rate_percent,
            power_share: 0.5,
        };
        let result = PowerSizeResult {
            k: 20,
            wmmse_bits: 1.0,
            standard_error_bits: 0.0,
            fplinq_percent: 97.0,
            greedy_percent: 96.0,
            greedy_improved_percent: 98.0,
            exact_percent: None,
            wmmse_power_share: 0.5,
            policies: [103.0, 91.0, 82.0, 101.0, 93.0, 81.0, 102.0, 92.0, 83.0]
                .map(policy)
                .to_vec(),
        };
        let rows = shown(&[(result, 105.0, 60.0)], 3).rows;
        let cells: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(cells[..3], ["101.00", "102.00", "102.00"], "{rows:?}");
        assert_eq!(cells[11], "60.00", "{rows:?}");
        assert_eq!(cells[3..8], ["91.00", "92.00", "81.00", "82.00", "105.00"], "{rows:?}");
    }
}
