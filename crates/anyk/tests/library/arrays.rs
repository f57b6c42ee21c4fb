//! Instances given as arrays: the allocations and verdicts must equal those for files.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use anyk::core::{Formulating, write_samples};
use anyk::exchange::Input;
use anyk::framework::Verb;
use anyk::problems::urllc::{URLLC, Urllc, UrllcSolver};
use anyk::problems::{BUILT_IN, named, reader};
use anyk::{
    About, Allocation, ArrayView, Config, Error, Instance, Options, Outcome, Problem, Record,
    Status,
};

/// Returns the options that a problem needs to draw and solve random instances of a size.
fn options(about: &About, size: usize) -> Options {
    let mut options = Options::default();
    if (about.flags)(Verb::Solve).iter().any(|spec| spec.name == "max-bandwidth-hz") {
        options.set("max-bandwidth-hz", (2e5 * size as f64).to_string());
    }
    options
}

fn problem(about: &About, size: usize) -> Arc<dyn Problem> {
    (about.make)(&options(about, size)).unwrap()
}

/// Draws instances of a problem, writes them and reads them as the program does.
fn drawn(about: &'static About, size: usize, count: usize) -> Vec<Instance> {
    let mut of_sample = Options::default();
    of_sample.set("k", size.to_string());
    of_sample.set("count", count.to_string());
    let mut text = Vec::new();
    write_samples(&*(about.drawing)(&Options::default()).unwrap(), &of_sample, &mut text).unwrap();
    let mut formulating = Formulating::new(problem(about, size));
    let read = reader(about).read(Input::new(&text, "instances"));
    read.into_iter().map(|record| formulating.instance(record.unwrap()).unwrap()).collect()
}

/// Returns the allocation of a policy that needs no training.
fn answered(instance: &Instance, name: &str) -> (Outcome, Allocation) {
    let mut policy = instance.problem.policy(Some(name)).unwrap();
    let mut found = Allocation::default();
    let outcome = instance.allocate(&mut *policy, &mut found).unwrap();
    (outcome, found)
}

#[test]
fn every_problem_answers_and_judges_arrays() {
    for about in BUILT_IN {
        let name = about.name;
        for instance in drawn(about, 6, 2) {
            assert_eq!(instance.size().users, 6);
            assert_eq!(instance.features().len(), 6);
            assert_eq!(instance.about().amounts, about.amounts);
            let (_, best) = answered(&instance, about.policies[0].name);
            let best = best.objective.unwrap_or_else(|| instance.value(&best));
            for (place, row) in about.policies.iter().enumerate() {
                let (outcome, found) = answered(&instance, row.name);
                assert!(outcome.is_served(), "{name} {}", row.name);
                let verdict = instance.judge(&found, Some(best)).unwrap();
                assert_eq!(verdict.status, "feasible", "{name} {}: {verdict:?}", row.name);
                if place == 0 {
                    assert!(verdict.gap_percent.unwrap().abs() < 1e-6, "{name}");
                }
                // With the users in another order, each user gets the same.
                let order = [5, 3, 1, 0, 2, 4];
                let (_, moved) = answered(&instance.part(&order), row.name);
                for (user, value) in order.iter().zip(&moved.amounts[0]) {
                    let same = found.amounts[0][*user];
                    assert!((value - same).abs() <= 1e-9 * same.abs(), "{name} {}", row.name);
                }
            }
            assert!(instance.problem.policy(Some("nobody")).is_err());
            // Wrong lengths and NaN are rejected.
            let short = Allocation::of(vec![vec![0.0; 2]; about.amounts.len()]);
            assert!(matches!(instance.judge(&short, None), Err(Error::Allocation(_))));
            let none = Allocation::default();
            assert!(matches!(instance.judge(&none, None), Err(Error::Allocation(_))));
            let (_, mut found) = answered(&instance, about.policies[0].name);
            found.amounts[0][3] = f64::NAN;
            let error = instance.judge(&found, None).unwrap_err().to_string();
            let id = instance.record.id(3);
            assert!(error.contains("NaN") && error.contains(&id), "{name}: {error}");
        }
    }
}

