//! Interface of URLLC in a fixed band to the rest of the library.

use std::sync::Arc;

use crate::core::{
    About, CELL_INPUTS, Cells, DiagnosedRow, Formulation, Parameter, ParameterKind, PolicyRow,
    Problem, Record, load,
};
use crate::framework::{
    CellOptions, Error, OptionSpec, OptionValue, Options, Verb, training_specs,
};
use crate::invalid::Invalid;
use crate::problems::urllc::problem::{AMOUNTS, ANSWER_FIELDS, no_check};
use crate::problems::urllc_power::{BandPricePolicy, BandSolver, EqualBand, UrllcPower, models};
use crate::units::{Dbm, Watt};

const STATEMENT: &str = "  min   Σ_k P_k
  P,B
  s.t.  C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,  Σ_k B_k ≤ B_max

In contrast to urllc, the band is given, and power is scarce. If you also set `max_power_dbm`, the answer says \
whether all users can be served and, if not, names the largest set of users that AnyK finds.";

const INPUT: &str = "\
The input is a list of users, as for urllc:

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

or CSV with the columns id,distance_m.";

/// Options of the cell; the problem has its own option for the power budget, which is optional.
pub(super) const CELL: CellOptions = CellOptions { radio: true, power: false, service: true };
/// Heading of the options for this problem's models.
const MODELS: &str = "Models for urllc-power";
/// Heading of the cell options if a model has its own cell.
const OTHER_CELL: &str = "Cell other than that of the model";

/// Default band of each user, Hz.
pub(super) const USER_BAND_HZ: f64 = 2e5;

/// Minimum-power problem in a fixed band.
#[derive(Debug, Clone)]
pub struct BandProblem {
    cells: Cells,
    options: Options,
    /// Band; if `None`, each record must give it.
    max_bandwidth_hz: Option<f64>,
    /// Band of each user in random cells without a band; if `None`, the caller that solves them gives the band.
    user_bandwidth_hz: Option<f64>,
    max_power_w: Option<f64>,
}

/// Registry row of the minimum-power problem in a fixed band.
pub static URLLC_POWER: About = About {
    name: "urllc-power",
    line: "Minimize total power in a given band under a loss and delay target",
    formula: STATEMENT,
    input: INPUT,
    examples,
    flags,
    parameters,
    answer_fields: ANSWER_FIELDS,
    user_fields: &["power_w", "bandwidth_hz", "packet_loss"],
    inputs: CELL_INPUTS,
    amounts: AMOUNTS,
    read: None,
    results: &[],
    make: |options| Ok(Arc::new(BandProblem::new(Cells::new(CELL, options)?, options)?)),
    drawing: |options| {
        let problem = BandProblem::new(Cells::drawing(options)?, options)?;
        Ok(Arc::new(BandProblem { user_bandwidth_hz: None, ..problem }))
    },
    policies: &[
        PolicyRow {
            name: "optimum",
            line: "Exact optimum",
            make: |_| Ok(Box::new(BandSolver::default())),
        },
        PolicyRow {
            name: "equal-bandwidth",
            line: "Equal bandwidth for every user, and the exact power that each then needs",
            make: |_| Ok(Box::new(EqualBand::default())),
        },
    ],
    diagnosed: &[DiagnosedRow {
        name: "band-power",
        label: "power (W) for URLLC in 200 kHz for each user over ln α",
        amount: "power_w",
        policy: || Box::new(BandSolver::default()),
        problem: |options| {
            let mut options = options.clone();
            options.remove("max-power-dbm");
            (URLLC_POWER.make)(&options)
        },
    }],
    train: Some(models::train),
    load: Some(load::<BandPricePolicy>),
};

fn budgets() -> [OptionSpec; 2] {
    [
        OptionSpec::new(
            "max-bandwidth-hz",
            OptionValue::Number("HZ"),
            "Bandwidth budget B_max; required",
        ),
        OptionSpec::new("max-power-dbm", OptionValue::Number("DBM"), "Power budget; optional"),
    ]
}

/// Returns the options that a record may set: those of the cell, and both budgets.
fn parameters() -> Vec<(Parameter, Vec<String>)> {
    let mut all = CELL.parameters();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let dbm = ["max_power_dbm", "cell_max_power_dbm", "cell.max_power_dbm"];
    let kind = ParameterKind::Converted(|watts| Dbm::from(Watt(watts)).0);
    let watts = Parameter { kind, ..Parameter::number("max-power-dbm") };
    all.push((Parameter::number("max-power-dbm"), names(&dbm)));
    all.push((watts, names(&["max_power_w"])));
    all.push((Parameter::number("max-bandwidth-hz"), names(&["max_bandwidth_hz"])));
    all
}

