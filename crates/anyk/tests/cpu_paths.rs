//! Tests that every kernel computes the same bits for every instruction set.
//!
//! [`Cpu::force`] applies to the whole process, so the tests of this file take turns. Each test runs its work once
//! for each instruction set of the machine and compares the results with those of the most basic one, bit by bit.

#![allow(clippy::unwrap_used)]

#[path = "library/trainings.rs"]
mod trainings;

use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use anyk::channel::{D2dField, GainMatrix, sample_distances_m};
use anyk::exchange::Input;
use anyk::framework::{Method, Objective, Options, Plan, PretrainSettings, Session, Silent, State};
use anyk::math::Cpu;
use anyk::network::{Aggregator, EdgeGnn, EdgeTape, LinkGraph, Real};
use anyk::problems::interference::{Features, Standard};
use anyk::problems::interference::{Interference, Scenario, SparseInterference};
use anyk::problems::interference::{
    PowerLoss, PowerObjective, PowerOutput, PowerTrainSettings, finish_power,
};
use anyk::problems::interference::{SparseWmmse, Wmmse, WmmseSettings, fplinq};
use anyk::problems::urllc::{Algorithm1, PriceSettings, Recipe, TrainSettings};
use anyk::problems::urllc::{CellPolicy, LearnedPolicy, Urllc, UrllcAllocation};
use anyk::problems::urllc::{finish, law_for, train_price_policy};
use anyk::problems::{allocating, read_model};
use anyk::qos::ServiceClass;
use anyk::{Config, System};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

static SYSTEM: LazyLock<System> = LazyLock::new(|| Config::default().validate().unwrap());

/// Permission to force an instruction set. Dropping it restores the choice of the environment.
struct Turn(#[allow(dead_code)] MutexGuard<'static, ()>);

impl Turn {
    fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        // A failed test leaves no state behind, so a poisoned lock is fine.
        Self(TURN.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        Cpu::force(None);
    }
}

/// Bits of results, in the order in which the test adds them.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn doubles(&mut self, values: &[f64]) {
        assert!(values.iter().all(|value| value.is_finite()));
        self.0.extend(values.iter().map(|value| value.to_bits()));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().map(|&byte| u64::from(byte)));
    }

    fn singles(&mut self, values: &[f32]) {
        assert!(values.iter().all(|value| value.is_finite()));
        self.0.extend(values.iter().map(|value| u64::from(value.to_bits())));
    }

    fn allocation(&mut self, allocation: &UrllcAllocation) {
        self.doubles(&allocation.power_w);
        self.doubles(&allocation.bandwidth_hz);
    }
}

/// Runs the work with every instruction set of the machine, and compares the bits with those of the most basic one.
fn same_on_every_level(what: &str, work: impl Fn(&mut Bits)) {
    let _turn = Turn::take();
    let mut plainest = None;
    for cpu in Cpu::available() {
        let in_use = || {
            assert_eq!(Cpu::current(), cpu);
            // The workers of the pool that runs kernels see it too.
            assert!(rayon::broadcast(|_| Cpu::current()).iter().all(|&seen| seen == cpu));
        };
        assert_eq!(Cpu::force(Some(cpu)), cpu);
        in_use();
        let mut bits = Bits::default();
        work(&mut bits);
        in_use();
        let Bits(bits) = bits;
        assert!(!bits.is_empty());
        let Some(plainest) = &plainest else {
            plainest = Some(bits);
            continue;
        };
        let off = bits.iter().zip(plainest).filter(|(one, other)| one != other).count();
        assert_eq!(bits.len(), plainest.len(), "{what}: {cpu}");
        assert_eq!(off, 0, "{what}: {off} of {} numbers differ on {cpu}", bits.len());
    }
}

fn p_gnn(steps: u64) -> TrainSettings {
    let settings = TrainSettings::p_gnn(10, 500, 6e-6);
    let recipe = Recipe { steps: Some(steps), ..settings.recipe.clone() };
    TrainSettings { recipe, seed: 3, ..settings }
}

