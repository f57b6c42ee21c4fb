//! Interface of separable costs to the rest of the library: the power of a cell, split by a cost of the users'
//! SNR.

use std::sync::Arc;

use crate::core::{
    About, CELL_INPUTS, Cells, Column, Formulation, Parameter, ParameterKind, PolicyRow, Problem,
    Record, load,
};
use crate::exchange::{read_cost_samples, read_file};
use crate::framework::{CellOptions, Error, OptionSpec, OptionValue, Options, Verb};
use crate::invalid::Invalid;
use crate::problems::separable::{
    BuiltInCost, Cost, EqualShares, Separable, SeparablePrice, SeparableSolver, models,
};
use crate::problems::urllc::problem::ANSWER_FIELDS;

const STATEMENT: &str = "  min   Σ_k c(u_k),   u_k = α_k x_k/(N_0 B)
   x
  s.t.  Σ_k x_k ≤ P_max,  x ≥ 0

c is any cost that is decreasing and convex in the SNR u: a built-in cost, or your own as a file of samples. The \
library also accepts functions, several costs, and amounts other than power; see anyk::problems::separable.";

const INPUT: &str = "\
The input is a list of users, as for urllc: JSON, or CSV with a header.

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

The cost is the name of a built-in cost, or a file of samples u,c: CSV, JSON [[u,c],…] or a NumPy array of shape \
(n, 2). AnyK interpolates the samples by a smooth convex curve. A user needs at least the first u, and the cost is \
constant beyond the last.";

/// Parameters of a cell that the problem uses.
pub(super) const CELL: CellOptions = CellOptions { radio: true, power: true, service: false };
/// Heading of the options for models.
const MODELS: &str = "Models for separable";
/// Heading of the cell options if a model has its own cell.
const OTHER_CELL: &str = "Cell other than that of the model";
/// Default cost.
const DEFAULT: &str = "log1p";
/// Maximum SNR for which built-in costs are tabulated.
const MOST_SNR: f64 = 1e12;
/// Default bandwidth of each user, Hz.
const BANDWIDTH_HZ: f64 = 1e6;

/// Registry row of the power split by a cost of the SNR.
pub static SEPARABLE: About = About {
    name: "separable",
    line: "Split power to minimize a sum of costs that are convex in the SNR",
    formula: STATEMENT,
    input: INPUT,
    examples: |verb| match verb {
        Verb::Solve => &[
            "solve separable --cost log1p --input users.json",
            "sample separable --k 80 | anyk solve separable --cost cost.csv --input -",
        ],
        Verb::Assess => {
            &["assess separable --cost log1p --input cells.jsonl --allocations mine.jsonl"]
        }
        Verb::Train => &["train separable --cost log1p --out water.safetensors"],
        Verb::Sample => &["sample separable --k 10 --seed 1 > users.json"],
        Verb::Evaluate => &["evaluate water.safetensors --k 1,10,100,1000"],
        _ => &["allocate water.safetensors --input users.json"],
    },
    flags,
    parameters: || {
        let mut all = CELL.parameters();
        let bandwidth = Parameter::number("bandwidth-hz").also_a_result().own_name();
        all.push((bandwidth, vec!["bandwidth_hz".to_owned()]));
        // The cost of a user in an answer is a number. A cost from samples is in a file, which only options can
        // name.
        let kind = ParameterKind::Choice(|name| BuiltInCost::by_name(name).is_some());
        all.push((
            Parameter { kind, ..Parameter::number("cost").own_name() },
            vec!["cost".to_owned()],
        ));
        all
    },
    answer_fields: ANSWER_FIELDS,
    user_fields: &["power_w", "snr", "cost"],
    read: None,
    inputs: CELL_INPUTS,
    amounts: &[Column::each("power_w")],
    results: &[],
    make: |options| {
        let cells = Cells::new(CELL, options)?;
        Ok(Arc::new(CostOfSnr::new(cells, (vec![cost(options)?], false), options)?))
    },
    drawing: |options| {
        let cells = Cells::drawing(options)?;
        Ok(Arc::new(CostOfSnr::new(cells, (Vec::new(), false), options)?))
    },
    policies: &[
        OPTIMUM,
        PolicyRow {
            name: "equal-power",
            line: "Equal power for every user",
            make: |_| Ok(Box::new(EqualShares)),
        },
    ],
    diagnosed: &[],
    train: Some(models::train),
    load: Some(load::<SeparablePrice>),
};

pub(super) const OPTIMUM: PolicyRow = PolicyRow {
    name: "optimum",
    line: "Exact optimum",
    make: |_| Ok(Box::new(SeparableSolver::default())),
};

fn cost_option() -> OptionSpec {
    let help = "Cost of a user's SNR: log1p (the sum rate, by water-filling), fair-rate, delay, inverse, mmse, \
                exponential, or a file of samples u,c";
    OptionSpec::new("cost", OptionValue::Text("NAME|FILE"), help).or(DEFAULT)
}