fn examples(verb: Verb) -> &'static [&'static str] {
    match verb {
        Verb::Solve => &[
            "solve urllc-power --max-bandwidth-hz 20e6 --input users.json",
            "solve urllc-power --max-bandwidth-hz 20e6 --max-power-dbm 43 --input users.json",
            "sample urllc-power --k 80 | anyk solve urllc-power --max-bandwidth-hz 20e6 --input -",
        ],
        Verb::Assess => &[
            "assess urllc-power --max-bandwidth-hz 20e6 --input cells.jsonl --allocations mine.jsonl",
        ],
        Verb::Train => &["train urllc-power --out band.safetensors"],
        Verb::Sample => &["sample urllc-power --k 10 --seed 1 > users.json"],
        Verb::Evaluate => &["evaluate band.safetensors --k 1,10,100,1000 --user-bandwidth-hz 2e5"],
        _ => &["allocate band.safetensors --max-bandwidth-hz 20e6 --input users.json"],
    }
}

fn flags(verb: Verb) -> Vec<OptionSpec> {
    let of_models =
        |specs: &[OptionSpec]| specs.iter().cloned().map(|spec| spec.of(MODELS)).collect();
    let [band, power] = budgets();
    let own = match verb {
        Verb::Assess => vec![band, power],
        Verb::Solve => vec![band, power, no_check()],
        Verb::Allocate => of_models(&[band, power, no_check()]),
        Verb::Train => training_specs().to_vec(),
        Verb::Evaluate => {
            let each = "Bandwidth budget per user; use instead of a total budget";
            of_models(&[
                OptionSpec { help: "Bandwidth budget B_max at every size", ..band },
                OptionSpec::new("user-bandwidth-hz", OptionValue::Number("HZ"), each).or("2e5"),
            ])
        }
        Verb::Calibrate | Verb::Sample => Vec::new(),
    };
    CELL.flags((&URLLC_POWER, verb), own, Some(OTHER_CELL))
}

impl BandProblem {
    fn new(cells: Cells, given: &Options) -> Result<Self, Error> {
        let max_bandwidth_hz = given.positive("max-bandwidth-hz")?;
        max_bandwidth_hz.map_or(Ok(0.0), UrllcPower::check_band)?;
        let user_bandwidth_hz = given.positive("user-bandwidth-hz")?;
        let max_power_dbm = given.number("max-power-dbm")?;
        if let Some(dbm) = max_power_dbm.filter(|dbm| !(-60.0..=100.0).contains(dbm)) {
            let expected = "a power in dBm from -60 to 100";
            return Err(Invalid::number("max_power_dbm", dbm, expected).into());
        }
        let mut options = cells.options();
        for (name, value) in [
            ("max-bandwidth-hz", max_bandwidth_hz),
            ("user-bandwidth-hz", user_bandwidth_hz),
            ("max-power-dbm", max_power_dbm),
        ] {
            if let Some(value) = value {
                options.set(name, value.to_string());
            }
        }
        Ok(Self {
            cells,
            options,
            max_bandwidth_hz,
            user_bandwidth_hz: user_bandwidth_hz.or(Some(USER_BAND_HZ)),
            max_power_w: max_power_dbm.map(|dbm| Watt::from(Dbm(dbm)).0),
        })
    }
}

impl Problem for BandProblem {
    fn about(&self) -> &'static About {
        &URLLC_POWER
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let expected = "the band of all users in Hz, as an option or in the data";
        let missing = || Invalid::missing("max_bandwidth_hz", expected);
        let band_hz = self.max_bandwidth_hz.ok_or_else(missing)?;
        let problem = UrllcPower::new(self.cells.system(), self.cells.users(record)?, band_hz)?;
        Ok(Box::new(match self.max_power_w {
            None => problem,
            Some(max_power_w) => problem.with_max_power_w(max_power_w)?,
        }))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        let record = self.cells.draw(seed, size, index)?;
        Ok(match (self.max_bandwidth_hz, self.user_bandwidth_hz) {
            (None, Some(each_hz)) => {
                record.with_parameter("max-bandwidth-hz", each_hz * size as f64)
            }
            _ => record,
        })
    }
}
