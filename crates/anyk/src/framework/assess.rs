//! The judge of anyone's allocations: one verdict for all problems.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::config::System;
use crate::exchange::{Allotment, Allotments, Allotted, CellRecord, Extra, Input, UserRecord};
use crate::framework::{Answer, Answers, CellReading, Error, Show, Text, Unjudged};
use crate::tolerance;

/// What the judge finds about somebody's allocation of one instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// `feasible`; `misses` where a user's demand is not met; `over-budget` where more is given than there is;
    /// `infeasible` where no allocation could serve everyone; `no-allocation` where its author says that there is none.
    pub status: &'static str,
    /// Number of users or links.
    pub k: usize,
    /// Share of users whose demand is met; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// The objective.
    pub objective: Goal,
    /// What the allocation gives of it; absent without one.
    pub value: Option<f64>,
    /// The best there is, or the best that is known; absent where there is none.
    pub reference: Option<f64>,
    /// How far the value is from it, percent: positive is worse. Negative where users are not served.
    pub gap_percent: Option<f64>,
    /// Share of the budget that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_used: Option<f64>,
    /// Largest violation of the conditions of an optimum, relative; absent where it has no bound.
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
    /// The inputs of the users, such as `ln α`, and what they get, for a diagnosis.
    #[serde(skip)]
    pub pairs: (Vec<f64>, Vec<f64>),
}

/// What is to be small, or large.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// What it is.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether more is better.
    pub larger_is_better: bool,
}

impl fmt::Display for Goal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.name, self.unit)
    }
}

impl Goal {
    /// How far a value is from the best, percent: positive is worse.
    pub fn gap_percent(&self, value: f64, reference: f64) -> Option<f64> {
        // A cost may be negative: of its size, then, and of no other sign.
        if reference < 0.0 {
            let gap = (value - reference) / -reference;
            let gap = if self.larger_is_better { -gap } else { gap };
            return gap.is_finite().then_some(100.0 * gap);
        }
        let gap =
            if self.larger_is_better { 1.0 - value / reference } else { value / reference - 1.0 };
        gap.is_finite().then_some(100.0 * gap)
    }
}

/// A user that is not served.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// The user.
    pub id: String,
    /// What it is about.
    pub what: &'static str,
    /// What the user gets of it.
    pub value: f64,
    /// What it asks for.
    pub target: f64,
}

impl Miss {
    /// How many times too much, or too little.
    fn factor(&self) -> f64 {
        let ratio = self.value / self.target;
        if ratio >= 1.0 { ratio } else { 1.0 / ratio }
    }
}

/// What a verdict is made of.
pub(crate) struct Found {
    pub(crate) goal: Goal,
    pub(crate) value: f64,
    /// The best there is; none where no allocation serves everyone.
    pub(crate) reference: Option<f64>,
    /// Who is not served; `None` where nobody demands anything.
    pub(crate) missed: Option<Vec<Miss>>,
    /// What is used of the budget, over it; `None` without one.
    pub(crate) budget_used: Option<f64>,
    pub(crate) kkt_residual: f64,
    /// Inputs and outputs of the users.
    pub(crate) pairs: (Vec<f64>, Vec<f64>),
}

impl Verdict {
    pub(crate) fn new(found: Found) -> Self {
        let Found { goal, value, reference, missed, budget_used, kkt_residual, pairs } = found;
        let k = pairs.0.len();
        let served = |missed: &Vec<Miss>| 1.0 - missed.len() as f64 / k as f64;
        let availability = missed.as_ref().map(served);
        let missed = missed.unwrap_or_default();
        let status = match reference {
            None => "infeasible",
            _ if budget_used.is_some_and(|used| used > 1.0 + tolerance::BUDGET) => "over-budget",
            _ if missed.is_empty() => "feasible",
            _ => "misses",
        };
        Self {
            status,
            k,
            availability,
            objective: goal,
            value: Some(value),
            reference,
            gap_percent: reference.and_then(|reference| goal.gap_percent(value, reference)),
            budget_used,
            kkt_residual: Some(kkt_residual).filter(|residual| residual.is_finite()),
            reason: None,
            missed,
            extra: Extra::default(),
            pairs,
        }
    }

    /// The verdict on no allocation at all, of the one on an allocation of nothing.
    pub(crate) fn absent(nothing: Self, reason: String) -> Self {
        Self {
            status: "no-allocation",
            availability: nothing.availability.map(|_| 0.0),
            value: None,
            gap_percent: None,
            budget_used: None,
            kkt_residual: None,
            reason: Some(reason),
            missed: Vec::new(),
            pairs: (Vec::new(), Vec::new()),
            ..nothing
        }
    }

