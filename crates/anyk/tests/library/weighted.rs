//! Weighted sum rates: judge, solvers and networks compared with brute force, and weights of 1 compared with none.

#![allow(clippy::unwrap_used)]

use anyk::channel::{D2dField, GainMatrix, rayleigh_gains};
use anyk::framework::{Session, Silent, Stored, Trials};
use anyk::network::{EdgeGnn, EdgeTape, LinkGraph};
use anyk::problems::interference::{
    Interference, LinkMethod, LinkSolver, PowerOutput, PowerPolicy, PowerTrainSettings,
    RandomLinks, Scenario, SparseInterference, SparseWmmse, WeightLaw, Wmmse, WmmseSettings,
    binary_optimum, fplinq, greedy, power_over_sizes, train_power,
};
use anyk::{Allocation, Instance, Options, Outcome, Policy, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const D2D: Scenario = Scenario::D2d(D2dField::DEFAULT);

fn networks(scenario: Scenario) -> RandomLinks {
    RandomLinks { scenario, weights: Some(WeightLaw::LogUniform) }
}

/// Computes the objective independently: rates from the formula times weights.
fn objective_bits(problem: &Interference, shares: &[f64]) -> f64 {
    let gains = problem.normalised();
    let rate = |k: usize| {
        let heard: f64 =
            (0..shares.len()).filter(|&j| j != k).map(|j| gains.row(k)[j] * shares[j]).sum();
        (1.0 + gains.direct(k) * shares[k] / (1.0 + heard)).log2()
    };
    (0..shares.len()).map(|k| problem.weights().unwrap()[k] * rate(k)).sum()
}

/// Returns powers for shares of the maximum powers.
fn powers(problem: &Interference, shares: &[f64]) -> Vec<f64> {
    shares.iter().zip(problem.max_power()).map(|(share, most)| share * most).collect()
}

fn schedule(size: usize, on: u32) -> Vec<f64> {
    (0..size).map(|link| f64::from(on >> link & 1)).collect()
}

#[test]
fn the_judge_counts_weights() {
    for (index, scenario) in [(0, Scenario::Dense), (1, D2D), (2, Scenario::Dense)] {
        let problem = networks(scenario).draw(3, 6, index).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(index);
        let shares: Vec<f64> = (0..6).map(|_| rng.random_range(0.05..0.95)).collect();
        let value = objective_bits(&problem, &shares);
        let judged = problem.assess(&powers(&problem, &shares)).unwrap();
        assert!((judged.weighted_sum_rate_bits.unwrap() / value - 1.0).abs() < 1e-12);
        assert!((judged.sum_rate_bits - problem.rates_bits(&shares).sum::<f64>()).abs() < 1e-12);
        assert!((problem.sum_rate_bits(&shares) / value - 1.0).abs() < 1e-12);
        // The gradient by finite differences.
        let mut gradient = vec![0.0; 6];
        problem.value_and_gradient(&shares, &mut gradient);
        for link in 0..6 {
            let at = |step: f64| {
                let mut moved = shares.clone();
                moved[link] += step;
                objective_bits(&problem, &moved) * std::f64::consts::LN_2
            };
            let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((slope - gradient[link]).abs() < 1e-5 * slope.abs().max(1.0), "{link}");
        }
        // The best switch by trying each.
        let switched = (0..6).flat_map(|link| [(link, 0.0), (link, 1.0)]).map(|(link, share)| {
            let mut moved = shares.clone();
            moved[link] = share;
            objective_bits(&problem, &moved) - value
        });
        let best = switched.fold(f64::NEG_INFINITY, f64::max);
        assert!((judged.best_switch_bits - best).abs() < 1e-9 * value);
    }
}

#[test]
fn the_exact_schedule_is_the_best_of_all() {
    for (index, scenario) in [(0, Scenario::Dense), (1, Scenario::Dense), (2, D2D), (3, D2D)] {
        for size in [1, 2, 5, 9] {
            let problem = networks(scenario).draw(8, size, index).unwrap();
            let best = (0..1u32 << size)
                .map(|on| objective_bits(&problem, &schedule(size, on)))
                .fold(0.0, f64::max);
            let exact = binary_optimum(&problem).unwrap();
            assert_eq!(exact.status, Status::Optimal);
            assert!((exact.sum_rate_bits / best - 1.0).abs() < 1e-9, "K = {size}");
            for heuristic in [greedy(&problem, 0), greedy(&problem, 5), fplinq(&problem, 100)] {
                assert!(heuristic.sum_rate_bits <= best * (1.0 + 1e-9));
                assert!(heuristic.sum_rate_bits > 0.3 * best, "K = {size}");
            }
            // No switch of a single link improves an improved schedule.
            let improved = greedy(&problem, 1000);
            let judged = problem.assess(&improved.powers(&problem)).unwrap();
            assert!(judged.best_switch_bits <= 1e-9 * best, "{}", judged.best_switch_bits);
            assert!(improved.sum_rate_bits > 0.8 * best, "K = {size}");
        }
    }
}

/// Tests two and three links on a grid of powers, with strong and with weak interference, for which powers in between
/// are best. Many starts of WMMSE reach the best point, where no small step helps.
#[test]
fn wmmse_finds_the_best_powers_of_small_networks() {
    let steps = 40;
    for index in 0..6 {
        for (size, noise, direct) in [(2, 1.0, 1.0), (3, 1.0, 1.0), (3, 0.1, 3.0)] {
            let mut gains = rayleigh_gains(21, size, index).as_slice().to_vec();
            for link in 0..size {
                gains[link * size + link] *= direct;
            }
            let gains = GainMatrix::new(size, gains).unwrap();
            let weights = WeightLaw::LogUniform.draw(21, size, index);
            let problem = Interference::new(gains, 1.0, noise).unwrap();
            let problem = problem.with_weights(weights).unwrap();
            let mut best = 0.0f64;
            for point in 0..(steps + 1usize).pow(u32::try_from(size).unwrap()) {
                let shares: Vec<f64> = (0..size)
                    .map(|link| {
                        let step = point / (steps + 1).pow(u32::try_from(link).unwrap());
                        (step % (steps + 1)) as f64 / steps as f64
                    })
                    .collect();
                best = best.max(problem.sum_rate_bits(&shares));
            }
            let settings =
                WmmseSettings { iterations: 3000, random_starts: 20, ..WmmseSettings::default() };
            let found = Wmmse::new(settings).solve(&problem);
            assert!(found.sum_rate_bits >= best * (1.0 - 1e-6), "{} {best}", found.sum_rate_bits);
            let judged = problem.assess(&found.powers(&problem)).unwrap();
            assert!(judged.kkt_residual < 2e-3, "{}", judged.kkt_residual);
        }
    }
}

#[test]
fn the_objective_of_wmmse_never_falls() {
    for scenario in [Scenario::Dense, D2D] {
        for (size, index) in [(3, 0), (10, 1), (30, 2), (60, 3)] {
            let problem = networks(scenario).draw(4, size, index).unwrap();
            let settings = WmmseSettings { trace: true, ..WmmseSettings::default() };
            let trace = Wmmse::new(settings).solve(&problem).trace_bits;
            assert_eq!(trace.len(), 101);
            let full = objective_bits(&problem, &vec![1.0; size]);
            assert!((trace[0] / full - 1.0).abs() < 1e-9);
            for pair in trace.windows(2) {
                assert!(pair[1] >= pair[0] * (1.0 - 1e-12), "{pair:?}");
            }
            // The sparse kernel with all paths is the same algorithm.
            let sparse = SparseInterference::new(&problem, 0.0);
            let mut sparse_wmmse = SparseWmmse::new(100);
            let dense = Wmmse::default().shares(&problem).to_vec();
            for (a, b) in sparse_wmmse.shares(&sparse).iter().zip(&dense) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }
}

/// Tests that only ratios of weights matter, and that a link with weight 0 is off.
#[test]
fn scales_and_zeros() {
    let plain = Interference::new(rayleigh_gains(2, 8, 0), 1.0, 1.0).unwrap();
    let weights = [0.3, 1.0, 2.0, 0.0, 5.0, 0.7, 0.0, 1.1];
    let scaled = |factor: f64| {
        let weights = weights.iter().map(|weight| weight * factor).collect();
        plain.clone().with_weights(weights).unwrap()
    };
    let (one, large) = (scaled(1.0), scaled(64.0));
    for method in [LinkMethod::Wmmse, LinkMethod::Fplinq, LinkMethod::Greedy, LinkMethod::Exact] {
        let mut solver = LinkSolver::new(method, WmmseSettings::default());
        let (a, b) = (solver.solve(&one).unwrap(), solver.solve(&large).unwrap());
        // Multiplication by powers of two is exact.
        assert_eq!(a.shares, b.shares, "{method:?}");
        assert!(a.shares[3] < 1e-12 && a.shares[6] < 1e-12, "{method:?}");
        let (a, b) =
            (one.assess(&a.powers(&one)).unwrap(), large.assess(&b.powers(&large)).unwrap());
        assert!((a.kkt_residual - b.kkt_residual).abs() < 1e-12);
    }
    for bad in [vec![1.0; 7], vec![-1.0; 8], vec![f64::NAN; 8], vec![0.0; 8], vec![1e101; 8]] {
        assert!(plain.clone().with_weights(bad).is_err());
    }
}

/// Tests that weights of 1 are equal to no weights, to the last bit.
#[test]
fn weights_of_one_are_none() {
    for scenario in [Scenario::Dense, D2D] {
        let plain = scenario.draw(5, 15, 0).unwrap();
        let ones = plain.clone().with_weights(vec![1.0; 15]).unwrap();
        assert_eq!(plain, ones);
        assert!(ones.weights().is_none());
        // The code for weights gives the same result if all weights are equal.
        let twos = plain.clone().with_weights(vec![2.0; 15]).unwrap();
        for method in [LinkMethod::Wmmse, LinkMethod::Fplinq, LinkMethod::Greedy, LinkMethod::Exact]
        {
            let mut solver = LinkSolver::new(method, WmmseSettings::default());
            let (a, b) = (solver.solve(&plain).unwrap(), solver.solve(&twos).unwrap());
            assert_eq!(a.shares, b.shares, "{method:?}");
            assert!((b.sum_rate_bits - 2.0 * a.sum_rate_bits).abs() < 1e-9);
        }
    }
}

/// Tests separate noise and maximum power for each link: the rates of the normalized network are those of the
/// formula.
#[test]
fn links_with_their_own_noise_and_power() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let size = 5;
    let mut draw = |least: f64, most: f64| -> Vec<f64> {
        (0..size).map(|_| rng.random_range(least..most)).collect()
    };
    let gains = GainMatrix::new(size, (0..5).flat_map(|_| draw(0.0, 2.0)).collect()).unwrap();
    let (max_power, noise, shares) = (draw(0.1, 5.0), draw(0.01, 3.0), draw(0.0, 1.0));
    let problem = Interference::of_links(gains.clone(), max_power.clone(), noise.clone()).unwrap();
    let power: Vec<f64> = shares.iter().zip(&max_power).map(|(share, most)| share * most).collect();
    for (k, rate) in problem.rates_bits(&shares).enumerate() {
        let heard: f64 = (0..size).filter(|&j| j != k).map(|j| gains.row(k)[j] * power[j]).sum();
        let expected = (1.0 + gains.direct(k) * power[k] / (heard + noise[k])).log2();
        assert!((rate - expected).abs() < 1e-12);
    }
    let judged = problem.assess(&power).unwrap();
    assert!(judged.feasible);
    let mut over = power.clone();
    over[2] = 1.01 * max_power[2];
    assert!(!problem.assess(&over).unwrap().feasible);
    let solution = Wmmse::default().solve(&problem);
    assert!(solution.powers(&problem).iter().zip(&max_power).all(|(power, most)| power <= most));
    // Equal values for all links give the plain problem, to the last bit.
    let same = Interference::of_links(gains.clone(), vec![0.3; 5], vec![0.7; 5]).unwrap();
    assert_eq!(same, Interference::new(gains.clone(), 0.3, 0.7).unwrap());
    for (max_power, noise) in [
        (vec![1.0; 4], vec![1.0; 5]),
        (vec![1.0; 5], vec![1.0, 1.0, 0.0, 1.0, 1.0]),
        (vec![1.0, f64::INFINITY, 1.0, 1.0, 1.0], vec![1.0; 5]),
    ] {
        assert!(Interference::of_links(gains.clone(), max_power, noise).is_err());
    }
}

fn random_policy(output: PowerOutput) -> PowerPolicy {
    let settings = PowerTrainSettings::preset(D2D, 3).with_weights(WeightLaw::LogUniform);
    let settings = PowerTrainSettings { samples: 20, steps: 3, train_k: 10, ..settings };
    train_power(&settings, output, &mut Session::new(&Silent)).unwrap()
}

fn instance(network: &Interference) -> Instance {
    let problem = anyk::problem("interference", &Options::default()).unwrap();
    Instance::of(&problem, network.size(), network.clone())
}

/// Returns the powers of a policy as shares of the maximum powers.
fn shares_by(policy: &mut dyn Policy, network: &Interference) -> Vec<f64> {
    let mut found = Allocation::default();
    assert!(instance(network).allocate(policy, &mut found).unwrap().is_served());
    network.shares(&found.amounts[0])
}

/// Tests that allocations move with the links, including their weights.
#[test]
fn answers_are_equivariant() {
    for scenario in [Scenario::Dense, D2D] {
        let mut problem = networks(scenario).draw(6, 12, 0).unwrap();
        if scenario == Scenario::Dense {
            // Noise and maximum powers differ between links, too.
            let ramp: Vec<f64> = (1..=12).map(f64::from).collect();
            let weights = problem.weights().unwrap().to_vec();
            let gains = problem.normalised().clone();
            let mixed =
                Interference::of_links(gains, ramp.clone(), ramp.into_iter().rev().collect());
            problem = mixed.unwrap().with_weights(weights).unwrap();
        }
        let order: Vec<usize> = (0..12).map(|place| (5 * place + 3) % 12).collect();
        let moved = problem.reordered(&order);
        for (place, &link) in order.iter().enumerate() {
            assert_eq!(moved.weight(place).to_bits(), problem.weight(link).to_bits());
        }
        let compare = |policy: &mut dyn Policy, what: &str| {
            let (a, b) = (shares_by(policy, &problem), shares_by(policy, &moved));
            for (place, &link) in order.iter().enumerate() {
                assert!((b[place] - a[link]).abs() < 1e-5, "{what}: {} {}", b[place], a[link]);
            }
        };
        for method in [LinkMethod::Wmmse, LinkMethod::Fplinq, LinkMethod::Greedy, LinkMethod::Exact]
        {
            compare(&mut LinkSolver::new(method, WmmseSettings::default()), &format!("{method:?}"));
        }
        for output in [
            PowerOutput::Sigmoid,
            PowerOutput::Priced { steps: 1 },
            PowerOutput::Ranked { passes: 5 },
        ] {
            compare(&mut random_policy(output).allocator(), output.name());
        }
    }
}

/// Tests gradients of a network with weights by finite differences at random parameters.
#[test]
fn gradients_of_weighted_networks() {
    for hidden in EdgeGnn::WIDTHS {
        let preset = PowerTrainSettings::preset(D2D, 1).with_weights(WeightLaw::LogUniform);
        let network = EdgeGnn { hidden, ..preset.network };
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut parameters = network.initialize(&mut || rng.sample(StandardNormal));
        assert_eq!(parameters.len(), network.parameter_count());
        let parts: usize =
            network.layout().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(parts, parameters.len());
        let policy = random_policy(PowerOutput::Sigmoid);
        let problem = networks(D2D).draw(2, 7, 0).unwrap();
        let graph: LinkGraph<f64> =
            policy.record().features.graph(&SparseInterference::new(&problem, D2D.threshold()));
        let mut tape = EdgeTape::default();
        let ramp: Vec<f64> = (0..7).map(|link| 0.3 + 0.1 * f64::from(link)).collect();
        network.forward(&parameters, &graph, &mut tape);
        let mut gradient = vec![0.0; parameters.len()];
        network.backward(&parameters, &graph, &mut tape, &ramp, &mut gradient);
        for at in (0..3 * hidden).chain((3 * hidden..parameters.len()).step_by(29)) {
            let mut loss = |step: f64| {
                parameters[at] += step;
                let outputs = network.forward(&parameters, &graph, &mut tape);
                let loss: f64 = outputs.iter().zip(&ramp).map(|(o, ramp)| o * ramp).sum();
                parameters[at] -= step;
                loss
            };
            let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            assert!((slope - gradient[at]).abs() < 1e-4 * slope.abs().max(1.0), "{hidden} {at}");
        }
    }
}

/// Tests that a short training run learns the effect of weights, also at another size. The same network without
/// weights is much worse.
#[test]
fn networks_learn_weights() {
    let settings = PowerTrainSettings::preset(D2D, 1).with_weights(WeightLaw::LogUniform);
    let settings = PowerTrainSettings { samples: 300, steps: 800, train_k: 20, ..settings };
    let policy =
        train_power(&settings, PowerOutput::Priced { steps: 1 }, &mut Session::new(&Silent))
            .unwrap();
    let measured = power_over_sizes(
        networks(D2D),
        std::slice::from_ref(&policy),
        &Trials::new(vec![40], 20, 77),
        &Silent,
    );
    let measured = &measured.unwrap()[0];
    let percent = measured.policies[0].sum_rate_percent;
    assert!(percent > 96.0, "{percent} %");
    assert!(measured.fplinq_percent > 90.0 && measured.greedy_improved_percent > 90.0);
    // Equal weights of any magnitude are equal to no weights.
    let network = D2D.draw(3, 30, 0).unwrap();
    let mut allocator = policy.allocator();
    let plain = shares_by(&mut allocator, &network);
    let sevens = shares_by(&mut allocator, &network.with_weights(vec![7.0; 30]).unwrap());
    for (a, b) in plain.iter().zip(&sevens) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    // The model is the same when it is read again, and its description says that it uses weights.
    let bytes = policy.to_bytes().unwrap();
    let read = anyk::problems::read_model(&bytes).unwrap();
    assert!(read.describe().contains("with weights"), "{}", read.describe());
    assert_eq!(read.bytes().unwrap(), bytes);
}

/// Tests that the error of a model trained without weights says how to train one with them.
#[test]
fn models_without_weights_refuse_them() {
    let settings = PowerTrainSettings::preset(D2D, 3);
    let settings = PowerTrainSettings { samples: 20, steps: 3, train_k: 10, ..settings };
    let policy = train_power(&settings, PowerOutput::Sigmoid, &mut Session::new(&Silent)).unwrap();
    let network = networks(D2D).draw(1, 8, 0).unwrap();
    let instance = instance(&network);
    let outcome = instance.allocate(&mut policy.allocator(), &mut Allocation::default()).unwrap();
    let Outcome::Refused(refusal) = outcome else { unreachable!("{outcome:?}") };
    assert!(refusal.to_string().contains("trained with `random_weights`"), "{refusal}");
    // The two flags of a record must agree.
    let mut wrong = settings.clone();
    wrong.network.weighted = true;
    assert!(wrong.validate().is_err());
}

/// Tests that weights have a separate random stream, and that their distributions are correct.
#[test]
fn laws_of_weights() {
    let weighted = networks(D2D).draw(9, 10, 4).unwrap();
    assert_eq!(weighted.normalised(), D2D.draw(9, 10, 4).unwrap().normalised());
    assert_eq!(weighted, networks(D2D).draw(9, 10, 4).unwrap());
    let many = |law: WeightLaw| -> Vec<f64> {
        (0..200).flat_map(|index| law.draw(1, 50, index)).collect()
    };
    let log_uniform = many(WeightLaw::LogUniform);
    assert!(log_uniform.iter().all(|weight| (0.1 - 1e-12..=10.0 + 1e-12).contains(weight)));
    let mean = log_uniform.iter().map(|weight| weight.log10()).sum::<f64>() / 1e4;
    assert!(mean.abs() < 0.03, "{mean}");
    let exponential = many(WeightLaw::Exponential);
    assert!((exponential.iter().sum::<f64>() / 1e4 - 1.0).abs() < 0.05);
    assert_ne!(WeightLaw::LogUniform.draw(1, 5, 0), WeightLaw::LogUniform.draw(1, 5, 1));
}
