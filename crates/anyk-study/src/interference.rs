//! Figures 2(a) and 2(b): how often WMMSE gives a link full power.

use crate::verdict::{Trend, covering};
use crate::{FullPower, GainBin, Lab, full_power};
use anyk::framework::{Chart, Claim, Error, Holds, Series, Table};
use anyk::math::Exponent;
use anyk::row;

/// Numbers of links, as in the paper.
const SIZES: [usize; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
/// Seed of the networks.
const SEED: u64 = 1;
/// Realizations for each size: in a trial, by default, and as in the paper.
const REALIZATIONS: [u64; 3] = [20, 2_000, 100_000];

impl Lab<'_> {
    /// Describes what the verdicts cover.
    fn networks_words(&self) -> String {
        format!("K = 10 to 100, {} networks for each K", self.networks())
    }

    /// Number of realizations for each size.
    fn networks(&self) -> u64 {
        self.effort.of(REALIZATIONS)
    }

    /// Runs WMMSE at every size. Each size is cached when it is done.
    fn full_power(&self) -> Result<Vec<FullPower>, Error> {
        let realizations = self.networks();
        let measure = |&k: &usize| -> Result<FullPower, Error> {
            let key = (k, realizations, SEED);
            if let Some(known) = self.cache.find("full power", &key)? {
                self.observer.done(realizations);
                return Ok(known);
            }
            self.go_on()?;
            let measured = full_power(k, realizations, SEED, || self.observer.done(1))
                .map_err(Error::other)?;
            self.cache.keep("full power", &key, &measured)?;
            Ok(measured)
        };
        self.watched("WMMSE, networks", realizations * SIZES.len() as u64, || {
            SIZES.iter().map(measure).collect()
        })
    }
}

pub(crate) fn fig2a(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let measured = lab.full_power()?;
    let bins = measured.first().map_or(0, |first| first.bins.len());
    let rows = (0..bins).map(|bin| {
        let shares = measured.iter().map(|row| row.bins[bin].probability());
        row![GainBin::gain(bin); shares]
    });
    let curve = |row: &FullPower| {
        let bins = row.bins.iter().enumerate();
        bins.filter_map(|(bin, links)| Some((GainBin::gain(bin), links.probability()?))).collect()
    };
    let shown = [10, 20, 50, 100];
    let curves: Vec<Series> = measured
        .iter()
        .filter(|row| shown.contains(&row.k))
        .map(|row| Series::solid(format!("K = {}", row.k), curve(row)))
        .collect();
    let at = |k: usize, gain: f64| {
        let row = measured.iter().find(|row| row.k == k);
        let bin = (0..bins).find(|&bin| (GainBin::gain(bin) - gain).abs() < 1e-9);
        row.zip(bin).and_then(|(row, bin)| row.bins[bin].probability()).unwrap_or(0.0)
    };
    Ok(vec![Table {
        name: "fig2a".into(),
        title: "Figure 2(a): probability of full power under WMMSE against the direct gain".into(),
        note: format!(
            "{} networks for each K, 100 iterations of WMMSE from full power, P_max = σ_0 = 1. Probabilities that \
             differ by at most {PROBABILITY} count as equal.",
            lab.networks(),
        ),
        claims: covering(gain_claims(&at), &lab.networks_words()),
        columns: row![("g_kk ± 0.1", "{:.1}"); SIZES.map(|k| (format!("K = {k}"), "{:.3}"))],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Pr{P_k = P_max} of a link against its direct gain".into(),
            x_label: "direct gain g_kk of the link, ± 0.1".into(),
            y_label: "Pr{P_k = P_max}".into(),
            log_x: false,
            log_y: false,
            series: curves,
        }),
        ..Table::default()
    }])
}

/// Largest difference between probabilities that count as equal.
const PROBABILITY: f64 = 0.05;

/// Returns claims of the paper about figure 2(a), checked on the probabilities `at(K, g_kk)`.
fn gain_claims(at: &impl Fn(usize, f64) -> f64) -> Vec<Claim> {
    let from_50 = |holds: &dyn Fn(usize) -> bool| {
        Holds::in_all(SIZES.into_iter().filter(|&k| k >= 50).map(holds))
    };
    let moved = [2.0, 3.0].map(|gain| (at(100, gain) - at(50, gain)).abs());
    let probability =
        |k, gain| format!("the probability is {:.2} at g_kk = {gain} for K = {k}", at(k, gain));
    vec![
        Claim::paper(
            "For K ≥ 50, a link with g_kk ≤ 1 hardly ever has full power",
            probability(50, 1.0),
            from_50(&|k| at(k, 1.0) <= PROBABILITY),
        ),
        Claim::paper(
            "For K ≥ 50, a link with g_kk ≥ 2 nearly always has full power",
            probability(50, 2.0),
            from_50(&|k| at(k, 2.0) >= 1.0 - PROBABILITY),
        ),
        Claim::paper(
            "The probability of full power for a given g_kk hardly changes from K = 50 to 100",
            format!(
                "at g_kk = 2, it is {:.2} for K = 50 and {:.2} for K = 100",
                at(50, 2.0),
                at(100, 2.0)
            ),
            Holds::in_all(moved.map(|moved| moved <= PROBABILITY)),
        ),
    ]
}

