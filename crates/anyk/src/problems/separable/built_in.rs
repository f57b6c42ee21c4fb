//! Built-in costs by name.

use crate::problems::separable::{Cost, CostError};

/// Built-in cost as a function of an SNR or of any other `u`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInCost {
    /// Negative rate in nats, `−ln(1 + u)`; the optimum is water-filling.
    Log1p,
    /// Negative logarithm of the rate, `−ln ln(1 + u)`; the optimum has proportionally fair rates.
    FairRate,
    /// Time per bit, `1/ln(1 + u)`.
    Delay,
    /// Reciprocal, `1/u`.
    Inverse,
    /// Mean square error, `1/(1 + u)`.
    Mmse,
    /// Exponential, `e^(−u)`.
    Exponential,
}

impl BuiltInCost {
    /// Name, help text and value of each cost.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("log1p", "−ln(1 + u): maximizes the sum rate (water-filling)", Self::Log1p),
        ("fair-rate", "−ln ln(1 + u): proportionally fair rates", Self::FairRate),
        ("delay", "1/ln(1 + u): minimizes the sum of the times per bit", Self::Delay),
        ("inverse", "1/u", Self::Inverse),
        ("mmse", "1/(1 + u): minimizes the sum of mean square errors", Self::Mmse),
        ("exponential", "e^(−u)", Self::Exponential),
    ];
}

impl BuiltInCost {
    /// Returns the cost with a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|choice| choice.0 == name).map(|choice| choice.2)
    }

    /// Returns `c(u)`.
    pub fn value(self, u: f64) -> f64 {
        match self {
            Self::Log1p => -u.ln_1p(),
            Self::FairRate => -u.ln_1p().ln(),
            Self::Delay => 1.0 / u.ln_1p(),
            Self::Inverse => 1.0 / u,
            Self::Mmse => 1.0 / (1.0 + u),
            Self::Exponential => (-u).exp(),
        }
    }

    /// Tabulates the cost from 0 to `most`.
    pub fn cost(self, most: f64) -> Result<Cost, CostError> {
        Cost::from_fn((0.0, most), |u| self.value(u))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_costs() {
        for (name, _, own) in BuiltInCost::ALL {
            let cost = own.cost(1e12).unwrap();
            for u in [1e-3, 0.7, 20.0, 3e5] {
                let off = (cost.value(u) - own.value(u)).abs();
                assert!(off <= cost.error_at(u), "{name} at {u}: {off:e}");
            }
            assert!(cost.error_bound() < 1e-7, "{name}: {:e}", cost.error_bound());
        }
    }
}
