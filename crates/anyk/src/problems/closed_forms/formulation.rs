//! Cells of (P5) and (P6) as instances: objective, judge, and reports on allocations.

use crate::core::{
    Allocation, Detail, Fact, Facts, Formulation, Goal, Judged, Missed, NamedArray, Report,
    Reporting, Text,
};
use crate::framework::{Error, Infeasibility, check_amounts};
use crate::invalid::Invalid;
use crate::problems::closed_forms::{
    CommonAllocation, EqualBandwidth, QosPower, RateAssessment, RateTarget,
};
use crate::problems::urllc::{check_range, power_shortfall};
use crate::tolerance;

const POWER: Goal = Goal { name: "total power", unit: "W", larger_is_better: false };
const BANDWIDTH: Goal =
    Goal { name: "bandwidth of each user", unit: "Hz", larger_is_better: false };

impl CommonAllocation {
    /// Reads the amounts of an allocation.
    pub fn of(given: &Allocation) -> Self {
        let bandwidth_hz = given.amounts[1].first().copied().unwrap_or_default();
        Self { power_w: given.amounts[0].clone(), bandwidth_hz }
    }
}

/// Returns the users whose rate is not met, beyond rounding.
fn missed(target: &RateTarget, rates_bps: &[f64]) -> Vec<Missed> {
    let target = target.rate_bps();
    let users = rates_bps.iter().enumerate();
    users
        .filter(|(_, rate)| **rate < target * (1.0 - tolerance::BUDGET))
        .map(|(user, &value)| Missed { user, what: "rate, bit/s", value, target })
        .collect()
}

/// Returns the logarithms `ln g` of gains.
fn logarithms(gains: &[f64]) -> Vec<f64> {
    gains.iter().map(|gain| gain.ln()).collect()
}

/// Builds the report on an allocation: objective, verdict, bandwidth of each user, and rates.
fn report(
    (given, value): (&Allocation, f64),
    judged: &RateAssessment,
    (bandwidth_hz, rates_bps): (f64, Vec<f64>),
    how: &mut Reporting<'_>,
) -> Result<Report, Error> {
    let RateAssessment { total_power_w, total_bandwidth_hz, kkt_residual, availability, .. } =
        *judged;
    let details = vec![
        Detail {
            name: "power_w",
            head: "power (W)",
            values: given.amounts[0].clone(),
            total: Some(total_power_w),
            show: |watts| format!("{watts:.4e}"),
        },
        Detail {
            name: "rate_bps",
            head: "rate (bit/s)",
            values: rates_bps,
            total: None,
            show: |rate| format!("{rate:.1}"),
        },
    ];
    let mut facts = Facts::default()
        .with("total_power_w", total_power_w)
        .with("bandwidth_hz", Fact::Shared(bandwidth_hz))
        .with("total_bandwidth_hz", total_bandwidth_hz)
        .with("kkt_residual", kkt_residual);
    let worth = if given.proof.is_some() {
        format!("KKT residual {kkt_residual:.1e}")
    } else {
        facts.push("availability", availability);
        match (how.reference)()? {
            Some(optimum) => {
                let gap = 100.0 * (value / optimum.value - 1.0);
                facts.push("gap_percent", gap);
                let met = 100.0 * availability;
                format!(
                    "the rate of {met:.2} % of users is met; {gap:+.3} % compared with the optimum"
                )
            }
            None => "the power budget cannot serve every user; see `anyk solve`".to_owned(),
        }
    };
    facts.extend(&given.facts);
    let text = Text::line(format!(
        "{}: {bandwidth_hz:.1} Hz for each user, {total_bandwidth_hz:.1} Hz in all; {worth}",
        how.status
    ));
    Ok(Report { details, facts, text, row: Vec::new() })
}

impl Formulation for QosPower {
    fn goal(&self) -> Goal {
        POWER
    }

    fn value(&self, given: &Allocation) -> f64 {
        given.amounts[0].iter().sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        check_range(given, &["power_w"])?;
        let judged = self.assess(&given.amounts[0])?;
        Ok(Judged {
            value: judged.total_power_w,
            missed: Some(missed(self.target(), &self.rates_bps(&given.amounts[0])?)),
            budget_used: None,
            kkt_residual: judged.kkt_residual,
        })
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        check_amounts("power", &given.amounts[0], self.gains().len(), None)
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let judged = self.assess(&given.amounts[0])?;
        let rates_bps = self.rates_bps(&given.amounts[0])?;
        report((given, self.value(given)), &judged, (self.bandwidth_hz(), rates_bps), how)
    }

    fn inputs(&self) -> Vec<NamedArray> {
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::one("rate_bps", self.target().rate_bps()),
            NamedArray::one("bandwidth_hz", self.bandwidth_hz()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        logarithms(self.gains())
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.subset(users))
    }
}

impl Formulation for EqualBandwidth {
    fn goal(&self) -> Goal {
        BANDWIDTH
    }

    fn value(&self, given: &Allocation) -> f64 {
        given.amounts[1][0]
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        check_range(given, &["power_w", "bandwidth_hz"])?;
        let allocation = CommonAllocation::of(given);
        let judged = self.assess(&allocation)?;
        Ok(Judged {
            value: allocation.bandwidth_hz,
            missed: Some(missed(self.target(), &self.rates_bps(&allocation)?)),
            budget_used: Some(1.0 + judged.power_excess),
            kkt_residual: judged.kkt_residual,
        })
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        let [power_w, bandwidth_hz] = [&given.amounts[0], &given.amounts[1]];
        check_amounts("power", power_w, self.gains().len(), Some(self.max_power_w()))?;
        check_amounts("bandwidth", bandwidth_hz, 1, None)
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let allocation = CommonAllocation::of(given);
        let judged = self.assess(&allocation)?;
        let rates_bps = self.rates_bps(&allocation)?;
        let bandwidth_hz = allocation.bandwidth_hz;
        report((given, bandwidth_hz), &judged, (bandwidth_hz, rates_bps), how)
    }

    fn budgets(&self) -> Facts {
        Facts::default().with("max_power_w", self.max_power_w())
    }

    fn shortfall(&self, why: &Infeasibility) -> String {
        power_shortfall(why, self.max_power_w())
    }

    fn inputs(&self) -> Vec<NamedArray> {
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::one("rate_bps", self.target().rate_bps()),
            NamedArray::one("max_power_w", self.max_power_w()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        logarithms(self.gains())
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.subset(users))
    }
}
