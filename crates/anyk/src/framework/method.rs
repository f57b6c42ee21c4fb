//! The methods that the paper compares, and ours.

use serde::{Deserialize, Serialize};

/// The price policy, as in options and files.
pub(crate) const PRICE: &str = "price";
/// Its name in version 0.2.
pub(crate) const FORMER_PRICE: &str = "any-gnn";

/// What to train: the three methods that the paper compares (section V-C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Power by softmax, bandwidth with the pre-trained outer function `B^v`.
    PGnn,
    /// Power by softmax, bandwidth by a network without it.
    MGnn,
    /// Fully-connected networks for up to the training size, smaller cells padded with zeros.
    Fnn,
}

impl Method {
    /// Its name, as in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PGnn => "p-gnn",
            Self::MGnn => "m-gnn",
            Self::Fnn => "fnn",
        }
    }
}
