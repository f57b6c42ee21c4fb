//! Recommendation of an output layer and its reason. Both derive from one value, so they cannot contradict each
//! other.

use serde::Serialize;

use super::{Answer, Diagnosis, Layer, Prediction, SizeLaw, Support};
use crate::network::{Activation, Output};

/// Largest loss, as a ratio, for which a policy with a limit counts as close to its limit, so that a size-invariant
/// output can learn the policy.
const STILL_FROM: f64 = 0.15;
/// Largest loss, as a ratio, for which a policy without a limit still counts as nearly constant up to the largest
/// size.
const SLOW: f64 = 0.05;
/// Largest remaining loss, as a ratio, at which a normalization still counts as matching a policy that falls roughly as 1/K.
const SHARE: f64 = 0.1;
/// Factor by which the loss must exceed that of another output before the check overrides the size law.
const WORSE: f64 = 1.05;
/// Standard errors by which two losses must differ before the check overrides the size law.
const CLEARLY: f64 = 3.0;
/// Largest change of the inner function of a normalization when K doubles, in percent, for which it counts as
/// constant.
pub(super) const STILL_INNER_PERCENT: f64 = 10.0;

/// Reason for a recommendation. Unless stated otherwise, a loss is that of a network that does not depend on K and is
/// exact at the smaller of the two sizes. The fitted size law gives the loss of this network at the larger size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Ground {
    /// The policy is not permutation-equivariant; no output is recommended.
    OrderMatters,
    /// `f(x, K)` follows none of the size laws tried; no output is recommended.
    NoLaw,
    /// The samples do not determine the size law; the recommendation is undecided.
    Unsure,
    /// The outputs of every instance have the same sum; a normalization is recommended.
    SharedSum {
        /// Sum of the outputs.
        sum: f64,
        /// Change of the inner function when K doubles, in percent, if it is known.
        inner_change_percent: Option<f64>,
    },
    /// `f(x, K)` has a limit and is close to it; a size-invariant output is recommended.
    Still {
        /// Loss in percent.
        loss_percent: f64,
    },
    /// `f(x, K)` has no limit but changes little; a size-invariant output is recommended.
    Slow {
        /// Loss in percent.
        loss_percent: f64,
    },
    /// `f(x, K)` has a limit but is far from it; an outer function is recommended.
    NotYetStill {
        /// Loss in percent.
        loss_percent: f64,
    },
    /// `f(x, K)` falls as 1/K; a normalization is recommended.
    FallsAsShare {
        /// Loss, in percent, of a network that is exact at the smaller size and falls as 1/K.
        loss_percent: f64,
    },
    /// `f(x, K)` changes in another way; an outer function is recommended.
    Moves {
        /// Loss in percent.
        loss_percent: f64,
    },
    /// The check found an output with a smaller loss than the one that the size law suggests.
    Overruled {
        /// Output with the smaller loss.
        output: Layer,
        /// Loss of this output at the larger size, in percent.
        loss_percent: f64,
        /// Output that the size law suggests.
        instead_of: Layer,
        /// Loss of the output that the size law suggests, in percent.
        instead_percent: f64,
    },
}

impl Ground {
    /// Derives the reason from a diagnosis, for a network used between two sizes.
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

    /// Returns the recommended output layer, chosen from those that can produce the policy's outputs.
    pub fn output(self, support: Support) -> Option<Layer> {
        Some(Layer::Network(match self {
            Self::OrderMatters | Self::NoLaw | Self::Unsure => return None,
            // Sum-normalization can produce weights of 0; softmax would need an exponent of −∞.
            Self::SharedSum { .. } | Self::FallsAsShare { .. } if support.zero => {
                Output::SumNormalisation
            }
            Self::SharedSum { .. } | Self::FallsAsShare { .. } => Output::Softmax,
            Self::Still { .. } | Self::Slow { .. } => INVARIANT,
            Self::NotYetStill { .. } | Self::Moves { .. } => Output::Pretrained,
            Self::Overruled { output, .. } => return Some(output),
        }))
    }

