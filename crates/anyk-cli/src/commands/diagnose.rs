//! `anyk diagnose`: the size law of a policy, and the networks that follow it.

use std::io::Write;
use std::process::ExitCode;

use anyk::Config;
use anyk::diagnosis::{DiagnosisError, Finding, Quantity, Samples, Subject};
use anyk::exchange::read_samples;
use anyk::framework::Error;

use crate::args::{DiagnoseArgs, QuantityArg};
use crate::failure::Failure;
use crate::{input, output, report};

pub(crate) fn run(args: &DiagnoseArgs) -> Result<ExitCode, Failure> {
    let sizes = if args.k.is_empty() { Finding::SIZES.to_vec() } else { args.k.clone() };
    let users = args.users.unwrap_or(Finding::USERS);
    let drawn = |subject: &Subject| -> Result<(Finding, Samples), DiagnosisError> {
        let samples = subject.sample(&sizes, users, args.seed)?;
        Ok((Finding::of_subject(subject, &samples, args.train_k, args.seed)?, samples))
    };
    let (mut finding, samples) = match (&args.model, args.policy, &args.samples) {
        (Some(path), _, _) => {
            refuse(&args.system.flags(), "a model: its file holds the cell")?;
            let quantity = match args.quantity {
                Some(QuantityArg::Bandwidth) => Quantity::Bandwidth,
                _ => Quantity::Power,
            };
            let system = Config::default().validate()?;
            let named = |error: DiagnosisError| Failure::input(format!("{path}: {error}"));
            drawn(&Subject::model(&system, input::model(path)?, quantity).map_err(named)?)?
        }
        (_, Some(policy), _) => drawn(&Subject::built_in(&args.system.system()?, policy)?)?,
        (_, _, Some(path)) => {
            refuse(&args.system.flags(), "samples")?;
            let name = input::name(path);
            let rows = read_samples(&input::read(path)?, name)?;
            let samples = Samples::from_rows(&rows)
                .map_err(|error| Failure::input(format!("{name}: {error}")))?;
            (Finding::of_samples(name, &samples, args.train_k, args.seed), samples)
        }
        (None, None, None) => {
            return Err(Failure::input("expected MODEL, --policy or --samples"));
        }
    };
    if !args.no_check {
        finding.check(&samples, args.seed)?;
    }
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &finding)?;
    } else {
        write!(out, "{}", text(&finding, !args.no_check))?;
    }
    if let Some(dir) = &args.out {
        let cannot = |error: std::io::Error| Failure::from(Error::write(dir, error));
        let made = finding.tables();
        for table in &made {
            report::write_table(dir, table).map_err(cannot)?;
        }
        let subtitle = format!("anyk {} diagnose", env!("CARGO_PKG_VERSION"));
        report::write_report(dir, &finding.diagnosis.label, &subtitle, &made).map_err(cannot)?;
        if !args.json {
            writeln!(out, "\nwritten to {}", dir.join("report.html").display())?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses flags without effect: they would mislead.
fn refuse(flags: &[(&str, bool)], what: &str) -> Result<(), Failure> {
    match flags.iter().find(|flag| flag.1) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::input(format!("{flag}: has no meaning for {what}"))),
    }
}

/// The verdict, as lines that a person reads.
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
        lines.push("no prediction: it takes whole instances with positive outputs".to_owned());
    }
    lines.join("\n") + "\n"
}
