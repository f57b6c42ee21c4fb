//! Targets that read users, gains, samples, fading, costs and configs, and then check, write and reread them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use anyk::channel::{FadingLaw, GainMatrix};
use anyk::core::{Formulating, Reader, record_json};
use anyk::exchange::{
    Input, InputError, fading_samples_to_npy, read_cost_samples, read_fading_samples, read_samples,
};
use anyk::problems::interference::{
    INTERFERENCE, Interference, LinkField, gains_to_npy, read_networks,
};
use anyk::problems::separable::{Cost, Separable, SeparableSolver, separable_instance};
use anyk::problems::urllc::Urllc;
use anyk::problems::{BUILT_IN, reader};
use anyk::qos::RequiredBandwidth;
use anyk::{About, Allocation, Config, Instance, Problem, Record};

use crate::answers::options;

/// Checks that an error message is neither empty nor as long as a file.
pub(crate) fn readable(message: &str) {
    assert!(!message.is_empty() && message.len() < 4000, "a message of {} bytes", message.len());
}

/// Reader and problem of each built-in problem.
static PROBLEMS: LazyLock<Vec<(Reader, Arc<dyn Problem>)>> = LazyLock::new(|| {
    let both = |about: &&'static About| (reader(about), (about.make)(&options(about)).unwrap());
    BUILT_IN.iter().map(both).collect()
});

fn known(about: &About) -> &'static (Reader, Arc<dyn Problem>) {
    PROBLEMS.iter().find(|(reader, _)| reader.about().name == about.name).unwrap()
}

/// Reads service classes, and a user of the class `a`.
pub(crate) fn classes(bytes: &[u8]) {
    let about = &anyk::problems::urllc::URLLC;
    let reader = match reader(about).with_classes(bytes, "classes") {
        Ok(reader) => reader,
        Err(error) => return readable(&error.to_string()),
    };
    let user = r#"{"users":[{"distance_m":60,"class":"a","epsilon":1e-5}]}"#;
    for record in reader.read(Input::new(user.as_bytes(), "users")) {
        match record {
            // The user's own value takes precedence.
            Ok(record) => assert_eq!(record.get("epsilon"), Some(&[1e-5][..])),
            Err(error) => readable(&error.to_string()),
        }
    }
}

/// Reads the records of a problem from a document.
pub(crate) fn records(about: &About, bytes: &[u8]) -> Vec<Result<Record, InputError>> {
    known(about).0.read(Input::new(bytes, about.name))
}

/// Reads the instances of a problem from a document.
pub(crate) fn instances(about: &About, bytes: &[u8]) -> Vec<Result<Instance, String>> {
    let mut formulating = Formulating::new(Arc::clone(&known(about).1));
    let read = records(about, bytes);
    assert!(!read.is_empty(), "an empty document gives no error");
    read.into_iter()
        .map(|record| {
            let record = record.map_err(|error| error.to_string())?;
            written_and_read(about, &record);
            formulating.instance(record).map_err(|error| error.to_string())
        })
        .collect()
}

/// Checks that a record stays the same when it is written and read.
fn written_and_read(about: &About, record: &Record) {
    let json = record_json(record).unwrap();
    let again = records(about, json.as_bytes()).remove(0).expect(&json);
    assert_eq!(again.size(), record.size());
    for user in 0..record.size().users {
        assert_eq!(
            again.id(user),
            if about.is_of_arrays() { again.id(user) } else { record.id(user) }
        );
        for column in 0..about.inputs.len() {
            let [one, two] =
                [record, &again].map(|record| record.at(column, user).map(f64::to_bits));
            assert_eq!(one, two, "{json}");
        }
    }
    for (column, values) in record.arrays() {
        assert_eq!(again.get(column.name), Some(values), "{json}");
    }
    assert!(again.parameters().names().eq(record.parameters().names()), "{json}");
    for name in record.parameters().names() {
        let [one, two] = [record, &again].map(|record| record.parameters().text(name).unwrap());
        assert!(one == two || one.parse::<f64>() == two.parse(), "{name}: {one} {two}");
    }
}

/// Reads the input as users of every problem.
pub(crate) fn users(bytes: &[u8]) {
    for about in BUILT_IN.iter().filter(|about| !about.is_of_arrays()) {
        for instance in instances(about, bytes) {
            let instance = match instance {
                Ok(instance) => instance,
                Err(why) => {
                    readable(&why);
                    continue;
                }
            };
            let (record, size) = (&instance.record, instance.size().users);
            assert!(size > 0 && instance.features().len() == size);
            assert!(instance.features().iter().all(|x| x.is_finite()));
            let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
            assert!(instance.inputs().iter().all(|input| finite(&input.values)));
            if let Ok(cell) = instance.formulation::<Urllc>() {
                let sound = |gain: f64| gain > 0.0 && gain <= 1.0;
                assert!(cell.users().iter().all(|user| sound(user.gain)));
                cell.classes().iter().for_each(|class| class.service().validate().unwrap());
            }
            let mut ids = HashSet::new();
            for user in 0..size {
                let id = record.id(user);
                assert!(!id.is_empty() && !id.chars().any(char::is_control));
                assert!(ids.insert(id.clone()), "{id} appears twice");
            }
        }
    }
}

