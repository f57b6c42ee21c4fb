//! `anyk reproduce`: runs studies, prints their tables and writes the report.

use std::io::Write;
use std::process::ExitCode;

use anyk::framework::{Share, Table};
use anyk_study::{Effort, Lab, STUDIES, Section, Sections, Study, StudySettings};

use crate::cli::{OUT, ReproduceArgs};
use crate::failure::Failure;
use crate::outputs::{Outputs, ReportFolder};
use crate::progress::Watcher;
use crate::{output, report};

const TITLE: &str =
    "Size Generalization for Resource Allocation with Graph Neural Networks, reproduced";

pub(super) fn run(
    args: &ReproduceArgs,
    outputs: &Outputs,
    share: &Share,
) -> Result<ExitCode, Failure> {
    // Checked first, since the studies may take hours and print their tables.
    output::check_stdout()?;
    let studies: Vec<&Study> = if args.names.is_empty() {
        STUDIES.iter().filter(|study| study.by_default).collect()
    } else {
        args.names.iter().filter_map(|name| Study::named(name)).collect()
    };
    let mut names = vec![report::PAGE.to_owned()];
    names.extend(studies.iter().map(|study| Section::file_of(study.name)));
    // A shard writes no report.
    let folder =
        if share.is_part() { None } else { Some(ReportFolder::open(&args.out, outputs, &names)?) };
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
    // Neighbouring studies share training runs, so each shard gets consecutive ones.
    let (count, of) = (studies.len() as u64, share.slice().step);
    let units = (0..count).map(|place| place * of / count + of * place);
    let compute = |study: &Study, lab: &mut Lab<'_>| -> Result<Section, Failure> {
        let made = study.tables(lab).map_err(Failure::from).inspect_err(|failure| {
            if failure.is_interruption() {
                let kept = args.out.join("cache");
                output::note(&format!(
                    "finished work is kept in {}; run the same command again to continue",
                    kept.display()
                ));
            }
        })?;
        made.iter().try_for_each(Table::check)?;
        Ok(Section::new(study, lab, made))
    };
    let Some(folder) = folder else {
        for (study, unit) in studies.iter().zip(units) {
            if share.is_missing(unit) {
                share.keep(unit, &compute(study, &mut lab)?.storable())?;
            }
        }
        share.complete()?;
        return Ok(ExitCode::SUCCESS);
    };
    let path = args.out.to_string_lossy();
    let named = (path != OUT).then_some(&*path);
    let mut sections = Sections::default();
    let mut out = output::stdout();
    for (study, unit) in studies.iter().zip(units) {
        let section = match share.known::<Section>(unit)? {
            Some(section) => section.without_times(),
            None => compute(study, &mut lab)?,
        };
        for table in section.tables() {
            report::write_table(&folder, table)?;
            writeln!(out, "{}\n", table.title)?;
            writeln!(out, "{}", output::report_table(table))?;
            writeln!(out, "{}", table.note)?;
            for claim in &table.claims {
                writeln!(out, "{claim}")?;
            }
            writeln!(out)?;
            out.flush()?;
        }
        let section = section.to_bytes().map_err(|e| folder.cannot(e))?;
        folder.write(&[(Section::file_of(study.name), section)])?;
        // The report covers all studies in the folder. It is written after each study, in case the next is interrupted.
        sections = Sections::read(&args.out);
        report::write_studies(&folder, TITLE, &sections.found, named)?;
    }
    for error in sections.refused {
        output::note(&format!("note: {error}; the report leaves it out"));
    }
    output::line(&mut out, &format!("written to {}", args.out.join("report.html").display()))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
