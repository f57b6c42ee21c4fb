//! Figures 1 and 2(c): effect of the number of users on policies with a formula.

use crate::verdict::{Trend, covering, either, is_exponent};
use crate::{ExactPower, Lab, PowerSpread, power_spread};
use anyk::diagnosis::{ToyPoint, ToyPolicy, toy_policies};
use anyk::framework::{Chart, Claim, Error, Series, Table, Value};
use anyk::math::Exponent;
use anyk::row;

/// Seed of the draws of both figures.
const SEED: u64 = 1;

/// Given inputs, sizes and number of draws of figure 1.
const TOY_OWN: [f64; 2] = [1.0, 2.0];
const TOY_SIZES: [usize; 9] = [2, 3, 5, 10, 20, 50, 100, 200, 500];
const TOY_DRAWS: u64 = 10_000;

/// Sizes of figure 2(c), sizes of its table, and realizations for each size, all as in the paper.
const POWER_SIZES: std::ops::RangeInclusive<usize> = 2..=100;
const POWER_ROWS: [usize; 9] = [2, 3, 5, 10, 20, 30, 50, 70, 100];
const POWER_REALIZATIONS: u64 = 100_000;
/// Sizes beyond the paper's, computed by integration.
const LARGE_SIZES: [f64; 11] = [2.0, 5.0, 10.0, 30.0, 50.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7];

pub(crate) fn fig1(_: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let points = toy_policies(&TOY_OWN, &TOY_SIZES, TOY_DRAWS, SEED);
    let of = |policy: ToyPolicy, own: f64| -> Vec<&ToyPoint> {
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        points.iter().filter(|point| point.policy == policy && same(point.own, own)).collect()
    };
    let name = |policy| if policy == ToyPolicy::One { "policy 1" } else { "policy 2" };
    let (mut rows, mut measured, mut limits) = (vec![], vec![], vec![]);
    for policy in ToyPolicy::ALL {
        for (index, k) in TOY_SIZES.into_iter().enumerate() {
            let values = TOY_OWN.map(|own| {
                let ToyPoint { output, asymptotic, .. } = of(policy, own)[index];
                [[output.mean, output.deviation()].into(), Value::from(*asymptotic)]
            });
            rows.push(row![name(policy), k; values.into_iter().flatten()]);
        }
        for own in TOY_OWN {
            let points = of(policy, own);
            let curve = |value: fn(&ToyPoint) -> f64| {
                points.iter().map(|point| (point.k as f64, value(point))).collect()
            };
            let label = format!("{}, x_k = {own}", name(policy));
            let interval = |point: &&ToyPoint| {
                let (mean, deviation) = (point.output.mean, point.output.deviation());
                (mean - deviation, mean + deviation)
            };
            measured.push(Series {
                spread: Some(points.iter().map(interval).collect()),
                ..Series::solid(label.clone(), curve(|point| point.output.mean))
            });
            limits.push(Series::dashed(format!("{label}, f(x_k, K)"), curve(|p| p.asymptotic)));
        }
    }
    // Growth from K = 10 to the largest size for x_k = 1, and distance of policy 1 from its asymptotic form at K = 2.
    let growth = |policy| {
        let points = of(policy, 1.0);
        let [small, large] = [3, TOY_SIZES.len() - 1].map(|index| points[index].output.mean);
        100.0 * (large / small - 1.0)
    };
    let trend = |policy| {
        let large = of(policy, 1.0).into_iter().filter(|point| point.k >= 10);
        Trend::fit(&large.map(|point| (point.k as f64, point.output.mean)).collect::<Vec<_>>())
    };
    let smallest = of(ToyPolicy::One, 1.0)[0];
    let off = 100.0 * (smallest.output.mean / smallest.asymptotic - 1.0);
    let columns = TOY_OWN.map(|own| {
        let mean = format!("mean y_k ± standard deviation, x_k = {own}");
        [(mean, "{:.4} ± {:.4}"), (format!("f(x_k, K), x_k = {own}"), "{:.4}")]
    });
    Ok(vec![Table {
        name: "fig1".into(),
        title: "Figure 1: output of two toy policies against the number of users K".into(),
        note: format!(
            "Policy 1 is y_k = x_k/(1 + (1/K)·Σ_(j≠k) x_j), policy 2 is y_k = x_k·ln(1 + Σ_(j≠k) x_j), with \
             exponential x of mean 1 ({TOY_DRAWS} draws). The paper gives no formulas; these are AnyK's. At K = 2, \
             policy 1 differs from its asymptotic form f(x_k, K) by {off:+.0} %. Trends over K: {}.",
            Trend::RULE,
        ),
        claims: vec![
            Claim::paper(
                "Figure 1: of two policies, one stays constant and the other grows with K",
                format!(
                    "from K = 10 to 500, they change by {:+.1} % and {:+.0} % for x_k = 1",
                    growth(ToyPolicy::One),
                    growth(ToyPolicy::Two)
                ),
                is_toy_law(trend(ToyPolicy::One), trend(ToyPolicy::Two)),
            )
            .covering(format!("K = 2 to 500, {TOY_DRAWS} draws")),
        ],
        columns: row!["", "K"; columns.into_iter().flatten()],
        rows,
        chart: Some(Chart {
            title: "Output y_k for a given x_k: mean and standard deviation over the other users"
                .into(),
            x_label: "number of users K".into(),
            y_label: "y_k".into(),
            log_x: true,
            log_y: true,
            series: measured.into_iter().chain(limits).collect(),
        }),
        ..Table::default()
    }])
}

