//! Measurements of propositions 1 to 4 and of the asymptotic forms of (P6).

use crate::verdict::{Trend, all_hold, covering, either, holds, is_within, listed};
use crate::{
    AsymptoticForm, Decoupling, EquivariantPolicy, ExactPower, Family, Lab, SizeLaw, SizeLawPoint,
    asymptotic_forms, decoupling, largest_size, size_law,
};
use anyk::System;
use anyk::framework::{Chart, Claim, Error, Series, Table, Value};
use anyk::math::{Exponent, Input, Moments};
use anyk::network::{Activation, Aggregator};
use anyk::row;

/// Seed of the networks and draws.
const SEED: u64 = 1;
/// Sizes at which networks are measured; each is compared with its double.
const SIZES: [usize; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// Numbers of networks of each family, and of draws of the other users: in a trial, by default, and with full effort.
const COUNTS: [(u64, u64); 3] = [(3, 30), (11, 300), (25, 2_000)];
/// Sizes and number of draws for the policies of proposition 1.
const POLICY_SIZES: [usize; 5] = [4, 16, 64, 256, 1024];
const POLICY_DRAWS: u64 = 5_000;

/// Families of networks.
const FAMILIES: [Family; 7] = {
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
        family(Mean, LeakyRelu, Identity, Input::Gaussian),
        family(Mean, Tanh, Identity, Input::Gaussian),
        family(Sum, LeakyRelu, Identity, Input::Gaussian),
        family(Sum, LeakyRelu, Sigmoid, Input::Exponential),
        family(Max, LeakyRelu, Identity, Input::Gaussian),
        family(Max, LeakyRelu, Identity, Input::Exponential),
        family(Max, LeakyRelu, Identity, Input::Uniform),
    ]
};

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (networks, draws) = lab.effort.of(COUNTS);
    let measure = |family: &Family| {
        lab.go_on()?;
        Ok(size_law(*family, &SIZES, (networks, draws), SEED, || lab.observer.done(1)))
    };
    let laws: Vec<SizeLaw> =
        lab.watched("random networks", networks * FAMILIES.len() as u64, || {
            FAMILIES.iter().map(measure).collect::<Result<_, Error>>()
        })?;
    let made = format!("medians of {networks} random networks, {draws} draws of the other users");
    let (spread, movement) = (spread(&laws, &made), movement(&laws, &made));
    let [first, .., last] = SIZES;
    let covers = format!("K = {first} to {last}, {networks} random networks, {draws} draws");
    Ok(vec![
        policies(),
        Table { claims: covering(spread.claims, &covers), ..spread },
        Table { claims: covering(movement.claims, &covers), ..movement },
        power_form(),
        bandwidth_form(&lab.system)?,
    ])
}

/// Format of an exponent and half the width of its interval.
const EXPONENT: &str = "{:+.2} ± {:.2}";

fn exponent(found: Option<Exponent>) -> Option<[f64; 2]> {
    found.map(|found| [found.value, found.half_width])
}

/// Returns how proposition 1 holds for a policy, by the trends of the deviation over the mean (`relative`) and of the
/// deviation itself (`absolute`).
fn decouples(relative: Trend, absolute: Trend) -> &'static str {
    match (relative.vanishes(), absolute.vanishes()) {
        (Some(false), _) => "does not hold",
        (Some(true), Some(true)) => either(relative == Trend::Falls, ["holds", "holds slowly"]),
        (Some(true), Some(false)) => "holds only relative to the mean",
        _ => "is undecided",
    }
}

impl Decoupling {
    fn verdict(&self) -> &'static str {
        let trend = |value: fn(&Moments) -> f64, exponent| {
            let points = self.points.iter().map(|(k, moments)| (*k as f64, value(moments)));
            Trend::of(&points.collect::<Vec<_>>(), exponent)
        };
        let relative = trend(|m| m.deviation() / m.mean.abs(), self.relative_exponent);
        decouples(relative, trend(Moments::deviation, self.exponent))
    }
}

