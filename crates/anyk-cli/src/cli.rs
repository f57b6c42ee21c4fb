//! Definition of the command line. Each verb is a command. `solve`, `train`, `sample` and `assess` have a subcommand
//! for each problem; the other commands read the problem from a model file or an option.

use std::path::PathBuf;

use anyk::channel::FadingLaw;
use anyk::core::About;
use anyk::diagnosis;
use anyk::framework::{CellOptions, Verb};
use anyk::problems;
use anyk_study::{FORMER_PRICE, STUDIES};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Args, Command};
use clap_complete::Shell;

use crate::arguments::{model_options, with_options};
use crate::failure::EXIT_CODES;
use crate::values::{Listed, Shard, seconds, seeds, shard, size, sizes, whole};

/// Builds the command line of `anyk`.
pub(crate) fn command() -> Command {
    let sample = by_problem(
        Verb::Sample,
        "sample",
        "Draw random instances of a problem, as input for `solve`",
    );
    let command = Command::new("anyk")
        .version(env!("CARGO_PKG_VERSION"))
        .arg_required_else_help(true)
        .subcommand_required(true)
        .subcommands([
            by_problem(
                Verb::Solve,
                "solve",
                "Find the best allocation for each instance of a problem",
            ),
            by_problem(
                Verb::Train,
                "train",
                "Train a policy at one number of users for use at any other",
            ),
            by_problem(
                Verb::Assess,
                "assess",
                "Check allocations that you already have and compare them with the optimum",
            ),
            evaluate(),
            allocate(),
            calibrate(),
            info(),
            diagnose(),
            sample.subcommand(fading()),
            sweep(),
            reproduce(),
            merge(),
            config(),
            bench(),
            completions(),
        ]);
    let name = first().name;
    let draw_and_solve = format!("sample {name} --k 10 --seed 1 | anyk solve {name} --input -");
    let train = format!("train {name} --method price --out price.safetensors");
    let command = page(
        command,
        "Allocate power and bandwidth to the users of a wireless cell, at any number of users",
        &[&draw_and_solve, &train, "evaluate price.safetensors --k 1,10,100,1000"],
        "AnyK finds the powers and bandwidths that meet every user's latency and reliability target with the \
         least total bandwidth, and bounds the distance to the optimum. It also trains policies at one number of \
         users for use at any other. Other problems: minimum power, one data rate for all users, links that share \
         a band, and your own cost function.\n\n\
         A number without a unit has the unit in the name of its flag. You can also write the unit: --max-power-dbm 20W.",
    );
    let examples = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    command.after_help(EXIT_CODES).after_long_help(format!("{examples}\n\n{EXIT_CODES}"))
}

/// Returns the problem that examples use.
fn first() -> &'static About {
    problems::BUILT_IN[0]
}

/// Returns the first example of each problem for a verb.
fn examples_of(verb: Verb) -> Vec<&'static str> {
    let all = problems::all().into_iter();
    let mut examples: Vec<&str> =
        all.filter_map(|about| (about.examples)(verb).first().copied()).collect();
    examples.dedup();
    examples
}

/// Adds a help page to a command. The short page has only the line `about`; the long page also has the details and the
/// examples, which are given without the name of the program.
fn page(command: Command, about: &str, examples: &[&str], details: &str) -> Command {
    let long = if details.is_empty() { about.to_owned() } else { format!("{about}\n\n{details}") };
    let lines: String = examples.iter().map(|line| format!("\n  anyk {line}")).collect();
    command.about(about.to_owned()).long_about(long).after_long_help(format!("Examples:{lines}"))
}

/// Adds the help page to the subcommand of a problem.
fn problem_page(command: Command, about: &About, verb: Verb) -> Command {
    let details = match verb {
        Verb::Solve => format!("{}\n\n{}", about.formula, about.input),
        _ => about.formula.to_owned(),
    };
    page(command, about.line, (about.examples)(verb), &details)
}

