//! Tests of named path-loss models.

#![allow(clippy::unwrap_used)]

use std::fs;

use anyk::channel::{PathLoss, Scenario, Sight, Tr38901};
use serde_json::Value;

use crate::common::run;

fn text(args: &[&str], stdin: &str) -> String {
    let outcome = run(args, stdin);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{args:?}");
    outcome.stdout
}

fn users(args: &[&str]) -> Vec<Value> {
    let cell: Value = serde_json::from_str(&text(args, "")).unwrap();
    cell["users"].as_array().unwrap().clone()
}

const UMA_LOS: [&str; 4] = ["--path-loss", "uma-los", "--carrier-ghz", "3.5"];

/// A distance and the gain at that distance give the same allocation.
#[test]
fn distances_are_turned_into_gains_by_the_named_path_loss() {
    let site = Tr38901::standard(Scenario::Uma, 3.5);
    let gain_db = PathLoss::Tr38901 { site, sight: Some(Sight::Los) }.gain_db(120.0).0;
    let by_gain = format!("id,gain_db\na,{gain_db}\n");
    let by_distance = "id,distance_m\na,120\n";
    for problem in ["urllc", "qos-power"] {
        let solve = ["solve", problem, "--json", "--input", "-"];
        let power = |args: &[&str], stdin: &str| -> f64 {
            let answer: Value =
                serde_json::from_str(&text(&[&solve, args].concat(), stdin)).unwrap();
            let user = &answer["users"][0];
            let value = if problem == "urllc" { &user["bandwidth_hz"] } else { &user["power_w"] };
            value.as_f64().unwrap()
        };
        let (named, given) = (power(&UMA_LOS, by_distance), power(&[], &by_gain));
        assert!((named / given - 1.0).abs() < 1e-9, "{problem}: {named} {given}");
        assert!((power(&[], by_distance) / named - 1.0).abs() > 1e-3, "{problem}");
        // The default is the path loss of the paper.
        let paper = power(&["--path-loss", "paper"], by_distance);
        assert_eq!(paper.to_bits(), power(&[], by_distance).to_bits());
    }
}

#[test]
fn a_config_holds_a_path_loss_and_options_override_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cell.toml");
    let file = file.to_str().unwrap();
    let flags = ["--path-loss", "rma", "--carrier-ghz", "0.7", "--shadowing", "standard"];
    let written = text(&[&["config"], &flags[..]].concat(), "");
    // The printed config contains every parameter of the path loss.
    let section = "[path_loss]\nmodel = \"rma\"\ncarrier_ghz = 0.7\nbase_height_m = 35.0\nuser_height_m = 1.5\n\
                   street_width_m = 20.0\nbuilding_height_m = 5.0\nshadowing = \"standard\"\n\n";
    assert!(written.contains(section), "{written}");
    fs::write(file, &written).unwrap();
    assert_eq!(text(&["config", "--config", file], ""), written);
    // The file and the flags give the same samples.
    let sample = ["sample", "urllc", "--k", "20", "--seed", "3"];
    let drawn = text(&[&sample[..], &["--config", file]].concat(), "");
    assert_eq!(drawn, text(&[&sample[..], &flags].concat(), ""));
    let wide = written.replace("street_width_m = 20.0", "street_width_m = 30.0");
    fs::write(file, &wide).unwrap();
    assert_ne!(drawn, text(&[&sample[..], &["--config", file]].concat(), ""));
    // Another model keeps the parameters that it also has, unless they are defaults of the former model.
    let other = text(&["config", "--config", file, "--path-loss", "umi-los"], "");
    let section = "[path_loss]\nmodel = \"umi-los\"\ncarrier_ghz = 0.7\nbase_height_m = 10.0\nuser_height_m = 1.5\n\n";
    assert!(other.contains(section), "{other}");
    let paper = text(&["config", "--config", file, "--path-loss", "log-distance"], "");
    assert_eq!(paper, text(&["config"], ""));
    // `solve` computes gains from distances without shadowing, so it rejects this file.
    let solve = ["solve", "urllc", "--input", "-", "--config", file];
    let refused = run(&solve, "id,distance_m\na,120\n");
    assert_eq!(refused.code, 2);
    let end = "cell.toml: path_loss.shadowing is standard, expected no shadowing: only `anyk sample` applies it\n";
    assert!(refused.stderr.ends_with(end), "{}", refused.stderr);
    text(&[&solve[..], &["--path-loss", "rma-nlos"]].concat(), "id,distance_m\na,120\n");
}

