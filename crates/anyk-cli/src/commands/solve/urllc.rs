//! Power and bandwidth for URLLC, exactly.

use std::io::{BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use anyk::exchange::read_users;
use anyk::problems::urllc::Urllc;
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::{Answer, Certified, Denied, Served};

use crate::args::SolveArgs;
use crate::commands::calibrate;
use crate::failure::{Failure, INFEASIBLE};
use crate::{input, output};

pub(super) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    args.problem.refuse(&args.rate.flags())?;
    let system = args.system.system()?;
    let bytes = input::read(&args.input)?;
    let cells = read_users(&bytes, input::name(&args.input), &system)?;
    drop(bytes);
    let mut solver = UrllcSolver::default();
    let mut answers = Answers::new(cells.len(), args.json);
    for records in &cells {
        let users = records.iter().map(|record| (record.gain, record.service));
        let problem = Urllc::new(&system, users)?;
        answers.print(&Answer::solve(&mut solver, &problem, records)?)?;
    }
    answers.finish()
}

/// Answers of several cells on standard output.
pub(crate) struct Answers {
    out: BufWriter<StdoutLock<'static>>,
    cells: usize,
    printed: usize,
    json: bool,
    infeasible: bool,
}

impl Answers {
    pub(crate) fn new(cells: usize, json: bool) -> Self {
        Self { out: output::stdout(), cells, printed: 0, json, infeasible: false }
    }

    /// The next one.
    pub(crate) fn print(&mut self, answer: &Answer) -> Result<(), Failure> {
        self.infeasible |= matches!(answer, Answer::Denied(_));
        self.printed += 1;
        if self.json {
            return output::json(&mut self.out, answer);
        }
        if self.cells > 1 {
            let gap = if self.printed == 1 { "" } else { "\n" };
            writeln!(self.out, "{gap}cell {}", self.printed)?;
        }
        match answer {
            Answer::Served(served) => print_served(&mut self.out, served),
            Answer::Denied(denied) => print_denied(&mut self.out, denied),
        }
    }

    /// The exit code.
    pub(crate) fn finish(mut self) -> Result<ExitCode, Failure> {
        self.out.flush()?;
        Ok(if self.infeasible { ExitCode::from(INFEASIBLE) } else { ExitCode::SUCCESS })
    }
}

fn print_served(out: &mut impl Write, served: &Served) -> Result<(), Failure> {
    let rows = served.users.iter().map(|user| {
        vec![
            user.id.clone(),
            format!("{:.6}", user.power_w),
            format!("{:.1}", user.bandwidth_hz),
            user.packet_loss.map_or_else(|| "–".to_owned(), |loss| format!("{loss:.3e}")),
        ]
    });
    let total = vec![
        "total".to_owned(),
        format!("{:.6}", served.total_power_w),
        format!("{:.1}", served.total_bandwidth_hz),
        String::new(),
    ];
    let header = ["user", "power (W)", "bandwidth (Hz)", "packet loss"];
    writeln!(out, "{}", output::table(&header, rows.chain([total])))?;
    match (served.duality_gap, served.price_hz_per_w, served.availability) {
        (Some(gap), Some(price), _) => writeln!(
            out,
            "{}: total bandwidth within {gap:.1e} of the optimum; power is worth {price:.4e} Hz/W here",
            served.status
        )?,
        (_, _, None) => writeln!(
            out,
            "{}: from samples of fading, whose law is not known; name one to judge by with --fading",
            served.status
        )?,
        (gap, _, Some(availability)) => {
            let met = 100.0 * availability;
            write!(out, "{}: the QoS of {met:.2} % of users is met", served.status)?;
            match gap {
                Some(gap) => writeln!(
                    out,
                    "; total bandwidth {:.2} % over the exact optimum",
                    100.0 * gap / (1.0 - gap)
                )?,
                None => writeln!(out, "; the power cannot serve everyone, see `anyk solve`")?,
            }
        }
    }
    if let Some(certificate) = &served.certificate {
        print_certificate(out, certificate)?;
    }
    if let Some(guarantee) = &served.guarantee {
        writeln!(out, "{}", calibrate::sentence(guarantee))?;
    }
    for outside in served.out_of_range.iter().flatten() {
        writeln!(out, "outside of what the model was trained on: {outside}")?;
    }
    Ok(())
}

fn print_certificate(out: &mut impl Write, certificate: &Certified) -> Result<(), Failure> {
    let Certified { raised_users, lowered_users, added_bandwidth_hz, uncertified, .. } =
        certificate;
    write!(out, "certified by quadrature: ")?;
    if uncertified.is_empty() {
        write!(out, "every user")?;
    } else {
        write!(out, "not {}, whose power no bandwidth makes up for", uncertified.join(", "))?;
    }
    let changed = raised_users + lowered_users;
    writeln!(out, "; {added_bandwidth_hz:.1} Hz added to {changed} users")?;
    Ok(())
}

fn print_denied(out: &mut impl Write, denied: &Denied) -> Result<(), Failure> {
    print_shortfall(out, denied)?;
    if let Some(admissible) = &denied.admissible {
        print_served(out, admissible)?;
    }
    Ok(())
}

/// What is missing and whom to drop, and the heading of the answer without them, if there is one.
pub(super) fn print_shortfall<S>(out: &mut impl Write, denied: &Denied<S>) -> Result<(), Failure> {
    writeln!(
        out,
        "infeasible: serving everyone takes at least {:.6} W, {:.6} W more than the budget of {:.6} W",
        denied.required_power_w, denied.shortfall_w, denied.max_power_w
    )?;
    let shown = 20;
    let mut dropped: Vec<&str> = denied.dropped.iter().map(String::as_str).take(shown).collect();
    if denied.dropped.len() > shown {
        dropped.push("…");
    }
    writeln!(
        out,
        "{} of {} users can be served; drop {}: {}",
        denied.admissible_count,
        denied.admissible_count + denied.dropped.len(),
        denied.dropped.len(),
        dropped.join(", ")
    )?;
    if denied.admissible.is_some() {
        writeln!(out, "\nthe answer without them:")?;
    }
    Ok(())
}
