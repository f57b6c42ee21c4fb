//! Figures 2(a) and 2(b): how often WMMSE gives a link full power.

use crate::verdict::{Trend, either, holds, holds_from, paper_says};
use crate::{FullPower, GainBin, Lab, full_power, strings};
use anyk::framework::{Chart, Claim, Error, Series, Table};
use anyk::math::Exponent;

/// The paper's sizes.
const SIZES: [usize; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
/// Seed of the networks.
const SEED: u64 = 1;
/// Realizations for each size: on trial, as usual, and the paper's.
const REALIZATIONS: [u64; 3] = [20, 2_000, 100_000];

impl Lab<'_> {
    /// Realizations of each size for the figures on WMMSE.
    fn networks(&self) -> u64 {
        self.effort.of(REALIZATIONS)
    }

    /// WMMSE at every size; each is kept when it is done.
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
        let cells = measured.iter().map(|row| {
            row.bins[bin].probability().map_or("–".to_owned(), |share| format!("{share:.3}"))
        });
        std::iter::once(format!("{:.1}", GainBin::gain(bin))).chain(cells).collect()
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
    let mut columns = strings(["g_kk ± 0.1"]);
    columns.extend(SIZES.map(|k| format!("K = {k}")));
    Ok(vec![Table {
        name: "fig2a".into(),
        title: "Figure 2(a): probability of full power under WMMSE, by the own gain".into(),
        note: format!(
            "{} ({} networks for each K, 100 iterations from full power, P_max = σ_0 = 1.)",
            gain_note(&at),
            lab.networks(),
        ),
        claims: gain_claims(&at),
        columns,
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Pr{P_k = P_max} of a link, given its own gain".into(),
            x_label: "gain g_kk of the link, ± 0.1".into(),
            y_label: "Pr{P_k = P_max}".into(),
            log_x: false,
            log_y: false,
            series: curves,
        }),
        ..Table::default()
    }])
}

/// A probability this close to 0 or 1 is there; two that differ by more are different.
const PROBABILITY: f64 = 0.05;

/// The paper's words about figure 2(a), by the probabilities `at(K, g_kk)`.
fn gain_claims(at: &impl Fn(usize, f64) -> f64) -> Vec<Claim> {
    let GainLaw { low, high, still } = GainLaw::of(at);
    let in_time = |from: Option<usize>| from.is_some_and(|k| k <= 50);
    let probability = |k, gain| format!("{:.2} at g_kk = {gain} for K = {k}", at(k, gain));
    vec![
        Claim::paper(
            "From K = 50 on a link with g_kk ≤ 1 hardly ever has full power",
            probability(50, 1.0),
            in_time(low),
        ),
        Claim::paper(
            "From K = 50 on a link with g_kk ≥ 2 nearly always has full power",
            probability(50, 2.0),
            in_time(high),
        ),
        Claim::paper(
            "The probability of full power, given g_kk, hardly changes from K = 50 to 100",
            format!("{:.2}, then {}", at(50, 2.0), probability(100, 2.0)),
            still,
        ),
    ]
}

/// From which sizes on the paper's words hold of small and large gains, and whether the probability stays.
struct GainLaw {
    low: Option<usize>,
    high: Option<usize>,
    still: bool,
}

impl GainLaw {
    fn of(at: &impl Fn(usize, f64) -> f64) -> Self {
        let from = |holds: &dyn Fn(usize) -> bool| holds_from(&SIZES.map(|k| (k, holds(k))));
        let low = from(&|k| at(k, 1.0) <= PROBABILITY);
        let high = from(&|k| at(k, 2.0) >= 1.0 - PROBABILITY);
        let moved = [2.0, 3.0].map(|gain| (at(100, gain) - at(50, gain)).abs()).into_iter();
        Self { low, high, still: moved.fold(0.0, f64::max) <= PROBABILITY }
    }
}

/// What the probabilities `at(K, g_kk)` say of the paper's words about figure 2(a).
fn gain_note(at: &impl Fn(usize, f64) -> f64) -> String {
    let said = |from: Option<usize>| match from {
        Some(k) if k <= 50 => format!("holds, from K = {k} on"),
        Some(k) => format!("holds only from K = {k} on"),
        None => "does not hold".to_owned(),
    };
    let GainLaw { low, high, still } = GainLaw::of(at);
    format!(
        "The paper says ≈ 0 for g_kk ≤ 1 and ≈ 1 for g_kk ≥ 2, almost invariant to K for K ≥ 50. To {PROBABILITY}, the \
         first {} ({:.2} at g_kk = 1 for K = 10, {:.3} for K = 50), the second {} ({:.2} at g_kk = 2 and {:.2} at \
         g_kk = 3 for K = 50), and the third {} ({:.2} at g_kk = 2 and {:.2} at g_kk = 3 for K = 100).",
        said(low),
        at(10, 1.0),
        at(50, 1.0),
        said(high),
        at(50, 2.0),
        at(50, 3.0),
        holds(Some(still)),
        at(100, 2.0),
        at(100, 3.0),
    )
}

