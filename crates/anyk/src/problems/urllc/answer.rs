//! Answers, as JSON.

use serde::Serialize;

use crate::exchange::UserRecord;
use crate::framework::Guarantee;
use crate::framework::Infeasibility;
use crate::framework::ProblemError;
use crate::problems::urllc::Certificate;
use crate::problems::urllc::{Allocation, Urllc};
use crate::problems::urllc::{Solution, Status, UrllcSolver};

/// What comes back for one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Every user has an allocation.
    Served(Served),
    /// The budget does not reach everyone.
    Denied(Denied),
}

/// An allocation of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Served {
    /// `optimal`; `inaccurate` where the gap is over 1e-8; `learned` from a model.
    pub status: &'static str,
    /// `Σ B_k`, Hz.
    pub total_bandwidth_hz: f64,
    /// `Σ P_k`, W.
    pub total_power_w: f64,
    /// Bound on `(total − optimum) / total`; for a learned answer the distance itself, which is
    /// negative if the answer takes less bandwidth than the users need. Absent where there is no
    /// optimum, since the power cannot serve everyone or the law of fading is not known.
    pub duality_gap: Option<f64>,
    /// Dual variable of the power constraint, Hz/W; the solver's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_hz_per_w: Option<f64>,
    /// Share of users whose QoS is met, for a learned answer: the solver's are always all. Absent where the
    /// law of fading is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// What certifying did, if asked for.
    #[serde(flatten)]
    pub certificate: Option<Certified>,
    /// For a model whether the cell is like those that it was trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_distribution: Option<bool>,
    /// What of it is not, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_range: Option<Vec<String>>,
    /// What a calibrated model promises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// The users, in the input's order.
    pub users: Vec<ServedUser>,
}

/// What certifying an answer did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certified {
    /// Every user's QoS holds.
    pub certified: bool,
    /// Users whose bandwidth was raised.
    pub raised_users: usize,
    /// Users whose bandwidth was so large that it was in the way.
    pub lowered_users: usize,
    /// What was added to all of them, less what was taken away, Hz.
    pub added_bandwidth_hz: f64,
    /// Ids of the users that are not certified: their power is too low for any bandwidth.
    pub uncertified: Vec<String>,
}

/// One user of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServedUser {
    /// The user's id.
    pub id: String,
    /// `P_k`, W.
    pub power_w: f64,
    /// `B_k`, Hz.
    pub bandwidth_hz: f64,
    /// Achieved packet loss, by quadrature; absent where the law of fading is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_loss: Option<f64>,
    /// Whether the QoS holds, by quadrature and not by the table that bandwidths come from; if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified: Option<bool>,
}

/// Why a cell cannot be served, and what part of it can.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Denied<S = Served> {
    /// `infeasible`.
    pub status: &'static str,
    /// The budget, W.
    pub max_power_w: f64,
    /// Least power that could serve everyone, W.
    pub required_power_w: f64,
    /// What is missing, W.
    pub shortfall_w: f64,
    /// Users in the largest set that can be served.
    pub admissible_count: usize,
    /// Ids of the users dropped, the most expensive first.
    pub dropped: Vec<String>,
    /// The optimum for the users that can be served; absent if there is none.
    pub admissible: Option<S>,
}

impl Answer {
    /// Solves one cell exactly and puts the answer beside the users' ids.
    pub fn solve(
        solver: &mut UrllcSolver,
        problem: &Urllc,
        records: &[UserRecord],
    ) -> Result<Self, ProblemError> {
        let solution = solver.solve(problem);
        let Status::Infeasible(infeasible) = &solution.status else {
            return Ok(Self::Served(Served::new(problem, &solution, records.iter())?));
        };
        let admissible = if infeasible.admissible.is_empty() {
            None
        } else {
            let part = problem.subset(&infeasible.admissible);
            let solution = solver.solve(&part);
            let records = infeasible.admissible.iter().filter_map(|&index| records.get(index));
            Some(Served::new(&part, &solution, records)?)
        };
        Ok(Self::denied(problem, infeasible, records, admissible))
    }

    /// A cell that cannot be served, with an answer for those of it who can.
    pub fn denied(
        problem: &Urllc,
        why: &Infeasibility,
        records: &[UserRecord],
        admissible: Option<Served>,
    ) -> Self {
        Self::Denied(Denied::new(problem.max_power_w(), why, records, admissible))
    }
}

