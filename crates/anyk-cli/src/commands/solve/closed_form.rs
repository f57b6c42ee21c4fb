//! Power, or power and one bandwidth, at a rate: the closed forms.

use std::io::Write;
use std::process::ExitCode;

use anyk::System;
use anyk::exchange::{UserRecord, read_users};
use anyk::problems::closed_forms::ClosedForm;
use anyk::problems::closed_forms::{EqualBandwidth, QosPower};
use anyk::problems::closed_forms::{RateAnswer, RateServed};

use super::urllc::print_shortfall;
use crate::args::SolveArgs;
use crate::failure::{Failure, INFEASIBLE};
use crate::{input, output};

pub(super) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    let problem = args.rate.closed_form(args.problem, &args.system)?;
    let problem = problem.ok_or_else(|| Failure::input("--problem: expected a closed form"))?;
    let system = args.system.system()?;
    let bytes = input::read(&args.input)?;
    let name = input::name(&args.input);
    let cells = read_users(&bytes, name, &system)?;
    drop(bytes);
    let mut out = output::stdout();
    let mut infeasible = false;
    for (index, records) in cells.iter().enumerate() {
        refuse_own_class(name, records, &system)?;
        let gains = records.iter().map(|record| record.gain);
        let answer = match problem {
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                let problem = QosPower::new(&system, rate_bps, bandwidth_hz, gains)?;
                RateAnswer::qos_power(&problem, records)?
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                let problem = EqualBandwidth::new(&system, rate_bps, gains)?;
                RateAnswer::equal_bandwidth(&problem, records)?
            }
        };
        infeasible |= matches!(answer, RateAnswer::Denied(_));
        if args.json {
            output::json(&mut out, &answer)?;
            continue;
        }
        if cells.len() > 1 {
            writeln!(out, "{}cell {}", if index == 0 { "" } else { "\n" }, index + 1)?;
        }
        match answer {
            RateAnswer::Served(served) => print_rates(&mut out, &served)?,
            RateAnswer::Denied(denied) => {
                print_shortfall(&mut out, &denied)?;
                if let Some(admissible) = &denied.admissible {
                    print_rates(&mut out, admissible)?;
                }
            }
        }
    }
    out.flush()?;
    Ok(if infeasible { ExitCode::from(INFEASIBLE) } else { ExitCode::SUCCESS })
}

/// These problems know one rate for all users: a loss target or packets of a user's own would be ignored.
pub(crate) fn refuse_own_class(
    name: &str,
    records: &[UserRecord],
    system: &System,
) -> Result<(), Failure> {
    match records.iter().find(|record| record.service != system.service()) {
        None => Ok(()),
        Some(user) => Err(Failure::input(format!(
            "{name}: user {:?} has a service class of its own, expected none: all users get the same \
             rate; --problem urllc takes classes",
            user.id
        ))),
    }
}

pub(crate) fn print_rates(out: &mut impl Write, served: &RateServed) -> Result<(), Failure> {
    let rows = served.users.iter().map(|user| {
        vec![user.id.clone(), format!("{:.4e}", user.power_w), format!("{:.1}", user.rate_bps)]
    });
    let total = vec!["total".to_owned(), format!("{:.4e}", served.total_power_w), String::new()];
    let header = ["user", "power (W)", "rate (bit/s)"];
    writeln!(out, "{}", output::table(&header, rows.chain([total])))?;
    write!(
        out,
        "{}: {:.1} Hz for each user, {:.1} Hz in all; ",
        served.status, served.bandwidth_hz, served.total_bandwidth_hz
    )?;
    match (served.availability, served.gap_percent) {
        (None, _) => writeln!(out, "KKT residual {:.1e}", served.kkt_residual)?,
        (Some(met), Some(gap)) => {
            writeln!(
                out,
                "the rate of {:.2} % of users is met; {gap:+.3} % to the optimum",
                100.0 * met
            )?;
        }
        (Some(_), None) => writeln!(out, "the power cannot serve everyone, see `anyk solve`")?,
    }
    Ok(())
}
