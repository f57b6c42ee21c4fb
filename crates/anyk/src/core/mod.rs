//! Types that connect inputs and solvers, shared by all problems. Their methods are in the other files of this
//! folder.
//!
//! A [`Problem`] formulates a [`Record`] (named arrays) as an [`Instance`]. A [`Policy`] computes an [`Allocation`] for
//! it, and the instance returns a [`Verdict`]. The problem's own types are hidden behind [`Formulation`].

mod allocation;
mod answer;
mod answering;
mod cells;
mod column;
mod compare;
mod evaluation;
mod facts;
mod fixed_cell;
mod gap_chart;
mod instance;
mod page;
mod parameters;
mod read;
mod record;
mod report;
mod samples;
mod standing;
mod trained;
mod verdict;

use std::any::Any;
use std::sync::Arc;

use serde::Serialize;

use crate::exchange::Extra;
use crate::framework::{
    CalibrationSettings, Error, Infeasibility, ModelError, Observer, OptionSpec, Options, Trials,
    Verb,
};
use crate::invalid::Invalid;

pub use answer::{Answer, Denied, Rows, Served, plain_json};
pub use answering::{Answering, Answers, in_order};
pub(crate) use cells::CLASSES;
pub use cells::{CELL_INPUTS, Cells};
pub use column::{ArrayView, NamedArray};
pub use compare::{
    Comparison, Failed, Instances, NamedPolicy, Rounds, compare, compare_instances, compare_on,
};
pub(crate) use evaluation::{Shown, evaluation, or_dash};
pub use facts::{Fact, Facts};
pub use fixed_cell::FixedCell;
pub use gap_chart::{GapCurve, gap_chart};
pub use page::{Page, Text, TextPart};
pub use parameters::{Formulating, Parameter, ParameterKind};
pub(crate) use read::Others;
pub use read::{Allotment, Allotments, Ids, Place, ReadRecords, Reader};
pub use report::{Detail, Report, Reporting};
pub use samples::{draw_samples, record_json, write_samples};
pub use standing::{Standing, Summary, Tally};
pub(crate) use trained::load;
pub use trained::{Calibrated, Load, Train, Trained, no_better_than};
pub use verdict::{Goal, Judged, Miss, Missed, Reference};

/// Axis of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Users or links: any number of them, in any order.
    Users,
    /// Second axis of some problems: antennas, access points, subcarriers.
    Others,
}

/// Lengths of the axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Number of users or links.
    pub users: usize,
    /// Length of the second axis; 0 if there is none.
    pub others: usize,
}

/// Named array: an input of a problem, or an amount that it allocates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Name with the unit, as in files: `power_w`.
    pub name: &'static str,
    /// Axes of the array; empty for a number that the whole instance shares.
    pub axes: &'static [Axis],
    /// Whether each entry consists of two numbers, a real and an imaginary part.
    pub complex: bool,
    /// Whether a record needs the column.
    pub need: Need,
    /// Whether only callers with arrays can set the column, and files cannot.
    pub arrays_only: bool,
    /// Description of an entry for messages, such as "a number of metres".
    pub what: &'static str,
    /// Smallest and largest accepted number.
    pub range: (f64, f64),
}

/// Rule for whether a record must contain a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Column that every record must contain.
    Required,
    /// Column of a group; every user must have a value in exactly one column of the group.
    OneOf,
    /// Column that a record may omit; the problem handles its absence.
    Optional,
    /// Column that defaults to this number.
    Default(f64),
}

/// Instance as data. An allocation in a file has the same form, with the amounts as its columns.
#[derive(Debug, Clone, Default)]
pub struct Record {
    columns: &'static [Column],
    size: Size,
    /// Values of each column; empty if the record omits it, NaN if a user has no value. Accessors fill in defaults.
    values: Vec<Vec<f64>>,
    /// Options of the problem that the record sets.
    parameters: Options,
    /// Options in the record that must equal those in effect, because a record cannot set them.
    claims: Vec<parameters::Claim>,
    /// Names of the users; empty if they are numbered.
    pub ids: Ids,
    /// Other fields of the file for the whole instance; the field `cell` is the name of the instance.
    pub extra: Extra,
    /// Other fields of the file for each user; empty if there are none.
    pub user_extra: Vec<Extra>,
    /// Position of the record in its file.
    pub place: Place,
}

/// Result of a policy for an instance, in buffers that are reused for the next instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allocation {
    /// Amounts in the order of [`About::amounts`].
    pub amounts: Vec<Vec<f64>>,
    /// Proof from a dual solution, if there is one.
    pub proof: Option<Proof>,
    /// Number of prices that a solver tried, or number of its iterations.
    pub iterations: Option<usize>,
    /// Objective as computed by a solver, if it may differ from that of the amounts in its last digits.
    pub objective: Option<f64>,
    /// Time that the policy itself took, s; set only if a call includes other work.
    pub seconds: Option<f64>,
    /// Other results, such as certificates, guarantees and values outside the training range.
    pub facts: Facts,
}

