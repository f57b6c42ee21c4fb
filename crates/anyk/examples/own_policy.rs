//! Compares your own policy with the optimum and equal power at several sizes:
//! `cargo run -p anyk --release --example own_policy`.

use anyk::{Allocation, Error, Instance, NamedPolicy, Options, Outcome, Policy, Rounds, Status};

/// Policy that gives every user the same power, and a bandwidth that falls with the user's gain.
struct Rule;

impl Policy for Rule {
    fn allocate(&mut self, cell: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let inputs = cell.inputs();
        let input = |name: &str| inputs.iter().find(|input| input.name == name).map(|i| &i.values);
        let (Some(gains), Some(budget_w)) = (input("gains"), input("max_power_w")) else {
            return Ok(Outcome::Refused("the cell has no gains".to_owned()));
        };
        let each_w = budget_w[0] / gains.len() as f64;
        into.amounts[0].fill(each_w);
        for (bandwidth_hz, gain) in into.amounts[1].iter_mut().zip(gains) {
            *bandwidth_hz = 2e5 * (1e-10 / gain).powf(0.1);
        }
        Ok(Outcome::Served(Status::Heuristic))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Rule))
    }
}

fn main() -> Result<(), Error> {
    let problem = anyk::problem("urllc", &Options::default())?;
    let mut named_policies = vec![
        NamedPolicy { name: "rule".to_owned(), policy: Box::new(Rule) },
        NamedPolicy { name: "optimum".to_owned(), policy: problem.policy(Some("optimum"))? },
        NamedPolicy {
            name: "equal-power".to_owned(),
            policy: problem.policy(Some("equal-power"))?,
        },
    ];
    let rounds = Rounds::new(vec![5, 20, 80], 50, vec![7]);
    let found = anyk::compare(&problem, &rounds, &mut named_policies, &anyk::framework::Silent)?;
    for row in &found.rows {
        println!(
            "{:12} K = {:3}: {:6.2} % of users served, {:+.2} % from the optimum",
            row.policy,
            row.k,
            100.0 * row.availability.unwrap_or(0.0),
            row.gap_percent.unwrap_or(f64::NAN)
        );
    }
    Ok(())
}
