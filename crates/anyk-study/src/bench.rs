//! Speed of the library on this machine, on one thread unless a figure says otherwise.

use std::hint::black_box;

use anyk::channel::{D2dField, sample_distances_m};
use anyk::framework::{Error, Observer, Session, Silent, State};
use anyk::problems::interference::{
    PowerOutput, PowerPolicy, PowerTrainSettings, Scenario, SparseInterference, SparseWmmse, Wmmse,
    train_power,
};
use anyk::problems::urllc::{
    CellPolicy as _, LearnedPolicy, PricePolicy, Solution, UrllcAllocation, UrllcSolver,
};
use anyk::qos::BandwidthTable;
use anyk::{Config, System};
use rayon::prelude::*;
use serde::{Serialize, Serializer};

use crate::stream_bench::{self, Stream};
use crate::timing::{
    median_seconds, policy_us, random_cell, short_price_policy, short_sampled_policy,
    untrained_p_gnn,
};

/// Figure of [`bench()`].
#[derive(Debug, Clone)]
pub struct Figure {
    /// Name in JSON, with the unit.
    pub name: &'static str,
    /// Description of the measured quantity.
    pub what: &'static str,
    /// Value in the unit.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
}

/// All figures of [`bench()`]. In JSON they are one object.
#[derive(Debug, Clone)]
pub struct Figures(pub Vec<Figure>);

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|figure| (figure.name, figure.value)))
    }
}

/// Number of measurements that [`bench()`] reports as progress.
const STEPS: u64 = 23 + stream_bench::STEPS;

/// Figures measured so far.
pub(crate) struct Bench<'a> {
    observer: &'a dyn Observer,
    found: Vec<Figure>,
}

impl Bench<'_> {
    /// Adds a measured figure and reports progress.
    pub(crate) fn add(&mut self, name: &'static str, what: &'static str, value: f64) -> f64 {
        self.observer.done(1);
        self.derive(name, what, value)
    }

    /// Adds a figure that is derived from others.
    pub(crate) fn derive(&mut self, name: &'static str, what: &'static str, value: f64) -> f64 {
        let is_in = |unit: &str| name.split('_').any(|word| word == unit);
        let units = [("us", "µs"), ("ms", "ms"), ("ns", "ns"), ("s", "s")];
        let unit = units.into_iter().find(|unit| is_in(unit.0)).map_or("×", |unit| unit.1);
        self.found.push(Figure { name, what, value, unit });
        value
    }

    /// Adds the median microseconds of a call.
    fn time_us<T>(
        &mut self,
        name: &'static str,
        what: &'static str,
        call: impl FnMut() -> T,
    ) -> f64 {
        self.add(name, what, 1e6 * median_seconds(call))
    }
}

/// Measures solvers, policies, a training step and streams of cells. Each time of the first three is the median of
/// repeated runs; `stream` runs the streams.
pub fn bench(observer: &dyn Observer, stream: Stream<'_>) -> Result<Figures, Error> {
    let system = Config::default().validate()?;
    observer.begin("measurements", STEPS);
    let mut bench = Bench { observer, found: Vec::new() };
    solver(&mut bench, &system)?;
    required_bandwidth(&mut bench, &system)?;
    let p_gnn = p_gnn(&mut bench, &system)?;
    let price = price_policies(&mut bench, &system)?;
    links(&mut bench)?;
    stream_bench::measure(&mut bench, (&price, &p_gnn), stream)?;
    observer.end();
    Ok(Figures(bench.found))
}

