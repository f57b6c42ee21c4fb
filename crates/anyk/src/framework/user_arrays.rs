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

/// Instances of users of a cell: `make` states the problem, `users` gives them back, and `judge` judges what they are
/// given, with a solver of its own from `solver`.
pub(crate) fn user_instances<P: Arrays, S: Send + 'static>(
    reading: CellReading,
    make: impl Fn(&System, &[UserOfCell]) -> Result<P, Error> + Send + Sync + 'static,
    users: impl Fn(&P) -> Vec<UserOfCell> + Send + Sync + 'static,
    solver: impl Fn() -> S + Send + Sync + 'static,
    judge: impl JudgeUsers<S, P>,
) -> Box<dyn Instances> {
    let judge = Arc::new(judge_users(users, solver, judge));
    Box::new(UserInstances { reading, make, judge })
}

/// What judges what the users of an instance are given.
pub(crate) trait JudgeUsers<S, P>:
    Fn(&mut S, &P, &[UserRecord], &[Allotted]) -> Result<Verdict, Error> + Send + Sync + 'static
{
}

impl<S, P, F> JudgeUsers<S, P> for F where
    F: Fn(&mut S, &P, &[UserRecord], &[Allotted]) -> Result<Verdict, Error> + Send + Sync + 'static
{
}

/// The same for columns: users are called by their positions.
pub(crate) fn judge_users<P: Arrays, S: Send + 'static>(
    users: impl Fn(&P) -> Vec<UserOfCell> + Send + Sync + 'static,
    solver: impl Fn() -> S + Send + Sync + 'static,
    judge: impl JudgeUsers<S, P>,
) -> impl Fn(&P, &[&[f64]]) -> Result<Verdict, Error> + Send + Sync + 'static {
    // A solver knows the tables that it has made: those at rest are used again.
    let idle: Mutex<Vec<S>> = Mutex::default();
    move |problem: &P, columns: &[&[f64]]| {
        let of_user = |(index, (gain, service)): (usize, UserOfCell)| UserRecord {
            id: index.to_string(),
            gain,
            service,
            extra: Default::default(),
        };
        let records: Vec<UserRecord> =
            users(problem).into_iter().enumerate().map(of_user).collect();
        let given = allotted(P::AMOUNTS, columns, records.len());
        let known = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut state = known.unwrap_or_else(&solver);
        let verdict = judge(&mut state, problem, &records, &given);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        verdict
    }
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
