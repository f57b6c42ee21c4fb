//! A URLLC policy's answer, in the form of `solve`.

use std::process::ExitCode;
use std::sync::Arc;

use anyk::System;
use anyk::channel::FadingQuadrature;
use anyk::exchange::{Answer, Served, read_users};
use anyk::policy::{Certifier, Guarantee, LearnedPolicy, SampledPolicy};
use anyk::problem::{Allocation, Urllc};
use anyk::solver::UrllcSolver;
use anyk::tolerance;

use crate::args::AllocateArgs;
use crate::commands::solve::Answers;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &AllocateArgs, policy: &LearnedPolicy) -> Result<ExitCode, Failure> {
    let guarantee = policy.record().guarantee.as_ref();
    let allocate = |gains: &[f64], allocation: &mut Allocation| {
        let mut sized = policy
            .at_size(gains.len())
            .map_err(|error| Failure::input(format!("{}: {error}", input::name(&args.input))))?;
        sized.allocate(gains, allocation);
        Ok(())
    };
    let out_of_range = |problem: &Urllc| policy.out_of_range(problem);
    answer(args, policy.system(), None, guarantee, allocate, out_of_range)
}

/// The same for a policy that was learned from samples of fading, judged by the fading given.
pub(super) fn run_sampled(
    args: &AllocateArgs,
    policy: &SampledPolicy,
) -> Result<ExitCode, Failure> {
    let system = policy.system();
    let fading = input::judging_fading(args.fading.as_deref(), &args.model, system)?;
    let allocate = |gains: &[f64], allocation: &mut Allocation| {
        policy.allocate(gains, allocation);
        Ok(())
    };
    answer(args, system, Some(&fading), None, allocate, |_| Vec::new())
}

fn answer(
    args: &AllocateArgs,
    system: &System,
    fading: Option<&Arc<FadingQuadrature>>,
    guarantee: Option<&Guarantee>,
    allocate: impl Fn(&[f64], &mut Allocation) -> Result<(), Failure>,
    out_of_range: impl Fn(&Urllc) -> Vec<String>,
) -> Result<ExitCode, Failure> {
    let bytes = input::read(&args.input)?;
    let name = input::name(&args.input);
    let cells = read_users(&bytes, name, system)?;
    drop(bytes);
    let mut solver = UrllcSolver::default();
    let mut certifier = Certifier::default();
    let mut answers = Answers::new(cells.len(), args.json);
    for records in &cells {
        if let Some(user) = records.iter().find(|record| record.service != system.service()) {
            return Err(Failure::input(format!(
                "{name}: user {:?} has a service class of its own, expected the one that the model \
                 was trained for ({:?}); `anyk solve` and any-gnn take any",
                user.id,
                system.service()
            )));
        }
        let gains: Vec<f64> = records.iter().map(|record| record.gain).collect();
        let mut problem = Urllc::uniform(system, gains.iter().copied())?;
        if let Some(fading) = fading {
            problem = problem.with_fading(fading);
        }
        let served_share = 1.0 - tolerance::POWER_SLACK;
        let enough = |least_power_w: f64| least_power_w <= served_share * problem.max_power_w();
        let answer = if args.certify && !enough(certifier.least_power_w(&problem)) {
            Answer::solve(&mut solver, &problem, records)?
        } else {
            let mut allocation = Allocation::default();
            allocate(&gains, &mut allocation)?;
            let certificate = args.certify.then(|| certifier.certify(&problem, &mut allocation));
            let mut served = Served::learned(&mut solver, &problem, &allocation, records)?;
            served.guarantee = guarantee.cloned();
            if let Some(certificate) = &certificate {
                served.flag(out_of_range(&problem));
                served.certify(&problem, certificate);
            }
            Answer::Served(served)
        };
        answers.print(&answer)?;
    }
    answers.finish()
}