/// Returns settings for the cases of the fused gradient: both aggregators, with and without the outer function,
/// batches that do not fill a whole vector, and several sizes.
fn urllc_trainings(steps: u64) -> Vec<TrainSettings> {
    let mean = p_gnn(steps);
    let sum = TrainSettings { aggregator: Aggregator::Sum, ..mean.clone() };
    let m_gnn = TrainSettings { method: Method::MGnn, epsilon_d: 5e-6, ..mean.clone() };
    let mut sizes = TrainSettings { train_k: vec![1, 4, 9], samples: 100, ..sum.clone() };
    sizes.recipe.batch = 37;
    let mut descent = m_gnn.clone();
    descent.recipe = Recipe { steps: Some(steps), ..Recipe::paper() };
    vec![mean, sum, m_gnn, sizes, descent]
}

fn short_pretraining() -> PretrainSettings {
    PretrainSettings { epochs: 4, ..PretrainSettings::default() }
}

/// Runs all steps of an attempt that must not diverge, and reports the loss and the state after each step.
fn all_steps(
    objective: &mut dyn Objective<f32>,
    plan: &Plan,
    each_step: &mut dyn FnMut(f64, &State<f32>),
) -> State<f32> {
    let mut state = State::start(objective, plan, 0);
    let mut gradient = vec![0.0; state.parameters.len()];
    for step in 0..plan.steps {
        assert_eq!(state.step, step, "diverged");
        let loss = state.advance(objective, plan, &mut gradient);
        each_step(loss, &state);
    }
    assert_eq!(state.step, plan.steps, "diverged");
    state
}

fn train(settings: &TrainSettings, each_step: &mut dyn FnMut(f64, &State<f32>)) -> LearnedPolicy {
    let pretraining = short_pretraining();
    let law = law_for(&SYSTEM, settings, &pretraining, &mut Session::new(&Silent)).unwrap();
    let mut objective = Algorithm1::new(&SYSTEM, settings, law.as_ref()).unwrap();
    let plan = objective.plan();
    let state = all_steps(&mut objective, &plan, each_step);
    finish(&SYSTEM, &objective, &state.parameters, (&pretraining, law.as_ref())).unwrap()
}

#[test]
fn urllc_training() {
    same_on_every_level("Algorithm 1", |bits| {
        for settings in urllc_trainings(300) {
            train(&settings, &mut |loss, state| {
                bits.doubles(&[loss]);
                // The moments keep the last digits of the gradients, which the rounding of a parameter removes.
                let (first, second, steps) = state.adam.memory();
                if steps % 10 == 0 {
                    bits.singles(&state.parameters);
                    bits.singles(first);
                    bits.singles(second);
                }
            });
        }
    });
}

/// Returns gains on the paper's road, and gains from far below to far above them.
fn gains(size: usize) -> [Vec<f64>; 2] {
    let road = sample_distances_m(&SYSTEM.road(), 1, size, 0);
    let gains = road.into_iter().map(|distance_m| SYSTEM.path_loss().gain(distance_m)).collect();
    let wild = |user: usize| 10f64.powf(-25.0 + 30.0 * user as f64 / size as f64);
    [gains, (0..size).map(wild).collect()]
}

#[test]
fn urllc_allocation_by_the_fused_pair() {
    let policies: Vec<LearnedPolicy> =
        urllc_trainings(500).iter().map(|settings| train(settings, &mut |_, _| ())).collect();
    same_on_every_level("the fused pair", |bits| {
        let mut allocation = UrllcAllocation::default();
        for policy in &policies {
            let mut allocator = policy.allocator();
            for size in [1, 7, 15, 16, 17, 200] {
                for gains in gains(size) {
                    allocator.serve(&gains, &mut allocation).unwrap();
                    bits.allocation(&allocation);
                }
            }
        }
    });
}

#[test]
fn price_policy_training_and_allocation() {
    let usual = ServiceClass::default();
    let classes = [
        usual,
        ServiceClass { epsilon: 1e-7, packet_bits: 500.0, ..usual },
        ServiceClass { epsilon: 1e-3, arrival_rate: 0.01, ..usual },
    ];
    let problems = [1, 2, 7, 16, 50, 200].map(|size| {
        let [gains, _] = gains(size);
        let users = gains.into_iter().zip(classes.into_iter().cycle());
        let problem = Urllc::new(&SYSTEM, users).unwrap();
        problem.with_max_power_w(SYSTEM.max_power_w() * (size as f64 / 20.0).max(1.0)).unwrap()
    });
    same_on_every_level("the price policy", |bits| {
        let mut settings = PriceSettings::preset(1);
        (settings.samples, settings.steps) = (100, 150);
        let policy = train_price_policy(&SYSTEM, &settings, &mut Session::new(&Silent)).unwrap();
        bits.doubles(policy.parameters());
        // With the price that spends the budget, and with a fixed price.
        for policy in [policy.with_fixed_price(9.0).unwrap(), policy] {
            let mut allocator = policy.allocator();
            let mut allocation = UrllcAllocation::default();
            for problem in &problems {
                allocator.serve(problem, &mut allocation).unwrap();
                bits.allocation(&allocation);
            }
        }
    });
}

