//! Networks as instances: objective, judge, and reports on powers.

use crate::core::{
    Allocation, Detail, Fact, Facts, Formulation, Goal, Judged, NamedArray, Report, Reporting, Text,
};
use crate::framework::Error;
use crate::invalid::Invalid;
use crate::problems::interference::{Interference, is_binary};
use crate::tolerance;

const GOAL: Goal = Goal { name: "sum rate", unit: "bit/s/Hz", larger_is_better: true };
const WEIGHTED: Goal = Goal { name: "weighted sum rate", ..GOAL };
/// Multiple of the maximum power up to which the judge accepts powers.
const ABSURD: f64 = 1e9;
/// Share of `P_max` below which a link counts as off, as in the paper: under WMMSE powers fall without ever
/// reaching 0.
const OFF: f64 = 1e-3;
/// Name of the fact that contains the objective of each iteration.
pub(super) const TRACE: &str = "trace_bits";

impl Interference {
    /// Writes the powers that correspond to shares of `P_max`.
    pub(super) fn write(&self, shares: &[f64], into: &mut Allocation) {
        into.amounts.resize_with(1, Vec::new);
        let powers = &mut into.amounts[0];
        powers.clear();
        powers.extend(shares.iter().zip(self.max_power()).map(|(share, most)| share * most));
    }

    /// Rejects powers that are negative, or more than `times` the maximum.
    fn check_range(&self, powers: &[f64], times: f64) -> Result<(), Invalid> {
        let unfit = |power: f64, most: f64| !(0.0..=times * most).contains(&power);
        let mut pairs = powers.iter().zip(self.max_power()).enumerate();
        match pairs.find(|(_, (power, most))| unfit(**power, **most)) {
            None => Ok(()),
            Some((link, (power, most))) => {
                let field = format!("the power of link {link}");
                let expected = format!("a number from 0 to its maximum of {most:e}");
                Err(Invalid::value(field, format!("{power:e}"), expected))
            }
        }
    }

    /// Rejects powers other than a schedule if the problem requires one.
    fn check_schedule(&self, is_schedule: bool) -> Result<(), Invalid> {
        if is_schedule || !self.is_scheduling() {
            return Ok(());
        }
        Err(Invalid::value("a power", "neither 0 nor the maximum", "a schedule"))
    }

    /// Returns the name of the objective.
    fn objective(&self) -> &'static str {
        match self.weights() {
            Some(_) => "weighted sum rate (bit/s/Hz)",
            None => "sum rate (bit/s/Hz)",
        }
    }

    /// Adds lines of the trace for the iterations 0, 1, 2, 5, 10, 20, 50, … and for the last one.
    fn show_trace(&self, trace_bits: &[f64], text: &mut Text) {
        let Some(last) = trace_bits.len().checked_sub(1) else { return };
        let decades = (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
        let shown = [0].into_iter().chain(decades).filter(|&at| at < last).chain([last]);
        let rows = shown.map(|at| vec![at.to_string(), format!("{:.6}", trace_bits[at])]);
        text.push("");
        text.table(&["iteration", self.objective()], rows);
        text.push("");
    }

    /// Returns the powers, rates and weights of the links for a table.
    fn details(&self, powers: &[f64], sum_rate_bits: f64) -> Vec<Detail> {
        let most = self.max_power().iter().copied().fold(0.0, f64::max);
        // Six digits after the decimal point for any unit of `P_max`.
        let show: fn(f64) -> String = if (0.1..1e6).contains(&most) {
            |power| format!("{power:.6}")
        } else {
            |power| format!("{power:.6e}")
        };
        let shares = self.shares(powers);
        let mut details = vec![
            Detail {
                name: "power",
                head: "power",
                values: powers.to_vec(),
                total: Some(powers.iter().sum()),
                show,
            },
            Detail {
                name: "",
                head: "rate (bit/s/Hz)",
                values: self.rates_bits(&shares).collect(),
                total: Some(sum_rate_bits),
                show: |rate_bits| format!("{rate_bits:.6}"),
            },
        ];
        if let Some(weights) = self.weights() {
            let (values, show) = (weights.to_vec(), |weight: f64| weight.to_string());
            details.push(Detail { name: "", head: "weight", values, total: None, show });
        }
        details
    }
}

impl Formulation for Interference {
    fn goal(&self) -> Goal {
        if self.weights().is_some() { WEIGHTED } else { GOAL }
    }

