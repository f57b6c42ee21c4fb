//! Interface of power control and link scheduling to the rest of the library.

use std::sync::Arc;

use crate::channel::D2dField;
use crate::core::{
    About, Axis, Column, DiagnosedRow, Formulation, Need, Parameter, PolicyRow, Problem, Record,
    Size,
};
use crate::framework::{Error, ModelFile, OptionSpec, OptionValue, Options, Verb};
use crate::invalid::Invalid;
use crate::problems::interference::link_solver::FullPower;
use crate::problems::interference::links_input::{LinkFlags, link_options};
use crate::problems::interference::{
    LinkField, LinkMethod, LinkSolver, PowerPolicy, RandomLinks, Scenario, WeightLaw,
    WmmseSettings, read, train,
};

const POWER_STATEMENT: &str = "  max   Σ_k w_k log2(1 + P_k g_kk / (Σ_{j≠k} P_j g_kj + σ_0))
   P
  s.t.  0 ≤ P_k ≤ P_max  for each link k; the default of its weight w_k is 1";

const SCHEDULE_STATEMENT: &str = "  max   Σ_k w_k log2(1 + P_k g_kk / (Σ_{j≠k} P_j g_kj + σ_0))
   P
  s.t.  P_k is 0 or P_max  for each link k; the default of its weight w_k is 1";

const INPUT: &str = "\
The input contains the power gains between K links (row = receiver k, column = transmitter j): K lines of CSV, a \
NumPy array (.npy, K×K or N×K×K for N networks), or JSON

  [[1,0.1],[0.2,0.9]]

or a list of such matrices, or consecutive objects:

  {\"gains\":[[1,0.1],[0.2,0.9]],\"weights\":[1,2],\"noise\":0.1,\"max_power\":[1,0.5]}

Weights, noise and maximum power are one number, one for each link, or N×K. CSV and .npy contain only gains; \
use flags for the rest. Links and networks are counted from 0. AnyK solves networks on all cores.";

/// Power control or link scheduling.
#[derive(Debug, Clone)]
pub struct LinkProblem {
    scheduling: bool,
    flags: LinkFlags,
    networks: RandomLinks,
    options: Options,
}

/// Registry row of power control with powers between 0 and `P_max`.
pub static INTERFERENCE: About = About {
    name: "interference",
    line: "Choose the powers of links that share a band to maximize the sum rate",
    formula: POWER_STATEMENT,
    examples: |verb| examples(verb, false),
    flags: |verb| flags(verb, false),
    make: |options| LinkProblem::make(false, options),
    drawing: |options| LinkProblem::drawing(false, options),
    policies: &[WMMSE, FULL_POWER, FPLINQ, GREEDY, EXACT],
    diagnosed: &[DiagnosedRow {
        name: "interference",
        label: "power/P_max by WMMSE over ln g_kk, dense network",
        amount: "power",
        policy: || Box::new(LinkSolver::new(LinkMethod::Wmmse, WmmseSettings::default())),
        problem: |_| Ok(LinkProblem::drawn(false, (&Scenario::Dense).into())),
    }],
    train: Some(|options, context| train::train(false, options, context)),
    ..COMMON
};

/// Registry row of link scheduling, with links on or off.
pub static LINK_SCHEDULING: About = About {
    name: "link-scheduling",
    line: "Switch links that share a band on or off to maximize the sum rate",
    formula: SCHEDULE_STATEMENT,
    examples: |verb| examples(verb, true),
    flags: |verb| flags(verb, true),
    make: |options| LinkProblem::make(true, options),
    drawing: |options| LinkProblem::drawing(true, options),
    policies: &[FPLINQ, FULL_POWER, GREEDY, EXACT],
    diagnosed: &[DiagnosedRow {
        name: "link-scheduling",
        label: "schedule by FPLinQ over ln g_kk, pairs on a field",
        amount: "power",
        policy: || Box::new(LinkSolver::new(LinkMethod::Fplinq, WmmseSettings::default())),
        problem: |_| Ok(LinkProblem::drawn(true, (&Scenario::D2d(D2dField::DEFAULT)).into())),
    }],
    train: Some(|options, context| train::train(true, options, context)),
    ..COMMON
};

/// Fields that both problems share.
const COMMON: About = About {
    name: "",
    // Rates in bit/s/Hz.
    results: &[Column::each("rates_bits")],
    line: "",
    formula: "",
    input: INPUT,
    examples: |_| &[],
    flags: |_| Vec::new(),
    parameters,
    answer_fields: ANSWER_FIELDS,
    user_fields: &[],
    read: Some(read::read),
    inputs: INPUTS,
    amounts: &[Column::each("power")],
    make: |_| Err(Error::OtherProblem),
    drawing: |_| Err(Error::OtherProblem),
    policies: &[],
    diagnosed: &[],
    train: None,
    load: Some(|file: ModelFile| Ok(Arc::new(file.into_model::<PowerPolicy>()?))),
};

/// Name of the column of gains.
pub(super) const GAINS: &str = "gains";

/// Columns of a record: gains (row = receiver, column = transmitter), and values of each link.
pub(super) static INPUTS: &[Column] = &[
    Column::over(GAINS, &[Axis::Users, Axis::Users]),
    Column::each(LinkField::Weights.name()).need(Need::Optional),
    Column::each(LinkField::Noise.name()).need(Need::Optional),
    Column::each(LinkField::MaxPower.name()).need(Need::Optional),
];

const ANSWER_FIELDS: &[&str] = &[
    "instances",
    "status",
    "sum_rate_bits",
    "weighted_sum_rate_bits",
    "iterations",
    "binary",
    "kkt_residual",
    "best_switch_bits",
    "trace_bits",
    "power",
    "objective",
    "gap_percent",
    "missed",
    "error",
];

const WMMSE: PolicyRow = PolicyRow {
    name: "wmmse",
    line: "Local optimum of the powers by WMMSE, from full power",
    make: |options| Ok(Box::new(solver(LinkMethod::Wmmse, options)?)),
};
const FULL_POWER: PolicyRow = PolicyRow {
    name: "full-power",
    line: "Every link at full power",
    make: |_| Ok(Box::new(FullPower)),
};
const FPLINQ: PolicyRow = PolicyRow {
    name: "fplinq",
    line: "Schedule by fractional programming",
    make: |options| Ok(Box::new(solver(LinkMethod::Fplinq, options)?)),
};
const GREEDY: PolicyRow = PolicyRow {
    name: "greedy",
    line: "Schedule by switching links on, the strongest first",
    make: |options| Ok(Box::new(solver(LinkMethod::Greedy, options)?)),
};
const EXACT: PolicyRow = PolicyRow {
    name: "exact",
    line: "Best schedule, for at most 20 links",
    make: |options| Ok(Box::new(solver(LinkMethod::Exact, options)?)),
};

impl Scenario {
    /// Name, help text and value of each scenario.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "dense",
            "Rayleigh fading without geometry: every gain exponential with mean 1",
            Self::Dense,
        ),
        (
            "d2d",
            "Pairs of devices on a field, 50 per square kilometre",
            Self::D2d(D2dField::DEFAULT),
        ),
        (
            "d2d-published",
            "Field as in the public code of published networks: antenna gain on the direct link only, no path \
             shorter than 1 m",
            Self::D2d(D2dField::PUBLISHED),
        ),
        ("dense-published", "Dense with a tenth of the noise", Self::DensePublished),
    ];
}

