//! Tests that the performance-critical paths allocate no memory: solving with existing tables, allocating with a
//! model, training, WMMSE and learned powers. This includes the general interface, [`Policy::allocate`] with a reused
//! [`Allocation`].

#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyk::channel::{D2dField, sample_distances_m};
use anyk::framework::{Method, Objective, PretrainSettings, Session, Silent, State};
use anyk::problems::interference::PowerOutput;
use anyk::problems::interference::Wmmse;
use anyk::problems::interference::finish_power;
use anyk::problems::interference::{PowerObjective, PowerTrainSettings};
use anyk::problems::interference::{Scenario, SparseInterference};
use anyk::problems::separable::{
    Cost, Separable, SeparablePrice, SeparableSettings, SeparableSolution, SeparableSolver,
    separable_instance,
};
use anyk::problems::urllc::{Algorithm1, PriceSettings, TrainSettings};
use anyk::problems::urllc::{CellPolicy, Urllc, UrllcAllocation, UrllcProblem};
use anyk::problems::urllc::{Solution, UrllcSolver};
use anyk::problems::urllc::{finish, train_price_policy};
use anyk::{Allocation, Config, Instance, Policy};

/// Allocator of the system that counts its calls.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded unchanged to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's guarantee is passed on.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantee is passed on.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls_during(work: impl FnOnce()) -> u64 {
    let before = CALLS.load(Ordering::Relaxed);
    work();
    CALLS.load(Ordering::Relaxed) - before
}

/// Returns the number of allocator calls when a policy allocates for an instance the second time, through the general
/// interface.
fn calls_of(policy: &mut dyn Policy, instance: &Instance) -> u64 {
    let mut into = Allocation::default();
    assert!(instance.allocate(policy, &mut into).unwrap().is_served());
    calls_during(|| assert!(instance.allocate(policy, &mut into).unwrap().is_served()))
}

/// A single test, so that nothing else allocates at the same time.
#[test]
fn hot_paths_allocate_nothing() {
    let system = Config::default().validate().unwrap();
    let gains: Vec<f64> = sample_distances_m(&system.road(), 1, 200, 0)
        .into_iter()
        .map(|distance_m| system.path_loss().gain(distance_m))
        .collect();
    let problem = Urllc::uniform(&system, gains.iter().copied()).unwrap();
    let mut solver = UrllcSolver::default();
    let mut solution = Solution::default();
    solver.solve_into(&problem, &mut solution);
    assert_eq!(calls_during(|| solver.solve_into(&problem, &mut solution)), 0, "solve");
    let cells = UrllcProblem::in_cell(&system);
    let instance = Instance::of(&cells, problem.size(), problem.clone());
    assert_eq!(calls_of(&mut solver, &instance), 0, "solve an instance");

    let mut settings = TrainSettings::p_gnn(10, 200, 5e-6);
    settings.method = Method::MGnn;
    let mut objective = Algorithm1::new(&system, &settings, None).unwrap();
    let plan = objective.plan();
    let mut state = State::start(&mut objective, &plan, 0);
    let mut gradient = vec![0.0; state.parameters.len()];
    // The first step of an epoch draws its order; an epoch has 20 steps.
    state.advance(&mut objective, &plan, &mut gradient);
    let steps = calls_during(|| {
        for _ in 0..19 {
            state.advance(&mut objective, &plan, &mut gradient);
        }
    });
    assert_eq!(state.step, 20);
    assert_eq!(steps, 0, "training steps");

    let policy =
        finish(&system, &objective, &state.parameters, (&PretrainSettings::default(), None))
            .unwrap();
    let (mut allocator, mut allocation) = (policy.allocator(), UrllcAllocation::default());
    allocator.serve(&gains, &mut allocation).unwrap();
    let allocate = calls_during(|| allocator.serve(&gains, &mut allocation).unwrap());
    assert_eq!(allocate, 0, "allocate");
    assert_eq!(calls_of(&mut allocator, &instance), 0, "allocate an instance");

    let mut settings = PriceSettings::preset(1);
    (settings.samples, settings.steps) = (20, 20);
    let policy = train_price_policy(&system, &settings, &mut Session::new(&Silent)).unwrap();
    let mut allocator = policy.allocator();
    allocator.serve(&problem, &mut allocation).unwrap();
    let certified = calls_during(|| {
        allocator.serve(&problem, &mut allocation).unwrap();
        assert!(allocator.certifier().certify(&problem, &mut allocation).is_complete());
    });
    assert_eq!(certified, 0, "allocate and certify");
    assert_eq!(calls_of(&mut allocator, &instance), 0, "allocate an instance by the price policy");

    let cost = Arc::new(Cost::from_fn((0.0, 1e9), |u| -u.ln_1p()).unwrap());
    let budget = system.max_power_w();
    let gains = gains.iter().map(|gain| gain / gains[0]);
    let problem = Separable::uniform(Arc::clone(&cost), gains, budget).unwrap();
    let (mut solver, mut solution) = (SeparableSolver::default(), SeparableSolution::default());
    solver.solve_into(&problem, &mut solution);
    let solve = calls_during(|| solver.solve_into(&problem, &mut solution));
    assert_eq!(solve, 0, "solve of separable costs");
    let settings = SeparableSettings { samples: 20, ..SeparableSettings::like(&problem, 1) };
    let policy = SeparablePrice::train(&[cost], &settings, None).unwrap();
    let (mut allocator, mut amounts) = (policy.allocator(), Vec::new());
    assert!(allocator.serve(&problem, &mut amounts).is_served());
    let allocate = calls_during(|| assert!(allocator.serve(&problem, &mut amounts).is_served()));
    assert_eq!(allocate, 0, "allocate of separable costs");
    let instance = separable_instance(problem);
    assert_eq!(calls_of(&mut solver, &instance), 0, "solve an instance of separable costs");
    assert_eq!(calls_of(&mut allocator, &instance), 0, "allocate an instance of separable costs");

    let scenario = Scenario::D2d(D2dField::default());
    let field = scenario.draw(1, 100, 0).unwrap();
    let sparse = SparseInterference::new(&field, scenario.threshold());
    let mut wmmse = Wmmse::default();
    wmmse.shares(&field);
    assert_eq!(calls_during(|| _ = wmmse.shares(&field).len()), 0, "WMMSE");
    let settings = PowerTrainSettings { samples: 2, ..PowerTrainSettings::preset(scenario, 1) };
    let mut objective = PowerObjective::new(&settings).unwrap();
    let (features, parameters) = (objective.features(), objective.start(0));
    for output in [PowerOutput::Ranked { passes: 5 }, PowerOutput::Priced { steps: 1 }] {
        let policy = finish_power(&settings, features, output, parameters.clone()).unwrap();
        let mut allocator = policy.allocator();
        allocator.shares(&sparse);
        assert_eq!(calls_during(|| _ = allocator.shares(&sparse).len()), 0, "{output:?}");
    }
}
