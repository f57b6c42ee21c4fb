//! Inputs answered as the program does it: cells one after the other, an answer each.

use anyk::exchange::{Input, read_users};
use anyk::framework::{Answer, Options, Verb};
use anyk::problems::ROOMS;
use serde_json::Value;

use crate::files::system;

/// Instances with more numbers than this only take longer.
const MOST_USERS: usize = 40;

/// Every problem, asked with the same bytes.
pub(crate) fn lines(bytes: &[u8]) {
    let users = read_users(bytes, "lines", &system())
        .map_or(0, |cells| cells.iter().map(|cell| cell.users.len()).sum());
    if users > MOST_USERS || bytes.len() > 4096 {
        return;
    }
    for room in ROOMS {
        let mut options = Options::default();
        if room.options(Verb::Solve).iter().any(|spec| spec.name == "max-bandwidth-hz") {
            options.set("max-bandwidth-hz", "1e7");
        }
        let solver = room.solve(&options).unwrap();
        match solver.answer_all(Input::new(bytes, "lines")) {
            Ok(answers) => {
                assert!(!answers.is_empty());
                answers.iter().for_each(|answer| check(answer.as_ref(), false));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// One line of JSON in which every number is finite, and no power or bandwidth negative. A model may have an
/// answer that is stopped at the gate, a solver may not.
pub(crate) fn check(answer: &dyn Answer, learned: bool) {
    let mut json = Vec::new();
    if let Err(error) = answer.write_json(&mut json) {
        return assert!(learned, "a solver's answer cannot be written: {error}");
    }
    assert!(!json.contains(&b'\n'), "an answer of several lines");
    let value: Value = serde_json::from_slice(&json).unwrap();
    let text = String::from_utf8_lossy(&json).into_owned();
    walk("", &value, &text);
    let text = answer.text();
    assert!(text.map_or(learned, |text| !text.parts.is_empty()));
}

/// Fields that may be without a value.
const OPTIONAL: [&str; 5] =
    ["admissible", "duality_gap", "max_power_w", "required_power_w", "shortfall_w"];

fn walk(name: &str, value: &Value, whole: &str) {
    match value {
        // What the input says, and not the answer.
        _ if name.starts_with("input_") => {}
        // A number that is not finite leaves as null.
        Value::Null => assert!(OPTIONAL.contains(&name), "{name} is null in {whole}"),
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            let amount =
                name.ends_with("power_w") || name.ends_with("_hz") || name == "packet_loss";
            assert!(!amount || number >= 0.0, "{name} is {number} in {whole}");
        }
        Value::Array(values) => values.iter().for_each(|value| walk(name, value, whole)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(name, value, whole)),
        Value::Bool(_) | Value::String(_) => {}
    }
}
