//! Registers your own problem (maximize the sum rate within a power budget), and solves, compares and diagnoses it:
//! `cargo run -p anyk --release --example own_problem`.

use std::sync::Arc;

use anyk::core::Parameter;
use anyk::diagnosis::{Diagnosis, Subject};
use anyk::exchange::Input;
use anyk::framework::{OptionSpec, OptionValue};
use anyk::{
    About, Allocation, Column, Error, Formulation, Goal, Instance, Judged, NamedPolicy, Need,
    Options, Outcome, Policy, PolicyRow, Problem, Record, Rounds, Size, Status, problems,
};

/// Columns of a record. Values out of range are rejected before they reach the problem.
static INPUTS: &[Column] = &[
    Column::each("snr_per_w").within(1e-9, 1e9),
    Column::each("weight").within(1e-9, 1e9).need(Need::Default(1.0)),
];
static ABOUT: About = About {
    // Option of the problem, and the name under which a record may set it.
    flags: |_| vec![OptionSpec::new("budget-w", OptionValue::Number("W"), "Power budget").or("10")],
    parameters: || vec![(Parameter::number("budget-w"), vec!["budget_w".to_owned()])],
    ..About::new(
        "water-filling",
        "Maximize the sum rate within a power budget",
        INPUTS,
        &[Column::each("power_w").within(0.0, f64::INFINITY)],
        |given| {
            let mut options = Options::default();
            options.set("budget-w", "10");
            Ok(Arc::new(WaterFilling { options: given.over(&options) }))
        },
        &[
            PolicyRow { name: "optimum", line: "Water-filling", make: |_| Ok(Box::new(Optimum)) },
            PolicyRow { name: "equal", line: "Equal power", make: |_| Ok(Box::new(EqualPower)) },
        ],
    )
};

/// Problem with all options in effect, including those that a record sets.
struct WaterFilling {
    options: Options,
}

impl Problem for WaterFilling {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let column = |name: &str| record.get(name).unwrap_or_default().to_vec();
        let budget_w = self.options.positive("budget-w")?.unwrap_or_default();
        Ok(Box::new(Cell { snr_per_w: column("snr_per_w"), weight: column("weight"), budget_w }))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        use rand::RngExt as _;
        let mut rng = anyk::math::realization_rng(seed, size, index);
        let snr_per_w = (0..size).map(|_| 10f64.powf(rng.random_range(-1.0..2.0))).collect();
        Ok(Record::new(INPUTS, Size::users(size)).with("snr_per_w", snr_per_w)?)
    }
}

/// Formulated instance.
struct Cell {
    snr_per_w: Vec<f64>,
    weight: Vec<f64>,
    budget_w: f64,
}

impl Formulation for Cell {
    fn goal(&self) -> Goal {
        Goal { name: "sum rate", unit: "nat", larger_is_better: true }
    }

    fn value(&self, given: &Allocation) -> f64 {
        let users = given.amounts[0].iter().zip(&self.snr_per_w).zip(&self.weight);
        users.map(|((power_w, snr_per_w), weight)| weight * (power_w * snr_per_w).ln_1p()).sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        let power_w = &given.amounts[0];
        let used = power_w.iter().sum::<f64>() / self.budget_w;
        // At the optimum, more power has the same value for all users with power, and no higher value for the others.
        let worth = |user| self.weight[user] / (1.0 / self.snr_per_w[user] + power_w[user]);
        let users = 0..self.weight.len();
        let most = users.clone().map(worth).fold(0.0, f64::max);
        let served = users.filter(|user| power_w[*user] > 0.0);
        let least = served.map(worth).fold(most, f64::min);
        let kkt_residual = (1.0 - least / most).max((used - 1.0).abs());
        Ok(Judged { value: self.value(given), missed: None, budget_used: Some(used), kkt_residual })
    }

    fn demands(&self) -> bool {
        false
    }

    fn features(&self) -> Vec<f64> {
        self.snr_per_w.iter().map(|snr_per_w| snr_per_w.ln()).collect()
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        let pick = |all: &[f64]| users.iter().map(|&user| all[user]).collect();
        Box::new(Self { snr_per_w: pick(&self.snr_per_w), weight: pick(&self.weight), ..*self })
    }
}

/// Water-filling: finds the level at which the powers spend the budget, by bisection.
struct Optimum;

impl Policy for Optimum {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let cell: &Cell = instance.formulation()?;
        let users = || cell.snr_per_w.iter().zip(&cell.weight);
        let power_w = |level: f64, (snr_per_w, weight): (&f64, &f64)| {
            (level * weight - snr_per_w.recip()).max(0.0)
        };
        // At the highest of these levels, a single user would spend the whole budget.
        let levels =
            users().map(|(snr_per_w, weight)| (cell.budget_w + snr_per_w.recip()) / weight);
        let (mut low, mut high) = (0.0, levels.fold(0.0, f64::max));
        for _ in 0..200 {
            let level = 0.5 * (low + high);
            let total: f64 = users().map(|user| power_w(level, user)).sum();
            if total > cell.budget_w { high = level } else { low = level }
        }
        into.amounts[0] = users().map(|user| power_w(low, user)).collect();
        Ok(Outcome::Served(Status::Optimal))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self))
    }
}

/// Baseline that gives every user the same power.
struct EqualPower;

impl Policy for EqualPower {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let budget_w = instance.formulation::<Cell>()?.budget_w;
        into.amounts[0].fill(budget_w / instance.size().users as f64);
        Ok(Outcome::Served(Status::Heuristic))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    problems::register(&ABOUT)?;

    // Solve users from a file.
    let text = br#"{"users":[{"id":"a","snr_per_w":9.0},{"id":"b","snr_per_w":0.5,"weight":2}]}"#;
    let mut answering = problems::solving(&ABOUT, &Options::default())?;
    for answer in answering.answer_all(Input::new(text, "users.json"))? {
        println!("{}", answer.json()?);
    }

    // Compare policies at several sizes.
    let problem = anyk::problem("water-filling", &Options::default())?;
    let named_policy = |name: &str| -> Result<NamedPolicy, Error> {
        Ok(NamedPolicy { name: name.to_owned(), policy: problem.policy(Some(name))? })
    };
    let mut named_policies = vec![named_policy("optimum")?, named_policy("equal")?];
    let rounds = Rounds::new(vec![2, 20, 200], 100, vec![1]);
    let found = anyk::compare(&problem, &rounds, &mut named_policies, &anyk::framework::Silent)?;
    for row in &found.rows {
        println!("{:8} K = {:3}: gap {:+.3} %", row.policy, row.k, row.gap_percent.unwrap_or(0.0));
    }

    // Determine how the powers change with the number of users.
    let optimum = problem.policy(None)?;
    let mut subject = Subject::policy("power of water-filling", problem, optimum, "power_w")?;
    let samples = subject.sample(&[2, 5, 10, 20, 50], 2000, 1)?;
    println!("size law: {}", Diagnosis::of_subject(&mut subject, &samples, 1)?.law_text());
    Ok(())
}
