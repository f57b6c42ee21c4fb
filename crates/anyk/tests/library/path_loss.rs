//! Path-loss models by name: TR 38.901 compared with independently computed values, properties of the models, and
//! rejected parameters.

// Losses of the same formula are compared exactly.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

use anyk::Invalid;
use anyk::channel::{
    PathLoss, PathLossModel, PathLossParameter, Road, Scenario, Shadowing, Sight, Tr38901,
    sample_distances_m, sample_gains_db,
};
use anyk::{Config, PathLossConfig};

const SCENARIOS: [(&str, Scenario); 7] = [
    ("uma", Scenario::Uma),
    ("umi", Scenario::Umi),
    ("rma", Scenario::Rma),
    ("inf-sl", Scenario::InfSl),
    ("inf-dl", Scenario::InfDl),
    ("inf-sh", Scenario::InfSh),
    ("inf-dh", Scenario::InfDh),
];

/// Compares with reference values that `data/tr38901.py` computes from the formulas of the standard.
#[test]
fn losses_shadowing_and_line_of_sight_are_the_standards() {
    let mut worst = 0.0f64;
    let mut count = 0;
    for line in include_str!("../data/tr38901.csv").lines().skip(1) {
        let (name, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<f64> = numbers.split(',').map(|text| text.parse().unwrap()).collect();
        let [
            carrier_ghz,
            distance_m,
            base_height_m,
            user_height_m,
            street_width_m,
            building_height_m,
            clutter_density,
            clutter_size_m,
            clutter_height_m,
            los_db,
            los_sigma_db,
            nlos_db,
            nlos_sigma_db,
            probability,
        ] = numbers[..]
        else {
            panic!("{line}")
        };
        let (_, scenario) = SCENARIOS.into_iter().find(|entry| entry.0 == name).unwrap();
        let site = Tr38901 {
            scenario,
            carrier_ghz,
            base_height_m,
            user_height_m,
            street_width_m,
            building_height_m,
            clutter_density,
            clutter_size_m,
            clutter_height_m,
        };
        let found = [
            (site.loss_db(Sight::Los, distance_m), los_db),
            (site.loss_db(Sight::Nlos, distance_m), nlos_db),
            (site.shadowing_db(Sight::Los, distance_m), los_sigma_db),
            (site.shadowing_db(Sight::Nlos, distance_m), nlos_sigma_db),
            (site.los_probability(distance_m), probability),
        ];
        for (found, golden) in found {
            worst = worst.max((found - golden).abs());
            assert!((found - golden).abs() < 1e-9, "{line}: {found} instead of {golden}");
        }
        count += 1;
    }
    assert!(count > 600, "{count} rows");
    assert!(worst < 1e-9, "{worst}");
}

/// Returns all scenarios of the standard at a carrier frequency, with their names.
fn sites(carrier_ghz: f64) -> impl Iterator<Item = (&'static str, Tr38901)> {
    SCENARIOS
        .into_iter()
        .map(move |(name, scenario)| (name, Tr38901::standard(scenario, carrier_ghz)))
}

/// Returns distances over the whole range of a scenario, evenly spaced in their logarithm.
fn distances(site: &Tr38901, sight: Sight) -> impl Iterator<Item = f64> {
    let (low, high) = site.distances_m(sight);
    let low = low.max(0.1);
    (0..=400).map(move |i| low * (high / low).powf(f64::from(i) / 400.0))
}

#[test]
fn losses_grow_with_distance_and_without_line_of_sight() {
    for carrier_ghz in [0.5, 3.5, 30.0] {
        for (name, site) in sites(carrier_ghz) {
            for sight in [Sight::Los, Sight::Nlos] {
                let losses: Vec<f64> =
                    distances(&site, sight).map(|d| site.loss_db(sight, d)).collect();
                assert!(losses.is_sorted() && losses[0] > 20.0, "{name} {sight:?}");
            }
            for distance_m in distances(&site, Sight::Nlos) {
                let [los, nlos] = [Sight::Los, Sight::Nlos].map(|s| site.loss_db(s, distance_m));
                assert!(nlos >= los, "{name} at {distance_m} m: {nlos} < {los}");
            }
        }
    }
}

#[test]
fn losses_are_continuous_at_breakpoints() {
    for carrier_ghz in [0.7, 2.0, 6.0] {
        for (name, site) in sites(carrier_ghz) {
            let Some(breakpoint_m) = site.breakpoint_m(1.0) else {
                assert!(name.starts_with("inf"), "{name}");
                continue;
            };
            let step = site.loss_db(Sight::Los, breakpoint_m * (1.0 + 1e-12))
                - site.loss_db(Sight::Los, breakpoint_m);
            // The formula of RMa uses the horizontal breakpoint distance as a distance in space, so the standard
            // itself has a small step.
            let rise_m = site.base_height_m - site.user_height_m;
            let turn_db = 40.0 * (rise_m / breakpoint_m).hypot(1.0).log10();
            let most = if name == "rma" { turn_db } else { 1e-9 };
            assert!(step.abs() <= most, "{name} at {carrier_ghz} GHz: {step}");
            // Beyond the breakpoint the slope is 40 dB per decade.
            let decade = |from: f64| {
                let length = |d: f64| d.hypot(rise_m).log10();
                let losses = [from, 1.01 * from].map(|d| site.loss_db(Sight::Los, d));
                (losses[1] - losses[0]) / (length(1.01 * from) - length(from))
            };
            assert!((decade(1.001 * breakpoint_m) - 40.0).abs() < 1e-6, "{name}");
            // RMa also has a loss per metre, which is noticeable if the breakpoint is far away.
            assert!(name == "rma" || decade(0.9 * breakpoint_m) < 22.5, "{name}");
        }
    }
}

#[test]
fn line_of_sight_is_a_probability_and_falls() {
    for (name, site) in sites(3.5) {
        // Tall users of UMa are the exception in the standard: their probability may increase with distance.
        for user_height_m in [1.5, 1.9] {
            let site = Tr38901 { user_height_m, ..site };
            let seen: Vec<f64> =
                distances(&site, Sight::Nlos).map(|d| site.los_probability(d)).collect();
            assert!(seen.iter().all(|p| (0.0..=1.0).contains(p)), "{name}");
            assert!(seen.is_sorted_by(|a, b| a >= b) && seen[0] > 0.6 && seen[400] < 0.9, "{name}");
        }
    }
    for user_height_m in [14.0, 18.0, 22.5] {
        let uma = Tr38901 { user_height_m, ..Tr38901::standard(Scenario::Uma, 3.5) };
        for distance_m in distances(&uma, Sight::Nlos) {
            assert!((0.0..=1.0).contains(&uma.los_probability(distance_m)), "{distance_m}");
        }
    }
}

/// Tests table 7.4.1-1, note 1: `h_E` of tall users is 1 m with probability `1/(1 + C)`, else one of 12, 15, …,
/// `h_UT − 1.5`.
#[test]
fn the_environment_of_tall_users_is_drawn() {
    let uma = |user_height_m| Tr38901 { user_height_m, ..Tr38901::standard(Scenario::Uma, 3.5) };
    let heights = |site: &Tr38901, distance_m: f64| {
        (0..10_000)
            .map(|i| site.environment_m(distance_m, f64::from(i) / 10_000.0))
            .collect::<Vec<_>>()
    };
    assert!(heights(&uma(13.0), 300.0).iter().all(|&h| h == 1.0));
    // At 13.4 m the smallest height is the only choice, since no roof is that low.
    assert!(heights(&uma(13.4), 300.0).iter().all(|&h| h == 1.0));
    let tall = uma(22.5);
    assert!(heights(&tall, 18.0).iter().all(|&h| h == 1.0));
    let drawn = heights(&tall, 300.0);
    // Computed by hand: C = 0.95^1.5·1.25·27·e^−2 = 4.2293, so 1/(1 + C) = 0.19123.
    let share = |height: f64| drawn.iter().filter(|&&h| h == height).count() as f64 / 1e4;
    assert!((share(1.0) - 0.19123).abs() < 2e-4, "{}", share(1.0));
    for height in [12.0, 15.0, 18.0, 21.0] {
        assert!((share(height) - (1.0 - 0.19123) / 4.0).abs() < 2e-4, "{}", share(height));
    }
    assert!(tall.draws_environment() && !uma(13.0).draws_environment());
}

fn config(model: &str, values: &[(PathLossParameter, f64)]) -> Config {
    let mut path_loss = PathLossConfig::named(PathLossModel::by_name(model).unwrap());
    for &(parameter, value) in values {
        *path_loss.slot(parameter) = Some(value);
    }
    Config { path_loss, ..Config::default() }
}

const CARRIER: (PathLossParameter, f64) = (PathLossParameter::Carrier, 3.5);

#[test]
fn the_papers_is_the_default_under_all_its_names() {
    let expected = PathLoss::LogDistance { intercept_db: 35.3, slope_db: 37.6 };
    for config in [Config::default(), config("paper", &[]), config("log-distance", &[])] {
        let system = config.validate().unwrap();
        assert_eq!(system.path_loss(), expected);
        for distance_m in [1.0, 61.7, 250.0, 1e5] {
            let loss_db: f64 = 35.3 + 37.6 * f64::log10(distance_m);
            let gain = 10f64.powf(-loss_db / 10.0);
            assert_eq!(
                system.path_loss().checked_gain(distance_m).unwrap().to_bits(),
                gain.to_bits()
            );
        }
    }
    // Written files contain no parameters of other models, and older files without the new fields can be read.
    let written = Config::default().to_toml().unwrap();
    assert!(written.contains("[path_loss]\nintercept_db = 35.3\nslope_db = 37.6\n\n"), "{written}");
    let read = Config::from_toml("[path_loss]\nslope_db = 30.0\n").unwrap().validate().unwrap();
    assert_eq!(read.path_loss(), PathLoss::LogDistance { intercept_db: 35.3, slope_db: 30.0 });
    assert!(read.config().to_toml().unwrap().contains("intercept_db = 35.3\nslope_db = 30.0\n"));
}

/// Compares with the value computed by hand: 20·log10(4π·100·2.4e9/299792458) = 80.0520 dB.
#[test]
fn free_space_is_friis() {
    let values = [(PathLossParameter::Carrier, 2.4)];
    let path_loss = config("free-space", &values).validate().unwrap().path_loss();
    assert!((path_loss.gain_db(100.0).0 + 80.0520).abs() < 1e-4, "{:?}", path_loss.gain_db(100.0));
    assert!((path_loss.gain_db(1000.0).0 - path_loss.gain_db(100.0).0 + 20.0).abs() < 1e-12);
}

#[test]
fn names_are_read_as_they_are_written() {
    for &(name, _, model) in PathLossModel::ALL {
        assert_eq!((model.name(), PathLossModel::by_name(name)), (name, Some(model)));
        let carrier = model.accepts(PathLossParameter::Carrier).map(|_| CARRIER);
        let written = config(name, carrier.as_slice());
        let system = written.validate().unwrap();
        let text = system.config().to_toml().unwrap();
        let read = Config::from_toml(&text).unwrap();
        assert_eq!(&read, system.config(), "{text}");
        assert_eq!(read.validate().unwrap().path_loss(), system.path_loss());
        let json = serde_json::to_string(system.config()).unwrap();
        assert_eq!(&serde_json::from_str::<Config>(&json).unwrap(), system.config());
        // If the line of sight is random, everything that needs a gain at a distance reports an error.
        let random = system.path_loss().checked_gain(100.0).is_err();
        assert_eq!(
            (random, system.refuse_random_path_loss().is_err()),
            (model.is_mixed(), model.is_mixed())
        );
    }
    let error = Config::from_toml("[path_loss]\nmodel = \"uma-lox\"\n").unwrap_err().to_string();
    assert!(error.contains("\"uma-lox\"") && error.contains("uma-nlos"), "{error}");
}

#[test]
fn distances_are_held_to_the_standards() {
    let loss = |name: &str| config(name, &[CARRIER]).validate().unwrap().path_loss();
    for (name, low, high) in [
        ("uma-los", 10.0, 5000.0),
        ("uma-nlos", 10.0, 5000.0),
        ("umi-los", 10.0, 5000.0),
        ("umi-nlos", 10.0, 5000.0),
        ("rma-los", 10.0, 10_000.0),
        ("rma-nlos", 10.0, 5000.0),
        // Antennas that differ by 6.5 m in height are never too close.
        ("inf-los", 0.0, (600.0f64 * 600.0 - 6.5 * 6.5).sqrt()),
        ("inf-dl-nlos", 1.0, 600.0),
        ("free-space", 1.0, 1e5),
    ] {
        let path_loss = loss(name);
        for inside in [low, high] {
            assert_eq!(path_loss.checked_gain(inside).unwrap(), path_loss.gain(inside), "{name}");
        }
        for outside in [low - 0.01, high + 0.01, -1.0, f64::NAN, f64::INFINITY] {
            let error = path_loss.checked_gain(outside).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("distance_m is {outside}, expected a number of metres "))
            );
        }
    }
    assert_eq!(
        loss("rma-nlos").checked_gain(7.0).unwrap_err().to_string(),
        "distance_m is 7, expected a number of metres from 10 to 5000 along the ground, the range of rma-nlos"
    );
    assert_eq!(
        Config::default()
            .validate()
            .unwrap()
            .path_loss()
            .checked_gain(0.5)
            .unwrap_err()
            .to_string(),
        "distance_m is 0.5, expected a number of metres from 1 to 100000"
    );
    // A road outside the range is rejected.
    for (min_distance_m, cell_radius_m, field) in
        [(5.0, 250.0, "road.min_distance_m is 5"), (50.0, 5001.0, "road.cell_radius_m is 5001")]
    {
        let mut config = config("uma-nlos", &[CARRIER]);
        config.road.min_distance_m = min_distance_m;
        config.road.cell_radius_m = cell_radius_m;
        let error = config.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{field}, expected a distance in m from 10 to 5000 along the ground, the range of uma-nlos"
            )
        );
    }
}

