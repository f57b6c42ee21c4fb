//! Adds a problem of one's own, solves it, compares policies and diagnoses one: `cargo run --release --example
//! own_problem`. The problem is the largest sum rate of users that share a power budget, by water-filling.

use std::sync::Arc;

use anyk::diagnosis::{Diagnosis, Subject};
use anyk::exchange::Input;
use anyk::{
    About, Allocation, Column, Error, Formulation, Goal, Instance, Judged, Need, Options, Outcome,
    Player, Policy, PolicyRow, Problem, Record, Rounds, Size, Status, problems,
};

/// What a record has, and what is allocated.
static INPUTS: &[Column] =
    &[Column::each("snr_per_w"), Column::each("weight").need(Need::Default(1.0))];
static AMOUNTS: &[Column] = &[Column::each("power_w")];
const BUDGET_W: f64 = 10.0;

static ABOUT: About = About::new(
    "water-filling",
    "Power, largest sum rate within a budget",
    INPUTS,
    AMOUNTS,
    |_| Ok(Arc::new(WaterFilling { options: Options::default() })),
    &[
        PolicyRow { name: "optimum", line: "Water-filling", make: |_| Ok(Box::new(Optimum)) },
        PolicyRow { name: "equal", line: "Equal power", make: |_| Ok(Box::new(EqualPower)) },
    ],
);

/// The problem: makes instances of records, and draws random ones.
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
        Ok(Box::new(Cell { snr_per_w: column("snr_per_w"), weight: column("weight") }))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        use rand::RngExt as _;
        let mut rng = anyk::math::realization_rng(seed, size, index);
        let snr_per_w = (0..size).map(|_| 10f64.powf(rng.random_range(-1.0..2.0))).collect();
        Ok(Record::new(INPUTS, Size::users(size)).with("snr_per_w", snr_per_w)?)
    }
}

/// One instance.
struct Cell {
    snr_per_w: Vec<f64>,
    weight: Vec<f64>,
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
        let used = given.amounts[0].iter().sum::<f64>() / BUDGET_W;
        // At the optimum, a little more power is worth the same to everyone who has some, and no more to the others.
        let worth = |user: usize| {
            let (snr_per_w, power_w) = (self.snr_per_w[user], given.amounts[0][user]);
            self.weight[user] * snr_per_w / (1.0 + snr_per_w * power_w)
        };
        let all = || (0..self.weight.len()).map(|user| (worth(user), given.amounts[0][user]));
        let most = all().fold(0.0, |most: f64, (worth, _)| most.max(worth));
        let served = all().filter(|(_, power_w)| *power_w > 0.0);
        let least = served.fold(most, |least: f64, (worth, _)| least.min(worth));
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
        Box::new(Self { snr_per_w: pick(&self.snr_per_w), weight: pick(&self.weight) })
    }
}

/// Water-filling: the level at which the powers spend the budget, by bisection.
struct Optimum;

impl Policy for Optimum {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let cell: &Cell = instance.formulation()?;
        let users = || cell.snr_per_w.iter().zip(&cell.weight);
        let power_w = |level: f64, (snr_per_w, weight): (&f64, &f64)| {
            (level * weight - snr_per_w.recip()).max(0.0)
        };
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let level = 0.5 * (low + high);
            let total: f64 = users().map(|user| power_w(level, user)).sum();
            if total > BUDGET_W { high = level } else { low = level }
        }
        into.amounts[0] = users().map(|user| power_w(low, user)).collect();
        Ok(Outcome::Served(Status::Optimal))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self))
    }
}

/// The same power for everyone.
struct EqualPower;

impl Policy for EqualPower {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        into.amounts[0].fill(BUDGET_W / instance.size().users as f64);
        Ok(Outcome::Served(Status::Heuristic))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self))
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
    let player = |name: &str| -> Result<Player, Error> {
        Ok(Player { name: name.to_owned(), policy: problem.policy(Some(name))? })
    };
    let mut players = vec![player("optimum")?, player("equal")?];
    let rounds = Rounds { sizes: vec![2, 20, 200], samples: 100, seeds: vec![1] };
    let found = anyk::compare(&problem, &rounds, &mut players, &anyk::framework::Silent)?;
    for row in &found.rows {
        println!("{:8} K = {:3}: gap {:+.3} %", row.policy, row.k, row.gap_percent.unwrap_or(0.0));
    }

    // How do the powers change with the number of users?
    let policy = problem.policy(None)?;
    let mut subject = Subject::policy("power of water-filling", problem, policy, "power_w")?;
    let samples = subject.sample(&[2, 5, 10, 20, 50], 2000, 1)?;
    println!("size law: {}", Diagnosis::of_subject(&mut subject, &samples, 1)?.law_text());
    Ok(())
}