fn scenarios() -> [Scenario; 2] {
    [Scenario::Dense, Scenario::D2d(D2dField::default())]
}

/// Returns networks of both kinds, with sizes that do and do not fill whole vectors.
fn networks() -> Vec<(Interference, SparseInterference)> {
    let mut networks = Vec::new();
    for scenario in scenarios() {
        for size in [1, 2, 7, 16, 33, 100] {
            let problem = scenario.draw(5, size, 0).unwrap();
            let sparse = SparseInterference::new(&problem, scenario.threshold());
            networks.push((problem, sparse));
        }
    }
    networks
}

/// Returns the outputs and the gradient of one network on one graph.
fn edge_gnn<T: Real + Default>(
    network: &EdgeGnn,
    parameters: &[f64],
    sparse: &SparseInterference,
) -> (Vec<f64>, Vec<f64>) {
    let standard = Standard { mean: 2.0, deviation: 3.0 };
    let graph: LinkGraph<T> =
        Features { link: standard, path: standard, neighbours: 3.0, weighted: false }.graph(sparse);
    let parameters: Vec<T> = parameters.iter().map(|&value| T::of(value)).collect();
    let mut tape = EdgeTape::default();
    let outputs = network.forward(&parameters, &graph, &mut tape).to_vec();
    let slopes: Vec<T> = (0..outputs.len()).map(|link| T::of((link as f64).cos())).collect();
    let mut gradient = vec![T::zero(); parameters.len()];
    network.backward(&parameters, &graph, &mut tape, &slopes, &mut gradient);
    let doubles = |values: Vec<T>| values.into_iter().map(T::to).collect();
    (doubles(outputs), doubles(gradient))
}

