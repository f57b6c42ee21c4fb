//! Core between inputs and solvers, shared by all problems. The methods of its types are in the files next to it.
//!
//! A [`Problem`] formulates a [`Record`] (named arrays) as an [`Instance`]. A [`Policy`] computes an [`Allocation`] for
//! it, and the instance returns a [`Verdict`]. Types of the problem are hidden behind [`Formulation`].

mod allocation;
mod answer;
mod answering;
mod cells;
mod column;
mod compare;
mod evaluation;
mod facts;
mod fixed_cell;
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
pub use compare::{Comparison, Failed, NamedPolicy, Rounds, compare, compare_on};
pub(crate) use evaluation::{Shown, evaluation, or_dash};
pub use facts::{Fact, Facts};
pub use fixed_cell::FixedCell;
pub use page::{Page, Text, TextPart};
pub use parameters::{Formulating, Parameter, ParameterKind};
pub(crate) use read::Others;
pub use read::{Allotment, Allotments, Ids, Place, ReadRecords, Reader};
pub use report::{Detail, Report, Reporting};
pub use samples::{draw_samples, record_json, write_samples};
pub use standing::{Standing, Summary};
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

/// Requirement for a column in a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Column that every record must contain.
    Required,
    /// Column of a group of which every user must have exactly one.
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
    /// Options of the problem that the record sets for itself.
    parameters: Options,
    /// Options in the record that must equal those in effect, because a record cannot set them.
    claims: Vec<parameters::Claim>,
    /// Names of the users; empty if they are numbered.
    pub ids: Ids,
    /// Other fields of the file for the whole instance; the field `cell` is its name.
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
    /// Number of trial prices or iterations of a solver.
    pub iterations: Option<usize>,
    /// Objective as computed by a solver, if it may differ from that of the amounts in its last digits.
    pub objective: Option<f64>,
    /// Time of the policy itself, s; set only if a call includes other work.
    pub seconds: Option<f64>,
    /// Other results: certificates, guarantees, values outside the training range.
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

/// Way in which an allocation was found.
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

/// Verdict on an allocation, compared with the best known one.
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
    /// Warning if the allocation is outside the range in which the model of the problem is meant to hold.
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
    /// Judges any allocation without code of solvers and networks. Negative amounts are an error.
    fn judge(&self, given: &Allocation) -> Result<Judged, Error>;
    /// Returns a feature of each user for `diagnose`, such as `ln α`.
    fn features(&self) -> Vec<f64>;
    /// Returns the instance with some of its users, or all in another order: user `users[i]` gets index `i`.
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

    /// Returns a warning if an allocation is outside the range in which the model of the problem is meant to hold.
    fn warning(&self, _given: &Allocation) -> Option<String> {
        None
    }

    /// Returns whether users have demands, which an allocation can miss.
    fn demands(&self) -> bool {
        true
    }

    /// Returns the budgets, for answers to instances that they cannot serve.
    fn budgets(&self) -> Facts {
        Facts::default()
    }

    /// Describes why the budgets cannot serve every user.
    fn shortfall(&self, why: &Infeasibility) -> String {
        why.to_string()
    }

    /// Returns the arrays of the instance, including budgets; if empty, those of its record are used.
    fn inputs(&self) -> Vec<NamedArray> {
        Vec::new()
    }

    /// Returns the outputs of an amount for `diagnose`.
    fn outputs(&self, amount: &[f64]) -> Vec<f64> {
        amount.to_vec()
    }

    /// Estimates the work of an allocation, in users of an easy problem: a few tens of nanoseconds each.
    fn work(&self, users: usize) -> usize {
        users
    }
}

/// Problem with its options.
pub trait Problem: Send + Sync {
    /// Returns the problem's row in the registry.
    fn about(&self) -> &'static About;
    /// Returns all options in effect, including defaults: [`About::make`] builds the same problem from them.
    fn options(&self) -> &Options;
    /// Builds the typed instance of a record.
    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error>;
    /// Draws a random record, which depends only on the arguments.
    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error>;

