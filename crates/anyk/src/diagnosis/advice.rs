//! What to recommend, and why: one object that says both, so that they cannot contradict each other.

use serde::Serialize;

use super::{Answer, Diagnosis, Prediction, SizeLaw, Support, output_name};
use crate::network::{Activation, Output};

/// A policy that has a limit may be this far from it at `K_0` and still be learned by a size-invariant output.
const STILL_FROM: f64 = 0.15;
/// One that has none may change by this much up to the largest size.
const SLOW: f64 = 0.05;
/// What is left of a law when 1/K is taken out, for a normalisation to follow it.
const SHARE: f64 = 0.1;
/// The check overrules where it measures so much more loss than with another output, as a factor,
const WORSE: f64 = 1.05;
/// beyond so many standard errors.
const CLEARLY: f64 = 3.0;
/// The inner function of a normalisation may change by so much when K doubles, percent.
pub(super) const STILL_INNER_PERCENT: f64 = 10.0;

/// Why an output is recommended, or none. Losses are those of a network that knows no K and is exact at the smaller of
/// the two sizes, at the larger, by the fitted law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Ground {
    /// The policy is not permutation-equivariant: nothing.
    OrderMatters,
    /// `f(x, K)` follows no law that is known: nothing.
    NoLaw,
    /// The samples do not say: undecided.
    Unsure,
    /// All outputs of an instance have one sum: a normalisation.
    SharedSum {
        /// The sum.
        sum: f64,
        /// Change of the inner function when K doubles, percent, where it is known.
        inner_change_percent: Option<f64>,
    },
    /// `f(x, K)` has a limit, and is near it: a size-invariant output.
    Still {
        /// The loss, percent.
        loss_percent: f64,
    },
    /// `f(x, K)` has no limit, but hardly changes: a size-invariant output.
    Slow {
        /// The loss, percent.
        loss_percent: f64,
    },
    /// `f(x, K)` has a limit, but is far from it: an outer function.
    NotYetStill {
        /// The loss, percent.
        loss_percent: f64,
    },
    /// `f(x, K)` falls as 1/K: a normalisation.
    FallsAsShare {
        /// What a network that is exact at the smaller size and falls as 1/K loses, percent.
        loss_percent: f64,
    },
    /// `f(x, K)` changes otherwise: an outer function.
    Moves {
        /// The loss, percent.
        loss_percent: f64,
    },
    /// Trained networks were measured, and another output does better than the one that the law suggests.
    Overruled {
        /// The one that does better.
        output: Output,
        /// What it misses at the larger size, percent.
        loss_percent: f64,
        /// The one that the law suggests.
        instead_of: Output,
        /// What it misses, percent.
        instead_percent: f64,
    },
}

impl Ground {
    /// From what is known of a policy, between two sizes.
    pub(super) fn of(diagnosis: &Diagnosis, from: usize, to: usize) -> Self {
        if diagnosis.order.equivariant == Answer::No {
            return Self::OrderMatters;
        }
        if diagnosis.law == SizeLaw::Undecided {
            return Self::Unsure;
        }
        let Some(fitted) = &diagnosis.selection.chosen else {
            return match diagnosis.law {
                SizeLaw::Normalised { sum } => Self::shared(diagnosis, sum),
                SizeLaw::Constant => Self::Still { loss_percent: 0.0 },
                _ => Self::NoLaw,
            };
        };
        let changes = fitted.changes(from, to);
        let loss = |brought: f64| {
            let apart = changes.iter().map(|change| (change - brought).abs());
            (apart.sum::<f64>() / changes.len() as f64).exp_m1()
        };
        let loss_percent = 100.0 * loss(0.0);
        let share_loss = loss((from as f64 / to as f64).ln());
        match diagnosis.law {
            SizeLaw::Normalised { sum } => Self::shared(diagnosis, sum),
            SizeLaw::None => Self::NoLaw,
            _ if fitted.law().is_still() && loss(0.0) <= STILL_FROM => Self::Still { loss_percent },
            _ if fitted.law().is_still() => Self::NotYetStill { loss_percent },
            _ if loss(0.0) <= SLOW => Self::Slow { loss_percent },
            _ if share_loss <= SHARE && !diagnosis.support.negative => {
                Self::FallsAsShare { loss_percent: 100.0 * share_loss }
            }
            _ => Self::Moves { loss_percent },
        }
    }

