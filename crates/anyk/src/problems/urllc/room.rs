//! URLLC as the program sees it.

use std::io::Write;
use std::sync::Arc;

use crate::channel::sample_distances_m;
use crate::config::{Config, System};
use crate::exchange::{read_fading_samples, read_file};
use crate::framework::{
    Allocate, Amount, Arrays as _, Assessor, BuiltIn, CellOptions, CellReading, Choice, Counter,
    Drawn, Error, Instances, LoadedModel, Method, Model, ModelError, ModelFile, OptionSpec,
    OptionValue, Options, PretrainLoss, PretrainSettings, Responder, Room, Silent, Source, Trained,
    Verb, Workshop, cell_assessor, cell_counter, no_better_than, reference_options, responder,
    sample_options, sample_users, training_cells,
};
use crate::invalid::Invalid;
use crate::network::{Aggregator, SplitRule};
use crate::problems::urllc::any_run::equal_power_gap_percent;
use crate::problems::urllc::desk::{NO_CHECK, no_check, optimum_hz, problem_of, solve_cell};
use crate::problems::urllc::reports::{AnyReport, LearnedReport};
use crate::problems::urllc::run::{mean_metrics, validation_set};
use crate::problems::urllc::{
    Allocation, AnyPolicy, AnySettings, DEVIATIONS, EqualPower, LearnedPolicy, Recipe,
    SampledSettings, TrainRanges, TrainSettings, Urllc, UrllcSolver, UserInputs, law_for,
    measure_law, train_any_policy, train_sampled_policy, train_urllc,
};
use crate::qos::ServiceClass;

/// Problem (P1).
#[derive(Debug)]
pub struct UrllcRoom;

/// Problem (P1).
pub static URLLC: UrllcRoom = UrllcRoom;

const STATEMENT: &str = "  min   Σ_k B_k                                                       (P1)
  P,B
  s.t.  C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,  Σ_k P_k ≤ P_max

P_k and B_k are the power and bandwidth of user k and α_k is its channel gain; the effective capacity C^E of the \
link must reach the effective bandwidth S^E of the traffic, which holds the loss and delay target.";

const INPUT: &str = "\
The input are users, as JSON or CSV, told apart by the first character:

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

  id,distance_m
  a,60
  b,90

Each user has `distance_m`, `gain_db` (10·log10 of the large-scale gain α), `path_loss_db` (the same without its sign) \
or `snr_db` (with the power and bandwidth that it was measured at), and may have `epsilon`, `packet_bits` and \
`arrival_rate` of its own. Without an `id` it is called by its number. Whatever else is there comes back with the \
answer. What looks like a slip of a known name is refused, and so is a parameter of the cell that differs from the value \
in effect.

JSON may hold any number of cells, one object after the other, and is answered while it arrives; `\"cell\"` names one. \
CSV may be separated by commas, semicolons or tabs, have lines of comment that start with #, and tell cells apart by a \
column `cell`.";

/// What can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trainable {
    Paper(Method),
    AnyGnn,
}

impl Choice for Trainable {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "p-gnn",
            "Power by softmax, bandwidth with a pre-trained outer function",
            Self::Paper(Method::PGnn),
        ),
        ("m-gnn", "Power by softmax, bandwidth without it", Self::Paper(Method::MGnn)),
        (
            "fnn",
            "Fully-connected networks, for cells up to the training size",
            Self::Paper(Method::Fnn),
        ),
        (
            "any-gnn",
            "Power by a response to one price, bandwidth by what the received power needs; certified",
            Self::AnyGnn,
        ),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Fast,
    Paper,
}

impl Choice for Preset {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("fast", "Seconds", Self::Fast),
        ("paper", "The paper's: plain gradient steps, 5000 epochs (table II)", Self::Paper),
    ];
}

impl Choice for PretrainLoss {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("supervised", "Labels by solving for the bandwidth", Self::Supervised),
        ("unsupervised", "The KKT residual, no labels", Self::Unsupervised),
    ];
}

