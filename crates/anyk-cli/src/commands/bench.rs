//! `anyk bench`.

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;

use anyk::channel::{D2dField, sample_distances_m};
use anyk::framework::{Error, Observer, Session, Silent, State};
use anyk::problems::interference::{
    PowerOutput, PowerPolicy, PowerTrainSettings, Scenario, SparseInterference, SparseWmmse, Wmmse,
    train_power,
};
use anyk::problems::urllc::{CellPolicy, Solution, Urllc, UrllcAllocation, UrllcSolver};
use anyk::qos::BandwidthTable;
use anyk::{Config, System};
use anyk_study::{random_cell, short_price_policy, short_sampled_policy, untrained_p_gnn};
use rayon::prelude::*;
use serde::Serialize;

use super::stream_bench::{self, StreamFigures};
use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Watcher;

/// What is measured, on one thread where nothing else is said.
#[derive(Serialize)]
struct Figures {
    /// One solve of K users, tables built beforehand.
    solve_us_k10: f64,
    solve_us_k200: f64,
    solve_us_k1000: f64,
    solve_us_k10000: f64,
    solve_us_k100000: f64,
    /// Growth from 1,000 to 100,000 users; 100 would be linear.
    solve_growth_k1000_to_k100000: f64,
    /// Building the table of one class, its error measured.
    table_build_ms: f64,
    /// One evaluation of b(u): table, and exact.
    bandwidth_table_ns: f64,
    bandwidth_exact_ns: f64,
    /// Achieved packet loss of one user.
    packet_loss_ns: f64,
    /// One step of Algorithm 1: batch 10, K = 10, three networks of 21 parameters, one fading state.
    train_step_us: f64,
    /// One allocation by P-GNN, the outer function compiled for the size.
    allocate_us_k200: f64,
    allocate_us_k10000: f64,
    allocate_us_k1000000: f64,
    /// Growth from 10,000 to 1,000,000 users; 100 would be linear.
    allocate_growth_k10000_to_k1000000: f64,
    /// One allocation by the price policy, and with the certificate of every user on top.
    price_us_k200: f64,
    certify_us_k200: f64,
    sampled_us_k200: f64,
    /// 100 iterations of WMMSE on a dense interference network of 100 links.
    wmmse_us_k100: f64,
    /// The same for each of 100 networks solved at once, on all cores.
    wmmse_all_cores_us_k100: f64,
    /// On a field of 1,000 device-to-device pairs, its paths over 300 m summed up beforehand: WMMSE
    /// and FPLinQ with 100 iterations, and a learned policy, gains to powers.
    wmmse_sparse_us_k1000: f64,
    fplinq_sparse_us_k1000: f64,
    control_us_k1000: f64,
    /// How many times faster the policy is than the faster of the two.
    control_speedup_k1000: f64,
    /// The same with all paths: WMMSE on the matrix, and the policy with the summing up.
    wmmse_dense_us_k1000: f64,
    control_dense_us_k1000: f64,
    /// Cells from a file to a file, on all cores.
    #[serde(flatten)]
    streams: StreamFigures,
}

const STEPS: u64 = 24 + StreamFigures::STEPS;

