//! Targets that answer inputs as the program does, one answer per cell.

use std::io::Cursor;

use anyk::core::{Allotment, Answer};
use anyk::exchange::Input;
use anyk::framework::Verb;
use anyk::problems::{BUILT_IN, assessing, solving};
use anyk::{About, Options};
use serde_json::Value;

use crate::files::{readable, records};
use crate::models::{LINKS, USERS};

/// Maximum number of users in an input; more users only take longer.
const MOST_USERS: usize = 40;

/// Returns the required options of a problem.
pub(crate) fn options(about: &About) -> Options {
    let mut options = Options::default();
    if (about.flags)(Verb::Solve).iter().any(|spec| spec.name == "max-bandwidth-hz") {
        options.set("max-bandwidth-hz", "1e7");
    }
    options
}

/// Solves the input as instances of every problem.
pub(crate) fn lines(bytes: &[u8]) {
    if bytes.len() > 4096 {
        return;
    }
    for about in BUILT_IN {
        let read = records(about, bytes);
        if read.iter().flatten().map(|record| record.size().users).sum::<usize>() > MOST_USERS {
            continue;
        }
        let mut solver = solving(about, &options(about)).unwrap();
        match solver.answer_all(Input::new(bytes, "lines")) {
            Ok(answers) => {
                assert!(!answers.is_empty());
                answers.iter().for_each(|answer| check(about, answer, bytes, false));
                // A fork gives the same answers.
                let mut fork = solver.fork().unwrap();
                let again = fork.answer_all(Input::new(bytes, "lines")).unwrap();
                let json = |answers: &[Answer]| -> Vec<String> {
                    answers.iter().map(|answer| answer.json().unwrap()).collect()
                };
                assert_eq!(json(&answers), json(&again), "{}", about.name);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads the input as allocations of every problem, and checks them for two users or three links.
pub(crate) fn allocations(bytes: &[u8]) {
    for about in BUILT_IN {
        if let Err(error) = Allotment::of_json(about, Input::new(bytes, "allocations")) {
            readable(&error.to_string());
            // A single JSON object would only be rejected again.
            if bytes.trim_ascii_start().starts_with(b"{") && !bytes.contains(&b'\n') {
                continue;
            }
        }
        let instances = if about.is_of_arrays() { LINKS } else { USERS };
        let given = Box::new(Cursor::new(bytes.to_vec()));
        let mut judge = assessing(about, &options(about), given, "allocations").unwrap();
        for verdict in judge.answer(Input::new(instances, "instances")) {
            match verdict {
                Ok(verdict) => check(about, &verdict, instances, false),
                Err(error) => {
                    readable(&error.to_string());
                    assert!(error.unjudged().is_some(), "the instance is valid: {error}");
                }
            }
        }
        if let Err(error) = judge.left(0) {
            readable(&error.to_string());
        }
    }
}

/// Checks that an answer is one line of JSON with finite numbers and without negative powers or bandwidths. The answer
/// of a model may have a value that cannot be written; that of a solver may not.
pub(crate) fn check(about: &About, answer: &Answer, input: &[u8], learned: bool) {
    let json = match answer.json() {
        Ok(json) => json,
        Err(error) => return assert!(learned, "a solver's answer cannot be written: {error}"),
    };
    assert!(!json.contains('\n'), "an answer of several lines");
    let value: Value = serde_json::from_str(&json).unwrap();
    let input = String::from_utf8_lossy(input);
    // Only check the fields of the answer, and not the fields that it copies from the input.
    let is_own = |name: &str| {
        let mut amounts = about.amounts.iter().map(|amount| amount.name);
        about.answer_fields.contains(&name)
            || about.user_fields.contains(&name)
            || amounts.any(|amount| amount == name)
            || !input.contains(name)
    };
    walk("", &value, &json, &is_own);
    assert!(!answer.text().parts.is_empty());
    let rows = answer.rows();
    let columns = rows.columns();
    let written = rows.write(&columns, "1", &mut |row| match row.len() == columns.len() {
        true => Ok(()),
        false => Err(row.len()),
    });
    assert_eq!(written, Ok(None), "{columns:?}");
}

/// Fields that may be null.
const OPTIONAL: [&str; 9] = [
    "admissible",
    "duality_gap",
    "gap_percent",
    "kkt_residual",
    "max_power_w",
    "reference",
    "required_power_w",
    "shortfall_w",
    "value",
];

fn walk(name: &str, value: &Value, whole: &str, is_own: &dyn Fn(&str) -> bool) {
    match value {
        _ if !is_own(name) => {}
        // NaN and infinity are written as null.
        Value::Null => assert!(OPTIONAL.contains(&name), "{name} is null in {whole}"),
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            let amount =
                name.ends_with("power_w") || name.ends_with("_hz") || name == "packet_loss";
            assert!(!amount || number >= 0.0, "{name} is {number} in {whole}");
        }
        Value::Array(values) => values.iter().for_each(|value| walk(name, value, whole, is_own)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| walk(name, value, whole, is_own));
        }
        Value::Bool(_) | Value::String(_) => {}
    }
}