fn bandwidth_option() -> OptionSpec {
    let help = "Bandwidth B of each user, which determines its noise power";
    OptionSpec::new("bandwidth-hz", OptionValue::Number("HZ"), help).or("1e6").rare()
}

/// Returns the options of a verb, for the problem and for its models.
fn flags(verb: Verb) -> Vec<OptionSpec> {
    let own = match verb {
        Verb::Solve | Verb::Assess => vec![cost_option(), bandwidth_option()],
        Verb::Train => {
            [vec![cost_option(), bandwidth_option()], models::training_options()].concat()
        }
        Verb::Allocate => vec![bandwidth_option().of(MODELS)],
        Verb::Evaluate | Verb::Calibrate => return Vec::new(),
        Verb::Sample => Vec::new(),
    };
    CELL.flags((&SEPARABLE, verb), own, Some(OTHER_CELL))
}

/// Returns the name of the cost in the options.
pub(super) fn cost_name(options: &Options) -> &str {
    options.text("cost").unwrap_or(DEFAULT)
}

/// Returns the cost in the options.
pub(super) fn cost(options: &Options) -> Result<Arc<Cost>, Error> {
    let given = cost_name(options);
    if let Some(built_in) = BuiltInCost::by_name(given) {
        return Ok(Arc::new(built_in.cost(MOST_SNR).map_err(Error::other)?));
    }
    let path = std::path::Path::new(given);
    if !path.exists() {
        let names: Vec<&str> = BuiltInCost::ALL.iter().map(|choice| choice.0).collect();
        let expected = format!("{}, or a file of samples u,c", names.join(", "));
        return Err(Invalid::value("cost", given, expected).into());
    }
    let bytes = read_file(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let samples = read_cost_samples(&bytes, given)?;
    let cost = Cost::from_samples(&samples).map_err(|error| Error::other(error).in_file(given))?;
    Ok(Arc::new(cost))
}

/// Returns the bandwidth of each user in the options, Hz.
pub(super) fn bandwidth_hz(options: &Options) -> Result<f64, Invalid> {
    Ok(options.positive("bandwidth-hz")?.unwrap_or(BANDWIDTH_HZ))
}

/// Problem of splitting the power of a cell by a cost of the SNR.
#[derive(Debug, Clone)]
pub(super) struct CostOfSnr {
    cells: Cells,
    /// Costs: one, or several for a model with classes.
    costs: Vec<Arc<Cost>>,
    /// Whether the costs are a model's own rather than those in the options.
    is_of_model: bool,
    bandwidth_hz: f64,
    options: Options,
}

impl CostOfSnr {
    /// Builds the problem with a model's costs, in the cell that options describe.
    pub(super) fn of_model(costs: &[Arc<Cost>], options: &Options) -> Result<Self, Error> {
        Self::new(Cells::new(CELL, options)?, (costs.to_vec(), true), options)
    }

    fn new(
        cells: Cells,
        (costs, is_of_model): (Vec<Arc<Cost>>, bool),
        given: &Options,
    ) -> Result<Self, Error> {
        let (mut options, bandwidth_hz) = (cells.options(), bandwidth_hz(given)?);
        options.set("bandwidth-hz", bandwidth_hz.to_string());
        if given.has("cost") || !is_of_model {
            options.set("cost", cost_name(given));
        }
        Ok(Self { cells, costs, is_of_model, bandwidth_hz, options })
    }
}

impl Problem for CostOfSnr {
    fn about(&self) -> &'static About {
        &SEPARABLE
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let [cost] = &*self.costs else {
            let message = "the model has several costs, and users of a cell cannot select one";
            return Err(Error::Refused(message.to_owned()));
        };
        let because = "all users have the same cost; use urllc for classes";
        let system = self.cells.system();
        let noise_w = system.noise_w_hz() * self.bandwidth_hz;
        let gains = self.cells.gains(record, because)?.into_iter().map(|gain| gain / noise_w);
        Ok(Box::new(Separable::uniform(Arc::clone(cost), gains, system.max_power_w())?))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        self.cells.draw(seed, size, index)
    }

    /// Keeps the costs unless the options name another cost.
    fn with_options(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        let (given, own) = (options.text("cost"), self.options.text("cost"));
        if given == own {
            let costs = (self.costs.clone(), self.is_of_model);
            return Ok(Arc::new(Self::new(Cells::new(CELL, options)?, costs, options)?));
        }
        if self.is_of_model {
            let expected =
                format!("{}, which the model was trained for", own.unwrap_or("the cost"));
            return Err(Invalid::value("cost", given.unwrap_or_default(), expected).into());
        }
        (SEPARABLE.make)(options)
    }
}
