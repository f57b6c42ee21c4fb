//! Actions on problems and models, and the settings of these actions.

use crate::framework::Share;

/// Action on a problem or its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Solves instances from a file.
    Solve,
    /// Checks given allocations of the instances in a file.
    Assess,
    /// Draws random instances.
    Sample,
    /// Trains a policy.
    Train,
    /// Evaluates a model on random instances.
    Evaluate,
    /// Allocates with a model for the instances in a file.
    Allocate,
    /// Calibrates a model, so that it has a guarantee.
    Calibrate,
}

impl Verb {
    /// All names with their values.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("solve", Self::Solve),
        ("assess", Self::Assess),
        ("sample", Self::Sample),
        ("train", Self::Train),
        ("evaluate", Self::Evaluate),
        ("allocate", Self::Allocate),
        ("calibrate", Self::Calibrate),
    ];
}

/// Random instances for an evaluation.
#[derive(Debug, Clone)]
pub struct Trials {
    /// Numbers of users.
    pub sizes: Vec<usize>,
    /// Number of instances of each size.
    pub samples: u64,
    /// Seed of the instances.
    pub seed: u64,
    /// Instances that this process measures.
    pub share: Share,
}

/// Settings of a calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationSettings {
    /// Numbers of users for which the guarantee must hold.
    pub k: Vec<usize>,
    /// Number of independent cells of each size.
    pub cells: usize,
    /// Share of users that may miss their QoS.
    pub beta: f64,
    /// Probability that a larger share misses its QoS.
    pub delta: f64,
    /// Seed of the cells.
    pub seed: u64,
    /// Whether the factor may be below 1 if the policy uses more bandwidth than the guarantee requires.
    pub shrink: bool,
}
