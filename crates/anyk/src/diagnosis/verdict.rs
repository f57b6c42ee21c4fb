//! Diagnosis of a policy from samples: equivariance, size invariance and the size law.

use serde::Serialize;

use super::estimate::{Curve, Estimate};
use super::law::Law;
use super::order::{self, Order};
use super::selection::{LawScore, Selection};
use super::{Samples, Subject, Support};
use crate::framework::Error;
use crate::math::Exponent;

/// Relative change over a decade of K that must be excluded before a policy without a visible change counts as
/// constant.
const UNSEEN: f64 = 0.15;

/// Answer to a yes-no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The property holds.
    Yes,
    /// The property does not hold.
    No,
    /// The samples do not decide.
    Undecided,
}

/// Size invariance of a policy: whether `f(x, K)` stops changing as K grows, and how much it still changes at the
/// largest sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invariance {
    /// Whether the size law has a limit other than 0.
    pub answer: Answer,
    /// Size that is compared with the largest.
    pub from_k: usize,
    /// Largest size.
    pub to_k: usize,
    /// Change of `f` when K doubles at each input, in percent.
    pub changes_percent: Vec<f64>,
    /// Standard errors of the changes, in percent.
    pub errors_percent: Vec<f64>,
}

impl Invariance {
    /// Returns the change of largest magnitude among the most accurate ones, with its standard error, both in
    /// percent.
    pub fn largest_percent(&self) -> (f64, f64) {
        let rows = || self.changes_percent.iter().copied().zip(self.errors_percent.iter().copied());
        let best = rows().map(|row| row.1).fold(f64::INFINITY, f64::min);
        let known = rows().filter(|row| row.1 <= 2.0 * best);
        known.fold((0.0, 0.0), |a: (f64, f64), b| if b.0.abs() > a.0.abs() { b } else { a })
    }
}

/// Size law of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum SizeLaw {
    /// `f(x)`, independent of K.
    Constant,
    /// `a(x) + b(x)/K^p`: has a limit.
    Settling,
    /// `a(x)·K/(K + b)` or `a(x) + b(x)·e^(−K/τ)`: has a limit.
    Saturating,
    /// `Σ_k y_k = c` in every instance, with no negative output: falls as 1/K.
    Normalised {
        /// Sum `c`.
        sum: f64,
    },
    /// `a(x)·K^r`.
    Power,
    /// `a(x) + b(x) ln K`.
    Logarithmic,
    /// `a(x)·e^(bK)`.
    Exponential,
    /// `a·K^(r + c ln K)`.
    DriftingPower,
    /// No size law, because none of the size laws tried fits.
    None,
    /// Undecided, because there are too few samples or they are too noisy.
    Undecided,
}

/// Complete diagnosis of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Label of the policy: its output and its input.
    pub label: String,
    /// Sizes in ascending order.
    pub sizes: Vec<usize>,
    /// Number of samples of each size.
    pub samples: Vec<usize>,
    /// Whether the samples identify the users of the same instance; otherwise the intervals may be too narrow.
    pub clustered: bool,
    /// Signs of the outputs.
    pub support: Support,
    /// Sum of the outputs if it is the same in every instance.
    pub sum: Option<f64>,
    /// Whether the order of the users matters.
    pub order: Order,
    /// Estimate of `f(x, K)`.
    pub estimate: Estimate,
    /// Whether the output becomes a function of the user's own input and K.
    pub decouples: bool,
    /// Whether `f` still changes.
    pub invariance: Invariance,
    /// Size law.
    pub law: SizeLaw,
    /// Exponent `r` of `f ∝ K^r`, fitted to the geometric mean over the inputs at large sizes.
    pub exponent: Option<Exponent>,
    /// Largest change of `f` over a decade of K, in percent, that the samples do not exclude if `f` is a power of K.
    pub unseen_percent: Option<f64>,
    /// Goodness of fit of each size law.
    pub scores: Vec<LawScore>,
    /// Change of the inner function of a normalization when K doubles, in percent, if the outputs of every instance
    /// have the same sum.
    pub inner_change_percent: Option<f64>,
    /// Inner function of a normalization, if the outputs of every instance have the same sum.
    #[serde(skip)]
    pub inner: Option<Estimate>,
    /// Selected form with its coefficients.
    #[serde(skip)]
    pub(super) selection: Selection,
}

/// Number of realizations that are repeated with their users in another order.
const ORDER_CASES: u64 = 20;

impl Diagnosis {
    /// Diagnoses a policy that can be called, from samples of it.
    pub fn of_subject(subject: &mut Subject, samples: &Samples, seed: u64) -> Result<Self, Error> {
        // A size in the middle is large enough to show an effect and small enough to be fast.
        let sizes: Vec<usize> = samples.sizes().iter().map(|size| size.k).collect();
        let k = sizes.iter().copied().filter(|&k| k > 1).nth(sizes.len() / 2).unwrap_or(2);
        let order = Order::called(subject.order_error(k, ORDER_CASES, seed)?);
        Ok(Self::of(subject.label(), samples, order))
    }

