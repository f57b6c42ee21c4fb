//! Problems as arrays: the same answers and verdicts as through files.

#![allow(clippy::unwrap_used)]

use anyk::Config;
use anyk::exchange::Input;
use anyk::framework::{
    ArrayView, Error, Instance, Options, Outcome, Quantity, Room, Silent, Verb, Workshop,
};
use anyk::problems::urllc::{Urllc, UrllcSolver};
use anyk::problems::{ROOMS, room};

/// Instances of a room, drawn as the program draws them.
fn drawn(room: &dyn Room, size: usize, count: usize) -> Vec<Box<dyn Instance>> {
    let options = room.sized(&Options::default(), size).unwrap();
    let mut of_sample = options.only(&room.options(Verb::Sample));
    of_sample.set("k", size.to_string());
    of_sample.set("count", count.to_string());
    let mut text = Vec::new();
    room.sample(&of_sample, &mut text).unwrap();
    let instances = room.instances(&options.only(&room.options(Verb::Assess))).unwrap();
    let read = instances.of_document(Input::new(&text, "instances"));
    read.into_iter().map(Result::unwrap).collect()
}

/// The answer of a baseline.
fn answered(room: &dyn Room, name: &str, instance: &dyn Instance) -> (Outcome, Vec<Vec<f64>>) {
    let options = room.sized(&Options::default(), instance.size()).unwrap();
    let options = options.only(&room.options(Verb::Solve));
    let mut responder = room.responder(name, &options).unwrap().unwrap();
    let mut columns: Vec<Vec<f64>> =
        instance.amounts().iter().map(|amount| vec![0.0; amount.len(instance.size())]).collect();
    let mut slices: Vec<&mut [f64]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
    let outcome = responder.respond(instance, &mut slices).unwrap();
    (outcome, columns)
}

#[test]
fn every_problem_answers_and_judges_arrays() {
    for room in ROOMS {
        for instance in drawn(*room, 6, 2) {
            assert_eq!(instance.size(), 6);
            assert_eq!(instance.features().len(), 6);
            assert_eq!(instance.amounts(), room.amounts());
            for (place, (name, _)) in room.baselines().iter().enumerate() {
                let (outcome, columns) = answered(*room, name, &*instance);
                assert!(outcome.is_served(), "{} {name}", room.name());
                let given: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
                let verdict = instance.judge(&given).unwrap();
                assert!(verdict.is_feasible(), "{} {name}: {verdict:?}", room.name());
                if place == 0 {
                    assert!(verdict.gap_percent.unwrap().abs() < 1e-6, "{}", room.name());
                }
                // In another order, everyone gets the same.
                let order = [5, 3, 1, 0, 2, 4];
                let (_, moved) = answered(*room, name, &*instance.reordered(&order));
                for (user, value) in order.iter().zip(&moved[0]) {
                    let same = columns[0][*user];
                    assert!((value - same).abs() <= 1e-9 * same.abs(), "{} {name}", room.name());
                }
            }
            assert!(room.responder("nobody", &Options::default()).is_none());
            // What is not as long as it should be is refused.
            let short = [0.0; 2];
            let columns: Vec<&[f64]> = instance.amounts().iter().map(|_| &short[..]).collect();
            assert!(matches!(instance.judge(&columns), Err(Error::Allocation(_))));
            assert!(matches!(instance.judge(&[]), Err(Error::Allocation(_))));
        }
    }
}

