//! The command line: one command for each verb, one subcommand for each problem where the problem is not in a
//! model's file.

use std::path::PathBuf;

use anyk::channel::FadingLaw;
use anyk::core::About;
use anyk::diagnosis;
use anyk::framework::{CellOptions, Verb};
use anyk::problems;
use anyk_study::{FORMER_PRICE, STUDIES, SWEEP};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Args, Command};
use clap_complete::Shell;

use crate::arguments::{model_options, with_options};
use crate::failure::EXIT_CODES;
use crate::values::{Listed, seconds, seeds, size, sizes, whole};

/// The whole command line.
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
            by_problem(Verb::Solve, "solve", "Find the best allocation of a problem's instances"),
            by_problem(
                Verb::Train,
                "train",
                "Train a policy at one number of users, for use at any other",
            ),
            by_problem(
                Verb::Assess,
                "assess",
                "Judge allocations of your own: who is served, and how far from the optimum",
            ),
            evaluate(),
            allocate(),
            calibrate(),
            info(),
            diagnose(),
            sample.subcommand(fading()),
            sweep(),
            reproduce(),
            config(),
            bench(),
            completions(),
        ]);
    let name = first().name;
    let draw_and_solve = format!("sample {name} --k 10 --seed 1 | anyk solve {name} --input -");
    let train = format!("train {name} --method price --out price.safetensors");
    let command = page(
        command,
        "Power and bandwidth for the users of a wireless cell, at any number of users",
        &[&draw_and_solve, &train, "evaluate price.safetensors --k 1,10,100,1000"],
        "AnyK finds the powers and bandwidths that meet every user's latency and reliability target with the \
         least total bandwidth, and proves the optimum. It also learns policies at one number of users \
         that serve any other number. More problems: one rate for all users, and links that share a band.",
    );
    let examples = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    command.after_help(EXIT_CODES).after_long_help(format!("{examples}\n\n{EXIT_CODES}"))
}

/// The problem that examples are about.
fn first() -> &'static About {
    problems::BUILT_IN[0]
}

/// The first example of each problem for a verb.
fn examples_of(verb: Verb) -> Vec<&'static str> {
    let all = problems::all().into_iter();
    let mut examples: Vec<&str> =
        all.filter_map(|about| (about.examples)(verb).first().copied()).collect();
    examples.dedup();
    examples
}

/// Adds a help page to a command: a line, for the long help also details and examples without the program's name.
fn page(command: Command, about: &str, examples: &[&str], details: &str) -> Command {
    let long = if details.is_empty() { about.to_owned() } else { format!("{about}\n\n{details}") };
    let lines: String = examples.iter().map(|line| format!("\n  anyk {line}")).collect();
    command.about(about.to_owned()).long_about(long).after_long_help(format!("Examples:{lines}"))
}

/// Adds the help page of a problem's subcommand.
fn problem_page(command: Command, about: &About, verb: Verb) -> Command {
    let details = match verb {
        Verb::Solve => format!("{}\n\n{}", about.formula, about.input),
        _ => about.formula.to_owned(),
    };
    page(command, about.line, (about.examples)(verb), &details)
}

/// A command with a subcommand for each problem, which has the problem's own options and no others.
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

/// Flags of `solve`, and of whatever else answers the instances of an input.
#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// File with the instances, or - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) input: String,
    /// Form of the answers [default: table]
    #[arg(long, value_name = "NAME", display_order = 890, value_parser = PossibleValuesParser::new([
        PossibleValue::new("table").help("Tables and sentences"),
        PossibleValue::new("json").help("A JSON object on a line for each instance, while the input arrives"),
        PossibleValue::new("csv").help("One table of all users or links"),
    ]))]
    pub(crate) format: Option<String>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format", display_order = 891)]
    pub(crate) json: bool,
    /// End at the first instance that cannot be answered; else it gets a line with the reason, and the rest goes on
    #[arg(long, display_order = 892, hide_short_help = true)]
    pub(crate) fail_fast: bool,
    /// File to write to, instead of standard output
    #[arg(long, value_name = "FILE", display_order = 899)]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "out", display_order = 900)]
    pub(crate) force: bool,
}