#[test]
fn edge_networks_forward_and_backward() {
    let networks = networks();
    same_on_every_level("edge networks", |bits| {
        for hidden in EdgeGnn::WIDTHS {
            for aggregator in Aggregator::ALL {
                let network = EdgeGnn { hidden, rounds: 2, aggregator, weighted: false };
                let mut rng = ChaCha8Rng::seed_from_u64(hidden as u64);
                let random = network.initialize(&mut || rng.sample(StandardNormal));
                // Zeros of either sign, which a maximum may distinguish.
                let zeros = random.iter().map(|value| value * 0.0).collect();
                for parameters in [random, zeros] {
                    for (_, sparse) in &networks {
                        let singles = edge_gnn::<f32>(&network, &parameters, sparse);
                        let doubles = edge_gnn::<f64>(&network, &parameters, sparse);
                        for (outputs, gradient) in [singles, doubles] {
                            bits.doubles(&outputs);
                            bits.doubles(&gradient);
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn interference_training_and_every_output() {
    let networks = networks();
    same_on_every_level("learned powers", |bits| {
        for (scenario, loss, hidden) in [
            (Scenario::Dense, PowerLoss::SumRate, 16),
            (Scenario::Dense, PowerLoss::Wmmse, 8),
            (Scenario::D2d(D2dField::default()), PowerLoss::SumRate, 8),
            (Scenario::D2d(D2dField::default()), PowerLoss::Fplinq, 32),
        ] {
            let preset = PowerTrainSettings::preset(scenario, 1);
            let network = EdgeGnn { hidden, ..preset.network };
            let mut settings = preset.with_network(network);
            (settings.samples, settings.steps, settings.loss) = (64, 60, loss);
            settings.train_k = settings.train_k.min(20);
            let mut objective = PowerObjective::new(&settings).unwrap();
            let plan = objective.plan();
            let state = all_steps(&mut objective, &plan, &mut |loss, _| bits.doubles(&[loss]));
            let (first, second, _) = state.adam.memory();
            for singles in [&state.parameters, first, second] {
                bits.singles(singles);
            }
            for output in [
                PowerOutput::Sigmoid,
                PowerOutput::Classifier,
                PowerOutput::Ranked { passes: 3 },
                PowerOutput::Priced { steps: 2 },
            ] {
                let parameters = state.parameters.clone();
                let features = objective.features();
                let policy = finish_power(&settings, features, output, parameters).unwrap();
                let mut allocator = policy.allocator();
                for (_, sparse) in &networks {
                    bits.doubles(allocator.shares(sparse));
                }
            }
        }
    });
}

#[test]
fn wmmse_dense_and_sparse() {
    let mut networks = networks();
    // Links without interference, and links without any signal.
    let mut gains = vec![0.0; 81];
    (gains[0], gains[10], gains[20], gains[21]) = (1.0, 1e9, 1e-9, 0.5);
    let odd = Interference::new(GainMatrix::new(9, gains).unwrap(), 1.0, 1.0).unwrap();
    let sparse = SparseInterference::new(&odd, 0.0);
    networks.push((odd, sparse));
    let settings = WmmseSettings { random_starts: 2, trace: true, ..WmmseSettings::default() };
    same_on_every_level("WMMSE", |bits| {
        let (mut plain, mut traced) = (Wmmse::default(), Wmmse::new(settings));
        let mut sparsely = SparseWmmse::new(100);
        for (problem, sparse) in &networks {
            bits.doubles(plain.shares(problem));
            let solution = traced.solve(problem);
            bits.doubles(&solution.shares);
            bits.doubles(&solution.trace_bits);
            bits.doubles(&fplinq(problem, 100).shares);
            bits.doubles(sparsely.shares(sparse));
            bits.doubles(sparsely.schedule(sparse));
        }
    });
}

#[test]
fn forcing_never_leaves_what_the_machine_has() {
    let _turn = Turn::take();
    let available = Cpu::available();
    assert_eq!(available.first(), Some(&Cpu::Scalar));
    assert_eq!(available.last(), Some(&Cpu::best()));
    for cpu in Cpu::ALL {
        let expected = if available.contains(&cpu) { cpu } else { Cpu::best() };
        assert_eq!(Cpu::force(Some(cpu)), expected);
        assert_eq!(Cpu::current(), expected);
    }
    let usual = Cpu::force(None);
    assert_eq!(Cpu::current(), usual);
    assert!(available.contains(&usual));
}

/// Returns the output of a process that runs with this value of `ANYK_CPU`, or without the variable.
fn in_use_with(word: Option<&str>) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "says_what_is_in_use", "--ignored", "--nocapture"]);
    child.env_remove("ANYK_CPU").envs(word.map(|word| ("ANYK_CPU", word)));
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let said = text.split_once("in use: <").and_then(|(_, rest)| rest.split_once('>'));
    said.unwrap().0.to_owned()
}

#[test]
#[ignore = "the other side of `the_environment_chooses`"]
fn says_what_is_in_use() {
    println!("in use: <{}>", Cpu::current());
}

#[test]
fn the_environment_chooses() {
    let best = Cpu::best().name();
    assert_eq!(in_use_with(None), best);
    for unknown in ["", "fastest", "AVX2", "avx512"] {
        assert_eq!(in_use_with(Some(unknown)), best, "{unknown:?}");
    }
    for cpu in Cpu::ALL {
        assert_eq!(in_use_with(Some(cpu.name())), cpu.min(Cpu::best()).name());
    }
}

/// Tests every kind of training run: its evaluation, its model file and the answers of its model must be the same.
#[test]
fn every_training_and_its_answers() {
    let users = br#"{"users":[{"id":"a","distance_m":60},{"id":"b","distance_m":120}]}"#;
    let links = b"[[1.0,0.2,0.1],[0.1,2.0,0.3],[0.2,0.1,0.5]]";
    for training in &trainings::ALL {
        same_on_every_level(training.name, |bits| {
            let bytes = training.model();
            bits.bytes(&bytes);
            let model = read_model(&bytes).unwrap();
            let mut options = Options::default();
            if training.name.starts_with("urllc-power") {
                options.set("max-bandwidth-hz", "2e6");
            }
            let is_network = model.describe().contains("interference");
            let bytes: &[u8] = if is_network { links } else { users };
            let mut answering = allocating(&*model, &options).unwrap();
            for answer in answering.answer_all(Input::new(bytes, "input")).unwrap() {
                bits.bytes(answer.json().unwrap().as_bytes());
            }
        });
    }
}