/// Builds a command with a subcommand for each problem. A subcommand accepts only the options of its problem.
fn by_problem(verb: Verb, name: &'static str, about: &str) -> Command {
    let all = problems::all().into_iter();
    let trained = all.filter(|about| verb != Verb::Train || about.train.is_some());
    let rows = trained.map(|about| {
        let subcommand = Command::new(about.name);
        let subcommand = match verb {
            Verb::Solve => SolveArgs::augment_args(subcommand),
            Verb::Train => TrainArgs::augment_args(subcommand),
            Verb::Assess => AssessArgs::augment_args(subcommand),
            _ => SampleArgs::augment_args(subcommand),
        };
        problem_page(with_options(subcommand, &(about.flags)(verb)), about, verb)
    });
    let command = Command::new(name)
        .subcommands(rows)
        .subcommand_help_heading("Problems")
        .subcommand_value_name("PROBLEM")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let hint =
        format!("For the options of a problem, add its name: anyk {name} {} --help", first().name);
    page(command.after_help(hint), about, &examples_of(verb), "")
}

/// Flags of `solve`, shared by the other commands that answer the instances of an input.
#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// File with the instances; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "input")]
    pub(crate) file: Option<String>,
    /// File with the instances; alternative to the argument FILE
    #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
    pub(crate) input: Option<String>,
    /// Output format [default: table]
    #[arg(long, value_name = "NAME", display_order = 890, value_parser = PossibleValuesParser::new([
        PossibleValue::new("table").help("Tables and text"),
        PossibleValue::new("json").help("One line of JSON per instance, printed while the input arrives"),
        PossibleValue::new("csv").help("One table of all users or links"),
    ]))]
    pub(crate) format: Option<String>,
    /// Print JSON (short for --format json)
    #[arg(long, conflicts_with = "format", display_order = 891)]
    pub(crate) json: bool,
    /// Stop at the first instance that fails instead of reporting it and continuing
    #[arg(long, display_order = 892, hide_short_help = true, conflicts_with = "shard")]
    pub(crate) fail_fast: bool,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE", display_order = 899)]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "out", display_order = 900)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
}

/// Flag of commands that can be split among processes or machines.
#[derive(Debug, Default, Args)]
pub(crate) struct ShardArgs {
    /// Compute only shard I of N, such as 2/4, and write it to the folder --out
    ///
    /// Run each shard, on any machine with the same files, then print the result with `anyk merge`. A finished shard
    /// is not computed again, and an interrupted one continues.
    #[arg(long, value_name = "I/N", requires = "out", value_parser = shard, display_order = 895, hide_short_help = true)]
    pub(crate) shard: Option<Shard>,
}

impl SolveArgs {
    /// Returns the file with the instances; - for standard input. The arguments name exactly one.
    pub(crate) fn input(&self) -> &str {
        self.file.as_deref().or(self.input.as_deref()).unwrap_or("-")
    }
}

/// Flags of `assess`.
#[derive(Debug, Args)]
pub(crate) struct AssessArgs {
    /// File with the allocations (CSV, or JSON of `solve --json`); - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) allocations: String,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Flags of commands that write a model.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Overwrite an existing file even if it is not a model
    #[arg(long, display_order = 900)]
    pub(crate) force: bool,
    /// Print one JSON object instead of text
    #[arg(long, display_order = 901)]
    pub(crate) json: bool,
}

/// Flags of `train`.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) written: ModelArgs,
    /// Several seeds (1..10 or 1,2,3), one model for each
    ///
    /// AnyK trains the models in parallel. With --out p.safetensors, the model of seed 3 is p-3.safetensors. With
    /// p-gnn, all models share one outer function (p.safetensors.outer), which is pre-trained from the first seed.
    /// AnyK keeps finished models: after an interruption, run the same command again to train the others.
    #[arg(long, value_name = "SEED,…", conflicts_with = "seed", value_parser = seeds)]
    pub(crate) seeds: Option<Listed<u64>>,
    /// Train only the seeds of shard I of N, such as 2/4; --out is then a folder
    #[arg(long, value_name = "I/N", requires = "seeds", value_parser = shard, display_order = 895, hide_short_help = true)]
    pub(crate) shard: Option<Shard>,
}

/// Flags of `sample`.
#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE", display_order = 899)]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "out", display_order = 900)]
    pub(crate) force: bool,
}

fn fading() -> Command {
    let command = FadingArgs::augment_args(Command::new("fading"));
    page(
        command,
        "Draw samples of the small-scale gain g from a fading distribution",
        &["sample fading --law rician:k=3 --count 2000 --format npy --out samples.npy"],
        "",
    )
}

