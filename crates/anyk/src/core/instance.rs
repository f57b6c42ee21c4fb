//! Instances, and what an allocation of one is worth.

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{
    About, Allocation, ArrayView, Column, Facts, Formulation, Goal, Instance, Judged, Model,
    NamedArray, Outcome, Policy, PolicyRow, Problem, Record, Reference, Report, Reporting, Size,
    Verdict,
};
use crate::exchange::write_atomically;
use crate::framework::{Error, Infeasibility, Options};
use crate::invalid::Invalid;

impl Instance {
    /// The instance of a record.
    pub fn new(problem: &Arc<dyn Problem>, mut record: Record) -> Result<Self, Error> {
        let formulated = record.complete().map_err(Error::from);
        match formulated.and_then(|()| problem.formulate(&record)) {
            Ok(formulation) => {
                let (problem, size) = (Arc::clone(problem), record.size());
                Ok(Self { problem, record, size, formulation })
            }
            Err(error) => Err(record.locate(error)),
        }
    }

    /// The instance of arrays by name.
    pub fn of_arrays(
        problem: &Arc<dyn Problem>,
        given: &[(&str, ArrayView<'_>)],
    ) -> Result<Self, Error> {
        Self::new(problem, Record::of_arrays(problem.about().inputs, given)?)
    }

    /// A random instance, which depends on nothing but the arguments.
    pub fn drawn(
        problem: &Arc<dyn Problem>,
        seed: u64,
        size: usize,
        index: u64,
    ) -> Result<Self, Error> {
        super::Formulating::new(Arc::clone(problem)).instance(problem.draw(seed, size, index)?)
    }

    /// An instance that is formulated already, without data of its own.
    pub fn of(problem: &Arc<dyn Problem>, users: usize, formulation: impl Formulation) -> Self {
        let (problem, size) = (Arc::clone(problem), Size::users(users));
        let record = Record::new(problem.about().inputs, size);
        Self { problem, record, size, formulation: Box::new(formulation) }
    }

    /// The row of its problem in the registry.
    pub fn about(&self) -> &'static About {
        self.problem.about()
    }

    /// Number of users, and the length of the second axis.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The problem's own form of it.
    pub fn formulation<F: Formulation>(&self) -> Result<&F, Error> {
        let any: &dyn Any = &*self.formulation;
        any.downcast_ref().ok_or(Error::OtherProblem)
    }

    /// The same with some of the users, or all in another order: user `users[i]` comes to place `i`.
    #[must_use]
    pub fn part(&self, users: &[usize]) -> Self {
        Self {
            problem: Arc::clone(&self.problem),
            record: self.record.part(users),
            size: Size { users: users.len(), ..self.size },
            formulation: self.formulation.part(users),
        }
    }

    /// What is minimized or maximized.
    pub fn goal(&self) -> Goal {
        self.formulation.goal()
    }

    /// The arrays that it consists of, budgets included.
    pub fn inputs(&self) -> Vec<NamedArray> {
        let own = self.formulation.inputs();
        if own.is_empty() { self.given() } else { own }
    }

    /// The arrays of its record.
    pub fn given(&self) -> Vec<NamedArray> {
        let array = |(column, values): (&'static Column, &[f64])| NamedArray {
            name: column.name,
            shape: column.shape(self.size),
            values: values.to_vec(),
        };
        self.record.arrays().map(array).collect()
    }

    /// What a diagnosis knows of each user.
    pub fn features(&self) -> Vec<f64> {
        self.formulation.features()
    }

    /// What a diagnosis sees of an amount, one number for each user.
    pub fn outputs(&self, given: &Allocation, amount: usize) -> Vec<f64> {
        match given.amounts.get(amount).map(Vec::as_slice) {
            // What all users share is everyone's.
            Some([common]) => vec![*common; self.size.users],
            Some(each) => self.formulation.outputs(each),
            None => Vec::new(),
        }
    }

    /// How much work an allocation is, in users of an easy problem: some tens of nanoseconds each.
    pub fn work(&self) -> usize {
        self.formulation.work(self.size.users)
    }

    /// The objective of an allocation that passed [`check`](Self::check).
    pub fn value(&self, given: &Allocation) -> f64 {
        self.formulation.value(given)
    }

    /// Rejects what is no allocation at all: amounts of the wrong length, that are not finite, negative or more than there
    /// is.
    pub fn check(&self, given: &Allocation) -> Result<(), Error> {
        self.check_shape(given)?;
        Ok(self.formulation.check(given)?)
    }

    /// Rejects amounts of the wrong length, or that are not finite.
    pub(crate) fn check_shape(&self, given: &Allocation) -> Result<(), Error> {
        let amounts = self.about().amounts;
        if given.amounts.len() != amounts.len() {
            let names: Vec<&str> = amounts.iter().map(|amount| amount.name).collect();
            let found = given.amounts.len();
            return Err(Error::Allocation(format!(
                "{found} arrays, expected {}",
                names.join(", ")
            )));
        }
        for (column, values) in amounts.iter().zip(&given.amounts) {
            let (found, expected) = (values.len(), column.len(self.size));
            if found != expected {
                let each = match column.axes.first() {
                    None => "one for all users",
                    Some(_) => "one for each user",
                };
                return Err(Error::Allocation(format!(
                    "{} has {found} numbers, expected {expected}: {each}",
                    column.name
                )));
            }
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                return Err(column.wrong((values, at), self.size, "a finite number").into());
            }
            if let Some(wrong) = column.out_of_range(values, self.size) {
                return Err(wrong.into());
            }
        }
        Ok(())
    }