fn examples(verb: Verb, scheduling: bool) -> &'static [&'static str] {
    match (verb, scheduling) {
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

fn flags(verb: Verb, scheduling: bool) -> Vec<OptionSpec> {
    let scenario = OptionSpec::choice(Scenario::ALL, "scenario", "Scenario of the gains");
    let weights =
        OptionSpec::choice(WeightLaw::ALL, "random-weights", "Random weights of the links");
    match verb {
        Verb::Solve | Verb::Assess => {
            let method = OptionSpec::choice(LinkMethod::ALL, "method", "Solver");
            // The powers of WMMSE are not a schedule.
            let method = if scheduling {
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
                    if scheduling {
                        "Iterations of fplinq"
                    } else {
                        "Iterations of wmmse and fplinq"
                    },
                )
                .or("100"),
            );
            if !scheduling {
                options.extend([
                    OptionSpec::new(
                        "tolerance",
                        OptionValue::Number("SHARE"),
                        "Relative rise of the sum rate below which wmmse stops",
                    )
                    .rare(),
                    whole(
                        "random-starts",
                        "Random starting points of wmmse in addition to full power; the best result is kept",
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
        Verb::Sample => {
            let mut options = INTERFERENCE
                .sample_options("Links in each network; required", "Number of networks");
            options.insert(0, scenario.or("dense"));
            options.insert(4, weights.or("all 1"));
            options
        }
        Verb::Train => train::training_options(scheduling, scenario, weights),
        Verb::Allocate => {
            link_options().map(|spec| spec.of("Models for interference networks")).to_vec()
        }
        // Options of the random networks on which policies other than models are compared.
        Verb::Evaluate => {
            vec![scenario.or("the model's, or dense"), weights.or("the model's, or all 1")]
        }
        Verb::Calibrate => Vec::new(),
    }
}

/// Returns the solver that the options name, or the default.
fn method(scheduling: bool, options: &Options) -> Result<LinkMethod, Invalid> {
    let usual = if scheduling { LinkMethod::Fplinq } else { LinkMethod::Wmmse };
    let method = options.choice(LinkMethod::ALL, "method")?.unwrap_or(usual);
    if scheduling && method == LinkMethod::Wmmse {
        let expected = "fplinq, greedy or exact, since the powers of WMMSE are not a schedule";
        return Err(Invalid::value("method", "wmmse", expected));
    }
    Ok(method)
}

/// Builds a solver, and rejects options that do not apply to it.
fn solver(method: LinkMethod, options: &Options) -> Result<LinkSolver, Invalid> {
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

/// Returns the names of link values in files. Cells reject them; files of links have columns with these names.
fn parameters() -> Vec<(Parameter, Vec<String>)> {
    let names = [("noise", vec!["noise"]), ("p-max", vec!["p_max", "max_power"])];
    let named = |(option, names): (&'static str, Vec<&str>)| {
        (Parameter::number(option), names.into_iter().map(str::to_owned).collect())
    };
    names.map(named).into()
}

impl LinkProblem {
    /// Builds the problem from the options of its solver, its links and its random networks. Of the solver's
    /// options, it keeps only those that are given, since other solvers reject them.
    fn make(scheduling: bool, given: &Options) -> Result<Arc<dyn Problem>, Error> {
        let method = method(scheduling, given)?;
        solver(method, given)?;
        let mut options = given.only(&flags(Verb::Solve, scheduling));
        options.set("method", method.name());
        let flags = LinkFlags::read(given)?;
        let problem = Self { flags, ..Self::of(scheduling, RandomLinks::read(given)?) };
        Ok(Arc::new(Self { options: options.over(&problem.options), ..problem }))
    }

    /// Builds the problem for random networks.
    fn of(scheduling: bool, networks: RandomLinks) -> Self {
        let options = networks.options();
        Self { scheduling, flags: LinkFlags::default(), networks, options }
    }

    fn drawn(scheduling: bool, networks: RandomLinks) -> Arc<dyn Problem> {
        Arc::new(Self::of(scheduling, networks))
    }

    fn drawing(scheduling: bool, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        Ok(Self::drawn(scheduling, RandomLinks::read(options)?))
    }
}

impl Problem for LinkProblem {
    fn about(&self) -> &'static About {
        if self.scheduling { &LINK_SCHEDULING } else { &INTERFERENCE }
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        Ok(Box::new(self.flags.problem(record)?.scheduling(self.scheduling)))
    }

    /// Draws gains in units of the noise at full power, and weights if they are random.
    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        let network = self.networks.draw(seed, size, index)?;
        let gains = network.normalised().as_slice().to_vec();
        let record = Record::new(INPUTS, Size::users(size)).with(GAINS, gains)?;
        Ok(match network.weights() {
            None => record,
            Some(weights) => record.with(LinkField::Weights.name(), weights.to_vec())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Allocation, Answering, ArrayView, Instance, Reader};
    use crate::exchange::Input;

    #[test]
    fn networks_are_read_solved_and_judged() {
        let mut options = Options::default();
        options.set("p-max", "0.5,2");
        let problem = (INTERFERENCE.make)(&options).unwrap();
        let again = (INTERFERENCE.make)(problem.options()).unwrap();
        assert_eq!(again.options(), problem.options());
        assert_eq!(problem.options().text("method"), Some("wmmse"));
        let reader = Reader::new(&INTERFERENCE, &[&INTERFERENCE]);
        let (policy, best) = (problem.best().unwrap(), problem.best().unwrap());
        let mut answering = Answering::by_policy(reader, &again, policy, best, true);
        let mut answer = |text: &str| {
            let answers = answering.answer_all(Input::new(text.as_bytes(), "links"));
            answers.map(|answers| answers[0].json().unwrap()).map_err(|error| error.to_string())
        };
        let json = answer(r#"{"gains":[[1,0],[0,1]],"site":"x"}"#).unwrap();
        assert!(json.starts_with(r#"{"site":"x","instances":[{"status":"converged","#), "{json}");
        assert!(json.ends_with(r#""power":[0.5,2.0]}]}"#), "{json}");
        let error = answer(r#"{"gains":[[1,0],[0,1]],"max_power":1}"#).unwrap_err();
        let expected = "the max_power of links is in the file and an option, expected one of them";
        assert_eq!(error, format!("links: instance 0: {expected}"));
        assert_eq!(
            answer("[[1]]").unwrap_err(),
            "links: instance 0: the number of values of max_power is 2, expected 1, one for each link, or one for all"
        );
    }

    #[test]
    fn a_schedule_is_required_where_it_is_asked_for() {
        let gains = ArrayView { shape: &[2, 2], values: &[1.0, 0.1, 0.1, 1.0] };
        let half = Allocation::of(vec![vec![0.5, 1.0]]);
        for (about, is_accepted) in [(&INTERFERENCE, true), (&LINK_SCHEDULING, false)] {
            let problem = (about.make)(&Options::default()).unwrap();
            let instance = Instance::of_arrays(&problem, &[("gains", gains)]).unwrap();
            assert_eq!(instance.judge(&half, None).is_ok(), is_accepted);
            assert_eq!(instance.check(&half).is_ok(), is_accepted);
            let mut found = Allocation::default();
            for row in about.policies {
                let mut policy = (row.make)(problem.options()).unwrap();
                assert!(instance.allocate(&mut *policy, &mut found).unwrap().is_served());
                let judged = instance.judged(&found).unwrap();
                assert_eq!(judged.value.to_bits(), instance.value(&found).to_bits());
            }
        }
    }
}
