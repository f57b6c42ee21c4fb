//! Cells of URLLC as arrays, and what answers them.

use crate::config::System;
use crate::framework::{
    Allocate, Amount, Arrays, CellReading, Instances, NamedArray, Outcome, Policy as _, Refusal,
    Responder, UserOfCell, judge_users, responder, user_inputs, user_instances,
};
use crate::problems::urllc::assess::{inputs, verdict};
use crate::problems::urllc::desk::optimum_hz;
use crate::problems::urllc::{
    Allocation, AnyAllocator, AnyPolicy, CellPolicy as _, Certifier, LearnedPolicy, Urllc,
    UrllcSolver,
};
use crate::tolerance;

impl Arrays for Urllc {
    const AMOUNTS: &'static [Amount] = &[Amount::each("power_w"), Amount::each("bandwidth_hz")];

    fn write(&self, answer: &Allocation, columns: &mut [&mut [f64]]) {
        write_allocation(answer, columns);
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let mut inputs = user_inputs(users_of(self).into_iter());
        inputs.push(NamedArray::one("max_power_w", self.max_power_w()));
        inputs
    }

    fn features(&self) -> Vec<f64> {
        inputs(self)
    }

    fn work(&self) -> usize {
        work(self)
    }
}

/// A table of each class takes as long as thousands of users.
pub(crate) fn work(problem: &Urllc) -> usize {
    problem.users().len() + 5_000 * problem.classes().len()
}

/// Powers and bandwidths, as columns.
pub(crate) fn write_allocation(answer: &Allocation, columns: &mut [&mut [f64]]) {
    for (column, values) in columns.iter_mut().zip([&answer.power_w, &answer.bandwidth_hz]) {
        column.copy_from_slice(values);
    }
}

/// The users of a cell, with their classes.
pub(crate) fn users_of(problem: &Urllc) -> Vec<UserOfCell> {
    let classes = problem.classes();
    problem.users().iter().map(|user| (user.gain, classes[user.class].service())).collect()
}

/// What makes cells of arrays.
pub(super) fn instances(reading: CellReading) -> Box<dyn Instances> {
    user_instances(
        reading,
        |system: &System, users| Ok(Urllc::new(system, users.iter().copied())?),
        judge_users(users_of, optimum_hz, verdict),
    )
}

impl LearnedPolicy {
    /// Answers cells of the kind that it was trained for.
    pub(super) fn cell_responder(&self, certify: bool) -> Box<dyn Responder + '_> {
        let certifier = certify.then(Certifier::default);
        responder(Box::new(OwnCells { policy: self, sized: None, certifier }))
    }
}

/// A [`LearnedPolicy`] in cells like its own: it knows one class and one budget.
struct OwnCells<'a> {
    policy: &'a LearnedPolicy,
    /// Made ready for the size of the last cell.
    sized: Option<(usize, Box<dyn Allocate<Urllc> + Send + 'a>)>,
    /// Raises bandwidths to what is certified, if asked for.
    certifier: Option<Certifier>,
}

impl OwnCells<'_> {
    /// Why a cell is not like those of the training.
    fn refuse(&self, problem: &Urllc) -> Option<String> {
        let system = self.policy.system();
        let expected = system.service();
        let other = problem.classes().iter().find(|class| class.service() != expected);
        if let Some(other) = other {
            return Some(format!(
                "a user has {:?}, expected {expected:?}, which the model was trained for; any-gnn takes any",
                other.service()
            ));
        }
        let (own_w, here_w) = (system.max_power_w(), problem.max_power_w());
        if (own_w - here_w).abs() > 1e-9 * own_w {
            return Some(format!(
                "the budget is {here_w} W, expected {own_w} W, which the model was trained for; any-gnn takes any"
            ));
        }
        let (own, here) = (system.fading().antennas, problem.antennas());
        (own != here).then(|| {
            format!(
                "the cell has {here} antennas, expected {own}, which the model was trained for; any-gnn takes any"
            )
        })
    }
}

impl Allocate<Urllc> for OwnCells<'_> {
    fn allocate(&mut self, problem: &Urllc, answer: &mut Allocation) -> Outcome {
        if let Some(why) = self.refuse(problem) {
            return Outcome::Refused(Refusal(why));
        }
        if let Some(certifier) = &mut self.certifier {
            let budget_w = (1.0 - tolerance::POWER_SLACK) * problem.max_power_w();
            if certifier.least_power_w(problem) > budget_w {
                return UrllcSolver::default().allocate(problem, answer);
            }
        }
        let size = problem.size();
        let known = self.sized.take().filter(|(known, _)| *known == size);
        let ready = match known {
            Some(known) => known,
            None => match self.policy.ready(size) {
                Ok(ready) => (size, ready),
                Err(error) => return Outcome::Refused(Refusal(error.to_string())),
            },
        };
        let outcome = self.sized.insert(ready).1.allocate(problem, answer);
        if let (true, Some(certifier)) = (outcome.is_served(), &mut self.certifier) {
            certifier.certify(problem, answer);
        }
        outcome
    }
}

impl AnyPolicy {
    /// Answers any cells.
    pub(super) fn cell_responder(&self, certify: bool) -> Box<dyn Responder + '_> {
        if certify {
            responder(Box::new(Certifying(self.allocator())))
        } else {
            responder(Box::new(self.allocator()))
        }
    }
}

/// Raises bandwidths to what is certified.
struct Certifying<'a>(AnyAllocator<'a>);

impl Allocate<Urllc> for Certifying<'_> {
    fn allocate(&mut self, problem: &Urllc, answer: &mut Allocation) -> Outcome {
        let outcome = self.0.allocate(problem, answer);
        if outcome.is_served() {
            self.0.certifier().certify(problem, answer);
        }
        outcome
    }
}
