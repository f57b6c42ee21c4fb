//! What lies between an input and a solver, once for all problems.
//!
//! A [`Problem`] formulates a [`Record`], which is named arrays, as an [`Instance`]. A [`Policy`] computes an
//! [`Allocation`] for an instance, and the instance judges the allocation: a [`Verdict`]. Typed code exists only inside a
//! problem, behind [`Formulation`]. Files, Python and other programs see records and allocations, which have the same
//! shape: arrays with names.
//!
//! This file has the declarations. Their methods are in the files next to it.

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

use crate::exchange::{Extra, Input, InputError};
use crate::framework::{
    CalibrationSettings, Error, Guarantee, Infeasibility, ModelError, ModelFile, Observer,
    OptionSpec, Options, Trials, Verb, Workshop,
};
use crate::invalid::Invalid;

pub use answer::{Answer, Denied, Rows, Served, plain_json};
pub use answering::{Answering, Answers, in_order};
pub use cells::{CELL_INPUTS, Cells};
pub use column::{ArrayView, NamedArray};
pub use compare::{Comparison, Failed, Player, Rounds, compare};
pub(crate) use evaluation::{Shown, evaluation, or_dash};
pub use facts::{Fact, Facts};
pub use fixed_cell::FixedCell;
pub use page::{Page, Text, TextPart};
pub use parameters::{Formulating, Parameter, ParameterKind};
pub(crate) use read::Others;
pub use read::{Allotment, Allotments, Ids, Place, Reader};
pub use report::{Detail, Report, Reporting};
pub use samples::{draw_samples, record_json, write_samples};
pub use standing::{Standing, Summary};
pub(crate) use trained::load;
pub use trained::{Trained, no_better_than};
pub use verdict::{Goal, Judged, Miss, Missed, Reference};

/// An axis of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Users or links: a problem has any number of them, in any order.
    Users,
    /// A second axis, if a problem has one: antennas, access points, subcarriers.
    Others,
}

/// The lengths of the axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Number of users or links.
    pub users: usize,
    /// Length of the second axis; 0 if there is none.
    pub others: usize,
}

/// A named array: an input of a problem, or an amount that it allocates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Its name with the unit, as in files: `power_w`.
    pub name: &'static str,
    /// Its axes; none for a number that the whole instance shares.
    pub axes: &'static [Axis],
    /// Whether each entry is two numbers, a real and an imaginary part.
    pub complex: bool,
    /// Whether a record needs it.
    pub need: Need,
    /// Whether only callers with arrays have it, and no file.
    pub arrays_only: bool,
    /// What an entry is, for messages: a number of metres.
    pub what: &'static str,
    /// Smallest and largest number that it may have.
    pub range: (f64, f64),
}

/// Whether a record needs a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Need {
    /// Every record has it.
    Required,
    /// Every user has exactly one of the columns with this need.
    OneOf,
    /// A record may leave it out; the problem knows what holds then.
    Optional,
    /// This number holds if it is left out.
    Default(f64),
}

/// One instance as data: the columns of its problem, names of users, and whatever else a file says. An allocation in a
/// file has the same shape, with the amounts as its columns.
#[derive(Debug, Clone, Default)]
pub struct Record {
    columns: &'static [Column],
    size: Size,
    /// In the order of the columns; empty if a column is not given, NaN if a user has no value. Only accessors that
    /// return an `Option` or fill in a default read them.
    values: Vec<Vec<f64>>,
    /// Options of the problem that the record sets for itself.
    parameters: Options,
    /// Options that it names without setting them: they must be the ones in effect.
    claims: Vec<parameters::Claim>,
    /// Names of the users; empty if they are numbered.
    pub ids: Ids,
    /// What the file says about the whole instance; its name is `cell`.
    pub extra: Extra,
    /// What the file says about each user; empty if it says nothing about any.
    pub user_extra: Vec<Extra>,
    /// Where it comes from.
    pub place: Place,
}

/// What a policy computes for an instance. Buffers are reused from one instance to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Allocation {
    /// The amounts, in the order of [`About::amounts`].
    pub amounts: Vec<Vec<f64>>,
    /// What a dual solution proves, if there is one.
    pub proof: Option<Proof>,
    /// Trial prices or iterations of a solver.
    pub iterations: Option<usize>,
    /// The objective as a solver has computed it, if that may differ in its last digits from that of the amounts.
    pub objective: Option<f64>,
    /// Seconds that the policy took, if it takes longer to ask it.
    pub seconds: Option<f64>,
    /// What else the policy says: certificates, guarantees, what is outside of its training.
    pub facts: Facts,
}

/// What a dual solution proves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// Bound on `(objective − optimum) / objective`.
    pub duality_gap: f64,
    /// Dual variable of the budget.
    pub price: f64,
}

