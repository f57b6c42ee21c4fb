//! Names of the methods.

use serde::{Deserialize, Serialize};

/// Name of the price policy in options and files.
pub(crate) const PRICE: &str = "price";
/// Name of the price policy in version 0.2.
pub(crate) const FORMER_PRICE: &str = "any-gnn";

/// Methods that the paper compares (section V-C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Power by softmax, bandwidth by a network with the pre-trained outer function `B^v`.
    PGnn,
    /// Power by softmax, bandwidth by a network without an outer function.
    MGnn,
    /// Fully connected networks for at most as many users as in training; inputs of smaller cells are padded with
    /// zeros.
    Fnn,
}

impl Method {
    /// Returns the name used in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PGnn => "p-gnn",
            Self::MGnn => "m-gnn",
            Self::Fnn => "fnn",
        }
    }
}
