//! Parameters in the user's data: each applies to its cell, repeats the value in effect, or is rejected with a
//! reason. None is only copied to the answer.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyk::core::{Answering, ParameterKind};
use anyk::exchange::Input;
use anyk::framework::{CellOptions, Verb};
use anyk::problems::{BUILT_IN, allocating, named, solving};
use anyk::units::{Dbm, Watt};
use anyk::{About, Config, Model, Options};
use serde_json::Value;

/// Options that select the method or a file; they are not parameters.
const NO_PARAMETERS: [&str; 9] = [
    "classes",
    "config",
    "method",
    "iterations",
    "tolerance",
    "random_starts",
    "seed",
    "trace",
    "no_check",
];

/// Fields of a single user rather than of the cell.
const OF_USERS: [&str; 3] = ["epsilon", "packet_bits", "arrival_rate"];

/// Returns the fields that a section of the config file accepts, as listed by its reader.
fn fields(section: &str) -> Vec<String> {
    let error = Config::from_toml(&format!("[{section}]\nno_such_field = 1\n")).unwrap_err();
    let error = error.to_string();
    let listed = error.split("expected one of").nth(1).or(error.split("expected").nth(1)).unwrap();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns all parameter names that must be recognized, from the places that define them.
fn names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        ["rate_bps", "max_bandwidth_hz", "noise", "p_max", "max_power", "max_power_w"]
            .map(str::to_owned)
            .into();
    for section in ["cell", "road", "path_loss", "frame", "service"] {
        // This name occurs only in files of version 0.2.
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

fn problems_of_users() -> impl Iterator<Item = &'static About> {
    BUILT_IN.iter().copied().filter(|about| !about.is_of_arrays())
}

fn options(given: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    given.iter().for_each(|(name, value)| options.set(*name, *value));
    options
}

/// Returns the options that a problem requires, unless they are given.
fn needed(about: &About, given: &Options) -> Options {
    let mut options = given.clone();
    let is_needed = (about.flags)(Verb::Solve).iter().any(|spec| spec.name == "max-bandwidth-hz");
    if is_needed && !given.has("max-bandwidth-hz") {
        options.set("max-bandwidth-hz", "4e5");
    }
    options
}

/// Returns a solver of a problem with some options.
fn solver(about: &'static About, given: &Options) -> Result<Answering, String> {
    solving(about, &needed(about, given)).map_err(|error| error.to_string())
}

/// Returns the answers for a document without the field `name`, which the answers may repeat, or the reason why the
/// document was rejected.
fn answer(answering: &mut Answering, text: &str, name: &str) -> Result<Vec<Value>, String> {
    let answers = answering.answer_all(Input::new(text.as_bytes(), "users"));
    let answers = answers.map_err(|error| error.to_string())?;
    let section = name.split('.').next().unwrap();
    let echoes = |key: &str| {
        let key = key.strip_prefix("input_").unwrap_or(key);
        [name, section].iter().any(|name| name.eq_ignore_ascii_case(key))
    };
    let json = |answer: &anyk::core::Answer| {
        let mut value: Value = serde_json::from_str(&answer.json().unwrap()).unwrap();
        remove(&mut value, &echoes);
        value
    };
    Ok(answers.iter().map(json).collect())
}

/// Removes fields at any depth.
fn remove(value: &mut Value, is_removed: &dyn Fn(&str) -> bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, is_removed)),
        Value::Object(fields) => {
            fields.retain(|name, _| !is_removed(name));
            fields.values_mut().for_each(|field| remove(field, is_removed));
        }
        _ => {}
    }
}