    /// What the formulation finds about an allocation by anyone.
    pub fn judged(&self, given: &Allocation) -> Result<Judged, Error> {
        let judged = self.check_shape(given).and_then(|()| self.formulation.judge(given));
        let finite = |judged: Judged| match judged.value.is_finite() {
            true => Ok(judged),
            false => Err(Error::Allocation(format!(
                "its objective is {}, expected amounts that have a finite one",
                judged.value
            ))),
        };
        judged.and_then(finite).map_err(|error| match error {
            Error::Invalid(Invalid { user: Some(user), field, fault }) => {
                let id = self.record.id(user);
                Error::Allocation(format!("the {field} of user {id:?} {fault}"))
            }
            error => error,
        })
    }

    /// The verdict on an allocation by anyone, next to the objective of the best that is known.
    pub fn judge(&self, given: &Allocation, reference: Option<f64>) -> Result<Verdict, Error> {
        Ok(Verdict::new(self, self.judged(given)?, reference))
    }

    /// The objective of the best allocation that a policy finds; `None` if the budget cannot serve everyone.
    pub fn reference(
        &self,
        best: &mut dyn Policy,
        buffer: &mut Allocation,
    ) -> Result<Option<Reference>, Error> {
        Ok(match self.allocate(best, buffer)? {
            Outcome::Served(_) => {
                let value = buffer.objective.unwrap_or_else(|| self.value(buffer));
                Some(Reference { value, proof: buffer.proof })
            }
            Outcome::Infeasible(_) => None,
            Outcome::Refused(why) => return Err(Error::Refused(why)),
        })
    }

    /// Asks a policy that is trusted to allocate; its answer is checked.
    pub fn allocate(
        &self,
        policy: &mut dyn Policy,
        into: &mut Allocation,
    ) -> Result<Outcome, Error> {
        into.reset(self.about().amounts, self.size);
        let outcome = policy.allocate(self, into)?;
        if outcome.is_served() {
            self.check(into)?;
        }
        Ok(outcome)
    }

    pub(super) fn report(
        &self,
        given: &Allocation,
        how: &mut Reporting<'_>,
    ) -> Result<Report, Error> {
        self.formulation.report(given, how)
    }

    pub(super) fn demands(&self) -> bool {
        self.formulation.demands()
    }

    pub(super) fn budgets(&self) -> Facts {
        self.formulation.budgets()
    }

    pub(super) fn shortfall(&self, why: &Infeasibility) -> String {
        self.formulation.shortfall(why)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.about().name;
        out.debug_struct("Instance").field("problem", &name).field("size", &self.size).finish()
    }
}

impl fmt::Debug for About {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("About").field("name", &self.name).finish_non_exhaustive()
    }
}

impl dyn Problem + '_ {
    /// The policy of a name that needs no training; without one, the best that is known.
    pub fn policy(&self, name: Option<&str>) -> Result<Box<dyn Policy>, Error> {
        self.about().policy(name, self.options())
    }

    /// The best policy that is known.
    pub fn best(&self) -> Result<Box<dyn Policy>, Error> {
        self.policy(self.options().text("method"))
    }
}

impl dyn Model + '_ {
    /// Writes the model's file: whole, or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        write_atomically(path, &self.bytes()?).map_err(|error| Error::write(path, error))
    }

    /// What to tell whoever uses the model for a number of users that it was not measured at; nothing for fewer.
    pub fn beyond_validation(&self, k: usize) -> Option<String> {
        let validated = self.validated_k().filter(|&validated| k > validated)?;
        Some(format!("the model was validated up to K = {validated}, not for K = {k}"))
    }
}

impl About {
    /// A problem without options, networks and files of its own: what it takes, what it allocates, how it is made, and
    /// its policies, the best first. Other fields can be set with `..About::new(…)`.
    pub const fn new(
        name: &'static str,
        line: &'static str,
        inputs: &'static [Column],
        amounts: &'static [Column],
        make: fn(&Options) -> Result<Arc<dyn Problem>, Error>,
        policies: &'static [PolicyRow],
    ) -> Self {
        Self {
            name,
            line,
            formula: "",
            input: "",
            examples: |_| &[],
            flags: |_| Vec::new(),
            parameters: Vec::new,
            answer_fields: &["value", "gap_percent"],
            user_fields: &[],
            inputs,
            amounts,
            read: None,
            make,
            drawing: make,
            policies,
            diagnosed: &[],
            train: None,
            load: None,
        }
    }

    /// The policy of a name that needs no training, with options of a problem; without a name, the best that is known.
    pub fn policy(&self, name: Option<&str>, options: &Options) -> Result<Box<dyn Policy>, Error> {
        let row = match name {
            None => self.policies.first(),
            Some(name) => self.policies.iter().find(|row| row.name == name),
        };
        match row {
            Some(row) => (row.make)(options),
            None => {
                let names: Vec<&str> = self.policies.iter().map(|row| row.name).collect();
                let expected = format!("one of {}", names.join(", "));
                Err(Invalid::value("method", name.unwrap_or_default(), expected).into())
            }
        }
    }

    /// Whether its records are arrays, and not users with a number for each.
    pub fn is_of_arrays(&self) -> bool {
        let is_array = |column: &Column| column.axes.len() > 1 || column.complex;
        self.inputs.iter().chain(self.amounts).any(is_array)
    }
}
