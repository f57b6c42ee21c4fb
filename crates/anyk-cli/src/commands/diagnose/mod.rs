//! `anyk diagnose`: the size law of a policy, and the networks that follow it.

pub(crate) mod tables;

use std::io::Write;
use std::process::ExitCode;

use anyk::diagnosis::{
    BuiltIn, Diagnosis, Prediction, Quantity, Recommendation, Samples, Subject, predict,
};
use anyk::exchange::read_samples;
use anyk::{Config, System};
use serde::Serialize;

use crate::args::{DiagnoseArgs, QuantityArg};
use crate::failure::Failure;
use crate::{input, output, report};

/// Users drawn of each size unless said otherwise.
pub(crate) const USERS: usize = 20_000;
/// Sizes drawn unless said otherwise.
pub(crate) const SIZES: [usize; 8] = [2, 3, 5, 10, 20, 50, 100, 200];

/// All that is found about one policy.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) diagnosis: Diagnosis,
    pub(crate) recommendation: Recommendation,
    pub(crate) predictions: Vec<Prediction>,
}

impl Finding {
    /// From samples, and the policy itself where it can be called; `train_k` is `K_0`.
    pub(crate) fn new(
        (subject, name): (Option<&Subject>, &str),
        samples: &Samples,
        (train_k, check): (usize, bool),
        seed: u64,
    ) -> Result<Self, Failure> {
        let diagnosis = match subject {
            Some(subject) => Diagnosis::of_subject(subject, samples, seed)?,
            None => Diagnosis::of_samples(name.to_owned(), samples),
        };
        let recommendation = Recommendation::of(&diagnosis, samples, train_k, seed);
        let sizes = (recommendation.from_k, recommendation.to_k);
        let predictions = if check { predict(samples, sizes, seed)? } else { vec![] };
        Ok(Self { diagnosis, recommendation, predictions })
    }

    /// A built-in policy in the paper's cell.
    pub(crate) fn built_in(
        system: &System,
        policy: BuiltIn,
        train_k: usize,
        seed: u64,
    ) -> Result<Self, Failure> {
        let subject = Subject::built_in(system, policy)?;
        let samples = subject.sample(&SIZES, USERS, seed)?;
        Self::new((Some(&subject), ""), &samples, (train_k, true), seed)
    }
}

pub(crate) fn run(args: &DiagnoseArgs) -> Result<ExitCode, Failure> {
    let sizes = if args.k.is_empty() { SIZES.to_vec() } else { args.k.clone() };
    let users = args.users.unwrap_or(USERS);
    let check = (args.train_k, !args.no_check);
    let drawn = |subject: &Subject| {
        let samples = subject.sample(&sizes, users, args.seed)?;
        Finding::new((Some(subject), ""), &samples, check, args.seed)
    };
    let finding = match (&args.model, args.policy, &args.samples) {
        (Some(path), _, _) => {
            refuse(&args.system.flags(), "a model: its file holds the cell")?;
            let quantity = match args.quantity {
                Some(QuantityArg::Bandwidth) => Quantity::Bandwidth,
                _ => Quantity::Power,
            };
            let system = Config::default().validate()?;
            let named =
                |error: anyk::diagnosis::DiagnosisError| Failure::input(format!("{path}: {error}"));
            drawn(&Subject::model(&system, input::model(path)?, quantity).map_err(named)?)?
        }
        (_, Some(policy), _) => drawn(&Subject::built_in(&args.system.system()?, policy)?)?,
        (_, _, Some(path)) => {
            refuse(&args.system.flags(), "samples")?;
            let name = input::name(path);
            let rows = read_samples(&input::read(path)?, name)?;
            let samples = Samples::from_rows(&rows)
                .map_err(|error| Failure::input(format!("{name}: {error}")))?;
            Finding::new((None, name), &samples, check, args.seed)?
        }
        (None, None, None) => {
            return Err(Failure::input("expected MODEL, --policy or --samples"));
        }
    };
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &finding)?;
    } else {
        write!(out, "{}", text(&finding, check.1))?;
    }
    if let Some(dir) = &args.out {
        let cannot = |error: std::io::Error| {
            Failure::input(format!("{}: cannot write: {error}", dir.display()))
        };
        let made = tables::all(&finding);
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
        format!("samples           {}", tables::samples(diagnosis)),
        format!("equivariant       {}", diagnosis.order.text()),
        format!("function of x, K  {}", tables::decoupling(diagnosis)),
        format!("size-invariant    {}", tables::invariance(diagnosis)),
        format!("size law          {}", diagnosis.law_text()),
        format!("recommended       {}", tables::pair(recommendation)),
        format!("                  {}", recommendation.reason),
        String::new(),
    ];
    let table = |table: &report::Table| {
        let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        output::table(&columns, table.rows.iter().cloned())
    };
    lines.push(table(&tables::candidates(finding)));
    lines.push(String::new());
    if !predictions.is_empty() {
        lines.push(table(&tables::predictions(finding)));
    } else if check {
        lines.push("no prediction: it takes whole instances with positive outputs".to_owned());
    }
    lines.join("\n") + "\n"
}
