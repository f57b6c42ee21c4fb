//! What the learned policies of (P1) have in common: made ready for a size, they answer for cells, and a
//! calibration can put a factor on their bandwidths.

use crate::config::System;
use crate::framework::{Guarantee, ModelError};
use crate::problems::urllc::{Allocation, Urllc};

/// A learned policy of (P1), whatever it is made of.
pub trait CellPolicy: Clone {
    /// It, made ready.
    type Ready<'a>: CellAllocator + Clone + Send + Sync
    where
        Self: 'a;

    /// Makes it ready for cells of so many users, at a base station with so many antennas.
    fn ready(&self, size: usize, antennas: u32) -> Result<Self::Ready<'_>, ModelError>;

    /// The cell that it was trained for.
    fn system(&self) -> &System;

    /// Whether it was trained for the law of fading of its cell, and not for samples of an unknown one.
    fn knows_fading(&self) -> bool;

    /// Bandwidth of its own class up to which the factor of a guarantee widens, Hz.
    fn most_hz(&self) -> Result<f64, ModelError>;

    /// What it promises, if it was calibrated.
    fn guarantee(&self) -> Option<&Guarantee>;

    /// Puts a guarantee in place of the one it may have, unchecked.
    fn set_guarantee(&mut self, guarantee: Option<Guarantee>);

    /// The same policy with a guarantee, which must follow from its own numbers.
    fn with_guarantee(&self, guarantee: Guarantee) -> Result<Self, ModelError> {
        guarantee.validate()?;
        let mut policy = self.clone();
        policy.set_guarantee(Some(guarantee));
        Ok(policy)
    }

    /// The same policy as it was before it was calibrated.
    fn without_guarantee(&self) -> Self {
        let mut policy = self.clone();
        policy.set_guarantee(None);
        policy
    }
}

/// A [`CellPolicy`] at work.
pub trait CellAllocator {
    /// Powers and bandwidths of a cell whose users have these gains; `false` where it is refused.
    fn answer(&mut self, problem: &Urllc, gains: &[f64], allocation: &mut Allocation) -> bool;
}
