//! `anyk diagnose`: finds the size law of a policy and networks that match it.

use std::io::Write;
use std::process::ExitCode;

use anyk::Invalid;
use anyk::diagnosis::{Finding, Samples, Subject, quantities};
use anyk::exchange::{check_text, read_samples};
use anyk::framework::{CellOptions, Error, Share, Table};
use clap::ArgMatches;

use super::parsed;
use crate::arguments::given;
use crate::cli::DiagnoseArgs;
use crate::failure::Failure;
use crate::outputs::{Outputs, ReportFolder};
use crate::{files, output, report};

pub(super) fn run(
    matches: &ArgMatches,
    outputs: &Outputs,
    share: &Share,
) -> Result<ExitCode, Failure> {
    let args: DiagnoseArgs = parsed(matches);
    let tables = ["policy", "networks", "prediction"];
    let tables = tables[..if args.no_check { 2 } else { 3 }].iter();
    let mut names = vec![report::PAGE.to_owned()];
    names.extend(tables.flat_map(|table| ["csv", "svg", "md"].map(|end| format!("{table}.{end}"))));
    let out = args.out.as_ref().filter(|_| !share.is_part());
    let folder = out.map(|dir| ReportFolder::open(dir, outputs, &names)).transpose()?;
    let sizes = if args.k.is_empty() { Finding::SIZES.to_vec() } else { args.k.clone() };
    let users = args.users.and_then(|users| usize::try_from(users).ok()).unwrap_or(Finding::USERS);
    let drawn = |mut subject: Subject| -> Result<(Finding, Samples), Error> {
        let samples = subject.sample_share(&sizes, users, args.seed, share)?;
        Ok((Finding::of_subject(&mut subject, &samples, args.train_k, args.seed)?, samples))
    };
    let options = given(matches, &CellOptions::ALL.specs())?;
    // Options of the cell apply only to built-in policies.
    let refuse_cell = |what: &str| options.refuse_others(&[], what);
    let (mut finding, samples) = if let Some(path) = &args.model {
        refuse_cell("a model: its file holds the cell")?;
        let quantity = args.quantity.as_deref().unwrap_or(quantities()[0]);
        let named = |error: Error| error.in_file(files::name(path));
        drawn(Subject::model(&*files::model(path)?, quantity).map_err(named)?)?
    } else if let Some(subject) =
        args.policy.as_deref().and_then(|policy| Subject::built_in(policy, &options))
    {
        drawn(subject?)?
    } else if let Some(path) = &args.rows {
        refuse_cell("samples")?;
        let name = files::name(path);
        let rows = read_samples(&files::read(path)?, name)?;
        let samples =
            Samples::from_rows(&rows).map_err(|wrong| Error::from(wrong).in_file(name))?;
        (Finding::of_samples(name, &samples, args.train_k, args.seed), samples)
    } else {
        return Err(Invalid::missing("policy", "a policy, a MODEL or --samples").into());
    };
    if !args.no_check {
        finding.check(&samples, args.seed)?;
    }
    let made = finding.tables();
    made.iter().try_for_each(Table::check)?;
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &finding)?;
    } else {
        let text = text(&finding, !args.no_check);
        // The label may be a file name, which may contain any text.
        check_text("of the diagnosis", &text.replace(&finding.diagnosis.label, ""))?;
        output::line(&mut out, &text)?;
    }
    if let (Some(dir), Some(folder)) = (&args.out, &folder) {
        for table in &made {
            report::write_table(folder, table)?;
        }
        let subtitle = format!("anyk {} diagnose", env!("CARGO_PKG_VERSION"));
        report::write_report(folder, &finding.diagnosis.label, &subtitle, &made)?;
        if !args.json {
            let written = format!("\nwritten to {}", dir.join(report::PAGE).display());
            output::line(&mut out, &written)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the findings as text.
fn text(finding: &Finding, check: bool) -> String {
    let Finding { diagnosis, recommendation, predictions } = finding;
    let mut lines = vec![
        format!("policy            {}", diagnosis.label),
        format!("samples           {}", diagnosis.samples_text()),
        format!("equivariant       {}", diagnosis.order.text()),
        format!("function of x, K  {}", diagnosis.decoupling_text()),
        format!("size-invariant    {}", diagnosis.invariance_text()),
        format!("size law          {}", diagnosis.law_text()),
        format!("recommended       {}", recommendation.pair_text()),
        format!("                  {}", recommendation.reason),
        String::new(),
    ];
    lines.push(output::report_table(&finding.networks_table()));
    lines.push(String::new());
    if !predictions.is_empty() {
        lines.push(output::report_table(&finding.prediction_table()));
    } else if check {
        lines.push("no prediction: it needs complete instances with positive outputs".to_owned());
    }
    lines.join("\n")
}
