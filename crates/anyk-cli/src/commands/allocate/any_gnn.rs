//! The answer of any-gnn, in the form of `solve`.

use std::process::ExitCode;

use anyk::exchange::{Answer, Served, read_users};
use anyk::policy::AnyPolicy;
use anyk::problem::{Allocation, Urllc};
use anyk::solver::UrllcSolver;

use crate::args::AllocateArgs;
use crate::commands::solve::Answers;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &AllocateArgs, policy: &AnyPolicy) -> Result<ExitCode, Failure> {
    let system = args.system.system_over(policy.record().config.clone())?;
    let bytes = input::read(&args.input)?;
    let cells = read_users(&bytes, input::name(&args.input), &system)?;
    drop(bytes);
    let antennas = system.fading().antennas;
    let mut allocator = policy.allocator(antennas);
    let mut solver = UrllcSolver::default();
    let mut allocation = Allocation::default();
    let mut answers = Answers::new(cells.len(), args.json);
    for records in &cells {
        let users = records.iter().map(|record| (record.gain, record.service));
        let problem = Urllc::new(&system, users)?;
        let answer = if allocator.allocate(&problem, &mut allocation).is_ok() {
            let certificate =
                args.certify.then(|| allocator.certifier().certify(&problem, &mut allocation));
            let outside = policy.out_of_range(&problem, antennas, allocator.least_power_w());
            let mut served = Served::learned(&mut solver, &problem, &allocation, records)?;
            served.flag(outside);
            if let Some(certificate) = &certificate {
                served.certify(&problem, certificate);
            }
            Answer::Served(served)
        } else {
            Answer::solve(&mut solver, &problem, records)?
        };
        answers.print(&answer)?;
    }
    answers.finish()
}
