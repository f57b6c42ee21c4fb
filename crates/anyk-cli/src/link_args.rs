//! The part of the command line that is about interference networks.

use anyk::channel::D2dField;
use anyk::problems::interference::Scenario;
use clap::{Args, ValueEnum};

/// How the links of an interference network get their powers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkMethod {
    /// Local optimum of the powers by WMMSE
    Wmmse,
    /// Schedule by fractional programming
    Fplinq,
    /// Schedule by switching links on, the strongest first
    Greedy,
    /// The best schedule, for at most 20 links
    Exact,
}

impl LinkMethod {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Random interference networks.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScenarioArg {
    /// Rayleigh fading without geometry: every gain exponential with mean 1
    Dense,
    /// Pairs of devices on a field, 50 on a square kilometre
    D2d,
}

/// Flags of interference and link-scheduling; the other problems refuse them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Interference networks (--problem interference, link-scheduling)")]
pub(crate) struct LinkArgs {
    /// Solver [default: wmmse for interference, fplinq for link-scheduling]
    #[arg(long, value_enum)]
    pub(crate) method: Option<LinkMethod>,
    /// Largest power P_max of each transmitter [default: 1]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) p_max: Option<f64>,
    /// Noise power σ_0 at each receiver, in the same unit [default: 1]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) noise: Option<f64>,
    /// Iterations of wmmse and fplinq [default: 100]
    #[arg(long, value_name = "N", value_parser = iterations)]
    pub(crate) iterations: Option<usize>,
    /// Stop wmmse when an iteration raises the sum rate by less than this share of it
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) tolerance: Option<f64>,
    /// Random starting points of wmmse besides full power; the best answer is kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) random_starts: Option<u64>,
    /// Seed of the random starting points [default: 0]
    #[arg(long, requires = "random_starts")]
    pub(crate) seed: Option<u64>,
    /// Show the sum rate of each iteration of wmmse
    #[arg(long)]
    pub(crate) trace: bool,
}

impl LinkArgs {
    /// All flags, and whether they are given.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 8] {
        [
            ("--method", self.method.is_some()),
            ("--p-max", self.p_max.is_some()),
            ("--noise", self.noise.is_some()),
            ("--iterations", self.iterations.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--random-starts", self.random_starts.is_some()),
            ("--seed", self.seed.is_some()),
            ("--trace", self.trace),
        ]
    }

    /// A flag of WMMSE alone that was given, if any.
    pub(crate) fn of_wmmse(&self) -> Option<&'static str> {
        self.flags()[4..].iter().find(|flag| flag.1).map(|flag| flag.0)
    }
}

/// What a network for interference networks is trained on.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LabelsArg {
    /// The sum rate itself
    None,
    /// The powers of WMMSE
    Wmmse,
    /// The schedule of FPLinQ
    Fplinq,
}

/// Flags of training for interference and link-scheduling; the other problems refuse them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Interference networks (--problem interference, link-scheduling)")]
pub(crate) struct LinkTrainArgs {
    /// Where the gains come from [default: dense]
    #[arg(long, value_enum)]
    pub(crate) scenario: Option<ScenarioArg>,
    /// Labels to learn, or none: the sum rate itself [default: none]
    #[arg(long, value_enum)]
    pub(crate) labels: Option<LabelsArg>,
    /// Features of a link and of a message: 8, 16 or 32 [default: 16 for dense, 8 for d2d]
    #[arg(long, value_name = "N")]
    pub(crate) hidden: Option<usize>,
    /// Rounds of messages [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Steps of the optimizer [default: 20000 for dense, 10000 for d2d]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
}

impl LinkTrainArgs {
    /// All flags, and whether they are given.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 5] {
        [
            ("--scenario", self.scenario.is_some()),
            ("--labels", self.labels.is_some()),
            ("--hidden", self.hidden.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--steps", self.steps.is_some()),
        ]
    }
}

impl From<ScenarioArg> for Scenario {
    fn from(scenario: ScenarioArg) -> Self {
        match scenario {
            ScenarioArg::Dense => Self::Dense,
            ScenarioArg::D2d => Self::D2d(D2dField::default()),
        }
    }
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err("expected a positive number".to_owned()),
    }
}

fn iterations(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(count) if (1..=1_000_000).contains(&count) => Ok(count),
        _ => Err("expected a whole number of iterations from 1 to 1000000".to_owned()),
    }
}
