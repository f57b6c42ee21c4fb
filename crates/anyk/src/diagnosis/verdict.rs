//! What samples say about a policy: is it equivariant, is it size-invariant, and what is its size law?

use serde::Serialize;

use super::estimate::{Curve, Estimate};
use super::law::{self, Law, LawScore};
use super::order::{self, Order};
use super::{DiagnosisError, Samples, Subject};
use crate::math::Exponent;

/// A change of `f` by less when K doubles, at the largest sizes, is no change in practice.
pub const STILL: f64 = 0.05;
/// Standard error of such a change under which an input says whether there is one.
const SURE: f64 = 0.025;
/// Standard errors from [`STILL`] on which a change is one: 99 %, five inputs are tried.
const CLEAR: f64 = 2.6;
/// The inner function of a normalisation may change by so much when K doubles.
const STILL_INNER: f64 = 0.1;

/// Whether something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The samples do not say.
    Undecided,
}

/// Whether `f(x, K)` still changes at the largest sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invariance {
    /// Whether it is within 5 % when K doubles.
    pub answer: Answer,
    /// The size that the largest is compared with.
    pub from_k: usize,
    /// The largest size.
    pub to_k: usize,
    /// Change of `f` when K doubles, percent, at each input.
    pub changes_percent: Vec<f64>,
    /// Their standard errors.
    pub errors_percent: Vec<f64>,
}

impl Invariance {
    /// The change that is furthest from 0 of those that are known best, percent.
    pub fn largest_percent(&self) -> f64 {
        let rows = || self.changes_percent.iter().zip(&self.errors_percent);
        let best = rows().map(|row| *row.1).fold(f64::INFINITY, f64::min);
        let known = rows().filter(|row| *row.1 <= (100.0 * SURE).max(best));
        known.map(|row| *row.0).fold(0.0, |a, b| if b.abs() > a.abs() { b } else { a })
    }
}

/// The size law of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum SizeLaw {
    /// `f(x)`: no K.
    Constant,
    /// `y_k = c·w(x_k)/Σ_j w(x_j)`: falls as 1/K.
    Normalised {
        /// `Σ_k y_k = c`.
        sum: f64,
    },
    /// `a(x)·K^r`.
    Power,
    /// `a(x) + b(x) ln K`.
    Logarithmic,
    /// `a·K^(r + c ln K)`.
    DriftingPower,
    /// None of these.
    None,
}

/// Everything that is found about a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What goes in and what comes out.
    pub label: String,
    /// Sizes, ascending.
    pub sizes: Vec<usize>,
    /// Samples of each size.
    pub samples: Vec<usize>,
    /// Whether it is known which users belong together; if not, intervals may be too narrow.
    pub clustered: bool,
    /// Whether the order of the users matters.
    pub order: Order,
    /// `f(x, K)`.
    pub estimate: Estimate,
    /// Whether the output becomes a function of the own input and K.
    pub decouples: bool,
    /// Whether `f` still changes.
    pub invariance: Invariance,
    /// The size law.
    pub law: SizeLaw,
    /// Fitted exponent `r` of `f ∝ K^r`, geometric mean over the inputs, large sizes.
    pub exponent: Option<Exponent>,
    /// What each law misses of the largest sizes if it does not see them.
    pub scores: Vec<LawScore>,
    /// Change of the inner function of a normalisation when K doubles, percent; where the outputs of every
    /// instance have the same sum.
    pub inner_change_percent: Option<f64>,
    /// The inner function, likewise.
    #[serde(skip)]
    pub inner: Option<Estimate>,
}

/// Realizations that are put into another order.
const ORDER_CASES: u64 = 20;

impl Diagnosis {
    /// Of a policy that can be called, from samples of it.
    pub fn of_subject(
        subject: &Subject,
        samples: &Samples,
        seed: u64,
    ) -> Result<Self, DiagnosisError> {
        // In the middle: large enough to notice, small enough to be quick.
        let sizes: Vec<usize> = samples.sizes().iter().map(|size| size.k).collect();
        let k = sizes.iter().copied().filter(|&k| k > 1).nth(sizes.len() / 2).unwrap_or(2);
        let order = Order::called(subject.order_error(k, ORDER_CASES, seed)?);
        Ok(Self::of(subject.label(), samples, order))
    }

    /// Of samples alone.
    pub fn of_samples(label: String, samples: &Samples) -> Self {
        Self::of(label, samples, order::from_samples(samples))
    }

