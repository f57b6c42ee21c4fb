//! The command line of `anyk train`.

use std::path::PathBuf;

use anyk::network::Aggregator;
use anyk::problems::closed_forms::ClosedForm;
use anyk::problems::urllc::Method;
use clap::{Args, ValueEnum};

use crate::args::{ProblemArg, size};
use crate::failure::Failure;
use crate::link_args::LinkTrainArgs;
use crate::system_args::SystemArgs;

/// The rate that users must get, for the problems with closed forms.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rate (qos-power and equal-bandwidth)")]
pub(crate) struct RateArgs {
    /// Rate s_0 of each user [default: 1e6]
    #[arg(long, value_name = "BIT/S", allow_negative_numbers = true)]
    rate_bps: Option<f64>,
    /// Bandwidth B of each user, for qos-power [default: 1e6]
    #[arg(long, value_name = "HZ", allow_negative_numbers = true)]
    bandwidth_hz: Option<f64>,
}

impl RateArgs {
    /// The flags, and whether they are given.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 2] {
        [("--rate-bps", self.rate_bps.is_some()), ("--bandwidth-hz", self.bandwidth_hz.is_some())]
    }

    /// The closed form that a problem asks for, `None` for other problems; flags without effect are
    /// refused.
    pub(crate) fn closed_form(
        &self,
        problem: ProblemArg,
        system: &SystemArgs,
    ) -> Result<Option<ClosedForm>, Failure> {
        let rate_bps = self.rate_bps.unwrap_or(1e6);
        let found = match problem {
            ProblemArg::Urllc | ProblemArg::Interference | ProblemArg::LinkScheduling => {
                problem.refuse(&self.flags())?;
                return Ok(None);
            }
            ProblemArg::QosPower => {
                problem.refuse(&[("--max-power-dbm", system.max_power_dbm.is_some())])?;
                let bandwidth_hz = self.bandwidth_hz.unwrap_or(1e6);
                ClosedForm::QosPower { rate_bps, bandwidth_hz }
            }
            ProblemArg::EqualBandwidth => {
                problem.refuse(&self.flags()[1..])?;
                ClosedForm::EqualBandwidth { rate_bps }
            }
        };
        problem.refuse(&system.urllc_flags())?;
        Ok(Some(found))
    }
}

/// Train a policy at one number of users, for use at any other
///
/// Pre-trains the outer function (for p-gnn), runs the paper's Algorithm 1, measures the result on a
/// validation set and writes a model. Interrupted, the same command continues where it stopped, and
/// ends with the same model bit for bit.
///
/// For the problems with closed forms the training is supervised and takes seconds; an interrupted one
/// starts over.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anyk train --method p-gnn --train-k 10 --samples 2000 --epsilon-d 6e-6 --seed 1 --out model.safetensors
  anyk train --method any-gnn --seed 1 --out any.safetensors
  anyk train --problem interference --scenario d2d --out links.safetensors
  anyk train --method any-gnn --fading samples.npy --pretraining unsupervised --out sampled.safetensors
  anyk train --problem qos-power --train-k 10 --out power.safetensors
  anyk train --problem equal-bandwidth --output sum-normalisation --rate-bps 1e5 --out equal.safetensors")]