impl Choice for TrainRanges {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "paper",
            "The cell's own road, antennas and service class; budgets from just enough to twice its own",
            Self::Paper,
        ),
        (
            "wide",
            "Also roads up to 1 km, 1 to 64 antennas, ε from 1e-7 to 1e-3 and mixed service classes",
            Self::Wide,
        ),
    ];
}

impl Choice for SplitRule {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("kkt", "By the one price of power at which the powers sum to the budget", Self::Kkt),
        ("softmax", "e^o over its sum", Self::Softmax),
    ];
}

fn training_options() -> Vec<OptionSpec> {
    let mut options = vec![
        OptionSpec::choice::<Trainable>("method", "What to train").or("p-gnn; any-gnn with samples of fading"),
        OptionSpec::new(
            "train-k",
            OptionValue::Sizes,
            "Users in the training samples; several sizes separated by commas",
        )
        .or("10"),
        OptionSpec::new("samples", OptionValue::Whole("N"), "Training samples of each size")
            .or("2000"),
        OptionSpec::new(
            "epsilon-d",
            OptionValue::Number("PROBABILITY"),
            "Loss target to train for, stricter than the users' own; not for any-gnn",
        )
        .or("6e-6"),
        OptionSpec::choice::<Aggregator>(
            "aggregator",
            "How users see each other, for p-gnn and m-gnn",
        )
        .or("mean")
        .rare(),
        OptionSpec::choice::<Preset>("preset", "Optimizer, schedule and batch; not for any-gnn")
            .or("fast"),
        OptionSpec::choice::<PretrainLoss>(
            "pretraining",
            "Loss of the outer function's pre-training, for p-gnn, or of the bandwidth's with samples of fading",
        )
        .or("supervised")
        .rare(),
        OptionSpec::choice::<TrainRanges>(
            "train-ranges",
            "Where the training cells of any-gnn come from",
        )
        .or("paper"),
        OptionSpec::choice::<SplitRule>("output", "What makes powers of the outputs of any-gnn")
            .or("kkt")
            .rare(),
        OptionSpec::new(
            "fading",
            OptionValue::File,
            "Samples of the small-scale gain g, where its law is unknown: a NumPy array with one axis, 500 or \
             more; any-gnn alone",
        ),
        OptionSpec::new(
            "deviations",
            OptionValue::Number("N"),
            "Standard errors added to the bandwidth that is learned from samples of fading",
        )
        .or("3.719, which 9,999 of 10,000 normal errors are within")
        .rare(),
        OptionSpec::new(
            "seed",
            OptionValue::Whole("SEED"),
            "Seed of samples, initialization and order",
        )
        .or("1"),
    ];
    options.extend(CellOptions::ALL.specs());
    options
}

/// Availability that counts as 1.00, as the paper prints it.
const AVAILABLE: f64 = 0.995;

/// Options of the paper's methods that any-gnn has no use for, and the other way round.
const OF_PAPER: [&str; 3] = ["epsilon-d", "aggregator", "preset"];
const OF_ANY: [&str; 4] = ["train-ranges", "output", "fading", "deviations"];

fn learned_settings(method: Method, options: &Options) -> Result<TrainSettings, Error> {
    options.refuse(&OF_ANY, method.name())?;
    if method != Method::PGnn {
        options.refuse(&["pretraining"], method.name())?;
    }
    if method == Method::Fnn {
        options.refuse(&["aggregator"], method.name())?;
    }
    let epsilon_d = options.number("epsilon-d")?.unwrap_or(6e-6);
    ServiceClass { epsilon: epsilon_d, ..ServiceClass::default() }
        .validate()
        .map_err(|_| Invalid::value("epsilon_d", epsilon_d, ServiceClass::EPSILON_EXPECTED))?;
    let (train_k, samples) = training_cells(options)?;
    let largest = train_k.iter().copied().max().unwrap_or(1);
    let settings = TrainSettings {
        method,
        train_k,
        samples,
        epsilon_d,
        aggregator: options.choice("aggregator")?.unwrap_or(Aggregator::Mean),
        inputs: UserInputs::default(),
        hidden: if method == Method::Fnn { vec![300] } else { vec![4] },
        recipe: recipe(method, largest, options)?,
        seed: options.seed("seed", 1)?,
    };
    settings.validate()?;
    Ok(settings)
}

