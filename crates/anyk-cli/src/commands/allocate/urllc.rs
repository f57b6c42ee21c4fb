//! A URLLC policy's answer, in the form of `solve`.

use std::process::ExitCode;

use anyk::exchange::read_users;
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::{Allocation, Urllc};
use anyk::problems::urllc::{Answer, Served};
use anyk::problems::urllc::{Certifier, LearnedPolicy};
use anyk::tolerance;

use crate::args::AllocateArgs;
use crate::commands::solve::Answers;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &AllocateArgs, policy: &LearnedPolicy) -> Result<ExitCode, Failure> {
    let system = policy.system();
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
        let problem = Urllc::uniform(system, gains.iter().copied())?;
        let served_share = 1.0 - tolerance::POWER_SLACK;
        let enough = |least_power_w: f64| least_power_w <= served_share * problem.max_power_w();
        let answer = if args.certify && !enough(certifier.least_power_w(&problem)) {
            Answer::solve(&mut solver, &problem, records)?
        } else {
            let mut sized = policy
                .at_size(gains.len())
                .map_err(|error| Failure::input(format!("{name}: {error}")))?;
            let mut allocation = Allocation::default();
            sized.allocate(&gains, &mut allocation);
            let certificate = args.certify.then(|| certifier.certify(&problem, &mut allocation));
            let mut served = Served::learned(&mut solver, &problem, &allocation, records)?;
            served.guarantee.clone_from(&policy.record().guarantee);
            if let Some(certificate) = &certificate {
                served.flag(policy.out_of_range(&problem));
                served.certify(&problem, certificate);
            }
            Answer::Served(served)
        };
        answers.print(&answer)?;
    }
    answers.finish()
}