pub(super) fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let system = Config::default().validate().map_err(Error::from)?;
    let watcher = Watcher::default();
    watcher.begin("measurements", STEPS);
    let figures = measure(&system, &watcher)?;
    watcher.end();
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &figures)?;
    } else {
        let rows = [
            ("solve, K = 10", figures.solve_us_k10, "µs"),
            ("solve, K = 200", figures.solve_us_k200, "µs"),
            ("solve, K = 1,000", figures.solve_us_k1000, "µs"),
            ("solve, K = 10,000", figures.solve_us_k10000, "µs"),
            ("solve, K = 100,000", figures.solve_us_k100000, "µs"),
            ("growth, K = 1,000 to 100,000", figures.solve_growth_k1000_to_k100000, "×"),
            ("table of one class", figures.table_build_ms, "ms"),
            ("b(u), table", figures.bandwidth_table_ns, "ns"),
            ("b(u), exact", figures.bandwidth_exact_ns, "ns"),
            ("packet loss of one user", figures.packet_loss_ns, "ns"),
            ("training step, batch 10, K = 10", figures.train_step_us, "µs"),
            ("allocate, P-GNN, K = 200", figures.allocate_us_k200, "µs"),
            ("allocate, P-GNN, K = 10,000", figures.allocate_us_k10000, "µs"),
            ("allocate, P-GNN, K = 1,000,000", figures.allocate_us_k1000000, "µs"),
            ("growth, K = 10,000 to 1,000,000", figures.allocate_growth_k10000_to_k1000000, "×"),
            ("allocate, price policy, K = 200", figures.price_us_k200, "µs"),
            ("allocate and certify, price policy, K = 200", figures.certify_us_k200, "µs"),
            (
                "allocate, price policy from samples of fading, K = 200",
                figures.sampled_us_k200,
                "µs",
            ),
            ("WMMSE, K = 100, 100 iterations", figures.wmmse_us_k100, "µs"),
            ("WMMSE, each of 100 networks, all cores", figures.wmmse_all_cores_us_k100, "µs"),
            ("WMMSE, sparse field, K = 1,000", figures.wmmse_sparse_us_k1000, "µs"),
            ("FPLinQ, sparse field, K = 1,000", figures.fplinq_sparse_us_k1000, "µs"),
            ("learned powers, sparse field, K = 1,000", figures.control_us_k1000, "µs"),
            ("learned powers, times faster", figures.control_speedup_k1000, "×"),
            ("WMMSE, all paths, K = 1,000", figures.wmmse_dense_us_k1000, "µs"),
            ("learned powers, all paths, K = 1,000", figures.control_dense_us_k1000, "µs"),
        ]
        .into_iter()
        .chain(figures.streams.rows())
        .map(|(what, value, unit)| vec![what.to_owned(), format!("{value:.2}"), unit.to_owned()])
        .collect::<Vec<_>>();
        writeln!(out, "{}", output::table(&["one thread unless said, median", "", ""], &rows))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn measure(system: &System, progress: &Watcher) -> Result<Figures, Failure> {
    let qos = system.qos(system.service())?;
    let table_build_ms = 1e3 * median_seconds(progress, || BandwidthTable::new(qos.clone()));
    let table = BandwidthTable::new(qos.clone());
    let mut solver = UrllcSolver::default();
    solver.table(&qos);
    let mut solve_us = |size: usize| -> Result<f64, Failure> {
        // Beyond 200 users the budget grows with K, so that the load stays feasible.
        let max_power_w = system.max_power_w() * (size as f64 / 200.0).max(1.0);
        let problem = random_cell(system, size)?.with_max_power_w(max_power_w)?;
        let mut solution = Solution::default();
        Ok(1e6
            * median_seconds(progress, || {
                solver.solve_into(black_box(&problem), &mut solution);
            }))
    };
    let (solve_us_k10, solve_us_k200) = (solve_us(10)?, solve_us(200)?);
    let (solve_us_k1000, solve_us_k10000) = (solve_us(1000)?, solve_us(10_000)?);
    let solve_us_k100000 = solve_us(100_000)?;
    // Received powers over four decades.
    let received: Vec<f64> = (0..1000).map(|i| 1e-14 * 10f64.powf(f64::from(i) / 250.0)).collect();
    let each = 1e9 / received.len() as f64;
    let bandwidth_table_ns = each
        * median_seconds(progress, || {
            received
                .iter()
                .filter_map(|&u| table.at(black_box(u)).ok())
                .map(|p| p.bandwidth_hz)
                .sum::<f64>()
        });
    let bandwidth_exact_ns = each
        * median_seconds(progress, || {
            let exact = table.exact();
            received
                .iter()
                .filter_map(|&u| exact.at(black_box(u)).ok())
                .map(|p| p.bandwidth_hz)
                .sum::<f64>()
        });
    let packet_loss_ns = each
        * median_seconds(progress, || {
            received.iter().map(|&u| qos.packet_loss(black_box(u), 2e5)).sum::<f64>()
        });
    let (mut objective, policy) = untrained_p_gnn(system)?;
    let plan = objective.plan();
    let mut state = State::start(&mut objective, &plan, 0);
    let mut gradient = vec![0.0; state.parameters.len()];
    // A hundred steps to a call: a single one is near the clock's own cost.
    let train_step_us = 1e4
        * median_seconds(progress, || {
            let step = |_| state.advance(&mut objective, &plan, &mut gradient);
            (0..100).map(step).sum::<f64>()
        });
    let allocate_us = |size: usize| {
        let gains: Vec<f64> = sample_distances_m(&system.road(), 1, size, 0)
            .into_iter()
            .map(|distance_m| system.path_loss().gain(distance_m))
            .collect();
        let (mut allocator, mut allocation) = (policy.allocator(), UrllcAllocation::default());
        1e6 * median_seconds(progress, || allocator.serve(black_box(&gains), &mut allocation))
    };
    let (allocate_us_k200, allocate_us_k10000) = (allocate_us(200), allocate_us(10_000));
    let allocate_us_k1000000 = allocate_us(1_000_000);
    let cell = random_cell(system, 200)?;
    let price = short_price_policy(system)?;
    let (price_us_k200, certify_us_k200) = policy_us(&price, &cell, progress);
    let (sampled_us_k200, _) = policy_us(&short_sampled_policy(system)?, &cell, progress);
    let network = Scenario::Dense.draw(1, 100, 0).map_err(Error::other)?;
    let mut wmmse = Wmmse::default();
    let wmmse_us_k100 =
        1e6 * median_seconds(progress, || wmmse.shares(black_box(&network)).iter().sum::<f64>());
    let networks = (0..100)
        .map(|index| Scenario::Dense.draw(1, 100, index))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Error::other)?;
    let wmmse_all_cores_us_k100 = 1e4
        * median_seconds(progress, || {
            let solve = |wmmse: &mut Wmmse, network| wmmse.shares(network).len();
            networks.par_iter().map_init(Wmmse::default, solve).sum::<usize>()
        });
    let scenario = Scenario::D2d(D2dField::default());
    let field = scenario.draw(1, 1000, 0).map_err(Error::other)?;
    let sparse = SparseInterference::new(&field, scenario.threshold());
    let mut baseline = SparseWmmse::new(100);
    let wmmse_sparse_us_k1000 =
        1e6 * median_seconds(progress, || baseline.shares(black_box(&sparse)).len());
    let fplinq_sparse_us_k1000 =
        1e6 * median_seconds(progress, || baseline.schedule(black_box(&sparse)).len());
    let wmmse_dense_us_k1000 =
        1e6 * median_seconds(progress, || wmmse.shares(black_box(&field)).len());
    let policy_for_links = learned_powers(scenario)?;
    let mut allocator = policy_for_links.allocator();
    let control_us_k1000 =
        1e6 * median_seconds(progress, || allocator.shares(black_box(&sparse)).len());
    let control_dense_us_k1000 = 1e6
        * median_seconds(progress, || {
            let sparse = SparseInterference::new(black_box(&field), scenario.threshold());
            allocator.shares(&sparse).len()
        });
    let streams = stream_bench::measure(&price, &policy, || progress.done(1))?;
    Ok(Figures {
        streams,
        solve_us_k10,
        solve_us_k200,
        solve_us_k1000,
        solve_us_k10000,
        solve_us_k100000,
        solve_growth_k1000_to_k100000: solve_us_k100000 / solve_us_k1000,
        table_build_ms,
        bandwidth_table_ns,
        bandwidth_exact_ns,
        packet_loss_ns,
        train_step_us,
        allocate_us_k200,
        allocate_us_k10000,
        allocate_us_k1000000,
        allocate_growth_k10000_to_k1000000: allocate_us_k1000000 / allocate_us_k10000,
        price_us_k200,
        certify_us_k200,
        sampled_us_k200,
        wmmse_us_k100,
        wmmse_all_cores_us_k100,
        wmmse_sparse_us_k1000,
        fplinq_sparse_us_k1000,
        control_us_k1000,
        control_speedup_k1000: wmmse_sparse_us_k1000.min(fplinq_sparse_us_k1000) / control_us_k1000,
        wmmse_dense_us_k1000,
        control_dense_us_k1000,
    })
}

/// Median time of a call, counted as one of the measurements.
fn median_seconds<T>(progress: &Watcher, call: impl FnMut() -> T) -> f64 {
    let seconds = anyk_study::median_seconds(call);
    progress.done(1);
    seconds
}

/// Microseconds of an allocation, without and with the certificate: two of the measurements.
fn policy_us(policy: &impl CellPolicy, problem: &Urllc, progress: &Watcher) -> (f64, f64) {
    let us = anyk_study::policy_us(policy, problem);
    progress.done(2);
    us
}

/// A policy for a field of links after a short training: long enough that its powers are not all alike.
fn learned_powers(scenario: Scenario) -> Result<PowerPolicy, Failure> {
    let settings =
        PowerTrainSettings { samples: 100, steps: 500, ..PowerTrainSettings::preset(scenario, 1) };
    let mut session = Session::new(&Silent);
    Ok(train_power(&settings, PowerOutput::Priced { steps: 1 }, &mut session)?)
}
