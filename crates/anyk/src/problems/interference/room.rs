//! Power control and link scheduling as the program sees them.

use std::io::Write;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;

use crate::channel::{D2dField, GainMatrix};
use crate::exchange::{Input, gains_to_npy, read_networks, to_json};
use crate::framework::{
    Allocate, Amount, Answer, Arrays as _, Assessor, BuiltIn, Choice, Counter, Drawn, Error,
    Instances, JudgeColumns, LoadedModel, Model, ModelError, ModelFile, OptionSpec, OptionValue,
    Options, Responder, Room, Show, Source, Text, Trained, Verb, Workshop, counter, in_cell,
    responder,
};
use crate::invalid::Invalid;
use crate::limits::{MOST_LINKS, MOST_NUMBERS};
use crate::network::{Aggregator, EdgeGnn};
use crate::problems::interference::arrays::{BestSchedule, FullPower, NetworkInstances};
use crate::problems::interference::assess::{NetworkAssessor, best};
use crate::problems::interference::links_input::{LinkFlags, link_options};
use crate::problems::interference::{
    Interference, LinkMethod, LinkSolver, PASSES, PowerAnswer, PowerAnswers, PowerLoss,
    PowerOutput, PowerPolicy, PowerSolution, PowerTrainSettings, RandomLinks, Scenario, WeightLaw,
    WmmseSettings, train_power,
};

/// A policy that reaches less of WMMSE's sum rate on validation has failed.
const POOR_PERCENT: f64 = 95.0;
/// Powers under this share of `P_max` are off, as the paper counts: WMMSE lets them fall for ever.
const OFF: f64 = 1e-3;

/// Power control, or link scheduling.
#[derive(Debug)]
pub struct LinkRoom {
    scheduling: bool,
}

/// Powers between 0 and `P_max`.
pub static INTERFERENCE: LinkRoom = LinkRoom { scheduling: false };
/// Links on or off.
pub static LINK_SCHEDULING: LinkRoom = LinkRoom { scheduling: true };

const POWER_STATEMENT: &str = "  max   Σ_k w_k log2(1 + P_k g_kk / (Σ_{j≠k} P_j g_kj + σ_0))
   P
  s.t.  0 ≤ P_k ≤ P_max  for each link k; its weight w_k is 1 unless said otherwise";

const SCHEDULE_STATEMENT: &str = "  max   Σ_k w_k log2(1 + P_k g_kk / (Σ_{j≠k} P_j g_kj + σ_0))
   P
  s.t.  P_k is 0 or P_max  for each link k; its weight w_k is 1 unless said otherwise";

const INPUT: &str = "\
The input are power gains between K links, row = receiver k, column = transmitter j: K lines of CSV, a NumPy \
array (.npy, K×K or N×K×K for N networks), or JSON

  [[1,0.1],[0.2,0.9]]

or a list of such matrices, or objects one after the other:

  {\"gains\":[[1,0.1],[0.2,0.9]],\"weights\":[1,2],\"noise\":0.1,\"max_power\":[1,0.5]}

Weights, noise and largest power are one number, one for each link, or N×K. CSV and .npy contain only gains: \
give the rest by flags. Links and networks are counted from 0. Networks are solved on all cores.";

impl Choice for Scenario {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "dense",
            "Rayleigh fading without geometry: every gain exponential with mean 1",
            Self::Dense,
        ),
        (
            "d2d",
            "Pairs of devices on a field, 50 on a square kilometre",
            Self::D2d(D2dField::DEFAULT),
        ),
        (
            "d2d-published",
            "The same as the public code of published networks has it: antennas gain on the own link alone, no path \
             is under a metre",
            Self::D2d(D2dField::PUBLISHED),
        ),
        ("dense-published", "As dense, with a tenth of the noise", Self::DensePublished),
    ];
}

impl Choice for PowerLoss {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("none", "The sum rate itself", Self::SumRate),
        ("wmmse", "The powers of WMMSE", Self::Wmmse),
        ("fplinq", "The schedule of FPLinQ", Self::Fplinq),
    ];
}