pub(crate) struct TrainArgs {
    /// What is allocated, and for what
    #[arg(long, value_enum, default_value_t = ProblemArg::Urllc)]
    pub(crate) problem: ProblemArg,
    /// What to train [default: p-gnn; m-gnn for qos-power; any-gnn with --fading]
    #[arg(long, value_enum)]
    pub(crate) method: Option<MethodArg>,
    /// Users (or links) in the training samples; several sizes separated by commas [default: 10; 50 for
    /// d2d]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = size)]
    pub(crate) train_k: Vec<usize>,
    /// Training samples of each size [default: 2000; 20000 for dense interference]
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<usize>,
    /// Loss target to train for, stricter than the users' own; urllc alone [default: 6e-6]
    #[arg(long, value_name = "PROBABILITY")]
    pub(crate) epsilon_d: Option<f64>,
    /// How users (or links) see each other [default: mean; sum for d2d]
    #[arg(long, value_enum)]
    pub(crate) aggregator: Option<AggregatorArg>,
    /// Optimizer, schedule and batch: ours, or the paper's (table II); urllc alone [default: fast]
    #[arg(long, value_enum)]
    pub(crate) preset: Option<Preset>,
    /// Loss of the outer function's pre-training, for p-gnn, or of the bandwidth's with --fading; urllc alone
    /// [default: supervised]
    #[arg(long, value_enum)]
    pub(crate) pretraining: Option<Pretraining>,
    /// Where the training cells of any-gnn come from [default: paper]
    #[arg(long, value_enum)]
    pub(crate) train_ranges: Option<RangesArg>,
    /// What makes powers of the outputs: kkt and softmax for any-gnn [default: kkt], softmax and
    /// sum-normalisation for equal-bandwidth [default: softmax], the others for interference networks
    /// [default: ranked; priced for interference on d2d]
    #[arg(long, value_enum)]
    pub(crate) output: Option<OutputArg>,
    /// Samples of the small-scale gain g, where its law is unknown: a NumPy array with one axis, 500 or more;
    /// any-gnn alone
    #[arg(long, value_name = "FILE")]
    pub(crate) fading: Option<String>,
    /// Standard errors added to the bandwidth that is learned from the samples; with --fading [default:
    /// 3.719, which 9,999 of 10,000 normal errors are within]
    #[arg(long, value_name = "N", requires = "fading", allow_negative_numbers = true)]
    pub(crate) deviations: Option<f64>,
    /// Seed of samples, initialization and order
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// File to write the model to
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) rate: RateArgs,
    #[command(flatten)]
    pub(crate) links: LinkTrainArgs,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

impl TrainArgs {
    /// Sizes and samples of users in a cell.
    pub(crate) fn cells(&self) -> (Vec<usize>, usize) {
        let sizes = if self.train_k.is_empty() { vec![10] } else { self.train_k.clone() };
        (sizes, self.samples.unwrap_or(2000))
    }

    /// How users of a cell see each other.
    pub(crate) fn users_aggregator(&self) -> Aggregator {
        self.aggregator.map_or(Aggregator::Mean, Into::into)
    }

    /// The method, where it is one of the paper's.
    pub(crate) fn paper_method(&self) -> Result<Option<Method>, Failure> {
        let method = self.method.map(|method| match method {
            MethodArg::PGnn => Ok(Method::PGnn),
            MethodArg::MGnn => Ok(Method::MGnn),
            MethodArg::Fnn => Ok(Method::Fnn),
            MethodArg::AnyGnn => {
                Err(Failure::input("--method any-gnn: has a meaning for --problem urllc alone"))
            }
        });
        method.transpose()
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RangesArg {
    /// The cell's own road, antennas and service class; budgets from just enough to twice its own
    Paper,
    /// Also roads up to 1 km, 1 to 64 antennas, ε from 1e-7 to 1e-3 and mixed service classes
    Wide,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OutputArg {
    /// By the one price of power at which the powers sum to the budget
    Kkt,
    /// e^o over its sum
    Softmax,
    /// softplus(o) over its sum
    SumNormalisation,
    /// The largest power times a sigmoid
    Sigmoid,
    /// On where the output is positive
    Classifier,
    /// Switched on in the order of the outputs, where the sum rate rises
    Ranked,
    /// A sigmoid, then a step to the powers that fit the prices of interference
    Priced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// Power by softmax, bandwidth with a pre-trained outer function
    PGnn,
    /// Power by softmax, bandwidth without it
    MGnn,
    /// Fully-connected networks, for cells up to the training size
    Fnn,
    /// Power by a response to one price, bandwidth by what the received power needs; certified
    AnyGnn,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AggregatorArg {
    Mean,
    Sum,
    Max,
}

impl From<AggregatorArg> for Aggregator {
    fn from(aggregator: AggregatorArg) -> Self {
        match aggregator {
            AggregatorArg::Mean => Self::Mean,
            AggregatorArg::Sum => Self::Sum,
            AggregatorArg::Max => Self::Max,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Pretraining {
    /// Labels by solving for the bandwidth at equal power
    Supervised,
    /// The KKT residual at equal power, no labels
    Unsupervised,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Preset {
    /// Seconds
    Fast,
    /// The paper's million steps
    Paper,
}
