//! A URLLC policy's answer, in the form of `solve`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyk::System;
use anyk::channel::FadingQuadrature;
use anyk::exchange::{Served, read_users};
use anyk::policy::{Guarantee, LearnedPolicy, SampledPolicy};
use anyk::problem::{Allocation, Urllc};
use anyk::solver::UrllcSolver;

use crate::args::AllocateArgs;
use crate::commands::solve::print_served;
use crate::failure::Failure;
use crate::{input, output};

pub(super) fn run(args: &AllocateArgs, policy: &LearnedPolicy) -> Result<ExitCode, Failure> {
    let guarantee = policy.record().guarantee.as_ref();
    answer(args, policy.system(), None, guarantee, |gains, allocation| {
        let mut sized = policy
            .at_size(gains.len())
            .map_err(|error| Failure::input(format!("{}: {error}", input::name(&args.input))))?;
        sized.allocate(gains, allocation);
        Ok(())
    })
}

/// The same for a policy that was learned from samples of fading, judged by the fading given.
pub(super) fn run_sampled(
    args: &AllocateArgs,
    policy: &SampledPolicy,
) -> Result<ExitCode, Failure> {
    let system = policy.system();
    let fading = input::judging_fading(args.fading.as_deref(), &args.model, system)?;
    answer(args, system, Some(&fading), None, |gains, allocation| {
        policy.allocate(gains, allocation);
        Ok(())
    })
}

fn answer(
    args: &AllocateArgs,
    system: &System,
    fading: Option<&Arc<FadingQuadrature>>,
    guarantee: Option<&Guarantee>,
    allocate: impl Fn(&[f64], &mut Allocation) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let bytes = input::read(&args.input)?;
    let name = input::name(&args.input);
    let cells = read_users(&bytes, name, system)?;
    drop(bytes);
    let mut solver = UrllcSolver::default();
    let mut out = output::stdout();
    for (index, records) in cells.iter().enumerate() {
        if let Some(user) = records.iter().find(|record| record.service != system.service()) {
            return Err(Failure::input(format!(
                "{name}: user {:?} has a service class of its own, expected the one that the model \
                 was trained for ({:?}); `anyk solve` takes any",
                user.id,
                system.service()
            )));
        }
        let gains: Vec<f64> = records.iter().map(|record| record.gain).collect();
        let mut problem = Urllc::uniform(system, gains.iter().copied())?;
        if let Some(fading) = fading {
            problem = problem.with_fading(fading);
        }
        let mut allocation = Allocation::default();
        allocate(&gains, &mut allocation)?;
        let mut served = Served::learned(&mut solver, &problem, &allocation, records)?;
        served.guarantee = guarantee.cloned();
        if args.json {
            output::json(&mut out, &served)?;
            continue;
        }
        if cells.len() > 1 {
            writeln!(out, "{}cell {}", if index == 0 { "" } else { "\n" }, index + 1)?;
        }
        print_served(&mut out, &served)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
