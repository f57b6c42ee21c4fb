//! Models as policies for any cell, with optional certificates, and with the solver for cells that the budget
//! cannot serve.

use crate::channel::FadingLaw;
use crate::config::System;
use crate::core::{Allocation, Fact, Facts, Instance, Outcome, Policy, Status};
use crate::exchange::{read_fading_samples, read_file};
use crate::framework::{CellOptions, Error, Guarantee, Options};
use crate::invalid::Invalid;
use crate::problems::urllc::{
    CellPolicy as _, Certificate, Certifier, Judge, LearnedAllocator, LearnedPolicy,
    PriceAllocator, PricePolicy, Urllc, UrllcAllocation, UrllcSolver,
};
use crate::tolerance;

/// Returns the fading distribution under which a model is judged: a distribution by name, or samples from a file.
pub(crate) fn judge(options: &Options, system: &System) -> Result<Option<Judge>, Error> {
    let Some(text) = options.text("fading") else { return Ok(None) };
    let error = match text.parse::<FadingLaw>() {
        Ok(law) => {
            return Ok(Some(Judge { name: law.to_string(), rule: system.fading_rule(&law) }));
        }
        Err(error) => error,
    };
    if !std::path::Path::new(text).exists() {
        let expected = format!("a fading distribution or an existing file: {error}");
        return Err(Invalid::value("fading", text, expected).into());
    }
    let bytes =
        read_file(text.as_ref()).map_err(|source| Error::Read { path: text.into(), source })?;
    let samples = read_fading_samples(&bytes, text)?;
    let name = format!("{} samples", samples.as_slice().len());
    Ok(Some(Judge { name, rule: samples.compressed_rule() }))
}

/// Post-processing of a model's allocations.
#[derive(Debug, Clone, Copy)]
struct How {
    /// Whether bandwidths are raised to certified values.
    certify: bool,
    /// Whether answers list values outside the training range and the model's guarantee.
    explain: bool,
}

impl How {
    fn new(options: &Options) -> Self {
        Self { certify: options.has("certify"), explain: options.has("explain") }
    }
}

/// Reports what certification changed, and checks each user again by quadrature.
fn add_certificate(
    instance: &Instance,
    problem: &Urllc,
    certificate: &Certificate,
    into: &mut Allocation,
) {
    let rows = into.amounts[0].iter().zip(&into.amounts[1]);
    let holds: Vec<bool> = problem
        .users()
        .iter()
        .zip(rows)
        .map(|(user, (power_w, bandwidth_hz))| {
            let qos = &problem.classes()[user.class];
            qos.margin((user.gain * power_w).ln(), bandwidth_hz.ln()).value >= 0.0
        })
        .collect();
    let missed = holds.iter().enumerate().filter(|(_, holds)| !**holds);
    let uncertified: Vec<String> = missed.map(|(user, _)| instance.record.id(user)).collect();
    into.facts.push("certified", uncertified.is_empty());
    into.facts.push("raised_users", certificate.raised_users);
    into.facts.push("lowered_users", certificate.lowered_users);
    into.facts.push("added_bandwidth_hz", certificate.added_bandwidth_hz);
    into.facts.push("uncertified", uncertified);
    into.facts.push("certified", Fact::Flags(holds));
}

/// Reports the values of a cell that are outside the model's training range.
pub(crate) fn add_outside(out_of_range: Vec<String>, facts: &mut Facts) {
    facts.push("in_distribution", out_of_range.is_empty());
    facts.push("out_of_range", out_of_range);
}

/// Reports the guarantee of a model if it covers the number of users, the cell and the service classes; otherwise the
/// reason why it does not.
fn add_guarantee(
    guarantee: Option<&Guarantee>,
    system: &System,
    instance: &Instance,
    facts: &mut Facts,
) -> Result<(), Error> {
    let Some(guarantee) = guarantee else { return Ok(()) };
    let problem: &Urllc = instance.formulation()?;
    let calibrated = CellOptions::ALL.describe(system.config());
    let other = instance.problem.options().other_than(&calibrated);
    let is_other = |class: usize| problem.classes()[class].service() != system.service();
    let user = problem.users().iter().position(|user| is_other(user.class));
    let k = instance.size().users;
    let reason = match (other, user) {
        _ if !guarantee.k.contains(&k) => format!("the model was not calibrated for K = {k}"),
        (Some((field, here, own)), _) => {
            format!("{field} is {here}, and the model was calibrated with {own}")
        }
        (None, Some(user)) => {
            let id = instance.record.id(user);
            format!("user {id} has another service class than in the calibration")
        }
        (None, None) => {
            let json = serde_json::value::to_raw_value(guarantee).map_err(Error::other)?;
            facts.push("guarantee", Fact::Json(json, guarantee.sentence()));
            return Ok(());
        }
    };
    let json = serde_json::value::to_raw_value(&reason).map_err(Error::other)?;
    facts.push("no_guarantee", Fact::Json(json, format!("no guarantee: {reason}")));
    Ok(())
}