/// Two users, given by a column.
type Users = [&'static str; 2];
const BY_DISTANCE: Users = ["\"distance_m\":60", "\"distance_m\":90"];
const BY_SNR: Users = ["\"snr_db\":20", "\"snr_db\":10"];

fn plain([one, two]: Users) -> String {
    format!(r#"{{"users":[{{{one}}},{{{two}}}]}}"#)
}

/// Returns documents with a field for the whole cell: once, in each of its users, and as a column.
fn of_cell([one, two]: Users, name: &str, value: &str) -> [String; 3] {
    let (csv, column) = (value.trim_matches('"'), one.split('"').nth(1).unwrap());
    let [a, b] = [one, two].map(|user| user.split(':').nth(1).unwrap());
    [
        format!(r#"{{{name:?}:{value},"users":[{{{one}}},{{{two}}}]}}"#),
        format!(r#"{{"users":[{{{one},{name:?}:{value}}},{{{name:?}:{value},{two}}}]}}"#),
        format!("{column},{name}\n{a},{csv}\n{b},{csv}\n"),
    ]
}

/// Returns documents in which only the second user has a field.
fn of_user([one, two]: Users, name: &str, value: &str) -> [String; 2] {
    let (csv, column) = (value.trim_matches('"'), one.split('"').nth(1).unwrap());
    let [a, b] = [one, two].map(|user| user.split(':').nth(1).unwrap());
    [
        format!(r#"{{"users":[{{{one}}},{{{two},{name:?}:{value}}}]}}"#),
        format!("{column},{name}\n{a},\n{b},{csv}\n"),
    ]
}

/// Returns the option of a problem that a field of this name sets, and its kind.
fn option_of(about: &About, name: &str) -> Option<(&'static str, ParameterKind)> {
    let mut all = (about.parameters)().into_iter();
    let found = all.find(|(_, names)| names.iter().any(|known| known == name))?.0;
    Some((found.option, found.kind))
}

/// Returns the value of a field as the text of its option.
fn as_option(kind: ParameterKind, value: &str) -> String {
    match kind {
        // The only converted parameter is in watts.
        ParameterKind::Converted(_) => Dbm::from(Watt(value.parse().unwrap())).0.to_string(),
        _ => value.trim_matches('"').to_owned(),
    }
}

/// Asserts that an error names the field, its value and what to do.
fn assert_told(why: &str, (name, value): (&str, &str), text: &str) {
    // A service class is rejected as a whole. A value out of range is named without its section. If two parameters
    // contradict each other, the error names the other one and the value that it requires.
    let name = name.rsplit('.').next().unwrap();
    let is_value = why.contains(value.trim_matches('"'));
    let told = why.contains(name) || why.contains("its own service class") || is_value;
    let to_do = ["expected", "remove it"].iter().any(|words| why.contains(words));
    let says = to_do && why.starts_with("users");
    assert!(told && says, "{name} {value}, {text}: {why}");
}

/// Tests the rule for all names: a field of the cell sets the option of its name, or is rejected.
#[test]
fn no_parameter_is_only_echoed() {
    for about in problems_of_users() {
        let mut solver = solver(about, &Options::default()).unwrap();
        let mut names = names();
        let own = (about.flags)(Verb::Assess).into_iter().chain((about.flags)(Verb::Solve));
        names.extend(own.map(|spec| spec.name.replace('-', "_")));
        names.retain(|name| !NO_PARAMETERS.contains(&name.as_str()));
        for name in names {
            let plainly = answer(&mut solver, &plain(BY_DISTANCE), &name).unwrap();
            // No parameter has this number or this name as its value.
            for value in ["7.25", "\"rma-nlos\""] {
                // Answers contain a cost, users may have a `model` of their own, and a path loss may be in dB.
                if matches!((name.as_str(), value), ("cost" | "model" | "path_loss", "7.25")) {
                    continue;
                }
                let own = option_of(about, &name);
                for text in of_cell(BY_DISTANCE, &name, value) {
                    match answer(&mut solver, &text, &name) {
                        Err(why) => assert_told(&why, (&name, value), &text),
                        Ok(_) if OF_USERS.contains(&name.as_str()) => {}
                        Ok(found) => {
                            let (option, kind) = own.expect(&text);
                            let set = options(&[(option, &as_option(kind, value))]);
                            let mut by_option = self::solver(about, &set).unwrap();
                            let expected = answer(&mut by_option, &plain(BY_DISTANCE), &name);
                            assert_eq!(Ok(found), expected, "{}: {text}", about.name);
                        }
                    }
                }
                for text in of_user(BY_DISTANCE, &name, value) {
                    match answer(&mut solver, &text, &name) {
                        Err(why) => assert_told(&why, (&name, value), &text),
                        // Fields of users apply only to the user that has them.
                        Ok(found) => {
                            let is_own = OF_USERS.contains(&name.as_str());
                            assert!(is_own && found != plainly, "{}: {text}", about.name);
                        }
                    }
                }
            }
            for spelling in [name.to_uppercase(), name.replace('_', "-"), name.replace('_', " ")] {
                let text = &of_cell(BY_DISTANCE, &spelling, "\"rma-nlos\"")[0];
                assert!(answer(&mut solver, text, &name).is_err(), "{text}");
            }
        }
    }
}

/// Returns the options that a cell needs before an option can have another value, and that value.
fn another(about: &About, option: &str) -> (&'static [(&'static str, &'static str)], &'static str) {
    const RURAL: &[(&str, &str)] = &[("path-loss", "rma-nlos"), ("carrier-ghz", "3.5")];
    const MEASURED: &[(&str, &str)] =
        &[("reference-power-dbm", "10"), ("reference-bandwidth-hz", "1e6")];
    match option {
        // For urllc-power the power is a limit that is not spent in full.
        "max-power-dbm" if about.name == "urllc-power" => (&[], "-30"),
        "max-power-dbm" => (&[], "36"),
        "antennas" => (&[], "4"),
        "noise-density-dbm-hz" => (&[], "-170"),
        "max-spectral-efficiency" => (&[], "7.4063"),
        "path-loss-intercept-db" => (&[], "36.5"),
        "path-loss-slope-db" => (&[], "38"),
        "path-loss" => (RURAL, "\"uma-nlos\""),
        "carrier-ghz" => (RURAL, "2.5"),
        "base-height-m" => (RURAL, "30"),
        "user-height-m" => (RURAL, "2"),
        "street-width-m" => (RURAL, "25"),
        "building-height-m" => (RURAL, "7"),
        "frame-ms" => (&[], "0.125"),
        "transmission-ms" => (&[], "0.04"),
        "queueing-delay-ms" => (&[], "0.6"),
        "epsilon" => (&[], "1e-6"),
        "packet-bits" => (&[], "200"),
        "arrival-rate" => (&[], "0.1"),
        "max-bandwidth-hz" => (&[], "3.5e5"),
        "rate-bps" | "bandwidth-hz" => (&[], "2e6"),
        "cost" => (&[], "\"delay\""),
        "reference-power-dbm" => (MEASURED, "13"),
        "reference-bandwidth-hz" => (MEASURED, "2e6"),
        _ => panic!("{}: a parameter that is not tested: {option}", about.name),
    }
}

/// Returns the users whose allocation depends on an option.
fn users_for(option: &str) -> Users {
    if option.starts_with("reference") { BY_SNR } else { BY_DISTANCE }
}

/// Tests every parameter of every problem under every name: a value in the data has the same effect as the option. A
/// value that only one user has is rejected with the name of the user.
#[test]
fn every_parameter_that_data_give_is_applied() {
    let mut applied = 0;
    for about in problems_of_users() {
        for (parameter, names) in (about.parameters)() {
            let option = parameter.option;
            if matches!(parameter.kind, ParameterKind::NoEffect) {
                continue;
            }
            let (before, value) = another(about, option);
            let users = users_for(option);
            let mut set = options(before);
            let mut solver = solver(about, &set).unwrap();
            let is_watts = matches!(parameter.kind, ParameterKind::Converted(_));
            set.set(option, as_option(parameter.kind, value));
            let value = if is_watts && value.starts_with('-') { "1e-6" } else { value };
            set.set(option, as_option(parameter.kind, value));
            let mut by_option = self::solver(about, &set).unwrap();
            for name in names {
                let told = format!("{}: {name}", about.name);
                let plainly = answer(&mut solver, &plain(users), &name).unwrap();
                let expected = answer(&mut by_option, &plain(users), &name).unwrap();
                assert_ne!(expected, plainly, "{told}");
                for (place, text) in of_cell(users, &name, value).iter().enumerate() {
                    if place > 0 && OF_USERS.contains(&name.as_str()) {
                        continue;
                    }
                    let found = answer(&mut solver, text, &name);
                    assert_eq!(found.as_ref(), Ok(&expected), "{told}: {text}");
                    applied += 1;
                }
                for (place, text) in of_user(users, &name, value).iter().enumerate() {
                    if OF_USERS.contains(&name.as_str()) {
                        continue;
                    }
                    let why = answer(&mut solver, text, &name).unwrap_err();
                    let at = ["users: user 2", "users: line 3"][place];
                    let to_do = "it is a parameter of the whole cell; set it once for the cell, or give all users";
                    assert!(why.starts_with(at) && why.contains(to_do), "{told}: {why}");
                    assert!(why.contains(&format!("{name} is ")), "{told}: {why}");
                    // With the option, the user repeats the value in effect.
                    let found = answer(&mut by_option, text, &name);
                    assert_eq!(found.as_ref(), Ok(&expected), "{told}: {text}");
                }
            }
        }
    }
    assert!(applied > 500, "{applied}");
}

/// Tests that parameters of random users have no effect on the users of a file, which may only repeat the values in
/// effect.
#[test]
fn parameters_of_random_users_are_only_repeated() {
    for about in problems_of_users() {
        let given = options(&[("cell-radius-m", "300")]);
        let mut solver = solver(about, &given).unwrap();
        let in_effect = (about.make)(&needed(about, &given)).unwrap();
        let plainly = answer(&mut solver, &plain(BY_DISTANCE), "").unwrap();
        let mut count = 0;
        for (parameter, names) in (about.parameters)() {
            if !matches!(parameter.kind, ParameterKind::NoEffect) {
                continue;
            }
            for name in names {
                count += 1;
                let (cell, user) =
                    (of_cell(BY_DISTANCE, &name, "77"), of_user(BY_DISTANCE, &name, "77"));
                for text in cell.iter().chain(&user) {
                    let why = answer(&mut solver, text, &name).unwrap_err();
                    let says = format!("{name} is 77, expected ");
                    let reason =
                        "it is a parameter of random users, and has no effect on these; remove it";
                    assert!(why.contains(&says) && why.contains(reason), "{text}: {why}");
                }
                let Some(value) = in_effect.options().text(parameter.option) else { continue };
                let value = if value.parse::<f64>().is_ok() {
                    value.to_owned()
                } else {
                    format!("{value:?}")
                };
                let (cell, user) =
                    (of_cell(BY_DISTANCE, &name, &value), of_user(BY_DISTANCE, &name, &value));
                for text in cell.iter().chain(&user) {
                    assert_eq!(answer(&mut solver, text, &name).as_ref(), Ok(&plainly), "{text}");
                }
            }
        }
        assert!(count >= 18, "{}: {count}", about.name);
    }
}

/// Tests that parameters of one problem are not copied by another, unless the name is also that of a result.
#[test]
fn parameters_of_other_problems_are_rejected() {
    for about in BUILT_IN {
        let users = if about.is_of_arrays() {
            r#""gains":[[1,0.5],[0.7,0.9]]"#
        } else {
            r#""users":[{"distance_m":60}]"#
        };
        let mut solver = solver(about, &Options::default()).unwrap();
        for other in BUILT_IN {
            for (parameter, names) in (other.parameters)() {
                for name in names.iter().filter(|name| option_of(about, name).is_none()) {
                    // No path loss of a link has this name.
                    let word = matches!(
                        parameter.kind,
                        ParameterKind::Word(_) | ParameterKind::Choice(_) | ParameterKind::Name(_)
                    );
                    let value = if word { "\"rma-nlos\"" } else { "77" };
                    let text = format!("{{{name:?}:{value},{users}}}");
                    let found = answer(&mut solver, &text, name);
                    if parameter.is_own_name {
                        assert!(matches!(name.as_str(), "bandwidth_hz" | "cost"), "{name}");
                        assert!(found.is_ok(), "{}: {name}: {found:?}", about.name);
                        continue;
                    }
                    let why = found.unwrap_err();
                    let shown = value.trim_matches('"');
                    let says = format!(
                        "{name} is {shown}, but this problem does not have this parameter; remove it"
                    );
                    let slip = format!("the key {name:?} looks like a typo of ");
                    let is_told =
                        why.contains(&says) || about.is_of_arrays() && why.contains(&slip);
                    assert!(is_told, "{}: {text}: {why}", about.name);
                }
            }
        }
    }
}

/// Tests that the rate and the bandwidth next to a power in an answer are results and set nothing.
#[test]
fn answers_are_accepted_as_data() {
    for name in ["qos-power", "equal-bandwidth", "separable"] {
        let mut solver = solver(named(name).unwrap(), &Options::default()).unwrap();
        for result in ["rate_bps", "bandwidth_hz"] {
            let strip = |mut found: Result<Vec<Value>, String>| {
                let all = found.iter_mut().flatten();
                all.for_each(|one| remove(one, &|key| key.starts_with("input_")));
                found
            };
            let plainly = strip(answer(&mut solver, &plain(BY_DISTANCE), result));
            let json = format!(
                r#"{{"users":[{{{result:?}:9e5,"distance_m":60,"power_w":1}},{{"distance_m":90}}]}}"#
            );
            assert_eq!(strip(answer(&mut solver, &json, result)), plainly, "{name}");
            let csv = format!("{result},distance_m,power_w\n9e5,60,1\n9e5,90,1\n");
            assert_eq!(strip(answer(&mut solver, &csv, result)), plainly, "{name}");
        }
    }
    // The name of a cost is not a result.
    let mut solver = solver(named("separable").unwrap(), &Options::default()).unwrap();
    let one = r#"{"users":[{"distance_m":60,"power_w":1,"cost":"delay"},{"distance_m":90}]}"#;
    let why = answer(&mut solver, one, "cost").unwrap_err();
    assert!(why.starts_with("users: user 1: cost is delay, expected log1p"), "{why}");
}

/// Tests that the rate is a result only if the user has a power.
#[test]
fn an_empty_power_switches_no_parameter_off() {
    let about = named("qos-power").unwrap();
    let mut usual = solver(about, &Options::default()).unwrap();
    let mut by_option = solver(about, &options(&[("rate-bps", "5e5")])).unwrap();
    let strip = |solver: &mut Answering, text: &str| {
        let mut found = answer(solver, text, "rate_bps").unwrap();
        found.iter_mut().for_each(|one| remove(one, &|key| key == "input_power_w"));
        found
    };
    let expected = strip(&mut by_option, &plain(BY_DISTANCE));
    assert_ne!(strip(&mut usual, &plain(BY_DISTANCE)), expected);
    let [one, two] = BY_DISTANCE;
    let of_users = |power: &str| {
        let fields = format!("\"power_w\":{power},\"rate_bps\":5e5");
        format!(r#"{{"users":[{{{one},{fields}}},{{{fields},{two}}}]}}"#)
    };
    for text in [
        "distance_m,power_w,rate_bps\n60,,5e5\n90,,5e5\n".to_owned(),
        "distance_m,power_w,rate_bps\n60,none,5e5\n90,,5e5\n".to_owned(),
        of_users("null"),
        of_users("\"\""),
        of_users("[1]"),
        format!(r#"{{"power_w":3,"rate_bps":5e5,"users":[{{{one}}},{{{two}}}]}}"#),
    ] {
        assert_eq!(strip(&mut usual, &text), expected, "{text}");
    }
    assert_ne!(strip(&mut usual, &of_users("3")), expected);
}

/// Tests that data cannot select a file with cost samples; they may only repeat its name.
#[test]
fn data_name_no_file_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cost.csv");
    std::fs::write(&file, "u,c\n0,0\n1,-1\n10,-2\n100,-2.5\n1e6,-2.6\n").unwrap();
    let (separable, path) = (named("separable").unwrap(), file.to_str().unwrap());
    let quoted = format!("{path:?}");
    let mut usual = solver(separable, &Options::default()).unwrap();
    let mut by_file = solver(separable, &options(&[("cost", path)])).unwrap();
    let expected = answer(&mut by_file, &plain(BY_DISTANCE), "cost").unwrap();
    for text in of_cell(BY_DISTANCE, "cost", &quoted) {
        let why = answer(&mut usual, &text, "cost").unwrap_err();
        let says = "expected log1p, the value in effect: it is a parameter; pass it as an option";
        assert!(why.contains(says), "{why}");
        assert_eq!(answer(&mut by_file, &text, "cost").as_ref(), Ok(&expected), "{text}");
    }
}

#[test]
fn links_honour_their_parameters_and_reject_those_of_cells() {
    let gains = r#""gains":[[1,0.5],[0.7,0.9]]"#;
    for name in ["interference", "link-scheduling"] {
        let about = named(name).unwrap();
        let mut solver = solver(about, &Options::default()).unwrap();
        for name in names() {
            let plainly = answer(&mut solver, &format!("{{{gains}}}"), &name).unwrap();
            for value in ["7.25", "\"rma-nlos\"", "[7.25,1]"] {
                // No path loss has this name.
                if matches!(name.as_str(), "model" | "path_loss") && !value.starts_with('"') {
                    continue;
                }
                let text = format!("{{{name:?}:{value},{gains}}}");
                match answer(&mut solver, &text, &name) {
                    Ok(found) => assert_ne!(found, plainly, "{name} is ignored in {text}"),
                    Err(why) => assert_told(&why, (&name, value), &text),
                }
            }
        }
        // One number, or one for each link, has the same effect as the option.
        for (field, option) in [("noise", "noise"), ("max_power", "p-max")] {
            let mut by_option = self::solver(about, &options(&[(option, "0.25")])).unwrap();
            let expected = answer(&mut by_option, &format!("{{{gains}}}"), field).unwrap();
            for value in ["0.25", "[0.25,0.25]"] {
                let text = format!("{{{field:?}:{value},{gains}}}");
                assert_eq!(answer(&mut solver, &text, field).as_ref(), Ok(&expected), "{text}");
            }
        }
        let plainly = answer(&mut solver, &format!("{{{gains}}}"), "").unwrap();
        let mut found =
            answer(&mut solver, &format!(r#"{{"site":7.25,"model":"iPhone",{gains}}}"#), "")
                .unwrap();
        assert_eq!(found[0]["site"], 7.25);
        remove(&mut found[0], &|name| matches!(name, "site" | "model"));
        assert_eq!(found, plainly);
    }
}

/// Tests that a file may repeat the values in effect, for example if it is an earlier answer.
#[test]
fn values_in_effect_are_accepted() {
    let about = named("urllc").unwrap();
    let given = options(&[
        ("max-power-dbm", "40"),
        ("antennas", "4"),
        ("path-loss", "uma-nlos"),
        ("carrier-ghz", "3.5"),
    ]);
    let mut urllc = solver(about, &given).unwrap();
    let system = CellOptions::ALL.system(&given, &Config::default()).unwrap();
    let mut config = system.config().clone();
    config.path_loss = config.path_loss.filled();
    let in_effect = CellOptions::ALL.describe(&config);
    assert!(in_effect.names().count() > 12);
    for name in in_effect.names() {
        let value = in_effect.text(name).unwrap();
        let quoted =
            if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("{value:?}") };
        let field = name.replace('-', "_");
        let plainly = answer(&mut urllc, &plain(BY_DISTANCE), &field).unwrap();
        let (cell, user) =
            (of_cell(BY_DISTANCE, &field, &quoted), of_user(BY_DISTANCE, &field, &quoted));
        for text in cell.iter().chain(&user) {
            assert_eq!(answer(&mut urllc, text, &field).as_ref(), Ok(&plainly), "{text}");
        }
    }
    // In watts, in a section, as text, and null.
    for field in [
        r#""max_power_w":10"#,
        r#""cell.max_power_dbm":40.00000000001"#,
        r#""max_power_dbm":"40""#,
        r#""max_power_dbm":null"#,
        r#""model":"uma-nlos""#,
        r#""frame":{"frame_ms":0.1,"number":17}"#,
        r#""frame":17"#,
    ] {
        let name = field.split('"').nth(1).unwrap();
        let text = plain(BY_DISTANCE).replacen('{', &format!("{{{field},"), 1);
        let plainly = answer(&mut urllc, &plain(BY_DISTANCE), name).unwrap();
        let mut found = answer(&mut urllc, &text, name);
        if let Ok(found) = &mut found {
            found.iter_mut().for_each(|one| remove(one, &|key| key == name));
        }
        assert_eq!(found.as_ref(), Ok(&plainly), "{text}");
    }
    let csv = "distance_m,max_power_dbm\n60,\n90,40\n";
    let plainly = answer(&mut urllc, &plain(BY_DISTANCE), "max_power_dbm").unwrap();
    assert_eq!(answer(&mut urllc, csv, "max_power_dbm"), Ok(plainly));
}

/// Tests that a section of the config file sets its fields, and must agree with a field next to it.
#[test]
fn sections_and_fields_agree() {
    let about = named("urllc").unwrap();
    let mut usual = solver(about, &Options::default()).unwrap();
    let mut other =
        solver(about, &options(&[("frame-ms", "0.125"), ("queueing-delay-ms", "0.6")])).unwrap();
    let expected = answer(&mut other, &plain(BY_DISTANCE), "").unwrap();
    let with = |fields: &str| plain(BY_DISTANCE).replacen('{', &format!("{{{fields},"), 1);
    for fields in [
        r#""frame":{"frame_ms":0.125,"queueing_delay_ms":0.6}"#,
        r#""Frame":{"Frame-ms":"0.125","queueing_delay_ms":0.6,"colour":"red"}"#,
        r#""frame_ms":0.125,"frame.queueing_delay_ms":0.6,"frame_frame_ms":0.125"#,
    ] {
        let mut found = answer(&mut usual, &with(fields), "").unwrap();
        let is_echo = |key: &str| key.to_ascii_lowercase().starts_with("frame");
        remove(&mut found[0], &is_echo);
        assert_eq!(found, expected, "{fields}");
    }
    for (fields, says) in [
        (
            r#""frame":{"frame_ms":0.125},"frame_ms":0.2"#,
            "frame_ms is 0.2, expected frame.frame_ms 0.125, as elsewhere in the file",
        ),
        (
            r#""frame":{"frame_ms":5,"frame_ms":0.1}"#,
            "frame.frame_ms is 0.1, expected 5, as elsewhere in the file",
        ),
        (
            r#""frame_ms":[0.1]"#,
            "frame_ms is [0.1], expected a number; this field is a parameter of the problem",
        ),
        (
            r#""frame_ms":"long""#,
            "frame_ms is \"long\", expected a number; this field is a parameter of the problem",
        ),
        (
            r#""max_power_dbm":40,"max_power_w":20"#,
            "max_power_w is 20, expected max_power_dbm 40, as elsewhere in the file",
        ),
        (
            r#""path_loss.model":7"#,
            "path_loss.model is 7, expected a name; this field is a parameter of the problem",
        ),
        (
            r#""path_loss":{"model":"cost231"}"#,
            "path_loss.model is cost231, expected log-distance, the value in effect: it is a parameter; pass",
        ),
        (r#""antennas":0"#, "antennas is 0, expected"),
        (r#""antennas":2.5"#, "antennas is 2.5, expected"),
    ] {
        let why = answer(&mut usual, &with(fields), "").unwrap_err();
        assert!(why.starts_with("users: ") && why.contains(says), "{fields}: {why}");
    }
    let both = r#"{"max_power_dbm":40,"users":[{"distance_m":60,"max_power_dbm":41}]}"#;
    let why = answer(&mut usual, both, "").unwrap_err();
    assert!(why.contains("max_power_dbm is 41, expected 40, as elsewhere in the file"), "{why}");
    let two = r#"{"users":[{"id":"a","distance_m":60,"antennas":8},{"id":"b","distance_m":60,"antennas":4}]}"#;
    let why = answer(&mut usual, two, "").unwrap_err();
    assert!(
        why.starts_with("users: user 2 (\"b\"): antennas is 4, expected 8, the value"),
        "{why}"
    );
}

/// Tests that another path loss replaces the one in effect together with its parameters.
#[test]
fn data_may_name_another_path_loss() {
    let by_options = [("path-loss", "uma-nlos"), ("carrier-ghz", "3.5")];
    let rural = [("path-loss", "rma-nlos"), ("carrier-ghz", "3.5"), ("street-width-m", "25")];
    for about in problems_of_users() {
        let mut by_options = solver(about, &options(&by_options)).unwrap();
        for before in [&[][..], &rural] {
            let mut solver = solver(about, &options(before)).unwrap();
            for fields in [
                r#""path_loss":"uma-nlos","carrier_ghz":3.5"#,
                r#""path_loss":{"model":"uma-nlos","carrier_ghz":3.5}"#,
            ] {
                let text = plain(BY_DISTANCE).replacen('{', &format!("{{{fields},"), 1);
                let is_echo = |key: &str| matches!(key, "path_loss" | "carrier_ghz");
                let mut found = answer(&mut solver, &text, "").unwrap();
                remove(&mut found[0], &is_echo);
                let expected = answer(&mut by_options, &plain(BY_DISTANCE), "").unwrap();
                assert_eq!(found, expected, "{}: {text}", about.name);
            }
        }
    }
}

/// Tests that an unknown name of a path loss is reported, and that a path loss in dB is the user's own field.
#[test]
fn a_path_loss_is_a_known_name_or_a_number() {
    for about in problems_of_users() {
        let mut usual = solver(about, &Options::default()).unwrap();
        let plainly = answer(&mut usual, &plain(BY_DISTANCE), "path_loss").unwrap();
        for word in ["uma_nlos", "UMA-NLOS", "free-spce", "free space"] {
            let value = format!("{word:?}");
            let (cell, user) = (
                of_cell(BY_DISTANCE, "path_loss", &value),
                of_user(BY_DISTANCE, "path_loss", &value),
            );
            // The error does not blame the parameters that another path loss would need.
            let with = cell[0].replacen('{', "{\"carrier_ghz\":3.5,", 1);
            for text in cell.iter().chain(&user).chain([&with]) {
                let why = answer(&mut usual, text, "path_loss").unwrap_err();
                let says =
                    format!("path_loss is {word}, expected log-distance, the value in effect: ");
                assert!(why.contains(&says), "{}: {text}: {why}", about.name);
            }
        }
        for value in ["110.5", "\"+110.5\"", "\"\""] {
            let (cell, user) = (
                of_cell(BY_DISTANCE, "path_loss", value),
                of_user(BY_DISTANCE, "path_loss", value),
            );
            for text in cell.iter().chain(&user) {
                let found = answer(&mut usual, text, "path_loss");
                assert_eq!(found.as_ref(), Ok(&plainly), "{}: {text}", about.name);
            }
        }
    }
}

/// Tests that each cell of a stream and of a table has its own parameters.
#[test]
fn each_cell_has_its_own_parameters() {
    let about = named("urllc").unwrap();
    let mut usual = solver(about, &Options::default()).unwrap();
    let budgets = ["43", "36", "30", "36"];
    let expected: Vec<Value> = budgets
        .map(|dbm| {
            let mut solver = solver(about, &options(&[("max-power-dbm", dbm)])).unwrap();
            answer(&mut solver, &plain(BY_DISTANCE), "max_power_dbm").unwrap().remove(0)
        })
        .into();
    let stream: Vec<String> =
        budgets.iter().map(|dbm| of_cell(BY_DISTANCE, "max_power_dbm", dbm)[0].clone()).collect();
    assert_eq!(answer(&mut usual, &stream.join("\n"), "max_power_dbm"), Ok(expected.clone()));
    let mut csv = "cell,id,distance_m,max_power_dbm\n".to_owned();
    for (cell, dbm) in budgets.iter().enumerate() {
        csv.push_str(&format!("c{cell},1,60,{dbm}\nc{cell},2,90,{dbm}\n"));
    }
    let mut found = answer(&mut usual, &csv, "max_power_dbm").unwrap();
    for (cell, found) in found.iter_mut().enumerate() {
        assert_eq!(found["cell"], format!("c{cell}"));
        remove(found, &|name| name == "cell");
    }
    assert_eq!(found, expected);
}

#[test]
fn a_rejected_parameter_is_told_with_its_place_its_value_and_what_to_do() {
    let told = |problem: &str, text: &str| {
        let mut solver = solver(named(problem).unwrap(), &Options::default()).unwrap();
        answer(&mut solver, text, "").unwrap_err()
    };
    let of_cell = "it is a parameter of the whole cell; set it once for the cell, or give all users the same value";
    let users = r#""users":[{"id":"a","distance_m":60},{"distance_m":90}]"#;
    assert_eq!(
        told("urllc", &format!(r#"{{"cell":"x","max_power_dbm":500,{users}}}"#)),
        "users: cell x: max_power_dbm is 500, expected a power in dBm from -60 to 100"
    );
    // A missing companion parameter is reported like the value itself. A cell name that could be misread is quoted.
    for (problem, cell, field, says) in [
        ("urllc", "x", r#""path_loss":"free-space""#, "cell x: carrier_ghz is missing"),
        ("urllc", "x", r#""reference_bandwidth_hz":3"#, "cell x: reference_power_dbm is missing"),
        ("separable", "x", r#""cost":"/etc/passwd""#, "cell x: cost is /etc/passwd, expected"),
        ("urllc", r#"a \"b\" é"#, r#""antennas":0"#, r#"cell "a \"b\" é": antennas is 0"#),
        ("urllc", "a\u{202e}b", r#""antennas":0"#, r#"cell "a\u{202e}b": antennas is 0"#),
        ("urllc", "café 9", r#""antennas":0"#, "cell café 9: antennas is 0"),
    ] {
        let why = told(problem, &format!(r#"{{"cell":"{cell}",{field},{users}}}"#));
        assert!(why.starts_with(&format!("users: {says}")), "{why}");
    }
    assert_eq!(
        told("urllc", &format!(r#"{{"cell":"x","max_power_w":0,{users}}}"#)),
        "users: cell \"x\": max_power_w is 0, expected a positive number; this field is a parameter of the problem"
    );
    assert_eq!(
        told("urllc", &format!(r#"{{{users}}} {{"antennas":[4],{users}}}"#)),
        "users: cell 2: antennas is [4], expected a number; this field is a parameter of the problem"
    );
    assert_eq!(
        told(
            "urllc",
            r#"{"users":[{"id":"a","distance_m":60,"queueing_delay_ms":1},{"distance_m":60}]}"#
        ),
        format!(
            "users: user 1 (\"a\"): queueing_delay_ms is 1, expected 0.8, the value in effect: {of_cell}"
        )
    );
    assert_eq!(
        told("urllc", "distance_m,Carrier_GHz\n60,3.5\n70,\n"),
        format!("users: line 2: Carrier_GHz is 3.5, expected none, as in effect: {of_cell}")
    );
    assert_eq!(
        told("urllc", &format!(r#"{{"cell_radius_m":200,{users}}}"#)),
        "users: cell_radius_m is 200, expected 250, the value in effect: it is a parameter of random users, and has no \
         effect on these; remove it"
    );
    assert_eq!(
        told("urllc", &format!(r#"{{"rate_bps":1e6,{users}}}"#)),
        "users: rate_bps is 1e6, but this problem does not have this parameter; remove it"
    );
    assert_eq!(
        told("interference", r#"{"gains":[[1]],"max_power_dbm":20}"#),
        "users: instance 0: max_power_dbm is 20, but this problem does not have this parameter; remove it"
    );
}

/// Loads a model that an earlier version wrote.
fn model(name: &str) -> Arc<dyn Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../anyk-cli/tests/data/models-0.2");
    anyk::load(folder.join(format!("{name}.safetensors"))).unwrap()
}

fn allocator(model: &dyn Model, given: &[(&str, &str)]) -> Answering {
    let mut options = options(given);
    if model.about().name == "urllc-power" && !options.has("max-bandwidth-hz") {
        options.set("max-bandwidth-hz", "4e5");
    }
    allocating(model, &options).unwrap()
}

/// Tests that a model for one cell rejects records of other cells, since its allocation would be for the wrong cell.
#[test]
fn models_of_one_cell_refuse_another() {
    let of_urllc = ["max_power_dbm", "max_power_w", "antennas", "frame_ms", "path_loss_slope_db"];
    let of_power = ["max_power_dbm", "rate_bps", "noise_density_dbm_hz"];
    let of_rate = ["rate_bps", "bandwidth_hz", "noise_density_dbm_hz"];
    for (name, fields) in [
        ("urllc-p-gnn", &of_urllc[..]),
        ("urllc-p-gnn-calibrated", &of_urllc),
        ("urllc-p-gnn-gain-and-size", &of_urllc),
        ("urllc-m-gnn", &of_urllc),
        ("urllc-fnn", &of_urllc),
        ("equal-bandwidth-p-gnn", &of_power),
        ("equal-bandwidth-m-gnn", &of_power),
        ("qos-power", &of_rate),
    ] {
        let model = model(name);
        let mut policy = allocator(&*model, &[]);
        for field in fields {
            let (option, kind) = option_of(model.about(), field).unwrap();
            let (_, value) = another(model.about(), option);
            for text in of_cell(BY_DISTANCE, field, value) {
                let why = answer(&mut policy, &text, field).unwrap_err();
                // The error names the option, its value in the model and in the record, and an alternative.
                let own = model.trained_options().text(option).unwrap().to_owned();
                let told = option.replace('-', "_");
                let here: f64 = as_option(kind, value).parse().unwrap();
                let says = format!("{told} is {here}, expected {own}, which the");
                let instead =
                    if model.about().name == "urllc" { "the price policy" } else { "`anyk solve`" };
                let end = format!("model was trained for; {instead} accepts any value");
                assert!(why.starts_with("users"), "{name}: {why}");
                assert!(why.contains(&says) && why.contains(&end), "{name}: {why}");
            }
            // Its own cell is accepted, from any of its users.
            if matches!(kind, ParameterKind::Converted(_)) {
                continue;
            }
            let own = model.trained_options().text(option).unwrap().to_owned();
            let expected = answer(&mut policy, &plain(BY_DISTANCE), field).unwrap();
            let (cell, user) =
                (of_cell(BY_DISTANCE, field, &own), of_user(BY_DISTANCE, field, &own));
            for text in cell.iter().chain(&user) {
                assert_eq!(
                    answer(&mut policy, text, field).as_ref(),
                    Ok(&expected),
                    "{name}: {text}"
                );
            }
        }
        // The previous cell is not remembered.
        let twice = format!(
            "{}\n{}",
            plain(BY_DISTANCE),
            of_cell(
                BY_DISTANCE,
                fields[0],
                another(model.about(), option_of(model.about(), fields[0]).unwrap().0).1
            )[0]
        );
        assert!(answer(&mut policy, &twice, fields[0]).is_err(), "{name}");
    }
}

/// Tests that a model for any cell gives the same allocation whether a record or the options describe the cell.
#[test]
fn models_of_any_cell_honour_what_a_record_sets() {
    for name in ["urllc-any-gnn", "urllc-any-gnn-softmax", "urllc-power", "separable"] {
        let model = model(name);
        let about = model.about();
        let known: Vec<&str> = model.flags(Verb::Allocate).iter().map(|spec| spec.name).collect();
        let mut honoured = 0;
        for (parameter, names) in (about.parameters)() {
            let option = parameter.option;
            if matches!(parameter.kind, ParameterKind::NoEffect) || !known.contains(&option) {
                continue;
            }
            let (before, value) = another(about, option);
            let value = match parameter.kind {
                ParameterKind::Converted(_) if value.starts_with('-') => "1e-6",
                _ => value,
            };
            let mut policy = allocator(&*model, before);
            let set = as_option(parameter.kind, value);
            let others = before.iter().copied().filter(|(name, _)| *name != option);
            let with: Vec<(&str, &str)> = others.chain([(option, set.as_str())]).collect();
            let mut by_option = allocator(&*model, &with);
            let (users, field) = (users_for(option), &names[0]);
            let expected = answer(&mut by_option, &plain(users), field).unwrap();
            assert_ne!(
                answer(&mut policy, &plain(users), field).unwrap(),
                expected,
                "{name} {field}"
            );
            for (place, text) in of_cell(users, field, value).iter().enumerate() {
                if place > 0 && OF_USERS.contains(&field.as_str()) {
                    continue;
                }
                let found = answer(&mut policy, text, field);
                assert_eq!(found.as_ref(), Ok(&expected), "{name}: {text}");
                honoured += 1;
            }
        }
        assert!(honoured > 15, "{name}: {honoured}");
    }
    // The cost belongs to the model.
    let model = model("separable");
    let mut policy = allocator(&*model, &[]);
    let own = model.trained_options().text("cost").unwrap().to_owned();
    let expected = answer(&mut policy, &plain(BY_DISTANCE), "cost").unwrap();
    let with = |cost: &str| of_cell(BY_DISTANCE, "cost", &format!("{cost:?}"));
    for text in with(&own) {
        assert_eq!(answer(&mut policy, &text, "cost").as_ref(), Ok(&expected), "{text}");
    }
    let other = if own == "delay" { "mmse" } else { "delay" };
    for text in with(other) {
        let why = answer(&mut policy, &text, "cost").unwrap_err();
        assert!(why.contains("cost"), "{why}");
    }
}

/// Collects the names of all objects in a value, except in self-contained objects such as a guarantee.
fn names_in(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| names_in(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                found.insert(name.clone());
                if !matches!(name.as_str(), "guarantee" | "objective") {
                    names_in(field, found);
                }
            }
        }
        _ => {}
    }
}

/// Tests that an answer is valid input: all fields that it can contain are known as results and are not mistaken for
/// the user's own fields.
#[test]
fn fields_of_answers_are_known_as_such() {
    let near = plain(BY_DISTANCE);
    let far = "{\"users\":[{\"distance_m\":60},{\"distance_m\":240}]}";
    let mut answers: Vec<(&About, Answering, &str)> = Vec::new();
    for about in problems_of_users() {
        answers.push((about, solver(about, &Options::default()).unwrap(), &near));
        for (option, value) in [("max-power-dbm", "-30"), ("max-bandwidth-hz", "1e4")] {
            if (about.flags)(Verb::Solve).iter().any(|spec| spec.name == option) {
                answers.push((about, solver(about, &options(&[(option, value)])).unwrap(), far));
            }
        }
    }
    for (name, given) in [
        ("urllc-any-gnn", &[("certify", "")][..]),
        ("urllc-p-gnn-calibrated", &[("certify", "")]),
        ("urllc-power", &[]),
        ("qos-power", &[]),
        ("equal-bandwidth-p-gnn", &[]),
        ("separable", &[]),
    ] {
        let model = model(name);
        answers.push((model.about(), allocator(&*model, given), &near));
    }
    for (about, mut answering, text) in answers {
        let found = answering.answer_all(Input::new(text.as_bytes(), "users")).unwrap();
        let mut names = BTreeSet::new();
        for answer in &found {
            names_in(&serde_json::from_str(&answer.json().unwrap()).unwrap(), &mut names);
        }
        let columns = about.inputs.iter().chain(about.amounts).map(|column| column.name);
        let known = about.answer_fields.iter().chain(about.user_fields).copied().chain(columns);
        for known in known.chain(["users", "id"]) {
            names.remove(known);
        }
        assert!(names.is_empty(), "{}: {names:?} of {text}", about.name);
    }
}
