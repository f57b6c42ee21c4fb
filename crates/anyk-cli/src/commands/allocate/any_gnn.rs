//! The answer of any-gnn, in the form of `solve`.

use std::process::ExitCode;
use std::sync::Arc;

use anyk::channel::{FadingLaw, FadingQuadrature};
use anyk::exchange::{UserRecord, read_users};
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::{Allocation, Urllc};
use anyk::problems::urllc::{Answer, Served};
use anyk::problems::urllc::{AnyAllocator, AnyPolicy, Refusal};

use crate::args::AllocateArgs;
use crate::commands::solve::Answers;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &AllocateArgs, policy: &AnyPolicy) -> Result<ExitCode, Failure> {
    let system = args.system.system_over(policy.record().config.clone())?;
    let fading = judging(args, policy, &system)?;
    let bytes = input::read(&args.input)?;
    let name = input::name(&args.input);
    let cells = read_users(&bytes, name, &system)?;
    drop(bytes);
    let antennas = system.fading().antennas;
    let mut desk = Desk {
        args,
        policy,
        antennas,
        // Without a law and without a judge, nothing can be said of losses and of the optimum.
        judged: policy.bandwidth().is_none() || fading.is_some(),
        allocator: policy.allocator(antennas),
        solver: UrllcSolver::default(),
        allocation: Allocation::default(),
    };
    let mut answers = Answers::new(cells.len(), args.json);
    for records in &cells {
        let users = records.iter().map(|record| (record.gain, record.service));
        let mut problem = Urllc::new(&system, users)?;
        if let Some(fading) = &fading {
            problem = problem.with_fading(fading);
        }
        let answer = match desk.serve(&problem, records)? {
            Ok(served) => Answer::Served(served),
            Err(refusal @ Refusal::Class { .. }) => {
                return Err(Failure::input(format!("{name}: {refusal}")));
            }
            Err(Refusal::Infeasible(_)) if policy.bandwidth().is_none() => {
                Answer::solve(&mut desk.solver, &problem, records)?
            }
            Err(Refusal::Infeasible(why)) => {
                let part: Vec<UserRecord> = why
                    .admissible
                    .iter()
                    .filter_map(|&index| records.get(index).cloned())
                    .collect();
                let admissible = if part.is_empty() {
                    None
                } else {
                    desk.serve(&problem.subset(&why.admissible), &part)?.ok()
                };
                Answer::denied(&problem, &why, records, admissible)
            }
        };
        answers.print(&answer)?;
    }
    answers.finish()
}

/// The fading to judge by, for a policy that was learned from samples; a certificate needs a law.
fn judging(
    args: &AllocateArgs,
    policy: &AnyPolicy,
    system: &anyk::System,
) -> Result<Option<Arc<FadingQuadrature>>, Failure> {
    let Some(text) = &args.judge.fading else {
        return if args.certify && policy.bandwidth().is_some() {
            Err(Failure::input(format!(
                "--certify: {} was learned from samples and knows no law of fading; name the law with --fading, \
                 or leave --certify out",
                args.model
            )))
        } else {
            Ok(None)
        };
    };
    if args.certify && text.parse::<FadingLaw>().is_err() {
        let message = "--certify: samples of fading certify nothing; name a law with --fading";
        return Err(Failure::input(message));
    }
    let judge = input::judge_of(policy, Some(text), &args.model, system)?;
    Ok(judge.map(|judge| judge.rule))
}

/// Where cells are served.
struct Desk<'a> {
    args: &'a AllocateArgs,
    policy: &'a AnyPolicy,
    antennas: u32,
    judged: bool,
    allocator: AnyAllocator<'a>,
    solver: UrllcSolver,
    allocation: Allocation,
}

impl Desk<'_> {
    fn serve(
        &mut self,
        problem: &Urllc,
        records: &[UserRecord],
    ) -> Result<Result<Served, Refusal>, Failure> {
        if let Err(refusal) = self.allocator.allocate(problem, &mut self.allocation) {
            return Ok(Err(refusal));
        }
        let least_power_w = self.allocator.least_power_w();
        let certificate = self
            .args
            .certify
            .then(|| self.allocator.certifier().certify(problem, &mut self.allocation));
        let mut served = if self.judged {
            Served::learned(&mut self.solver, problem, &self.allocation, records)?
        } else {
            Served::unjudged(&self.allocation, records.iter())
        };
        served.flag(self.policy.out_of_range(problem, self.antennas, least_power_w));
        served.guarantee.clone_from(&self.policy.record().guarantee);
        if let Some(certificate) = &certificate {
            served.certify(problem, certificate);
        }
        Ok(Ok(served))
    }
}
