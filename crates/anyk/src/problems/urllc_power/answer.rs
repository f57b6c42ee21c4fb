//! Answers, as JSON and as tables.

use serde::Serialize;

use crate::exchange::{Extra, UserRecord};
use crate::framework::{Problem, Show, Text, dropped_line, names};
use crate::invalid::Invalid;
use crate::problems::urllc::Allocation;
use crate::problems::urllc_power::{Admission, BandSolution, BandSolver, BandStatus, UrllcPower};

/// What comes back for one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BandAnswer {
    /// Every user has an allocation.
    Served(BandServed),
    /// The budgets do not reach everyone.
    Denied(BandDenied),
}

/// An allocation of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandServed {
    /// `optimal`; `inaccurate` where the gap is over 1e-8; `learned` from a model.
    pub status: &'static str,
    /// `Σ P_k`, W.
    pub total_power_w: f64,
    /// `Σ B_k`, Hz.
    pub total_bandwidth_hz: f64,
    /// The band, Hz.
    pub max_bandwidth_hz: f64,
    /// Bound on `(total − optimum) / total`; for a learned answer the distance itself. Absent where it was not looked
    /// for, or where there is no optimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duality_gap: Option<f64>,
    /// What one more Hz would save, W/Hz; the solver's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_w_per_hz: Option<f64>,
    /// Share of users whose QoS is met, by quadrature; absent without checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// For a model whether the cell is like those that it was trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_distribution: Option<bool>,
    /// What of it is not, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_range: Option<Vec<String>>,
    /// The users, in the input's order.
    pub users: Vec<BandUser>,
}

/// One user of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandUser {
    /// The user's id.
    pub id: String,
    /// `P_k`, W.
    pub power_w: f64,
    /// `B_k`, Hz.
    pub bandwidth_hz: f64,
    /// Achieved packet loss, by quadrature; absent without checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_loss: Option<f64>,
    /// What the file says beside what is known.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why a cell cannot be served, and what part of it can.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandDenied {
    /// `infeasible`.
    pub status: &'static str,
    /// The band, Hz.
    pub max_bandwidth_hz: f64,
    /// The power budget, W, if there is one.
    pub max_power_w: Option<f64>,
    /// Least power that could serve everyone in the band, W; absent where none could.
    pub required_power_w: Option<f64>,
    /// What is missing, W.
    pub shortfall_w: Option<f64>,
    /// Users in the largest set that was found to fit.
    pub admissible_count: usize,
    /// No set that fits has more users than this: with the count, the proof that it is the largest.
    pub admissible_at_most: usize,
    /// Ids of the users dropped, the most expensive first.
    pub dropped: Vec<String>,
    /// The optimum for the users that can be served; absent if there is none.
    pub admissible: Option<BandServed>,
}

impl BandServed {
    /// The solver's answer, judged if it is to be checked.
    pub fn solved<'a>(
        problem: &UrllcPower,
        solution: &BandSolution,
        records: impl Iterator<Item = &'a UserRecord>,
        checks: bool,
    ) -> Result<Self, Invalid> {
        let optimal = solution.status == BandStatus::Optimal;
        let mut served = Self::learned(problem, &solution.allocation, records, checks)?;
        served.status = if optimal { "optimal" } else { "inaccurate" };
        served.duality_gap = Some(solution.duality_gap);
        served.price_w_per_hz = Some(solution.price_w_per_hz);
        Ok(served)
    }

    /// Any answer, judged if it is to be checked; its distance to the optimum is still to be said.
    pub fn learned<'a>(
        problem: &UrllcPower,
        allocation: &Allocation,
        records: impl Iterator<Item = &'a UserRecord>,
        checks: bool,
    ) -> Result<Self, Invalid> {
        let rows = allocation.power_w.iter().zip(&allocation.bandwidth_hz);
        let mut users: Vec<BandUser> = records
            .zip(rows)
            .map(|(record, (&power_w, &bandwidth_hz))| BandUser {
                id: record.id.clone(),
                power_w,
                bandwidth_hz,
                packet_loss: None,
                extra: record.extra.clone(),
            })
            .collect();
        let mut availability = None;
        if checks {
            availability = Some(problem.judge(allocation)?.availability);
            for (user, loss) in users.iter_mut().zip(problem.cell().packet_losses(allocation)?) {
                user.packet_loss = Some(loss);
            }
        }
        Ok(Self {
            status: "learned",
            total_power_w: allocation.total_power_w(),
            total_bandwidth_hz: allocation.total_bandwidth_hz(),
            max_bandwidth_hz: problem.max_bandwidth_hz(),
            duality_gap: None,
            price_w_per_hz: None,
            availability,
            in_distribution: None,
            out_of_range: None,
            users,
        })
    }
}

