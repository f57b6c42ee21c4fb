//! Benchmarks of the performance-critical functions: `cargo bench -p anyk`.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use anyk::channel::sample_distances_m;
use anyk::framework::{Method, PretrainSettings, State};
use anyk::problems::separable::{
    Cost, Separable, SeparablePrice, SeparableSettings, SeparableSolution, SeparableSolver,
};
use anyk::problems::urllc::equal_power;
use anyk::problems::urllc::finish;
use anyk::problems::urllc::{Algorithm1, TrainSettings};
use anyk::problems::urllc::{CellPolicy, Urllc, UrllcAllocation};
use anyk::problems::urllc::{Solution, UrllcSolver};
use anyk::qos::{BandwidthTable, RequiredBandwidth};
use anyk::{Config, System};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn hot(criterion: &mut Criterion) {
    let system = Config::default().validate().unwrap();
    let qos = system.qos(system.service()).unwrap();
    let table = BandwidthTable::new(qos.clone());
    criterion.bench_function("margin and gradient, one quadrature", |bencher| {
        bencher.iter(|| qos.margin(black_box(-27.6), black_box(12.2)));
    });
    criterion.bench_function("packet loss", |bencher| {
        bencher.iter(|| qos.packet_loss(black_box(1e-12), black_box(2.1e5)));
    });
    criterion.bench_function("fold of a class", |bencher| {
        bencher.iter(|| RequiredBandwidth::new(qos.clone()));
    });
    criterion.bench_function("b(u), exact", |bencher| {
        bencher.iter(|| table.exact().at(black_box(1e-12)));
    });
    criterion.bench_function("b(u), table", |bencher| {
        bencher.iter(|| table.at(black_box(1e-12)));
    });
    criterion.bench_function("table of a class", |bencher| {
        bencher.iter(|| BandwidthTable::new(qos.clone()));
    });
    let mut settings = TrainSettings::p_gnn(10, 2000, 5e-6);
    settings.method = Method::MGnn;
    let mut objective = Algorithm1::new(&system, &settings, None).unwrap();
    let plan = objective.plan();
    let mut state = State::start(&mut objective, &plan, 0);
    let mut gradient = vec![0.0; state.parameters.len()];
    criterion.bench_function("training step, batch 10, K = 10, 16 fading states", |bencher| {
        bencher.iter(|| state.advance(&mut objective, &plan, &mut gradient));
    });
    let pretraining = PretrainSettings::default();
    let policy = finish(&system, &objective, &state.parameters, (&pretraining, None)).unwrap();
    let mut allocator = policy.allocator();
    let gains: Vec<f64> = sample_distances_m(&system.road(), 1, 200, 0)
        .into_iter()
        .map(|distance_m| system.path_loss().gain(distance_m))
        .collect();
    let mut allocation = UrllcAllocation::default();
    criterion.bench_function("allocate, M-GNN, K = 200", |bencher| {
        bencher.iter(|| allocator.serve(black_box(&gains), &mut allocation));
    });
    let mut solve = criterion.benchmark_group("solve");
    let mut solver = UrllcSolver::default();
    for size in [1, 10, 200, 1000, 10_000] {
        let gains = sample_distances_m(&system.road(), 1, size, 0);
        let gains = gains.into_iter().map(|distance_m| system.path_loss().gain(distance_m));
        let budget = system.max_power_w() * (size as f64 / 200.0).max(1.0);
        let problem = Urllc::uniform(&system, gains).unwrap().with_max_power_w(budget).unwrap();
        solve.throughput(Throughput::Elements(size as u64));
        solve.bench_with_input(BenchmarkId::new("optimum", size), &problem, |bencher, problem| {
            let mut solution = Solution::default();
            bencher.iter(|| solver.solve_into(black_box(problem), &mut solution));
        });
        solve.bench_with_input(
            BenchmarkId::new("equal power", size),
            &problem,
            |bencher, problem| {
                bencher.iter(|| equal_power(black_box(problem), &mut solver));
            },
        );
    }
    solve.finish();
    separable(criterion, &system);
}

/// Compares solvers for user-defined costs with the solver of (P1), all at K = 200.
fn separable(criterion: &mut Criterion, system: &System) {
    let mut group = criterion.benchmark_group("separable, K = 200");
    let distances = sample_distances_m(&system.road(), 1, 200, 0);
    let cell: Vec<f64> =
        distances.into_iter().map(|distance_m| system.path_loss().gain(distance_m)).collect();
    let urllc = Urllc::uniform(system, cell.iter().copied()).unwrap();
    group.bench_function("(P1) by UrllcSolver", |bencher| {
        let (mut solver, mut solution) = (UrllcSolver::default(), Solution::default());
        bencher.iter(|| solver.solve_into(black_box(&urllc), &mut solution));
    });
    let required = RequiredBandwidth::new(system.qos(system.service()).unwrap());
    let least_w = required.min_received_w();
    let hz = |u: f64| required.at(u).map_or(f64::INFINITY, |point| point.bandwidth_hz);
    let p1 = Cost::from_fn((least_w, 1e6 * least_w), hz).unwrap();
    let rate = |u: f64| -u.ln_1p();
    group.bench_function("table of log1p", |bencher| {
        bencher.iter(|| Cost::from_fn((0.0, black_box(1e6)), rate));
    });
    let rate = Cost::from_fn((0.0, 1e6), rate).unwrap();
    let noise_w = system.noise_w_hz() * 1e6;
    let snr: Vec<f64> = cell.iter().map(|gain| gain / noise_w).collect();
    for (name, cost, gains, budget) in
        [("(P1)", p1, cell, system.max_power_w()), ("water-filling", rate, snr, 1.0)]
    {
        let problem = Separable::uniform(Arc::new(cost), gains, budget).unwrap();
        group.bench_function(format!("{name} by SeparableSolver"), |bencher| {
            let mut solver = SeparableSolver::default();
            let mut solution = SeparableSolution::default();
            bencher.iter(|| solver.solve_into(black_box(&problem), &mut solution));
        });
        let settings = SeparableSettings::like(&problem, 1);
        let policy = SeparablePrice::train(problem.costs(), &settings, None).unwrap();
        group.bench_function(format!("{name} by the price policy"), |bencher| {
            let (mut allocator, mut amounts) = (policy.allocator(), Vec::new());
            bencher.iter(|| allocator.serve(black_box(&problem), &mut amounts));
        });
    }
    group.finish();
}

criterion_group!(benches, hot);
criterion_main!(benches);
