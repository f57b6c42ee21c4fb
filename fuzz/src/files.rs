//! Users, gains, samples, fading, costs and configs: read, checked, written, read again.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyk::channel::{FadingLaw, GainMatrix};
use anyk::exchange::{
    Input, LinkField, fading_samples_to_npy, gains_to_npy, read_cost_samples, read_fading_samples,
    read_networks, read_samples, read_users,
};
use anyk::framework::Problem;
use anyk::problems::separable::{Cost, Separable, SeparableSolver, SeparableStatus};
use anyk::qos::RequiredBandwidth;
use anyk::{Config, System};

/// The default cell.
pub(crate) fn system() -> System {
    Config::default().validate().unwrap()
}

/// An error is a line or some for people, never empty and never the whole file again.
fn readable(message: &str) {
    assert!(!message.is_empty() && message.len() < 4000, "a message of {} bytes", message.len());
}

pub(crate) fn users(bytes: &[u8]) {
    let cells = match read_users(bytes, "users", &system()) {
        Ok(cells) => cells,
        Err(error) => return readable(&error.to_string()),
    };
    assert!(!cells.is_empty());
    for cell in cells {
        assert!(!cell.users.is_empty());
        let mut ids = HashSet::new();
        for user in &cell.users {
            assert!(user.gain > 0.0 && user.gain <= 1.0, "gain {}", user.gain);
            user.service.validate().unwrap();
            assert!(!user.id.is_empty() && !user.id.chars().any(char::is_control));
            assert!(ids.insert(&user.id), "{} stands twice", user.id);
        }
    }
}

pub(crate) fn gains(bytes: &[u8]) {
    let networks = match read_networks(Input::new(bytes, "gains")) {
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
        let again = read_networks(Input::new(&gains_to_npy(&gains).unwrap(), "again")).unwrap();
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
    // A few kilobytes can hold millions of rows; the first ones say enough.
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

/// Samples of a cost: what is one is solved for three users.
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
    // A budget that gives them something between the least and the most.
    let budget = (3.5 * (low + 0.3 * (high - low))).clamp(1e-50, 1e50);
    let Ok(problem) = Separable::uniform(cost, [1.0, 0.5, 2.0], budget) else { return };
    let solution = SeparableSolver::default().solve(&problem);
    if !matches!(solution.status, SeparableStatus::Infeasible(_)) {
        problem.check(&solution.amounts).unwrap();
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
