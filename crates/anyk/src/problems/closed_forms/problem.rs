//! Interface of (P5) and (P6) to the rest of the library.

use std::sync::Arc;

use crate::channel::sample_faded_gains;
use crate::core::{
    About, CELL_INPUTS, Cells, Column, DiagnosedRow, Formulation, Parameter, PolicyRow, Problem,
    Record, Size, load,
};
use crate::framework::{CellOptions, Error, OptionSpec, OptionValue, Options, Verb};
use crate::problems::closed_forms::solver::{OptimalShares, Optimum};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormPolicy, EqualBandwidth, QosPower, models,
};
use crate::problems::urllc::problem::ANSWER_FIELDS;

const QOS_POWER_STATEMENT: &str =
    "  min   Σ_k P_k                                                       (P5)
   P
  s.t.  B·log2(1 + g_k P_k/(N_0 B)) ≥ s_0  for each user k

All users get the same rate s_0, and there is no power budget.";

const EQUAL_BANDWIDTH_STATEMENT: &str =
    "  min   B                                                             (P6)
  P,B
  s.t.  B·log2(1 + g_k P_k/(N_0 B)) ≥ s_0  for each user k,  Σ_k P_k ≤ P_max

All users get the same rate s_0.";

const INPUT: &str = "\
The input is a list of users, as for urllc: JSON, or CSV with a header.

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

AnyK uses the gains of the file unchanged: one antenna and no additional fading.";

/// Hidden option of problems that draw Rayleigh fading for each user.
pub(super) const FADED: &str = "faded";
/// Rate of (P5) and (P6) in `diagnose`, bit/s. At this rate the budget serves nearly all cells of hundreds of
/// users.
const DIAGNOSED_RATE_BPS: &str = "1e5";
static OPTIMUM: [PolicyRow; 1] =
    [PolicyRow { name: "optimum", line: "Closed form", make: |_| Ok(Box::new(Optimum)) }];

/// Fields that both problems share.
const RATES: About = About {
    input: INPUT,
    answer_fields: ANSWER_FIELDS,
    user_fields: &["power_w", "rate_bps", "bandwidth_hz"],
    load: Some(load::<ClosedFormPolicy>),
    ..About::new("", "", CELL_INPUTS, &[], |options| make(false, options), &OPTIMUM)
};

/// Registry row of problem (P5).
pub static QOS_POWER: About = About {
    name: "qos-power",
    line: "Minimize total power at a given rate and bandwidth (closed form)",
    formula: QOS_POWER_STATEMENT,
    examples: |verb| match verb {
        Verb::Solve => &["solve qos-power --rate-bps 2e6 --input users.json"],
        Verb::Assess => {
            &["assess qos-power --rate-bps 2e6 --input users.json --allocations mine.json"]
        }
        Verb::Train => &["train qos-power --train-k 10 --out power.safetensors"],
        Verb::Sample => &["sample qos-power --k 10 --seed 1 > users.json"],
        _ => &["sample urllc --k 50 | anyk allocate power.safetensors --input -"],
    },
    flags: |verb| flags(false, verb),
    parameters: || parameters(false),
    amounts: &[Column::each("power_w")],
    make: |options| make(false, options),
    drawing: |options| drawing(false, options),
    diagnosed: &[DiagnosedRow {
        name: "qos-power",
        label: "power (W) of (P5) over ln g",
        amount: "power_w",
        policy: || Box::new(Optimum),
        problem: |options| diagnosed(false, options),
    }],
    train: Some(|options, context| models::train(false, options, context)),
    ..RATES
};

/// Registry row of problem (P6).
pub static EQUAL_BANDWIDTH: About = About {
    name: "equal-bandwidth",
    line: "Minimize the common bandwidth of all users at a given rate (closed form)",
    formula: EQUAL_BANDWIDTH_STATEMENT,
    examples: |verb| match verb {
        Verb::Solve => &["solve equal-bandwidth --rate-bps 2e6 --input users.json"],
        Verb::Assess => {
            &["assess equal-bandwidth --rate-bps 2e6 --input users.json --allocations mine.csv"]
        }
        Verb::Train => &["train equal-bandwidth --rate-bps 1e5 --out equal.safetensors"],
        Verb::Sample => &["sample equal-bandwidth --k 10 --seed 1 > users.json"],
        _ => &["sample urllc --k 50 | anyk allocate power.safetensors --input -"],
    },
    flags: |verb| flags(true, verb),
    parameters: || parameters(true),
    amounts: &[Column::each("power_w"), Column::common("bandwidth_hz")],
    make: |options| make(true, options),
    drawing: |options| drawing(true, options),
    diagnosed: &[
        DiagnosedRow {
            name: "equal-bandwidth-power",
            label: "power (W) of (P6) over ln g",
            amount: "power_w",
            policy: || Box::new(OptimalShares),
            problem: |options| diagnosed(true, options),
        },
        DiagnosedRow {
            name: "equal-bandwidth-bandwidth",
            label: "bandwidth (Hz) of (P6) over ln g",
            amount: "bandwidth_hz",
            policy: || Box::new(Optimum),
            problem: |options| diagnosed(true, options),
        },
    ],
    train: Some(|options, context| models::train(true, options, context)),
    ..RATES
};

