//! What the learned policies of (P1) have in common beside their answers: a calibration can put a factor on
//! their bandwidths.

use crate::config::System;
use crate::core::Policy;
use crate::framework::{Guarantee, ModelError};

/// A learned policy of (P1), whatever it is made of.
pub trait CellPolicy: Clone {
    /// Answers cells by it.
    type Allocator: Policy + Clone + 'static;

    /// What answers cells by it, with its buffers. Its clones share the parameters.
    fn allocator(&self) -> Self::Allocator;

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