/// Flags of `sample fading`.
#[derive(Debug, Args)]
pub(crate) struct FadingArgs {
    /// Fading distribution, such as rayleigh or rician:k=3
    ///
    /// Distributions, with example parameters: rayleigh, nakagami:m=2, rician:k=3, shadowed:sigma_db=4
    /// and mixture:share=0.1,loss_db=10.
    #[arg(long, value_name = "LAW")]
    pub(crate) law: FadingLaw,
    /// Number of samples
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, 10_000_000))]
    pub(crate) count: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of antennas N_t at the base station; g has mean N_t
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole(1, 1024))]
    pub(crate) antennas: u64,
    /// Output format
    #[arg(long, value_name = "NAME", default_value = "json", value_parser = PossibleValuesParser::new([
        PossibleValue::new("json").help("One JSON object"),
        PossibleValue::new("npy").help("A NumPy array with one axis, float64"),
    ]))]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) sample: SampleArgs,
}

fn evaluate() -> Command {
    let command = EvaluateArgs::augment_args(Command::new("evaluate"));
    let program =
        format!("evaluate 'cmd:python3 my_policy.py' --problem {} --k 1,10,100", first().name);
    let mut baselines: Vec<&str> = Vec::new();
    for policy in problems::all().into_iter().flat_map(|about| about.policies) {
        if !baselines.contains(&policy.name) {
            baselines.push(policy.name);
        }
    }
    let details = format!(
        "Reports means over random instances that were not used for training. A policy is a model file, the name of a \
         baseline ({}), or a program (cmd:COMMAND).\n\n\
         For a single model file, AnyK prints the table of its problem, which compares the model with the optimum, the \
         closed form or the classical algorithms. With several policies, a policy that is not a model file, --problem, \
         --seeds, --csv or --plot, AnyK checks all policies on the same instances, and adds the best known policy and \
         a simple baseline. The instances come from the cell of the first model. With price policies, options override \
         the parameters of the cell.\n\n\
         AnyK starts a program once. The program reads one instance per line, in the input format of `solve`, and \
         prints one line for each, in the format of `solve --json`, such as {}. AnyK also sends the users in another \
         order and finds the size law of the program.",
        baselines.join(", "),
        answer_shape(first()),
    );
    page(
        with_options(command, &model_options(Verb::Evaluate)),
        "Compare models and your own programs with the optimum",
        &[
            "evaluate price.safetensors",
            "evaluate p.safetensors price.safetensors --k 1,2,5,10-50:10,100 --csv out.csv --plot out.svg",
            &program,
            "evaluate price.safetensors --k 1000 --max-power-dbm 46",
        ],
        &details,
    )
}

/// Returns the shape of a program's answer for a problem with users.
fn answer_shape(about: &About) -> String {
    let amounts = about.amounts.iter().map(|amount| format!(",\"{}\":…", amount.name));
    format!("{{\"users\":[{{\"id\":\"u1\"{}}}]}}", amounts.collect::<String>())
}

/// Flags of `evaluate`.
#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    /// Model files, names of baselines, or programs (cmd:COMMAND)
    #[arg(value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<String>,
    /// Problem to evaluate; required if no model file is given
    #[arg(long, value_name = "NAME", value_parser = problems())]
    pub(crate) problem: Option<String>,
    /// Numbers of users or links, also as ranges with a step: 1,2,5,10-50:10,100
    #[arg(
        long,
        value_name = "K,…",
        default_value = "1,2,5,10,50,100,200",
        allow_hyphen_values = true,
        value_parser = sizes
    )]
    pub(crate) k: Listed<usize>,
    /// Random instances for each number of users
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1, 1_000_000))]
    pub(crate) samples: u64,
    /// Seed of the instances [default: 7]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Several seeds (1..10 or 1,2,3), new instances for each
    #[arg(
        long,
        value_name = "SEED,…",
        conflicts_with = "seed",
        allow_hyphen_values = true,
        value_parser = seeds
    )]
    pub(crate) seeds: Option<Listed<u64>>,
    /// Time limit for each answer of a program
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, hide_short_help = true)]
    pub(crate) timeout: f64,
    /// CSV file for the table
    #[arg(long, value_name = "FILE", display_order = 897)]
    pub(crate) csv: Option<PathBuf>,
    /// SVG file for a plot of the gap to the reference against K
    #[arg(long, value_name = "FILE", display_order = 898)]
    pub(crate) plot: Option<PathBuf>,
    /// Overwrite existing output files
    #[arg(long, display_order = 900)]
    pub(crate) force: bool,
    /// Print one JSON object instead of a table
    #[arg(long, display_order = 901)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
    /// Folder for the results of --shard
    #[arg(
        long,
        value_name = "DIR",
        requires = "shard",
        display_order = 896,
        hide_short_help = true
    )]
    pub(crate) out: Option<PathBuf>,
}

