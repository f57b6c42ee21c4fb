//! Cells of URLLC as instances: objective, judge, and reports on allocations.

use crate::core::{
    Allocation, Detail, Fact, Facts, Formulation, Goal, Judged, Missed, NamedArray, Report,
    Reporting, Text,
};
use crate::framework::{Error, Infeasibility, check_amounts};
use crate::invalid::Invalid;
use crate::problems::urllc::{URLLC, Urllc, UrllcAllocation};
use crate::qos::ServiceClass;

/// Objective of (P1): the total bandwidth.
const GOAL: Goal = Goal { name: "total bandwidth", unit: "Hz", larger_is_better: false };
/// Maximum power in W, or bandwidth in Hz, that the judge accepts; squares of larger values would overflow.
const MOST_AMOUNT: f64 = 1e15;

impl UrllcAllocation {
    /// Reads the amounts of an allocation.
    pub fn of(given: &Allocation) -> Self {
        let amount = |at: usize| given.amounts.get(at).cloned().unwrap_or_default();
        Self { power_w: amount(0), bandwidth_hz: amount(1) }
    }

    /// Lets a function write the amounts of an allocation without copying them.
    pub fn within<R>(into: &mut Allocation, write: impl FnOnce(&mut Self) -> R) -> R {
        let mut take = |at: usize| into.amounts.get_mut(at).map(std::mem::take).unwrap_or_default();
        let mut typed = Self { power_w: take(0), bandwidth_hz: take(1) };
        let found = write(&mut typed);
        into.amounts.clear();
        into.amounts.extend([typed.power_w, typed.bandwidth_hz]);
        found
    }
}

impl From<UrllcAllocation> for Allocation {
    fn from(typed: UrllcAllocation) -> Self {
        Self::of(vec![typed.power_w, typed.bandwidth_hz])
    }
}

/// Returns the users whose QoS does not hold, with their packet losses.
pub(crate) fn missed(problem: &Urllc, allocation: &UrllcAllocation) -> Vec<Missed> {
    let rows = allocation.power_w.iter().zip(&allocation.bandwidth_hz);
    let users = problem.users().iter().zip(rows).enumerate();
    users
        .filter_map(|(user, (one, (&power_w, &bandwidth_hz)))| {
            let qos = &problem.classes()[one.class];
            let received_w = one.gain * power_w;
            let holds = power_w > 0.0
                && bandwidth_hz > 0.0
                && qos.margin(received_w.ln(), bandwidth_hz.ln()).value >= 0.0;
            (!holds).then(|| Missed {
                user,
                what: "packet loss",
                value: qos.packet_loss(received_w, bandwidth_hz),
                target: qos.service().epsilon,
            })
        })
        .collect()
}