impl Choice for PowerOutput {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("sigmoid", "The largest power times a sigmoid", Self::Sigmoid),
        ("classifier", "On where the output is positive", Self::Classifier),
        (
            "ranked",
            "Switched on in the order of the outputs, where the sum rate rises",
            Self::Ranked { passes: PASSES },
        ),
        (
            "priced",
            "A sigmoid, then a step to the powers that fit the prices of interference",
            Self::Priced { steps: 1 },
        ),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Npy,
}

impl Choice for Format {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("json", "An object for each network, on a line of its own", Self::Json),
        ("npy", "A NumPy array, N×K×K, float64", Self::Npy),
    ];
}

/// Answers all networks of a document as one.
pub(super) fn network_counter<S: Clone + Send + Sync + 'static>(
    options: &Options,
    state: S,
    solve: impl Fn(&mut S, &Interference) -> Result<PowerSolution, Invalid> + Sync + Send + 'static,
) -> Result<Box<dyn Counter>, Error> {
    let flags = LinkFlags::read(options)?;
    let answer = move |input: Input<'_>| -> Result<Box<dyn Answer>, Error> {
        let networks = read_networks(input)?;
        let extra = networks.first().map(|network| network.extra.clone()).unwrap_or_default();
        let own = || state.clone();
        let results: Vec<Result<PowerAnswer, Invalid>> = networks
            .into_par_iter()
            .enumerate()
            .map_init(own, |state, (index, network)| {
                let problem = flags.problem(network, input.part + index)?;
                let solution = solve(state, &problem)?;
                PowerAnswer::new(&problem, solution)
            })
            .collect();
        // In the input's order, so that the first of several errors is told, however the threads ran.
        let named = |(index, result): (usize, Result<PowerAnswer, Invalid>)| {
            result.map_err(|error| {
                let instance = input.part + index;
                Error::from(error).in_file(format!("{}: instance {instance}", input.name))
            })
        };
        let instances = results.into_iter().enumerate().map(named).collect::<Result<_, Error>>()?;
        Ok(in_cell(extra, Vec::new(), PowerAnswers { instances }))
    };
    Ok(counter(Arc::default(), (), move |(), input| vec![answer(input)]))
}

impl LinkRoom {
    /// The solver, with options that belong to it.
    fn solver(&self, options: &Options) -> Result<LinkSolver, Invalid> {
        let usual = if self.scheduling { LinkMethod::Fplinq } else { LinkMethod::Wmmse };
        let method = options.choice("method")?.unwrap_or(usual);
        if self.scheduling && method == LinkMethod::Wmmse {
            let expected = "fplinq, greedy or exact: the powers of WMMSE are no schedule";
            return Err(Invalid::value("method", "wmmse", expected));
        }
        if method != LinkMethod::Wmmse {
            let of_wmmse = ["tolerance", "random-starts", "seed", "trace"];
            options.refuse(&of_wmmse, "a method other than wmmse")?;
        }
        if !matches!(method, LinkMethod::Wmmse | LinkMethod::Fplinq) {
            options.refuse(&["iterations"], "a method other than wmmse and fplinq")?;
        }
        let usual = WmmseSettings::default();
        #[allow(clippy::cast_possible_truncation)]
        let iterations = options.whole("iterations", 1, 1_000_000)?.map(|count| count as usize);
        let random_starts = options.whole("random-starts", 1, 1_000_000)?;
        if random_starts.is_none() {
            options.refuse(&["seed"], "a solver without `random_starts`")?;
        }
        let settings = WmmseSettings {
            iterations: iterations.unwrap_or(usual.iterations),
            tolerance: options.positive("tolerance")?.unwrap_or(usual.tolerance),
            stop_early: options.has("tolerance"),
            random_starts: random_starts.unwrap_or(usual.random_starts),
            seed: options.seed("seed", usual.seed)?,
            trace: options.has("trace"),
        };
        Ok(LinkSolver::new(method, settings))
    }

