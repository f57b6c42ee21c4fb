//! The policies that can be called: those of a problem, of a model file, or a function of the caller's.

use std::fmt;
use std::sync::Arc;

use rand::seq::SliceRandom;

use super::{Instance, Samples, SizeSamples, ToyPolicy};
use crate::core::{self, Allocation, Model, Outcome, Policy, Problem};
use crate::framework::{Error, Options, Silent, over_instances};
use crate::invalid::Invalid;
use crate::limits::{MOST_DRAWN, MOST_USERS};
use crate::math::{Input, realization_rng};
use crate::problems;

/// The toys of figure 1.
const TOYS: [(&str, &str, ToyPolicy); 2] = [
    ("toy-one", "policy 1 of figure 1 over x", ToyPolicy::One),
    ("toy-two", "policy 2 of figure 1 over x", ToyPolicy::Two),
];

/// Names and labels of every policy that needs no training: those of the problems, and the toys of figure 1.
pub fn built_in() -> Vec<(&'static str, &'static str)> {
    let rows = problems::all().into_iter().flat_map(|about| about.diagnosed);
    let rows = rows.map(|row| (row.name, row.label));
    rows.chain(TOYS.map(|(name, label, _)| (name, label))).collect()
}

/// Short names of what problems allocate, such as `power`. The first stands for what any problem allocates first.
pub fn quantities() -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    for amount in problems::all().into_iter().flat_map(|about| about.amounts) {
        let short = short(amount.name);
        if !all.contains(&short) {
            all.push(short);
        }
    }
    all
}

/// The name of an amount without its unit.
fn short(name: &'static str) -> &'static str {
    name.split('_').next().unwrap_or(name)
}

/// A function of all inputs `x` that gives all outputs `y`.
pub type Function = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// Inputs `x_k` and outputs `y_k` of the users of one instance.
type Pairs = (Vec<f64>, Vec<f64>);

/// A policy that can be called, with the law of its inputs.
pub struct Subject {
    label: String,
    kind: Kind,
}

enum Kind {
    /// A policy on random instances of a problem, and which of the amounts comes out.
    Policy { problem: Arc<dyn Problem>, policy: Box<dyn Policy>, amount: usize },
    /// A function on inputs that are independent and of one law.
    Function { input: Input, function: Function },
}

impl fmt::Debug for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subject").field("label", &self.label()).finish()
    }
}

/// A subject in one thread.
enum Worker<'a> {
    Policy(&'a Arc<dyn Problem>, Box<dyn Policy>, usize, Allocation),
    Function(Input, &'a Function),
}

impl Worker<'_> {
    /// Inputs and outputs of one realization, with its users in the order in which they are drawn or in another; `None`
    /// without an answer, such as in an infeasible cell.
    fn draw(
        &mut self,
        (seed, size, index): (u64, usize, u64),
        order: Option<&[usize]>,
    ) -> Result<Option<Pairs>, Error> {
        match self {
            Self::Policy(problem, policy, amount, allocation) => {
                ask(problem, &mut **policy, *amount, allocation, (seed, size, index), order)
            }
            Self::Function(input, function) => {
                let mut rng = realization_rng(seed, size, index);
                let mut x: Vec<f64> = (0..size).map(|_| input.sample(&mut rng)).collect();
                if let Some(order) = order {
                    x = order.iter().map(|&user| x[user]).collect();
                }
                let y = function(&x);
                Ok((y.len() == x.len()).then_some((x, y)))
            }
        }
    }
}

fn ask(
    problem: &Arc<dyn Problem>,
    policy: &mut dyn Policy,
    amount: usize,
    allocation: &mut Allocation,
    (seed, size, index): (u64, usize, u64),
    order: Option<&[usize]>,
) -> Result<Option<Pairs>, Error> {
    let mut instance = core::Instance::drawn(problem, seed, size, index)?;
    if let Some(order) = order {
        instance = instance.part(order);
    }
    // A policy of anyone's: it may give away more than there is, and still has a size law.
    allocation.reset(instance.about().amounts, instance.size());
    let Outcome::Served(_) = policy.allocate(&instance, allocation)? else { return Ok(None) };
    instance.check_shape(allocation)?;
    Ok(Some((instance.features(), instance.outputs(allocation, amount))))
}

impl Subject {
    /// A policy on random instances of a problem: the amount of a name is what comes out.
    pub fn policy(
        label: impl Into<String>,
        problem: Arc<dyn Problem>,
        policy: Box<dyn Policy>,
        amount: &str,
    ) -> Result<Self, Invalid> {
        let amounts = problem.about().amounts;
        let is_meant = |name: &'static str| name == amount || short(name) == amount;
        let found = amounts.iter().position(|column| is_meant(column.name));
        let is_first = amounts.len() == 1 && quantities().first() == Some(&amount);
        let found = found.or(is_first.then_some(0));
        let unknown = || {
            let names: Vec<&str> = amounts.iter().map(|column| short(column.name)).collect();
            Invalid::value(
                "quantity",
                amount,
                format!("{}, which is allocated", names.join(" or ")),
            )
        };
        let kind = Kind::Policy { amount: found.ok_or_else(unknown)?, problem, policy };
        Ok(Self { label: label.into(), kind })
    }

