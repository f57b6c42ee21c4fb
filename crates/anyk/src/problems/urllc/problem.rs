//! Interface of URLLC to the rest of the library.

use std::sync::Arc;

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::core::{
    About, CELL_INPUTS, Cells, Column, DiagnosedRow, Formulation, PolicyRow, Problem, Record,
};
use crate::framework::{CellOptions, Error, OptionSpec, OptionValue, Options, Verb};
use crate::problems::urllc::in_cells::judge;
use crate::problems::urllc::{EqualPower, Urllc, UrllcSolver, models, train};

const STATEMENT: &str = "  min   Σ_k B_k                                                       (P1)
  P,B
  s.t.  C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,  Σ_k P_k ≤ P_max

P_k and B_k are the power and bandwidth of user k, and α_k is its channel gain. The effective capacity C^E of the \
link must reach the effective bandwidth S^E of the traffic, which depends on the loss and delay targets.";

const INPUT: &str = "\
The input is a list of users in JSON or CSV. AnyK detects the format:

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

  id,distance_m
  a,60
  b,90

Each user has one of `distance_m`, `gain_db` (10·log10 of the large-scale gain α), `path_loss_db` (its negative), \
`snr_db` and `rsrp_dbm`. The last two need the power at which they were measured (`reference_power_dbm`). A user may \
also have its own `epsilon`, `packet_bits` and `arrival_rate`, or name a class of the option `classes`. Without an \
`id`, the name of a user is its number. AnyK copies all other fields to the answer, but rejects names that look like \
a typo of a known name. A parameter of the cell overrides the flag for that cell if it is next to `users`, or if all \
users have the same value.

JSON may contain any number of cells as consecutive objects, with names in `\"cell\"`. AnyK answers them as they \
arrive. CSV fields may be separated by commas, semicolons or tabs; comment lines start with #, and a column `cell` \
distinguishes cells.";

/// Problem (P1) in a cell.
#[derive(Debug, Clone)]
pub struct UrllcProblem {
    cells: Cells,
    options: Options,
    /// Fading distribution under which users are judged, if it differs from the cell's.
    fading: Option<Arc<FadingQuadrature>>,
    judges: bool,
    knows_fading: bool,
}

/// Registry row of problem (P1).
pub static URLLC: About = About {
    name: "urllc",
    line: "Minimize total bandwidth under a loss and delay target",
    formula: STATEMENT,
    input: INPUT,
    examples,
    flags,
    parameters: || CellOptions::ALL.parameters(),
    answer_fields: ANSWER_FIELDS,
    user_fields: &["power_w", "bandwidth_hz", "packet_loss"],
    inputs: CELL_INPUTS,
    amounts: AMOUNTS,
    read: None,
    results: &[],
    make: |options| Ok(Arc::new(UrllcProblem::new(Cells::new(CellOptions::ALL, options)?))),
    drawing: |options| Ok(Arc::new(UrllcProblem::new(Cells::drawing(options)?))),
    policies: &[
        PolicyRow {
            name: "optimum",
            line: "Exact optimum",
            make: |_| Ok(Box::new(UrllcSolver::default())),
        },
        PolicyRow {
            name: "equal-power",
            line: "Equal power for every user, and the exact bandwidth that each then needs",
            make: |_| Ok(Box::new(EqualPower::default())),
        },
    ],
    diagnosed: &[
        DiagnosedRow {
            name: "urllc-power",
            label: "power (W) for URLLC over ln α",
            amount: "power_w",
            policy: || Box::new(UrllcSolver::default()),
            problem: |options| (URLLC.make)(options),
        },
        DiagnosedRow {
            name: "urllc-bandwidth",
            label: "bandwidth (Hz) for URLLC over ln α",
            amount: "bandwidth_hz",
            policy: || Box::new(UrllcSolver::default()),
            problem: |options| (URLLC.make)(options),
        },
    ],
    train: Some(train::train),
    load: Some(train::load),
};

/// Columns of an allocation: powers and bandwidths.
pub(crate) static AMOUNTS: &[Column] = &[Column::each("power_w"), Column::each("bandwidth_hz")];