    fn of(label: String, samples: &Samples, order: Order) -> Self {
        let estimate = Estimate::of(samples);
        let invariance = invariance(&estimate.curves);
        let curves = law::fitted(&estimate.curves);
        let scores = law::scores(&Law::ASYMPTOTIC, &curves);
        let inner = samples.common_sum().and_then(|_| Estimate::inner(samples));
        let inner_change = inner.as_ref().map(|inner| movement(&inner.curves));
        let law = match (samples.common_sum(), inner_change) {
            (Some(sum), Some(change)) if change <= STILL_INNER => SizeLaw::Normalised { sum },
            _ if invariance.answer == Answer::Yes => SizeLaw::Constant,
            _ => match law::choose(&scores).map(|score| score.law) {
                // A constant that is still moving is none, and the samples do not say what else.
                Some(Law::Constant | Law::Settling) if invariance.answer == Answer::Undecided => {
                    SizeLaw::Constant
                }
                Some(Law::Constant | Law::Settling | Law::Power) => SizeLaw::Power,
                Some(Law::Logarithmic) => SizeLaw::Logarithmic,
                Some(Law::DriftingPower) => SizeLaw::DriftingPower,
                None => SizeLaw::None,
            },
        };
        let sizes: Vec<usize> = samples.sizes().iter().map(|size| size.k).collect();
        let means = sizes.iter().map(|&k| {
            let at = curves.iter().filter_map(|points| points.iter().find(|point| point.k == k));
            let logs: Vec<f64> = at.map(|point| point.value.ln()).collect();
            (k as f64, (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        });
        Self {
            label,
            samples: samples.sizes().iter().map(super::SizeSamples::users).collect(),
            clustered: samples.clustered(),
            decouples: estimate.spread_vanishes(),
            exponent: Exponent::fit(&means.collect::<Vec<_>>()),
            order,
            invariance,
            law,
            scores,
            inner_change_percent: inner_change.map(|change| 100.0 * change),
            inner,
            estimate,
            sizes,
        }
    }

    /// The law in a few words.
    pub fn law_text(&self) -> String {
        let exponent = self.exponent.map_or(String::new(), |exponent| {
            format!("K^({:+.2} ± {:.2})", exponent.value, exponent.half_width)
        });
        let grows = self.exponent.is_some_and(|exponent| exponent.value > 0.0);
        let way = if grows { "grows" } else { "falls" };
        match self.law {
            SizeLaw::Constant => "constant".to_owned(),
            SizeLaw::Normalised { sum } => format!("1/K: normalised, every sum is {sum:.4}"),
            SizeLaw::Power => format!("{way} as {exponent}"),
            SizeLaw::Logarithmic => format!("{way} as a + b ln K (about {exponent})"),
            SizeLaw::DriftingPower => {
                format!("{way} as K^(r + c ln K), on average {exponent}")
            }
            SizeLaw::None => format!("none of the laws tried (on average {exponent})"),
        }
    }
}

/// The two sizes between which the end of a curve is looked at: the largest, and the largest that is at
/// most half of it, or else the last before.
fn ends(curve: &Curve) -> Option<(&super::Point, &super::Point)> {
    let (last, before) = curve.points.split_last()?;
    let half = before.iter().rev().find(|point| 2 * point.k <= last.k);
    Some((half.or(before.last())?, last))
}

fn invariance(curves: &[Curve]) -> Invariance {
    let mut changes = Vec::new();
    let (mut from_k, mut to_k) = (0, 0);
    for (first, last) in curves.iter().filter_map(ends) {
        (from_k, to_k) = (first.k, last.k);
        let doublings = (last.k as f64 / first.k as f64).log2();
        let ratio = last.value / first.value;
        if ratio > 0.0 && ratio.is_finite() {
            let relative = |point: &super::Point| (point.standard_error / point.value).powi(2);
            let error = (relative(first) + relative(last)).sqrt() / doublings;
            changes.push((ratio.ln() / doublings, error));
        }
    }
    let clear = |&(change, error): &(f64, f64)| change.abs() - CLEAR * error > STILL;
    let known: Vec<&(f64, f64)> = changes.iter().filter(|change| change.1 <= SURE).collect();
    let answer = if changes.iter().any(clear) {
        Answer::No
    } else if !known.is_empty() && known.iter().all(|change| change.0.abs() <= STILL) {
        Answer::Yes
    } else {
        Answer::Undecided
    };
    Invariance {
        answer,
        from_k,
        to_k,
        changes_percent: changes.iter().map(|change| 100.0 * change.0.exp_m1()).collect(),
        errors_percent: changes.iter().map(|change| 100.0 * change.1).collect(),
    }
}

/// Largest change of values that are logarithms already, for each doubling of K.
fn movement(curves: &[Curve]) -> f64 {
    let ends = curves.iter().filter_map(ends);
    let change = ends.map(|(first, last)| {
        (last.value - first.value).abs() / (last.k as f64 / first.k as f64).log2()
    });
    change.fold(0.0, f64::max)
}