    fn shared(diagnosis: &Diagnosis, sum: f64) -> Self {
        Self::SharedSum { sum, inner_change_percent: diagnosis.inner_change_percent }
    }

    /// The output that it speaks for, of those whose values the policy's outputs can be.
    pub fn output(self, support: Support) -> Option<Output> {
        match self {
            Self::OrderMatters | Self::NoLaw | Self::Unsure => None,
            // A weight that is 0 needs no exponent of −∞.
            Self::SharedSum { .. } | Self::FallsAsShare { .. } if support.zero => {
                Some(Output::SumNormalisation)
            }
            Self::SharedSum { .. } | Self::FallsAsShare { .. } => Some(Output::Softmax),
            Self::Still { .. } | Self::Slow { .. } => Some(INVARIANT),
            Self::NotYetStill { .. } | Self::Moves { .. } => Some(Output::Pretrained),
            Self::Overruled { output, .. } => Some(output),
        }
    }

    /// Why, in a sentence.
    pub(super) fn text(self, support: Support, from: usize, to: usize) -> String {
        match self {
            Self::OrderMatters => {
                "the policy is not permutation-equivariant, and every network here is".to_owned()
            }
            Self::NoLaw => {
                "f(x, K) follows none of the laws tried, so that no network can be said to follow it"
                    .to_owned()
            }
            Self::Unsure => {
                "the samples do not say how f(x, K) changes with K; more of them would".to_owned()
            }
            Self::SharedSum { sum, inner_change_percent } => {
                let zero = if support.zero { ", with weights that may be 0" } else { "" };
                let inner = inner_change_percent.filter(|change| *change > STILL_INNER_PERCENT);
                let inner = inner.map_or(String::new(), |change| {
                    format!("; its inner function still changes by up to {change:.0} % when K doubles")
                });
                format!("every sum is {sum:.4}, and only a normalisation keeps it{zero}{inner}")
            }
            Self::Still { loss_percent } => format!(
                "f(x, K) stays as K grows (within {loss_percent:.1} % from {from} to {to}), and so does \
                 every network of this kind: any size-invariant output will do"
            ),
            Self::Slow { loss_percent } => format!(
                "f(x, K) moves, but by no more than {loss_percent:.1} % from {from} to {to}: a \
                 size-invariant output follows that far"
            ),
            Self::NotYetStill { loss_percent } => format!(
                "f(x, K) has a limit, but changes by {loss_percent:.1} % from {from} to {to}, which the \
                 outer function must carry"
            ),
            Self::FallsAsShare { loss_percent } => format!(
                "f(x, K) falls as 1/K (within {loss_percent:.1} % from {from} to {to}), and the \
                 normalisation brings just that"
            ),
            Self::Moves { loss_percent } => format!(
                "f(x, K) changes by {loss_percent:.0} % from {from} to {to}, as no fixed activation does: \
                 the outer function must carry the law"
            ),
            Self::Overruled { loss_percent, instead_of, instead_percent, .. } => format!(
                "trained at {from} and checked at {to} it misses {loss_percent:.1} %; {}, which the law \
                 alone suggests, misses {instead_percent:.1} %",
                output_name(instead_of)
            ),
        }
    }

