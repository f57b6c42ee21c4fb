//! Policies whose size law is known, to count how often a diagnosis is right about a stranger's: `x` and `y` of 4,000
//! users of each size is all that it gets to see.
//!
//! Half of them are for settling the rules of the diagnosis, the other half only for the count: every second one of
//! the list, so that each family is in both.
//!
//! What may be recommended follows from the truth by one rule. Shares of a fixed sum that are nowhere negative: a
//! normalisation, since nothing else keeps the sum. Otherwise by what a network that knows no K, exact at K = 20,
//! misses at K = 200: under 5 % a size-invariant output, over 15 % a pre-trained one, between them either. What falls as
//! 1/K and is nowhere negative may also be normalised. Where the order of the users matters, nothing. "Undecided" is
//! right where noise hides the law, and nowhere else.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::diagnosis::{FEWEST_INSTANCES, SampleError, Samples, ToyPolicy};
use crate::exchange::SampleRow;
use crate::math::{Input, realization_rng};

/// The law of the inputs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Inputs {
    /// Independent, of a law with thin tails.
    Of(Input),
    /// Pareto with index 1.5: a mean, no variance.
    HeavyTailed,
}

/// A word for a size law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Constant,
    /// A limit that smaller sizes are on their way to, from above or from below.
    Settles,
    Normalised,
    Power,
    Logarithmic,
    Drifting,
    Exponential,
    /// None that is known.
    Other,
    Undecided,
    /// Nothing is asked of the law.
    Any,
}

impl Word {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Settles => "settles",
            Self::Normalised => "normalised",
            Self::Power => "power",
            Self::Logarithmic => "logarithm",
            Self::Drifting => "drifting power",
            Self::Exponential => "exponential",
            Self::Other => "none known",
            Self::Undecided => "undecided",
            Self::Any => "any",
        }
    }
}

/// A word for what is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    Invariant,
    Normalisation,
    Pretrained,
    Nothing,
    Undecided,
}

impl Advice {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Invariant => "size-invariant",
            Self::Normalisation => "normalisation",
            Self::Pretrained => "pre-trained",
            Self::Nothing => "none",
            Self::Undecided => "undecided",
        }
    }
}

/// All outputs of a cell, from its inputs.
type Outputs = fn(&[f64], &mut ChaCha8Rng) -> Vec<f64>;

/// A policy, and what is right to say about it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) inputs: Inputs,
    pub(crate) outputs: Outputs,
    /// The laws that are right.
    pub(crate) laws: &'static [Word],
    /// The recommendations that are right.
    pub(crate) advice: &'static [Advice],
}

/// Whether the case at a place of the list was used to settle the rules.
pub(crate) fn settles_rules(place: usize) -> bool {
    place.is_multiple_of(2)
}

impl Case {
    /// Whole cells of each size, of at least so many users, as the rows of a file would give them.
    pub(crate) fn samples(
        &self,
        sizes: &[usize],
        users: usize,
        seed: u64,
    ) -> Result<Samples, SampleError> {
        let mut rows = Vec::new();
        for &k in sizes {
            for instance in 0..users.div_ceil(k).max(FEWEST_INSTANCES) as u64 {
                let mut rng = realization_rng(seed, k, instance);
                let x: Vec<f64> = (0..k).map(|_| self.inputs.sample(&mut rng)).collect();
                let y = (self.outputs)(&x, &mut rng);
                rows.extend(x.into_iter().zip(y).map(|(x, y)| SampleRow {
                    k,
                    x,
                    y,
                    instance: Some(instance),
                }));
            }
        }
        Samples::from_rows(&rows)
    }
}

impl Inputs {
    fn sample(self, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Of(input) => input.sample(rng),
            Self::HeavyTailed => (1.0 - rng.random::<f64>()).powf(-1.0 / 1.5),
        }
    }
}