/// Proof from a dual solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// Bound on `(objective − optimum) / objective`.
    pub duality_gap: f64,
    /// Dual variable of the budget.
    pub price: f64,
}

/// Outcome of an allocation. A cell that cannot be served is an outcome, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Allocation with amounts for every user.
    Served(Status),
    /// Instance for which no allocation serves every user.
    Infeasible(Infeasibility),
    /// Instance that the policy does not support; the text gives the reason.
    Refused(String),
}

/// Status of an allocation: how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Optimal, with a proof.
    Optimal,
    /// Feasible, but the proof leaves a gap above the limit of the problem in [`tolerance`](crate::tolerance).
    Inaccurate,
    /// Stationary point.
    Converged,
    /// Result after the last permitted iteration of a solver.
    IterationLimit,
    /// Result of a heuristic.
    Heuristic,
    /// Allocation of a learned policy.
    Learned,
}

/// Verdict on an allocation, compared with the best known allocation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Status: `feasible`, `misses` (a demand is not met), `over-budget`, `infeasible` (no allocation can serve every
    /// user) or `no-allocation` (the file gives a reason instead).
    pub status: &'static str,
    /// Number of users or links.
    pub k: usize,
    /// Share of users whose demand is met; absent if users have no demands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// Objective of the problem.
    pub objective: Goal,
    /// Objective value of the allocation; absent without an allocation.
    pub value: Option<f64>,
    /// Objective value of the optimum or of the best known allocation; absent if there is none.
    pub reference: Option<f64>,
    /// Gap between value and reference, percent: positive is worse, negative is possible if users are not served.
    pub gap_percent: Option<f64>,
    /// Share of the budget that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_used: Option<f64>,
    /// Largest relative violation of the optimality conditions; absent if it is unbounded.
    pub kkt_residual: Option<f64>,
    /// Reason that the file gives instead of an allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Warning if the allocation is outside the valid range of the problem's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Users who are not served, and by how much.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Miss>,
    /// Other fields of the file for the cell.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Instance in the problem's own types. It receives only allocations with finite amounts of the right lengths.
pub trait Formulation: Any + Send + Sync {
    /// Returns the objective of the instance.
    fn goal(&self) -> Goal;
    /// Returns the objective value of an allocation.
    fn value(&self, given: &Allocation) -> f64;
    /// Judges any allocation without using code of the solvers or networks. Returns an error if an amount is
    /// negative.
    fn judge(&self, given: &Allocation) -> Result<Judged, Error>;
    /// Returns a feature of each user for `diagnose`, such as `ln α`.
    fn features(&self) -> Vec<f64>;
    /// Returns the instance with only the given users, in the given order: user `users[i]` gets index `i`.
    fn part(&self, users: &[usize]) -> Box<dyn Formulation>;

    /// Returns the arrays of [`About::results`] for an allocation.
    fn results(&self, _given: &Allocation) -> Vec<Vec<f64>> {
        Vec::new()
    }

    /// Rejects invalid allocations, such as those that exceed the budget; it need not check whether users are served.
    fn check(&self, _given: &Allocation) -> Result<(), Invalid> {
        Ok(())
    }

    /// Returns the report on an allocation.
    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        how.plain_report(self.goal(), self.value(given), given)
    }

    /// Returns a warning if an allocation is outside the valid range of the problem's model.
    fn warning(&self, _given: &Allocation) -> Option<String> {
        None
    }

    /// Returns whether users have demands, which an allocation can miss.
    fn demands(&self) -> bool {
        true
    }

    /// Returns the budgets, which answers contain if the budgets cannot serve every user.
    fn budgets(&self) -> Facts {
        Facts::default()
    }

    /// Describes why the budgets cannot serve every user.
    fn shortfall(&self, why: &Infeasibility) -> String {
        why.to_string()
    }

    /// Returns the arrays of the instance, including budgets, or an empty list to use the arrays of its record.
    fn inputs(&self) -> Vec<NamedArray> {
        Vec::new()
    }

    /// Returns the outputs of an amount for `diagnose`.
    fn outputs(&self, amount: &[f64]) -> Vec<f64> {
        amount.to_vec()
    }

    /// Estimates the work of an allocation as a number of users of an easy problem, each of which takes a few
    /// tens of nanoseconds.
    fn work(&self, users: usize) -> usize {
        users
    }
}

/// Problem with its options.
pub trait Problem: Send + Sync {
    /// Returns the problem's row in the registry.
    fn about(&self) -> &'static About;
    /// Returns all options in effect, including defaults. [`About::make`] builds the same problem from these
    /// options.
    fn options(&self) -> &Options;
    /// Builds the typed instance of a record.
    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error>;
    /// Draws a random record, which depends only on the arguments.
    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error>;

    /// Returns the problem with other options, for a record that sets some of them. The new problem must keep all data
    /// that are not options.
    fn with_options(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(options)
    }

    /// Returns whether allocations can be judged. They cannot if the fading is known only through samples.
    fn judges(&self) -> bool {
        true
    }
}

