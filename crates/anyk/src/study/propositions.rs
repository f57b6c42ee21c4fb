//! Propositions 1 to 4 and the asymptotic forms of (P6), measured.

use super::{
    AsymptoticForm, EquivariantPolicy, ExactPower, Family, Lab, SizeLaw, SizeLawPoint,
    asymptotic_forms, decoupling, largest_size, size_law,
};
use crate::System;
use crate::framework::{Chart, Error, ProblemError, Series, Table, strings};
use crate::math::{Exponent, Input};
use crate::network::{Activation, Aggregator};

/// Seed of networks and draws.
const SEED: u64 = 1;
/// Sizes at which networks are measured; each is compared with twice as many users.
const SIZES: [usize; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// Networks of each family, and draws of the other users: on trial, as usual, and in full.
const COUNTS: [(u64, u64); 3] = [(3, 30), (11, 300), (25, 2_000)];
/// Sizes and draws for the policies of proposition 1.
const POLICY_SIZES: [usize; 5] = [4, 16, 64, 256, 1024];
const POLICY_DRAWS: u64 = 5_000;

/// The families of networks, and what each one shows.
const FAMILIES: [(Family, [&str; 2]); 7] = {
    use Activation::{Identity, LeakyRelu, Sigmoid, Tanh};
    use Aggregator::{Max, Mean, Sum};
    const fn family(
        aggregator: Aggregator,
        hidden: Activation,
        output: Activation,
        input: Input,
    ) -> Family {
        Family { aggregator, hidden, output, input }
    }
    [
        (
            family(Mean, LeakyRelu, Identity, Input::Gaussian),
            ["proposition 2 holds", "proposition 3 holds"],
        ),
        (
            family(Mean, Tanh, Identity, Input::Gaussian),
            ["proposition 2 holds", "proposition 3 holds"],
        ),
        (
            family(Sum, LeakyRelu, Identity, Input::Gaussian),
            ["proposition 4: no q̂(x_k, K), the spread grows", "proposition 4 holds"],
        ),
        (
            family(Sum, LeakyRelu, Sigmoid, Input::Exponential),
            ["proposition 4: q̂(x_k, K) exists", "proposition 4 does not hold: saturated"],
        ),
        (
            family(Max, LeakyRelu, Identity, Input::Gaussian),
            ["proposition 4: slow, as 1/√ln K", "proposition 4 holds: sum of steps is √ln K"],
        ),
        (
            family(Max, LeakyRelu, Identity, Input::Exponential),
            ["proposition 4: no q̂(x_k, K), the spread stays", "proposition 4 holds: moves as ln K"],
        ),
        (
            family(Max, LeakyRelu, Identity, Input::Uniform),
            ["proposition 4: q̂(x_k, K) exists", "proposition 4 does not hold: bounded x"],
        ),
    ]
};

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (networks, draws) = lab.effort.of(COUNTS);
    let measure = |(family, _): &(Family, [&str; 2])| {
        lab.go_on()?;
        Ok(size_law(*family, &SIZES, (networks, draws), SEED, || lab.observer.done(1)))
    };
    let laws: Vec<SizeLaw> =
        lab.watched("random networks", networks * FAMILIES.len() as u64, || {
            FAMILIES.iter().map(measure).collect::<Result<_, Error>>()
        })?;
    let made = format!("medians of {networks} random networks, {draws} draws of the others");
    Ok(vec![
        policies(),
        spread(&laws, &made),
        movement(&laws, &made),
        power_form(),
        bandwidth_form(&lab.system)?,
    ])
}

fn exponent_cell(exponent: Option<Exponent>) -> String {
    exponent.map_or("–".to_owned(), |exponent| {
        format!("{:+.2} ± {:.2}", exponent.value, exponent.half_width)
    })
}

fn policies() -> Table {
    let measured = EquivariantPolicy::ALL.map(|p| decoupling(p, &POLICY_SIZES, POLICY_DRAWS, SEED));
    let verdict = |policy: EquivariantPolicy| match policy {
        EquivariantPolicy::Power { antennas: 1 } => "barely: as 1/√ln K",
        EquivariantPolicy::Power { antennas: 2 } => "holds: as √(ln K / K)",
        EquivariantPolicy::Power { .. } | EquivariantPolicy::Toy(_) => "holds",
        EquivariantPolicy::Largest => "only relative to ln K: the spread stays π/√6",
        EquivariantPolicy::Fluctuation => "does not hold: both stay",
    };
    let rows = measured.iter().map(|row| {
        let mut cells = vec![row.policy.label()];
        let relative = row.points.iter().map(|(_, output)| output.deviation() / output.mean.abs());
        cells.extend(relative.map(|spread| format!("{spread:.4}")));
        cells.extend([
            exponent_cell(row.relative_exponent),
            exponent_cell(row.exponent),
            verdict(row.policy).to_owned(),
        ]);
        cells
    });
    let curves = measured.iter().map(|row| {
        let points = row.points.iter();
        let relative =
            points.map(|(k, output)| (*k as f64, output.deviation() / output.mean.abs()));
        Series::solid(row.policy.label(), relative.collect())
    });
    let mut columns = strings(["policy"]);
    columns.extend(POLICY_SIZES.map(|k| format!("K = {k}")));
    columns.extend(strings(["exponent", "exponent, absolute", "proposition 1"]));
    Table {
        name: "proposition1".into(),
        title: "Proposition 1: what the others' draw does to a user's output, relative to its mean"
            .into(),
        note: format!(
            "The output becomes a function of x_k and K at the rate K^(−1/2) where a law of large numbers \
             stands behind it, hardly at all for the closed-form power under Rayleigh fading, and not for \
             every equivariant policy: the proposition as stated is wrong for the last row, and true of a \
             maximum only relative to a mean that grows (deviation over mean, {POLICY_DRAWS} draws)."
        ),
        columns,
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Deviation over mean of a user's output, given x_k".into(),
            x_label: "users K".into(),
            y_label: "deviation / mean".into(),
            log_x: true,
            log_y: true,
            series: curves.collect(),
        }),
    }
}