/// Measures the exact solver, with tables built in advance.
fn solver(bench: &mut Bench<'_>, system: &System) -> Result<(), Error> {
    let mut solver = UrllcSolver::default();
    solver.table(&system.qos(system.service())?);
    let mut solve = |size: usize, name: &'static str, what: &'static str| -> Result<f64, Error> {
        // For more than 200 users the budget grows with K, so that the cell stays feasible.
        let max_power_w = system.max_power_w() * (size as f64 / 200.0).max(1.0);
        let problem = random_cell(system, size)?.with_max_power_w(max_power_w)?;
        let mut solution = Solution::default();
        Ok(bench.time_us(name, what, || solver.solve_into(black_box(&problem), &mut solution)))
    };
    solve(10, "solve_us_k10", "solve, K = 10")?;
    solve(200, "solve_us_k200", "solve, K = 200")?;
    let few = solve(1000, "solve_us_k1000", "solve, K = 1,000")?;
    solve(10_000, "solve_us_k10000", "solve, K = 10,000")?;
    let many = solve(100_000, "solve_us_k100000", "solve, K = 100,000")?;
    // Linear growth would give 100.
    bench.derive("solve_growth_k1000_to_k100000", "growth, K = 1,000 to 100,000", many / few);
    Ok(())
}

/// Measures the construction of the table of one class, and evaluations of b(u) and of a user's packet loss.
fn required_bandwidth(bench: &mut Bench<'_>, system: &System) -> Result<(), Error> {
    let qos = system.qos(system.service())?;
    let seconds = median_seconds(|| BandwidthTable::new(qos.clone()));
    bench.add("table_build_ms", "table of one class", 1e3 * seconds);
    let table = BandwidthTable::new(qos.clone());
    // Received powers that span four decades.
    let received: Vec<f64> = (0..1000).map(|i| 1e-14 * 10f64.powf(f64::from(i) / 250.0)).collect();
    let each = 1e9 / received.len() as f64;
    let seconds = median_seconds(|| {
        let points = received.iter().filter_map(|&u| table.at(black_box(u)).ok());
        points.map(|point| point.bandwidth_hz).sum::<f64>()
    });
    bench.add("bandwidth_table_ns", "b(u), table", each * seconds);
    let seconds = median_seconds(|| {
        let exact = table.exact();
        let points = received.iter().filter_map(|&u| exact.at(black_box(u)).ok());
        points.map(|point| point.bandwidth_hz).sum::<f64>()
    });
    bench.add("bandwidth_exact_ns", "b(u), exact", each * seconds);
    let seconds = median_seconds(|| {
        received.iter().map(|&u| qos.packet_loss(black_box(u), 2e5)).sum::<f64>()
    });
    bench.add("packet_loss_ns", "packet loss of one user", each * seconds);
    Ok(())
}

/// Measures training and allocation with P-GNN, with the outer function compiled for the size.
fn p_gnn(bench: &mut Bench<'_>, system: &System) -> Result<LearnedPolicy, Error> {
    let (mut objective, policy) = untrained_p_gnn(system)?;
    let plan = objective.plan();
    let mut state = State::start(&mut objective, &plan, 0);
    let mut gradient = vec![0.0; state.parameters.len()];
    // Three networks of 21 parameters with one fading state. A call does 100 steps, because the clock takes about as
    // long as one.
    let seconds = median_seconds(|| {
        let step = |_| state.advance(&mut objective, &plan, &mut gradient);
        (0..100).map(step).sum::<f64>()
    });
    bench.add("train_step_us", "training step, batch 10, K = 10", 1e4 * seconds);
    let mut allocate = |size: usize, name: &'static str, what: &'static str| {
        let distances = sample_distances_m(&system.road(), 1, size, 0).into_iter();
        let gains: Vec<f64> = distances.map(|metres| system.path_loss().gain(metres)).collect();
        let (mut allocator, mut allocation) = (policy.allocator(), UrllcAllocation::default());
        bench.time_us(name, what, || allocator.serve(black_box(&gains), &mut allocation))
    };
    allocate(200, "allocate_us_k200", "allocate, P-GNN, K = 200");
    let few = allocate(10_000, "allocate_us_k10000", "allocate, P-GNN, K = 10,000");
    let many = allocate(1_000_000, "allocate_us_k1000000", "allocate, P-GNN, K = 1,000,000");
    let what = "growth, K = 10,000 to 1,000,000";
    bench.derive("allocate_growth_k10000_to_k1000000", what, many / few);
    Ok(policy)
}

