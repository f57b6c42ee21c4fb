//! Instances and answers as arrays: for callers that hold numbers and no files, such as other languages.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::exchange::{Input, Parameters};
use crate::framework::{Allocate, Error, Outcome, Problem, Verdict};

/// Numbers that a caller holds, the last axis the fastest.
#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a> {
    /// Its axes; none for a single number.
    pub shape: &'a [usize],
    /// All of its numbers.
    pub values: &'a [f64],
}

/// Numbers by name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Its axes.
    pub shape: Vec<usize>,
    /// All of its numbers.
    pub values: Vec<f64>,
}

impl NamedArray {
    /// One number.
    pub fn one(name: &'static str, value: f64) -> Self {
        Self { name, shape: Vec::new(), values: vec![value] }
    }

    /// One number for each user.
    pub fn each(name: &'static str, values: Vec<f64>) -> Self {
        Self { name, shape: vec![values.len()], values }
    }
}

/// One of the amounts that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Whether it is one number for all users, and not one for each.
    pub common: bool,
}

impl Amount {
    /// One for each user.
    pub const fn each(name: &'static str) -> Self {
        Self { name, common: false }
    }

    /// How many numbers it has in an instance of so many users.
    pub fn len(&self, size: usize) -> usize {
        if self.common { 1 } else { size }
    }
}

/// A problem whose instances and answers can be had as arrays.
pub trait Arrays: Problem + Send + Sync + 'static {
    /// What an answer consists of.
    const AMOUNTS: &'static [Amount];

    /// Writes the amounts of an answer, each into its own column.
    fn write(&self, answer: &Self::Answer, columns: &mut [&mut [f64]]);

    /// What the instance consists of.
    fn inputs(&self) -> Vec<NamedArray>;

    /// What a diagnosis knows of each user, such as `ln α`.
    fn features(&self) -> Vec<f64>;

    /// How much work an answer is, in users of an easy problem: some tens of nanoseconds each.
    fn work(&self) -> usize {
        self.size()
    }
}

/// One instance of any problem.
pub trait Instance: Send + Sync {
    /// Number of users or links.
    fn size(&self) -> usize;

    /// What it consists of.
    fn inputs(&self) -> Vec<NamedArray>;

    /// What a diagnosis knows of each user, such as `ln α`.
    fn features(&self) -> Vec<f64>;

    /// How much work an answer is, in users of an easy problem: some tens of nanoseconds each.
    fn work(&self) -> usize;

    /// What an answer to it consists of.
    fn amounts(&self) -> &'static [Amount];

    /// The objective of the best answer that is known; none if no answer serves everyone. It is solved for once.
    fn reference(&self) -> Result<Option<f64>, Error>;

    /// Judges an answer, given in the order of [`amounts`](Self::amounts), each as long as it says.
    fn judge(&self, columns: &[&[f64]]) -> Result<Verdict, Error>;

    /// The same instance with its users in another order, which must be one: user `order[i]` comes to place `i`.
    fn reordered(&self, order: &[usize]) -> Box<dyn Instance>;

    /// For what answers instances of its own problem alone.
    fn as_any(&self) -> &dyn Any;
}