fn preset(options: &Options) -> Result<Preset, Error> {
    Ok(options.choice("preset")?.unwrap_or(Preset::Fast))
}

fn recipe(method: Method, largest: usize, options: &Options) -> Result<Recipe, Error> {
    Ok(match (preset(options)?, method) {
        (Preset::Fast, Method::Fnn) => Recipe::fast_fnn(),
        (Preset::Fast, _) => Recipe::fast(largest),
        (Preset::Paper, Method::Fnn) => Recipe::paper_fnn(),
        (Preset::Paper, _) => Recipe::paper(),
    })
}

fn train_learned(
    method: Method,
    options: &Options,
    workshop: &Workshop<'_>,
) -> Result<Trained, Error> {
    let system = CellOptions::ALL.system(options, &Config::default())?;
    let settings = learned_settings(method, options)?;
    let loss = options.choice("pretraining")?.unwrap_or(PretrainLoss::Supervised);
    let pretraining = match preset(options)? {
        Preset::Fast => PretrainSettings::default(),
        Preset::Paper => PretrainSettings::paper(),
    };
    let pretraining = PretrainSettings { loss, ..pretraining };
    let seed = workshop.law_seed(settings.seed);
    let law_seed = (method == Method::PGnn).then_some(seed);
    let decides = ("urllc", system.config(), &settings, &pretraining, law_seed);
    let mut session = workshop.session(&decides)?;
    let policy = session.kept_or(|session| -> Result<_, Error> {
        let decides = (method, system.config(), settings.epsilon_d, seed);
        let law = workshop.law(session, (&pretraining, &decides), |session| {
            law_for(&system, &TrainSettings { seed, ..settings.clone() }, &pretraining, session)
        })?;
        Ok(train_urllc(&system, &settings, (&pretraining, law.as_ref()), session)?)
    })?;
    // Held out: other cells than those of the pre-training, whose seed is the training's.
    let held_out = !settings.seed;
    let law_error = policy
        .law()
        .map(|law| measure_law(&system, settings.epsilon_d, law, &pretraining, held_out))
        .transpose()?;
    let equal = validation_set(&system, &settings)?.evaluate(&EqualPower::default(), &Silent)?;
    let equal_percent = mean_metrics(&equal).gap_percent;
    let report = LearnedReport::new(workshop, &session, &policy, law_error, equal_percent);
    let availability = Model::record(&policy).metrics.availability;
    let hint = "a stricter `epsilon_d`, more samples, another seed, or the method any-gnn";
    let warning = (availability < AVAILABLE).then(|| not_all_served(availability, hint));
    Ok(Trained::new(&session, policy, report, warning))
}

fn not_all_served(availability: f64, hint: &str) -> String {
    format!("on validation {:.2} % of users are served, not all: try {hint}", 100.0 * availability)
}

fn any_settings(options: &Options) -> Result<AnySettings, Error> {
    options.refuse(&OF_PAPER, "any-gnn")?;
    if !options.has("fading") {
        options.refuse(&["pretraining", "deviations"], "any-gnn without `fading`")?;
    }
    let ranges = options.choice("train-ranges")?.unwrap_or(TrainRanges::Paper);
    if ranges == TrainRanges::Wide && options.has("fading") {
        let expected = "paper: from samples of fading the bandwidth of one service class is learned, in one cell";
        return Err(Invalid::value("train_ranges", "wide", expected).into());
    }
    let output = options.choice("output")?.unwrap_or(SplitRule::Kkt);
    let mut settings = AnySettings::preset(ranges, output, options.seed("seed", 1)?);
    (settings.train_k, settings.samples) = training_cells(options)?;
    settings.validate()?;
    Ok(settings)
}

