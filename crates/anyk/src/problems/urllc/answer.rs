//! Answers of URLLC, as JSON and as tables.

use serde::Serialize;

use crate::exchange::{Extra, UserRecord};
use crate::framework::{Guarantee, Show, Status, Text};
use crate::invalid::Invalid;
use crate::problems::urllc::{Allocation, Certificate, Solution, Urllc};

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
    /// law of fading is not known, and without checks.
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
    /// Achieved packet loss, by quadrature; absent where the law of fading is not known, and without checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_loss: Option<f64>,
    /// Whether the QoS holds, by quadrature and not by the table that bandwidths come from; if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified: Option<bool>,
    /// What the file says beside what is known.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Served {
    /// A model's allocation of one cell, judged, beside the exact optimum if there is one.
    pub fn learned(
        problem: &Urllc,
        allocation: &Allocation,
        optimum_hz: Option<f64>,
        records: &[UserRecord],
    ) -> Result<Self, Invalid> {
        let mut served = Self::unjudged(allocation, records.iter());
        served.availability = Some(problem.assess(allocation)?.availability);
        served.add_losses(problem, allocation)?;
        served.duality_gap =
            optimum_hz.map(|optimum_hz| 1.0 - optimum_hz / served.total_bandwidth_hz);
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
                extra: record.extra.clone(),
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

    fn add_losses(&mut self, problem: &Urllc, allocation: &Allocation) -> Result<(), Invalid> {
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

    /// The solver's answer, with each user's packet loss if it is to be checked.
    pub fn solved<'a>(
        problem: &Urllc,
        solution: &Solution,
        records: impl Iterator<Item = &'a UserRecord>,
        checks: bool,
    ) -> Result<Self, Invalid> {
        let mut served = Self::unjudged(&solution.allocation, records);
        if checks {
            served.add_losses(problem, &solution.allocation)?;
        }
        served.status = if solution.status == Status::Optimal { "optimal" } else { "inaccurate" };
        served.duality_gap = Some(solution.duality_gap);
        served.price_hz_per_w = Some(solution.price_hz_per_w);
        Ok(served)
    }
}

impl Show for Served {
    const USER_FIELDS: &'static [&'static str] = &["power_w", "bandwidth_hz", "packet_loss"];

    fn show(&self) -> Text {
        let rows = self.users.iter().map(|user| {
            vec![
                user.id.clone(),
                format!("{:.6}", user.power_w),
                format!("{:.1}", user.bandwidth_hz),
                user.packet_loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.3e}")),
            ]
        });
        let total = vec![
            "total".to_owned(),
            format!("{:.6}", self.total_power_w),
            format!("{:.1}", self.total_bandwidth_hz),
            String::new(),
        ];
        let mut text = Text::default();
        text.table(&["user", "power (W)", "bandwidth (Hz)", "packet loss"], rows.chain([total]));
        text.push(self.verdict());
        if let Some(certificate) = &self.certificate {
            text.push(certificate.sentence());
        }
        if let Some(guarantee) = &self.guarantee {
            text.push(guarantee.sentence());
        }
        for outside in self.out_of_range.iter().flatten() {
            text.push(format!("outside of what the model was trained on: {outside}"));
        }
        text
    }
}

impl Served {
    /// What the answer is worth, in a line.
    fn verdict(&self) -> String {
        let status = self.status;
        match (self.duality_gap, self.price_hz_per_w, self.availability) {
            (Some(gap), Some(price), _) => format!(
                "{status}: total bandwidth within {gap:.1e} of the optimum; power is worth {price:.4e} Hz/W here"
            ),
            (_, _, None) => format!(
                "{status}, not judged: without checks, or from samples of fading, whose law is not known (`fading` names \
                 one to judge by)"
            ),
            (gap, _, Some(availability)) => {
                let met = 100.0 * availability;
                let beside = match gap {
                    Some(gap) => format!(
                        "total bandwidth {:.2} % over the exact optimum",
                        100.0 * gap / (1.0 - gap)
                    ),
                    None => "the power cannot serve everyone, see `anyk solve`".to_owned(),
                };
                format!("{status}: the QoS of {met:.2} % of users is met; {beside}")
            }
        }
    }
}

impl Certified {
    fn sentence(&self) -> String {
        let who = if self.uncertified.is_empty() {
            "every user".to_owned()
        } else {
            format!("not {}, whose power no bandwidth makes up for", self.uncertified.join(", "))
        };
        let changed = self.raised_users + self.lowered_users;
        let added = self.added_bandwidth_hz;
        format!("certified by quadrature: {who}; {added:.1} Hz added to {changed} users")
    }
}