/// What makes instances, as options describe them.
pub trait Instances: Send + Sync {
    /// An instance from arrays by their names.
    fn of_arrays(&self, given: &[(&str, ArrayView<'_>)]) -> Result<Box<dyn Instance>, Error>;

    /// The instances of a document, in the form that files have.
    fn of_document(&self, input: Input<'_>) -> Vec<Result<Box<dyn Instance>, Error>>;

    /// The parameters that users may repeat.
    fn parameters(&self) -> &Parameters;
}

/// What answers instances of one problem, of any size, one after the other: a solver or a model.
pub trait Responder: Send {
    /// Writes an answer, given room for it as [`Instance::amounts`] says, and says what it is worth.
    fn respond(
        &mut self,
        instance: &dyn Instance,
        columns: &mut [&mut [f64]],
    ) -> Result<Outcome, Error>;
}

/// Finds the objective of the best answer; none if no answer serves everyone.
type FindReference<P> = dyn Fn(&P) -> Result<Option<f64>, Error> + Send + Sync;
/// Judges an answer beside that.
type JudgeBeside<P> = dyn Fn(&P, &[&[f64]], Option<f64>) -> Result<Verdict, Error> + Send + Sync;

/// What judges answers of a problem.
pub(crate) struct JudgeColumns<P> {
    pub(crate) reference: Box<FindReference<P>>,
    pub(crate) verdict: Box<JudgeBeside<P>>,
}

/// An instance with its judge.
pub(crate) struct Stated<P> {
    problem: P,
    judge: Arc<JudgeColumns<P>>,
    reference: OnceLock<Option<f64>>,
}

impl<P: Arrays> Stated<P> {
    pub(crate) fn boxed(problem: P, judge: &Arc<JudgeColumns<P>>) -> Box<dyn Instance> {
        Box::new(Self { problem, judge: Arc::clone(judge), reference: OnceLock::new() })
    }
}

impl<P: Arrays> Instance for Stated<P> {
    fn size(&self) -> usize {
        self.problem.size()
    }

    fn inputs(&self) -> Vec<NamedArray> {
        self.problem.inputs()
    }

    fn features(&self) -> Vec<f64> {
        self.problem.features()
    }

    fn work(&self) -> usize {
        self.problem.work()
    }

    fn amounts(&self) -> &'static [Amount] {
        P::AMOUNTS
    }

    fn reference(&self) -> Result<Option<f64>, Error> {
        if let Some(known) = self.reference.get() {
            return Ok(*known);
        }
        let found = (self.judge.reference)(&self.problem)?;
        Ok(*self.reference.get_or_init(|| found))
    }

    fn judge(&self, columns: &[&[f64]]) -> Result<Verdict, Error> {
        check_columns(P::AMOUNTS, self.size(), columns.iter().map(|column| column.len()))?;
        (self.judge.verdict)(&self.problem, columns, self.reference()?)
    }

    fn reordered(&self, order: &[usize]) -> Box<dyn Instance> {
        Self::boxed(self.problem.reordered(order), &self.judge)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Refuses columns that are not as many, or not as long, as an answer has them.
fn check_columns(
    amounts: &[Amount],
    size: usize,
    lengths: impl ExactSizeIterator<Item = usize>,
) -> Result<(), Error> {
    let names = || amounts.iter().map(|amount| amount.name).collect::<Vec<_>>().join(", ");
    if lengths.len() != amounts.len() {
        let found = lengths.len();
        return Err(Error::Allocation(format!("{found} arrays, expected {}", names())));
    }
    for (amount, found) in amounts.iter().zip(lengths) {
        let expected = amount.len(size);
        if found != expected {
            let each = if amount.common { "one for all users" } else { "one for each user" };
            return Err(Error::Allocation(format!(
                "{} has {found} numbers, expected {expected}: {each}",
                amount.name
            )));
        }
    }
    Ok(())
}

/// Answers instances of arrays by a solver or a model.
pub(crate) fn responder<P: Arrays>(allocator: impl Allocate<P> + 'static) -> Box<dyn Responder> {
    Box::new(OfProblem { allocator, answer: P::Answer::default() })
}

struct OfProblem<P: Arrays, A> {
    allocator: A,
    answer: P::Answer,
}

impl<P: Arrays, A: Allocate<P>> Responder for OfProblem<P, A> {
    fn respond(
        &mut self,
        instance: &dyn Instance,
        columns: &mut [&mut [f64]],
    ) -> Result<Outcome, Error> {
        let Some(Stated { problem, .. }) = instance.as_any().downcast_ref::<Stated<P>>() else {
            return Err(Error::OtherProblem);
        };
        check_columns(P::AMOUNTS, problem.size(), columns.iter().map(|column| column.len()))?;
        let outcome = self.allocator.allocate(problem, &mut self.answer);
        if outcome.is_served() {
            problem.check(&self.answer)?;
            problem.write(&self.answer, columns);
        }
        Ok(outcome)
    }
}