fn train_any_gnn(options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
    let settings = any_settings(options)?;
    let system = CellOptions::ALL.system(options, &Config::default())?;
    let (policy, session, fading) = match options.text("fading") {
        None => {
            let mut session = workshop.session(&("urllc", system.config(), &settings))?;
            let policy =
                session.kept_or(|session| train_any_policy(&system, &settings, session))?;
            (policy, session, None)
        }
        Some(file) => {
            let deviations = options.number("deviations")?.unwrap_or(DEVIATIONS);
            if !(0.0..=100.0).contains(&deviations) {
                let expected = "a number from 0 to 100";
                return Err(Invalid::value("deviations", deviations, expected).into());
            }
            let bytes = read_file(file.as_ref())
                .map_err(|source| Error::Read { path: file.into(), source })?;
            let samples = read_fading_samples(&bytes, file)?;
            let loss = options.choice("pretraining")?.unwrap_or(PretrainLoss::Supervised);
            let learning = SampledSettings::new(loss, settings.seed);
            let data = crc32fast::hash(&bytes);
            let decides = ("urllc", system.config(), &settings, &learning, deviations, data);
            let mut session = workshop.session(&decides)?;
            let policy = session.kept_or(|session| {
                train_sampled_policy(&system, &samples, &learning, &settings, deviations, session)
            })?;
            (policy, session, Some(samples.compressed_rule()))
        }
    };
    let equal_percent = equal_power_gap_percent(&policy, fading.as_ref())?;
    let report = AnyReport::new(workshop, &session, &policy, equal_percent);
    let metrics = policy.record().metrics;
    let warning = if metrics.availability < AVAILABLE {
        Some(not_all_served(metrics.availability, "more samples, or another seed"))
    } else {
        no_better_than("equal power with exact bandwidths", metrics.gap_percent, equal_percent)
    };
    Ok(Trained::new(&session, policy, report, warning))
}

impl Room for UrllcRoom {
    fn name(&self) -> &'static str {
        "urllc"
    }

    fn about(&self) -> &'static str {
        "Power and bandwidth, least total bandwidth at a loss and delay target"
    }

    fn statement(&self) -> &'static str {
        STATEMENT
    }

    fn input(&self) -> &'static str {
        INPUT
    }

    fn examples(&self, verb: Verb) -> &'static [&'static str] {
        match verb {
            Verb::Solve => &[
                "solve urllc --input users.json",
                "solve urllc --input users.csv --max-power-dbm 40 --json",
                "sample urllc --k 200 | anyk solve urllc --input - --json",
            ],
            Verb::Assess => &[
                "assess urllc --input cells.jsonl --allocations mine.jsonl",
                "assess urllc --input users.csv --allocations mine.csv --json",
            ],
            Verb::Sample => &[
                "sample urllc --k 10 --seed 1 > users.json",
                "sample urllc --k 10 --count 5 | anyk solve urllc --input -",
                "sample urllc --k 3 --format csv",
            ],
            Verb::Train => &[
                "train urllc --method any-gnn --seed 1 --out any.safetensors",
                "train urllc --method p-gnn --train-k 10 --epsilon-d 6e-6 --out model.safetensors",
                "train urllc --method any-gnn --fading samples.npy --out sampled.safetensors",
            ],
            _ => &["sample urllc --k 50 | anyk allocate any.safetensors --certify --input -"],
        }
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        match verb {
            Verb::Assess => {
                let mut options = reference_options().to_vec();
                options.extend(CellOptions::ALL.specs());
                options
            }
            Verb::Solve => {
                let mut options = vec![no_check()];
                options.extend(reference_options());
                options.extend(CellOptions::ALL.specs());
                options
            }
            Verb::Sample => {
                let mut options = sample_options();
                options.extend(CellOptions::ROAD.specs());
                options
            }
            Verb::Train => training_options(),
            Verb::Evaluate | Verb::Allocate | Verb::Calibrate => {
                super::models::options(verb, true, true)
            }
        }
    }

    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let system = CellOptions::ALL.system(options, &Config::default())?;
        let checks = !options.has(NO_CHECK);
        Ok(cell_counter(
            CellReading::new(system, options)?,
            UrllcSolver::default(),
            move |solver, system, records| {
                let problem = problem_of(system, records)?;
                Ok(solve_cell(solver, &problem, records, checks)?)
            },
        ))
    }

    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error> {
        let system = CellOptions::ALL.system(options, &Config::default())?;
        let reading = CellReading::new(system, options)?;
        Ok(cell_assessor(reading, UrllcSolver::default, |solver, system, records, given| {
            let problem = problem_of(system, records)?;
            super::assess::verdict(&problem, records, given, optimum_hz(solver, &problem))
        }))
    }

    fn baselines(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("optimum", "The exact optimum"),
            ("equal-power", "The same power for everyone, and the exact bandwidth that it needs"),
        ]
    }

    fn amounts(&self) -> &'static [Amount] {
        Urllc::AMOUNTS
    }

    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error> {
        let system = CellOptions::ALL.system(options, &Config::default())?;
        Ok(super::arrays::instances(CellReading::new(system, options)?))
    }

    fn responder(
        &self,
        name: &str,
        _options: &Options,
    ) -> Option<Result<Box<dyn Responder>, Error>> {
        match name {
            "optimum" => Some(Ok(responder(UrllcSolver::default()))),
            "equal-power" => Some(Ok(responder(EqualPower::default()))),
            _ => None,
        }
    }

    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
        sample_users(options, &CellOptions::ROAD.system(options, &Config::default())?, out)
    }

    fn trains(&self) -> bool {
        true
    }

    fn train(&self, options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
        // Samples of fading are for the one method that learns its bandwidth from them.
        let usual =
            if options.has("fading") { Trainable::AnyGnn } else { Trainable::Paper(Method::PGnn) };
        match options.choice("method")?.unwrap_or(usual) {
            Trainable::Paper(method) => train_learned(method, options, workshop),
            Trainable::AnyGnn => train_any_gnn(options, workshop),
        }
    }

    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Ok(match file.method() {
            "any-gnn" => Box::new(file.into_model::<AnyPolicy>()?),
            ModelFile::OUTER_FUNCTION => {
                let message = "it is an outer function, kept for trainings from several seeds, expected a policy";
                return Err(ModelError::Content(message.into()));
            }
            _ => Box::new(file.into_model::<LearnedPolicy>()?),
        })
    }

    fn policies(&self) -> &'static [BuiltIn] {
        &POLICIES
    }
}