/// Flags of `assess`.
#[derive(Debug, Args)]
pub(crate) struct AssessArgs {
    /// File with the allocations (JSON in the form of `solve --json`, or CSV), or - for standard input
    #[arg(long, short, value_name = "FILE")]
    pub(crate) allocations: String,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Flags of `train`.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// File to write the model to
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Train from several seeds at once (1..10 or 1,2,3): FILE becomes FILE-1, FILE-2, … before its ending, and p-gnn
    /// shares one outer function (FILE.outer), pre-trained from the first seed. Finished models are kept: after an
    /// interruption, the same command trains only the rest
    #[arg(long, value_name = "SEED,…", conflicts_with = "seed", value_parser = seeds)]
    pub(crate) seeds: Option<Listed<u64>>,
    /// Overwrite an existing file even if it is not a model
    #[arg(long, display_order = 900)]
    pub(crate) force: bool,
    /// Print one JSON object instead of sentences
    #[arg(long, display_order = 901)]
    pub(crate) json: bool,
}

/// Flags of `sample`.
#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// File to write to, instead of standard output
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
        "Small-scale gains g of a law of fading, as samples to train with",
        &["sample fading --law rician:k=3 --count 2000 --format npy --out samples.npy"],
        "",
    )
}

/// Flags of `sample fading`.
#[derive(Debug, Args)]
pub(crate) struct FadingArgs {
    /// Law: rayleigh, nakagami:m=2, rician:k=3, shadowed:sigma_db=4 or mixture:share=0.1,loss_db=10
    #[arg(long, value_name = "LAW")]
    pub(crate) law: FadingLaw,
    /// Number of gains
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, 10_000_000))]
    pub(crate) count: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Antennas N_t at the base station; g has the mean N_t
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole(1, 1024))]
    pub(crate) antennas: u64,
    /// Format of the output
    #[arg(long, value_name = "NAME", default_value = "json", value_parser = PossibleValuesParser::new([
        PossibleValue::new("json").help("One JSON object"),
        PossibleValue::new("npy").help("A NumPy array with one axis, float64"),
    ]))]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) sample: SampleArgs,
}

/// Random instances to measure on.
#[derive(Debug, Args)]
pub(crate) struct CellsArgs {
    /// Numbers of users, or of links, separated by commas
    #[arg(
        long,
        value_name = "K,…",
        value_delimiter = ',',
        default_value = "1,2,5,10,50,100,200",
        value_parser = size
    )]
    pub(crate) k: Vec<usize>,
    /// Random instances for each of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1, 1_000_000))]
    pub(crate) samples: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
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
        "Means over random instances that no model was trained on. One model by its file alone gets the table of its \
         problem, beside the optimum, the closed form or the classical policies.\n\n\
         Several policies, or any that is not a model, are put side by side on the same instances, all judged alike: \
         files of models, baselines by name ({}), and programs (cmd:COMMAND). The best that is known and the trivial \
         baseline are always there. The cell is that of the first model unless options say otherwise.\n\n\
         A program is started once. It reads an instance on each line, in the form that `solve` reads, and answers on a \
         line in the form that `solve --json` writes, such as {}. It is also asked with the users in another order, and \
         its size law is diagnosed.",
        baselines.join(", "),
        answer_shape(first()),
    );
    page(
        with_options(command, &model_options(Verb::Evaluate)),
        "Measure models, or programs of your own, at many numbers of users, beside the optimum",
        &[
            "evaluate price.safetensors",
            "evaluate p.safetensors price.safetensors --k 1,2,5,10-50:10,100 --csv out.csv --plot out.svg",
            &program,
            "evaluate price.safetensors --k 1000 --max-power-dbm 46",
        ],
        &details,
    )
}

/// What a program answers for a problem of users: what each user gets.
fn answer_shape(about: &About) -> String {
    let amounts = about.amounts.iter().map(|amount| format!(",\"{}\":…", amount.name));
    format!("{{\"users\":[{{\"id\":\"u1\"{}}}]}}", amounts.collect::<String>())
}