    /// Diagnoses samples of a policy that cannot be called.
    pub fn of_samples(label: String, samples: &Samples) -> Self {
        Self::of(label, samples, order::from_samples(samples))
    }

    fn of(label: String, samples: &Samples, order: Order) -> Self {
        let estimate = Estimate::of(samples);
        let (support, sum) = (samples.support(), samples.common_sum());
        let selection = Selection::of(&estimate.curves);
        let inner = sum.and_then(|_| Estimate::inner(samples));
        let inner_change = inner.as_ref().map(|inner| movement(&inner.curves));
        let unseen = selection.most_change(1, 10);
        let law = match (sum, &selection.chosen) {
            (Some(sum), _) if !support.negative => SizeLaw::Normalised { sum },
            _ if support.zero_only() => SizeLaw::Constant,
            _ if selection.hides(UNSEEN.ln_1p()) => SizeLaw::Undecided,
            (_, Some(fitted)) => match fitted.law() {
                Law::Constant if unseen > UNSEEN.ln_1p() => SizeLaw::Undecided,
                law => law.into(),
            },
            (_, None) if selection.curves.is_empty() => SizeLaw::Undecided,
            (_, None) => SizeLaw::None,
        };
        let sizes: Vec<usize> = samples.sizes().iter().map(|size| size.k).collect();
        let curves = &selection.curves;
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
            invariance: invariance(law, &estimate.curves),
            unseen_percent: selection.exponent.map(|_| 100.0 * unseen.exp_m1()),
            support,
            sum,
            order,
            law,
            scores: selection.scores.clone(),
            inner_change_percent: inner_change.map(|change| 100.0 * change),
            inner,
            estimate,
            sizes,
            selection,
        }
    }

    /// Returns the size law as a phrase.
    pub fn law_text(&self) -> String {
        let exponent = self.exponent.map_or("an unknown power of K".to_owned(), |exponent| {
            format!("K^({:+.2} ± {:.2})", exponent.value, exponent.half_width)
        });
        let grows = self.exponent.is_some_and(|exponent| exponent.value > 0.0);
        let way = if grows { "grows" } else { "falls" };
        let law = match self.law {
            SizeLaw::Constant => "constant".to_owned(),
            SizeLaw::Settling => format!("settles: {}", Law::Settling.formula()),
            SizeLaw::Saturating => format!("saturates: {}", Law::Saturating.formula()),
            SizeLaw::Normalised { sum } => format!("1/K: normalized, every sum is {sum:.4}"),
            SizeLaw::Power => format!("{way} as {exponent}"),
            SizeLaw::Logarithmic => format!("{way} as a + b ln K (about {exponent})"),
            SizeLaw::Exponential => format!("{way} exponentially, as a·e^(bK)"),
            SizeLaw::DriftingPower => {
                format!("{way} as K^(r + c ln K), on average {exponent}")
            }
            SizeLaw::None => format!("none of the size laws tried (on average {exponent})"),
            SizeLaw::Undecided => match self.unseen_percent {
                Some(percent) => format!(
                    "undecided: no significant change, but a change of {percent:.0} % over a decade of K is possible"
                ),
                None => "undecided: f(x, K) does not differ significantly from 0".to_owned(),
            },
        };
        match self.sum {
            Some(sum) if self.support.negative => format!("{law}; every sum is {sum:.4}"),
            _ => law,
        }
    }
}

impl From<Law> for SizeLaw {
    fn from(law: Law) -> Self {
        match law {
            Law::Constant => Self::Constant,
            Law::Settling => Self::Settling,
            Law::Saturating => Self::Saturating,
            Law::Power => Self::Power,
            Law::Logarithmic => Self::Logarithmic,
            Law::Exponential => Self::Exponential,
            Law::DriftingPower => Self::DriftingPower,
        }
    }
}

/// Returns the two points between which the end of a curve is examined. One is the last point. The other is the last
/// point with at most half its K, or else the point before the last.
fn ends(curve: &Curve) -> Option<(&super::Point, &super::Point)> {
    let (last, before) = curve.points.split_last()?;
    let half = before.iter().rev().find(|point| 2 * point.k <= last.k);
    Some((half.or(before.last())?, last))
}

fn invariance(law: SizeLaw, curves: &[Curve]) -> Invariance {
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
    let answer = match law {
        SizeLaw::Constant | SizeLaw::Settling | SizeLaw::Saturating => Answer::Yes,
        SizeLaw::Undecided => Answer::Undecided,
        _ => Answer::No,
    };
    Invariance {
        answer,
        from_k,
        to_k,
        changes_percent: changes.iter().map(|change| 100.0 * change.0.exp_m1()).collect(),
        errors_percent: changes.iter().map(|change| 100.0 * change.1).collect(),
    }
}

/// Returns the largest absolute change per doubling of K between the two points of [`ends`], over all curves. The
/// values of the curves are logarithms.
fn movement(curves: &[Curve]) -> f64 {
    let ends = curves.iter().filter_map(ends);
    let change = ends.map(|(first, last)| {
        (last.value - first.value).abs() / (last.k as f64 / first.k as f64).log2()
    });
    change.fold(0.0, f64::max)
}