fn family_label(family: &Family) -> String {
    let aggregator = format!("{:?}", family.aggregator).to_lowercase();
    let activation = match (family.hidden, family.output) {
        (Activation::Tanh, _) => ", tanh",
        (_, Activation::Sigmoid) => ", sigmoid output",
        _ => "",
    };
    format!("{aggregator}{activation}, x {}", family.input.label())
}

/// A table of the networks: one quantity at each size, its exponent and what it shows.
fn law_table(
    laws: &[SizeLaw],
    shows: usize,
    value: fn(&SizeLawPoint) -> f64,
    exponent: fn(&SizeLaw) -> Option<Exponent>,
) -> Table {
    let rows = laws.iter().zip(&FAMILIES).map(|(law, (family, verdicts))| {
        let mut cells = vec![family_label(family)];
        cells.extend(law.points.iter().map(|point| format!("{:.2e}", value(point))));
        cells.extend([exponent_cell(exponent(law)), verdicts[shows].to_owned()]);
        cells
    });
    let curves = laws.iter().map(|law| {
        let points = law.points.iter().map(|point| (point.k as f64, value(point)));
        Series::solid(family_label(&law.family), points.collect())
    });
    let mut columns = strings(["network"]);
    columns.extend(SIZES.map(|k| format!("K = {k}")));
    columns.extend(strings(["exponent", "shows"]));
    let chart = Chart {
        x_label: "users K".into(),
        log_x: true,
        log_y: true,
        series: curves.collect(),
        ..Chart::default()
    };
    Table { columns, rows: rows.collect(), chart: Some(chart), ..Table::default() }
}

fn titled(table: Table, name: &str, title: &str, note: String, chart: [&str; 2]) -> Table {
    let [chart_title, y_label] = chart.map(str::to_owned);
    Table {
        name: name.to_owned(),
        title: title.to_owned(),
        note,
        chart: table.chart.map(|chart| Chart { title: chart_title, y_label, ..chart }),
        ..table
    }
}

fn spread(laws: &[SizeLaw], made: &str) -> Table {
    titled(
        law_table(laws, 0, |point| point.spread, |law| law.spread_exponent),
        "proposition2",
        "Propositions 2 and 4: spread of a network's output over the others",
        format!(
            "For given x_k the mean-GNN's output becomes a function of x_k and K (proposition 2), with a spread \
             like K^(−1/2); that sum and max do so too (proposition 4, first sentence) is not seen: under the \
             sum of Gaussian x the spread grows as fast as the output moves, under the max of exponential x it \
             stays ({made})."
        ),
        ["Standard deviation of the output over the others, given x_k", "spread of the output"],
    )
}

fn movement(laws: &[SizeLaw], made: &str) -> Table {
    titled(
        law_table(laws, 1, |point| point.movement, |law| law.movement_exponent),
        "proposition3",
        "Propositions 3 and 4: how far a network's mean output moves from K to 2K users",
        format!(
            "The mean-GNN's output settles (proposition 3), with the exponents {} (leaky ReLU) and {} (tanh) over \
             these sizes, where −1 is expected in the limit; those of sum and max keep moving (proposition 4), \
             but proposition 4 needs more than it says: with bounded x the max settles like 1/K as well, and a \
             sum into a saturating output even faster ({made}).",
            exponent_cell(laws[0].movement_exponent),
            exponent_cell(laws[1].movement_exponent),
        ),
        ["Movement of the mean output from K to 2K users, given x_k", "movement of the output"],
    )
}

