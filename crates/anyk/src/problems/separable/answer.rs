//! Answers for the users of a cell, as JSON and as tables.

use serde::Serialize;

use crate::exchange::{Extra, UserRecord};
use crate::framework::{CellAnswer, Denied, Problem, Show, Text};
use crate::invalid::Invalid;
use crate::problems::separable::{Separable, SeparableSolution, SeparableSolver, SeparableStatus};

/// What comes back for one cell.
pub type SeparableAnswer = CellAnswer<SeparableServed>;

/// Powers of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeparableServed {
    /// `optimal`; `inaccurate` where the gap is over 1e-8; `learned` from a model.
    pub status: &'static str,
    /// `Σ c_k`.
    pub total_cost: f64,
    /// `Σ x_k`, W.
    pub total_power_w: f64,
    /// Bound on `(total − optimum)/(|total| + price·X)`; for a learned answer the distance itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duality_gap: Option<f64>,
    /// What one more watt would save; the solver's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
    /// For a model whether the cell is like those that it was trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_distribution: Option<bool>,
    /// What of it is not, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_range: Option<Vec<String>>,
    /// The users, in the input's order.
    pub users: Vec<SeparableUser>,
}

/// One user of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeparableUser {
    /// The user's id.
    pub id: String,
    /// `x_k`, W.
    pub power_w: f64,
    /// `u_k = α_k x_k`, the SNR.
    pub snr: f64,
    /// `c_k(u_k)`.
    pub cost: f64,
    /// What the file says beside what is known.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SeparableServed {
    /// Any amounts, beside the users' ids; how far they are from the optimum is still to be said.
    pub fn new<'a>(
        problem: &Separable,
        amounts: &[f64],
        records: impl Iterator<Item = &'a UserRecord>,
    ) -> Result<Self, Invalid> {
        let amounts = amounts.to_vec();
        let judged = problem.judge(&amounts)?;
        let user = |(user, (&power_w, record)): (usize, (&f64, &'a UserRecord))| {
            let snr = problem.gains()[user] * power_w;
            let cost = problem.cost_of(user).value(snr);
            SeparableUser { id: record.id.clone(), power_w, snr, cost, extra: record.extra.clone() }
        };
        Ok(Self {
            status: "learned",
            total_cost: judged.objective,
            total_power_w: judged.total,
            duality_gap: None,
            price: None,
            in_distribution: None,
            out_of_range: None,
            users: amounts.iter().zip(records).enumerate().map(user).collect(),
        })
    }

    fn solved<'a>(
        problem: &Separable,
        solution: &SeparableSolution,
        records: impl Iterator<Item = &'a UserRecord>,
    ) -> Result<Self, Invalid> {
        let mut served = Self::new(problem, &solution.amounts, records)?;
        let optimal = solution.status == SeparableStatus::Optimal;
        served.status = if optimal { "optimal" } else { "inaccurate" };
        served.duality_gap = Some(solution.duality_gap);
        served.price = Some(solution.price);
        Ok(served)
    }
}

/// Solves one cell and puts the answer beside the users' ids.
pub(super) fn solve(
    solver: &mut SeparableSolver,
    problem: &Separable,
    records: &[UserRecord],
) -> Result<SeparableAnswer, Invalid> {
    let solution = solver.solve(problem);
    let SeparableStatus::Infeasible(why) = &solution.status else {
        let served = SeparableServed::solved(problem, &solution, records.iter())?;
        return Ok(CellAnswer::Served(served));
    };
    let admissible = if why.admissible.is_empty() {
        None
    } else {
        let part = problem.subset(&why.admissible);
        let kept = why.admissible.iter().filter_map(|&index| records.get(index));
        Some(SeparableServed::solved(&part, &solver.solve(&part), kept)?)
    };
    Ok(CellAnswer::Denied(Denied::new(problem.budget(), why, records, admissible)))
}

impl Show for SeparableServed {
    const USER_FIELDS: &'static [&'static str] = &["power_w", "snr", "cost"];

    fn show(&self) -> Text {
        let rows = self.users.iter().map(|user| {
            vec![user.id.clone(), digits(user.power_w), digits(user.snr), digits(user.cost)]
        });
        let total = vec![
            "total".to_owned(),
            digits(self.total_power_w),
            String::new(),
            digits(self.total_cost),
        ];
        let mut text = Text::default();
        text.table(&["user", "power (W)", "SNR", "cost"], rows.chain([total]));
        let status = self.status;
        let gap = self.duality_gap.unwrap_or(0.0);
        text.push(match self.price {
            Some(price) => format!(
                "{status}: the sum of costs is within {gap:.1e} of the least; a watt is worth {price:.4e} here"
            ),
            None => format!("{status}: the sum of costs is {:.4} % over the least", 100.0 * gap),
        });
        for outside in self.out_of_range.iter().flatten() {
            text.push(format!("outside of what the model was trained on: {outside}"));
        }
        text
    }
}

/// Seven digits, whatever the size.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size > 0.0 && !(1e-3..1e6).contains(&size) {
        format!("{value:.6e}")
    } else {
        format!("{value:.6}")
    }
}