fn problems() -> PossibleValuesParser {
    PossibleValuesParser::new(
        problems::all().into_iter().map(|about| PossibleValue::new(about.name).help(about.line)),
    )
}

fn allocate() -> Command {
    let command = AllocateArgs::augment_args(Command::new("allocate"));
    page(
        with_options(command, &model_options(Verb::Allocate)),
        "Allocate resources with a model",
        &examples_of(Verb::Allocate),
        "Input and output have the format of `anyk solve` for the problem of the model, so you can compare the \
         answers. The parameters of the cell come from the model; with the price policy, options override them.",
    )
}

/// Flags of `allocate`.
#[derive(Debug, Args)]
pub(crate) struct AllocateArgs {
    /// Model file, written by `train` or `calibrate`
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

fn calibrate() -> Command {
    let command = CalibrateArgs::augment_args(Command::new("calibrate"));
    page(
        with_options(command, &model_options(Verb::Calibrate)),
        "Give a model the smallest bandwidth margin that carries a guarantee",
        (first().examples)(Verb::Calibrate),
        "Draws independent cells that were not used for training, and checks one user per cell by quadrature. It \
         then chooses the smallest factor on the bandwidths that guarantees, with confidence 1 − δ over the draw, \
         that at most a share β of users miss their QoS. The guarantee rests on an exact binomial bound (proof: \
         docs/guarantees.md) and holds for the numbers of users in --k. `allocate` and `evaluate` apply the factor and \
         report the guarantee.",
    )
}

/// Flags of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Model file of the problem urllc
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Numbers of users for which the guarantee must hold, separated by commas
    #[arg(long, value_name = "K,…", value_delimiter = ',', default_value = "10", value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Independent cells for each number of users; AnyK checks one user per cell
    #[arg(long, value_name = "N", default_value_t = 2995, value_parser = whole(1, 1_000_000_000))]
    pub(crate) cells: u64,
    /// Share β of users that may miss their QoS
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3, allow_negative_numbers = true)]
    pub(crate) beta: f64,
    /// Probability δ, over the draw of the cells, that the guarantee fails
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) delta: f64,
    /// Allow a factor below 1 if the model uses more bandwidth than the guarantee requires
    #[arg(long)]
    pub(crate) shrink: bool,
    /// Seed of the cells
    #[arg(long, default_value_t = 11)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) written: ModelArgs,
}

fn info() -> Command {
    let command = InfoArgs::augment_args(Command::new("info"));
    page(
        command,
        "Show a model's problem, method, training record and tensors",
        &["info model.safetensors", "info model.safetensors --json"],
        "",
    )
}

/// Flags of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Model file
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

fn diagnose() -> Command {
    let command = DiagnoseArgs::augment_args(Command::new("diagnose"));
    page(
        with_options(command, &CellOptions::ALL.specs()),
        "Find the size law of a policy and a network that matches it",
        &[
            "diagnose --policy urllc-bandwidth --out out/diagnose",
            "diagnose model.safetensors --quantity bandwidth",
            "diagnose --samples samples.csv --json",
        ],
        "By Remark 1 of the paper, a network that learns a permutation-equivariant policy generalizes to other numbers \
         of users if the size law of the network matches that of the policy. The command estimates f(x, K), the mean \
         output for a user with input x among K users. It tests whether the policy is permutation-equivariant and \
         asymptotically size-invariant, and fits its size law. On random networks it measures the size law of every \
         combination of aggregator and output layer, and recommends the combination that matches.\n\n\
         From the outputs for up to --train-k users, it then predicts the error at the largest K of networks that are \
         trained at --train-k, with a range. By default, it also trains such networks and measures \
         this error. The error is the geometric mean over users of the factor by which outputs are wrong, minus \
         1.\n\n\
         The policy is one of the paper's (--policy), a model file, or a file of samples (--samples). Samples are CSV \
         with the columns\n\n  \
         k,x,y,instance\n\n\
         and one row for each user: the number of users, the input, the output and, if known, the instance of the \
         user.\n\n\
         The exit code is 0 for every finding, and 2 for bad input.",
    )
}