/// Lists the rows with each verdict in words.
fn by_verdict(rows: &[(String, &'static str)]) -> String {
    let mut verdicts: Vec<&str> = Vec::new();
    for (_, verdict) in rows {
        if !verdicts.contains(verdict) {
            verdicts.push(verdict);
        }
    }
    let sentence = |verdict: &&str| {
        let names: Vec<&str> =
            rows.iter().filter(|row| row.1 == *verdict).map(|row| row.0.as_str()).collect();
        format!("{verdict} for {}", listed(&names))
    };
    format!("it {}", verdicts.iter().map(sentence).collect::<Vec<_>>().join(". It "))
}

fn policies() -> Table {
    let measured = EquivariantPolicy::ALL.map(|p| decoupling(p, &POLICY_SIZES, POLICY_DRAWS, SEED));
    let rows = measured.iter().map(|row| {
        let relative = row.points.iter().map(|(_, output)| output.deviation() / output.mean.abs());
        row![
            row.policy.label();
            relative;
            exponent(row.relative_exponent), exponent(row.exponent), row.verdict()
        ]
    });
    let curves = measured.iter().map(|row| {
        let points = row.points.iter();
        let relative =
            points.map(|(k, output)| (*k as f64, output.deviation() / output.mean.abs()));
        Series::solid(row.policy.label(), relative.collect())
    });
    Table {
        name: "proposition1".into(),
        title: "Proposition 1: relative spread of a user's output over draws of the other users"
            .into(),
        note: format!(
            "Standard deviation over mean of a user's output for a given x_k, over {POLICY_DRAWS} draws of the other \
             users. Proposition 1 holds if this ratio and the deviation itself fall with K; it holds slowly if the \
             ratio falls slowly, and only relative to the mean if only the ratio falls. Trends over K: {}. In theory, \
             the ratio scales as K^(−1/2) if a law of large numbers applies, as √(ln K/K) for the power with two \
             antennas, and as 1/√ln K with one.",
            Trend::RULE,
        ),
        claims: vec![
            Claim::paper(
                "Proposition 1: with many users, an output becomes a function of x_k and K",
                by_verdict(
                    &measured
                        .each_ref()
                        .map(|row| (format!("“{}”", row.policy.label()), row.verdict())),
                ),
                all_hold(measured.iter().map(|row| match row.verdict() {
                    "holds" | "holds slowly" => Some(true),
                    "is undecided" => None,
                    _ => Some(false),
                })),
            )
            .covering(format!("K = 4 to 1024, {POLICY_DRAWS} draws")),
        ],
        columns: row![
            "policy";
            POLICY_SIZES.map(|k| (format!("K = {k}"), "{:.4}"));
            ("exponent", EXPONENT), ("exponent of the deviation", EXPONENT), "proposition 1"
        ],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Standard deviation over mean of a user's output for a given x_k".into(),
            x_label: "number of users K".into(),
            y_label: "deviation / mean".into(),
            log_x: true,
            log_y: true,
            series: curves.collect(),
        }),
        ..Table::default()
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

/// Quantity that is measured on the networks.
#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    /// Spread of the output over draws of the other users. If it vanishes, the output is a function `q̂(x_k, K)`.
    /// Proposition 2 states this for the mean, and the first sentence of proposition 4 for sum and max.
    Spread,
    /// Change of the mean output from K to 2K users. If its sum over all doublings is finite, the output converges.
    /// Proposition 3 states this for the mean; proposition 4 denies it for sum and max.
    Movement,
}

impl Quantity {
    fn of(self, point: &SizeLawPoint) -> f64 {
        match self {
            Self::Spread => point.spread,
            Self::Movement => point.movement,
        }
    }

    fn exponent(self, law: &SizeLaw) -> Option<Exponent> {
        match self {
            Self::Spread => law.spread_exponent,
            Self::Movement => law.movement_exponent,
        }
    }

    fn trend(self, law: &SizeLaw) -> Trend {
        let points = law.points.iter().map(|point| (point.k as f64, self.of(point)));
        Trend::of(&points.collect::<Vec<_>>(), self.exponent(law))
    }

    /// Returns the proposition about this quantity, and whether it holds.
    fn proposition(self, law: &SizeLaw) -> (u32, Option<bool>) {
        let (mean, trend) = (law.family.aggregator == Aggregator::Mean, self.trend(law));
        match (self, mean) {
            (Self::Spread, true) => (2, trend.vanishes()),
            (Self::Spread, false) => (4, trend.vanishes()),
            (Self::Movement, true) => (3, trend.settles()),
            (Self::Movement, false) => (4, trend.settles().map(|settles| !settles)),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Movement => "movement",
        }
    }

    /// Describes what a row shows.
    fn shows(self, law: &SizeLaw) -> String {
        let (number, verdict) = self.proposition(law);
        format!(
            "proposition {number} {}: the {} {}",
            holds(verdict),
            self.word(),
            self.trend(law).word()
        )
    }

    /// Returns claims of the propositions about this quantity.
    fn claims(self, laws: &[SizeLaw]) -> Vec<Claim> {
        let said = |number: u32| match (self, number) {
            (_, 2) => {
                "Proposition 2: with the mean aggregator, an output becomes a function of x_k and K"
            }
            (_, 3) => "Proposition 3: with the mean aggregator, an output converges as K grows",
            (Self::Spread, _) => {
                "Proposition 4: with sum and max as well, an output becomes a function of x_k and K"
            }
            (Self::Movement, _) => {
                "Proposition 4: with sum and max, an output does not converge as K grows"
            }
        };
        let numbers: &[u32] = if self == Self::Spread { &[2, 4] } else { &[3, 4] };
        let claim = |&number: &u32| {
            let rows = laws.iter().filter(|law| self.proposition(law).0 == number);
            let words: Vec<(String, &'static str)> = rows
                .clone()
                .map(|law| {
                    (format!("“{}”", family_label(&law.family)), holds(self.proposition(law).1))
                })
                .collect();
            Claim::paper(
                said(number),
                by_verdict(&words),
                all_hold(rows.map(|law| self.proposition(law).1)),
            )
        };
        numbers.iter().map(claim).collect()
    }
}

/// Builds the table of one quantity of the networks: its value at each size, its exponent, and what it shows.
fn law_table(laws: &[SizeLaw], quantity: Quantity) -> Table {
    let value = |point: &SizeLawPoint| quantity.of(point);
    let rows = laws.iter().map(|law| {
        let values = law.points.iter().map(value);
        row![family_label(&law.family); values; exponent(quantity.exponent(law)), quantity.shows(law)]
    });
    let curves = laws.iter().map(|law| {
        let points = law.points.iter().map(|point| (point.k as f64, value(point)));
        Series::solid(family_label(&law.family), points.collect())
    });
    let columns = row![
        "network"; SIZES.map(|k| (format!("K = {k}"), "{:.2e}")); ("exponent", EXPONENT), "shows"
    ];
    let chart = Chart {
        x_label: "number of users K".into(),
        log_x: true,
        log_y: true,
        series: curves.collect(),
        ..Chart::default()
    };
    let claims = quantity.claims(laws);
    Table { columns, rows: rows.collect(), chart: Some(chart), claims, ..Table::default() }
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
        law_table(laws, Quantity::Spread),
        "proposition2",
        "Propositions 2 and 4: spread of a network's output over draws of the other users",
        format!(
            "For a given x_k, the output becomes a function of x_k and K if its spread falls, fast or slowly. \
             Proposition 2 states this for the mean, and the first sentence of proposition 4 for sum and max. Figures \
             are {made}. Trends over K: {}.",
            Trend::RULE,
        ),
        [
            "Standard deviation of the output over the other users, for a given x_k",
            "spread of the output",
        ],
    )
}

fn movement(laws: &[SizeLaw], made: &str) -> Table {
    titled(
        law_table(laws, Quantity::Movement),
        "proposition3",
        "Propositions 3 and 4: change of a network's mean output from K to 2K users",
        format!(
            "Proposition 3 says that the output converges with the mean aggregator, proposition 4 that it does not \
             with sum and max. It converges if its movement, the change from K to 2K users, falls and not only slowly, \
             so that the sum over all doublings of K is finite. The exponents of the mean are {} (leaky ReLU) and {} \
             (tanh) over these sizes; −1 is expected in the limit. Figures are {made}. Trends over K: {}.",
            Value::from(exponent(laws[0].movement_exponent)).text(EXPONENT),
            Value::from(exponent(laws[1].movement_exponent)).text(EXPONENT),
            Trend::RULE,
        ),
        [
            "Movement of the mean output from K to 2K users, for a given x_k",
            "movement of the output",
        ],
    )
}

/// Largest distance from 1 of a ratio that has reached its asymptotic form.
const AT_THE_FORM: f64 = 0.05;

/// Returns whether means have reached their asymptotic forms, by their ratios at the largest size.
fn are_there(last: &[f64]) -> bool {
    last.iter().all(|&ratio| is_within(ratio, 1.0, AT_THE_FORM))
}

/// Rate, sizes and number of realizations for the asymptotic bandwidth.
const RATE_BPS: f64 = 1e6;
const FORM_SIZES: [usize; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const FORM_REALIZATIONS: u64 = 1_000;

/// Builds the table of `f_3` and `f_4` of (P6) for users on the road.
fn bandwidth_form(system: &System) -> Result<Table, Error> {
    let draws = (FORM_REALIZATIONS, SEED);
    let forms = asymptotic_forms(system, RATE_BPS, &FORM_SIZES, draws)?;
    let most = largest_size(system, RATE_BPS)?;
    let ratio = |form: &AsymptoticForm| {
        form.asymptotic_hz.map(|asymptotic_hz| form.bandwidth_hz.mean / asymptotic_hz)
    };
    let rows = forms.iter().map(|form| {
        row![
            form.k,
            [form.power_ratio.mean, form.power_ratio.deviation()],
            form.bandwidth_hz.mean / 1e3,
            form.asymptotic_hz.map(|hz| hz / 1e3),
            ratio(form),
            form.bandwidth_hz.deviation() / form.bandwidth_hz.mean,
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
        title: "Optimum of (P6) relative to its asymptotic forms f_3 and f_4: users on the road, 1 Mbit/s each".into(),
        note: format!(
            "Means tend to their forms if they are within {:.0} % of them at K = 1000. There is no limit K → ∞: F(B) \
             only falls to N_0·s_0·ln 2, so a fixed P_max serves at most about {most:.0} users here, even with \
             unlimited bandwidth. {FORM_REALIZATIONS} cells for each K, P_max = 43 dBm.",
            100.0 * AT_THE_FORM,
        ),
        claims: vec![
            Claim::paper(
                "The means of P_k and B* of (P6) tend to f_3 and f_4",
                format!("ratios of {:.3} and {:.4} at K = 1000", power(1000), at(1000)),
                are_there(&[power(1000), at(1000)]),
            )
            .covering(format!("K up to 1000, {FORM_REALIZATIONS} cells for each K")),
        ],
        columns: row![
            "K",
            ("P_k/f_3 ± standard deviation", "{:.4} ± {:.4}"),
            ("mean B*", "kHz", "{:.2}"),
            ("f_4", "kHz", "{:.2}"),
            ("B*/f_4", "{:.4}"),
            ("standard deviation / mean of B*", "{:.4}"),
        ],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Optimum of (P6) relative to its asymptotic form".into(),
            x_label: "number of users K".into(),
            y_label: "ratio of the mean to the asymptotic form".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("P_k/f_3", curve(&|form| Some(form.power_ratio.mean))),
                Series::solid("B*/f_4", curve(&ratio)),
            ],
        }),
        ..Table::default()
    })
}

