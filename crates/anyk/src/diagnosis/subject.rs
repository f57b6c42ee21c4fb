//! Policies that AnyK can call in order to diagnose them: policies of a problem, models, and functions of the caller.

use std::fmt;
use std::sync::Arc;

use rand::seq::SliceRandom;

use super::{Instance, Samples, SizeSamples, ToyPolicy};
use crate::core::{self, Allocation, Model, Outcome, Policy, Problem};
use crate::framework::{
    CellOptions, Error, Options, Share, Silent, Slice, alternating, field_of, over_slice,
};
use crate::invalid::Invalid;
use crate::limits::{MOST_DRAWN, MOST_USERS};
use crate::math::{Input, realization_rng};
use crate::problems;

/// Toy policies of figure 1.
const TOYS: [(&str, &str, ToyPolicy); 2] = [
    ("toy-one", "policy 1 of figure 1 over x", ToyPolicy::One),
    ("toy-two", "policy 2 of figure 1 over x", ToyPolicy::Two),
];

/// Returns the names and labels of all policies that need no training: those of the problems and the toys of
/// figure 1.
pub fn built_in() -> Vec<(&'static str, &'static str)> {
    let rows = problems::all().into_iter().flat_map(|about| about.diagnosed);
    let rows = rows.map(|row| (row.name, row.label));
    rows.chain(TOYS.map(|(name, label, _)| (name, label))).collect()
}

/// Returns the short names of all quantities that problems allocate, such as `power`. The first name also selects the
/// quantity of any problem that allocates only one quantity.
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

/// Returns the name of an amount without its unit.
fn short(name: &'static str) -> &'static str {
    name.split('_').next().unwrap_or(name)
}

/// Function from the inputs `x` of all users to their outputs `y`.
pub type Function = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// Inputs `x_k` and outputs `y_k` of the users of one instance.
type Pairs = (Vec<f64>, Vec<f64>);

/// Policy that can be called, with the distribution of its inputs.
pub struct Subject {
    label: String,
    kind: Kind,
}

enum Kind {
    /// Policy on random instances of a problem, and the index of the amount to diagnose.
    Policy { problem: Arc<dyn Problem>, policy: Box<dyn Policy>, amount: usize },
    /// Function on independent and identically distributed inputs.
    Function { input: Input, function: Function },
}

impl fmt::Debug for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subject").field("label", &self.label()).finish()
    }
}

/// Subject as used by one thread.
enum Worker<'a> {
    Policy(&'a Arc<dyn Problem>, Box<dyn Policy>, usize, Allocation),
    Function(Input, &'a Function),
}

impl Worker<'_> {
    /// Returns the inputs and outputs of one realization, with its users in the order in which they were drawn or in
    /// the given order. Returns `None` if the policy gives no allocation, for example because the cell is infeasible.
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
    // The allocation may exceed the budget, since the policy has a size law in any case.
    allocation.reset(instance.about().amounts, instance.size());
    let Outcome::Served(_) = policy.allocate(&instance, allocation)? else { return Ok(None) };
    instance.check_shape(allocation)?;
    Ok(Some((instance.features(), instance.outputs(allocation, amount))))
}