#[test]
fn users_are_drawn_by_gain_where_distance_does_not_tell() {
    let sample = ["sample", "urllc", "--k", "200", "--seed", "5"];
    let with = |flags: &[&str]| users(&[&sample[..], flags].concat());
    let value = |user: &Value, name: &str| user[name].as_f64().unwrap();
    // The default samples have distances.
    let places = with(&[]);
    assert!(places.iter().all(|user| user.as_object().unwrap().len() == 2));
    let distances: Vec<f64> = places.iter().map(|user| value(user, "distance_m")).collect();
    assert_eq!(with(&["--path-loss", "paper"]), places);
    // Some users have a line of sight and others do not, at the same positions.
    let site = Tr38901::standard(Scenario::Umi, 28.0);
    let umi = ["--path-loss", "umi", "--carrier-ghz", "28"];
    let mixed = with(&umi);
    let mut seen = 0;
    for (user, &distance_m) in mixed.iter().zip(&distances) {
        assert_eq!(user.as_object().unwrap().keys().collect::<Vec<_>>(), ["gain_db", "id"]);
        let [los, nlos] = [Sight::Los, Sight::Nlos].map(|sight| -site.loss_db(sight, distance_m));
        let gain_db = value(user, "gain_db");
        assert!((gain_db - los).abs() < 1e-9 || (gain_db - nlos).abs() < 1e-9, "{gain_db}");
        seen += u32::from((gain_db - los).abs() < 1e-9);
    }
    assert!((20..150).contains(&seen), "{seen}");
    // Shadowing of the standard, or with a given standard deviation for any path loss.
    let shadowed = with(&[&umi[..], &["--shadowing", "standard"]].concat());
    assert_ne!(shadowed, mixed);
    assert_eq!(with(&[&umi[..], &["--shadowing", "standard"]].concat()), shadowed);
    let paper = with(&["--shadowing", "8"]);
    let excess = paper.iter().zip(&distances).map(|(user, distance_m)| {
        (value(user, "gain_db") + 35.3 + 37.6 * distance_m.log10()).abs()
    });
    let mean = excess.sum::<f64>() / 200.0;
    // The mean of |X| for X ~ N(0, 8²) is 6.38; its standard error for 200 users is 0.34.
    assert!((mean - 6.38).abs() < 1.4, "{mean}");
    // CSV contains the same values, and `solve` accepts it.
    let csv = text(&[&sample[..], &umi, &["--format", "csv"]].concat(), "");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("id,gain_db"));
    let gains: Vec<f64> =
        lines.map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert_eq!(gains, mixed.iter().map(|user| value(user, "gain_db")).collect::<Vec<_>>());
    text(&["solve", "urllc", "--max-power-dbm", "60", "--input", "-"], &csv);
}

#[test]
fn bad_values_are_told_by_their_options() {
    let uma = ["--path-loss", "uma", "--carrier-ghz", "3.5"];
    let table: [(&[&str], &str); 9] = [
        (
            &["--path-loss", "uma"],
            "--carrier-ghz is missing, expected a frequency in GHz from 0.5 to 100 for uma",
        ),
        (
            &["--path-loss", "free-space"],
            "--carrier-ghz is missing, expected a frequency in GHz from 0.1 to 1000 for free-space",
        ),
        (
            &["--path-loss", "rma", "--carrier-ghz", "31"],
            "--carrier-ghz is 31, expected a frequency in GHz from 0.5 to 30 for rma",
        ),
        (&["--path-loss", "rma", "--carrier-ghz", "x"], "--carrier-ghz is x, expected a number"),
        (
            &["--carrier-ghz", "2"],
            "--carrier-ghz does not apply to the path loss log-distance; remove it",
        ),
        (
            &["--shadowing", "standard"],
            "--shadowing is standard, expected a standard deviation in dB for the path loss log-distance",
        ),
        (
            &["--shadowing", "0"],
            "--shadowing is 0, expected standard, or a standard deviation in dB from 0.1 to 20",
        ),
        (
            &[&uma[..], &["--min-distance-m", "9"]].concat(),
            "--min-distance-m is 9, expected a distance in m from 10 to 5000 along the ground, the range of uma",
        ),
        (
            &["--path-loss", "inf-sl", "--carrier-ghz", "3.5", "--cell-radius-m", "601"],
            "--cell-radius-m is 601, expected a distance in m along the ground, from 1 to 600 between the antennas, the range of inf-sl",
        ),
    ];
    for (flags, message) in table {
        for problem in ["urllc", "urllc-power", "equal-bandwidth"] {
            let refused = run(&[&["sample", problem, "--k", "3"], flags].concat(), "");
            assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{flags:?}");
            assert_eq!(refused.stderr, format!("error: {message}\n"));
        }
    }
    // Only `sample` accepts random shadowing and line of sight.
    let input = "id,distance_m\na,120\n";
    for flags in [&["--shadowing", "8"][..], &uma] {
        let refused = run(&[&["solve", "urllc", "--input", "-"], flags].concat(), input);
        assert_eq!(refused.code, 2, "{flags:?}");
        assert!(refused.stderr.contains(flags[0]), "{flags:?}: {}", refused.stderr);
    }
}