/// Rate, sizes and realizations of the asymptotic bandwidth.
const RATE_BPS: f64 = 1e6;
const FORM_SIZES: [usize; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const FORM_REALIZATIONS: u64 = 1_000;

/// `f_3` and `f_4` of (P6) for users on the road.
fn bandwidth_form(system: &System) -> Result<Table, Error> {
    let draws = (FORM_REALIZATIONS, SEED);
    let forms =
        asymptotic_forms(system, RATE_BPS, &FORM_SIZES, draws).map_err(ProblemError::from)?;
    let most = largest_size(system, RATE_BPS).map_err(ProblemError::from)?;
    let ratio = |form: &AsymptoticForm| {
        form.asymptotic_hz.map(|asymptotic_hz| form.bandwidth_hz.mean / asymptotic_hz)
    };
    let absent = || "–".to_owned();
    let rows = forms.iter().map(|form| {
        vec![
            form.k.to_string(),
            format!("{:.4} ± {:.4}", form.power_ratio.mean, form.power_ratio.deviation()),
            format!("{:.2}", form.bandwidth_hz.mean / 1e3),
            form.asymptotic_hz.map_or_else(absent, |hz| format!("{:.2}", hz / 1e3)),
            ratio(form).map_or_else(absent, |ratio| format!("{ratio:.4}")),
            format!("{:.4}", form.bandwidth_hz.deviation() / form.bandwidth_hz.mean),
        ]
    });
    let curve = |value: &dyn Fn(&AsymptoticForm) -> Option<f64>| {
        forms.iter().filter_map(|form| Some((form.k as f64, value(form)?))).collect()
    };
    let form = |k: usize| forms.iter().find(|form| form.k == k);
    let at = |k: usize| form(k).and_then(ratio).unwrap_or(0.0);
    let power = |k: usize| form(k).map_or(0.0, |form| form.power_ratio.mean);
    Ok(Table {
        name: "asymptotic-bandwidth".into(),
        title: "Asymptotic forms f_3 and f_4 of (P6): users on the road, 1 Mbit/s each".into(),
        note: format!(
            "The means of P_k and B* tend to f_3 and f_4, as the paper says: they are {:.3} and {:.3} of them at \
             K = 10, {:.3} and {:.4} at 100, {:.3} and {:.4} at 1000; but there is no limit K → ∞, since F(B) \
             falls only to N_0·s_0·ln 2 and a fixed P_max serves no more than about {most:.0} users here, \
             whatever the bandwidth ({FORM_REALIZATIONS} cells for each K, P_max = 43 dBm).",
            power(10),
            at(10),
            power(100),
            at(100),
            power(1000),
            at(1000),
        ),
        columns: strings([
            "K",
            "P_k/f_3 ± deviation",
            "mean B* (kHz)",
            "f_4 (kHz)",
            "B*/f_4",
            "deviation / mean of B*",
        ]),
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Optimum of (P6) over its asymptotic form".into(),
            x_label: "users K".into(),
            y_label: "ratio of the mean to the asymptotic form".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("P_k/f_3", curve(&|form| Some(form.power_ratio.mean))),
                Series::solid("B*/f_4", curve(&ratio)),
            ],
        }),
    })
}

/// `f_3` of (P6) against the mean of the exact power, by integration.
fn power_form() -> Table {
    let antennas = [8, 2, 1];
    let sizes: [f64; 8] = [2.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6];
    // g_k is the mean gain; the ratio does not depend on it for large K.
    let scaled = antennas.map(|antennas| {
        let exact = ExactPower::new(antennas);
        let gain = f64::from(antennas);
        sizes.map(|k| (k, k * gain * exact.given(k, gain).0))
    });
    let rows = (0..sizes.len()).map(|index| {
        vec![
            format!("{}", sizes[index]),
            format!("{:.4}", scaled[0][index].1 / 7.0),
            format!("{:.4}", scaled[1][index].1),
            format!("{:.4}", scaled[2][index].1),
        ]
    });
    let [eight, two, one] = scaled;
    Table {
        name: "asymptotic-power".into(),
        title: "Asymptotic form f_3 of (P6): the power".into(),
        note: format!(
            "Where E(1/g) is finite the mean of P_k tends to f_3 = P_max/(K·g_k·E(1/g)), as the paper says, \
             fast with eight antennas ({:.4} of it at K = 100) and slowly with two ({:.3}), whose 1/g has no \
             variance; under the Rayleigh fading of its figure 2(c) f_3 does not exist, and K·g_k·P_k falls \
             without end ({:.3} at K = 100, {:.3} at a million).",
            eight[4].1 / 7.0,
            two[4].1,
            one[4].1,
            one[7].1,
        ),
        columns: strings([
            "K",
            "E(P_k)/f_3, g ~ Gamma(8, 1)",
            "E(P_k)/f_3, g ~ Gamma(2, 1)",
            "K·g_k·E(P_k)/P_max, Rayleigh",
        ]),
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Mean of the exact power over its asymptotic form".into(),
            x_label: "users K".into(),
            y_label: "E(P_k)/f_3; Rayleigh: K·g_k·E(P_k)/P_max".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("g ~ Gamma(8, 1)", eight.map(|(k, y)| (k, y / 7.0)).to_vec()),
                Series::solid("g ~ Gamma(2, 1)", two.to_vec()),
                Series::solid("Rayleigh: no f_3", one.to_vec()),
            ],
        }),
    }
}