/// Flags of `evaluate`.
#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    /// Files of models, names of baselines, cmd:COMMAND
    #[arg(value_name = "POLICY", required = true)]
    pub(crate) policies: Vec<String>,
    /// The problem, where no model says it
    #[arg(long, value_name = "NAME", value_parser = problems())]
    pub(crate) problem: Option<String>,
    /// Numbers of users, or of links: 1,2,5,10-50:10,100
    #[arg(
        long,
        value_name = "K,…",
        default_value = "1,2,5,10,50,100,200",
        allow_hyphen_values = true,
        value_parser = sizes
    )]
    pub(crate) k: Listed<usize>,
    /// Random instances for each of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1, 1_000_000))]
    pub(crate) samples: u64,
    /// Seed of the instances [default: 7]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Several seeds, each with as many instances: 1..10 or 1,2,3
    #[arg(
        long,
        value_name = "SEED,…",
        conflicts_with = "seed",
        allow_hyphen_values = true,
        value_parser = seeds
    )]
    pub(crate) seeds: Option<Listed<u64>>,
    /// Longest time for an answer of a program
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, hide_short_help = true)]
    pub(crate) timeout: f64,
    /// File for the table, as CSV
    #[arg(long, value_name = "FILE", display_order = 897)]
    pub(crate) csv: Option<PathBuf>,
    /// File for a picture (SVG): the distance to the best policy over K
    #[arg(long, value_name = "FILE", display_order = 898)]
    pub(crate) plot: Option<PathBuf>,
    /// Overwrite output files that exist
    #[arg(long, display_order = 900)]
    pub(crate) force: bool,
    /// Print one JSON object instead of a table
    #[arg(long, display_order = 901)]
    pub(crate) json: bool,
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
        "Allocate with a model, in the form of `solve`",
        &examples_of(Verb::Allocate),
        "Input and output are those of `anyk solve` for the model's problem, so that the two can be compared. The \
         cell is the model's; for the price policy, options may change it.",
    )
}

/// Flags of `allocate`.
#[derive(Debug, Args)]
pub(crate) struct AllocateArgs {
    /// File of the model, written by `train` or `calibrate`
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

fn calibrate() -> Command {
    let command = CalibrateArgs::augment_args(Command::new("calibrate"));
    page(
        with_options(command, &model_options(Verb::Calibrate)),
        "Give a model the smallest margin that carries a guarantee",
        (first().examples)(Verb::Calibrate),
        "Draws independent cells that no training has seen, judges one user of each by quadrature, and chooses \
         the smallest factor on the bandwidths such that, with confidence 1 − δ over that draw, at most a share β \
         of users miss their QoS: an exact binomial bound (docs/guarantees.md has the proof). It holds at the \
         sizes named here. `allocate` and `evaluate` apply and report it.",
    )
}

/// Flags of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// File of the model, for users with a loss and delay target
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Sizes at which the guarantee is to hold, separated by commas
    #[arg(long, value_name = "K,…", value_delimiter = ',', default_value = "10", value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Independent cells of each size; one user of each is judged
    #[arg(long, value_name = "N", default_value_t = 2995, value_parser = whole(1, 1_000_000_000))]
    pub(crate) cells: u64,
    /// Share β of users that may miss their QoS
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3, allow_negative_numbers = true)]
    pub(crate) beta: f64,
    /// Probability δ, over the draw of the cells, that more users than that miss it
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(crate) delta: f64,
    /// Let the factor be below 1 where the model gives more than the guarantee needs
    #[arg(long)]
    pub(crate) shrink: bool,
    /// Seed of the cells
    #[arg(long, default_value_t = 11)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) train: TrainArgs,
}

fn info() -> Command {
    let command = InfoArgs::augment_args(Command::new("info"));
    page(
        command,
        "Show what a model is, how it was trained, what it reached, and its tensors",
        &["info model.safetensors", "info model.safetensors --json"],
        "",
    )
}

/// Flags of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// File of a model of any kind
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
        "Find the size law of a policy, and the network that follows it",
        &[
            "diagnose --policy urllc-bandwidth --out out/diagnose",
            "diagnose model.safetensors --quantity bandwidth",
            "diagnose --samples samples.csv --json",
        ],
        "Remark 1 of the paper: a network generalizes to the size of a permutation-equivariant policy if its size \
         law aligns with that of the policy. Estimates f(x, K), what a user of input x gets among K, tests whether \
         the policy is permutation-equivariant and asymptotically size-invariant, fits its size law, measures the \
         law of every aggregator with every output on random networks, and recommends the pair that matches. Then \
         predicts from sizes up to --train-k what networks trained there will miss at the largest size, with a \
         range, and measures it: the factor by which outputs are off, in the geometric mean over users, less \
         1.\n\n\
         The policy is one of the paper's (--policy), a model, or a file of samples: CSV with the columns\n\n  \
         k,x,y,instance\n\n\
         and one row for each user: the number of users, input, output, and (if known) which rows belong \
         together.\n\n\
         The exit code is 0 whatever is found, and 2 for bad input.",
    )
}

