//! Answers of the problems with closed forms, (P5) and (P6).

use serde::Serialize;

use crate::exchange::{Extra, UserRecord};
use crate::framework::{CellAnswer, Denied, Show, Status, Text};
use crate::invalid::Invalid;
use crate::problems::closed_forms::{CommonAllocation, EqualBandwidth, QosPower, RateAssessment};
use crate::problems::closed_forms::{solve_equal_bandwidth, solve_qos_power};

/// What comes back for one cell.
pub type RateAnswer = CellAnswer<RateServed>;

/// An allocation of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateServed {
    /// `optimal`, or `learned` from a model.
    pub status: &'static str,
    /// `Σ P_k`, W.
    pub total_power_w: f64,
    /// `B` of each user, Hz: given in (P5), found in (P6).
    pub bandwidth_hz: f64,
    /// `K·B`, Hz.
    pub total_bandwidth_hz: f64,
    /// Largest violation of the KKT conditions, relative.
    pub kkt_residual: f64,
    /// Share of users whose rate is met, for a learned answer: the optimum's are always all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<f64>,
    /// For a learned answer what it takes over the optimum, power in (P5) and bandwidth in (P6), percent;
    /// negative if it takes less than the users need. Absent where there is no optimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_percent: Option<f64>,
    /// The users, in the input's order.
    pub users: Vec<RateUser>,
}

/// One user of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateUser {
    /// The user's id.
    pub id: String,
    /// `P_k`, W.
    pub power_w: f64,
    /// Rate that this gives, bit/s.
    pub rate_bps: f64,
    /// What the file says beside what is known.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The optimum of (P5), beside the users' ids.
pub fn answer_qos_power(problem: &QosPower, records: &[UserRecord]) -> Result<RateAnswer, Invalid> {
    let power_w = solve_qos_power(problem);
    Ok(CellAnswer::Served(RateServed::of_qos_power(problem, "optimal", power_w, records)?))
}

/// The optimum of (P6), beside the users' ids.
pub fn answer_equal_bandwidth(
    problem: &EqualBandwidth,
    records: &[UserRecord],
) -> Result<RateAnswer, Invalid> {
    let all: Vec<&UserRecord> = records.iter().collect();
    let solution = solve_equal_bandwidth(problem);
    let Status::Infeasible(why) = &solution.status else {
        let served = RateServed::of_common(problem, "optimal", &solution.allocation, &all)?;
        return Ok(CellAnswer::Served(served));
    };
    let part = problem.subset(&why.admissible);
    let rest = solve_equal_bandwidth(&part);
    let admissible = if why.admissible.is_empty() || rest.status != Status::Optimal {
        None
    } else {
        let kept: Vec<&UserRecord> =
            why.admissible.iter().filter_map(|&index| records.get(index)).collect();
        Some(RateServed::of_common(&part, "optimal", &rest.allocation, &kept)?)
    };
    Ok(CellAnswer::Denied(Denied::new(problem.max_power_w(), why, records, admissible)))
}

impl RateServed {
    /// A model's powers for (P5), beside the optimum.
    pub fn learned_qos_power(
        problem: &QosPower,
        allocation: CommonAllocation,
        records: &[UserRecord],
    ) -> Result<Self, Invalid> {
        let optimum: f64 = solve_qos_power(problem).iter().sum();
        let availability = problem.assess(&allocation.power_w)?.availability;
        let served = Self::of_qos_power(problem, "learned", allocation.power_w, records)?;
        let gap_percent = Some(100.0 * (served.total_power_w / optimum - 1.0));
        Ok(Self { availability: Some(availability), gap_percent, ..served })
    }

    /// A model's allocation for (P6), beside the optimum.
    pub fn learned_equal_bandwidth(
        problem: &EqualBandwidth,
        allocation: &CommonAllocation,
        records: &[UserRecord],
    ) -> Result<Self, Invalid> {
        let records: Vec<&UserRecord> = records.iter().collect();
        let exact = solve_equal_bandwidth(problem);
        let gap = || 100.0 * (allocation.bandwidth_hz / exact.allocation.bandwidth_hz - 1.0);
        let availability = problem.assess(allocation)?.availability;
        let served = Self::of_common(problem, "learned", allocation, &records)?;
        let gap_percent = (exact.status == Status::Optimal).then(gap);
        Ok(Self { availability: Some(availability), gap_percent, ..served })
    }

    fn of_qos_power(
        problem: &QosPower,
        status: &'static str,
        power_w: Vec<f64>,
        records: &[UserRecord],
    ) -> Result<Self, Invalid> {
        let judged = problem.assess(&power_w)?;
        let rates = problem.rates_bps(&power_w)?;
        let allocation = CommonAllocation { power_w, bandwidth_hz: problem.bandwidth_hz() };
        let records: Vec<&UserRecord> = records.iter().collect();
        Ok(Self::new(status, &judged, &allocation, rates, &records))
    }

    fn of_common(
        problem: &EqualBandwidth,
        status: &'static str,
        allocation: &CommonAllocation,
        records: &[&UserRecord],
    ) -> Result<Self, Invalid> {
        let judged = problem.assess(allocation)?;
        let rates = problem.rates_bps(allocation)?;
        Ok(Self::new(status, &judged, allocation, rates, records))
    }

    fn new(
        status: &'static str,
        judged: &RateAssessment,
        allocation: &CommonAllocation,
        rates: Vec<f64>,
        records: &[&UserRecord],
    ) -> Self {
        let rows = records.iter().zip(&allocation.power_w).zip(rates);
        let users = rows.map(|((record, &power_w), rate_bps)| RateUser {
            id: record.id.clone(),
            power_w,
            rate_bps,
            extra: record.extra.clone(),
        });
        Self {
            status,
            total_power_w: judged.total_power_w,
            bandwidth_hz: allocation.bandwidth_hz,
            total_bandwidth_hz: judged.total_bandwidth_hz,
            kkt_residual: judged.kkt_residual,
            availability: None,
            gap_percent: None,
            users: users.collect(),
        }
    }
}

impl Show for RateServed {
    const USER_FIELDS: &'static [&'static str] = &["power_w", "rate_bps", "bandwidth_hz"];

    fn show(&self) -> Text {
        let rows = self.users.iter().map(|user| {
            vec![user.id.clone(), format!("{:.4e}", user.power_w), format!("{:.1}", user.rate_bps)]
        });
        let total = vec!["total".to_owned(), format!("{:.4e}", self.total_power_w), String::new()];
        let mut text = Text::default();
        text.table(&["user", "power (W)", "rate (bit/s)"], rows.chain([total]));
        let worth = match (self.availability, self.gap_percent) {
            (None, _) => format!("KKT residual {:.1e}", self.kkt_residual),
            (Some(met), Some(gap)) => format!(
                "the rate of {:.2} % of users is met; {gap:+.3} % to the optimum",
                100.0 * met
            ),
            (Some(_), None) => "the power cannot serve everyone, see `anyk solve`".to_owned(),
        };
        text.push(format!(
            "{}: {:.1} Hz for each user, {:.1} Hz in all; {worth}",
            self.status, self.bandwidth_hz, self.total_bandwidth_hz
        ));
        text
    }
}
