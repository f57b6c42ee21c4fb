//! Fading distributions by name, for the evaluation of policies that were learned only from samples.

use std::f64::consts::{LN_10, TAU};
use std::fmt;
use std::str::FromStr;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};
use statrs::function::gamma::ln_gamma;

use crate::channel::fading::FadingSource;
use crate::channel::{Fading, FadingQuadrature};
use crate::invalid::Invalid;

/// Distribution of the small-scale gain `g` over `N_t` antennas. Every distribution has the mean `N_t`, as in the
/// paper, so that the large-scale gain keeps its meaning.
///
/// | name | distribution of `g` |
/// | --- | --- |
/// | `rayleigh` | `Gamma(N_t, 1)`, as in the paper |
/// | `nakagami:m=2` | each antenna's gain is `Gamma(m, 1/m)` |
/// | `rician:k=3` | each antenna has a line of sight with `K` times the power of the scattered part |
/// | `shadowed:sigma_db=4` | Rayleigh, times a log-normal factor that all antennas share |
/// | `mixture:share=0.1,loss_db=10` | Rayleigh, behind an obstacle for a share of the time |
///
/// ```
/// use anyk::channel::FadingLaw;
/// let law: FadingLaw = "rician:k=3".parse()?;
/// let rule = law.quadrature(8, 0.0);
/// assert!((rule.expectation(|g| g) - 8.0).abs() < 1e-10);
/// assert_eq!(law.to_string(), "rician:k=3");
/// # Ok::<(), anyk::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FadingLaw {
    /// Rayleigh fading at each antenna.
    Rayleigh,
    /// Nakagami-m fading at each antenna.
    Nakagami {
        /// Shape `m`, 1 for Rayleigh.
        m: f64,
    },
    /// Rician fading at each antenna.
    Rician {
        /// Power of the line of sight divided by that of the scattered part; 0 for Rayleigh.
        k: f64,
    },
    /// Rayleigh fading with log-normal shadowing.
    Shadowed {
        /// Standard deviation of the shadowing, in dB.
        sigma_db: f64,
    },
    /// Rayleigh fading behind an obstacle for a share of the time.
    Mixture {
        /// Share of the time behind the obstacle.
        share: f64,
        /// Loss caused by the obstacle, in dB.
        loss_db: f64,
    },
}

/// Description of the accepted values, for errors.
const EXPECTED: &str = "rayleigh, nakagami:m=2 (m from 0.5 to 100), rician:k=3 (k from 0 to 100), \
                        shadowed:sigma_db=4 (from 0.1 to 12) or mixture:share=0.1,loss_db=10 (share from \
                        0.001 to 0.999, loss from 0 to 40)";

/// Natural logarithm of a power ratio of 1 dB.
const LN_PER_DB: f64 = LN_10 / 10.0;

impl FadingLaw {
    /// Distributions on which learned policies are demonstrated.
    pub const SHOWN: [Self; 5] = [
        Self::Rayleigh,
        Self::Nakagami { m: 2.0 },
        Self::Rician { k: 3.0 },
        Self::Shadowed { sigma_db: 4.0 },
        Self::Mixture { share: 0.1, loss_db: 10.0 },
    ];

    /// Draws a gain `g`.
    pub fn sample<R: Rng + ?Sized>(&self, antennas: u32, rng: &mut R) -> f64 {
        let antennas = antennas.max(1);
        let rayleigh = Fading { antennas };
        match *self {
            Self::Rayleigh => rayleigh.sample(rng),
            Self::Nakagami { m } => gamma(f64::from(antennas) * m, rng) / m,
            Self::Rician { k } => {
                // The squared norm of a Gaussian vector with a mean is a Poisson mixture of Gammas.
                let mean = f64::from(antennas) * k;
                let extra = Poisson::new(mean).map_or(0.0, |law| law.sample(rng));
                gamma(f64::from(antennas) + extra, rng) / (1.0 + k)
            }
            Self::Shadowed { sigma_db } => {
                let sigma = sigma_db * LN_PER_DB;
                let normal: f64 = StandardNormal.sample(rng);
                rayleigh.sample(rng) * (sigma * normal - 0.5 * sigma * sigma).exp()
            }
            Self::Mixture { share, loss_db } => {
                let behind = rng.random::<f64>() < share;
                let (clear, blocked) = mixture_scales(share, loss_db);
                rayleigh.sample(rng) * if behind { blocked } else { clear }
            }
        }
    }