    /// Fields that what a file says about a cell may not be called like.
    pub(crate) const FIELDS: [&'static str; 6] =
        ["k", "value", "reference", "budget_used", "reason", "policy"];

    /// Whether every demand is met within the budget.
    pub fn is_feasible(&self) -> bool {
        self.status == "feasible"
    }

    /// Users whose demand is met; all, where there is none.
    pub fn met(&self) -> usize {
        if self.value.is_some() { self.k - self.missed.len() } else { 0 }
    }
}

impl Show for Verdict {
    fn show(&self) -> Text {
        const SHOWN: usize = 20;
        let mut line = format!("{}: K = {}", self.status, self.k);
        if let Some(availability) = self.availability {
            line.push_str(&format!(
                ", {} of {} users served ({:.2} %)",
                self.met(),
                self.k,
                100.0 * availability
            ));
        }
        let Goal { name, unit, .. } = self.objective;
        if let Some(value) = self.value {
            line.push_str(&format!("; {name} {value:.6e} {unit}"));
        }
        if let Some(reason) = &self.reason {
            line.push_str(&format!("; in its place: {reason}"));
        }
        match (self.reference, self.gap_percent) {
            (Some(reference), None) if self.value.is_none() => {
                line.push_str(&format!("; the reference has {reference:.6e} {unit}"));
            }
            (Some(reference), Some(gap)) => {
                let over = self.objective.larger_is_better != (gap >= 0.0);
                let word = if over { "over" } else { "under" };
                let gap = gap.abs();
                line.push_str(&format!(", {gap:.4} % {word} the reference of {reference:.6e}"));
            }
            _ if self.value.is_none() => line.push_str("; no allocation serves everyone"),
            _ => line.push_str(", no allocation serves everyone"),
        }
        if let Some(used) = self.budget_used {
            line.push_str(&format!("; {:.4} % of the budget used", 100.0 * used));
        }
        if let Some(residual) = self.kkt_residual {
            line.push_str(&format!("; KKT residual {residual:.1e}"));
        }
        let mut text = Text::line(line);
        for miss in self.missed.iter().take(SHOWN) {
            let Miss { id, what, value, target } = miss;
            text.push(format!(
                "  user {id}: {what} {value:.6e}, expected {target:.6e} (off by a factor of {:.6})",
                miss.factor().min(1e99)
            ));
        }
        if self.missed.len() > SHOWN {
            text.push(format!("  and {} more", self.missed.len() - SHOWN));
        }
        text
    }

    fn serves_all(&self) -> bool {
        self.is_feasible()
    }

    fn verdict(&self) -> Option<&Verdict> {
        Some(self)
    }

    fn cell(&self) -> Option<String> {
        self.extra.cell()
    }
}

/// What judges the allocations of instances, as options have made it ready.
pub trait Assessor: Send + Sync {
    /// A desk, with buffers of its own.
    fn desk(&self) -> Result<Box<dyn AssessDesk + '_>, Error>;
}

impl Unjudged {
    /// The error of an allocation that could not be judged, with the verdict on none.
    pub(crate) fn error(source: Error, nothing: &Verdict) -> Error {
        let (k, feasible) = (nothing.k, nothing.reference.is_some());
        Error::Unjudged(Box::new(Self { k, feasible, source }))
    }
}

/// The allocation of an instance, by its place in its document and its name.
pub type GivenTo<'a> = &'a dyn Fn(usize, Option<&str>) -> Result<Allotment, Error>;

/// Judges one document after the other.
pub trait AssessDesk: Send {
    /// Judges the allocations of the instances in a document.
    fn assess(&mut self, input: Input<'_>, allocation: GivenTo<'_>) -> Vec<Result<Verdict, Error>>;
}

impl dyn AssessDesk + '_ {
    /// Judges a document by a file of allocations.
    pub fn answer(&mut self, input: Input<'_>, all: &Mutex<Allotments>, file: &str) -> Answers {
        let allocation = |index: usize, cell: Option<&str>| -> Result<Allotment, Error> {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let unread = |source| Error::Read { path: file.into(), source };
            match all.take(input.part + index, cell).map_err(unread)? {
                Some(found) => Ok(found?),
                None => Err(Error::NoAllocation {
                    cell: cell.map_or_else(|| (input.part + index + 1).to_string(), str::to_owned),
                    file: file.to_owned(),
                }),
            }
        };
        let verdicts = self.assess(input, &allocation);
        verdicts.into_iter().map(|one| Ok(Box::new(one?) as Box<dyn Answer>)).collect()
    }
}

/// An assessor of the cells of users: `judge` gets what each user is given, in the order of the users.
pub(crate) fn cell_assessor<'a, S: Send + 'a>(
    reading: CellReading,
    make: impl Fn() -> S + Send + Sync + 'a,
    judge: impl Fn(&mut S, &System, &[UserRecord], &[Allotted]) -> Result<Verdict, Error>
    + Send
    + Sync
    + 'a,
) -> Box<dyn Assessor + 'a> {
    Box::new(CellAssessor { reading, make, judge, state: PhantomData })
}

struct CellAssessor<S, M, J> {
    reading: CellReading,
    make: M,
    judge: J,
    state: PhantomData<fn() -> S>,
}

impl<S: Send, M, J> Assessor for CellAssessor<S, M, J>
where
    M: Fn() -> S + Send + Sync,
    J: Fn(&mut S, &System, &[UserRecord], &[Allotted]) -> Result<Verdict, Error> + Send + Sync,
{
    fn desk(&self) -> Result<Box<dyn AssessDesk + '_>, Error> {
        Ok(Box::new(CellDesk { state: (self.make)(), assessor: self }))
    }
}