/// Flags of `diagnose`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["model", "policy", "rows"])))]
pub(crate) struct DiagnoseArgs {
    /// File of a model of any kind
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A policy of the paper, with random users or links
    #[arg(long, value_name = "NAME", value_parser = policies())]
    pub(crate) policy: Option<String>,
    /// File of samples (CSV), or - for standard input
    #[arg(
        long = "samples",
        value_name = "FILE",
        conflicts_with_all = ["k", "users", "quantity"]
    )]
    pub(crate) rows: Option<String>,
    /// Which output of a model [default: power]
    #[arg(long, value_name = "NAME", conflicts_with = "policy", value_parser = PossibleValuesParser::new(diagnosis::quantities()))]
    pub(crate) quantity: Option<String>,
    /// Sizes, separated by commas [default: 2,3,5,10,20,50,100,200]
    #[arg(long, value_name = "K,…", value_delimiter = ',', value_parser = size)]
    pub(crate) k: Vec<usize>,
    /// Users drawn of each size, in whole cells [default: 20000]
    #[arg(long, value_name = "N", value_parser = whole(100, 10_000_000))]
    pub(crate) users: Option<u64>,
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
    /// Overwrite existing files even if AnyK did not write them, or they have changed since
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

fn policies() -> PossibleValuesParser {
    let shown = |(name, label)| PossibleValue::new(name).help(label);
    PossibleValuesParser::new(diagnosis::built_in().into_iter().map(shown))
}

fn reproduce() -> Command {
    let command = ReproduceArgs::augment_args(Command::new("reproduce"));
    page(
        command,
        "Reproduce the paper's tables, figures and propositions, beside what it says itself",
        &[
            "reproduce",
            "reproduce table3 table6 --out tables",
            "reproduce closed-forms --trainings 1",
            "reproduce fig1 fig2c propositions",
            "reproduce --full --out full",
        ],
        "Trains and measures what each one needs, prints it beside what the paper says, and writes CSV, Markdown, \
         plots (SVG) and one self-contained report.html, which begins with a summary: what of the paper reproduces, \
         what does not, and what is new. A run with some names updates their sections of the report and leaves the \
         others. Interrupted, it continues where it stopped; what another version of the program has measured is \
         measured again.",
    )
}

/// Where `reproduce` writes to, if nobody says.
pub(crate) const OUT: &str = "out/reproduce";

/// Flags of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Tables and figures, by the paper's numbers or their subject; all that the paper shows without a name
    #[arg(value_name = "NAME", value_parser = studies())]
    pub(crate) names: Vec<String>,
    /// The paper's ten trainings for each entry, the FNN's 100,000 samples, 100,000 realizations for
    /// fig2a and fig2b
    #[arg(long)]
    pub(crate) full: bool,
    /// Every table from a few cells and short trainings, to see that it runs: its figures mean nothing
    #[arg(long, conflicts_with = "full")]
    pub(crate) trial: bool,
    /// Trainings for each entry [default: 3, or 10 with --full (closed-forms: 5)]
    #[arg(long, value_name = "N", value_parser = whole(1, 100))]
    pub(crate) trainings: Option<u64>,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub(crate) out: PathBuf,
    /// Overwrite existing files even if AnyK did not write them, or they have changed since
    #[arg(long)]
    pub(crate) force: bool,
}

fn studies() -> PossibleValuesParser {
    let shown = |study: &'static anyk_study::Study| {
        let alone = if study.by_default { "" } else { "; by its name alone" };
        PossibleValue::new(study.name).help(format!("{}{alone}", study.about))
    };
    let former = PossibleValue::new(FORMER_PRICE).hide(true);
    PossibleValuesParser::new(STUDIES.iter().map(shown).chain([former]))
}

fn sweep() -> Command {
    let command = SweepArgs::augment_args(Command::new("sweep"));
    page(
        with_options(command, &CellOptions::ALL.specs()),
        SWEEP,
        &["sweep --k 1,2,5,10,50,100,200 --samples 1000 --seed 7"],
        "Solves random cells of each size exactly, beside equal power with exact bandwidths on the same cells: \
         what any other policy is to be measured against.",
    )
}

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) cells: CellsArgs,
}

fn config() -> Command {
    let solve = format!("solve {} --config cell.toml --input users.json", first().name);
    page(
        with_options(Command::new("config"), &CellOptions::specs_of_files()),
        "Print the cell's parameters as TOML, to edit and use with --config",
        &["config --max-power-dbm 40 > cell.toml", &solve],
        "",
    )
}

fn bench() -> Command {
    let command = BenchArgs::augment_args(Command::new("bench"));
    page(
        command,
        "Measure the speed of this program on this machine",
        &["bench --json"],
        "On one thread unless said; each figure is the median over repeated runs. `cargo xtask compare` runs what \
         one would write in Python beside it.",
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
    /// The shell
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

    /// Each argument that names a file is an input or an output, so that no command overwrites its own input.
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

    /// The examples of a command's help and of those below it.
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