    /// Returns the problem with other options, for a record that sets some. It must keep all data that are not options.
    fn with_options(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(options)
    }

    /// Returns whether allocations can be judged; not possible if the fading is known only through samples.
    fn judges(&self) -> bool {
        true
    }
}

/// Anything that allocates: a solver, a model, a program or a function. It owns all its data.
pub trait Policy: Send + Sync {
    /// Allocates for an instance: returns the outcome and, only if it is served, writes the amounts into buffers.
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error>;

    /// Returns a copy for another thread; `None` if the policy must receive one instance at a time.
    fn fork(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// Announces the next instances: a policy that allocates many at once may do so now.
    fn prepare(&mut self, _instances: &[&Arc<Instance>]) {}

    /// Returns why answers since the last call are unreliable, if they are. If `at_rest`, there is time to check.
    fn doubt(&mut self, _at_rest: bool) -> Option<String> {
        None
    }
}

/// Learned policy with a file.
pub trait Model: Send + Sync {
    /// Returns the row of its problem in the registry.
    fn about(&self) -> &'static About;
    /// Describes the model in a few words.
    fn describe(&self) -> String;
    /// Returns the bytes of its file.
    fn bytes(&self) -> Result<Vec<u8>, ModelError>;
    /// Returns the options that describe its cell, from which its training instances were drawn.
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

    /// Returns the problem whose instances the model allocates: its own cell, overridden by the options.
    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(&options.over_trained(&self.trained_options()))
    }

    /// Returns the problem from which the training instances were drawn.
    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        self.problem(&Options::default())
    }

    /// Returns the largest number of users in its validation; `None` if the method works for any number.
    fn validated_k(&self) -> Option<usize> {
        None
    }

    /// Returns the model with a guarantee, and the guarantee; `None` if the method has no guarantee.
    fn calibrate(
        &self,
        _options: &Options,
        _settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        None
    }
}

/// One instance: the record, and the problem's own form of it.
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
    /// Name, in words joined by dashes.
    pub name: &'static str,
    /// One line on what the problem allocates, and with what objective.
    pub line: &'static str,
    /// Formula of the problem for its help page.
    pub formula: &'static str,
    /// Description of its input for its help page.
    pub input: &'static str,
    /// Example command lines without the program's name.
    pub examples: fn(Verb) -> &'static [&'static str],
    /// Options of a verb; for verbs on models, all that apply to some model.
    pub flags: fn(Verb) -> Vec<OptionSpec>,
    /// Options that a record may set, with their names in files.
    pub parameters: fn() -> Vec<(Parameter, Vec<String>)>,
    /// Names of its facts and details in answers. A field of a file with such a name gets a prefix in the answer.
    pub answer_fields: &'static [&'static str],
    /// Names in answers that belong to each user.
    pub user_fields: &'static [&'static str],
    /// Reader of the records of a document, if they are not users with a number for each.
    pub read: Option<ReadRecords>,
    /// Columns of its records.
    pub inputs: &'static [Column],
    /// Columns that the problem allocates.
    pub amounts: &'static [Column],
    /// Arrays that follow from the amounts, such as the rates of links; see [`Formulation::results`].
    pub results: &'static [Column],
    /// Constructor from options of [`Verb::Solve`] and [`Verb::Assess`].
    pub make: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// Constructor from options of [`Verb::Sample`], for a problem that only draws.
    pub drawing: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// Policies without training: first the best known one, then the baseline.
    pub policies: &'static [PolicyRow],
    /// Quantities that `diagnose` knows by name.
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
    /// Short name.
    pub name: &'static str,
    /// Description of input and output.
    pub label: &'static str,
    /// Amount that is the output.
    pub amount: &'static str,
    /// Constructor of the policy.
    pub policy: fn() -> Box<dyn Policy>,
    /// Constructor of the problem in a cell that options describe.
    pub problem: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
}
