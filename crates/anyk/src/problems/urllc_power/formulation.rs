//! Cells in a fixed band as instances: objective, judge, and reports on allocations.

use crate::core::{
    Allocation, Facts, Formulation, Goal, Judged, NamedArray, Report, Reporting, Text,
};
use crate::framework::{Error, Infeasibility, check_amounts};
use crate::invalid::Invalid;
use crate::problems::urllc::{
    UrllcAllocation, check_range, details, features, missed, outside_lines, outside_rate_formula,
    user_inputs, work,
};
use crate::problems::urllc_power::{URLLC_POWER, UrllcPower};

/// Objective of a fixed band: the total power.
const GOAL: Goal = Goal { name: "total power", unit: "W", larger_is_better: false };

/// Formats a power in watts with seven digits.
fn watts(power_w: f64) -> String {
    if (1e-3..1e6).contains(&power_w) { format!("{power_w:.6}") } else { format!("{power_w:.6e}") }
}

impl Formulation for UrllcPower {
    fn goal(&self) -> Goal {
        GOAL
    }

    fn value(&self, given: &Allocation) -> f64 {
        given.amounts[0].iter().sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        check_range(given, &["power_w", "bandwidth_hz"])?;
        let allocation = UrllcAllocation::of(given);
        let judged = self.assess(&allocation)?;
        // Of the two budgets, report the one that is used more.
        let band = 1.0 + judged.bandwidth_excess;
        let power = self.max_power_w().map_or(0.0, |most| judged.total_power_w / most);
        Ok(Judged {
            value: judged.total_power_w,
            missed: Some(missed(self.cell(), &allocation)),
            budget_used: Some(band.max(power)),
            kkt_residual: judged.kkt_residual,
        })
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        let (band_hz, size) = (self.max_bandwidth_hz(), self.size());
        check_amounts("bandwidth", &given.amounts[1], size, Some(band_hz))?;
        check_amounts("power", &given.amounts[0], size, self.max_power_w())
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let allocation = UrllcAllocation::of(given);
        let total_w = allocation.total_power_w();
        let details = details(self.cell(), &allocation, how.checks, watts)?;
        let mut facts = Facts::default()
            .with("total_power_w", total_w)
            .with("total_bandwidth_hz", allocation.total_bandwidth_hz())
            .with("max_bandwidth_hz", self.max_bandwidth_hz());
        let gap = match given.proof {
            Some(proof) => Some(proof.duality_gap),
            None if how.checks => (how.reference)()?.map(|optimum| 1.0 - optimum.value / total_w),
            None => None,
        };
        if let Some(gap) = gap {
            facts.push("duality_gap", gap);
        }
        if let Some(proof) = given.proof {
            facts.push("price_w_per_hz", proof.price);
        }
        let mut availability = None;
        if how.checks {
            let met = self.assess(&allocation)?.availability;
            availability = Some(met);
            facts.push("availability", met);
        }
        facts.extend(&given.facts);
        let (status, band) = (how.status.name(), self.max_bandwidth_hz());
        let gap = gap.unwrap_or(0.0);
        let mut text = Text::line(match (given.proof, availability) {
            (Some(proof), _) => format!(
                "{status}: total power within {gap:.1e} of the optimum in {band:.0} Hz; bandwidth is worth \
                 {:.4e} W/Hz here",
                proof.price
            ),
            (None, None) => format!("{status}, in {band:.0} Hz: not checked"),
            (None, Some(availability)) => format!(
                "{status}: the QoS of {:.2} % of users is met in {band:.0} Hz; total power {:.4} % above the \
                 exact optimum",
                100.0 * availability,
                100.0 * gap / (1.0 - gap)
            ),
        });
        outside_lines(URLLC_POWER.name, &facts, &mut text);
        Ok(Report { details, facts, text, row: Vec::new() })
    }

    fn warning(&self, given: &Allocation) -> Option<String> {
        outside_rate_formula(self.cell(), given)
    }

    fn budgets(&self) -> Facts {
        let budgets = Facts::default().with("max_bandwidth_hz", self.max_bandwidth_hz());
        budgets.with("max_power_w", self.max_power_w())
    }

    fn shortfall(&self, why: &Infeasibility) -> String {
        let band = self.max_bandwidth_hz();
        match (why.required_power_w, self.max_power_w()) {
            (Some(required), Some(budget)) => format!(
                "serving every user in {band:.0} Hz takes at least {} W, {} W more than the budget of {} W",
                watts(required),
                watts(why.shortfall_w.unwrap_or(0.0)),
                watts(budget)
            ),
            _ => format!("no power serves every user in {band:.0} Hz"),
        }
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let mut inputs = user_inputs(self.cell());
        inputs.push(NamedArray::one("max_bandwidth_hz", self.max_bandwidth_hz()));
        inputs.extend(self.max_power_w().map(|watts| NamedArray::one("max_power_w", watts)));
        inputs
    }

    fn features(&self) -> Vec<f64> {
        features(self.cell())
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.subset(users))
    }

    fn work(&self, _: usize) -> usize {
        work(self.cell())
    }
}