    fn value(&self, given: &Allocation) -> f64 {
        self.sum_rate_bits(&self.shares(&given.amounts[0]))
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        let powers = &given.amounts[0];
        let refused = |wrong: Invalid| Error::Allocation(wrong.to_string());
        self.check_range(powers, ABSURD).map_err(refused)?;
        let judged = self.assess(powers)?;
        self.check_schedule(judged.binary).map_err(refused)?;
        let used = powers.iter().zip(self.max_power()).map(|(power, most)| power / most);
        Ok(Judged {
            value: judged.weighted_sum_rate_bits.unwrap_or(judged.sum_rate_bits),
            missed: None,
            budget_used: Some(used.fold(0.0, f64::max)),
            kkt_residual: judged.kkt_residual,
        })
    }

    fn results(&self, given: &Allocation) -> Vec<Vec<f64>> {
        vec![self.rates_bits(&self.shares(&given.amounts[0])).collect()]
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        let powers = &given.amounts[0];
        self.check_range(powers, 1.0 + tolerance::LEARNED_BUDGET)?;
        self.check_schedule(self.shares(powers).into_iter().all(is_binary))
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let powers = &given.amounts[0];
        let judged = self.assess(powers)?;
        let mut facts = Facts::default().with("sum_rate_bits", judged.sum_rate_bits);
        if let Some(weighted_bits) = judged.weighted_sum_rate_bits {
            facts.push("weighted_sum_rate_bits", weighted_bits);
        }
        facts.push("iterations", given.iterations.map_or(Fact::Unknown, Fact::Count));
        facts.push("binary", judged.binary);
        facts.push("kkt_residual", judged.kkt_residual);
        facts.push("best_switch_bits", judged.best_switch_bits);
        facts.extend(&given.facts);
        let on = |(power, most): &(&f64, &f64)| **power > tolerance::BINARY * **most;
        let on = powers.iter().zip(self.max_power()).filter(on).count();
        let links_on = format!("{on} of {}", powers.len());
        let (status, residual) = (how.status.name(), format!("{:.1e}", judged.kkt_residual));
        let mut text = Text::default();
        if let Some(weighted_bits) = judged.weighted_sum_rate_bits {
            text.push(format!("weighted sum rate: {weighted_bits:.6} bit/s/Hz"));
        }
        if let Some(Fact::Numbers(trace_bits)) = given.facts.get(TRACE) {
            self.show_trace(trace_bits, &mut text);
        }
        let kind = if judged.binary { "a schedule" } else { "powers between 0 and the maximum" };
        text.push(format!(
            "{status}: {kind}, {links_on} links on; KKT residual {residual}; switching one link would {} {:.4} bit/s/Hz",
            if judged.best_switch_bits > 0.0 { "add" } else { "cost" },
            judged.best_switch_bits.abs(),
        ));
        let value = judged.weighted_sum_rate_bits.unwrap_or(judged.sum_rate_bits);
        let iterations = given.iterations.map_or_else(|| "–".to_owned(), |count| count.to_string());
        let row = vec![
            (self.objective(), format!("{value:.6}")),
            ("links on", links_on),
            ("schedule", if judged.binary { "yes" } else { "no" }.to_owned()),
            ("iterations", iterations),
            ("KKT residual", residual),
            ("status", status.to_owned()),
        ];
        Ok(Report { details: self.details(powers, judged.sum_rate_bits), facts, text, row })
    }

    fn demands(&self) -> bool {
        false
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let size = self.size();
        let mut values = Vec::with_capacity(size * size);
        for (row, noise) in self.noise().iter().enumerate() {
            let normalised = self.normalised().row(row).iter().zip(self.max_power());
            values.extend(normalised.map(|(gain, most)| gain * (noise / most)));
        }
        let weights = (0..size).map(|link| self.weight(link)).collect();
        vec![
            NamedArray { name: "gains", shape: vec![size, size], values },
            NamedArray::each("max_power", self.max_power().to_vec()),
            NamedArray::each("noise", self.noise().to_vec()),
            NamedArray::each("weights", weights),
        ]
    }

    /// Returns the logarithms of the direct gains, in units of the noise; a gain of 0 counts as the smallest positive
    /// number.
    fn features(&self) -> Vec<f64> {
        let direct = |link| self.normalised().direct(link).max(f64::MIN_POSITIVE).ln();
        (0..self.size()).map(direct).collect()
    }

    /// Returns the powers as shares of `P_max`.
    fn outputs(&self, powers: &[f64]) -> Vec<f64> {
        let shares = powers.iter().zip(self.max_power()).map(|(power, most)| power / most);
        shares.map(|share| if share < OFF { 0.0 } else { share }).collect()
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.reordered(users))
    }

    fn work(&self, users: usize) -> usize {
        users * users
    }
}
