//! Answers for interference networks, as JSON and as tables.

use serde::Serialize;

use crate::framework::{Show, Text};
use crate::invalid::Invalid;
use crate::problems::interference::{Interference, PowerSolution};
use crate::tolerance;

/// What comes back for one interference network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerAnswer {
    /// `optimal` (no schedule is better), `converged`, `iteration-limit`, `heuristic` or `learned`.
    pub status: &'static str,
    /// Sum rate, bit/s/Hz.
    pub sum_rate_bits: f64,
    /// The objective where links have weights: each rate counts so many times, bit/s/Hz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_sum_rate_bits: Option<f64>,
    /// Iterations done, or nodes of the search visited.
    pub iterations: usize,
    /// Every power is 0 or `P_max` (to 1e-3 of it).
    pub binary: bool,
    /// First-order optimality, 0 at a stationary point.
    pub kkt_residual: f64,
    /// What the best switch of a single link would add, bit/s/Hz; not positive if there is none.
    pub best_switch_bits: f64,
    /// Powers in the unit of `P_max`, in the input's order.
    pub power: Vec<f64>,
    /// Sum rate before each iteration and at the end, bit/s/Hz, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_bits: Vec<f64>,
    /// Rates of the links, bit/s/Hz.
    #[serde(skip)]
    pub rates_bits: Vec<f64>,
    /// `P_max` of each transmitter.
    #[serde(skip)]
    pub max_power: Vec<f64>,
    /// Weights of the links, if they have any.
    #[serde(skip)]
    pub weights: Option<Vec<f64>>,
}

impl PowerAnswer {
    /// A solver's answer, judged by the problem.
    pub fn new(problem: &Interference, solution: PowerSolution) -> Result<Self, Invalid> {
        let power = solution.powers(problem);
        let judged = problem.assess(&power)?;
        let max_power = problem.max_power().to_vec();
        let shares: Vec<f64> =
            power.iter().zip(&max_power).map(|(power, most)| power / most).collect();
        Ok(Self {
            status: solution.status.as_str(),
            sum_rate_bits: judged.sum_rate_bits,
            weighted_sum_rate_bits: judged.weighted_sum_rate_bits,
            iterations: solution.iterations,
            binary: judged.binary,
            kkt_residual: judged.kkt_residual,
            best_switch_bits: judged.best_switch_bits,
            power,
            trace_bits: solution.trace_bits,
            rates_bits: problem.rates_bits(&shares).collect(),
            max_power,
            weights: problem.weights().map(<[f64]>::to_vec),
        })
    }

    /// Links with power, to the share that counts as none.
    fn links_on(&self) -> String {
        let on = |(power, most): &(&f64, &f64)| **power > tolerance::BINARY * **most;
        let count = self.power.iter().zip(&self.max_power).filter(on).count();
        format!("{count} of {}", self.power.len())
    }

    /// A power to six digits behind the point, in whatever unit `P_max` is.
    fn shown(&self, power: f64) -> String {
        let most = self.max_power.iter().copied().fold(0.0, f64::max);
        if (0.1..1e6).contains(&most) { format!("{power:.6}") } else { format!("{power:.6e}") }
    }

    /// What the objective is called.
    fn objective(&self) -> &'static str {
        if self.weights.is_some() { "weighted sum rate (bit/s/Hz)" } else { "sum rate (bit/s/Hz)" }
    }

    /// A few lines of the trace: 0, 1, 2, 5, 10, 20, 50, … and the last.
    fn show_trace(&self, text: &mut Text) {
        let Some(last) = self.trace_bits.len().checked_sub(1) else { return };
        let decades = (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
        let shown = [0].into_iter().chain(decades).filter(|&at| at < last).chain([last]);
        let rows = shown.map(|at| vec![at.to_string(), format!("{:.6}", self.trace_bits[at])]);
        text.push("");
        text.table(&["iteration", self.objective()], rows);
        text.push("");
    }
}

/// Answers for all networks of an input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerAnswers {
    /// In the input's order.
    pub instances: Vec<PowerAnswer>,
}

impl Show for PowerAnswers {
    fn show(&self) -> Text {
        match self.instances.as_slice() {
            [answer] => answer.show(),
            answers => many(answers),
        }
    }
}

impl Show for PowerAnswer {
    fn show(&self) -> Text {
        let mut text = Text::default();
        let rows = self.power.iter().zip(&self.rates_bits).enumerate();
        let rows = rows.map(|(link, (power, rate_bits))| {
            let row = [link.to_string(), self.shown(*power), format!("{rate_bits:.6}")];
            let weight = self.weights.as_ref().map(|weights| weights[link].to_string());
            row.into_iter().chain(weight).collect()
        });
        let total = self.shown(self.power.iter().sum());
        let mut total = vec!["total".into(), total, format!("{:.6}", self.sum_rate_bits)];
        let mut header = vec!["link", "power", "rate (bit/s/Hz)"];
        if self.weights.is_some() {
            header.push("weight");
            total.push(String::new());
        }
        text.table(&header, rows.chain([total]));
        if let Some(weighted_bits) = self.weighted_sum_rate_bits {
            text.push(format!("weighted sum rate: {weighted_bits:.6} bit/s/Hz"));
        }
        self.show_trace(&mut text);
        let powers = if self.binary { "a schedule" } else { "powers between 0 and the largest" };
        text.push(format!(
            "{}: {powers}, {} links on; KKT residual {:.1e}; switching one link would {} {:.4} bit/s/Hz",
            self.status,
            self.links_on(),
            self.kkt_residual,
            if self.best_switch_bits > 0.0 { "add" } else { "cost" },
            self.best_switch_bits.abs(),
        ));
        text
    }
}

fn many(answers: &[PowerAnswer]) -> Text {
    let rows = answers.iter().enumerate().map(|(index, answer)| {
        vec![
            index.to_string(),
            format!("{:.6}", answer.weighted_sum_rate_bits.unwrap_or(answer.sum_rate_bits)),
            answer.links_on(),
            if answer.binary { "yes" } else { "no" }.to_owned(),
            answer.iterations.to_string(),
            format!("{:.1e}", answer.kkt_residual),
            answer.status.to_owned(),
        ]
    });
    let header = [
        "instance",
        answers.first().map_or("sum rate (bit/s/Hz)", PowerAnswer::objective),
        "links on",
        "schedule",
        "iterations",
        "KKT residual",
        "status",
    ];
    let mut text = Text::default();
    text.table(&header, rows);
    text
}