/// How an allocation ended. A cell that cannot be served is an outcome, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Every user has its amounts.
    Served(Status),
    /// No allocation serves every user.
    Infeasible(Infeasibility),
    /// The policy is not for such an instance; the text says why.
    Refused(String),
}

/// How an allocation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Optimal, with a proof.
    Optimal,
    /// Feasible, but the proof leaves a gap over [`tolerance::DUALITY_GAP`](crate::tolerance::DUALITY_GAP).
    Inaccurate,
    /// A stationary point.
    Converged,
    /// The solver stopped after its last iteration.
    IterationLimit,
    /// A rule of thumb.
    Heuristic,
    /// A learned policy's allocation.
    Learned,
}

/// What the judge finds about an allocation, next to the best that is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// `feasible`; `misses` if a user's demand is not met; `over-budget` if more is given than there is; `infeasible` if
    /// no allocation could serve everyone; `no-allocation` if its author says that there is none.
    pub status: &'static str,
    /// Number of users or links.
    pub k: usize,
    /// Share of users whose demand is met; absent if nobody demands anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// The objective.
    pub objective: Goal,
    /// What the allocation gives of it; absent without one.
    pub value: Option<f64>,
    /// The best there is, or the best that is known; absent if there is none.
    pub reference: Option<f64>,
    /// How far the value is from it, percent: positive is worse. Negative if users are not served.
    pub gap_percent: Option<f64>,
    /// Share of the budget that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_used: Option<f64>,
    /// Largest violation of the conditions of an optimum, relative; absent if it has no bound.
    pub kkt_residual: Option<f64>,
    /// What its author says in the place of an allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who is not served, and by how much.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Miss>,
    /// What the file says about the cell.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An instance in the problem's own types: its objective and its judge, which shares no code with solvers and networks.
///
/// Every allocation that it gets has finite amounts of the right lengths.
pub trait Formulation: Any + Send + Sync {
    /// What is minimized or maximized.
    fn goal(&self) -> Goal;

    /// The objective of an allocation.
    fn value(&self, given: &Allocation) -> f64;

    /// Judges an allocation, also one that [`check`](Self::check) would reject: return an error for negative amounts.
    fn judge(&self, given: &Allocation) -> Result<Judged, Error>;

    /// What a diagnosis knows of each user, such as `ln α`.
    fn features(&self) -> Vec<f64>;

    /// The same instance with some of its users, or all in another order: user `users[i]` comes to place `i`.
    fn part(&self, users: &[usize]) -> Box<dyn Formulation>;

    /// Rejects what is no allocation at all, such as negative amounts, or more than the budget. Whether users are served
    /// is for [`judge`](Self::judge).
    fn check(&self, _given: &Allocation) -> Result<(), Invalid> {
        Ok(())
    }

    /// What to show of an allocation.
    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        how.plain_report(self.goal(), self.value(given), given)
    }

    /// Whether users demand something, so that it can be missed.
    fn demands(&self) -> bool {
        true
    }

    /// The budgets, for an answer that says that they do not reach.
    fn budgets(&self) -> Facts {
        Facts::default()
    }

    /// Why the budgets do not reach everyone, in words.
    fn shortfall(&self, why: &Infeasibility) -> String {
        why.to_string()
    }

    /// The arrays that the instance consists of, budgets included; without any, those of its record.
    fn inputs(&self) -> Vec<NamedArray> {
        Vec::new()
    }

    /// What a diagnosis sees of an amount.
    fn outputs(&self, amount: &[f64]) -> Vec<f64> {
        amount.to_vec()
    }

    /// How much work an allocation is, in users of an easy problem: some tens of nanoseconds each.
    fn work(&self, users: usize) -> usize {
        users
    }
}

/// A problem with its options.
pub trait Problem: Send + Sync {
    /// Its row in the registry.
    fn about(&self) -> &'static About;

    /// All options in effect, the defaults included: [`About::make`] makes the same problem of them.
    fn options(&self) -> &Options;

    /// Makes a typed instance of a record.
    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error>;

    /// A random record, which depends on nothing but the arguments.
    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error>;

    /// The same problem with other options, for a record that sets some. A problem that has more than its options, such
    /// as a cost that a model carries, keeps it here.
    fn with_options(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(options)
    }

    /// Whether allocations can be judged; not if all that is known of the fading is samples.
    fn judges(&self) -> bool {
        true
    }
}

/// Anything that allocates: a solver, a model, a program or a function. It owns all that it needs.
pub trait Policy: Send + Sync {
    /// Writes the amounts of an instance into buffers, and says how it ended. Nothing is written unless the instance is
    /// served.
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error>;

    /// The same policy for another thread; `None` if it must be asked for one instance at a time.
    fn fork(&self) -> Option<Box<dyn Policy>> {
        None
    }

