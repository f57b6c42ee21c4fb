//! The command line. Every subcommand documents itself here, with an example.

use std::path::PathBuf;

use anyk::channel::FadingLaw;
use anyk::study::{STUDIES, Study};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use crate::diagnose_args::{DiagnoseArgs, QuantityArg};
use crate::failure::Failure;
use crate::link_args::{LinkArgs, ScenarioArg, positive};
pub(crate) use crate::system_args::SystemArgs;
pub(crate) use crate::train_args::{
    MethodArg, OutputArg, Preset, Pretraining, RangesArg, RateArgs, TrainArgs,
};

/// Power and bandwidth for the users of a wireless cell, at any number of users.
///
/// AnyK finds the powers and bandwidths that meet every user's latency and reliability target with
/// the least total bandwidth, and proves that no less would do.
#[derive(Debug, Parser)]
#[command(name = "anyk", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Example:
  anyk sample --k 10 --seed 1 | anyk solve --input -

Exit codes: 0 solved; 2 bad input or usage; 3 the power budget cannot serve every user.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Solve(SolveArgs),
    Train(Box<TrainArgs>),
    Calibrate(CalibrateArgs),
    Evaluate(EvaluateArgs),
    Allocate(AllocateArgs),
    Diagnose(Box<DiagnoseArgs>),
    Reproduce(ReproduceArgs),
    Sample(SampleArgs),
    Sweep(SweepArgs),
    Bench(BenchArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
}

/// Find the best allocation: the least total bandwidth, or the largest sum rate
///
/// For --problem urllc, reads users and prints the power and bandwidth of each, the totals, and a bound on how far the
/// total is from the optimum.
///
/// Input is JSON or CSV, told apart by its first character:
///
///   {"users":[{"id":"a","distance_m":60.0},{"id":"b","gain_db":-110.5}]}
///
///   id,distance_m
///   a,60
///   b,90
///
/// Each user has `distance_m` or `gain_db` (10·log10 of the large-scale gain), and may have
/// `epsilon`, `packet_bits` and `arrival_rate` of its own. A JSON file may hold several cells, one
/// object after the other.
///
/// For --problem interference or link-scheduling, reads power gains between K links, row = receiver,
/// column = transmitter: a NumPy array (.npy, float32 or float64, K×K or N×K×K), or JSON
///
///   [[1,0.1],[0.2,0.9]]
///
/// or a list of such matrices, or objects {"gains":[[…]]} one after the other. Prints the power and
/// rate of each link; links and instances are counted from 0. Instances are solved on all cores.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "\
Examples:
  anyk solve --input users.json
  anyk solve --input users.csv --max-power-dbm 40 --json
  anyk sample --k 200 | anyk solve --input - --json
  anyk solve --problem equal-bandwidth --rate-bps 2e6 --input users.json
  anyk solve --problem interference --input gains.npy --p-max 0.1 --noise 1e-9 --json
  anyk sample --scenario d2d --k 50 | anyk solve --problem link-scheduling --input -")]
pub(crate) struct SolveArgs {
    /// What is allocated, and for what
    #[arg(long, value_enum, default_value_t = ProblemArg::Urllc)]
    pub(crate) problem: ProblemArg,
    /// File with the users or gains, or - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) input: String,
    /// Print JSON instead of a table: an object for each cell, or one for all interference networks
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) rate: RateArgs,
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// The allocation problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProblemArg {
    /// Power and bandwidth, least total bandwidth at a loss and delay target
    Urllc,
    /// Power, least total at a rate over a given bandwidth (closed form)
    QosPower,
    /// Power and one bandwidth for all users, least bandwidth at a rate (closed form)
    EqualBandwidth,
    /// Powers of links that share a band, largest sum rate
    Interference,
    /// Which of such links are on
    LinkScheduling,
}

impl ProblemArg {
    /// Refuses flags that mean nothing for this problem: a flag without effect would mislead.
    pub(crate) fn refuse(self, flags: &[(&str, bool)]) -> Result<(), Failure> {
        let name = self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        match flags.iter().find(|flag| flag.1) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(format!(
                "{flag}: has no meaning for --problem {name}; leave it out, or choose another problem"
            ))),
        }
    }
}

/// What a model is judged by.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// Fading to judge a model by that was learned from samples: a law (rician:k=3, see `anyk sample`) or a
    /// NumPy array of samples held out
    #[arg(long, value_name = "LAW|FILE")]
    pub(crate) fading: Option<String>,
}