/// Tests that the arrays of an instance give the same instance again.
#[test]
fn every_problem_reads_the_arrays_of_its_records() {
    for about in BUILT_IN {
        let instance = &drawn(about, 6, 1)[0];
        let record = &instance.record;
        let views: Vec<(&str, Vec<usize>, &[f64])> = record
            .arrays()
            .map(|(column, values)| (column.name, column.shape(record.size()), values))
            .collect();
        let given: Vec<(&str, ArrayView<'_>)> = views
            .iter()
            .map(|(name, shape, values)| (*name, ArrayView { shape, values }))
            .collect();
        let again = Instance::of_arrays(&instance.problem, &given).unwrap();
        assert_eq!(again.inputs(), instance.inputs(), "{}", about.name);
        let best = about.policies[0].name;
        assert_eq!(answered(&again, best), answered(instance, best), "{}", about.name);
    }
}

/// Tests that a record rebuilt from its values gives the same allocation, and that values of wrong lengths are rejected.
#[test]
fn every_problem_rebuilds_its_records_from_their_values() {
    for about in BUILT_IN {
        let instance = drawn(about, 3, 1).remove(0);
        let record = &instance.record;
        let build = |values| {
            let parameters = record.parameters().clone();
            Record::of_values(about.inputs, instance.size(), values, parameters)
        };
        let again = build(record.values().to_vec()).unwrap();
        let again = Formulating::new(problem(about, 3)).instance(again).unwrap();
        let best = about.policies[0].name;
        assert_eq!(answered(&again, best), answered(&instance, best), "{}", about.name);
        assert!(build(Vec::new()).is_err());
        assert!(build(vec![vec![1.0; 7]; about.inputs.len()]).is_err());
    }
}

#[test]
fn arrays_and_the_library_have_the_same_answer() {
    let system = Config::default().validate().unwrap();
    let distances = [60.0, 90.0, 120.0, 180.0, 240.0];
    let problem = problem(&URLLC, 5);
    let view = ArrayView { shape: &[5], values: &distances };
    let instance = Instance::of_arrays(&problem, &[("distance_m", view)]).unwrap();
    let gains = distances.map(|metres| system.path_loss().gain(metres));
    let solution = UrllcSolver::default().solve(&Urllc::uniform(&system, gains).unwrap());
    let (outcome, found) = answered(&instance, "optimum");
    assert_eq!(outcome, Outcome::Served(Status::Optimal));
    assert_eq!(found.amounts, [solution.allocation.power_w, solution.allocation.bandwidth_hz]);
    assert_eq!(found.proof.unwrap().duality_gap.to_bits(), solution.duality_gap.to_bits());
    // Gains and classes: one number for all, with or without an axis, before or after the gains.
    let view = ArrayView { shape: &[5], values: &gains };
    for shape in [&[][..], &[1]] {
        let epsilon = ArrayView { shape, values: &[1e-5] };
        for given in
            [[("gain", view), ("epsilon", epsilon)], [("epsilon", epsilon), ("gain", view)]]
        {
            let same = Instance::of_arrays(&problem, &given).unwrap();
            assert_eq!(answered(&same, "optimum").1, found);
            assert_eq!(same.inputs()[0].values, gains);
        }
    }
}

#[test]
fn bad_arrays_are_refused_by_name() {
    let cells = problem(&URLLC, 1);
    let one = |values: &'static [f64]| ArrayView { shape: &[1], values };
    let two = |values: &'static [f64]| ArrayView { shape: &[2], values };
    let flat = ArrayView { shape: &[1, 2], values: &[60.0, 90.0] };
    let none = ArrayView { shape: &[0], values: &[] };
    for (given, says) in [
        (vec![("distance_m", one(&[f64::NAN]))], "user 0: distance_m is NaN, expected"),
        (
            vec![("distance_m", none)],
            "the number of values of distance_m is 0, expected at least 1",
        ),
        (vec![("distance_m", one(&[]))], "distance_m is 0 numbers of shape [1], expected as many"),
        (vec![("distance_m", two(&[60.0]))], "distance_m is 1 numbers of shape [2], expected as"),
        (vec![("gain", one(&[2.0]))], "user 0: gain is 2, expected a power ratio"),
        (vec![("distance_m", flat)], "the shape of distance_m is [1, 2], expected"),
        (
            vec![("colour", one(&[1.0]))],
            "the name of an array is colour, expected one of gain, distance_m,",
        ),
        (vec![("epsilon", one(&[1e-5]))], "user 0: one of gain, distance_m, gain_db,"),
        (
            vec![("gain", one(&[0.1])), ("gain_db", one(&[-3.0]))],
            "user 0: gain is 0.1, expected only one of the two: gain_db is -3",
        ),
        (
            vec![
                ("gain", two(&[0.1, 0.1])),
                ("epsilon", ArrayView { shape: &[3], values: &[1e-5; 3] }),
            ],
            "the number of values of epsilon is 3, expected 2: one for each user, or one for all",
        ),
        (vec![("gain", one(&[0.1])), ("epsilon", one(&[3.0]))], "user 0: epsilon is 3, expected"),
        (vec![("snr_db", one(&[3.0]))], "user 0: snr_db is 3, expected another column"),
    ] {
        let error = Instance::of_arrays(&cells, &given).expect_err(says).to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let links = problem(named("interference").unwrap(), 1);
    let square = ArrayView { shape: &[2, 2], values: &[1.0, 0.1, 0.2, 1.0] };
    let oblong = ArrayView { shape: &[1, 2], values: &[1.0, 0.1] };
    for (given, says) in [
        (vec![("gains", one(&[1.0]))], "the shape of gains is [1], expected [K, K]"),
        (vec![("gains", oblong)], "the shape of gains is [1, 2], expected [K, K]"),
        (vec![("noise", one(&[1.0]))], "gains is missing, expected"),
        (
            vec![("gains", square), ("noise", ArrayView { shape: &[3], values: &[1.0; 3] })],
            "the number of values of noise is 3, expected 2: one for each user",
        ),
        (
            vec![("gains", square), ("colour", one(&[1.0]))],
            "the name of an array is colour, expected one of gains, weights, noise,",
        ),
    ] {
        let error = Instance::of_arrays(&links, &given).expect_err(says).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn a_model_answers_arrays_of_its_own_problem_alone() {
    let mut options = Options::default();
    options.set("method", "price");
    options.set("samples", "50");
    let model = anyk::train("urllc", &options).unwrap().model;
    let mut policy = model.policy(&Options::default()).unwrap();
    // The policy owns all its data.
    drop(model);
    let cell = &drawn(&URLLC, 6, 1)[0];
    let mut found = Allocation::default();
    let outcome = cell.allocate(&mut *policy, &mut found).unwrap();
    assert_eq!(outcome, Outcome::Served(Status::Learned));
    let (_, best) = answered(cell, "optimum");
    let verdict = cell.judge(&found, Some(cell.value(&best))).unwrap();
    assert_eq!(verdict.status, "feasible");
    let other = &drawn(named("qos-power").unwrap(), 6, 1)[0];
    let refused = other.allocate(&mut *policy, &mut found);
    assert!(matches!(refused, Err(Error::OtherProblem)));
}