/// Flags of `diagnose`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["model", "policy", "rows"])))]
pub(crate) struct DiagnoseArgs {
    /// Model file
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Policy of the paper, with random users or links
    #[arg(long, value_name = "NAME", value_parser = policies())]
    pub(crate) policy: Option<String>,
    /// CSV file of samples; - for standard input
    #[arg(
        long = "samples",
        value_name = "FILE",
        conflicts_with_all = ["k", "users", "quantity", "shard"]
    )]
    pub(crate) rows: Option<String>,
    /// Output of the model to diagnose [default: power]
    #[arg(long, value_name = "NAME", conflicts_with = "policy", value_parser = PossibleValuesParser::new(diagnosis::quantities()))]
    pub(crate) quantity: Option<String>,
    /// Numbers of users K, separated by commas [default: 2,3,5,10,20,50,100,200]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Users to draw for each K, in whole cells [default: 20000]
    #[arg(long, value_name = "N", value_parser = whole(100, 10_000_000))]
    pub(crate) users: Option<u64>,
    /// Training size K_0; size laws of networks are measured from K_0 upwards
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = size)]
    pub(crate) train_k: usize,
    /// Skip the training runs that check the prediction
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Seed of draws, networks and training runs
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for plots, CSV files and an HTML report
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite files that AnyK did not write, or that were changed afterwards
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
}

fn policies() -> PossibleValuesParser {
    let shown = |(name, label)| PossibleValue::new(name).help(label);
    PossibleValuesParser::new(diagnosis::built_in().into_iter().map(shown))
}

fn reproduce() -> Command {
    let command = ReproduceArgs::augment_args(Command::new("reproduce"));
    page(
        command,
        "Reproduce the paper's tables, figures and propositions",
        &[
            "reproduce",
            "reproduce table3 table6 --out tables",
            "reproduce closed-forms --trainings 1",
            "reproduce fig1 fig2c propositions",
            "reproduce --full --out full",
        ],
        "Trains and measures the policies that each study needs, compares the results with the paper, and writes CSV, \
         Markdown, plots (SVG) and a self-contained report.html. A summary in the report lists the statements that \
         reproduce, those that do not, and the new findings. If you name studies, only their sections of the report \
         are updated. After an interruption, run the same command again: it reuses the results that the same version \
         of AnyK has measured.",
    )
}

/// Default output folder of `reproduce`.
pub(crate) const OUT: &str = "out/reproduce";

/// Flags of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Studies to run [default: those of the paper, price and valid-cell]
    #[arg(value_name = "NAME", value_parser = studies())]
    pub(crate) names: Vec<String>,
    /// Use the paper's numbers of training runs, samples and realizations
    ///
    /// For example, 10 training runs for each entry of table3 to table6, 100,000 training samples for the FNN, and
    /// 100,000 realizations for fig2a and fig2b.
    #[arg(long)]
    pub(crate) full: bool,
    /// Use few cells and training steps, only to test that a study runs; ignore its results
    #[arg(long, conflicts_with = "full")]
    pub(crate) trial: bool,
    /// Training runs for each entry [default: depends on the study; table3 to table6: 3, or 10 with --full]
    #[arg(long, value_name = "N", value_parser = whole(1, 100))]
    pub(crate) trainings: Option<u64>,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub(crate) out: PathBuf,
    /// Overwrite files that AnyK did not write, or that were changed afterwards
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
}

fn studies() -> PossibleValuesParser {
    let shown = |study: &'static anyk_study::Study| {
        let alone = if study.by_default { "" } else { " (only if you name it)" };
        PossibleValue::new(study.name).help(format!("{}{alone}", study.about))
    };
    let former = PossibleValue::new(FORMER_PRICE).hide(true);
    PossibleValuesParser::new(STUDIES.iter().map(shown).chain([former]))
}

