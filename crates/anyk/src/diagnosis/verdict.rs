//! What samples say about a policy: is it equivariant, is it size-invariant, and what is its size law?

use serde::Serialize;

use super::estimate::{Curve, Estimate};
use super::law::Law;
use super::order::{self, Order};
use super::selection::{LawScore, Selection};
use super::{Samples, Subject, Support};
use crate::framework::Error;
use crate::math::Exponent;

/// Where nothing is seen to change, a change by more over a decade of K must be ruled out to call it none.
const UNSEEN: f64 = 0.15;

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

/// Whether `f(x, K)` stops changing, and how much it still changes at the largest sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invariance {
    /// Whether the size law has a limit other than 0.
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
    /// The change that is furthest from 0 of those that are known best, percent, with its standard error.
    pub fn largest_percent(&self) -> (f64, f64) {
        let rows = || self.changes_percent.iter().copied().zip(self.errors_percent.iter().copied());
        let best = rows().map(|row| row.1).fold(f64::INFINITY, f64::min);
        let known = rows().filter(|row| row.1 <= 2.0 * best);
        known.fold((0.0, 0.0), |a: (f64, f64), b| if b.0.abs() > a.0.abs() { b } else { a })
    }
}

/// The size law of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum SizeLaw {
    /// `f(x)`: no K.
    Constant,
    /// `a(x) + b(x)/K^p`: has a limit.
    Settling,
    /// `a(x)·K/(K + b)` or `a(x) + b(x)·e^(−K/τ)`: has a limit.
    Saturating,
    /// `Σ_k y_k = c` in every instance, no output negative: falls as 1/K.
    Normalised {
        /// The sum `c`.
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
    /// None of these.
    None,
    /// Too few samples, or too much noise, to say.
    Undecided,
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
    /// Which values the outputs take.
    pub support: Support,
    /// The sum of the outputs that every instance has, if there is one.
    pub sum: Option<f64>,
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
    /// Largest change over a decade of K that is not ruled out if `f` is a power of K, percent.
    pub unseen_percent: Option<f64>,
    /// How well each law fits.
    pub scores: Vec<LawScore>,
    /// Change of the inner function of a normalisation when K doubles, percent; where the outputs of every
    /// instance have the same sum.
    pub inner_change_percent: Option<f64>,
    /// The inner function, likewise.
    #[serde(skip)]
    pub inner: Option<Estimate>,
    /// The law with its coefficients.
    #[serde(skip)]
    pub(super) selection: Selection,
}

/// Realizations that are put into another order.
const ORDER_CASES: u64 = 20;

impl Diagnosis {
    /// Of a policy that can be called, from samples of it.
    pub fn of_subject(subject: &mut Subject, samples: &Samples, seed: u64) -> Result<Self, Error> {
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

    /// The law in a few words.
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
            SizeLaw::Normalised { sum } => format!("1/K: normalised, every sum is {sum:.4}"),
            SizeLaw::Power => format!("{way} as {exponent}"),
            SizeLaw::Logarithmic => format!("{way} as a + b ln K (about {exponent})"),
            SizeLaw::Exponential => format!("{way} exponentially, as a·e^(bK)"),
            SizeLaw::DriftingPower => {
                format!("{way} as K^(r + c ln K), on average {exponent}")
            }
            SizeLaw::None => format!("none of the laws tried (on average {exponent})"),
            SizeLaw::Undecided => match self.unseen_percent {
                Some(percent) => format!(
                    "undecided: no change is seen for sure, and one by {percent:.0} % over a decade of K is not ruled out"
                ),
                None => "undecided: f(x, K) cannot be told from 0".to_owned(),
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

/// The two sizes between which the end of a curve is looked at: the largest, and the largest that is at
/// most half of it, or else the last before.
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

/// Largest change of values that are logarithms already, for each doubling of K.
fn movement(curves: &[Curve]) -> f64 {
    let ends = curves.iter().filter_map(ends);
    let change = ends.map(|(first, last)| {
        (last.value - first.value).abs() / (last.k as f64 / first.k as f64).log2()
    });
    change.fold(0.0, f64::max)
}
