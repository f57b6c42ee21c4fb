//! Parameters in the user's data: each applies, repeats the value in effect, or is rejected; none is only echoed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use anyk::Config;
use anyk::exchange::Input;
use anyk::framework::{Answer, CellOptions, Counter, Options, Room, Verb};
use anyk::problems::{ROOMS, room};

/// Options that say how to solve, or where the parameters are: not parameters themselves.
const NO_PARAMETERS: [&str; 7] =
    ["config", "method", "iterations", "tolerance", "random_starts", "seed", "trace"];

/// The fields that a section of the config file accepts, as its reader lists them.
fn fields(section: &str) -> Vec<String> {
    let error = Config::from_toml(&format!("[{section}]\nno_such_field = 1\n")).unwrap_err();
    let error = error.to_string();
    let listed = error.split("expected one of").nth(1).or(error.split("expected").nth(1)).unwrap();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every name of a parameter that has to be known, from the places that define them.
fn names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        ["rate_bps", "max_bandwidth_hz", "noise", "p_max", "max_power", "max_power_w"]
            .map(str::to_owned)
            .into();
    for section in ["cell", "road", "path_loss", "frame", "service"] {
        // A name that only files of version 0.2 have.
        for field in fields(section).into_iter().filter(|field| field != "quadrature") {
            names.insert(format!("{section}.{field}"));
            names.insert(field);
        }
    }
    names.extend(CellOptions::specs_of_files().iter().map(|spec| spec.name.replace('-', "_")));
    names.retain(|name| !NO_PARAMETERS.contains(&name.as_str()));
    assert!(names.len() > 50, "{names:?}");
    names
}

fn rooms_of_users() -> impl Iterator<Item = &'static &'static dyn Room> {
    ROOMS.iter().filter(|room| !room.input().contains("gains between K links"))
}

/// What solves a problem with some options.
fn solver(room: &dyn Room, options: &Options) -> Box<dyn Counter> {
    let options = room.sized(options, 2).unwrap().only(&room.options(Verb::Solve));
    room.solve(&options).unwrap()
}

/// What the users of a document get, or why it is refused.
fn answer(solver: &dyn Counter, text: &str) -> Result<Vec<String>, String> {
    let answers = solver.answer_all(Input::new(text.as_bytes(), "users"));
    let answers = answers.map_err(|error| error.to_string())?;
    let amounts = |answer: &dyn Answer| {
        let mut text = Vec::new();
        answer.write_json(&mut text).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let users = answer["users"].as_array().or(answer["instances"].as_array()).unwrap();
        let amount = |user: &serde_json::Value| {
            ["power_w", "bandwidth_hz", "power", "sum_rate_bits"]
                .map(|name| user[name].to_string())
                .join(" ")
        };
        users.iter().map(amount).collect::<Vec<_>>().join("; ")
    };
    Ok(answers.iter().map(|answer| amounts(&**answer)).collect())
}

