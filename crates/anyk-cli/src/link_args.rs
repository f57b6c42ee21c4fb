//! The part of the command line that is about interference networks.

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
    /// A flag that was given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let general = [
            ("--method", self.method.is_some()),
            ("--p-max", self.p_max.is_some()),
            ("--noise", self.noise.is_some()),
        ];
        let flag = general.into_iter().find(|flag| flag.1).map(|flag| flag.0);
        flag.or_else(|| self.iterations.map(|_| "--iterations")).or_else(|| self.of_wmmse())
    }

    /// A flag of WMMSE alone that was given, if any.
    pub(crate) fn of_wmmse(&self) -> Option<&'static str> {
        let flags = [
            ("--tolerance", self.tolerance.is_some()),
            ("--random-starts", self.random_starts.is_some()),
            ("--seed", self.seed.is_some()),
            ("--trace", self.trace),
        ];
        flags.into_iter().find(|flag| flag.1).map(|flag| flag.0)
    }
}

fn positive(text: &str) -> Result<f64, String> {
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
