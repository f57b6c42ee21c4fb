//! The command line of `anyk diagnose`.

use std::path::PathBuf;

use anyk::diagnosis::BuiltIn;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};

use crate::args::{SystemArgs, size};

/// Find the size law of a policy, and the network that follows it
///
/// Remark 1 of the paper: a network generalizes to the size of a permutation-equivariant policy if its size law
/// aligns with that of the policy. Estimates f(x, K), what a user of input x gets among K, tests whether
/// the policy is permutation-equivariant and asymptotically size-invariant, fits its size law, measures the law of every
/// aggregator with every output on random networks, and recommends the pair that matches. Then predicts
/// from sizes up to --train-k what networks trained there will miss at the largest size, with a range, and
/// measures it: the factor by which outputs are off, in the geometric mean over users, less 1.
///
/// The policy is one of the paper's, a model, or a file of samples: CSV with the columns
///
///   k,x,y,instance
///
/// or a NumPy archive (.npz) of such arrays, or Parquet of such columns, one row for each user: the number of
/// users, input, output, and (if known) which rows belong together.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[command(group(ArgGroup::new("subject").required(true).args(["model", "policy", "samples"])))]
#[command(after_help = "\
Examples:
  anyk diagnose --policy urllc-bandwidth --out out/diagnose
  anyk diagnose model.safetensors --quantity bandwidth
  anyk diagnose --samples samples.csv --json
  anyk diagnose --samples samples.parquet

The exit code is 0 whatever is found, and 2 for bad input.")]
pub(crate) struct DiagnoseArgs {
    /// A model of any kind
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A policy of the paper, with random users or links
    #[arg(long, value_parser = built_in())]
    pub(crate) policy: Option<BuiltIn>,
    /// File of samples (CSV, .npz or Parquet), or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["k", "users", "quantity"])]
    pub(crate) samples: Option<String>,
    /// Which output of a model [default: power]
    #[arg(long, value_enum, conflicts_with = "policy")]
    pub(crate) quantity: Option<QuantityArg>,
    /// Sizes, separated by commas [default: 2,3,5,10,20,50,100,200]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Users drawn of each size, in whole cells [default: 20000]
    #[arg(long, value_name = "N", value_parser = users)]
    pub(crate) users: Option<usize>,
    /// Size K_0 of the training; the law of networks is measured from it on
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = size)]
    pub(crate) train_k: usize,
    /// Leave out the training that checks the prediction
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Seed of draws, networks and trainings
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for plots, CSV and one HTML page
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// The policies of the paper, by their names.
fn built_in() -> impl TypedValueParser<Value = BuiltIn> {
    let shown = |policy: BuiltIn| PossibleValue::new(policy.name()).help(policy.label());
    PossibleValuesParser::new(BuiltIn::ALL.map(shown))
        .try_map(|name| BuiltIn::named(&name).ok_or("expected one of these names"))
}

/// The outputs of a model of power and bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuantityArg {
    Power,
    Bandwidth,
}

/// A number of users to draw.
fn users(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(count) if (100..=10_000_000).contains(&count) => Ok(count),
        _ => Err("expected a whole number of users from 100 to 10000000".to_owned()),
    }
}