/// Returns whether the first policy stays constant and the second grows, as the paper says.
fn is_toy_law(one: Trend, two: Trend) -> bool {
    one == Trend::Stays && two == Trend::Grows
}

pub(crate) fn fig2c(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    lab.go_on()?;
    let sizes: Vec<usize> = POWER_SIZES.collect();
    let parts = sizes.len() as u64;
    let realizations =
        lab.effort.of([POWER_REALIZATIONS / 100, POWER_REALIZATIONS, POWER_REALIZATIONS]);
    let spread = lab.watched("power of users in the window, sizes", parts, || {
        power_spread(&sizes, realizations, SEED, || lab.observer.done(1))
    });
    let exact = ExactPower::new(1);

    let mut rows = Vec::new();
    for row in spread.iter().filter(|row| POWER_ROWS.contains(&row.k)) {
        let (mean, deviation) = (row.power.mean, row.power.deviation());
        let (exact_mean, exact_deviation) = exact.in_window(row.k as f64);
        rows.push(row![
            row.k,
            row.power.count,
            mean,
            exact_mean,
            deviation,
            exact_deviation,
            deviation / mean,
            row.k as f64 * mean,
        ]);
    }
    let curve = |value: fn(f64, f64) -> f64| -> Vec<(f64, f64)> {
        let points = spread.iter();
        points.map(|row| (row.k as f64, value(row.power.mean, row.power.deviation()))).collect()
    };
    let band = spread.iter().map(|row| {
        let (mean, deviation) = (row.power.mean, row.power.deviation());
        (mean - deviation, mean + deviation)
    });
    let integrated = |value: fn((f64, f64)) -> f64| {
        sizes.iter().map(|&k| (k as f64, value(exact.in_window(k as f64)))).collect()
    };
    let first = Table {
        name: "fig2c".into(),
        title: "Figure 2(c): closed-form power of a user with g_k in (0.9, 1.1) against K, Rayleigh fading".into(),
        note: format!(
            "{realizations} realizations for each K, P_max = 1; “integrated” comes from an exact formula. A deviation \
             of at most {:.0} % of P_max counts as close to zero. A power whose deviation is more than {:.0} % of its \
             mean at K = 100 is not a function of g_k and K only.",
            100.0 * NEXT_TO_ZERO,
            100.0 * SPREAD_OUT,
        ),
        claims: covering(
            spread_claims(
                &curve(|_, deviation| deviation),
                &curve(|mean, deviation| deviation / mean),
            ),
            &format!("K = 2 to 100, {realizations} realizations for each K"),
        ),
        columns: row![
            "K",
            "users in the window",
            ("mean P_k", "{:.5}"),
            ("mean P_k, integrated", "{:.5}"),
            ("standard deviation", "{:.5}"),
            ("standard deviation, integrated", "{:.5}"),
            ("deviation / mean", "{:.3}"),
            ("K·P_k", "{:.3}"),
        ],
        rows,
        chart: Some(Chart {
            title: "Power of a user with g_k in (0.9, 1.1): mean, with a band of ± one standard deviation".into(),
            x_label: "number of users K".into(),
            y_label: "P_k / P_max".into(),
            log_x: false,
            log_y: true,
            series: vec![
                Series {
                    spread: Some(band.collect()),
                    ..Series::solid("mean", curve(|mean, _| mean))
                },
                Series::solid("standard deviation", curve(|_, deviation| deviation)),
                Series::dashed("mean, integrated", integrated(|exact| exact.0)),
                Series::dashed("standard deviation, integrated", integrated(|exact| exact.1)),
            ],
        }),
        ..Table::default()
    };
    let relative = relative_spread(&exact, curve(|mean, deviation| deviation / mean), &spread);
    Ok(vec![first, relative])
}