    fn settings(&self, options: &Options) -> Result<(PowerTrainSettings, PowerOutput), Error> {
        let scenario = options.choice("scenario")?.unwrap_or(Scenario::Dense);
        let mut settings = PowerTrainSettings::preset(scenario, options.seed("seed", 1)?);
        if let Some(law) = options.choice("random-weights")? {
            settings = settings.with_weights(law);
        }
        match options.sizes("train-k")?.as_deref() {
            None => (),
            Some([size]) => settings.train_k = *size,
            Some(_) => {
                let given = options.text("train-k").unwrap_or_default();
                let error = Invalid::value("train_k", given, "one size for this problem");
                return Err(error.into());
            }
        }
        let whole = |name: &str| options.whole(name, 0, 1 << 40);
        #[allow(clippy::cast_possible_truncation)]
        let count = |name: &str| whole(name).map(|found| found.map(|count| count as usize));
        settings.samples = count("samples")?.unwrap_or(settings.samples);
        settings.steps = whole("steps")?.unwrap_or(settings.steps);
        let network = settings.network;
        settings = settings.with_network(EdgeGnn {
            aggregator: options.choice("aggregator")?.unwrap_or(network.aggregator),
            hidden: count("hidden")?.unwrap_or(network.hidden),
            rounds: count("rounds")?.unwrap_or(network.rounds),
            weighted: network.weighted,
        });
        settings.loss = options.choice("labels")?.unwrap_or(PowerLoss::SumRate);
        let usual = if self.scheduling || settings.scenario.is_dense() {
            PowerOutput::Ranked { passes: PASSES }
        } else {
            PowerOutput::Priced { steps: 1 }
        };
        let output = options.choice("output")?.unwrap_or(usual);
        if self.scheduling && !output.is_schedule() {
            let expected = "classifier or ranked: other powers are no schedule";
            return Err(Invalid::value("output", output.name(), expected).into());
        }
        settings.validate()?;
        Ok((settings, output))
    }
}