    /// Returns the reason as a sentence.
    pub(super) fn text(self, support: Support, from: usize, to: usize) -> String {
        match self {
            Self::OrderMatters => {
                "the policy is not permutation-equivariant, but all of these networks are"
                    .to_owned()
            }
            Self::NoLaw => {
                "f(x, K) follows none of the size laws tried, so no network is known to follow it"
                    .to_owned()
            }
            Self::Unsure => {
                "the samples do not show how f(x, K) changes with K; draw more samples".to_owned()
            }
            Self::SharedSum { sum, inner_change_percent } => {
                let zero = if support.zero { " with weights that can be 0" } else { "" };
                let inner = inner_change_percent.filter(|change| *change > STILL_INNER_PERCENT);
                let inner = inner.map_or(String::new(), |change| {
                    format!(
                        "; the inner function still changes by up to {change:.0} % when K doubles"
                    )
                });
                format!("every sum is {sum:.4}, and only a normalization{zero} preserves it{inner}")
            }
            Self::Still { loss_percent } => format!(
                "f(x, K) is constant within {loss_percent:.1} % from K = {from} to {to}, like \
                 every network of this kind: any size-invariant output works"
            ),
            Self::Slow { loss_percent } => format!(
                "f(x, K) changes by no more than {loss_percent:.1} % from K = {from} to {to}, so a \
                 size-invariant output is accurate enough"
            ),
            Self::NotYetStill { loss_percent } => format!(
                "f(x, K) has a limit, but changes by {loss_percent:.1} % from K = {from} to {to}, so the \
                 network needs an outer function"
            ),
            Self::FallsAsShare { loss_percent } => format!(
                "f(x, K) falls as 1/K (within {loss_percent:.1} % from K = {from} to {to}), and so does a \
                 normalization"
            ),
            Self::Moves { loss_percent } => format!(
                "f(x, K) changes by {loss_percent:.0} % from K = {from} to {to}, unlike any fixed activation, so \
                 the network needs an outer function"
            ),
            Self::Overruled { output, loss_percent, instead_of, instead_percent } => {
                let how = match output {
                    Layer::Price => format!("fitted to K = {from} to {to}"),
                    Layer::Network(_) => format!("trained at K = {from}"),
                };
                format!(
                    "{how}, this output has a loss of {loss_percent:.1} % at K = {to}; {}, which the law \
                     suggests, has a loss of {instead_percent:.1} %",
                    instead_of.name()
                )
            }
        }
    }

    /// Returns this reason, or [`Ground::Overruled`] if another output had a clearly smaller loss in the check. If the
    /// loss of an output is about as large at the training size, K does not cause the loss, and the output is not
    /// overruled.
    pub(super) fn checked(self, support: Support, predictions: &[Prediction]) -> Self {
        let factor = |percent: f64| (percent / 100.0).ln_1p();
        let of = |output: Layer| predictions.iter().find(|one| one.output == output);
        let Some(own) = self.output(support).and_then(of) else { return self };
        let shared = matches!(self, Self::SharedSum { .. });
        let others = predictions.iter().filter(|one| !shared || one.output.keeps_sum());
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

/// Size-invariant output layer that represents its kind when networks are measured or trained.
const INVARIANT: Output = Output::Elementwise(Activation::Softplus);

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIVE: Support = Support { negative: false, zero: false, positive: true };
    const STILL: Layer = Layer::Network(INVARIANT);
    const PRETRAINED: Layer = Layer::Network(Output::Pretrained);
    const SOFTMAX: Layer = Layer::Network(Output::Softmax);
    const SUM: Layer = Layer::Network(Output::SumNormalisation);
    const ZEROS: Support = Support { zero: true, ..POSITIVE };

    fn prediction(output: Layer, train: f64, measured: f64, with_law: f64) -> Prediction {
        Prediction {
            output,
            label: output.name(),
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
        let pretrained = prediction(PRETRAINED, 1.0, 6.0, 1.5);
        let checked =
            |own| slow.checked(POSITIVE, &[prediction(STILL, own, 12.0, 12.0), pretrained.clone()]);
        assert_eq!(checked(1.0).output(POSITIVE), Some(PRETRAINED));
        assert!(checked(1.0).text(POSITIVE, 20, 200).contains("a loss of 12.0 %"));
        // The loss is as large at the training size: the network is too small, and K is not the cause.
        assert_eq!(checked(11.0), slow);
        // The loss is not smaller, or not significantly.
        let alike = prediction(PRETRAINED, 1.0, 11.0, 11.0);
        let own = prediction(STILL, 1.0, 12.0, 12.0);
        assert_eq!(slow.checked(POSITIVE, &[own.clone(), alike]), slow);
        let unsure = Prediction { measured_error: 0.1, ..pretrained.clone() };
        assert_eq!(slow.checked(POSITIVE, &[own, unsure]), slow);
        assert_eq!(slow.checked(POSITIVE, &[]), slow);
    }

    #[test]
    fn what_does_not_keep_a_sum_cannot_overrule() {
        let shared = Ground::SharedSum { sum: 1.0, inner_change_percent: None };
        let softmax = prediction(SOFTMAX, 1.0, 12.0, 12.0);
        let pretrained = prediction(PRETRAINED, 1.0, 3.0, 3.0);
        assert_eq!(shared.checked(POSITIVE, &[softmax.clone(), pretrained]), shared);
        let other = prediction(SUM, 1.0, 3.0, 3.0);
        let checked = shared.checked(POSITIVE, &[softmax, other]);
        assert_eq!(checked.output(POSITIVE), Some(SUM));
        // Outputs of 0 require weights that may be 0.
        assert_eq!(shared.output(POSITIVE), Some(SOFTMAX));
        assert_eq!(shared.output(ZEROS), Some(SUM));
    }
}
