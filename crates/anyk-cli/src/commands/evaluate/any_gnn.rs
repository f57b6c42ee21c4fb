//! Availability and bandwidth of any-gnn, in its own cell or another.

use std::process::ExitCode;

use anyk::problems::urllc::AnyPolicy;
use anyk::problems::urllc::TestSet;

use super::urllc::print_sizes;
use crate::args::{CellsArgs, EvaluateArgs};
use crate::failure::Failure;
use crate::input;

pub(super) fn run(args: &EvaluateArgs, policy: &AnyPolicy) -> Result<ExitCode, Failure> {
    let CellsArgs { k, samples, seed, .. } = &args.cells;
    let system = args.system.system_over(policy.record().config.clone())?;
    let judge = input::judge_of(policy, args.judge.fading.as_deref(), &args.model, &system)?;
    let fading = judge.as_ref().map(|judge| &judge.rule);
    let set = TestSet::draw_under(&system, fading, k, *samples, *seed)?;
    let sizes =
        set.evaluate(policy).map_err(|error| Failure::input(format!("{}: {error}", args.model)))?;
    // A size at which the budget serves no cell has nothing to measure.
    if let Some(size) = sizes.iter().find(|size| size.optimum_mhz <= 0.0) {
        let message = format!("--k {}: the budget can serve none of the cells", size.k);
        return Err(Failure::input(message));
    }
    print_sizes(args, sizes, policy.record().guarantee.as_ref())
}