pub(crate) fn gains(bytes: &[u8]) {
    for about in BUILT_IN.iter().filter(|about| about.is_of_arrays()) {
        for instance in instances(about, bytes) {
            match instance {
                Ok(instance) => {
                    let problem: &Interference = instance.formulation().unwrap();
                    let sound = |x: &f64| x.is_finite() && *x > 0.0;
                    assert!(problem.noise().iter().chain(problem.max_power()).all(sound));
                }
                Err(why) => readable(&why),
            }
        }
    }
    let (reader, _) = known(&INTERFERENCE);
    let networks = match read_networks(reader, Input::new(bytes, "gains")) {
        Ok(networks) => networks,
        Err(error) => return readable(&error.to_string()),
    };
    assert!(!networks.is_empty());
    for network in &networks {
        for field in LinkField::ALL {
            if let Some(values) = network.values(field) {
                assert_eq!(values.len(), network.gains.size());
                field.check(values).unwrap();
            }
        }
    }
    let gains: Vec<GainMatrix> = networks.into_iter().map(|network| network.gains).collect();
    let sound = |gain: &f64| gain.is_finite() && *gain >= 0.0;
    assert!(gains.iter().all(|matrix| matrix.as_slice().iter().all(sound)));
    let size = gains[0].size();
    if gains.iter().all(|matrix: &GainMatrix| matrix.size() == size) {
        let again = gains_to_npy(&gains).unwrap();
        let again = read_networks(reader, Input::new(&again, "again")).unwrap();
        assert!(again.iter().map(|network| &network.gains).eq(&gains));
    }
}

pub(crate) fn samples(bytes: &[u8]) {
    let rows = match read_samples(bytes, "samples") {
        Ok(rows) => rows,
        Err(error) => return readable(&error.to_string()),
    };
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row.x.is_finite() && row.y.is_finite() && row.k >= 1));
    // A few kilobytes can contain millions of rows; the first rows are enough.
    let rows = &rows[..rows.len().min(1000)];
    let numbered = rows[0].instance.is_some();
    let mut text = format!("k,x,y{}\n", if numbered { ",instance" } else { "" });
    for row in rows {
        assert_eq!(row.instance.is_some(), numbered);
        write!(text, "{},{},{}", row.k, row.x, row.y).unwrap();
        match row.instance {
            Some(instance) => writeln!(text, ",{instance}").unwrap(),
            None => text.push('\n'),
        }
    }
    assert_eq!(read_samples(text.as_bytes(), "again").unwrap(), rows);
}

pub(crate) fn fading(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        match text.parse::<FadingLaw>() {
            Err(error) => readable(&error.to_string()),
            Ok(law) => {
                assert_eq!(law.to_string().parse(), Ok(law));
                let mean = law.quadrature(2, 0.0).expectation(|g| g);
                assert!((mean - 2.0).abs() < 1e-6, "{law}: mean {mean}");
            }
        }
    }
    let samples = match read_fading_samples(bytes, "fading") {
        Ok(samples) => samples,
        Err(error) => return readable(&error.to_string()),
    };
    let values = samples.as_slice();
    assert!(values.is_sorted() && values.iter().all(|g| *g > 0.0 && g.is_finite()));
    let again = read_fading_samples(&fading_samples_to_npy(values), "again").unwrap();
    assert_eq!(again, samples);
    let mean = samples.compressed_rule().expectation(|g| g);
    assert!(mean > 0.0 && mean.is_finite(), "mean {mean}");
}

/// Reads the input as samples of a cost; if they are valid, solves the problem for three users.
pub(crate) fn cost(bytes: &[u8]) {
    let samples = match read_cost_samples(bytes, "cost") {
        Ok(samples) => samples,
        Err(error) => return readable(&error.to_string()),
    };
    let cost = match Cost::from_samples(&samples) {
        Ok(cost) => Arc::new(cost),
        Err(error) => return readable(&error.to_string()),
    };
    for &(u, value) in &samples {
        let size = samples.iter().fold(0.0f64, |most, sample| most.max(sample.1.abs()));
        assert!((cost.value(u) - value).abs() <= 1e-9 * size, "{u}: {value}");
    }
    let (low, high) = cost.range();
    // A budget between the minimum and the maximum of the amounts.
    let budget = (3.5 * (low + 0.3 * (high - low))).clamp(1e-50, 1e50);
    let Ok(problem) = Separable::uniform(cost, [1.0, 0.5, 2.0], budget) else { return };
    let solution = SeparableSolver::default().solve(&problem);
    if solution.outcome.infeasible().is_none() {
        let given = Allocation::of(vec![solution.amounts.clone()]);
        separable_instance(problem).check(&given).unwrap();
        assert!((0.0..=1.0).contains(&solution.duality_gap), "{}", solution.duality_gap);
    }
}

pub(crate) fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let config = match Config::from_toml(text) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let system = match config.validate() {
        Ok(system) => system,
        Err(error) => return readable(&error.to_string()),
    };
    assert_eq!(Config::from_toml(&config.to_toml().unwrap()).unwrap(), config);
    assert!(system.max_power_w() > 0.0 && system.noise_w_hz() > 0.0);
    match system.qos(system.service()) {
        Err(error) => readable(&error.to_string()),
        Ok(qos) => {
            let required = RequiredBandwidth::new(qos);
            let (least_w, most_hz) = (required.min_received_w(), required.max_bandwidth_hz());
            assert!(least_w > 0.0 && least_w.is_finite(), "{config:?}: least {least_w}");
            assert!(most_hz > 0.0 && most_hz.is_finite(), "{config:?}: most {most_hz}");
            let point = required.at(2.0 * least_w).unwrap();
            assert!(
                point.bandwidth_hz > 0.0 && point.bandwidth_hz <= most_hz,
                "{config:?}: {point:?}"
            );
            assert!(point.slope_hz_per_w < 0.0, "{config:?}: {point:?}");
        }
    }
}