    /// Learns which instances will be asked for next: a policy that allocates many at once may do so now.
    fn prepare(&mut self, _instances: &[&Arc<Instance>]) {}

    /// Why the answers since this was last asked cannot be believed, if they cannot: a program may have written a line
    /// too many. `at_rest` if it is not about to be asked again, so that there is time to look.
    fn doubt(&mut self, _at_rest: bool) -> Option<String> {
        None
    }
}

/// A learned policy with a file.
pub trait Model: Send + Sync {
    /// The problem that it is for.
    fn about(&self) -> &'static About;

    /// What it is, in some words.
    fn describe(&self) -> String;

    /// The bytes of its file.
    fn bytes(&self) -> Result<Vec<u8>, ModelError>;

    /// The options of the instances that it was trained for: its cell.
    fn home(&self) -> Options;

    /// The options of a verb that have a meaning for this model.
    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        (self.about().flags)(verb)
    }

    /// The policy, with options of [`Verb::Allocate`].
    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error>;

    /// What it reaches on random instances, next to the optimum or the classical policies.
    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error>;

    /// The problem of the instances that it allocates: its own cell, with the options laid over it.
    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (self.about().make)(&options.at_home(&self.home()))
    }

    /// The problem whose random instances are of the kind that it was trained for.
    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        self.problem(&Options::default())
    }

    /// The largest number of users that it was measured at; `None` for a method that does not depend on it.
    fn validated_k(&self) -> Option<usize> {
        None
    }

    /// The same model with a guarantee, and what it promises; `None` if there is nothing to promise.
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
    /// The problem that it is an instance of.
    pub problem: Arc<dyn Problem>,
    /// The instance as data.
    pub record: Record,
    size: Size,
    formulation: Box<dyn Formulation>,
}

/// A row of the registry: a problem before its options are known.
pub struct About {
    /// Its name, words joined by dashes.
    pub name: &'static str,
    /// What is allocated, and for what, in a line.
    pub line: &'static str,
    /// The problem as a formula, for a help page.
    pub formula: &'static str,
    /// What its input looks like, for a help page.
    pub input: &'static str,
    /// Command lines that show how it is used, without the program's name.
    pub examples: fn(Verb) -> &'static [&'static str],
    /// The options of a verb; for verbs on models, all that have a meaning for some model.
    pub flags: fn(Verb) -> Vec<OptionSpec>,
    /// The options that a record may set, with the names that files have for them.
    pub parameters: fn() -> Vec<(Parameter, Vec<String>)>,
    /// Names of facts and details in reports of its own, next to the amounts: what a file has under one of them comes back
    /// under another.
    pub answer_fields: &'static [&'static str],
    /// Of these, what answers say of each user.
    pub user_fields: &'static [&'static str],
    /// Reads the records of a document, if they are not users with a number for each.
    pub read: Option<ReadRecords>,
    /// The columns of its records.
    pub inputs: &'static [Column],
    /// What it allocates.
    pub amounts: &'static [Column],
    /// Makes the problem of options of [`Verb::Solve`] and [`Verb::Assess`].
    pub make: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// The same for options of [`Verb::Sample`]: it only draws.
    pub drawing: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
    /// Policies without a training: first the best that is known, then the trivial one.
    pub policies: &'static [PolicyRow],
    /// What a diagnosis knows by name.
    pub diagnosed: &'static [DiagnosedRow],
    /// Trains a policy.
    pub train: Option<Train>,
    /// Reads a model.
    pub load: Option<Load>,
}

/// A model with a guarantee, and what it promises.
pub type Calibrated = (Arc<dyn Model>, Guarantee);
/// Trains a policy, with options of [`Verb::Train`].
pub type Train = fn(&Options, &Workshop<'_>) -> Result<Trained, Error>;
/// Reads a model.
pub type Load = fn(ModelFile) -> Result<Arc<dyn Model>, ModelError>;
/// Reads the records of a document, each with what is wrong with it.
pub type ReadRecords =
    fn(&Reader, Input<'_>) -> Result<Vec<Result<Record, InputError>>, InputError>;

/// A policy without a training.
pub struct PolicyRow {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub line: &'static str,
    /// Makes it, with the options of a problem. What a record may set for itself is in the instance, not here.
    pub make: fn(&Options) -> Result<Box<dyn Policy>, Error>,
}

/// A policy without a training that a diagnosis knows by name.
pub struct DiagnosedRow {
    /// A short name.
    pub name: &'static str,
    /// What is put in and what comes out.
    pub label: &'static str,
    /// Which of the amounts comes out.
    pub amount: &'static str,
    /// Makes the policy.
    pub policy: fn() -> Box<dyn Policy>,
    /// Makes the problem in a cell that options describe.
    pub problem: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
}