/// Give a model the smallest margin that carries a guarantee
///
/// Draws independent cells that no training has seen, judges one user of each by quadrature, and chooses the
/// smallest factor on the bandwidths such that, with confidence 1 − δ over that draw, at most a share β of
/// users miss their QoS: an exact binomial bound (docs/guarantees.md has the proof). It holds at the sizes
/// named here. `allocate` and `evaluate` apply and report it.
///
/// A model that was learned from samples of fading is judged under the fading named with --fading.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anyk calibrate model.safetensors --k 10 --out calibrated.safetensors
  anyk calibrate model.safetensors --k 1,10,100 --cells 10000 --beta 1e-3 --delta 0.01 --out calibrated.safetensors
  anyk calibrate sampled.safetensors --fading rician:k=3 --k 1000 --shrink --out calibrated.safetensors")]
pub(crate) struct CalibrateArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    /// Sizes at which the guarantee is to hold, separated by commas
    #[arg(long, value_name = "K,…", value_delimiter = ',', default_value = "10", value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Independent cells of each size; one user of each is judged
    #[arg(long, value_name = "N", default_value_t = 2995)]
    pub(crate) cells: usize,
    /// Share of users that may miss their QoS
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3, allow_negative_numbers = true)]
    pub(crate) beta: f64,
    /// Probability, over the draw of the cells, that more users than that miss it
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) delta: f64,
    /// Let the factor be below 1 where the model gives more than the guarantee needs
    #[arg(long)]
    pub(crate) shrink: bool,
    /// Seed of the cells
    #[arg(long, default_value_t = 11)]
    pub(crate) seed: u64,
    /// File to write the calibrated model to
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Print one JSON object instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure a model at many numbers of users, beside the exact optimum
///
/// Availability is the share of users whose QoS is met, by quadrature over fading; both it and the
/// bandwidth are means over random cells that the model was not trained on.
///
/// For the problems with closed forms: the distance of powers and bandwidth to the closed form.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk evaluate model.safetensors --k 1,2,5,10,50,100,200 --samples 100 --seed 7")]
pub(crate) struct EvaluateArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    #[command(flatten)]
    pub(crate) cells: CellsArgs,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// Allocate with a model, in the form of `solve`
///
/// Input and output are those of `anyk solve`, so that the two can be compared: users for a model of
/// power and bandwidth, gain matrices for one of an interference network. The cell's parameters are
/// those of the model; for any-gnn, flags may change them.
///
/// With --certify, bandwidths are raised to what each user's power needs, and no further; each user's QoS
/// is then checked by quadrature over fading, and a budget that cannot serve everyone is refused as
/// `solve` does.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk sample --k 50 | anyk allocate model.safetensors --input -
  anyk sample --k 50 | anyk allocate any.safetensors --certify --max-power-dbm 40 --input -
  anyk sample --scenario d2d --k 50 | anyk allocate links.safetensors --input -")]
pub(crate) struct AllocateArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    /// File with the users or gains, or - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) input: String,
    /// Print one JSON object for each cell instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Raise bandwidths to what is certified, and report the certificate of each user
    #[arg(long)]
    pub(crate) certify: bool,
    /// Largest power P_max of each transmitter, interference networks alone [default: 1]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) p_max: Option<f64>,
    /// Noise power σ_0 at each receiver, interference networks alone [default: 1]
    #[arg(long, value_name = "POWER", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) noise: Option<f64>,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

impl AllocateArgs {
    /// Refuses `--certify` and other cells, which are for models of power and bandwidth.
    pub(crate) fn refuse_certify(&self) -> Result<(), Failure> {
        self.system.refuse(&self.model)?;
        if self.certify {
            let model = &self.model;
            return Err(Failure::input(format!(
                "--certify: has no meaning for {model}, a model without a loss target"
            )));
        }
        Ok(())
    }

    /// Refuses flags that mean nothing for users of a cell.
    pub(crate) fn refuse_links(&self) -> Result<(), Failure> {
        let flag = match (self.p_max, self.noise) {
            (Some(_), _) => "--p-max",
            (_, Some(_)) => "--noise",
            _ => return Ok(()),
        };
        let model = &self.model;
        Err(Failure::input(format!(
            "{flag}: has no meaning for {model}, a model for users of a cell"
        )))
    }
}

/// Reproduce the paper's tables, figures and propositions, beside what it says itself
///
/// Trains and measures what each one needs, prints it beside what the paper says, and writes CSV,
/// Markdown, plots (SVG) and one self-contained report.html. Interrupted, it continues where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anyk reproduce
  anyk reproduce table3 table6 --out tables
  anyk reproduce closed-forms --trainings 1
  anyk reproduce fig1 fig2c propositions
  anyk reproduce --full --out full")]
