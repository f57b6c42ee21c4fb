//! Numerical tolerances of the library. All are relative, since every quantity has a unit.

/// Relative accuracy to which roots (bandwidth, packet loss, multiplier) are computed.
pub const ROOT: f64 = 1e-14;

/// Guaranteed relative accuracy of the exact required bandwidth `b(u)`.
pub const EXACT_BANDWIDTH: f64 = 1e-12;

/// Largest relative error of the certified table of `b(u)`. AnyK rejects a table with a larger error bound.
pub const TABLE: f64 = 1e-9;

/// Largest distance between the bounds on a tabulated cost function, relative to the cost.
pub const COST_TABLE: f64 = 5e-9;

/// Relative duality gap below which an allocation for a user-defined cost function counts as optimal. This tolerance is
/// larger than [`DUALITY_GAP`], since the bound holds for every convex function through the points of the tables.
pub const COST_GAP: f64 = 1e-6;

/// Relative duality gap below which a solution counts as optimal.
pub const DUALITY_GAP: f64 = 1e-8;

/// Smallest remaining power, as a share of the power budget, after every user gets the minimum power that it needs. A
/// cell with less remaining power counts as infeasible, since `f64` cannot resolve the bandwidth as a function of the
/// budget so close to the limit.
pub const POWER_SLACK: f64 = 1e-12;

/// Relative excess over a budget that counts as rounding.
pub const BUDGET: f64 = 1e-12;

/// Permitted relative excess over a budget for networks, which compute in single precision.
pub const LEARNED_BUDGET: f64 = 1e-5;

/// Share of the power that the solver holds back from each user when it chooses a bandwidth, so that rounding of
/// `ln u` cannot cause a QoS violation. Near the fold, additional bandwidth could not achieve this.
pub const ROUNDING: f64 = 5e-13;

/// Share of `P_max` within which a power counts as 0 or as `P_max` (paper, section III-B).
pub const BINARY: f64 = 1e-3;

/// Largest gain of an interference network, in units of the noise at full power. A sum of many squares of such gains
/// is still far from overflow.
pub const LOUDEST: f64 = 1e100;

/// Relative difference below which two sum rates count as equal. A difference above rounding can remain, since WMMSE
/// does not bring all powers exactly to 0 or `P_max`.
pub const SUM_RATE: f64 = 1e-6;

/// Relative difference below which a parameter in a file counts as equal to the value in effect. Single precision has
/// an error of about 1e-7, and printed tables show seven digits.
pub const SAME_PARAMETER: f64 = 1e-6;
