//! Common interface of the learned policies of (P1), with the factor by which a calibration multiplies their
//! bandwidths.

use crate::config::System;
use crate::core::Policy;
use crate::framework::{Guarantee, ModelError};

/// Learned policy of (P1) of any kind.
pub trait CellPolicy: Clone {
    /// Allocator that runs the policy.
    type Allocator: Policy + Clone + 'static;

    /// Returns an allocator with its own buffers. Clones of it share the parameters.
    fn allocator(&self) -> Self::Allocator;

    /// Returns the cell for which the policy was trained.
    fn system(&self) -> &System;

    /// Returns whether the policy was trained for the fading distribution of its cell rather than on samples of
    /// an unknown one.
    fn knows_fading(&self) -> bool;

    /// Returns the largest bandwidth, Hz, to which the factor of a guarantee widens that of a user in the policy's own
    /// class.
    fn most_hz(&self) -> Result<f64, ModelError>;

    /// Returns the guarantee of the calibration; `None` if the policy is not calibrated.
    fn guarantee(&self) -> Option<&Guarantee>;

    /// Replaces the guarantee without checking it.
    fn set_guarantee(&mut self, guarantee: Option<Guarantee>);

    /// Returns the policy with a guarantee, or an error if the numbers of the guarantee contradict each other.
    fn with_guarantee(&self, guarantee: Guarantee) -> Result<Self, ModelError> {
        guarantee.validate()?;
        let mut policy = self.clone();
        policy.set_guarantee(Some(guarantee));
        Ok(policy)
    }

    /// Returns the policy without its guarantee.
    fn without_guarantee(&self) -> Self {
        let mut policy = self.clone();
        policy.set_guarantee(None);
        policy
    }
}