/// Rejects amounts that are negative, not finite or larger than the judge accepts.
pub(crate) fn check_range(given: &Allocation, names: &[&'static str]) -> Result<(), Error> {
    for (name, values) in names.iter().zip(&given.amounts) {
        let unfit = |value: &f64| !(0.0..=MOST_AMOUNT).contains(value);
        if let Some(user) = values.iter().position(unfit) {
            let expected = format!("a number from 0 to {MOST_AMOUNT:e}");
            return Err(Invalid::number(*name, values[user], expected).of_user(user).into());
        }
    }
    Ok(())
}

/// Returns the logarithms `ln α` of users.
pub(crate) fn features(problem: &Urllc) -> Vec<f64> {
    problem.users().iter().map(|user| user.gain.ln()).collect()
}

/// Returns the input arrays of the users of a cell.
pub(crate) fn user_inputs(problem: &Urllc) -> Vec<NamedArray> {
    let mut columns = [const { Vec::new() }; 4];
    for user in problem.users() {
        let ServiceClass { epsilon, packet_bits, arrival_rate } =
            problem.classes()[user.class].service();
        let values = [user.gain, epsilon, packet_bits, arrival_rate];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let names = ["gains", "epsilon", "packet_bits", "arrival_rate"];
    names.into_iter().zip(columns).map(|(name, values)| NamedArray::each(name, values)).collect()
}

/// Estimates the work for a cell; the table of a class takes as long as thousands of users.
pub(crate) fn work(problem: &Urllc) -> usize {
    problem.users().len() + 5_000 * problem.classes().len()
}

/// Returns the powers, bandwidths and packet losses of users for a report.
pub(crate) fn details(
    problem: &Urllc,
    allocation: &UrllcAllocation,
    checks: bool,
    watts: fn(f64) -> String,
) -> Result<Vec<Detail>, Invalid> {
    let losses = if checks { problem.packet_losses(allocation)? } else { Vec::new() };
    Ok(vec![
        Detail {
            name: "power_w",
            head: "power (W)",
            values: allocation.power_w.clone(),
            total: Some(allocation.total_power_w()),
            show: watts,
        },
        Detail {
            name: "bandwidth_hz",
            head: "bandwidth (Hz)",
            values: allocation.bandwidth_hz.clone(),
            total: Some(allocation.total_bandwidth_hz()),
            show: |hz| format!("{hz:.1}"),
        },
        Detail {
            name: "packet_loss",
            head: "packet loss",
            values: losses,
            total: None,
            show: |loss| format!("{loss:.3e}"),
        },
    ])
}

/// Adds one line for each value outside the training ranges of a model, and one that says what to do.
pub(crate) fn outside_lines(problem: &str, facts: &Facts, text: &mut Text) {
    let Some(Fact::Texts(all)) = facts.get("out_of_range") else { return };
    if all.is_empty() {
        return;
    }
    all.iter().for_each(|outside| text.push(format!("outside the training range: {outside}")));
    text.push(format!(
        "to extend the range, train a model with these values (`anyk train {problem}`), or use `anyk solve {problem}`"
    ));
}

/// Minimum number of channel uses in a frame for which the normal approximation is meant to hold.
const LEAST_USES: f64 = 100.0;
/// Maximum spectral efficiency at which modems follow the rate formula, bit/s/Hz: slightly above that of 256-QAM.
const MOST_EFFICIENCY: f64 = 8.0;

/// Returns a warning if some user is outside the range of the rate formula. The warning contains the fewest channel
/// uses and the largest spectral efficiency of all users.
pub(crate) fn outside_rate_formula(problem: &Urllc, given: &Allocation) -> Option<String> {
    let rows = problem.users().iter().zip(given.amounts.get(1)?);
    let figures = rows.filter(|(_, hz)| **hz > 0.0).map(|(user, &bandwidth_hz)| {
        let qos = &problem.classes()[user.class];
        (qos.channel_uses(bandwidth_hz), qos.spectral_efficiency(bandwidth_hz))
    });
    let all = (f64::INFINITY, 0.0f64);
    let (uses, efficiency) = figures.fold(all, |all, one| (all.0.min(one.0), all.1.max(one.1)));
    let is_outside = uses < LEAST_USES || efficiency > MOST_EFFICIENCY;
    is_outside.then(|| {
        format!(
            "the rate formula is meant for {LEAST_USES} channel uses or more and {MOST_EFFICIENCY} bit/s/Hz or less; \
             users have as few as {} channel uses and need up to {} bit/s/Hz",
            short(uses),
            short(efficiency)
        )
    })
}

/// Formats a positive number with three digits.
fn short(value: f64) -> String {
    if (0.01..10.0).contains(&value) {
        format!("{value:.2}")
    } else if (10.0..1e5).contains(&value) {
        format!("{value:.0}")
    } else {
        format!("{value:.2e}")
    }
}

/// Describes the shortfall of a power budget that cannot serve every user.
pub(crate) fn power_shortfall(why: &Infeasibility, max_power_w: f64) -> String {
    format!("{why} of {max_power_w:.6} W")
}

impl Formulation for Urllc {
    fn goal(&self) -> Goal {
        GOAL
    }

    fn value(&self, given: &Allocation) -> f64 {
        given.amounts[1].iter().sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        check_range(given, &["power_w", "bandwidth_hz"])?;
        let allocation = UrllcAllocation::of(given);
        let judged = self.assess(&allocation)?;
        Ok(Judged {
            value: judged.total_bandwidth_hz,
            missed: Some(missed(self, &allocation)),
            budget_used: Some(1.0 + judged.power_excess),
            kkt_residual: judged.kkt_residual,
        })
    }

    fn check(&self, given: &Allocation) -> Result<(), Invalid> {
        check_amounts("power", &given.amounts[0], self.size(), Some(self.max_power_w()))?;
        check_amounts("bandwidth", &given.amounts[1], self.size(), None)
    }

    fn report(&self, given: &Allocation, how: &mut Reporting<'_>) -> Result<Report, Error> {
        let allocation = UrllcAllocation::of(given);
        let total_hz = allocation.total_bandwidth_hz();
        let checks = how.checks && how.judges;
        let details = details(self, &allocation, checks, |watts| format!("{watts:.6}"))?;
        let mut facts = Facts::default()
            .with("total_bandwidth_hz", total_hz)
            .with("total_power_w", allocation.total_power_w());
        let mut availability = None;
        let gap = match given.proof {
            Some(proof) => Some(proof.duality_gap),
            None if checks => {
                availability = Some(self.assess(&allocation)?.availability);
                (how.reference)()?.map(|optimum| 1.0 - optimum.value / total_hz)
            }
            None => None,
        };
        facts.push("duality_gap", gap);
        if let Some(proof) = given.proof {
            facts.push("price_hz_per_w", proof.price);
        }
        if let Some(availability) = availability {
            facts.push("availability", availability);
        }
        facts.extend(&given.facts);
        let price = given.proof.map(|proof| proof.price);
        let mut text = Text::line(worth(how.status.name(), gap, price, availability));
        text.parts.extend(certificate_line(&given.facts));
        for name in ["guarantee", "no_guarantee"] {
            if let Some(Fact::Json(_, sentence)) = facts.get(name) {
                text.push(sentence.clone());
            }
        }
        outside_lines(URLLC.name, &facts, &mut text);
        Ok(Report { details, facts, text, row: Vec::new() })
    }

    fn warning(&self, given: &Allocation) -> Option<String> {
        outside_rate_formula(self, given)
    }

    fn budgets(&self) -> Facts {
        Facts::default().with("max_power_w", self.max_power_w())
    }

    fn shortfall(&self, why: &Infeasibility) -> String {
        power_shortfall(why, self.max_power_w())
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let mut inputs = user_inputs(self);
        inputs.push(NamedArray::one("max_power_w", self.max_power_w()));
        inputs
    }

    fn features(&self) -> Vec<f64> {
        features(self)
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        Box::new(self.subset(users))
    }

    fn work(&self, _: usize) -> usize {
        work(self)
    }
}

/// Returns one line on the quality of an allocation.
fn worth(status: &str, gap: Option<f64>, price: Option<f64>, availability: Option<f64>) -> String {
    match (gap, price, availability) {
        (Some(gap), Some(price), _) => format!(
            "{status}: total bandwidth within {gap:.1e} of the optimum; power is worth {price:.4e} Hz/W here"
        ),
        (_, _, None) => format!(
            "{status}, not checked: checks are off, or the fading distribution is unknown (set `fading` to check \
             under a distribution or samples)"
        ),
        (gap, _, Some(availability)) => {
            let met = 100.0 * availability;
            let beside = match gap {
                Some(gap) => format!(
                    "total bandwidth {:.2} % above the exact optimum",
                    100.0 * gap / (1.0 - gap)
                ),
                None => "the power budget cannot serve every user; see `anyk solve`".to_owned(),
            };
            format!("{status}: the QoS of {met:.2} % of users is met; {beside}")
        }
    }
}

/// Returns one line on the changes that certification made.
fn certificate_line(facts: &Facts) -> Option<crate::core::TextPart> {
    let Some(Fact::Texts(uncertified)) = facts.get("uncertified") else { return None };
    let count = |name: &str| match facts.get(name) {
        Some(Fact::Count(count)) => *count,
        _ => 0,
    };
    let who = if uncertified.is_empty() {
        "every user".to_owned()
    } else {
        format!("not {}, whose power is too low for any bandwidth", uncertified.join(", "))
    };
    let changed = count("raised_users") + count("lowered_users");
    let added = facts.number("added_bandwidth_hz").unwrap_or_default();
    let line = format!("certified by quadrature: {who}; {added:.1} Hz added to {changed} users");
    Some(crate::core::TextPart::Line(line))
}