impl<S> Denied<S> {
    /// From what the solver says, with the answer for those who can be served.
    pub(crate) fn new(
        max_power_w: f64,
        why: &Infeasibility,
        records: &[UserRecord],
        admissible: Option<S>,
    ) -> Self {
        Self {
            status: "infeasible",
            max_power_w,
            required_power_w: why.required_power_w,
            shortfall_w: why.shortfall_w,
            admissible_count: why.admissible.len(),
            dropped: why
                .dropped
                .iter()
                .filter_map(|&index| records.get(index).map(|record| record.id.clone()))
                .collect(),
            admissible,
        }
    }
}

impl Served {
    /// A model's allocation of one cell, beside the exact optimum.
    pub fn learned(
        solver: &mut UrllcSolver,
        problem: &Urllc,
        allocation: &Allocation,
        records: &[UserRecord],
    ) -> Result<Self, ProblemError> {
        let mut served = Self::unjudged(allocation, records.iter());
        served.availability = Some(problem.assess(allocation)?.availability);
        served.add_losses(problem, allocation)?;
        let solution = solver.solve(problem);
        if !matches!(solution.status, Status::Infeasible(_)) {
            let optimum_hz = solution.allocation.total_bandwidth_hz();
            served.duality_gap = Some(1.0 - optimum_hz / served.total_bandwidth_hz);
        }
        Ok(served)
    }

    /// A model's allocation of one cell where the law of fading is not known: nothing is said of losses and of
    /// the optimum.
    pub fn unjudged<'a>(
        allocation: &Allocation,
        records: impl Iterator<Item = &'a UserRecord>,
    ) -> Self {
        let rows = records.zip(&allocation.power_w).zip(&allocation.bandwidth_hz);
        let users = rows
            .map(|((record, &power_w), &bandwidth_hz)| ServedUser {
                id: record.id.clone(),
                power_w,
                bandwidth_hz,
                packet_loss: None,
                certified: None,
            })
            .collect();
        Self {
            status: "learned",
            total_bandwidth_hz: allocation.total_bandwidth_hz(),
            total_power_w: allocation.total_power_w(),
            duality_gap: None,
            price_hz_per_w: None,
            availability: None,
            certificate: None,
            in_distribution: None,
            out_of_range: None,
            guarantee: None,
            users,
        }
    }

    fn add_losses(&mut self, problem: &Urllc, allocation: &Allocation) -> Result<(), ProblemError> {
        for (user, packet_loss) in self.users.iter_mut().zip(problem.packet_losses(allocation)?) {
            user.packet_loss = Some(packet_loss);
        }
        Ok(())
    }

    /// Says what of the cell is outside of what the model was trained on.
    pub fn flag(&mut self, out_of_range: Vec<String>) {
        self.in_distribution = Some(out_of_range.is_empty());
        self.out_of_range = Some(out_of_range);
    }

    /// Says what certifying did, and checks each user again by quadrature.
    pub fn certify(&mut self, problem: &Urllc, certificate: &Certificate) {
        let mut uncertified = Vec::new();
        for (answer, user) in self.users.iter_mut().zip(problem.users()) {
            let received_w = user.gain * answer.power_w;
            let margin =
                problem.classes()[user.class].margin(received_w.ln(), answer.bandwidth_hz.ln());
            let holds = margin.value >= 0.0;
            answer.certified = Some(holds);
            if !holds {
                uncertified.push(answer.id.clone());
            }
        }
        self.certificate = Some(Certified {
            certified: uncertified.is_empty(),
            raised_users: certificate.raised_users,
            lowered_users: certificate.lowered_users,
            added_bandwidth_hz: certificate.added_bandwidth_hz,
            uncertified,
        });
    }

    fn new<'a>(
        problem: &Urllc,
        solution: &Solution,
        records: impl Iterator<Item = &'a UserRecord>,
    ) -> Result<Self, ProblemError> {
        let mut served = Self::unjudged(&solution.allocation, records);
        served.add_losses(problem, &solution.allocation)?;
        served.status = if solution.status == Status::Optimal { "optimal" } else { "inaccurate" };
        served.duality_gap = Some(solution.duality_gap);
        served.price_hz_per_w = Some(solution.price_hz_per_w);
        Ok(served)
    }
}