impl Subject {
    /// Returns a policy on random instances of a problem. The diagnosed output is the amount called `amount`, with or
    /// without its unit.
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
                format!("{}, which the policy allocates", names.join(" or ")),
            )
        };
        let kind = Kind::Policy { amount: found.ok_or_else(unknown)?, problem, policy };
        Ok(Self { label: label.into(), kind })
    }

    /// Returns the policy called `name`, which needs no training, in a cell that the options describe. Returns `None`
    /// if there is no such policy. An option that the policy does not have is an error, since it would have no effect.
    pub fn built_in(name: &str, options: &Options) -> Option<Result<Self, Error>> {
        let refuse = |subject: Self| {
            let own = match &subject.kind {
                Kind::Policy { problem, .. } => problem.options().clone(),
                _ => Options::default(),
            };
            let is_cell = CellOptions::ALL.specs().iter().any(|spec| own.has(spec.name));
            let has = |name: &str| own.has(name) || (name == "config" && is_cell);
            match options.names().find(|name| !has(name)) {
                Some(stray) => Err(Invalid::stray(field_of(stray), name).into()),
                None => Ok(subject),
            }
        };
        Some(Self::in_cell(name, options)?.and_then(refuse))
    }

    /// Returns the policy called `name`, as [`built_in`](Self::built_in) does, but ignores options that it does not have.
    pub(super) fn in_cell(name: &str, options: &Options) -> Option<Result<Self, Error>> {
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

    /// Returns a learned policy on random instances of the kind that it was trained for. The diagnosed output is the
    /// amount called `amount`.
    pub fn model(model: &dyn Model, amount: &str) -> Result<Self, Error> {
        let (problem, policy) = (model.drawn_from()?, model.policy(&Options::default())?);
        let label = format!("{amount} of {}", model.describe());
        Ok(Self::policy(label, problem, policy, amount)?)
    }

    /// Returns a subject that calls `function` on independent inputs with the distribution `input`.
    pub fn function(
        input: Input,
        function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static,
    ) -> Self {
        let kind = Kind::Function { input, function: Arc::new(function) };
        Self { label: "a function over x".to_owned(), kind }
    }

    /// Returns the label, which names the output and the input of the policy.
    pub fn label(&self) -> String {
        self.label.clone()
    }

    /// Returns a copy of the subject for one thread, or `None` if the policy must be called from a single thread.
    fn worker(&self) -> Option<Worker<'_>> {
        Some(match &self.kind {
            Kind::Function { input, function } => Worker::Function(*input, function),
            Kind::Policy { problem, policy, amount } => {
                Worker::Policy(problem, policy.fork()?, *amount, Allocation::default())
            }
        })
    }

    /// Returns the inputs and outputs of a slice of `count` realizations of a size, drawn one after the other on this
    /// thread.
    fn one_by_one(
        &mut self,
        (size, count, slice): (usize, u64, Slice),
        seed: u64,
    ) -> Result<Vec<Option<Pairs>>, Error> {
        let mut found = Vec::new();
        let mut allocation = Allocation::default();
        if let Kind::Policy { problem, policy, amount } = &mut self.kind {
            for index in slice.units(count) {
                let case = (seed, size, index);
                found.push(ask(problem, &mut **policy, *amount, &mut allocation, case, None)?);
            }
        }
        Ok(found)
    }

    /// Draws whole instances of each size in parallel, with at least `users` users per size. Realizations without an
    /// allocation are omitted. The result does not depend on the number of threads.
    pub fn sample(&mut self, sizes: &[usize], users: usize, seed: u64) -> Result<Samples, Error> {
        self.sample_share(sizes, users, seed, &Share::default())
    }

    /// Draws the instances of [`sample`](Self::sample) that belong to a share of a run. A shard keeps them and returns
    /// [`Error::PartOfRun`].
    pub fn sample_share(
        &mut self,
        sizes: &[usize],
        users: usize,
        seed: u64,
        share: &Share,
    ) -> Result<Samples, Error> {
        let mut different = sizes.to_vec();
        different.sort_unstable();
        different.dedup();
        if different.len() < 2 {
            return Err(Samples::too_few_sizes(different.len()).into());
        }
        let count = |k: usize| users.div_ceil(k).max(super::samples::FEWEST_INSTANCES);
        // Sampling draws whole instances, at least eight per size, so it may exceed `users`.
        let check = |name: &'static str, value: usize, most: usize| match value <= most {
            true => Ok(()),
            false => Err(Error::from(Invalid::value(name, value, format!("at most {most}")))),
        };
        check("users", users, MOST_DRAWN)?;
        different.iter().try_for_each(|&k| check("k", k, MOST_USERS))?;
        // One call before the threads start lets them share the tables that it builds.
        if let Kind::Policy { problem, policy, amount } = &mut self.kind
            && policy.fork().is_some()
        {
            let case = (seed, different[0], 0);
            ask(problem, &mut **policy, *amount, &mut Allocation::default(), case, None)?;
        }
        let mut found = Vec::new();
        for &k in sizes {
            let drawn = share.split(|slice| match self.worker() {
                None => self.one_by_one((k, count(k) as u64, slice), seed),
                Some(_) => {
                    let worker = |_| self.worker().ok_or(Error::OtherProblem);
                    let draw = |worker: &mut Worker<'_>, k: usize, index: u64| {
                        worker.draw((seed, k, index), None)
                    };
                    over_slice((k, count(k) as u64, slice), worker, draw, &Silent)
                }
            })?;
            found.push((k, drawn));
        }
        share.complete()?;
        let sizes = found.into_iter().map(|(k, drawn)| {
            let rows = alternating(drawn).into_iter().flatten();
            SizeSamples { k, instances: rows.map(|(x, y)| Instance { x, y }).collect() }
        });
        Ok(Samples::from_instances(sizes.collect())?)
    }

    /// Returns the largest `|y_π(k)(x) − y_k(π x)|` over random orders π of `cases` realizations of a size, divided
    /// by the largest `|y|`. It is 0 for a permutation-equivariant policy, up to rounding.
    pub fn order_error(&mut self, k: usize, cases: u64, seed: u64) -> Result<f64, Error> {
        let (mut apart, mut largest) = (0.0f64, f64::MIN_POSITIVE);
        let mut allocation = Allocation::default();
        for index in 0..cases {
            let mut order: Vec<usize> = (0..k).collect();
            // No cell has 0 users, so this random stream differs from the streams of the draws.
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
