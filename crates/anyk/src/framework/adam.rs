//! The Adam optimizer (Kingma and Ba, 2015).

use crate::network::Real;

/// State of Adam for one vector of parameters.
///
/// ```text
/// m ← β₁m + (1 − β₁)g,   v ← β₂v + (1 − β₂)g²,   x ← x − rate·m̂/(√v̂ + 1e-8)
/// ```
///
/// Here `m̂` and `v̂` are corrected for their initial value of zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Adam<T> {
    first: Vec<T>,
    second: Vec<T>,
    steps: u64,
    betas: (f64, f64),
}

impl<T: Real> Adam<T> {
    /// Creates the state for `count` parameters with decay rates `β₁`, `β₂`.
    pub fn new(count: usize, betas: (f64, f64)) -> Self {
        Self { first: vec![T::zero(); count], second: vec![T::zero(); count], steps: 0, betas }
    }

    /// Returns the first moments, the second moments and the number of steps.
    pub fn memory(&self) -> (&[T], &[T], u64) {
        (&self.first, &self.second, self.steps)
    }

    /// Makes one step against the gradient.
    pub fn descend(&mut self, parameters: &mut [T], gradient: &[T], rate: f64) {
        self.steps += 1;
        let exponent = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let (beta1, beta2) = self.betas;
        let rate = T::of(rate / (1.0 - beta1.powi(exponent)));
        let correction = T::of(1.0 / (1.0 - beta2.powi(exponent)));
        let (keep1, keep2, floor) = (T::of(beta1), T::of(beta2), T::of(1e-8));
        let (new1, new2) = (T::of(1.0 - beta1), T::of(1.0 - beta2));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, &gradient), (first, second)) in
            parameters.iter_mut().zip(gradient).zip(moments)
        {
            *first = keep1 * *first + new1 * gradient;
            *second = keep2 * *second + new2 * gradient * gradient;
            *parameter = *parameter - rate * *first / ((*second * correction).sqrt() + floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Adam;

    /// Reference values: the first step of Adam on f(x) = x² from 1 with rate 0.1 and β = (0.9, 0.999) is the rate
    /// itself.
    #[test]
    fn first_steps_and_convergence() {
        let mut adam = Adam::<f64>::new(1, (0.9, 0.999));
        let mut x = [1.0];
        adam.descend(&mut x, &[2.0], 0.1);
        assert!((x[0] - 0.9).abs() < 1e-8);
        for _ in 0..2000 {
            let gradient = [2.0 * x[0]];
            adam.descend(&mut x, &gradient, 0.01);
        }
        assert!(x[0].abs() < 1e-3);
    }
}
