//! The users of a cell as arrays.

use std::sync::{Arc, Mutex, PoisonError};

use crate::config::System;
use crate::exchange::{Allotted, Input, Parameters, UserRecord};
use crate::framework::arrays::{JudgeColumns, Stated};
use crate::framework::{
    Amount, ArrayView, Arrays, CellReading, Error, Instance, Instances, NamedArray, Verdict,
};
use crate::qos::ServiceClass;

/// What a user is, for all problems of users of a cell.
pub(crate) type UserOfCell = (f64, ServiceClass);

/// Instances of users of a cell: `make` states the problem, and `judge` judges what its users are given.
pub(crate) fn user_instances<P: Arrays>(
    reading: CellReading,
    make: impl Fn(&System, &[UserOfCell]) -> Result<P, Error> + Send + Sync + 'static,
    judge: JudgeColumns<P>,
) -> Box<dyn Instances> {
    Box::new(UserInstances { reading, make, judge: Arc::new(judge) })
}

/// The verdict on what the users of an instance are given, beside the best that is known.
pub(crate) type JudgeUsers<P> =
    fn(&P, &[UserRecord], &[Allotted], Option<f64>) -> Result<Verdict, Error>;

/// Judges columns: `users` gives the users back, which are called by their positions, and `reference` finds the
/// best objective by a solver.
pub(crate) fn judge_users<P: Arrays, S: Default + Send + 'static>(
    users: impl Fn(&P) -> Vec<UserOfCell> + Send + Sync + 'static,
    reference: fn(&mut S, &P) -> Option<f64>,
    judge: JudgeUsers<P>,
) -> JudgeColumns<P> {
    // A solver knows the tables that it has made: those at rest are used again.
    let idle: Mutex<Vec<S>> = Mutex::default();
    let reference = move |problem: &P| {
        let known = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut solver = known.unwrap_or_default();
        let found = reference(&mut solver, problem);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(solver);
        Ok(found)
    };
    let verdict = move |problem: &P, columns: &[&[f64]], reference: Option<f64>| {
        let of_user = |(index, (gain, service)): (usize, UserOfCell)| UserRecord {
            id: index.to_string(),
            gain,
            service,
            extra: Default::default(),
        };
        let records: Vec<UserRecord> =
            users(problem).into_iter().enumerate().map(of_user).collect();
        let given = allotted(P::AMOUNTS, columns, records.len());
        judge(problem, &records, &given, reference)
    };
    JudgeColumns { reference: Box::new(reference), verdict: Box::new(verdict) }
}

/// What each user is given, from columns.
fn allotted(amounts: &[Amount], columns: &[&[f64]], size: usize) -> Vec<Allotted> {
    let find = |name: &str| {
        let place = amounts.iter().position(|amount| amount.name == name)?;
        columns.get(place).copied()
    };
    // What is given of a problem of one's own stands where powers do.
    let (powers, bandwidths) = (find("power_w").or(find("x")), find("bandwidth_hz"));
    // A common amount is everyone's.
    let of = |column: Option<&[f64]>, user: usize| match column {
        Some([common]) => Some(*common),
        Some(each) => each.get(user).copied(),
        None => None,
    };
    let one =
        |user| Allotted { id: None, power_w: of(powers, user), bandwidth_hz: of(bandwidths, user) };
    (0..size).map(one).collect()
}

struct UserInstances<P, M> {
    reading: CellReading,
    make: M,
    judge: Arc<JudgeColumns<P>>,
}

impl<P: Arrays, M> Instances for UserInstances<P, M>
where
    M: Fn(&System, &[UserOfCell]) -> Result<P, Error> + Send + Sync,
{
    fn of_arrays(&self, given: &[(&str, ArrayView<'_>)]) -> Result<Box<dyn Instance>, Error> {
        let mut columns = Vec::with_capacity(given.len());
        for (name, view) in given {
            if view.shape.len() > 1 {
                return Err(Error::Array(format!(
                    "{name} has {} axes, expected one number for each user",
                    view.shape.len()
                )));
            }
            columns.push((*name, view.values));
        }
        let users = self.reading.reader().of_columns(&columns).map_err(Error::Array)?;
        Ok(Stated::boxed((self.make)(&self.reading.system, &users)?, &self.judge))
    }

    fn parameters(&self) -> &Parameters {
        &self.reading.parameters
    }

    fn of_document(&self, input: Input<'_>) -> Vec<Result<Box<dyn Instance>, Error>> {
        let one = |cell: Result<crate::exchange::CellRecord, Error>| {
            let users: Vec<UserOfCell> =
                cell?.users.iter().map(|user| (user.gain, user.service)).collect();
            Ok(Stated::boxed((self.make)(&self.reading.system, &users)?, &self.judge))
        };
        self.reading.read(input).into_iter().map(one).collect()
    }
}

/// The inputs of users, as their instances have them.
pub(crate) fn user_inputs(users: impl Iterator<Item = UserOfCell>) -> Vec<NamedArray> {
    let mut columns = [const { Vec::new() }; 4];
    for (gain, service) in users {
        let ServiceClass { epsilon, packet_bits, arrival_rate } = service;
        for (column, value) in columns.iter_mut().zip([gain, epsilon, packet_bits, arrival_rate]) {
            column.push(value);
        }
    }
    let names = ["gains", "epsilon", "packet_bits", "arrival_rate"];
    names.into_iter().zip(columns).map(|(name, values)| NamedArray::each(name, values)).collect()
}
