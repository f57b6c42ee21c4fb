//! Problem with two axes and complex numbers: beams of a base station with N antennas for K users. The core must
//! draw, judge, compare and reorder its instances like those with one axis.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use anyk::core::{ArrayView, Axis};
use anyk::framework::{OptionSpec, OptionValue, Silent};
use anyk::{
    About, Allocation, Column, Error, Formulation, Goal, Instance, Invalid, Judged, NamedPolicy,
    Options, Outcome, Policy, PolicyRow, Problem, Record, Rounds, Size, Status, problems,
};

const BOTH: &[Axis] = &[Axis::Users, Axis::Others];
const ANTENNAS: usize = 3;
const INPUTS: &[Column] = &[Column::over("channel", BOTH).complex()];
const ROW: About = About::new(
    "beams",
    "Beams of unit total power, largest sum of received amplitudes",
    INPUTS,
    &[Column::over("beam", BOTH).complex()],
    |given| Ok(Arc::new(Beams(given.clone()))),
    &[
        PolicyRow { name: "optimum", line: "Matched beams", make: |_| Ok(Box::new(Matched(true))) },
        PolicyRow { name: "equal", line: "Equal power", make: |_| Ok(Box::new(Matched(false))) },
    ],
);

static ABOUT: About = ROW;

struct Beams(Options);

impl Problem for Beams {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn options(&self) -> &Options {
        &self.0
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let channel = record.get("channel").unwrap_or_default().to_vec();
        Ok(Box::new(Cell { channel, width: 2 * record.size().others }))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        use rand::RngExt as _;
        let mut rng = anyk::math::realization_rng(seed, size, index);
        let size = Size { users: size, others: ANTENNAS };
        let numbers = (0..INPUTS[0].len(size)).map(|_| rng.random_range(-1.0..1.0)).collect();
        Ok(Record::new(INPUTS, size).with("channel", numbers)?)
    }
}

/// Channels of users, each with the real and imaginary parts of its antennas.
struct Cell {
    channel: Vec<f64>,
    width: usize,
}

impl Formulation for Cell {
    fn goal(&self) -> Goal {
        Goal { name: "sum of amplitudes", unit: "1", larger_is_better: true }
    }

    /// Returns `Σ_k Re h_kᴴ w_k`.
    fn value(&self, given: &Allocation) -> f64 {
        self.channel.iter().zip(&given.amounts[0]).map(|(h, w)| h * w).sum()
    }

    fn judge(&self, given: &Allocation) -> Result<Judged, Error> {
        let value = self.value(given);
        let used = given.amounts[0].iter().map(|w| w * w).sum();
        let most = self.channel.iter().map(|h| h * h).sum::<f64>().sqrt();
        let kkt_residual = (1.0 - value / most).abs();
        Ok(Judged { value, missed: None, budget_used: Some(used), kkt_residual })
    }

    fn demands(&self) -> bool {
        false
    }

    fn features(&self) -> Vec<f64> {
        self.channel.chunks(self.width).map(|h| h.iter().map(|x| x * x).sum()).collect()
    }

    fn part(&self, users: &[usize]) -> Box<dyn Formulation> {
        let rows = users.iter().flat_map(|&user| &self.channel[user * self.width..][..self.width]);
        Box::new(Self { channel: rows.copied().collect(), width: self.width })
    }
}

/// Beams along the channels, either with the optimal powers (Cauchy–Schwarz) or with equal powers.
struct Matched(bool);

impl Policy for Matched {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let cell: &Cell = instance.formulation()?;
        let norm = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
        let users = instance.size().users as f64;
        for (w, h) in into.amounts[0].chunks_mut(cell.width).zip(cell.channel.chunks(cell.width)) {
            let scale = if self.0 { norm(&cell.channel) } else { norm(h) * users.sqrt() };
            w.iter_mut().zip(h).for_each(|(w, h)| *w = h / scale);
        }
        Ok(Outcome::Served(if self.0 { Status::Optimal } else { Status::Heuristic }))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self(self.0)))
    }
}

fn beams() -> Arc<dyn Problem> {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    REGISTERED.call_once(|| problems::register(&ABOUT).unwrap());
    anyk::problem("beams", &Options::default()).unwrap()
}

#[test]
fn policies_are_compared_and_the_order_of_users_does_not_matter() {
    let problem = beams();
    let named_policy =
        |name: &str| NamedPolicy { name: name.into(), policy: problem.policy(Some(name)).unwrap() };
    let mut named_policies = vec![named_policy("optimum"), named_policy("equal")];
    let rounds = Rounds::new(vec![1, 4], 5, vec![1]);
    let found = anyk::compare(&problem, &rounds, &mut named_policies, &Silent).unwrap();
    for row in &found.rows {
        let gap = row.gap_percent.unwrap();
        assert_eq!(gap.abs() < 1e-9, row.policy == "optimum" || row.k == 1, "{row:?}");
    }
    // Given instances have the same results as the random ones that they are.
    let drawn = |size| (0..5).map(move |index| (size, index));
    let instances: Vec<_> = drawn(1)
        .chain(drawn(4))
        .map(|(size, index)| Arc::new(Instance::drawn(&problem, 1, size, index).unwrap()))
        .collect();
    let given = anyk::compare_on(&problem, &instances, &mut named_policies, &Silent).unwrap();
    assert!(given.seeds.is_empty() && given.samples == 10);
    for (given, random) in given.rows.iter().zip(&found.rows) {
        assert_eq!((given.k, given.gap_percent), (random.k, random.gap_percent));
    }
    let instance = Instance::drawn(&problem, 1, 4, 0).unwrap();
    let mut policy = problem.policy(None).unwrap();
    let (mut all, mut part) = (Allocation::default(), Allocation::default());
    instance.allocate(&mut *policy, &mut all).unwrap();
    let turned = instance.part(&[2, 0, 3, 1]);
    assert_eq!(turned.size(), Size { users: 4, others: ANTENNAS });
    turned.allocate(&mut *policy, &mut part).unwrap();
    let width = 2 * ANTENNAS;
    for (at, user) in [2, 0, 3, 1].into_iter().enumerate() {
        let (turned, own) = (&part.amounts[0][at * width..], &all.amounts[0][user * width..]);
        for (turned, own) in turned[..width].iter().zip(&own[..width]) {
            assert!((turned - own).abs() < 1e-12);
        }
    }
}

#[test]
fn arrays_of_wrong_shapes_and_numbers_are_rejected_by_name() {
    let record = |shape: &[usize], values: &[f64]| -> Result<Record, Invalid> {
        Record::of_arrays(INPUTS, &[("channel", ArrayView { shape, values })])
    };
    assert_eq!(record(&[2, 3, 2], &[1.0; 12]).unwrap().size(), Size { users: 2, others: 3 });
    let wrong = record(&[2, 6], &[1.0; 12]).unwrap_err().to_string();
    assert_eq!(wrong, "the shape of channel is [2, 6], expected [K, N, 2]");
    let mut values = [1.0; 12];
    values[7] = f64::NAN;
    let wrong = record(&[2, 3, 2], &values).unwrap_err().to_string();
    assert_eq!(wrong, "channel[1][0][1] is NaN, expected a finite number");
}

#[test]
fn a_number_that_files_would_set_without_effect_is_rejected() {
    static UNLISTED: About = About {
        name: "beams-with-budget",
        flags: |_| vec![OptionSpec::new("budget-w", OptionValue::Number("W"), "Power budget")],
        ..ROW
    };
    let wrong = problems::register(&UNLISTED).unwrap_err().to_string();
    assert_eq!(wrong, "an option of the problem is budget-w, expected one in About::parameters");
}
