//! Powers or a schedule for the links of interference networks.

use std::io::Write;
use std::process::ExitCode;

use anyk::exchange::read_gains;
use anyk::problems::interference::PowerAnswer;
use anyk::problems::interference::{Interference, InterferenceError};
use anyk::problems::interference::{
    PowerSolution, Wmmse, WmmseSettings, binary_optimum, fplinq, greedy,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{ProblemArg, SolveArgs};
use crate::failure::Failure;
use crate::link_args::{LinkArgs, LinkMethod};
use crate::{input, output};

#[derive(Serialize)]
struct Answers {
    instances: Vec<PowerAnswer>,
}

pub(super) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    let method = method(args.problem, &args.links)?;
    let bytes = input::read(&args.input)?;
    let file = input::name(&args.input);
    let gains = read_gains(&bytes, file)?;
    drop(bytes);
    let (p_max, noise) = (args.links.p_max.unwrap_or(1.0), args.links.noise.unwrap_or(1.0));
    let settings = settings(&args.links);
    let results: Vec<Result<(Interference, PowerAnswer), InterferenceError>> = gains
        .into_par_iter()
        .map_init(
            || Wmmse::new(settings),
            |wmmse, gains| {
                let problem = Interference::new(gains, p_max, noise)?;
                let solution = solve(method, wmmse, settings.iterations, &problem)?;
                let answer = PowerAnswer::new(&problem, solution)?;
                Ok((problem, answer))
            },
        )
        .collect();
    print_powers(results, file, p_max, args.json)
}