/// Policy that computes allocations: a solver, a model, a program or a function. It owns all its data.
pub trait Policy: Send + Sync {
    /// Allocates for an instance. Returns the outcome and, only if the outcome is `Served`, writes the amounts
    /// into `into`.
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error>;

    /// Returns a copy for another thread; `None` if the policy must receive one instance at a time.
    fn fork(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// Announces the next instances: a policy that allocates many at once may do so now.
    fn prepare(&mut self, _instances: &[&Arc<Instance>]) {}

    /// Returns why the answers since the last call are unreliable, or `None` if they are reliable. If `at_rest`
    /// is true, there is time to check.
    fn doubt(&mut self, _at_rest: bool) -> Option<String> {
        None
    }
}

/// Learned policy that is stored in a file.
pub trait Model: Send + Sync {
    /// Returns the problem's row in the registry.
    fn about(&self) -> &'static About;
    /// Describes the model in a few words.
    fn describe(&self) -> String;
    /// Returns the bytes of the model file.
    fn bytes(&self) -> Result<Vec<u8>, ModelError>;
    /// Returns the options that describe the model's cell, from which its training instances were drawn.
    fn trained_options(&self) -> Options;
    /// Returns the policy, with options of [`Verb::Allocate`].
    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error>;
    /// Evaluates the model on random instances, compared with the optimum or with classical policies.
    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error>;

    /// Returns the options of a verb that apply to this model.
    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        (self.about().flags)(verb)
    }

    /// Returns the problem whose instances the model allocates: the model's cell, overridden by the options.
    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(&options.over_trained(&self.trained_options()))
    }

    /// Returns the problem from which the training instances were drawn.
    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        self.problem(&Options::default())
    }

    /// Returns the largest number of users in the model's validation, or `None` if the method works for any
    /// number.
    fn validated_k(&self) -> Option<usize> {
        None
    }

    /// Returns the model with a guarantee, and the guarantee, or `None` if the method supports no guarantee.
    fn calibrate(
        &self,
        _options: &Options,
        _settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        None
    }
}

/// Instance of a problem: its record, and the same data in the problem's own type.
pub struct Instance {
    /// Problem of the instance.
    pub problem: Arc<dyn Problem>,
    /// Data of the instance.
    pub record: Record,
    size: Size,
    formulation: Box<dyn Formulation>,
}

/// Row of the registry: a problem before its options are known.
pub struct About {
    /// Name of the problem, with words joined by dashes.
    pub name: &'static str,
    /// Description in one line: what the problem allocates, and its objective.
    pub line: &'static str,
    /// Formula of the problem for its help page.
    pub formula: &'static str,
    /// Description of the problem's input for its help page.
    pub input: &'static str,
    /// Example command lines without the program's name.
    pub examples: fn(Verb) -> &'static [&'static str],
    /// Options of a verb; for verbs on models, all options that apply to at least one model.
    pub flags: fn(Verb) -> Vec<OptionSpec>,
    /// Options that a record may set, with their names in files.
    pub parameters: fn() -> Vec<(Parameter, Vec<String>)>,
    /// Names of the problem's facts and details in answers. In an answer, a field of the file with one of these
    /// names gets a prefix.
    pub answer_fields: &'static [&'static str],
    /// Names of the fields that answers contain for each user.
    pub user_fields: &'static [&'static str],
    /// Reader of the records of a document, if the records are not users with one number for each column.
    pub read: Option<ReadRecords>,
    /// Columns of the problem's records.
    pub inputs: &'static [Column],
    /// Columns that the problem allocates.
    pub amounts: &'static [Column],
    /// Arrays that follow from the amounts, such as the rates of links; see [`Formulation::results`].
    pub results: &'static [Column],
    /// Constructor from options of [`Verb::Solve`], [`Verb::Assess`], [`Verb::Evaluate`] and [`Verb::Sample`].
    pub make: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// Constructor from options of [`Verb::Sample`], for a problem that only draws.
    pub drawing: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// Policies without training: first the best known one, then the baseline.
    pub policies: &'static [PolicyRow],
    /// Policies without training that `diagnose` knows by name.
    pub diagnosed: &'static [DiagnosedRow],
    /// Training function.
    pub train: Option<Train>,
    /// Reader of models.
    pub load: Option<Load>,
}

/// Policy that needs no training.
pub struct PolicyRow {
    /// Name of the policy.
    pub name: &'static str,
    /// Description in one line.
    pub line: &'static str,
    /// Constructor from the options of a problem. The options that a record sets are in its instance.
    pub make: fn(&Options) -> Result<Box<dyn Policy>, Error>,
}

/// Policy without training that `diagnose` knows by name.
pub struct DiagnosedRow {
    /// Name of the policy, such as `urllc-power`.
    pub name: &'static str,
    /// Description of the input and the output.
    pub label: &'static str,
    /// Name of the amount that is the output.
    pub amount: &'static str,
    /// Constructor of the policy.
    pub policy: fn() -> Box<dyn Policy>,
    /// Constructor of the problem for a cell that the options describe.
    pub problem: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
}