pub(crate) fn fig2b(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let measured = lab.full_power()?;
    let rows = measured.iter().map(|row| {
        vec![
            row.k.to_string(),
            format!("{:.4}", row.full.mean),
            format!("{:.5}", row.full.standard_error()),
            format!("{:.2}", row.k as f64 * row.full.mean),
            format!("{:.2}", 100.0 * row.binary.mean),
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
        title: "Figure 2(b): probability of full power under WMMSE, on average".into(),
        note: format!(
            "The paper says that it “changes slowly with K when K is large” and concludes that the policy is \
             asymptotically size-invariant; measured, it goes from {:.3} at K = 10 to {:.3} at 50 and {:.3} at 100, \
             like K to the power {:.2} ± {:.2} (from K = 50 on {:.2} ± {:.2}), and the number of links at full power \
             from {:.1} to {:.1}: {} ({}; {} networks for each K). At least {:.1} % of the powers are 0 or P_max; that \
             it is over 95 % {}.",
            at(10),
            at(50),
            at(100),
            rate.value,
            rate.half_width,
            late.value,
            late.half_width,
            10.0 * at(10),
            100.0 * at(100),
            invariance(Trend::of_exponent(late)),
            Trend::RULE,
            lab.networks(),
            100.0 * binary,
            holds(Some(binary > BINARY)),
        ),
        claims: vec![
            Claim::paper(
                "Figure 2(b): the probability of full power under WMMSE changes slowly when K is large, so that the \
                 policy is asymptotically size-invariant",
                format!("from K = 50 on it goes as K^({:.2} ± {:.2})", late.value, late.half_width),
                is_invariant(Trend::of_exponent(late)),
            ),
            Claim::paper(
                "Over 95 % of WMMSE's powers are 0 or P_max",
                format!("at least {:.1} %", 100.0 * binary),
                binary > BINARY,
            ),
        ],
        columns: strings([
            "K",
            "Pr{P_k = P_max}",
            "standard error",
            "links at full power",
            "0 or P_max (%)",
        ]),
        rows: rows.collect(),
        chart: Some(Chart {
            title: "Pr{P_k = P_max} on average over all links".into(),
            x_label: "links K".into(),
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

/// The share of powers that are 0 or P_max, by the paper.
const BINARY: f64 = 0.95;

/// Whether a probability that does this with K is that of a size-invariant policy.
fn is_invariant(late: Trend) -> bool {
    late == Trend::Stays
}

/// What the probability of full power at large K says of size-invariance.
fn invariance(late: Trend) -> String {
    let same = is_invariant(late);
    let words = either(same, ["that is size-invariance", "that is no size-invariance"]);
    format!("it {} there, {words}, {}", late.word(), paper_says(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        // A step at 1.5 whatever K is, as the paper has it; and one that moves.
        let paper = gain_note(&|_, gain| if gain < 1.5 { 0.0 } else { 1.0 });
        assert!(paper.contains("the first holds, from K = 10 on"), "{paper}");
        assert!(paper.contains("the second holds") && paper.contains("the third holds"), "{paper}");
        let moving = gain_note(&|k, gain| (gain * 10.0 / k as f64).min(0.9));
        assert!(moving.contains("the first does not hold"), "{moving}");
        assert!(moving.contains("the second does not hold"), "{moving}");
        assert!(moving.contains("the third does not hold"), "{moving}");
        let late = gain_note(&|k, gain| if k < 60 || gain > 1.5 { 1.0 } else { 0.0 });
        assert!(late.contains("the first holds only from K = 60 on"), "{late}");
        let held = |claims: Vec<Claim>| claims.into_iter().map(|c| c.holds).collect::<Vec<_>>();
        let paper = gain_claims(&|_, gain| if gain < 1.5 { 0.0 } else { 1.0 });
        assert_eq!(held(paper), [Some(true); 3]);
        let moving = gain_claims(&|k, gain| (gain * 10.0 / k as f64).min(0.9));
        assert_eq!(held(moving), [Some(false); 3]);
        assert!(invariance(Trend::Stays).contains("that is size-invariance, as the paper says"));
        assert!(invariance(Trend::Falls).contains("that is no size-invariance, against the paper"));
    }
}
