//! Separable problems as instances: objective, judge, and reports on allocations.

use crate::core::{
    Allocation, Detail, Facts, Formulation, Goal, Judged, Missed, NamedArray, Report, Reporting,
    Text,
};
use crate::framework::{Error, Infeasibility, check_amounts};
use crate::invalid::Invalid;
use crate::problems::separable::Separable;
use crate::problems::urllc::{check_range, outside_lines, power_shortfall};

const GOAL: Goal =
    Goal { name: "sum of costs", unit: "units of the cost", larger_is_better: false };

impl Formulation for Separable {
    fn goal(&self) -> Goal {
        GOAL
    }

    fn value(&self, given: &Allocation) -> f64 {
        let users = given.amounts[0].iter().zip(self.gains()).enumerate();
        users.map(|(user, (amount, gain))| self.cost(user, gain * amount)).sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        check_range(given, &["power_w"])?;
        let amounts = &given.amounts[0];
        let judged = self.assess(amounts)?;
        let (mut missed, mut value) = (Vec::new(), 0.0);
        for (user, (amount, gain)) in amounts.iter().zip(self.gains()).enumerate() {
            let (snr, cost) = (gain * amount, self.cost_of(user));
            let least = cost.range().0;
            // A user below the minimum counts with the cost at the minimum, since no other value is known.
            value += self.cost(user, snr.max(least));
            if !cost.value(snr).is_finite() {
                missed.push(Missed { user, what: "SNR", value: snr, target: least });
            }
        }
        Ok(Judged {
            value,
            missed: Some(missed),
            budget_used: Some(1.0 + judged.budget_excess),
            kkt_residual: judged.kkt_residual,
        })
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        check_amounts("amount", &given.amounts[0], self.size(), Some(self.budget()))
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let amounts = &given.amounts[0];
        let judged = self.assess(amounts)?;
        let (total_cost, total_power_w) = (judged.objective, judged.total);
        let snr: Vec<f64> = self.gains().iter().zip(amounts).map(|(gain, x)| gain * x).collect();
        let costs = snr.iter().enumerate().map(|(user, &snr)| self.cost(user, snr)).collect();
        let detail = |name, head, values, total| Detail { name, head, values, total, show: digits };
        let details = vec![
            detail("power_w", "power (W)", amounts.clone(), Some(total_power_w)),
            detail("snr", "SNR", snr, None),
            detail("cost", "cost", costs, Some(total_cost)),
        ];
        let mut facts =
            Facts::default().with("total_cost", total_cost).with("total_power_w", total_power_w);
        let status = how.status;
        let mut text = Text::line(match given.proof {
            Some(proof) => {
                facts.push("duality_gap", proof.duality_gap);
                facts.push("price", proof.price);
                format!(
                    "{status}: the sum of costs is within {:.1e} of the minimum; a watt is worth {:.4e} here",
                    proof.duality_gap, proof.price
                )
            }
            None => {
                let optimum = (how.reference)()?;
                let gap = optimum.map(|optimum| {
                    let price = optimum.proof.map_or(0.0, |proof| proof.price);
                    (total_cost - optimum.value) / (optimum.value.abs() + price * self.budget())
                });
                let gap = gap.filter(|gap| gap.is_finite());
                if let Some(gap) = gap {
                    facts.push("duality_gap", gap);
                }
                let percent = 100.0 * gap.unwrap_or(0.0);
                format!("{status}: the sum of costs is {percent:.4} % above the minimum")
            }
        });
        facts.extend(&given.facts);
        outside_lines("separable", &facts, &mut text);
        Ok(Report { details, facts, text, row: Vec::new() })
    }

    fn budgets(&self) -> Facts {
        Facts::default().with("max_power_w", self.budget())
    }

    fn shortfall(&self, why: &Infeasibility) -> String {
        power_shortfall(why, self.budget())
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let classes = self.classes().iter().map(|&class| class as f64).collect();
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::each("classes", classes),
            NamedArray::each("weights", self.weights().to_vec()),
            NamedArray::one("budget", self.budget()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        self.gains().iter().map(|gain| gain.ln()).collect()
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.subset(users))
    }
}

/// Formats a value with seven digits.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size > 0.0 && !(1e-3..1e6).contains(&size) {
        format!("{value:.6e}")
    } else {
        format!("{value:.6}")
    }
}