/// Largest deviation, as a share of P_max, that counts as close to zero.
const NEXT_TO_ZERO: f64 = 0.05;
/// Relative spread above which an output is not a function of `x_k` and K only.
const SPREAD_OUT: f64 = 0.1;

/// Returns the value of a curve over K at a size.
fn at(points: &[(f64, f64)], size: f64) -> f64 {
    let found = points.iter().find(|(k, _)| (k / size - 1.0).abs() < 1e-9);
    found.map_or(f64::NAN, |point| point.1)
}

/// Returns claims about the deviation, absolute and relative to the mean; both are curves over K.
fn spread_claims(deviation: &[(f64, f64)], relative: &[(f64, f64)]) -> Vec<Claim> {
    vec![
        Claim::paper(
            "The deviation of the closed-form power approaches zero when K ≥ 30",
            format!("{:.4} of P_max at K = 30", at(deviation, 30.0)),
            deviation.iter().filter(|point| point.0 >= 30.0).all(|point| point.1 <= NEXT_TO_ZERO),
        ),
        Claim::own(
            "Relative to its mean, the closed-form power still varies, so it is not a function of g_k and K only",
            format!(
                "its standard deviation is {:.0} % of its mean at K = 100",
                100.0 * at(relative, 100.0)
            ),
            at(relative, 100.0) > SPREAD_OUT,
        ),
    ]
}

