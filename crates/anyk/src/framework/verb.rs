//! What can be done with problems and models, and the settings of it.

/// What can be done with a problem or its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Solve instances from a file.
    Solve,
    /// Judge somebody's allocations of the instances of a file.
    Assess,
    /// Draw random instances.
    Sample,
    /// Train a policy.
    Train,
    /// Measure a model on random instances.
    Evaluate,
    /// Answer instances from a file by a model.
    Allocate,
    /// Give a model a guarantee.
    Calibrate,
}

impl Verb {
    /// Names and values.
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

/// Random instances to measure on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Instances of each size.
    pub samples: u64,
    /// Their seed.
    pub seed: u64,
}

/// What a calibration is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationSettings {
    /// Sizes at which the guarantee is to hold.
    pub k: Vec<usize>,
    /// Independent cells of each size.
    pub cells: usize,
    /// Share of users that may miss their QoS.
    pub beta: f64,
    /// Probability that more of them do.
    pub delta: f64,
    /// Seed of the cells.
    pub seed: u64,
    /// Whether the factor may be below 1, for a policy that gives more than the guarantee needs.
    pub shrink: bool,
}