    /// Returns a quadrature rule for expectations over the exact distribution: the trapezoidal rule in `ln g`. The
    /// densities of all these distributions are analytic, so the rule converges geometrically
    /// ([`FadingQuadrature::log_trapezoid`]).
    pub fn quadrature(&self, antennas: u32, depth: f64) -> FadingQuadrature {
        let source = FadingSource { law: *self, antennas, depth };
        self.with_density(antennas, depth, |centres, step, ln_density| {
            FadingQuadrature::of_ln_density(source, centres, step, ln_density)
        })
    }

    /// Calls `build` with the logarithm of the density over `t = ln g`, the range of its peaks, and a step of the
    /// trapezoidal rule.
    ///
    /// The error of that rule is about `exp(−2π d / h)`. Here `d` is the half-width of the strip of analyticity: `π/2`
    /// minus the part lost to the growth of the density off the axis. The density narrows as `1/√N_t`. The step `h` is
    /// determined by the test against closed forms.
    pub(super) fn with_density<R>(
        &self,
        antennas: u32,
        depth: f64,
        build: impl FnOnce((f64, f64), f64, &dyn Fn(f64) -> f64) -> R,
    ) -> R {
        let shape = f64::from(antennas.max(1));
        let step = |shape: f64| 0.037 * TAU / (1.0 + shape / 8.0).sqrt();
        let density = |shape: f64, t: f64| shape * t - t.exp() - ln_gamma(shape);
        match *self {
            Self::Rayleigh => {
                let centre = shape.ln();
                build((centre, centre), step(shape), &|t| density(shape, t))
            }
            Self::Nakagami { m } => {
                let (shape, ln_m) = (shape * m, m.ln());
                let centre = shape.ln() - ln_m;
                build((centre, centre), step(shape), &|t| density(shape, t + ln_m))
            }
            Self::Rician { k } => {
                let (mean, ln_scale) = (shape * k, k.ln_1p());
                // Reaches more than twelve deviations of the Poisson distribution, beyond each exponential tail.
                let reach = (14.0 * mean.sqrt()).max(60.0);
                let (first, last) = ((mean - reach).max(0.0).floor(), (mean + reach).ceil());
                let law: Vec<(f64, f64)> = (0..)
                    .map(|i| first + f64::from(i))
                    .take_while(|&extra| extra <= last)
                    .map(|extra| {
                        // 0⁰ = 1: without a line of sight there is one term.
                        let ln_power = if extra > 0.0 { extra * mean.ln() } else { 0.0 };
                        (extra, ln_power - mean - ln_gamma(extra + 1.0))
                    })
                    .collect();
                let terms = |t: f64| {
                    let t = t + ln_scale;
                    ln_sum(law.iter().map(|&(extra, weight)| weight + density(shape + extra, t)))
                };
                let centre = shape.ln();
                build((centre, centre), step(shape * (1.0 + k)), &terms)
            }
            Self::Shadowed { sigma_db } => {
                let sigma = sigma_db * LN_PER_DB;
                // Convolution of the two densities in ln g by the same rule. The step suits the narrower density, and
                // the range the wider one.
                let inner = 0.4 * sigma.min(1.0 / shape.sqrt());
                let reach = (2.0 * (46.0 + depth.clamp(0.0, 600.0))).sqrt() * sigma;
                #[allow(clippy::cast_possible_truncation)]
                let count = (reach / inner).ceil() as i32;
                let ln_norm = (inner / (sigma * TAU.sqrt())).ln();
                let convolution = |t: f64| {
                    ln_sum((-count..=count).map(|i| {
                        let shift = f64::from(i) * inner;
                        let normal = ln_norm - 0.5 * (shift / sigma).powi(2);
                        normal + density(shape, t - shift + 0.5 * sigma * sigma)
                    }))
                };
                let centre = shape.ln() - 0.5 * sigma * sigma;
                build((centre, centre), step(shape), &convolution)
            }
            Self::Mixture { share, loss_db } => {
                let (clear, blocked) = mixture_scales(share, loss_db);
                let states = [(1.0 - share, clear.ln()), (share, blocked.ln())];
                let terms = |t: f64| {
                    ln_sum(
                        states
                            .iter()
                            .map(|&(weight, ln_scale)| weight.ln() + density(shape, t - ln_scale)),
                    )
                };
                let centres = (shape.ln() + blocked.ln(), shape.ln() + clear.ln());
                build(centres, step(shape), &terms)
            }
        }
    }

