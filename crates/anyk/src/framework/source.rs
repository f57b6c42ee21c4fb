//! A policy with the law of its inputs: what a diagnosis asks.

use crate::framework::{Allocate, Error, Problem};

/// Inputs `x_k` and outputs `y_k` of the users of one instance.
pub type Pairs = (Vec<f64>, Vec<f64>);

/// A policy on random instances of any size.
pub trait Source: Send + Sync {
    /// What is put in and what comes out.
    fn label(&self) -> String;

    /// It, made ready for a size.
    fn at_size(&self, size: usize) -> Result<Box<dyn Draw + '_>, Error>;
}

/// A [`Source`] at one size.
pub trait Draw {
    /// Inputs and outputs of one realization, with its users in the order in which they are drawn or in another;
    /// none where there is no answer, such as in an infeasible cell.
    fn draw(
        &mut self,
        seed: u64,
        index: u64,
        order: Option<&[usize]>,
    ) -> Result<Option<Pairs>, Error>;
}

/// Random instances of a size: `(seed, size, index)`.
pub type DrawInstance<P> = Box<dyn Fn(u64, usize, u64) -> Result<P, Error> + Send + Sync>;

/// A policy of a problem on random instances of it.
pub struct Drawn<P: Problem, A> {
    /// What is put in and what comes out.
    pub label: String,
    /// The policy.
    pub allocator: A,
    /// Random instances.
    pub instance: DrawInstance<P>,
    /// The inputs of an instance.
    pub inputs: fn(&P) -> Vec<f64>,
    /// The outputs of an answer.
    pub outputs: fn(&P, &P::Answer) -> Vec<f64>,
}

impl<P: Problem, A: Allocate<P> + Clone> Source for Drawn<P, A> {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn at_size(&self, size: usize) -> Result<Box<dyn Draw + '_>, Error> {
        self.allocator.check_size(size)?;
        let (allocator, answer) = (self.allocator.clone(), P::Answer::default());
        Ok(Box::new(DrawnAtSize { drawn: self, size, allocator, answer }))
    }
}

struct DrawnAtSize<'a, P: Problem, A> {
    drawn: &'a Drawn<P, A>,
    size: usize,
    allocator: A,
    answer: P::Answer,
}

impl<P: Problem, A: Allocate<P>> Draw for DrawnAtSize<'_, P, A> {
    fn draw(
        &mut self,
        seed: u64,
        index: u64,
        order: Option<&[usize]>,
    ) -> Result<Option<Pairs>, Error> {
        let mut problem = (self.drawn.instance)(seed, self.size, index)?;
        if let Some(order) = order {
            problem = problem.reordered(order);
        }
        let outcome = self.allocator.allocate(&problem, &mut self.answer);
        if !outcome.is_served() {
            return Ok(None);
        }
        problem.check(&self.answer)?;
        let Drawn { inputs, outputs, .. } = self.drawn;
        Ok(Some((inputs(&problem), outputs(&problem, &self.answer))))
    }
}
