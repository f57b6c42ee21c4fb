//! What the learned policies of (P1) have in common: made ready for a size, they answer for cells, and a
//! calibration can put a factor on their bandwidths.

use crate::config::System;
use crate::policy::{AnyAllocator, AnyPolicy, Guarantee, LearnedPolicy, ModelError, SizedPolicy};
use crate::problem::{Allocation, Urllc};

/// A learned policy of (P1), whatever it is made of.
pub trait CellPolicy: Sized {
    /// It, made ready.
    type Ready<'a>: CellAllocator + Clone + Send + Sync
    where
        Self: 'a;

    /// Makes it ready for cells of so many users, at a base station with so many antennas.
    fn ready(&self, size: usize, antennas: u32) -> Result<Self::Ready<'_>, ModelError>;

    /// The cell that it was trained for.
    fn system(&self) -> &System;

    /// Bandwidth up to which the factor of a guarantee widens, Hz.
    fn most_hz(&self) -> Result<f64, ModelError>;

    /// The same policy with a guarantee in place of the one it may have.
    fn with_guarantee(&self, guarantee: Guarantee) -> Result<Self, ModelError>;

    /// The same policy as it was before it was calibrated.
    fn without_guarantee(&self) -> Self;
}

/// A [`CellPolicy`] at work.
pub trait CellAllocator {
    /// Powers and bandwidths of a cell whose users have these gains; `false` where it is refused.
    fn answer(&mut self, problem: &Urllc, gains: &[f64], allocation: &mut Allocation) -> bool;
}

impl CellPolicy for LearnedPolicy {
    type Ready<'a> = SizedPolicy<'a>;

    fn ready(&self, size: usize, _antennas: u32) -> Result<SizedPolicy<'_>, ModelError> {
        self.at_size(size)
    }

    fn system(&self) -> &System {
        self.system()
    }

    fn most_hz(&self) -> Result<f64, ModelError> {
        self.most_hz()
    }

    fn with_guarantee(&self, guarantee: Guarantee) -> Result<Self, ModelError> {
        self.with_guarantee(guarantee)
    }

    fn without_guarantee(&self) -> Self {
        self.without_guarantee()
    }
}

impl CellAllocator for SizedPolicy<'_> {
    fn answer(&mut self, _problem: &Urllc, gains: &[f64], allocation: &mut Allocation) -> bool {
        self.allocate(gains, allocation);
        true
    }
}

impl CellPolicy for AnyPolicy {
    type Ready<'a> = AnyAllocator<'a>;

    fn ready(&self, _size: usize, antennas: u32) -> Result<AnyAllocator<'_>, ModelError> {
        Ok(self.allocator(antennas))
    }

    fn system(&self) -> &System {
        self.system()
    }

    fn most_hz(&self) -> Result<f64, ModelError> {
        self.most_hz()
    }

    fn with_guarantee(&self, guarantee: Guarantee) -> Result<Self, ModelError> {
        self.with_guarantee(guarantee)
    }

    fn without_guarantee(&self) -> Self {
        self.without_guarantee()
    }
}

impl CellAllocator for AnyAllocator<'_> {
    fn answer(&mut self, problem: &Urllc, _gains: &[f64], allocation: &mut Allocation) -> bool {
        self.allocate(problem, allocation).is_ok()
    }
}
