//! The policies that can be called: built into a room, of a model file, or a function of the caller's.

use std::fmt;
use std::sync::Arc;

use rand::seq::SliceRandom;

use super::{Instance, Samples, SizeSamples, ToyPolicy};
use crate::config::System;
use crate::framework::{
    BuiltIn, Draw, Error, LoadedModel, Pairs, Quantity, Silent, Source, over_instances,
};
use crate::invalid::Invalid;
use crate::limits::{MOST_DRAWN, MOST_USERS};
use crate::math::{Input, realization_rng};
use crate::problems;

/// Every policy that needs no training: those of the rooms, and the toys of figure 1.
pub fn built_in() -> impl Iterator<Item = &'static BuiltIn> {
    problems::ROOMS.iter().flat_map(|room| room.policies()).chain(&TOYS)
}

/// The one of a short name.
pub fn built_in_named(name: &str) -> Option<&'static BuiltIn> {
    built_in().find(|policy| policy.name == name)
}

static TOYS: [BuiltIn; 2] = [
    BuiltIn {
        name: "toy-one",
        label: "policy 1 of figure 1 over x",
        source: |_| Ok(toy(TOYS[0].label, ToyPolicy::One)),
    },
    BuiltIn {
        name: "toy-two",
        label: "policy 2 of figure 1 over x",
        source: |_| Ok(toy(TOYS[1].label, ToyPolicy::Two)),
    },
];

fn toy(label: &str, policy: ToyPolicy) -> Arc<dyn Source> {
    let function: Function = Arc::new(move |x: &[f64]| policy.outputs(x));
    Arc::new(OfFunction { label: label.to_owned(), input: Input::Exponential, function })
}

/// A function of all inputs `x` that gives all outputs `y`.
pub type Function = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// A function on inputs that are independent and of one law.
struct OfFunction {
    label: String,
    input: Input,
    function: Function,
}

impl Source for OfFunction {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn at_size(&self, size: usize) -> Result<Box<dyn Draw + '_>, Error> {
        Ok(Box::new(FunctionAtSize { of: self, size }))
    }
}

struct FunctionAtSize<'a> {
    of: &'a OfFunction,
    size: usize,
}

impl Draw for FunctionAtSize<'_> {
    fn draw(
        &mut self,
        seed: u64,
        index: u64,
        order: Option<&[usize]>,
    ) -> Result<Option<Pairs>, Error> {
        let mut rng = realization_rng(seed, self.size, index);
        let mut x: Vec<f64> = (0..self.size).map(|_| self.of.input.sample(&mut rng)).collect();
        if let Some(order) = order {
            x = order.iter().map(|&user| x[user]).collect();
        }
        let y = (self.of.function)(&x);
        Ok((y.len() == x.len()).then_some((x, y)))
    }
}

/// A policy that can be called, with the law of its inputs.
#[derive(Clone)]
pub struct Subject {
    source: Arc<dyn Source>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subject").field("label", &self.label()).finish()
    }
}

impl Subject {
    /// A policy with the law of its inputs.
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source }
    }

    /// A policy of a room in a cell.
    pub fn built_in(system: &System, policy: &BuiltIn) -> Result<Self, Error> {
        Ok(Self { source: (policy.source)(system)? })
    }

    /// A learned policy, on random instances of the kind that it was trained for.
    pub fn model(model: &dyn LoadedModel, quantity: Quantity) -> Result<Self, Error> {
        let source = model.source(quantity)?.ok_or_else(|| {
            let expected = "power: the model allocates no bandwidth of its own";
            Invalid::value("quantity", "bandwidth", expected)
        })?;
        Ok(Self { source })
    }

    /// A function of the caller's on inputs that are independent and of one law.
    pub fn function(
        input: Input,
        function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static,
    ) -> Self {
        let (label, function) = ("a function over x".to_owned(), Arc::new(function));
        Self { source: Arc::new(OfFunction { label, input, function }) }
    }

    /// What is put in and what comes out.
    pub fn label(&self) -> String {
        self.source.label()
    }

    /// Draws whole instances of each size, at least so many users, on all cores; the result does not
    /// depend on their number. Realizations without an answer are left out.
    pub fn sample(&self, sizes: &[usize], users: usize, seed: u64) -> Result<Samples, Error> {
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
        let at_size = |&k: &usize| {
            let count = count(k) as u64;
            let drawn = over_instances(
                &[k],
                count,
                |k| self.source.at_size(k),
                |policy, _, index| policy.draw(seed, index, None),
                &Silent,
            )?;
            let rows = drawn.into_iter().flat_map(|found| found.rows);
            let instances = rows.map(|(x, y)| Instance { x, y }).collect();
            Ok(SizeSamples { k, instances })
        };
        let sizes = sizes.iter().map(at_size).collect::<Result<_, Error>>()?;
        Ok(Samples::from_instances(sizes)?)
    }

    /// Largest `|y_π(k)(x) − y_k(π x)|` over random orders π of `cases` realizations of a size, over the
    /// largest `|y|`: 0 for a permutation-equivariant policy, but for rounding.
    pub fn order_error(&self, k: usize, cases: u64, seed: u64) -> Result<f64, Error> {
        let mut policy = self.source.at_size(k)?;
        let (mut apart, mut largest) = (0.0f64, f64::MIN_POSITIVE);
        for index in 0..cases {
            let mut order: Vec<usize> = (0..k).collect();
            // No cell has 0 users: this stream meets none of the draws.
            order.shuffle(&mut realization_rng(seed, 0, index));
            let plain = policy.draw(seed, index, None)?;
            let moved = policy.draw(seed, index, Some(&order))?;
            let (Some((_, plain)), Some((_, moved))) = (plain, moved) else { continue };
            for (&user, moved) in order.iter().zip(moved) {
                apart = apart.max((plain[user] - moved).abs());
                largest = largest.max(plain[user].abs());
            }
        }
        Ok(apart / largest)
    }
}