static POLICIES: [BuiltIn; 2] = [
    BuiltIn {
        name: "urllc-power",
        label: "power (W) for URLLC over ln α",
        source: |system| optimum(system, POLICIES[0].label, |_, answer| answer.power_w.clone()),
    },
    BuiltIn {
        name: "urllc-bandwidth",
        label: "bandwidth (Hz) for URLLC over ln α",
        source: |system| {
            optimum(system, POLICIES[1].label, |_, answer| answer.bandwidth_hz.clone())
        },
    },
];

/// The exact optimum, to be diagnosed.
fn optimum(
    system: &System,
    label: &str,
    outputs: fn(&Urllc, &Allocation) -> Vec<f64>,
) -> Result<Arc<dyn Source>, Error> {
    let mut solver = UrllcSolver::default();
    // Built once here, shared by all threads.
    for qos in Urllc::uniform(system, [1e-10])?.classes() {
        solver.table(qos);
    }
    Ok(source(system, label.to_owned(), solver, outputs))
}

/// A policy on random cells.
pub(crate) fn source(
    system: &System,
    label: String,
    allocator: impl Allocate<Urllc> + Clone + 'static,
    outputs: fn(&Urllc, &Allocation) -> Vec<f64>,
) -> Arc<dyn Source> {
    let system = system.clone();
    Arc::new(Drawn {
        label,
        allocator,
        instance: Box::new(move |seed, size, index| {
            let distances_m = sample_distances_m(&system.road(), seed, size, index);
            let gains = distances_m.into_iter().map(|metres| system.path_loss().gain(metres));
            Ok(Urllc::uniform(&system, gains)?)
        }),
        inputs: |problem: &Urllc| problem.users().iter().map(|user| user.gain.ln()).collect(),
        outputs,
    })
}