/// P-GNN, M-GNN or FNN in cells with its own service class.
#[derive(Clone)]
pub(crate) struct OwnCells {
    allocator: LearnedAllocator,
    how: How,
    certifier: Certifier,
    /// Solver for cells that cannot be certified.
    solver: UrllcSolver,
}

impl OwnCells {
    pub(crate) fn new(policy: &LearnedPolicy, options: &Options) -> Self {
        let (allocator, how) = (policy.allocator(), How::new(options));
        Self { allocator, how, certifier: Certifier::default(), solver: UrllcSolver::default() }
    }
}

impl Policy for OwnCells {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Urllc = instance.formulation()?;
        let expected = self.allocator.policy().system().service();
        let is_other = |class: usize| problem.classes()[class].service() != expected;
        if let Some(user) = problem.users().iter().position(|user| is_other(user.class)) {
            return Err(Error::OwnClass {
                user: instance.record.id(user),
                expected: format!(
                    "the one that the model was trained for (epsilon {}, packet_bits {}, arrival_rate {}); `anyk \
                     solve` and the price policy accept any",
                    expected.epsilon, expected.packet_bits, expected.arrival_rate
                ),
            });
        }
        // If the budget cannot serve every user, nothing could be certified.
        let budget_w = (1.0 - tolerance::POWER_SLACK) * problem.max_power_w();
        if self.how.certify && self.certifier.least_power_w(problem) > budget_w {
            return self.solver.allocate(instance, into);
        }
        let outcome = self.allocator.allocate(instance, into)?;
        // A certificate must not hide an invalid allocation.
        instance.check(into)?;
        if self.how.certify {
            let certifier = &mut self.certifier;
            let certificate =
                UrllcAllocation::within(into, |typed| certifier.certify(problem, typed));
            if self.how.explain {
                add_certificate(instance, problem, &certificate, into);
                add_outside(self.allocator.policy().out_of_range(problem), &mut into.facts);
            }
        }
        if self.how.explain {
            let policy = self.allocator.policy();
            add_guarantee(policy.guarantee(), policy.system(), instance, &mut into.facts)?;
        }
        Ok(outcome)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Price policy in any cell.
#[derive(Clone)]
pub(crate) struct PriceCells {
    allocator: PriceAllocator,
    how: How,
    /// Solver for cells that the budget cannot serve.
    solver: UrllcSolver,
}

impl PriceCells {
    pub(crate) fn new(policy: &PricePolicy, options: &Options) -> Self {
        let (allocator, how) = (policy.allocator(), How::new(options));
        Self { allocator, how, solver: UrllcSolver::default() }
    }
}

impl Policy for PriceCells {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let outcome = self.allocator.allocate(instance, into)?;
        match &outcome {
            Outcome::Served(_) => {}
            Outcome::Infeasible(why) if why.is_exact => {
                return self.solver.allocate(instance, into);
            }
            _ => return Ok(outcome),
        }
        let How { certify, explain } = self.how;
        if !certify && !explain {
            return Ok(outcome);
        }
        instance.check(into)?;
        let problem: &Urllc = instance.formulation()?;
        if certify {
            let certifier = self.allocator.certifier();
            let certificate =
                UrllcAllocation::within(into, |typed| certifier.certify(problem, typed));
            if explain {
                add_certificate(instance, problem, &certificate, into);
            }
        }
        if explain {
            add_outside(self.allocator.out_of_range(problem), &mut into.facts);
            let policy = self.allocator.policy();
            add_guarantee(policy.guarantee(), policy.system(), instance, &mut into.facts)?;
        }
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