/// A document with a field in each of the places where data may have one.
fn documents(name: &str, value: &str) -> [String; 3] {
    let csv = value.trim_matches('"');
    [
        format!(
            r#"{{"cell":"x",{name:?}:{value},"users":[{{"distance_m":60}},{{"distance_m":90}}]}}"#
        ),
        format!(r#"{{"users":[{{"distance_m":60}},{{"distance_m":90,{name:?}:{value}}}]}}"#),
        format!("distance_m,{name}\n60,{csv}\n90,{csv}\n"),
    ]
}

const PLAIN: &str = r#"{"users":[{"distance_m":60},{"distance_m":90}]}"#;

/// The rule, for one field of a document.
fn check(solver: &dyn Counter, name: &str, text: &str, plain: &[String]) {
    match answer(solver, text) {
        Ok(found) => assert_ne!(found, plain, "{name} is ignored in {text}"),
        // A service class is refused as a whole.
        Err(why) => {
            let told = why.contains(name) || why.contains("a service class of its own");
            assert!(told, "{text}: {why}");
        }
    }
}

#[test]
fn no_parameter_is_only_echoed() {
    for room in rooms_of_users() {
        let solver = solver(*room, &Options::default());
        let plain = answer(&*solver, PLAIN).unwrap();
        let mut names = names();
        let own = room.options(Verb::Assess);
        names.extend(own.iter().map(|spec| spec.name.replace('-', "_")));
        names.retain(|name| !NO_PARAMETERS.contains(&name.as_str()));
        for name in names {
            // No parameter has this number, or is in effect by this name, anywhere.
            for value in ["7.25", "\"rma-nlos\""] {
                // A user costs something in answers, a phone has a model, and a path loss may be in dB.
                if matches!((name.as_str(), value), ("cost" | "model" | "path_loss", "7.25")) {
                    continue;
                }
                for text in documents(&name, value) {
                    check(&*solver, &name, &text, &plain);
                }
            }
            for spelling in [name.to_uppercase(), name.replace('_', "-"), name.replace('_', " ")] {
                let text = &documents(&spelling, "\"rma-nlos\"")[0];
                assert!(answer(&*solver, text).is_err(), "{text}");
            }
        }
    }
}

/// An answer has the rate and the bandwidth of a user beside its power: results, which set nothing.
#[test]
fn answers_are_accepted_as_data() {
    for name in ["qos-power", "equal-bandwidth", "separable"] {
        let solver = solver(room(name).unwrap(), &Options::default());
        let plain = answer(&*solver, PLAIN);
        for result in ["rate_bps", "bandwidth_hz"] {
            let json = format!(
                r#"{{"users":[{{{result:?}:9e5,"distance_m":60,"power_w":1}},{{"distance_m":90}}]}}"#
            );
            assert_eq!(answer(&*solver, &json), plain, "{name}");
            let csv = format!("{result},distance_m,power_w\n9e5,60,1\n9e5,90,1\n");
            assert_eq!(answer(&*solver, &csv), plain, "{name}");
        }
    }
    // The name of a cost is no result.
    let solver = solver(room("separable").unwrap(), &Options::default());
    let named = r#"{"users":[{"distance_m":60,"power_w":1,"cost":"delay"}]}"#;
    assert!(answer(&*solver, named).unwrap_err().contains("cost"));
}

#[test]
fn links_honour_their_parameters_and_reject_those_of_cells() {
    let gains = r#""gains":[[1,0.5],[0.7,0.9]]"#;
    for name in ["interference", "link-scheduling"] {
        let solver = solver(room(name).unwrap(), &Options::default());
        let read = |text: &str| answer(&*solver, text);
        let plain = read(&format!("{{{gains}}}")).unwrap();
        for name in names() {
            for value in ["7.25", "\"rma-nlos\"", "[7.25,1]"] {
                // No path loss has such a name.
                let is_unrelated = matches!(name.as_str(), "model" | "path_loss");
                if !is_unrelated || value.starts_with('"') {
                    check(&*solver, &name, &format!("{{{name:?}:{value},{gains}}}"), &plain);
                }
            }
        }
        assert_eq!(read(&format!(r#"{{"site":7.25,"model":"iPhone",{gains}}}"#)), Ok(plain));
    }
}

/// A file may say what holds anyway, such as an answer that is read again.
#[test]
fn values_in_effect_are_accepted() {
    let urllc = room("urllc").unwrap();
    let mut options = Options::default();
    for (name, value) in [
        ("max-power-dbm", "40"),
        ("antennas", "4"),
        ("path-loss", "uma-nlos"),
        ("carrier-ghz", "3.5"),
    ] {
        options.set(name, value);
    }
    let urllc = &*solver(urllc, &options);
    let plain = answer(urllc, PLAIN).unwrap();
    let system = CellOptions::ALL.system(&options, &Config::default()).unwrap();
    let mut config = system.config().clone();
    config.path_loss = config.path_loss.filled();
    let in_effect = CellOptions::ALL.describe(&config);
    assert!(in_effect.names().count() > 12);
    for name in in_effect.names() {
        let value = in_effect.text(name).unwrap();
        let quoted =
            if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("{value:?}") };
        for text in documents(&name.replace('-', "_"), &quoted) {
            assert_eq!(answer(urllc, &text).as_ref(), Ok(&plain), "{text}");
        }
    }
    // In watts, as a section, as a text, and not at all.
    for field in [
        r#""max_power_w":10"#,
        r#""cell.max_power_dbm":40.00000000001"#,
        r#""max_power_dbm":"40""#,
        r#""max_power_dbm":null"#,
        r#""model":"uma-nlos""#,
        r#""frame":{"frame_ms":0.1,"number":17}"#,
        r#""frame":17"#,
    ] {
        let text = PLAIN.replacen('{', &format!("{{{field},"), 1);
        assert_eq!(answer(urllc, &text).as_ref(), Ok(&plain), "{text}");
    }
    let csv = "distance_m,max_power_dbm\n60,\n90,40\n";
    assert_eq!(answer(urllc, csv), Ok(plain));
    // Those of the other problems.
    for (name, option, value) in [
        ("urllc-power", "max-bandwidth-hz", "3e6"),
        ("urllc-power", "max-power-dbm", "30"),
        ("qos-power", "rate-bps", "2e6"),
        ("qos-power", "bandwidth-hz", "2e6"),
        ("equal-bandwidth", "rate-bps", "2e6"),
        ("separable", "bandwidth-hz", "2e6"),
        ("separable", "cost", "delay"),
    ] {
        let room = room(name).unwrap();
        let mut options = Options::default();
        options.set(option, value);
        let solver = &*solver(room, &options);
        let plain = answer(solver, PLAIN);
        let value = if option == "cost" { format!("{value:?}") } else { value.to_owned() };
        for text in documents(&option.replace('-', "_"), &value) {
            assert_eq!(answer(solver, &text), plain, "{name}: {text}");
        }
    }
}

#[test]
fn a_rejected_parameter_is_told_with_its_place_its_value_and_what_to_do() {
    let told = |problem: &str, text: &str| {
        let solver = solver(room(problem).unwrap(), &Options::default());
        answer(&*solver, text).unwrap_err()
    };
    let rest = "a parameter of the cell, which the data cannot set; pass it as an option or in the config file, or remove it";
    let users = r#""users":[{"id":"a","distance_m":60}]"#;
    assert_eq!(
        told("urllc", &format!(r#"{{"cell":"x","max_power_dbm":20,{users}}}"#)),
        format!(
            "users: cell \"x\": max_power_dbm is 20, expected 43, the value in effect: it is {rest}"
        )
    );
    assert_eq!(
        told("urllc", &format!(r#"{{{users}}} {{"antennas":[4],{users}}}"#)),
        format!("users: cell 2: antennas is [4], expected 8, the value in effect: it is {rest}")
    );
    assert_eq!(
        told("urllc", r#"{"users":[{"id":"a","distance_m":60,"queueing_delay_ms":1}]}"#),
        format!(
            "users: user 1 (\"a\"): queueing_delay_ms is 1, expected 0.8, the value in effect: it is {rest}"
        )
    );
    assert_eq!(
        told("urllc", "distance_m,Carrier_GHz\n60,3.5\n"),
        format!("users: line 2: Carrier_GHz is 3.5, expected none, as in effect: it is {rest}")
    );
    // Also in a section that says it twice.
    let twice = r#""frame":{"frame_ms":5,"frame_ms":0.1}"#;
    assert!(told("urllc", &format!("{{{twice},{users}}}")).contains("frame.frame_ms is 5"));
    assert_eq!(
        told("urllc", &format!(r#"{{"rate_bps":1e6,{users}}}"#)),
        "users: rate_bps is 1e6, expected no such field: it is a parameter that this problem does not have; remove it"
    );
    assert_eq!(
        told("qos-power", &format!(r#"{{"rate_bps":2e6,{users}}}"#)),
        "users: rate_bps is 2e6, expected 1000000, the value in effect: it is a parameter of the problem, which the data \
         cannot set; pass it as an option, or remove it"
    );
    assert_eq!(
        told("interference", r#"{"gains":[[1]],"max_power_dbm":20}"#),
        "users: instance 0: max_power_dbm is 20, expected no such field: it is a parameter that this problem does not have; \
         remove it"
    );
}