/// Errors about values in a file name the file and the field.
#[test]
fn bad_values_in_the_file_are_told_by_their_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cell.toml");
    let table = [
        (
            "uma",
            "base_height_m = 30",
            "base_height_m is 30, expected 25, the only height for which TR 38.901 defines uma",
        ),
        (
            "uma",
            "user_height_m = 1",
            "user_height_m is 1, expected a height in m from 1.5 to 22.5 for uma",
        ),
        (
            "uma",
            "street_width_m = 20",
            "street_width_m does not apply to the path loss uma; remove it",
        ),
        ("uma", "slope_db = 30", "slope_db does not apply to the path loss uma; remove it"),
        (
            "inf-sl",
            "clutter_density = 0.6",
            "clutter_density is 0.6, expected a share of the floor from 0.01 to 0.4 for inf-sl",
        ),
        (
            "inf-dl",
            "base_height_m = 7",
            "base_height_m is 7, expected at most the height of the clutter, 6: the base station of inf-dl is within it",
        ),
        (
            "inf-sh",
            "user_height_m = 2",
            "user_height_m is 2, expected under the height of the clutter, 2, for inf-sh",
        ),
        (
            "inf-dh-nlos",
            "clutter_height_m = 5",
            "clutter_height_m does not apply to the path loss inf-dh-nlos; remove it",
        ),
    ];
    for (model, line, message) in table {
        let text = format!("[path_loss]\nmodel = \"{model}\"\ncarrier_ghz = 3.5\n{line}\n");
        fs::write(&file, text).unwrap();
        let sample = ["sample", "urllc", "--k", "3", "--config", file.to_str().unwrap()];
        let refused = run(&sample, "");
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{line}");
        let end = format!("cell.toml: path_loss.{message}\n");
        assert!(refused.stderr.ends_with(&end), "{}", refused.stderr);
    }
    fs::write(&file, "[path_loss]\nmodel = \"uma-los\"\ncarrier_ghz = 3.5\nuser_height_m = 15\n")
        .unwrap();
    let solve = ["solve", "urllc", "--input", "-", "--config", file.to_str().unwrap()];
    let refused = run(&solve, "id,distance_m\na,120\n");
    let says = "path_loss.user_height_m is 15, expected a height in m from 1.5 to 13 for uma-los; ";
    assert!(refused.code == 2 && refused.stderr.contains(says), "{}", refused.stderr);
}

/// An error about a flag of earlier versions names the field that replaces it.
#[test]
fn flags_that_moved_to_the_file_say_so() {
    for (flag, field) in [
        ("--clutter-size-m", "path_loss.clutter_size_m"),
        ("--user-height-m", "path_loss.user_height_m"),
        ("--path-loss-slope-db", "path_loss.slope_db"),
        ("--transmission-ms", "frame.transmission_ms"),
    ] {
        let refused = run(&["solve", "urllc", "--input", "-", flag, "3"], "");
        let message = format!(
            "error: {flag} was removed; set {field} in a file for --config (`anyk config` prints one)\n"
        );
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        assert_eq!(refused.stderr, message);
    }
}

/// A model is trained and evaluated with a named path loss, and its file records the name.
#[test]
fn a_model_keeps_its_path_loss() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("price.safetensors");
    let model = model.to_str().unwrap();
    let train =
        ["train", "urllc", "--method", "price", "--samples", "100", "--seed", "1", "--out", model];
    assert_eq!(run(&[&train[..], &UMA_LOS].concat(), "").code, 0);
    let bytes = fs::read(model).unwrap();
    let record = String::from_utf8_lossy(&bytes);
    assert!(record.contains("uma-los"), "{}", &record[..600.min(record.len())]);
    let evaluate = |flags: &[&str]| {
        text(&[&["evaluate", model, "--k", "10", "--samples", "20"], flags].concat(), "")
    };
    assert!(evaluate(&[]).contains("1.0000"));
    assert_eq!(evaluate(&[]), evaluate(&UMA_LOS));
    // Another path loss uses the carrier of the model, if it needs one.
    assert_eq!(
        evaluate(&["--path-loss", "umi-nlos"]),
        evaluate(&["--path-loss", "umi-nlos", "--carrier-ghz", "3.5"])
    );
    assert_ne!(evaluate(&["--path-loss", "umi-nlos"]), evaluate(&[]));
}