impl Room for LinkRoom {
    fn name(&self) -> &'static str {
        if self.scheduling { "link-scheduling" } else { "interference" }
    }

    fn about(&self) -> &'static str {
        if self.scheduling {
            "Which of the links that share a band are on, largest sum rate"
        } else {
            "Powers of links that share a band, largest sum rate"
        }
    }

    fn statement(&self) -> &'static str {
        if self.scheduling { SCHEDULE_STATEMENT } else { POWER_STATEMENT }
    }

    fn input(&self) -> &'static str {
        INPUT
    }

    fn examples(&self, verb: Verb) -> &'static [&'static str] {
        match (verb, self.scheduling) {
            (Verb::Solve, false) => &[
                "solve interference --input gains.npy --p-max 0.1 --noise 1e-9 --json",
                "solve interference --input gains.json --tolerance 1e-9 --random-starts 10",
                "solve interference --input gains.csv --weights weights.csv --noise 1e-9,2e-9,1e-9",
            ],
            (Verb::Solve, true) => &[
                "sample interference --scenario d2d --k 50 | anyk solve link-scheduling --input -",
                "solve link-scheduling --input gains.npy --method exact",
            ],
            (Verb::Assess, false) => &[
                "assess interference --input gains.npy --allocations powers.jsonl",
                "assess interference --method exact --input gains.json --allocations powers.csv",
            ],
            (Verb::Assess, true) => {
                &["assess link-scheduling --input gains.npy --allocations schedules.jsonl"]
            }
            (Verb::Train, false) => &[
                "train interference --scenario d2d --out links.safetensors",
                "train interference --hidden 32 --rounds 3 --out wide.safetensors",
                "train interference --scenario d2d --random-weights log-uniform --out weighted.safetensors",
            ],
            (Verb::Train, true) => {
                &["train link-scheduling --scenario d2d --labels fplinq --out links.safetensors"]
            }
            (Verb::Sample, false) => &[
                "sample interference --scenario dense --k 10 --count 1000 --format npy --out gains.npy",
                "sample interference --scenario d2d --k 50 --random-weights log-uniform --out weighted.jsonl",
            ],
            (Verb::Sample, true) => &["sample link-scheduling --scenario d2d --k 50"],
            _ => &[
                "sample interference --scenario d2d --k 50 | anyk allocate links.safetensors --input -",
            ],
        }
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        let scenario = OptionSpec::choice::<Scenario>("scenario", "Where the gains come from");
        let weights =
            OptionSpec::choice::<WeightLaw>("random-weights", "Random weights of the links");
        let output =
            OptionSpec::choice::<PowerOutput>("output", "What makes powers of the outputs");
        match verb {
            Verb::Solve | Verb::Assess => {
                let method = OptionSpec::choice::<LinkMethod>("method", "Solver");
                // The powers of WMMSE are no schedule.
                let method = if self.scheduling {
                    method.without(&["wmmse"]).or("fplinq")
                } else {
                    method.or("wmmse")
                };
                let whole = |name, help| OptionSpec::new(name, OptionValue::Whole("N"), help);
                let mut options = vec![method];
                options.extend(link_options());
                options.push(
                    whole(
                        "iterations",
                        if self.scheduling {
                            "Iterations of fplinq"
                        } else {
                            "Iterations of wmmse and fplinq"
                        },
                    )
                    .or("100"),
                );
                if !self.scheduling {
                    options.extend([
                        OptionSpec::new(
                            "tolerance",
                            OptionValue::Number("SHARE"),
                            "Stop wmmse when an iteration raises the sum rate by less than this share of it",
                        )
                        .rare(),
                        whole(
                            "random-starts",
                            "Random starting points of wmmse besides full power; the best answer is kept",
                        )
                        .rare(),
                        OptionSpec::new(
                            "seed",
                            OptionValue::Whole("SEED"),
                            "Seed of the random starting points",
                        )
                        .or("0")
                        .rare(),
                        OptionSpec::new(
                            "trace",
                            OptionValue::Switch,
                            "Show the sum rate of each iteration of wmmse",
                        )
                        .rare(),
                    ]);
                }
                options
            }
            Verb::Sample => vec![
                scenario.or("dense"),
                OptionSpec::new("k", OptionValue::Whole("K"), "Links in each network; required"),
                OptionSpec::new("count", OptionValue::Whole("N"), "Number of networks").or("1"),
                OptionSpec::new("seed", OptionValue::Whole("SEED"), "Seed of the random numbers")
                    .or("0"),
                weights.or("all 1"),
                OptionSpec::choice::<Format>("format", "Format of the output").or("json"),
            ],
            Verb::Train => vec![
                scenario.or("dense"),
                OptionSpec {
                    help: "Train for the weighted sum rate, over random weights of the links",
                    ..weights.or("all 1")
                },
                OptionSpec::new(
                    "train-k",
                    OptionValue::Whole("K"),
                    "Links in the training samples",
                )
                .or("10 for dense, 50 for d2d"),
                OptionSpec::new("samples", OptionValue::Whole("N"), "Training samples")
                    .or("20000 for dense, 2000 for d2d"),
                OptionSpec::choice::<Aggregator>("aggregator", "How links see each other")
                    .or("mean for dense, sum for d2d")
                    .rare(),
                OptionSpec::choice::<PowerLoss>("labels", "Labels to learn, or none").or("none"),
                if self.scheduling {
                    output.without(&["sigmoid", "priced"]).or("ranked")
                } else {
                    output.or("ranked for dense, priced for d2d")
                },
                OptionSpec::new(
                    "hidden",
                    OptionValue::Whole("N"),
                    "Features of a link and of a message: 8, 16 or 32",
                )
                .or("16 for dense, 8 for d2d")
                .rare(),
                OptionSpec::new("rounds", OptionValue::Whole("N"), "Rounds of messages")
                    .or("2")
                    .rare(),
                OptionSpec::new("steps", OptionValue::Whole("N"), "Steps of the optimizer")
                    .or("20000 for dense, 10000 for d2d"),
                OptionSpec::new(
                    "seed",
                    OptionValue::Whole("SEED"),
                    "Seed of samples, initialization and order",
                )
                .or("1"),
            ],
            Verb::Allocate => {
                link_options().map(|spec| spec.of("Models for interference networks")).to_vec()
            }
            // Those of the networks that policies without a training are compared on.
            Verb::Evaluate => {
                vec![scenario.or("the model's, or dense"), weights.or("the model's, or all 1")]
            }
            Verb::Calibrate => Vec::new(),
        }
    }

    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        network_counter(options, self.solver(options)?, LinkSolver::solve)
    }

    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error> {
        let (flags, solver) = (LinkFlags::read(options)?, self.solver(options)?);
        Ok(Box::new(NetworkAssessor { flags, schedules: self.scheduling, solver }))
    }

    fn baselines(&self) -> &'static [(&'static str, &'static str)] {
        const ALL: [(&str, &str); 5] = [
            ("wmmse", "Local optimum of the powers by WMMSE, from full power"),
            ("full-power", "Every link at full power"),
            ("fplinq", "Schedule by fractional programming"),
            ("greedy", "Schedule by switching links on, the strongest first"),
            ("exact", "The best schedule, for at most 20 links"),
        ];
        const SCHEDULES: [(&str, &str); 4] = [ALL[2], ALL[1], ALL[3], ALL[4]];
        if self.scheduling { &SCHEDULES } else { &ALL }
    }

    fn amounts(&self) -> &'static [Amount] {
        Interference::AMOUNTS
    }

    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error> {
        let (flags, solver) = (LinkFlags::read(options)?, self.solver(options)?);
        let assessor = NetworkAssessor {
            flags: LinkFlags::default(),
            schedules: self.scheduling,
            solver: solver.clone(),
        };
        let judge = JudgeColumns {
            reference: Box::new(move |problem: &Interference| best(&mut solver.clone(), problem)),
            verdict: Box::new(move |problem: &Interference, columns: &[&[f64]], reference| {
                assessor.verdict(problem, columns[0], reference)
            }),
        };
        Ok(Box::new(NetworkInstances { flags, judge: Arc::new(judge) }))
    }

    fn responder(
        &self,
        name: &str,
        options: &Options,
    ) -> Option<Result<Box<dyn Responder>, Error>> {
        if name == "full-power" {
            return Some(Ok(responder(FullPower)));
        }
        self.baselines().iter().any(|(known, _)| *known == name).then(|| {
            let mut options = options.clone();
            options.set("method", name);
            let solver = self.solver(&options)?;
            if self.scheduling && name == "exact" {
                return Ok(responder(BestSchedule(solver)));
            }
            Ok(responder(solver))
        })
    }

    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
        let scenario = options.choice("scenario")?.unwrap_or(Scenario::Dense);
        let networks = RandomLinks { scenario, weights: options.choice("random-weights")? };
        let format = options.choice("format")?.unwrap_or(Format::Json);
        if networks.weights.is_some() && format == Format::Npy {
            let expected = "json with `random_weights`: a .npy holds gains alone";
            return Err(Invalid::value("format", "npy", expected).into());
        }
        let expected = "a number of links".to_owned();
        let size = options.whole("k", 1, MOST_LINKS as u64)?;
        let size = size.ok_or_else(|| Invalid::missing("k", expected))?;
        #[allow(clippy::cast_possible_truncation)]
        let size = size as usize;
        let count = options.whole("count", 1, u64::MAX)?.unwrap_or(1);
        let seed = options.seed("seed", 0)?;
        let most = MOST_NUMBERS / (size * size);
        if count > most as u64 {
            let expected = format!("at most {most} with K = {size} ({MOST_NUMBERS} gains in all)");
            return Err(Invalid::value("count", count, expected).into());
        }
        let draw = |index| networks.draw(seed, size, index).map_err(Error::from);
        let failed = |error| Error::write("standard output".as_ref(), error);
        match format {
            Format::Npy => {
                let gains =
                    |index| -> Result<GainMatrix, Error> { Ok(draw(index)?.normalised().clone()) };
                let gains = (0..count).map(gains).collect::<Result<Vec<_>, Error>>()?;
                let bytes = gains_to_npy(&gains).map_err(failed)?;
                out.write_all(&bytes).map_err(failed)
            }
            Format::Json => (0..count).try_for_each(|index| {
                let network = draw(index)?;
                let gains = network.normalised().as_slice().chunks(size).collect();
                let json = to_json(&Network { gains, weights: network.weights() });
                let json = json.map_err(Error::other)?;
                writeln!(out, "{json}").map_err(failed)
            }),
        }
    }

    fn trains(&self) -> bool {
        true
    }

    fn train(&self, options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
        let (settings, output) = self.settings(options)?;
        let mut session = workshop.session(&(self.name(), &settings, output))?;
        let policy = session.kept_or(|session| train_power(&settings, output, session))?;
        let report = Report {
            model: workshop.model_name(),
            training: settings,
            output,
            train_seconds: session.seconds("training"),
            sum_rate_percent: policy.record().sum_rate_percent,
        };
        let warning = (report.sum_rate_percent < POOR_PERCENT).then(|| {
            format!(
                "on validation it reaches {:.1} % of WMMSE's sum rate: try the output ranked (dense) or priced (d2d), more \
                 steps or samples, or another seed",
                report.sum_rate_percent
            )
        });
        Ok(Trained::new(&session, policy, report, warning))
    }

    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Ok(Box::new(file.into_model::<PowerPolicy>()?))
    }

    fn policies(&self) -> &'static [BuiltIn] {
        const POWERS: &[BuiltIn] = &[BuiltIn {
            name: "interference",
            label: "power/P_max by WMMSE over ln g_kk, dense network",
            source: |_| {
                let solver = LinkSolver::new(LinkMethod::Wmmse, WmmseSettings::default());
                Ok(source(POWERS[0].label.to_owned(), solver, &Scenario::Dense))
            },
        }];
        const SCHEDULES: &[BuiltIn] = &[BuiltIn {
            name: "link-scheduling",
            label: "schedule by FPLinQ over ln g_kk, pairs on a field",
            source: |_| {
                let solver = LinkSolver::new(LinkMethod::Fplinq, WmmseSettings::default());
                let field = Scenario::D2d(D2dField::default());
                Ok(source(SCHEDULES[0].label.to_owned(), solver, &field))
            },
        }];
        if self.scheduling { SCHEDULES } else { POWERS }
    }
}