    /// What trained networks say about it: the same, or that another output does better. One that misses as much at
    /// the size of its training has no trouble with K.
    pub(super) fn checked(self, support: Support, predictions: &[Prediction]) -> Self {
        let factor = |percent: f64| (percent / 100.0).ln_1p();
        let of = |output: Output| predictions.iter().find(|one| one.output == output);
        let Some(own) = self.output(support).and_then(of) else { return self };
        let keeps_sum =
            |output: Output| matches!(output, Output::Softmax | Output::SumNormalisation);
        let shared = matches!(self, Self::SharedSum { .. });
        let others = predictions.iter().filter(|one| !shared || keeps_sum(one.output));
        let best = others.min_by(|a, b| a.with_law_percent.total_cmp(&b.with_law_percent));
        let Some(best) = best else { return self };
        let worse = factor(own.with_law_percent) - factor(best.with_law_percent);
        let error = own.measured_error.hypot(best.measured_error);
        let grown = factor(own.with_law_percent) - factor(own.train_loss_percent);
        if worse > WORSE.ln() && worse > CLEARLY * error && grown > 0.5 * worse {
            Self::Overruled {
                output: best.output,
                loss_percent: best.with_law_percent,
                instead_of: own.output,
                instead_percent: own.with_law_percent,
            }
        } else {
            self
        }
    }
}

/// The output that knows no K, as it is measured and trained.
const INVARIANT: Output = Output::Elementwise(Activation::Softplus);

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIVE: Support = Support { negative: false, zero: false, positive: true };
    const ZEROS: Support = Support { zero: true, ..POSITIVE };

    fn prediction(output: Output, train: f64, measured: f64, with_law: f64) -> Prediction {
        Prediction {
            output,
            label: output_name(output),
            train_k: 20,
            test_k: 200,
            drift_percent: 0.0,
            train_loss_percent: train,
            predicted_percent: measured,
            low_percent: 0.0,
            high_percent: measured,
            measured_percent: measured,
            measured_error: 0.003,
            with_law_percent: with_law,
            ratio: 1.0,
        }
    }

    #[test]
    fn the_check_overrules_what_does_worse_with_more_users_and_nothing_else() {
        let slow = Ground::Slow { loss_percent: 4.0 };
        let pretrained = prediction(Output::Pretrained, 1.0, 6.0, 1.5);
        let checked = |own| {
            slow.checked(POSITIVE, &[prediction(INVARIANT, own, 12.0, 12.0), pretrained.clone()])
        };
        assert_eq!(checked(1.0).output(POSITIVE), Some(Output::Pretrained));
        assert!(checked(1.0).text(POSITIVE, 20, 200).contains("misses 12.0 %"));
        // As much at the size of its training: the network is too small, and K has nothing to do with it.
        assert_eq!(checked(11.0), slow);
        // No better, or not surely.
        let alike = prediction(Output::Pretrained, 1.0, 11.0, 11.0);
        let own = prediction(INVARIANT, 1.0, 12.0, 12.0);
        assert_eq!(slow.checked(POSITIVE, &[own.clone(), alike]), slow);
        let unsure = Prediction { measured_error: 0.1, ..pretrained.clone() };
        assert_eq!(slow.checked(POSITIVE, &[own, unsure]), slow);
        assert_eq!(slow.checked(POSITIVE, &[]), slow);
    }

    #[test]
    fn what_does_not_keep_a_sum_cannot_overrule() {
        let shared = Ground::SharedSum { sum: 1.0, inner_change_percent: None };
        let softmax = prediction(Output::Softmax, 1.0, 12.0, 12.0);
        let pretrained = prediction(Output::Pretrained, 1.0, 3.0, 3.0);
        assert_eq!(shared.checked(POSITIVE, &[softmax.clone(), pretrained]), shared);
        let other = prediction(Output::SumNormalisation, 1.0, 3.0, 3.0);
        let checked = shared.checked(POSITIVE, &[softmax, other]);
        assert_eq!(checked.output(POSITIVE), Some(Output::SumNormalisation));
        // Zeros ask for weights that may be 0.
        assert_eq!(shared.output(POSITIVE), Some(Output::Softmax));
        assert_eq!(shared.output(ZEROS), Some(Output::SumNormalisation));
    }
}