/// Prints judged answers, or the first error among them.
pub(crate) fn print_powers(
    results: Vec<Result<(Interference, PowerAnswer), InterferenceError>>,
    file: &str,
    p_max: f64,
    json: bool,
) -> Result<ExitCode, Failure> {
    // In the input's order, so that the first of several errors is told, however the threads ran.
    let mut problems = Vec::with_capacity(results.len());
    let mut instances = Vec::with_capacity(results.len());
    for (index, result) in results.into_iter().enumerate() {
        let (problem, answer) =
            result.map_err(|error| Failure::input(format!("{file}: instance {index}: {error}")))?;
        problems.push(problem);
        instances.push(answer);
    }
    let mut out = output::stdout();
    match (instances.as_slice(), problems.as_slice()) {
        _ if json => output::json(&mut out, &Answers { instances })?,
        ([answer], [problem]) => print_one(&mut out, problem, answer)?,
        (answers, _) => print_many(&mut out, answers, p_max)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The solver, and whether the flags belong to it.
fn method(problem: ProblemArg, args: &LinkArgs) -> Result<LinkMethod, Failure> {
    let scheduling = problem == ProblemArg::LinkScheduling;
    let usual = if scheduling { LinkMethod::Fplinq } else { LinkMethod::Wmmse };
    let method = args.method.unwrap_or(usual);
    if scheduling && method == LinkMethod::Wmmse {
        return Err(Failure::input(
            "--method wmmse: its powers are no schedule; expected fplinq, greedy or exact, or \
             --problem interference",
        ));
    }
    let iterates = matches!(method, LinkMethod::Wmmse | LinkMethod::Fplinq);
    let stray = match (args.of_wmmse(), args.iterations) {
        (Some(flag), _) if method != LinkMethod::Wmmse => Some((flag, "wmmse")),
        (_, Some(_)) if !iterates => Some(("--iterations", "wmmse or fplinq")),
        _ => None,
    };
    match stray {
        None => Ok(method),
        Some((flag, owner)) => Err(Failure::input(format!(
            "{flag} belongs to --method {owner}, but the method is {}",
            method.name()
        ))),
    }
}

fn settings(args: &LinkArgs) -> WmmseSettings {
    let usual = WmmseSettings::default();
    WmmseSettings {
        iterations: args.iterations.unwrap_or(usual.iterations),
        tolerance: args.tolerance.unwrap_or(usual.tolerance),
        stop_early: args.tolerance.is_some(),
        random_starts: args.random_starts.unwrap_or(usual.random_starts),
        seed: args.seed.unwrap_or(usual.seed),
        trace: args.trace,
    }
}

fn solve(
    method: LinkMethod,
    wmmse: &mut Wmmse,
    iterations: usize,
    problem: &Interference,
) -> Result<PowerSolution, InterferenceError> {
    Ok(match method {
        LinkMethod::Wmmse => wmmse.solve(problem),
        LinkMethod::Fplinq => fplinq(problem, iterations),
        LinkMethod::Greedy => greedy(problem, 0),
        LinkMethod::Exact => binary_optimum(problem)?,
    })
}

fn print_one(
    out: &mut impl Write,
    problem: &Interference,
    answer: &PowerAnswer,
) -> Result<(), Failure> {
    let p_max = problem.max_power();
    let shares: Vec<f64> = answer.power.iter().map(|power| power / p_max).collect();
    let rows = answer.power.iter().zip(problem.rates_bits(&shares)).enumerate();
    let rows = rows.map(|(link, (power, rate_bits))| {
        vec![link.to_string(), shown(*power, p_max), format!("{rate_bits:.6}")]
    });
    let total_power: f64 = answer.power.iter().sum();
    let total =
        vec!["total".into(), shown(total_power, p_max), format!("{:.6}", answer.sum_rate_bits)];
    let header = ["link", "power", "rate (bit/s/Hz)"];
    writeln!(out, "{}", output::table(&header, rows.chain([total])))?;
    print_trace(out, &answer.trace_bits)?;
    let powers = if answer.binary { "a schedule" } else { "powers between 0 and the largest" };
    writeln!(
        out,
        "{}: {powers}, {} of {} links on; KKT residual {:.1e}; switching one link would {} {:.4} bit/s/Hz",
        answer.status,
        links_on(answer, p_max),
        answer.power.len(),
        answer.kkt_residual,
        if answer.best_switch_bits > 0.0 { "add" } else { "cost" },
        answer.best_switch_bits.abs(),
    )?;
    Ok(())
}

/// A few lines of a trace: 0, 1, 2, 5, 10, 20, 50, … and the last.
fn print_trace(out: &mut impl Write, trace_bits: &[f64]) -> Result<(), Failure> {
    let Some(last) = trace_bits.len().checked_sub(1) else {
        return Ok(());
    };
    let decades = (0..7).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
    let shown = [0].into_iter().chain(decades).filter(|&at| at < last).chain([last]);
    let rows = shown.map(|at| vec![at.to_string(), format!("{:.6}", trace_bits[at])]);
    writeln!(out, "\n{}\n", output::table(&["iteration", "sum rate (bit/s/Hz)"], rows))?;
    Ok(())
}

fn print_many(out: &mut impl Write, answers: &[PowerAnswer], p_max: f64) -> Result<(), Failure> {
    let rows = answers.iter().enumerate().map(|(index, answer)| {
        vec![
            index.to_string(),
            format!("{:.6}", answer.sum_rate_bits),
            format!("{} of {}", links_on(answer, p_max), answer.power.len()),
            if answer.binary { "yes" } else { "no" }.to_owned(),
            answer.iterations.to_string(),
            format!("{:.1e}", answer.kkt_residual),
            answer.status.to_owned(),
        ]
    });
    let header = [
        "instance",
        "sum rate (bit/s/Hz)",
        "links on",
        "schedule",
        "iterations",
        "KKT residual",
        "status",
    ];
    writeln!(out, "{}", output::table(&header, rows))?;
    Ok(())
}

/// Links with power, to the share that counts as none.
fn links_on(answer: &PowerAnswer, p_max: f64) -> usize {
    answer.power.iter().filter(|&&power| power > anyk::tolerance::BINARY * p_max).count()
}

/// A power to six digits behind the point, in whatever unit `P_max` is.
fn shown(power: f64, p_max: f64) -> String {
    if (0.1..1e6).contains(&p_max) { format!("{power:.6}") } else { format!("{power:.6e}") }
}