/// A policy on random networks.
pub(super) fn source(
    label: String,
    allocator: impl Allocate<Interference> + Clone + 'static,
    networks: impl Into<RandomLinks>,
) -> Arc<dyn Source> {
    let networks: RandomLinks = networks.into();
    Arc::new(Drawn {
        label,
        allocator,
        instance: Box::new(move |seed, size, index| {
            networks.draw(seed, size, index).map_err(Error::from)
        }),
        inputs: |problem: &Interference| {
            // A gain of exactly 0 has no logarithm.
            let ln = |gain: f64| gain.max(f64::MIN_POSITIVE).ln();
            (0..problem.normalised().size()).map(|k| ln(problem.normalised().direct(k))).collect()
        },
        outputs: |_, shares| {
            shares.iter().map(|&share| if share < OFF { 0.0 } else { share }).collect()
        },
    })
}

#[derive(Serialize)]
struct Network<'a> {
    gains: Vec<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'a [f64]>,
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: PowerTrainSettings,
    output: PowerOutput,
    train_seconds: f64,
    /// Sum rate over that of WMMSE, on a validation set of the training size.
    sum_rate_percent: f64,
}

impl Show for Report {
    fn show(&self) -> Text {
        let Self { model, training, output, train_seconds, sum_rate_percent, .. } = self;
        let mut text = Text::line(format!(
            "{model}: {} steps at K = {} ({}{}) in {train_seconds:.1} s",
            training.steps,
            training.train_k,
            training.scenario.name(),
            training.weights.map_or_else(String::new, |law| format!(", weights {}", law.name())),
        ));
        text.push(format!(
            "validation, output {}: {sum_rate_percent:.2} % of the {}sum rate of WMMSE",
            output.name(),
            if training.weights.is_some() { "weighted " } else { "" },
        ));
        text
    }
}