/// Builds the table of that power relative to its mean, for K far beyond 100.
fn relative_spread(
    exact: &ExactPower,
    simulated: Vec<(f64, f64)>,
    spread: &[PowerSpread],
) -> Table {
    let large = LARGE_SIZES.map(|k| (k, exact.in_window(k)));
    let rows = large.iter().map(|&(k, (mean, deviation))| {
        row![
            if k < 1e5 { k.into() } else { Value::formatted([k], "{:e}") },
            k * mean,
            k * mean * k.ln(),
            deviation / mean,
            deviation / mean * k.ln().sqrt(),
        ]
    });
    let at = |size: f64| {
        let found = large.iter().find(|(k, _)| (k / size - 1.0).abs() < 1e-9);
        found.map_or((0.0, 0.0), |&(k, (mean, deviation))| (k * mean, 100.0 * deviation / mean))
    };
    let curve = |value: fn(f64, (f64, f64)) -> f64| {
        let sizes = (0..=70).map(|index| 2.0 * 10f64.powf(f64::from(index) / 10.0));
        sizes.map(|k| (k, value(k, exact.in_window(k)))).collect()
    };
    type Exact = (f64, (f64, f64));
    let far = |value: fn(Exact) -> f64| -> Vec<(f64, f64)> {
        large.iter().filter(|point| point.0 >= 1e3).map(|&point| (point.0, value(point))).collect()
    };
    let scaled = spread.iter().map(|row| (row.k as f64, row.k as f64 * row.power.mean)).collect();
    Table {
        name: "fig2c-relative".into(),
        title: "Figure 2(c), continued: scaled power and relative spread up to K = 1e7, Rayleigh fading".into(),
        note: format!(
            "E(1/g) is infinite for Rayleigh fading, so the paper's f_3 = P_max/(K·g_k·E(1/g)) is 0. K·P_k goes from \
             {:.3} at K = 10 to {:.3} at K = 100 and {:.3} at K = 1e6, {}. The relative spread goes from {:.0} % to \
             {:.0} % and {:.0} %, {}. The powers of ln K are fitted for K ≥ 1000; “like” means that the expected power \
             is within the 95 % interval plus 0.1.",
            at(10.0).0,
            at(100.0).0,
            at(1e6).0,
            logarithmic(&far(|(k, (mean, _))| k * mean), ("1/ln K", -1.0)),
            at(10.0).1,
            at(100.0).1,
            at(1e6).1,
            logarithmic(&far(|(_, (mean, deviation))| deviation / mean), ("1/√ln K", -0.5)),
        ),
        columns: row![
            "K",
            ("K·P_k", "{:.4}"),
            ("K·P_k·ln K", "{:.3}"),
            ("deviation / mean", "{:.4}"),
            ("deviation / mean · √ln K", "{:.3}"),
        ],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Scaled power and relative spread up to K = 2e7".into(),
            x_label: "number of users K".into(),
            y_label: "ratio".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("K·P_k / P_max, simulated", scaled),
                Series::solid("deviation / mean, simulated", simulated),
                Series::dashed("K·P_k / P_max, integrated", curve(|k, exact| k * exact.0)),
                Series::dashed("deviation / mean, integrated", curve(|_, e| e.1 / e.0)),
            ],
        }),
        ..Table::default()
    }
}

/// Describes the power of ln K that a curve follows, compared with the expected one.
fn logarithmic(points: &[(f64, f64)], (name, expected): (&str, f64)) -> String {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(k, value)| (k.ln(), value)).collect();
    let found = Exponent::fit(&logs);
    let like = either(is_exponent(found, expected), ["like", "unlike"]);
    match found {
        Some(Exponent { value, half_width }) => {
            format!("proportional to (ln K)^({value:.2} ± {half_width:.2}), {like} {name}")
        }
        None => format!("{like} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::framework::Holds;

    #[test]
    fn verdicts_follow_the_numbers() {
        assert!(is_toy_law(Trend::Stays, Trend::Grows));
        assert!(!is_toy_law(Trend::Grows, Trend::Grows) && !is_toy_law(Trend::Stays, Trend::Stays));
        let points = |scale: f64| [2.0, 30.0, 100.0].map(|k| (k, scale / k));
        let held = |deviation, relative| {
            let claims = spread_claims(&points(deviation), &points(relative));
            claims.into_iter().map(|claim| claim.holds).collect::<Vec<_>>()
        };
        assert_eq!(held(1.0, 30.0), [Holds::Yes; 2]);
        assert_eq!(held(10.0, 1.0), [Holds::No; 2]);
        let logs = |power: f64| [1e3f64, 1e4, 1e5, 1e6].map(|k| (k, k.ln().powf(power)));
        assert!(logarithmic(&logs(-1.0), ("1/ln K", -1.0)).ends_with(", like 1/ln K"));
        assert!(logarithmic(&logs(-0.2), ("1/ln K", -1.0)).ends_with(", unlike 1/ln K"));
    }
}