/// Measures price policies, one of them also with certificates for every user.
fn price_policies(bench: &mut Bench<'_>, system: &System) -> Result<PricePolicy, Error> {
    let cell = random_cell(system, 200)?;
    let price = short_price_policy(system)?;
    let (plain_us, certified_us) = policy_us(&price, &cell);
    bench.add("price_us_k200", "allocate, price policy, K = 200", plain_us);
    let what = "allocate and certify, price policy, K = 200";
    bench.add("certify_us_k200", what, certified_us);
    let (sampled_us, _) = policy_us(&short_sampled_policy(system)?, &cell);
    let what = "allocate, price policy from samples of fading, K = 200";
    bench.add("sampled_us_k200", what, sampled_us);
    Ok(price)
}

/// Measures powers of links on dense networks, and on a field with and without summing paths over 300 m in advance.
fn links(bench: &mut Bench<'_>) -> Result<(), Error> {
    let network = Scenario::Dense.draw(1, 100, 0).map_err(Error::other)?;
    let mut wmmse = Wmmse::default();
    bench.time_us("wmmse_us_k100", "WMMSE, K = 100, 100 iterations", || {
        wmmse.shares(black_box(&network)).iter().sum::<f64>()
    });
    let networks = (0..100).map(|index| Scenario::Dense.draw(1, 100, index));
    let networks = networks.collect::<Result<Vec<_>, _>>().map_err(Error::other)?;
    let seconds = median_seconds(|| {
        let solve = |wmmse: &mut Wmmse, network| wmmse.shares(network).len();
        networks.par_iter().map_init(Wmmse::default, solve).sum::<usize>()
    });
    let what = "WMMSE, each of 100 networks, all cores";
    bench.add("wmmse_all_cores_us_k100", what, 1e4 * seconds);
    let scenario = Scenario::D2d(D2dField::default());
    let field = scenario.draw(1, 1000, 0).map_err(Error::other)?;
    let sparse = SparseInterference::new(&field, scenario.threshold());
    let mut baseline = SparseWmmse::new(100);
    let wmmse_us = bench.time_us("wmmse_sparse_us_k1000", "WMMSE, sparse field, K = 1,000", || {
        baseline.shares(black_box(&sparse)).len()
    });
    let fplinq_us =
        bench.time_us("fplinq_sparse_us_k1000", "FPLinQ, sparse field, K = 1,000", || {
            baseline.schedule(black_box(&sparse)).len()
        });
    let learned = learned_powers(scenario)?;
    let mut allocator = learned.allocator();
    let control_us =
        bench.time_us("control_us_k1000", "learned powers, sparse field, K = 1,000", || {
            allocator.shares(black_box(&sparse)).len()
        });
    let faster = wmmse_us.min(fplinq_us) / control_us;
    bench.derive("control_speedup_k1000", "learned powers, times faster than both", faster);
    bench.time_us("wmmse_dense_us_k1000", "WMMSE, all paths, K = 1,000", || {
        wmmse.shares(black_box(&field)).len()
    });
    bench.time_us("control_dense_us_k1000", "learned powers, all paths, K = 1,000", || {
        let sparse = SparseInterference::new(black_box(&field), scenario.threshold());
        allocator.shares(&sparse).len()
    });
    Ok(())
}

/// Trains a policy for a field of links briefly, but long enough that its powers differ.
fn learned_powers(scenario: Scenario) -> Result<PowerPolicy, Error> {
    let settings =
        PowerTrainSettings { samples: 100, steps: 500, ..PowerTrainSettings::preset(scenario, 1) };
    let mut session = Session::new(&Silent);
    Ok(train_power(&settings, PowerOutput::Priced { steps: 1 }, &mut session)?)
}