/// Fields of the answers of all problems for users of a cell. Answers can serve as inputs, so readers must know
/// them.
pub(crate) static ANSWER_FIELDS: &[&str] = &[
    "power_w",
    "bandwidth_hz",
    "packet_loss",
    "certified",
    "rate_bps",
    "status",
    "total_bandwidth_hz",
    "total_power_w",
    "duality_gap",
    "price_hz_per_w",
    "availability",
    "raised_users",
    "lowered_users",
    "added_bandwidth_hz",
    "uncertified",
    "in_distribution",
    "out_of_range",
    "guarantee",
    "no_guarantee",
    "warning",
    "max_bandwidth_hz",
    "price_w_per_hz",
    "kkt_residual",
    "gap_percent",
    "max_power_w",
    "required_power_w",
    "shortfall_w",
    "admissible_count",
    "admissible_at_most",
    "dropped",
    "admissible",
    "error",
    "instances",
    "objective",
    "missed",
    "total_cost",
    "snr",
    "cost",
    "price",
];

/// Returns the switch that leaves out the checks of answers.
pub(crate) fn no_check() -> OptionSpec {
    OptionSpec::new(
        "no-check",
        OptionValue::Switch,
        "Skip checks by quadrature: no packet losses and, for models, no comparison with the optimum",
    )
    .rare()
}

fn flags(verb: Verb) -> Vec<OptionSpec> {
    let own = match verb {
        Verb::Solve => vec![no_check()],
        Verb::Train => train::training_options(),
        Verb::Assess | Verb::Sample => Vec::new(),
        Verb::Evaluate | Verb::Allocate | Verb::Calibrate => {
            return models::options(verb, true, true);
        }
    };
    CellOptions::ALL.flags((&URLLC, verb), own, None)
}

fn examples(verb: Verb) -> &'static [&'static str] {
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
            "train urllc --method price --seed 1 --out any.safetensors",
            "train urllc --method p-gnn --train-k 10 --epsilon-d 6e-6 --out model.safetensors",
            "train urllc --method price --fading samples.npy --out sampled.safetensors",
        ],
        Verb::Calibrate => &[
            "calibrate model.safetensors --k 10 --out calibrated.safetensors",
            "calibrate model.safetensors --k 1,10,100 --cells 10000 --delta 0.01 --out better.safetensors",
            "calibrate sampled.safetensors --fading rician:k=3 --shrink --out calibrated.safetensors",
        ],
        _ => &["sample urllc --k 50 | anyk allocate any.safetensors --certify --input -"],
    }
}

impl UrllcProblem {
    /// Builds the problem for the given cells.
    fn new(cells: Cells) -> Self {
        let options = cells.options();
        Self { cells, options, fading: None, judges: true, knows_fading: true }
    }

    /// Builds the problem for a cell that has been checked.
    pub fn in_cell(system: &System) -> Arc<dyn Problem> {
        Arc::new(Self::new(Cells::of(CellOptions::ALL, system)))
    }

    /// Builds the problem of a model, judged under the fading distribution in the options. Without one, answers of a
    /// model that was learned from samples are not judged.
    pub(super) fn of_model(options: &Options, knows_fading: bool) -> Result<Self, Error> {
        let mut problem = Self::new(Cells::new(CellOptions::ALL, options)?);
        let judge = judge(options, problem.cells.system())?;
        if let Some(text) = options.text("fading") {
            problem.options.set("fading", text);
        }
        problem.judges = knows_fading || judge.is_some();
        problem.knows_fading = knows_fading;
        problem.fading = judge.map(|judge| judge.rule);
        Ok(problem)
    }
}

impl Problem for UrllcProblem {
    fn about(&self) -> &'static About {
        &URLLC
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let problem = Urllc::new(self.cells.system(), self.cells.users(record)?)?;
        Ok(Box::new(match &self.fading {
            Some(fading) => problem.with_fading(fading),
            None => problem,
        }))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        self.cells.draw(seed, size, index)
    }

    fn with_options(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        Ok(Arc::new(Self::of_model(options, self.knows_fading)?))
    }

    fn judges(&self) -> bool {
        self.judges
    }
}