    /// Returns whether the parameters are in range; NaN never is.
    fn is_sound(&self) -> bool {
        match *self {
            Self::Rayleigh => true,
            Self::Nakagami { m } => (0.5..=100.0).contains(&m),
            Self::Rician { k } => (0.0..=100.0).contains(&k),
            Self::Shadowed { sigma_db } => (0.1..=12.0).contains(&sigma_db),
            Self::Mixture { share, loss_db } => {
                (0.001..=0.999).contains(&share) && (0.0..=40.0).contains(&loss_db)
            }
        }
    }
}

/// Returns the factors of the clear and the blocked state for which the mixture has the mean of Rayleigh fading.
fn mixture_scales(share: f64, loss_db: f64) -> (f64, f64) {
    let blocked = (-loss_db * LN_PER_DB).exp();
    let mean = 1.0 - share + share * blocked;
    (1.0 / mean, blocked / mean)
}

fn gamma<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> f64 {
    // `Gamma::new` fails only for shapes that are not positive, which a valid distribution does not have.
    Gamma::new(shape, 1.0).map_or(f64::NAN, |law| law.sample(rng))
}

/// Returns `ln Σ e^x` without overflow.
fn ln_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if most > f64::NEG_INFINITY {
        most + terms.map(|term| (term - most).exp()).sum::<f64>().ln()
    } else {
        most
    }
}

impl fmt::Display for FadingLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rayleigh => write!(f, "rayleigh"),
            Self::Nakagami { m } => write!(f, "nakagami:m={m}"),
            Self::Rician { k } => write!(f, "rician:k={k}"),
            Self::Shadowed { sigma_db } => write!(f, "shadowed:sigma_db={sigma_db}"),
            Self::Mixture { share, loss_db } => {
                write!(f, "mixture:share={share},loss_db={loss_db}")
            }
        }
    }
}

impl FromStr for FadingLaw {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let fields: Vec<(&str, f64)> = rest
            .split(',')
            .filter_map(|field| field.split_once('='))
            .filter_map(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)))
            .collect();
        // Every field of the text must be valid.
        let complete = fields.len() == rest.split(',').filter(|field| !field.is_empty()).count();
        let law = match (name, &fields[..]) {
            ("rayleigh", []) => Some(Self::Rayleigh),
            ("nakagami", &[("m", m)]) => Some(Self::Nakagami { m }),
            ("rician", &[("k", k)]) => Some(Self::Rician { k }),
            ("shadowed", &[("sigma_db", sigma_db)]) => Some(Self::Shadowed { sigma_db }),
            ("mixture", &[("share", share), ("loss_db", loss_db)]) => {
                Some(Self::Mixture { share, loss_db })
            }
            _ => None,
        };
        law.filter(|law| complete && law.is_sound()).ok_or_else(|| {
            let short: String = text.chars().take(60).collect();
            Invalid::value("the fading distribution", format!("{short:?}"), EXPECTED)
        })
    }
}