/// Tests every parameter of every path loss: the ends of the range are accepted, values beyond them are rejected, and
/// a parameter that does not apply is always rejected.
#[test]
fn parameters_are_held_to_the_standards() {
    use PathLossParameter as P;
    let ranges = |name: &str, parameter| {
        let accepted = PathLossModel::by_name(name).unwrap().accepts(parameter);
        accepted.map(|accepted| (accepted.low, accepted.high, accepted.default))
    };
    for (name, parameter, range) in [
        ("uma-los", P::Carrier, (0.5, 100.0, None)),
        ("rma-nlos", P::Carrier, (0.5, 30.0, None)),
        ("uma-nlos", P::BaseHeight, (25.0, 25.0, Some(25.0))),
        ("umi", P::BaseHeight, (10.0, 10.0, Some(10.0))),
        ("rma-los", P::BaseHeight, (10.0, 150.0, Some(35.0))),
        ("umi-los", P::UserHeight, (1.5, 22.5, Some(1.5))),
        ("rma-los", P::UserHeight, (1.0, 10.0, Some(1.5))),
        ("rma-nlos", P::StreetWidth, (5.0, 50.0, Some(20.0))),
        ("rma-los", P::BuildingHeight, (5.0, 50.0, Some(5.0))),
        ("inf-sl", P::ClutterDensity, (0.01, 0.4, Some(0.2))),
        ("inf-dh", P::ClutterDensity, (0.4, 0.99, Some(0.6))),
        ("inf-dl", P::ClutterSize, (0.1, 100.0, Some(2.0))),
        ("inf-sh", P::ClutterHeight, (0.0, 10.0, Some(2.0))),
    ] {
        assert_eq!(ranges(name, parameter), Some(range), "{name} {parameter:?}");
    }
    for &(name, _, model) in PathLossModel::ALL {
        let carrier = model.accepts(P::Carrier).map(|_| CARRIER);
        let with = |parameter: P, value: f64| {
            let mut values = carrier.as_slice().to_vec();
            values.push((parameter, value));
            config(name, &values).validate().map(|_| ())
        };
        for parameter in P::ALL {
            let field = format!("path_loss.{}", parameter.name());
            let Some(accepted) = model.accepts(parameter) else {
                let what = format!("the path loss {name}");
                assert_eq!(with(parameter, 20.0), Err(Invalid::stray(field, what)));
                continue;
            };
            let heights = name.starts_with("inf") && parameter.name().contains("height");
            for value in [accepted.low, accepted.high] {
                // The heights of a factory must also be consistent with each other.
                assert!(heights || with(parameter, value).is_ok(), "{name} {field} {value}");
            }
            for value in [accepted.low - 1e-3, accepted.high + 1e-3, f64::NAN, f64::INFINITY] {
                let error = with(parameter, value).unwrap_err().to_string();
                assert!(error.starts_with(&format!("{field} is {value}, expected ")), "{error}");
            }
        }
        if carrier.is_some() {
            let error = config(name, &[]).validate().unwrap_err().to_string();
            assert!(
                error.starts_with(
                    "path_loss.carrier_ghz is missing, expected a frequency in GHz from "
                ),
                "{error}"
            );
        }
    }
    // Base stations of factories must be within or above the clutter, as their names say.
    for (name, parameter, value, words) in [
        (
            "inf-sl",
            P::BaseHeight,
            2.1,
            "base_height_m is 2.1, expected at most the height of the clutter, 2",
        ),
        (
            "inf-dh",
            P::BaseHeight,
            5.9,
            "base_height_m is 5.9, expected at least the height of the clutter, 6",
        ),
        (
            "inf-sh",
            P::UserHeight,
            2.0,
            "user_height_m is 2, expected under the height of the clutter, 2",
        ),
    ] {
        let error =
            config(name, &[CARRIER, (parameter, value)]).validate().unwrap_err().to_string();
        assert!(error.starts_with(&format!("path_loss.{words}")), "{error}");
    }
    let tall = config("uma-los", &[CARRIER, (P::UserHeight, 13.5)]).validate().unwrap();
    let error = tall.refuse_random_path_loss().unwrap_err().to_string();
    assert!(
        error.starts_with("path_loss.user_height_m is 13.5, expected a height in m from 1.5 to 13"),
        "{error}"
    );
    assert!(tall.path_loss().checked_gain(100.0).is_err());
}