/// `y_k = (1 + x_k)·(1 + mean of all)·scale(K)`.
fn scaled(x: &[f64], scale: impl Fn(f64) -> f64) -> Vec<f64> {
    let scale = scale(x.len() as f64);
    x.iter().map(|own| (1.0 + own) * (1.0 + mean(x)) * scale).collect()
}

/// `y_k = (1 + x_k)·scale(K)`: no user sees another.
fn alone(x: &[f64], scale: impl Fn(f64) -> f64) -> Vec<f64> {
    let scale = scale(x.len() as f64);
    x.iter().map(|own| (1.0 + own) * scale).collect()
}

/// Each output times a factor of its own.
fn each(y: Vec<f64>, mut factor: impl FnMut(usize) -> f64) -> Vec<f64> {
    y.into_iter().enumerate().map(|(place, y)| y * factor(place)).collect()
}

/// Shares of a sum by weights.
fn shares(x: &[f64], sum: f64, mut weight: impl FnMut(f64) -> f64) -> Vec<f64> {
    let weights: Vec<f64> = x.iter().map(|&x| weight(x)).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| sum * weight / all).collect()
}

/// Powers `(level − 1/g_k)⁺` of a given sum, by bisection of the level.
fn water_filling(gains: &[f64], sum: f64) -> Vec<f64> {
    let powers = |level: f64| gains.iter().map(move |gain| (level - gain.recip()).max(0.0));
    let strongest = largest(gains);
    let (mut low, mut high) = (strongest.recip(), strongest.recip() + sum);
    for _ in 0..200 {
        let level = 0.5 * (low + high);
        if powers(level).sum::<f64>() > sum {
            high = level;
        } else {
            low = level;
        }
    }
    powers(0.5 * (low + high)).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// How many inputs are larger.
fn rank(x: &[f64], own: f64) -> usize {
    x.iter().filter(|&&other| other > own).count()
}

/// Place in the cell, in (0, 1).
fn place_of(place: usize, size: usize) -> f64 {
    (place as f64 + 0.5) / size as f64
}

/// `e^(deviation·normal)`.
fn noise(rng: &mut ChaCha8Rng, deviation: f64) -> f64 {
    let normal: f64 = StandardNormal.sample(rng);
    (deviation * normal).exp()
}

const UNIFORM: Inputs = Inputs::Of(Input::Uniform);
const EXPONENTIAL: Inputs = Inputs::Of(Input::Exponential);
const GAUSSIAN: Inputs = Inputs::Of(Input::Gaussian);

const fn case(
    name: &'static str,
    inputs: Inputs,
    laws: &'static [Word],
    advice: &'static [Advice],
    outputs: Outputs,
) -> Case {
    Case { name, inputs, outputs, laws, advice }
}

/// Laws that hold still in the end.
const STILL: &[Word] = &[Word::Constant, Word::Settles];
/// Slow laws: over two decades of K these are within a percent of each other.
const SLOW: &[Word] = &[Word::Power, Word::Logarithmic, Word::Drifting];
/// A law of more than one kind of user: any word but that nothing moves.
const MOVES: &[Word] =
    &[Word::Power, Word::Logarithmic, Word::Drifting, Word::Exponential, Word::Other];

/// The battery; the names are the truth.
pub(crate) static CASES: [Case; 60] = {
    use Advice::{Invariant, Normalisation, Nothing, Pretrained, Undecided};
    use Word::{Any, Constant, Exponential, Logarithmic, Normalised, Other, Power, Settles};
    [
        // Powers and logarithms.
        case("(1+x)/K, sums differ", UNIFORM, &[Power], &[Normalisation, Pretrained], |x, _| {
            alone(x, f64::recip)
        }),
        case("K^-0.5", UNIFORM, &[Power], &[Pretrained], |x, _| scaled(x, |k| k.powf(-0.5))),
        case("K^-0.1", UNIFORM, SLOW, &[Pretrained], |x, _| scaled(x, |k| k.powf(-0.1))),
        case("K^0.1", UNIFORM, SLOW, &[Pretrained], |x, _| scaled(x, |k| k.powf(0.1))),
        case("K^0.3", UNIFORM, &[Power], &[Pretrained], |x, _| scaled(x, |k| k.powf(0.3))),
        case("K^0.5", UNIFORM, &[Power], &[Pretrained], |x, _| scaled(x, |k| k.powf(0.5))),
        case("K", UNIFORM, &[Power], &[Pretrained], |x, _| scaled(x, |k| k)),
        case("1 + ln K", UNIFORM, &[Logarithmic], &[Pretrained], |x, _| {
            scaled(x, |k| 1.0 + k.ln())
        }),
        case("policy 2 of figure 1", EXPONENTIAL, SLOW, &[Pretrained], |x, _| {
            ToyPolicy::Two.outputs(x)
        }),
        // What stays, settles, saturates or dies out.
        case("constant, no user sees another", UNIFORM, &[Constant], &[Invariant], |x, _| {
            alone(x, |_| 3.0)
        }),
        case("constant, coupled", UNIFORM, STILL, &[Invariant], |x, _| scaled(x, |_| 3.0)),
        case("policy 1 of figure 1", EXPONENTIAL, STILL, &[Invariant], |x, _| {
            ToyPolicy::One.outputs(x)
        }),
        case("settling, 1 + 5/K", UNIFORM, &[Settles], &[Pretrained], |x, _| {
            scaled(x, |k| 1.0 + 5.0 / k)
        }),
        case("settling, 1 + 1/K", UNIFORM, STILL, &[Invariant], |x, _| {
            scaled(x, |k| 1.0 + k.recip())
        }),
        case("settling, 1 + 1/√K", UNIFORM, &[Settles], &[Invariant, Pretrained], |x, _| {
            scaled(x, |k| 1.0 + k.powf(-0.5))
        }),
        case("settling, 1 + 5/√K", UNIFORM, &[Settles], &[Pretrained], |x, _| {
            scaled(x, |k| 1.0 + 5.0 * k.powf(-0.5))
        }),
        case("saturating, K/(K+5)", UNIFORM, &[Settles], &[Pretrained], |x, _| {
            scaled(x, |k| k / (k + 5.0))
        }),
        case("saturating, K/(K+50)", UNIFORM, &[Settles], &[Pretrained], |x, _| {
            scaled(x, |k| k / (k + 50.0))
        }),
        case("saturating, 1 - e^(-K/10)", UNIFORM, &[Settles], &[Invariant, Pretrained], |x, _| {
            scaled(x, |k| -(-k / 10.0).exp_m1())
        }),
        case("saturating, tanh(K/100)", UNIFORM, &[Settles, Other], &[Pretrained, Nothing], {
            |x, _| scaled(x, |k| (k / 100.0).tanh())
        }),
        case("dying out, e^(-K/50)", UNIFORM, &[Exponential], &[Pretrained], |x, _| {
            scaled(x, |k| (-k / 50.0).exp())
        }),
        case("settling, 0.2 + e^(-K/20)", UNIFORM, &[Settles], &[Pretrained], |x, _| {
            scaled(x, |k| 0.2 + (-k / 20.0).exp())
        }),
        // Shares of a sum, choices.
        case("softmax of 2x, sum 5", UNIFORM, &[Normalised], &[Normalisation], |x, _| {
            shares(x, 5.0, |x| (2.0 * x).exp())
        }),
        case("x over the sum", EXPONENTIAL, &[Normalised], &[Normalisation], |x, _| {
            shares(x, 1.0, |x| x)
        }),
        case(
            "heavy-tailed shares, sum 10",
            Inputs::HeavyTailed,
            &[Normalised],
            &[Normalisation],
            |x, _| shares(x, 10.0, |x| x),
        ),
        case("shares by e^(-2x)", GAUSSIAN, &[Normalised], &[Normalisation], |x, _| {
            shares(x, 20.0, |x| (-2.0 * x).exp())
        }),
        case("water-filling, sum 10", EXPONENTIAL, &[Normalised], &[Normalisation], |x, _| {
            water_filling(x, 10.0)
        }),
        case("water-filling, sum 1", EXPONENTIAL, &[Normalised], &[Normalisation], |x, _| {
            water_filling(x, 1.0)
        }),
        case("all to the largest", UNIFORM, &[Normalised], &[Normalisation], |x, _| {
            x.iter().map(|&own| if rank(x, own) == 0 { 1.0 } else { 0.0 }).collect()
        }),
        case(
            "half to each of the two largest",
            GAUSSIAN,
            &[Normalised],
            &[Normalisation],
            |x, _| x.iter().map(|&own| if rank(x, own) < 2 { 0.5 } else { 0.0 }).collect(),
        ),
        case("1 for the larger half", UNIFORM, STILL, &[Invariant], |x, _| {
            let chosen = |own: f64| 2 * rank(x, own) < x.len();
            x.iter().map(|&own| if chosen(own) { 1.0 } else { 0.0 }).collect()
        }),
        case("1 where x > 0.6", UNIFORM, &[Constant], &[Invariant], |x, _| {
            x.iter().map(|&own| if own > 0.6 { 1.0 } else { 0.0 }).collect()
        }),
        // Both signs.
        case("x less the mean: sum 0", GAUSSIAN, STILL, &[Invariant], |x, _| {
            x.iter().map(|own| own - mean(x)).collect()
        }),
        case("x less the mean, and 1/K: sum 1", GAUSSIAN, STILL, &[Invariant], |x, _| {
            x.iter().map(|own| own - mean(x) + (x.len() as f64).recip()).collect()
        }),
        case("(x less the mean)/√K", GAUSSIAN, &[Power], &[Pretrained], |x, _| {
            x.iter().map(|own| (own - mean(x)) / (x.len() as f64).sqrt()).collect()
        }),
        case("(x less the mean)/K: sum 0", GAUSSIAN, &[Power], &[Pretrained], |x, _| {
            x.iter().map(|own| (own - mean(x)) / x.len() as f64).collect()
        }),
        case("-K^0.3", UNIFORM, &[Power], &[Pretrained], |x, _| scaled(x, |k| -k.powf(0.3))),
        // By the largest.
        case("x over the largest, bounded", UNIFORM, STILL, &[Invariant], |x, _| {
            x.iter().map(|own| own / largest(x)).collect()
        }),
        case("distance from the largest, like ln K", EXPONENTIAL, SLOW, &[Pretrained], |x, _| {
            x.iter().map(|own| largest(x) - own).collect()
        }),
        case("x over the largest, like 1/ln K", EXPONENTIAL, SLOW, &[Pretrained], |x, _| {
            x.iter().map(|own| own / largest(x)).collect()
        }),
        // Noise.
        case("constant, 5 % of noise", UNIFORM, STILL, &[Invariant], |x, rng| {
            each(scaled(x, |_| 1.0), |_| noise(rng, 0.05))
        }),
        case("K^0.3, 50 % of noise", UNIFORM, SLOW, &[Pretrained], |x, rng| {
            each(scaled(x, |k| k.powf(0.3)), |_| noise(rng, 0.5))
        }),
        case(
            "constant, noise of ×/÷ 4.5",
            UNIFORM,
            &[Constant, Settles, Word::Undecided],
            &[Invariant, Undecided],
            |x, rng| each(scaled(x, |_| 1.0), |_| noise(rng, 1.5)),
        ),
        case(
            "K^-0.5, noise of ×/÷ 4.5",
            UNIFORM,
            &[Power, Logarithmic, Word::Drifting, Word::Undecided],
            &[Pretrained, Undecided],
            |x, rng| each(scaled(x, |k| k.powf(-0.5)), |_| noise(rng, 1.5)),
        ),
        // By the place.
        case("place: 1 to 1.3", UNIFORM, &[Any], &[Nothing], |x, _| {
            each(scaled(x, |_| 1.0), |place| 1.0 + 0.3 * place_of(place, x.len()))
        }),
        case("place: alternating ±20 %", UNIFORM, &[Any], &[Nothing], |x, _| {
            each(scaled(x, |_| 1.0), |place| if place.is_multiple_of(2) { 1.2 } else { 0.8 })
        }),
        case("place: the first gets twice", UNIFORM, &[Any], &[Nothing], |x, _| {
            each(scaled(x, |_| 1.0), |place| if place == 0 { 2.0 } else { 1.0 })
        }),
        case("place: two waves of 30 %", UNIFORM, &[Any], &[Nothing], |x, _| {
            let wave = |place| (2.0 * std::f64::consts::TAU * place_of(place, x.len())).sin();
            each(scaled(x, |_| 1.0), |place| 1.0 + 0.3 * wave(place))
        }),
        // A feature that is not in the samples.
        case("hidden feature, constant", EXPONENTIAL, STILL, &[Invariant], |x, rng| {
            let both: Vec<f64> = x.iter().map(|x| x + rng.random::<f64>()).collect();
            both.iter().map(|own| own / (1.0 + mean(&both))).collect()
        }),
        case("hidden feature, shares", EXPONENTIAL, &[Normalised], &[Normalisation], |x, rng| {
            shares(x, 2.0, |x| (0.1 + x) * rng.random::<f64>())
        }),
        // Heavy tails, and outputs of odd kinds.
        case("ln(1+x), heavy-tailed x", Inputs::HeavyTailed, &[Constant], &[Invariant], |x, _| {
            x.iter().map(|own| own.ln_1p()).collect()
        }),
        case(
            "√x·K^-0.5, heavy-tailed x",
            Inputs::HeavyTailed,
            &[Power],
            &[Pretrained],
            |x, _| x.iter().map(|own| (own / x.len() as f64).sqrt()).collect(),
        ),
        case("0 for all", UNIFORM, &[Constant], &[Invariant], |x, _| vec![0.0; x.len()]),
        case("2x - 0.5, cut at 0 and 1", UNIFORM, &[Constant], &[Invariant], |x, _| {
            x.iter().map(|own| (2.0 * own - 0.5).clamp(0.0, 1.0)).collect()
        }),
        case("how many are smaller", UNIFORM, &[Power], &[Pretrained], |x, _| {
            x.iter().map(|&own| (x.len() - 1 - rank(x, own)) as f64).collect()
        }),
        case("5x over 0.5 + mean, cut to integers", UNIFORM, STILL, &[Invariant], |x, _| {
            x.iter().map(|own| (5.0 * own / (0.5 + mean(x))).floor()).collect()
        }),
        // Sums that grow, mixtures, no law.
        case("shares of √K", UNIFORM, &[Power], &[Pretrained], |x, _| {
            shares(x, (x.len() as f64).sqrt(), |x| 0.2 + x)
        }),
        case("shares of K", UNIFORM, STILL, &[Invariant], |x, _| {
            shares(x, x.len() as f64, |x| 0.2 + x)
        }),
        case("1 under x = 0.5, K^-0.5 over it", UNIFORM, MOVES, &[Pretrained, Nothing], |x, _| {
            let k = x.len() as f64;
            x.iter().map(|&own| if own < 0.5 { 1.0 } else { k.powf(-0.5) }).collect()
        }),
        case(
            "ten times as much at K = 5, 20, 100",
            UNIFORM,
            &[Other, Word::Undecided],
            &[Nothing, Undecided],
            |x, _| {
                let more = [5, 20, 100].contains(&x.len());
                scaled(x, |_| if more { 10.0 } else { 1.0 })
            },
        ),
    ]
};
