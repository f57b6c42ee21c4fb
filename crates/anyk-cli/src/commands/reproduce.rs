//! `anyk reproduce`: runs the library's studies, prints their tables and writes the report.

use std::io::Write;
use std::process::ExitCode;

use anyk::framework::Table;
use anyk::study::{Effort, Lab, STUDIES, Study, StudySettings};

use crate::cli::ReproduceArgs;
use crate::failure::Failure;
use crate::progress::Watcher;
use crate::{files, output, report};

const TITLE: &str =
    "Size Generalization for Resource Allocation with Graph Neural Networks, reproduced";

pub(super) fn run(args: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let cannot = |error: std::io::Error| Failure::write(&args.out, error);
    files::claim_folder(&args.out)?;
    let settings = StudySettings {
        trainings: args.trainings,
        effort: match (args.trial, args.full) {
            (true, _) => Effort::Trial,
            (_, true) => Effort::Full,
            _ => Effort::Usual,
        },
        cache: Some(args.out.join("cache")),
    };
    let watcher = Watcher::interruptible();
    let mut lab = Lab::new(&settings, &watcher)?;
    let studies: Vec<&Study> = if args.names.is_empty() {
        STUDIES.iter().filter(|study| study.by_default).collect()
    } else {
        args.names.iter().filter_map(|name| Study::named(name)).collect()
    };
    let mut tables = Vec::new();
    let mut out = output::stdout();
    for study in studies {
        let made = (study.run)(&mut lab)?;
        made.iter().try_for_each(Table::check)?;
        for table in &made {
            report::write_table(&args.out, table).map_err(cannot)?;
            writeln!(out, "{}\n", table.title)?;
            writeln!(out, "{}", output::report_table(table))?;
            writeln!(out, "{}\n", table.note)?;
            out.flush()?;
        }
        tables.extend(made);
    }
    let subtitle = format!("anyk {} · {}", env!("CARGO_PKG_VERSION"), lab.about());
    report::write_report(&args.out, TITLE, &subtitle, &tables).map_err(cannot)?;
    output::line(&mut out, &format!("written to {}", args.out.join("report.html").display()))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