const ROAD: Road = Road { min_distance_m: 50.0, cell_radius_m: 250.0 };

/// Returns the path loss, the distances of random users, and their losses in dB.
fn drawn(name: &str, shadowing: Option<Shadowing>, size: usize) -> (PathLoss, Vec<f64>, Vec<f64>) {
    let path_loss = config(name, &[CARRIER]).validate().unwrap().path_loss();
    let gains = sample_gains_db(&ROAD, &path_loss, shadowing, 1, size, 0);
    let losses = gains.into_iter().map(|gain| -gain.0).collect();
    (path_loss, sample_distances_m(&ROAD, 1, size, 0), losses)
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[test]
fn shadowing_has_the_stated_deviation() {
    let size = 40_000;
    for (name, shadowing, sigma_db) in [
        ("uma-los", Shadowing::Standard, 4.0),
        ("umi-nlos", Shadowing::Standard, 7.82),
        ("inf-los", Shadowing::Standard, 4.3),
        ("inf-dl-nlos", Shadowing::Standard, 7.2),
        ("rma-nlos", Shadowing::Deviation(3.0), 3.0),
        ("free-space", Shadowing::Deviation(8.0), 8.0),
    ] {
        let (path_loss, distances, losses) = drawn(name, Some(shadowing), size);
        let excess: Vec<f64> = distances
            .iter()
            .zip(losses)
            .map(|(&distance_m, loss)| loss + path_loss.gain_db(distance_m).0)
            .collect();
        let (mean, deviation) = mean_and_deviation(&excess);
        // Four standard errors of each.
        let error = sigma_db / (size as f64).sqrt();
        assert!(mean.abs() < 4.0 * error, "{name}: mean {mean}");
        assert!((deviation - sigma_db).abs() < 4.0 * error / 2f64.sqrt(), "{name}: {deviation}");
        // Without shadowing, the losses are exact.
        let (_, distances, losses) = drawn(name, None, 100);
        let same = |(d, loss): (f64, f64)| (loss + path_loss.gain_db(d).0).abs() < 1e-12;
        assert!(distances.into_iter().zip(losses).all(same), "{name}");
    }
}

#[test]
fn users_are_in_line_of_sight_as_often_as_the_standard_says() {
    let size = 40_000;
    for (name, _) in SCENARIOS {
        let (path_loss, distances, losses) = drawn(name, None, size);
        let PathLoss::Tr38901 { site, sight: None } = path_loss else { panic!("{name}") };
        let (mut seen, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for (&distance_m, &loss) in distances.iter().zip(&losses) {
            let [los, nlos] = [Sight::Los, Sight::Nlos].map(|s| site.loss_db(s, distance_m));
            assert!(loss == los || loss == nlos, "{name} at {distance_m} m: {loss}");
            seen += f64::from(u8::from(loss == los));
            let chance = site.los_probability(distance_m);
            expected += chance;
            variance += chance * (1.0 - chance);
        }
        assert!((seen - expected).abs() < 4.0 * variance.sqrt(), "{name}: {seen} {expected}");
        // Shadowing changes the losses of the same users but not their line of sight.
        let (_, _, shadowed) = drawn(name, Some(Shadowing::Deviation(0.1)), size);
        let near = |(a, b): (&f64, f64)| (a - b).abs() < 1.0;
        assert!(losses.iter().zip(shadowed).all(near), "{name}");
    }
}

/// Tests that tall users of UMa beyond the breakpoint of a high environment lose more than at 1 m.
#[test]
fn tall_users_of_uma_draw_their_environment() {
    let values = [(PathLossParameter::Carrier, 0.5), (PathLossParameter::UserHeight, 22.5)];
    let path_loss = config("uma-los", &values).validate().unwrap().path_loss();
    let PathLoss::Tr38901 { site, .. } = path_loss else { panic!() };
    let losses = sample_gains_db(&ROAD, &path_loss, None, 1, 2000, 0);
    let more = sample_distances_m(&ROAD, 1, 2000, 0).into_iter().zip(losses).filter(
        |(distance_m, gain)| {
            let excess = -gain.0 - site.loss_db(Sight::Los, *distance_m);
            assert!(excess > -1e-12, "{excess}");
            excess > 0.1
        },
    );
    assert!(more.count() > 100);
}

#[test]
fn the_same_seed_draws_the_same_users() {
    let path_loss = config("umi", &[CARRIER]).validate().unwrap().path_loss();
    let draw = |seed, index| {
        sample_gains_db(&ROAD, &path_loss, Some(Shadowing::Standard), seed, 50, index)
    };
    assert_eq!(draw(1, 0), draw(1, 0));
    assert_ne!(draw(1, 0), draw(2, 0));
    assert_ne!(draw(1, 0), draw(1, 1));
}