pub(crate) struct ReproduceArgs {
    /// Tables and figures, by the paper's numbers or their subject; all without a name
    #[arg(value_parser = studies(), value_name = "NAME")]
    pub(crate) names: Vec<&'static Study>,
    /// The paper's ten trainings for each entry, the FNN's 100,000 samples, 100,000 realizations for
    /// fig2a and fig2b
    #[arg(long)]
    pub(crate) full: bool,
    /// Trainings for each entry [default: 3, or 10 with --full (closed-forms: 5)]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) trainings: Option<u64>,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
    pub(crate) out: PathBuf,
}

/// The studies by their names.
fn studies() -> impl TypedValueParser<Value = &'static Study> {
    let shown = |study: &Study| {
        let alone = if study.by_default { "" } else { "; by its name alone" };
        PossibleValue::new(study.name).help(format!("{}{alone}", study.about))
    };
    PossibleValuesParser::new(STUDIES.iter().map(shown))
        .try_map(|name| Study::named(&name).ok_or("expected one of these names"))
}

/// Draw random users along the road, or random interference networks, as input for `solve`
///
/// The same seed gives the same users, and realization i does not depend on how many are drawn.
///
/// With --scenario, the gains of K links in units of the noise at full power, g·P_max/σ_0, so that
/// the defaults --p-max 1 and --noise 1 of `solve` fit. (On the d2d field P_max is 10 W and σ_0 is
/// 6.3e-14 W.)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anyk sample --k 10 --seed 1 > users.json
  anyk sample --k 10 --count 5 --seed 1 | anyk solve --input -
  anyk sample --k 3 --format csv
  anyk sample --scenario dense --k 10 --count 1000 --format npy --out gains.npy
  anyk sample --fading rician:k=3 --count 2000 --format npy --out samples.npy")]
pub(crate) struct SampleArgs {
    /// Random gains of an interference network, instead of users
    #[arg(long, value_enum)]
    pub(crate) scenario: Option<ScenarioArg>,
    /// Random small-scale gains g instead of users: rayleigh, nakagami:m=2, rician:k=3,
    /// shadowed:sigma_db=4, mixture:share=0.1,loss_db=10
    #[arg(long, value_name = "LAW", conflicts_with_all = ["scenario", "k"])]
    pub(crate) fading: Option<FadingLaw>,
    /// Users in each cell, or links in each network
    #[arg(long, value_name = "K", value_parser = size, required_unless_present = "fading")]
    pub(crate) k: Option<usize>,
    /// Number of cells, networks or small-scale gains, one JSON object a line
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) count: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Format of the output; CSV holds one cell, npy is for --scenario and --fading
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub(crate) format: Format,
    /// File to write the gains to, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// Mean exact optimum over random cells of many sizes
///
/// Solves random cells of each size exactly, beside equal power with exact bandwidths on the same
/// cells: what any other policy is to be measured against.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk sweep --k 1,2,5,10,50,100,200 --samples 1000 --seed 7")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) cells: CellsArgs,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// Measure the speed of this program on this machine
///
/// Single-threaded; each figure is the median over repeated runs. `cargo xtask compare` runs what one
/// would write in Python beside it.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk bench --json")]
pub(crate) struct BenchArgs {
    /// Instead, write a training step and an allocation, inputs and outputs, to a JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the system's parameters as TOML, to edit and use with --config
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk config --max-power-dbm 40 > cell.toml && anyk solve --config cell.toml --input users.json")]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub(crate) system: SystemArgs,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anyk completions bash > ~/.local/share/bash-completion/completions/anyk")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Random cells to measure on.
#[derive(Debug, Args)]
pub(crate) struct CellsArgs {
    /// Sizes, separated by commas
    #[arg(
        long,
        value_name = "K,…",
        value_delimiter = ',',
        default_value = "1,2,5,10,50,100,200",
        value_parser = size
    )]
    pub(crate) k: Vec<usize>,
    /// Random cells for each size
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    pub(crate) samples: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Csv,
    /// NumPy array, N×K×K or N, float64
    Npy,
}

/// A number of users.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    const MOST: usize = 10_000_000;
    match text.trim().parse() {
        Ok(size) if (1..=MOST).contains(&size) => Ok(size),
        _ => Err(format!("expected a whole number of users from 1 to {MOST}")),
    }
}