/// Returns the row of (P6), whose users share a budget, or of (P5).
pub(super) fn about(shared: bool) -> &'static About {
    if shared { &EQUAL_BANDWIDTH } else { &QOS_POWER }
}

/// Returns the parameters of a cell that the problem uses.
pub(super) fn cell(shared: bool) -> CellOptions {
    CellOptions { radio: true, power: shared, service: false }
}

fn rates(shared: bool) -> Vec<OptionSpec> {
    let number = |name, unit, help| OptionSpec::new(name, OptionValue::Number(unit), help);
    let mut options = vec![number("rate-bps", "BIT/S", "Rate s_0 of each user").or("1e6")];
    if !shared {
        options.push(number("bandwidth-hz", "HZ", "Bandwidth B of each user").or("1e6"));
    }
    options
}

fn flags(shared: bool, verb: Verb) -> Vec<OptionSpec> {
    let own = match verb {
        Verb::Solve | Verb::Assess => rates(shared),
        Verb::Train => [rates(shared), models::training_options(shared)].concat(),
        _ => Vec::new(),
    };
    cell(shared).flags((about(shared), verb), own, None)
}

fn parameters(shared: bool) -> Vec<(Parameter, Vec<String>)> {
    let mut all = cell(shared).parameters();
    all.push((Parameter::number("rate-bps").also_a_result(), vec!["rate_bps".to_owned()]));
    if !shared {
        // In answers of other problems, the bandwidth of a user is a result.
        let bandwidth = Parameter::number("bandwidth-hz").also_a_result().own_name();
        all.push((bandwidth, vec!["bandwidth_hz".to_owned()]));
    }
    all
}

fn make(shared: bool, options: &Options) -> Result<Arc<dyn Problem>, Error> {
    let cells = Cells::new(cell(shared), options)?;
    Ok(Arc::new(RateProblem::new(cells, ClosedForm::new(shared, options)?, options.has(FADED))?))
}

fn drawing(shared: bool, options: &Options) -> Result<Arc<dyn Problem>, Error> {
    let form = ClosedForm::new(shared, &Options::default())?;
    Ok(Arc::new(RateProblem::new(Cells::drawing(options)?, form, false)?))
}

/// Builds the problem for `diagnose`, in a cell.
fn diagnosed(shared: bool, options: &Options) -> Result<Arc<dyn Problem>, Error> {
    let mut options = options.clone();
    options.set("rate-bps", DIAGNOSED_RATE_BPS);
    options.set(FADED, "");
    make(shared, &options)
}

impl ClosedForm {
    /// Reads the problem from options: its rate, and its bandwidth for (P5).
    pub(super) fn new(shared: bool, options: &Options) -> Result<Self, Error> {
        let rate_bps = options.number("rate-bps")?.unwrap_or(1e6);
        Ok(if shared {
            Self::EqualBandwidth { rate_bps }
        } else {
            let bandwidth_hz = options.number("bandwidth-hz")?.unwrap_or(1e6);
            Self::QosPower { rate_bps, bandwidth_hz }
        })
    }

    /// Returns whether the problem is (P6).
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Self::EqualBandwidth { .. })
    }

    /// Writes the options of the problem.
    pub(super) fn describe(self, options: &mut Options) {
        let (Self::QosPower { rate_bps, .. } | Self::EqualBandwidth { rate_bps }) = self;
        options.set("rate-bps", rate_bps.to_string());
        if let Self::QosPower { bandwidth_hz, .. } = self {
            options.set("bandwidth-hz", bandwidth_hz.to_string());
        }
    }
}

/// Problem (P5) or (P6) in a cell.
#[derive(Debug, Clone)]
struct RateProblem {
    cells: Cells,
    form: ClosedForm,
    options: Options,
    /// Whether each random user has a fading state.
    faded: bool,
}

impl RateProblem {
    fn new(cells: Cells, form: ClosedForm, faded: bool) -> Result<Self, Error> {
        let mut options = cells.options();
        form.describe(&mut options);
        if faded {
            options.set(FADED, "");
        }
        let problem = Self { cells, form, options, faded };
        // Checks the rate and the bandwidth before there are users.
        problem.of_gains(vec![1.0])?;
        Ok(problem)
    }

    fn of_gains(&self, gains: Vec<f64>) -> Result<Box<dyn Formulation>, Error> {
        let system = self.cells.system();
        Ok(match self.form {
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                Box::new(QosPower::new(system, rate_bps, bandwidth_hz, gains)?)
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                Box::new(EqualBandwidth::new(system, rate_bps, gains)?)
            }
        })
    }
}

impl Problem for RateProblem {
    fn about(&self) -> &'static About {
        about(self.form.is_shared())
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let because = "all users get the same rate; use urllc for classes";
        self.of_gains(self.cells.gains(record, because)?)
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        if !self.faded {
            return self.cells.draw(seed, size, index);
        }
        let (road, path_loss) = (self.cells.system().road(), self.cells.system().path_loss());
        let gains = sample_faded_gains(&road, &path_loss, seed, size, index);
        Ok(Record::new(CELL_INPUTS, Size::users(size)).with("gain", gains)?)
    }
}