/// Builds the table of the mean exact power, by integration, relative to `f_3` of (P6).
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
        row![sizes[index], scaled[0][index].1 / 7.0, scaled[1][index].1, scaled[2][index].1,]
    });
    let [eight, two, one] = scaled;
    Table {
        name: "asymptotic-power".into(),
        title: "Mean power of (P6) relative to its asymptotic form f_3".into(),
        note: format!(
            "If E(1/g) is finite, the form is f_3 = P_max/(K·g_k·E(1/g)); means tend to it if they are within {:.0} % \
             of it at K = 1e6. With two antennas, the variance of 1/g is infinite. Under the Rayleigh fading of figure \
             2(c), E(1/g) is infinite and f_3 does not exist; K·g_k·P_k {} for K ≥ 1000 ({:.3} at K = 100, {:.3} at K \
             = 1e6). Trends over K: {}.",
            100.0 * AT_THE_FORM,
            Trend::fit(&one[5..]).word(),
            one[4].1,
            one[7].1,
            Trend::RULE,
        ),
        claims: vec![
            Claim::paper(
                "If E(1/g) is finite, the mean of P_k of (P6) tends to f_3",
                format!(
                    "ratios of {:.4} with eight antennas and {:.4} with two at K = 1e6",
                    eight[7].1 / 7.0,
                    two[7].1
                ),
                are_there(&[eight[7].1 / 7.0, two[7].1]),
            )
            .covering("K up to 1e6, by integration"),
        ],
        columns: row![
            "K",
            ("E(P_k)/f_3, g ~ Gamma(8, 1)", "{:.4}"),
            ("E(P_k)/f_3, g ~ Gamma(2, 1)", "{:.4}"),
            ("K·g_k·E(P_k)/P_max, Rayleigh", "{:.4}"),
        ],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Mean of the exact power relative to its asymptotic form".into(),
            x_label: "number of users K".into(),
            y_label: "E(P_k)/f_3; Rayleigh: K·g_k·E(P_k)/P_max".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("g ~ Gamma(8, 1)", eight.map(|(k, y)| (k, y / 7.0)).to_vec()),
                Series::solid("g ~ Gamma(2, 1)", two.to_vec()),
                Series::solid("Rayleigh: no f_3", one.to_vec()),
            ],
        }),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::framework::Holds;

    /// Builds a family of networks whose spread and movement are powers of K.
    fn law(aggregator: Aggregator, spread: f64, movement: f64) -> SizeLaw {
        let points = [16usize, 32, 64, 128].map(|k| SizeLawPoint {
            k,
            movement: (k as f64).powf(movement),
            spread: (k as f64).powf(spread),
        });
        let exponent = |value| Some(Exponent { value, half_width: 0.01 });
        let family = Family { aggregator, ..FAMILIES[0] };
        SizeLaw {
            family,
            points: points.to_vec(),
            movement_exponent: exponent(movement),
            spread_exponent: exponent(spread),
        }
    }

    /// The words follow from the data.
    #[test]
    fn propositions_follow_the_numbers() {
        use Aggregator::{Max, Mean, Sum};
        for (aggregator, exponent, spread, movement) in [
            (Mean, -0.5, "proposition 2 holds", "proposition 3 holds"),
            (Mean, 0.0, "proposition 2 does not hold", "proposition 3 does not hold"),
            (Mean, -0.1, "proposition 2 holds", "proposition 3 does not hold"),
            (Sum, 2.5, "proposition 4 does not hold", "proposition 4 holds"),
            (Max, -1.0, "proposition 4 holds", "proposition 4 does not hold"),
        ] {
            let law = law(aggregator, exponent, exponent);
            let shown = [Quantity::Spread, Quantity::Movement].map(|quantity| quantity.shows(&law));
            assert!(shown[0].starts_with(&format!("{spread}:")), "{exponent}: {shown:?}");
            assert!(shown[1].starts_with(&format!("{movement}:")), "{exponent}: {shown:?}");
        }
        let laws = [law(Mean, -0.5, -1.0), law(Sum, 2.5, 2.5), law(Max, -1.0, -1.0)];
        let claims = Quantity::Movement.claims(&laws);
        assert_eq!(claims[0].holds, Holds::Yes);
        assert!(claims[0].measured.starts_with("it holds for “mean"), "{claims:?}");
        assert_eq!(claims[1].holds, Holds::Partly);
        assert!(claims[1].measured.contains("holds for “sum"), "{claims:?}");
        assert!(claims[1].measured.contains("does not hold for “max"), "{claims:?}");
    }

    #[test]
    fn a_policy_decouples_by_both_of_its_deviations() {
        use Trend::{Falls, FallsSlowly, Grows, Stays, Undecided};
        for (relative, absolute, verdict) in [
            (Falls, Falls, "holds"),
            (FallsSlowly, Falls, "holds slowly"),
            (FallsSlowly, Stays, "holds only relative to the mean"),
            (Stays, Stays, "does not hold"),
            (Grows, Falls, "does not hold"),
            (Undecided, Falls, "is undecided"),
        ] {
            assert_eq!(decouples(relative, absolute), verdict);
        }
    }

    #[test]
    fn means_tend_to_a_form_or_do_not() {
        assert!(are_there(&[1.001, 0.99]) && !are_there(&[1.001, 1.2]));
    }
}