struct CellDesk<'a, S, M, J> {
    state: S,
    assessor: &'a CellAssessor<S, M, J>,
}

impl<S: Send, M, J> AssessDesk for CellDesk<'_, S, M, J>
where
    M: Fn() -> S + Send + Sync,
    J: Fn(&mut S, &System, &[UserRecord], &[Allotted]) -> Result<Verdict, Error> + Send + Sync,
{
    fn assess(&mut self, input: Input<'_>, allocation: GivenTo<'_>) -> Vec<Result<Verdict, Error>> {
        let CellAssessor { reading, judge, .. } = self.assessor;
        let mut judged = |users: &[UserRecord], given: &[Allotted]| {
            judge(&mut self.state, &reading.system, users, given)
        };
        let one = |(index, cell): (usize, Result<CellRecord, Error>)| -> Result<Verdict, Error> {
            let cell = cell?;
            let name = cell.extra.cell();
            let number = || (input.part + index + 1).to_string();
            let place = |error: Error| {
                error.in_file(format!("cell {}", name.clone().unwrap_or_else(number)))
            };
            let CellRecord { users, extra } = &cell;
            let verdict = match allocation(index, name.as_deref()) {
                Ok(Allotment { absent: Some(reason), .. }) => {
                    let nothing = judged(users, &nothing_for(users)).map_err(place)?;
                    Ok(Verdict::absent(nothing, reason))
                }
                Ok(given) => {
                    in_order_of(users, given).and_then(|given| judged(users, &given)).map_err(place)
                }
                Err(error) => Err(error),
            };
            match verdict {
                Ok(mut verdict) => {
                    verdict.extra = extra.clone().apart_from(&Verdict::FIELDS);
                    Ok(verdict)
                }
                // If the cell can be judged, it counts: what is wrong is the allocation.
                Err(error) => match judged(users, &nothing_for(users)) {
                    Ok(nothing) => Err(Unjudged::error(error, &nothing)),
                    Err(_) => Err(error),
                },
            }
        };
        reading.read(input).into_iter().enumerate().map(one).collect()
    }
}

/// No power for anyone: what is judged in the place of an allocation that is not there.
fn nothing_for(users: &[UserRecord]) -> Vec<Allotted> {
    let one = |_| Allotted { id: None, power_w: Some(0.0), bandwidth_hz: Some(1.0) };
    users.iter().map(one).collect()
}

/// What each user is given, in the order of the users.
fn in_order_of(records: &[UserRecord], given: Allotment) -> Result<Vec<Allotted>, Error> {
    let Allotment { users, bandwidth_hz, powers, .. } = given;
    let wrong = |message: String| Error::Allocation(message);
    if users.len() != records.len() {
        return Err(wrong(format!(
            "it is for {} users, expected {}: one for each user of the cell{}",
            users.len(),
            records.len(),
            if powers.is_empty() {
                ""
            } else {
                "; it has `power`, as links have; users have power_w"
            }
        )));
    }
    let common = |mut user: Allotted| {
        user.bandwidth_hz = user.bandwidth_hz.or(bandwidth_hz);
        user
    };
    let users: Vec<Allotted> = users.into_iter().map(common).collect();
    let fits = |(user, record): (&Allotted, &UserRecord)| {
        user.id.as_ref().is_none_or(|id| *id == record.id)
    };
    // Most are in the order of the cell already.
    if users.iter().zip(records).all(fits) {
        return Ok(users);
    }
    let mut by_id: HashMap<String, Allotted> = HashMap::new();
    for user in users {
        let Some(id) = user.id.clone() else {
            return Err(wrong("a user has no id, expected ids for all users or for none".into()));
        };
        if by_id.insert(id.clone(), user).is_some() {
            return Err(wrong(format!("the user {id:?} stands twice, expected once")));
        }
    }
    let found = |record: &UserRecord| {
        let missing = || wrong(format!("the user {:?} has no allocation, expected one", record.id));
        by_id.remove(&record.id).ok_or_else(missing)
    };
    records.iter().map(found).collect()
}

/// Largest power in W, or bandwidth in Hz, that is judged.
const MOST_AMOUNT: f64 = 1e15;

/// The powers, and the bandwidths, of what users are given; an error names who lacks one.
pub(crate) fn amounts(
    records: &[UserRecord],
    given: &[Allotted],
    what: &'static str,
    amount: impl Fn(&Allotted) -> Option<f64>,
) -> Result<Vec<f64>, Error> {
    let one = |(record, given): (&UserRecord, &Allotted)| {
        let missing =
            || Error::Allocation(format!("the user {:?} has no {what}, expected one", record.id));
        let amount = amount(given).ok_or_else(missing)?;
        // Beyond that it is a slip, and squares of it would overflow.
        if (0.0..=MOST_AMOUNT).contains(&amount) {
            return Ok(amount);
        }
        Err(Error::Allocation(format!(
            "the {what} of user {:?} is {amount:e}, expected a number from 0 to {MOST_AMOUNT:e}",
            record.id
        )))
    };
    records.iter().zip(given).map(one).collect()
}