    /// A policy that needs no training, by its name, in a cell that options describe; `None` if there is none.
    pub fn built_in(name: &str, options: &Options) -> Option<Result<Self, Error>> {
        if let Some((_, label, toy)) = TOYS.into_iter().find(|toy| toy.0 == name) {
            let function: Function = Arc::new(move |x: &[f64]| toy.outputs(x));
            let kind = Kind::Function { input: Input::Exponential, function };
            return Some(Ok(Self { label: label.to_owned(), kind }));
        }
        let mut rows = problems::all().into_iter().flat_map(|about| about.diagnosed);
        let row = rows.find(|row| row.name == name)?;
        let make = || {
            let problem = (row.problem)(options)?;
            Ok(Self::policy(row.label, problem, (row.policy)(), row.amount)?)
        };
        Some(make())
    }

    /// A learned policy, on random instances of the kind that it was trained for; the amount of a name is what comes out.
    pub fn model(model: &dyn Model, amount: &str) -> Result<Self, Error> {
        let (problem, policy) = (model.drawn_from()?, model.policy(&Options::default())?);
        let label = format!("{amount} of {}", model.describe());
        Ok(Self::policy(label, problem, policy, amount)?)
    }

    /// A function of the caller's on inputs that are independent and of one law.
    pub fn function(
        input: Input,
        function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static,
    ) -> Self {
        let kind = Kind::Function { input, function: Arc::new(function) };
        Self { label: "a function over x".to_owned(), kind }
    }

    /// What is put in and what comes out.
    pub fn label(&self) -> String {
        self.label.clone()
    }

    /// The subject for a thread; `None` if it must be asked for one instance at a time.
    fn worker(&self) -> Option<Worker<'_>> {
        Some(match &self.kind {
            Kind::Function { input, function } => Worker::Function(*input, function),
            Kind::Policy { problem, policy, amount } => {
                Worker::Policy(problem, policy.fork()?, *amount, Allocation::default())
            }
        })
    }

    /// Calls `take` with each realization of a size, one after the other.
    fn one_by_one(&mut self, size: usize, count: u64, seed: u64) -> Result<Vec<Pairs>, Error> {
        let mut found = Vec::new();
        let mut allocation = Allocation::default();
        if let Kind::Policy { problem, policy, amount } = &mut self.kind {
            for index in 0..count {
                let case = (seed, size, index);
                found.extend(ask(problem, &mut **policy, *amount, &mut allocation, case, None)?);
            }
        }
        Ok(found)
    }

    /// Draws whole instances of each size, at least so many users, on all cores; the result does not
    /// depend on their number. Realizations without an answer are left out.
    pub fn sample(&mut self, sizes: &[usize], users: usize, seed: u64) -> Result<Samples, Error> {
        let mut different = sizes.to_vec();
        different.sort_unstable();
        different.dedup();
        if different.len() < 2 {
            return Err(Samples::too_few_sizes(different.len()).into());
        }
        let count = |k: usize| users.div_ceil(k).max(super::samples::FEWEST_INSTANCES);
        // Of each size, whole instances and at least eight: those of the largest size are within the limit, too.
        let check = |name: &'static str, value: usize, most: usize| match value <= most {
            true => Ok(()),
            false => Err(Error::from(Invalid::value(name, value, format!("at most {most}")))),
        };
        check("users", users, MOST_DRAWN)?;
        different.iter().try_for_each(|&k| check("k", k, MOST_USERS))?;
        // Asked once, so that the tables that it makes are shared by all threads.
        if let Kind::Policy { problem, policy, amount } = &mut self.kind
            && policy.fork().is_some()
        {
            let case = (seed, different[0], 0);
            ask(problem, &mut **policy, *amount, &mut Allocation::default(), case, None)?;
        }
        let mut at_size = |&k: &usize| {
            let count = count(k) as u64;
            let rows = match self.worker() {
                None => self.one_by_one(k, count, seed)?,
                Some(_) => {
                    let worker = |_| self.worker().ok_or(Error::OtherProblem);
                    let draw = |worker: &mut Worker<'_>, k: usize, index: u64| {
                        worker.draw((seed, k, index), None)
                    };
                    let drawn = over_instances(&[k], count, worker, draw, &Silent)?;
                    drawn.into_iter().flat_map(|found| found.rows).collect()
                }
            };
            let instances = rows.into_iter().map(|(x, y)| Instance { x, y }).collect();
            Ok(SizeSamples { k, instances })
        };
        let sizes = sizes.iter().map(&mut at_size).collect::<Result<_, Error>>()?;
        Ok(Samples::from_instances(sizes)?)
    }

    /// Largest `|y_π(k)(x) − y_k(π x)|` over random orders π of `cases` realizations of a size, over the
    /// largest `|y|`: 0 for a permutation-equivariant policy, but for rounding.
    pub fn order_error(&mut self, k: usize, cases: u64, seed: u64) -> Result<f64, Error> {
        let (mut apart, mut largest) = (0.0f64, f64::MIN_POSITIVE);
        let mut allocation = Allocation::default();
        for index in 0..cases {
            let mut order: Vec<usize> = (0..k).collect();
            // No cell has 0 users: this stream meets none of the draws.
            order.shuffle(&mut realization_rng(seed, 0, index));
            let mut draw = |order: Option<&[usize]>| match &mut self.kind {
                Kind::Function { input, function } => {
                    Worker::Function(*input, function).draw((seed, k, index), order)
                }
                Kind::Policy { problem, policy, amount } => {
                    let case = (seed, k, index);
                    ask(problem, &mut **policy, *amount, &mut allocation, case, order)
                }
            };
            let (plain, moved) = (draw(None)?, draw(Some(&order))?);
            let (Some((_, plain)), Some((_, moved))) = (plain, moved) else { continue };
            for (&user, moved) in order.iter().zip(moved) {
                apart = apart.max((plain[user] - moved).abs());
                largest = largest.max(plain[user].abs());
            }
        }
        Ok(apart / largest)
    }
}
