//! `anyk bench`: measures the speed of the program.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyk::core::Answering;
use anyk::exchange::Input;
use anyk::framework::{Error, Share};
use anyk_study::{Figure, bench};

use super::answers::{self, Rest};
use crate::cli::{BenchArgs, ShardArgs, SolveArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Watcher;

pub(super) fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let figures = bench(&Watcher::default(), &stream)?;
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &figures)?;
    } else {
        let row = |figure: &Figure| {
            let Figure { what, value, unit, .. } = figure;
            vec![(*what).to_owned(), format!("{value:.2}"), (*unit).to_owned()]
        };
        let rows: Vec<Vec<String>> = figures.0.iter().map(row).collect();
        writeln!(out, "{}", output::table(&["median, one thread unless noted", "", ""], &rows))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Answers the cells of a file and writes a file, like the command `solve`.
fn stream(input: &Path, out: &Path, answering: &Answering) -> Result<(), Error> {
    let args = SolveArgs {
        file: Some(input.display().to_string()),
        input: None,
        format: None,
        json: true,
        fail_fast: false,
        out: Some(out.to_owned()),
        force: true,
        shard: ShardArgs::default(),
    };
    let share = Share::default();
    let answer = |worker: &mut Answering, input: Input<'_>| worker.answer_share(input, &share);
    match answers::run(&args, &share, || answering.fork(), answer, || Ok(Rest::default())) {
        Ok(_) => Ok(()),
        Err(Failure::Error(error)) => Err(error),
        Err(_) => Err(Error::Interrupted),
    }
}