fn sweep() -> Command {
    let command = SweepArgs::augment_args(Command::new("sweep"));
    let details = format!(
        "The specification is a TOML file:\n\n  \
         problem = \"{}\"\n  \
         policies = [\"price\", \"optimum\"]  # methods of `train`, policies without training\n  \
         k = [1, 10, 100]                  # or \"1,2,5,10-50:10\"\n  \
         samples = 100                     # instances for each K\n  \
         seeds = \"1..10\"                   # a model of each method for each seed\n  \
         test_seed = 7                     # seed of the instances\n\n  \
         [options]                         # of the instances: flags of `assess` and `sample`\n  \
         max-power-dbm = [40, 43]\n\n  \
         [train]                           # flags of `train`; [train.price] is only for price\n  \
         train-k = 10\n\n\
         An array sweeps over its values. If a problem has a single method, its name is `trained`. Methods are trained \
         with the options of the instances, too. The table has one row for each policy, swept value, seed and K. A \
         training run that fails is a row with its error in the column `status`.",
        first().name
    );
    page(
        command,
        "Train and evaluate policies over sizes, options and seeds",
        &["sweep examples/sweeps/small.toml", "sweep spec.toml --csv table.csv --plot gap.svg"],
        &details,
    )
}

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Specification (TOML); - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) spec: String,
    /// CSV file for the table
    #[arg(long, value_name = "FILE", display_order = 897)]
    pub(crate) csv: Option<PathBuf>,
    /// SVG file for a plot of the gap to the reference against K
    #[arg(long, value_name = "FILE", display_order = 898)]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shard: ShardArgs,
    /// Folder for the results of --shard
    #[arg(long, value_name = "DIR", requires = "shard", display_order = 896)]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite existing output files
    #[arg(long, display_order = 900)]
    pub(crate) force: bool,
    /// Print one JSON object instead of a table
    #[arg(long, display_order = 901)]
    pub(crate) json: bool,
}

fn merge() -> Command {
    page(
        MergeArgs::augment_args(Command::new("merge")),
        "Print the result of a run from the parts of all its shards",
        &["merge parts"],
        "A run with --shard I/N computes one of N shards and writes its results to a folder. Once the folder has the \
         parts of all shards, this command prints what the run prints without --shard, apart from measured times, which \
         it leaves out. It names each part that is missing, damaged or from another run.",
    )
}

/// Flags of `merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Folder with the parts, given by --out to each shard
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Overwrite existing files of --csv and --plot, and changed files of a report
    #[arg(long)]
    pub(crate) force: bool,
}

fn config() -> Command {
    let solve = format!("solve {} --config cell.toml --input users.json", first().name);
    page(
        with_options(Command::new("config"), &CellOptions::specs_of_files()),
        "Print the parameters of the cell as TOML, for use with --config",
        &["config --max-power-dbm 40 > cell.toml", &solve],
        "",
    )
}

fn bench() -> Command {
    let command = BenchArgs::augment_args(Command::new("bench"));
    page(
        command,
        "Measure the speed of AnyK on this machine",
        &["bench --json"],
        "Each value is the median of repeated runs, on one thread unless noted. `cargo xtask compare` compares AnyK \
         with Python code for the same tasks.",
    )
}

/// Flags of `bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

fn completions() -> Command {
    let command = CompletionsArgs::augment_args(Command::new("completions"));
    let example = "completions bash > ~/.local/share/bash-completion/completions/anyk";
    page(command, "Print a completion script for a shell", &[example], "")
}

/// Flags of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use crate::outputs::{OUTPUTS, inputs};

    #[test]
    fn the_command_line_is_sound() {
        super::command().debug_assert();
    }

    /// Checks that each argument that names a file is registered as an input or an output, so that no command
    /// overwrites its own input.
    #[test]
    fn every_file_is_an_input_or_an_output() {
        fn check(command: &Command) {
            for argument in command.get_arguments() {
                let names = argument.get_value_names().unwrap_or_default();
                let is_file = |name: &str| {
                    ["FILE", "MODEL", "POLICY", "DIR"].iter().any(|part| name.contains(part))
                };
                let id = argument.get_id().as_str();
                let known = OUTPUTS.contains(&id) || inputs().iter().any(|input| input.0 == id);
                assert_eq!(names.iter().any(|name| is_file(name)), known, "{id}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&super::command());
    }

    /// Collects the examples in the help of a command and of its subcommands.
    fn examples(command: &Command, all: &mut Vec<String>) {
        let page = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let lines = page.lines().filter_map(|line| line.strip_prefix("  anyk "));
        all.extend(lines.map(str::to_owned));
        for subcommand in command.get_subcommands() {
            examples(subcommand, all);
        }
    }

    #[test]
    fn every_example_is_understood() {
        let mut all = Vec::new();
        examples(&super::command(), &mut all);
        assert!(all.len() > 40, "{all:?}");
        for part in all.iter().flat_map(|line| line.split(" | ")) {
            let words = part.split(" > ").next().unwrap_or_default().split(' ');
            let words = words.skip_while(|word| *word == "anyk");
            let parsed = super::command()
                .try_get_matches_from([&["anyk"], &*words.collect::<Vec<_>>()].concat());
            assert!(parsed.is_ok(), "{part}: {parsed:?}");
        }
    }
}
