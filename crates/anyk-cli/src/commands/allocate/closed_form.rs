//! The answer of a learned policy of qos-power or equal-bandwidth, in the form of `solve`.

use std::io::Write;
use std::process::ExitCode;

use anyk::exchange::read_users;
use anyk::problems::closed_forms::ClosedForm;
use anyk::problems::closed_forms::ClosedFormPolicy;
use anyk::problems::closed_forms::RateServed;
use anyk::problems::closed_forms::{EqualBandwidth, QosPower};

use crate::args::AllocateArgs;
use crate::commands::solve::{print_rates, refuse_own_class};
use crate::failure::Failure;
use crate::{input, output};

pub(super) fn run(args: &AllocateArgs, policy: &ClosedFormPolicy) -> Result<ExitCode, Failure> {
    let system = policy.system();
    let bytes = input::read(&args.input)?;
    let name = input::name(&args.input);
    let cells = read_users(&bytes, name, system)?;
    drop(bytes);
    let mut out = output::stdout();
    for (index, records) in cells.iter().enumerate() {
        refuse_own_class(name, records, system)?;
        let gains: Vec<f64> = records.iter().map(|record| record.gain).collect();
        let allocation = policy.at_size(gains.len()).allocate(&gains);
        let served = match policy.record().training.problem {
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                let problem = QosPower::new(system, rate_bps, bandwidth_hz, gains)?;
                RateServed::learned_qos_power(&problem, allocation, records)?
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                let problem = EqualBandwidth::new(system, rate_bps, gains)?;
                RateServed::learned_equal_bandwidth(&problem, &allocation, records)?
            }
        };
        if args.json {
            output::json(&mut out, &served)?;
            continue;
        }
        if cells.len() > 1 {
            writeln!(out, "{}cell {}", if index == 0 { "" } else { "\n" }, index + 1)?;
        }
        print_rates(&mut out, &served)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