impl BandAnswer {
    /// Solves one cell and puts the answer beside the users' ids.
    pub fn solve(
        solver: &mut BandSolver,
        problem: &UrllcPower,
        records: &[UserRecord],
        checks: bool,
    ) -> Result<Self, Invalid> {
        let solution = solver.solve(problem);
        match &solution.status {
            BandStatus::Infeasible(why) => Self::denied(solver, problem, why, (records, checks)),
            _ => Ok(Self::Served(BandServed::solved(problem, &solution, records.iter(), checks)?)),
        }
    }

    fn denied(
        solver: &mut BandSolver,
        problem: &UrllcPower,
        why: &Admission,
        (records, checks): (&[UserRecord], bool),
    ) -> Result<Self, Invalid> {
        let part = problem.subset(&why.admissible);
        let admissible = if why.admissible.is_empty() {
            None
        } else {
            let solution = solver.solve(&part);
            let kept = why.admissible.iter().filter_map(|&index| records.get(index));
            Some(BandServed::solved(&part, &solution, kept, checks)?)
        };
        Ok(Self::Denied(BandDenied {
            status: "infeasible",
            max_bandwidth_hz: problem.max_bandwidth_hz(),
            max_power_w: problem.max_power_w(),
            required_power_w: why.required_power_w,
            shortfall_w: why.shortfall_w,
            admissible_count: why.admissible.len(),
            admissible_at_most: why.at_most,
            dropped: names(&why.dropped, records),
            admissible,
        }))
    }
}

impl Show for BandServed {
    const USER_FIELDS: &'static [&'static str] = &["power_w", "bandwidth_hz", "packet_loss"];

    fn show(&self) -> Text {
        let rows = self.users.iter().map(|user| {
            vec![
                user.id.clone(),
                watts(user.power_w),
                format!("{:.1}", user.bandwidth_hz),
                user.packet_loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.3e}")),
            ]
        });
        let total = vec![
            "total".to_owned(),
            watts(self.total_power_w),
            format!("{:.1}", self.total_bandwidth_hz),
            String::new(),
        ];
        let mut text = Text::default();
        text.table(&["user", "power (W)", "bandwidth (Hz)", "packet loss"], rows.chain([total]));
        let (status, band) = (self.status, self.max_bandwidth_hz);
        let gap = self.duality_gap.unwrap_or(0.0);
        text.push(match (self.price_w_per_hz, self.availability) {
            (Some(price), _) => format!(
                "{status}: total power within {gap:.1e} of the optimum in {band:.0} Hz; bandwidth is worth \
                 {price:.4e} W/Hz here"
            ),
            (None, None) => format!("{status}, in {band:.0} Hz: not judged"),
            (None, Some(availability)) => format!(
                "{status}: the QoS of {:.2} % of users is met in {band:.0} Hz; total power {:.4} % over the \
                 exact optimum",
                100.0 * availability,
                100.0 * gap / (1.0 - gap)
            ),
        });
        for outside in self.out_of_range.iter().flatten() {
            text.push(format!("outside of what the model was trained on: {outside}"));
        }
        text
    }
}

/// Watts to seven digits, whatever their size.
fn watts(power_w: f64) -> String {
    if (1e-3..1e6).contains(&power_w) { format!("{power_w:.6}") } else { format!("{power_w:.6e}") }
}

impl Show for BandAnswer {
    const USER_FIELDS: &'static [&'static str] = BandServed::USER_FIELDS;

    fn show(&self) -> Text {
        let denied = match self {
            Self::Served(served) => return served.show(),
            Self::Denied(denied) => denied,
        };
        let band = denied.max_bandwidth_hz;
        let mut text = Text::line(match (denied.required_power_w, denied.max_power_w) {
            (Some(required), Some(budget)) => format!(
                "infeasible: serving everyone in {band:.0} Hz takes at least {} W, {} W more than the budget of {} W",
                watts(required),
                watts(denied.shortfall_w.unwrap_or(0.0)),
                watts(budget)
            ),
            _ => format!("infeasible: no power serves everyone in {band:.0} Hz"),
        });
        text.push(dropped_line(denied.admissible_count, &denied.dropped));
        let (found, most) = (denied.admissible_count, denied.admissible_at_most);
        text.push(if found == most {
            "no larger set fits".to_owned()
        } else {
            format!("a larger set may fit: at most {most}")
        });
        if let Some(admissible) = &denied.admissible {
            text.push("");
            text.push("the answer without the others:");
            text.append(admissible.show());
        }
        text
    }

    fn serves_all(&self) -> bool {
        matches!(self, Self::Served(_))
    }
}