#[test]
fn arrays_and_the_library_have_the_same_answer() {
    let system = Config::default().validate().unwrap();
    let distances = [60.0, 90.0, 120.0, 180.0, 240.0];
    let room = room("urllc").unwrap();
    let instances = room.instances(&Options::default()).unwrap();
    let view = ArrayView { shape: &[5], values: &distances };
    let instance = instances.of_arrays(&[("distance_m", view)]).unwrap();
    let gains = distances.map(|metres| system.path_loss().gain(metres));
    let problem = Urllc::uniform(&system, gains).unwrap();
    let solution = UrllcSolver::default().solve(&problem);
    let (outcome, columns) = answered(room, "optimum", &*instance);
    let Outcome::Optimal(proof) = outcome else { panic!("{outcome:?}") };
    assert_eq!(columns, [solution.allocation.power_w, solution.allocation.bandwidth_hz]);
    assert_eq!(proof.duality_gap.to_bits(), solution.duality_gap.to_bits());
    // The gains themselves, and classes.
    let view = ArrayView { shape: &[5], values: &gains };
    let epsilon = ArrayView { shape: &[], values: &[1e-5] };
    let same = instances.of_arrays(&[("gain", view), ("epsilon", epsilon)]).unwrap();
    assert_eq!(answered(room, "optimum", &*same).1, columns);
    assert_eq!(same.inputs()[0].values, gains);
}

#[test]
fn bad_arrays_are_refused_by_name() {
    let instances = room("urllc").unwrap().instances(&Options::default()).unwrap();
    let one = |values: &'static [f64]| ArrayView { shape: &[1], values };
    let flat = ArrayView { shape: &[1, 2], values: &[60.0, 90.0] };
    for (given, says) in [
        (vec![("distance_m", one(&[f64::NAN]))], "user 0: distance_m is NaN, expected"),
        (vec![("distance_m", one(&[]))], "distance_m is empty"),
        (vec![("gain", one(&[2.0]))], "user 0: gain is 2, expected a power ratio"),
        (vec![("distance_m", flat)], "distance_m has 2 axes"),
        (vec![("colour", one(&[1.0]))], "colour is not known, expected gain, "),
        (vec![("epsilon", one(&[1e-5]))], "none of gain, "),
        (vec![("gain", one(&[0.1])), ("gain_db", one(&[-3.0]))], "gain and gain_db are given"),
        (
            vec![("gain", one(&[0.1])), ("epsilon", one(&[1e-5, 1e-5]))],
            "epsilon has 2 numbers, expected 1",
        ),
        (vec![("gain", one(&[0.1])), ("epsilon", one(&[3.0]))], "user 0: epsilon is 3, expected"),
        (vec![("snr_db", one(&[3.0]))], "user 0: snr_db is 3, expected another column"),
    ] {
        let error = instances.of_arrays(&given).err().expect(says).to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let links = room("interference").unwrap().instances(&Options::default()).unwrap();
    let square = ArrayView { shape: &[2, 2], values: &[1.0, 0.1, 0.2, 1.0] };
    for (given, says) in [
        (vec![("gains", one(&[1.0]))], "gains have the shape [1], expected [K, K]"),
        (vec![("noise", one(&[1.0]))], "gains are missing"),
        (vec![("gains", square), ("noise", one(&[1.0, 1.0, 1.0]))], "noise has 3 numbers"),
        (vec![("gains", square), ("colour", one(&[1.0]))], "colour is not known"),
    ] {
        let error = links.of_arrays(&given).err().expect(says).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn a_model_answers_arrays_of_its_own_problem_alone() {
    let room = room("urllc").unwrap();
    let mut options = Options::default();
    options.set("method", "any-gnn");
    options.set("samples", "50");
    let workshop = Workshop { observer: &Silent, out: None, shared: None };
    let model = room.train(&options, &workshop).unwrap().model;
    assert!(model.source(Quantity::Power).unwrap().is_some());
    let mut responder = model.responder(&Options::default()).unwrap();
    // It owns what it needs.
    drop(model);
    let (mut power, mut bandwidth) = ([0.0; 6], [0.0; 6]);
    let cell = &drawn(room, 6, 1)[0];
    let outcome = responder.respond(&**cell, &mut [&mut power, &mut bandwidth]).unwrap();
    assert_eq!(outcome, Outcome::Learned);
    assert!(cell.judge(&[&power, &bandwidth]).unwrap().is_feasible());
    let other = &drawn(anyk::problems::room("qos-power").unwrap(), 6, 1)[0];
    let refused = responder.respond(&**other, &mut [&mut power]);
    assert!(matches!(refused, Err(Error::OtherProblem)));
}