pub(crate) fn fig2b(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let measured = lab.full_power()?;
    let rows = measured.iter().map(|row| {
        row![
            row.k,
            row.full.mean,
            row.full.standard_error(),
            row.k as f64 * row.full.mean,
            100.0 * row.binary.mean,
        ]
    });
    let points: Vec<(f64, f64)> =
        measured.iter().map(|row| (row.k as f64, row.full.mean)).collect();
    let exponent = |points: &[(f64, f64)]| {
        Exponent::fit(points).unwrap_or(Exponent { value: 0.0, half_width: f64::INFINITY })
    };
    let (rate, late) = (exponent(&points), exponent(&points[4..]));
    let at = |k: usize| measured.iter().find(|row| row.k == k).map_or(0.0, |row| row.full.mean);
    let binary = measured.iter().map(|row| row.binary.mean).fold(1.0, f64::min);
    let spread = measured.iter().map(|row| {
        let (mean, error) = (row.full.mean, row.full.standard_error());
        (mean - 2.0 * error, mean + 2.0 * error)
    });
    let fitted = points.iter().map(|&(k, _)| (k, at(50) * (k / 50.0).powf(rate.value))).collect();
    Ok(vec![Table {
        name: "fig2b".into(),
        title:
            "Figure 2(b): mean probability of full power under WMMSE against the number of links K"
                .into(),
        note: format!(
            "{} networks for each K. Over all K, the probability scales as K^({:.2} ± {:.2}), and the number of links \
             at full power goes from {:.1} to {:.1}. Trends over K: {}.",
            lab.networks(),
            rate.value,
            rate.half_width,
            10.0 * at(10),
            100.0 * at(100),
            Trend::RULE,
        ),
        claims: covering(
            [
                Claim::paper(
                    "Figure 2(b): the probability of full power under WMMSE changes slowly when K is large, so the \
                     policy is asymptotically size-invariant",
                    format!(
                        "for K ≥ 50, it scales as K^({:.2} ± {:.2})",
                        late.value, late.half_width
                    ),
                    is_invariant(Trend::of_exponent(late)),
                ),
                Claim::paper(
                    "More than 95 % of WMMSE's powers are 0 or P_max",
                    format!("at least {:.1} %", 100.0 * binary),
                    binary > BINARY,
                ),
            ],
            &lab.networks_words(),
        ),
        columns: row![
            "K",
            ("Pr{P_k = P_max}", "{:.4}"),
            ("standard error", "{:.5}"),
            ("links at full power", "{:.2}"),
            ("powers that are 0 or P_max", "%", "{:.2}"),
        ],
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Pr{P_k = P_max} of a link, mean over all links".into(),
            x_label: "number of links K".into(),
            y_label: "Pr{P_k = P_max}".into(),
            log_x: true,
            log_y: true,
            series: vec![
                Series {
                    spread: Some(spread.collect()),
                    ..Series::solid("WMMSE, ± 2 standard errors", points.clone())
                },
                Series::dashed(format!("∝ K^({:.2}), fitted", rate.value), fitted),
            ],
        }),
        ..Table::default()
    }])
}

/// Share of powers that are 0 or P_max according to the paper.
const BINARY: f64 = 0.95;

/// Returns whether a probability with this trend belongs to a size-invariant policy.
fn is_invariant(late: Trend) -> bool {
    late == Trend::Stays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_numbers() {
        let held = |claims: Vec<Claim>| claims.into_iter().map(|c| c.holds).collect::<Vec<_>>();
        // A step at g_kk = 1.5 for every K, as in the paper; then a step that moves with K.
        let paper = gain_claims(&|_, gain| if gain < 1.5 { 0.0 } else { 1.0 });
        assert_eq!(held(paper), [Holds::Yes; 3]);
        let moving = gain_claims(&|k, gain| (gain * 10.0 / k as f64).min(0.9));
        assert_eq!(held(moving), [Holds::No; 3]);
        let late = gain_claims(&|k, gain| if k < 60 || gain > 1.5 { 1.0 } else { 0.0 });
        assert_eq!(held(late), [Holds::Partly, Holds::Yes, Holds::Yes]);
        assert!(is_invariant(Trend::Stays) && !is_invariant(Trend::Falls));
    }
}
