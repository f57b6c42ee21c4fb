//! The one place for numerical tolerances. All are relative, since every quantity has a unit.

/// Relative accuracy to which roots (bandwidth, packet loss, multiplier) are iterated.
pub const ROOT: f64 = 1e-14;

/// Relative accuracy promised for the exact required bandwidth `b(u)`.
pub const EXACT_BANDWIDTH: f64 = 1e-12;

/// Relative error that the certified table of `b(u)` may have at most; a table whose measured
/// bound is larger is refused.
pub const TABLE: f64 = 1e-9;

/// Height to which the table of a cost function is enclosed, relative to the cost.
pub const COST_TABLE: f64 = 5e-9;

/// Relative duality gap under which an allocation for cost functions of the user's is called optimal. It is larger
/// than [`DUALITY_GAP`], since it holds for every convex function through the points of the tables.
pub const COST_GAP: f64 = 1e-6;

/// Relative duality gap under which a solution is called optimal.
pub const DUALITY_GAP: f64 = 1e-8;

/// A cell is called infeasible when the power left above the users' smallest needs is under this
/// share of the budget: that close to the edge the bandwidth is no longer a function of the budget
/// that `f64` can resolve.
pub const POWER_SLACK: f64 = 1e-12;

/// Relative excess over a budget that is put down to rounding.
pub const BUDGET: f64 = 1e-12;

/// Relative excess over a budget that is put down to networks that work in single precision.
pub const LEARNED_BUDGET: f64 = 1e-5;

/// Share of power that the solver holds back from each user when it picks a bandwidth, so that the
/// rounding of `ln u` cannot turn a QoS that holds into one that does not. Next to the fold no extra
/// bandwidth could do that.
pub const ROUNDING: f64 = 5e-13;

/// Share of `P_max` within which a power counts as 0 or as `P_max` (the paper's, section III-B).
pub const BINARY: f64 = 1e-3;

/// Largest gain of an interference network, in units of the noise at full power: the square of it, and
/// a sum of many such squares, are still far from overflow.
pub const LOUDEST: f64 = 1e100;

/// Relative difference under which two sum rates count as the same: powers that WMMSE has not quite
/// brought to 0 or `P_max` differ by more than rounding.
pub const SUM_RATE: f64 = 1e-6;

/// Relative difference under which a parameter in a file is the value in effect: single precision keeps 1e-7, and tables
/// for people print seven digits.
pub const SAME_PARAMETER: f64 = 1e-6;
