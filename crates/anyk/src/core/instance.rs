//! Instances, and the evaluation of their allocations.

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
    /// Builds the instance of a record.
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

    /// Builds the instance of named arrays.
    pub fn of_arrays(
        problem: &Arc<dyn Problem>,
        given: &[(&str, ArrayView<'_>)],
    ) -> Result<Self, Error> {
        Self::new(problem, Record::of_arrays(problem.about().inputs, given)?)
    }

    /// Draws a random instance, which depends only on the arguments.
    pub fn drawn(
        problem: &Arc<dyn Problem>,
        seed: u64,
        size: usize,
        index: u64,
    ) -> Result<Self, Error> {
        super::Formulating::new(Arc::clone(problem)).instance(problem.draw(seed, size, index)?)
    }

    /// Builds an instance from a formulation, with an empty record.
    pub fn of(problem: &Arc<dyn Problem>, users: usize, formulation: impl Formulation) -> Self {
        let (problem, size) = (Arc::clone(problem), Size::users(users));
        let record = Record::new(problem.about().inputs, size);
        Self { problem, record, size, formulation: Box::new(formulation) }
    }

    /// Returns the problem's row in the registry.
    pub fn about(&self) -> &'static About {
        self.problem.about()
    }

    /// Returns the number of users and the length of the second axis.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the instance in the problem's own type.
    pub fn formulation<F: Formulation>(&self) -> Result<&F, Error> {
        let any: &dyn Any = &*self.formulation;
        any.downcast_ref().ok_or(Error::OtherProblem)
    }

    /// Returns the instance with only the given users, in the given order: user `users[i]` gets index `i`.
    #[must_use]
    pub fn part(&self, users: &[usize]) -> Self {
        Self {
            problem: Arc::clone(&self.problem),
            record: self.record.part(users),
            size: Size { users: users.len(), ..self.size },
            formulation: self.formulation.part(users),
        }
    }

    /// Returns the objective of the instance.
    pub fn goal(&self) -> Goal {
        self.formulation.goal()
    }

    /// Returns the arrays of the instance, including budgets.
    pub fn inputs(&self) -> Vec<NamedArray> {
        let own = self.formulation.inputs();
        if own.is_empty() { self.given() } else { own }
    }

    /// Returns the arrays of the instance's record.
    pub fn given(&self) -> Vec<NamedArray> {
        let array = |(column, values): (&'static Column, &[f64])| NamedArray {
            name: column.name,
            shape: column.shape(self.size),
            values: values.to_vec(),
        };
        self.record.arrays().map(array).collect()
    }

    /// Returns the features of each user for `diagnose`.
    pub fn features(&self) -> Vec<f64> {
        self.formulation.features()
    }

    /// Returns the outputs of an amount for `diagnose`, one number for each user.
    pub fn outputs(&self, given: &Allocation, amount: usize) -> Vec<f64> {
        match given.amounts.get(amount).map(Vec::as_slice) {
            // Each user gets the value that all users share.
            Some([common]) => vec![*common; self.size.users],
            Some(each) => self.formulation.outputs(each),
            None => Vec::new(),
        }
    }

    /// Returns the arrays of [`About::results`] for an allocation that passed [`check`](Self::check).
    pub fn results(&self, given: &Allocation) -> Vec<Vec<f64>> {
        self.formulation.results(given)
    }

    /// Estimates the work of an allocation as a number of users of an easy problem, each of which takes a few
    /// tens of nanoseconds.
    pub fn work(&self) -> usize {
        self.formulation.work(self.size.users)
    }

    /// Returns the objective value of an allocation that passed [`check`](Self::check).
    pub fn value(&self, given: &Allocation) -> f64 {
        self.formulation.value(given)
    }

    /// Rejects invalid allocations: amounts of the wrong length, and amounts that are not finite, negative or
    /// above the budget.
    pub fn check(&self, given: &Allocation) -> Result<(), Error> {
        self.check_shape(given)?;
        Ok(self.formulation.check(given)?)
    }

    /// Rejects amounts that have the wrong length or are not finite.
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

    /// Returns the formulation's judgement of an allocation from any source.
    pub fn judged(&self, given: &Allocation) -> Result<Judged, Error> {
        let judged = self.check_shape(given).and_then(|()| self.formulation.judge(given));
        let finite = |judged: Judged| match judged.value.is_finite() {
            true => Ok(judged),
            false => Err(Error::Allocation(format!(
                "its objective is {}, expected amounts with a finite objective",
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

    /// Returns the verdict on an allocation from any source, compared with the objective of the best known
    /// allocation.
    pub fn judge(&self, given: &Allocation, reference: Option<f64>) -> Result<Verdict, Error> {
        let judged = self.judged(given)?;
        Ok(Verdict { warning: self.warning(given), ..Verdict::new(self, judged, reference) })
    }

    /// Returns a warning if an allocation of the right lengths is outside the valid range of the problem's model.
    pub fn warning(&self, given: &Allocation) -> Option<String> {
        self.formulation.warning(given)
    }

    /// Returns the objective of the best allocation that a policy finds; `None` if the budget cannot serve every
    /// user.
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

    /// Runs a trusted policy and checks its allocation.
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
    /// Returns the policy called `name`, which needs no training, or the best known policy if `name` is `None`.
    pub fn policy(&self, name: Option<&str>) -> Result<Box<dyn Policy>, Error> {
        self.about().policy(name, self.options())
    }

    /// Returns the best known policy.
    pub fn best(&self) -> Result<Box<dyn Policy>, Error> {
        self.policy(self.options().text("method"))
    }
}

impl dyn Model + '_ {
    /// Writes the model's file completely, or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        write_atomically(path, &self.bytes()?).map_err(|error| Error::write(path, error))
    }

    /// Returns a warning if `k` exceeds the largest number of users in the model's validation.
    pub fn beyond_validation(&self, k: usize) -> Option<String> {
        let validated = self.validated_k().filter(|&validated| k > validated)?;
        Some(format!("the model was validated up to K = {validated}, not for K = {k}"))
    }
}

impl About {
    /// Builds the row of a problem from its inputs, amounts, constructor and policies, the best policy first.
    /// To add options, networks or a reader of files, set further fields: `About { flags, ..About::new(…) }`.
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
            results: &[],
            read: None,
            make,
            drawing: make,
            policies,
            diagnosed: &[],
            train: None,
            load: None,
        }
    }

    /// Returns the policy called `name`, which needs no training, or the best known policy if `name` is `None`.
    /// The options are those of a problem.
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

    /// Returns whether the records of the problem are arrays, rather than users with a number for each.
    pub fn is_of_arrays(&self) -> bool {
        let is_array = |column: &Column| column.axes.len() > 1 || column.complex;
        self.inputs.iter().chain(self.amounts).any(is_array)
    }
}
