//! A learned policy's powers for interference networks, in the form of `solve`.

use std::process::ExitCode;

use anyk::exchange::read_gains;
use anyk::problems::interference::PowerAnswer;
use anyk::problems::interference::PowerPolicy;
use anyk::problems::interference::{Interference, SparseInterference};
use anyk::problems::interference::{PowerSolution, PowerStatus};
use rayon::prelude::*;

use crate::args::AllocateArgs;
use crate::commands::solve::print_powers;
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &AllocateArgs, policy: &PowerPolicy) -> Result<ExitCode, Failure> {
    let bytes = input::read(&args.input)?;
    let file = input::name(&args.input);
    let gains = read_gains(&bytes, file)?;
    drop(bytes);
    let (p_max, noise) = (args.p_max.unwrap_or(1.0), args.noise.unwrap_or(1.0));
    let threshold = policy.record().training.scenario.threshold();
    let answers: Vec<_> = gains
        .into_par_iter()
        .map_init(
            || policy.controller(),
            |controller, gains| {
                let problem = Interference::new(gains, p_max, noise)?;
                let sparse = SparseInterference::new(&problem, threshold);
                let shares = controller.shares(&sparse).to_vec();
                let solution = PowerSolution {
                    status: PowerStatus::Learned,
                    sum_rate_bits: problem.sum_rate_bits(&shares),
                    shares,
                    iterations: 1,
                    trace_bits: Vec::new(),
                };
                let answer = PowerAnswer::new(&problem, solution)?;
                Ok((problem, answer))
            },
        )
        .collect();
    print_powers(answers, file, p_max, args.json)
}
