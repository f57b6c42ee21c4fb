//! Files of allocations: matching of allocations to cells, and rejected files.

#![allow(clippy::unwrap_used)]

use std::io::Cursor;

use anyk::core::Answering;
use anyk::exchange::Input;
use anyk::problems::{BUILT_IN, assessing, solving};
use anyk::{About, Options};

fn about(problem: &str) -> &'static About {
    BUILT_IN.iter().find(|about| about.name == problem).unwrap()
}

fn judge(problem: &str, allocations: &str) -> Answering {
    let reader = Box::new(Cursor::new(allocations.as_bytes().to_vec()));
    assessing(about(problem), &Options::default(), reader, "mine").unwrap()
}

/// Returns the verdicts on the instances of a document as status and value, or the error as text.
fn verdicts(judge: &mut Answering, part: usize, text: &str) -> Vec<(String, Option<f64>)> {
    let answers = judge.answer(Input { bytes: text.as_bytes(), name: "cells", part, lines: part });
    let told = |answer: Result<anyk::core::Answer, _>| match answer {
        Ok(answer) => {
            let verdict = answer.verdict().unwrap();
            let reason = verdict.reason.as_deref().map_or(String::new(), |why| format!(": {why}"));
            (format!("{}{reason}", verdict.status), verdict.value)
        }
        Err(error) => (anyk::framework::Error::to_string(&error), None),
    };
    answers.into_iter().map(told).collect()
}

fn words(judge: &mut Answering, part: usize, text: &str) -> String {
    let all: Vec<String> = verdicts(judge, part, text).into_iter().map(|one| one.0).collect();
    all.join("\n")
}

/// Returns the result for the allocations of one cell of two users.
fn of_two(problem: &str, allocations: &str) -> String {
    let cell = r#"{"users":[{"id":"a","distance_m":60},{"id":"b","distance_m":90}]}"#;
    words(&mut judge(problem, allocations), 0, cell)
}

const AMPLE: &str = r#""power_w":9,"bandwidth_hz":2e5"#;

fn cells_called(name: &str, count: usize) -> Vec<String> {
    let cell = |at: usize| {
        let near = 60 + 20 * at;
        format!(r#"{{"cell":"{name}","users":[{{"distance_m":{near}}},{{"distance_m":250}}]}}"#)
    };
    (0..count).map(cell).collect()
}

fn answers_of(cells: &[String]) -> Vec<String> {
    let mut solver = solving(about("urllc"), &Options::default()).unwrap();
    let answers = solver.answer_all(Input::new(cells.join("\n").as_bytes(), "cells")).unwrap();
    answers.iter().map(|answer| answer.json().unwrap()).collect()
}

#[test]
fn cells_of_one_name_have_the_allocations_in_their_places() {
    let cells = cells_called("north", 6);
    let answers = answers_of(&cells);
    // Threads may request them in any order.
    for order in [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3]] {
        let mut judge = judge("urllc", &answers.join("\n"));
        for at in order {
            assert_eq!(words(&mut judge, at, &cells[at]), "feasible", "{order:?}: {at}");
        }
        assert_eq!(judge.left(0).unwrap(), 0);
    }
    // If the first cell cannot be read, the second still gets its own allocation.
    let broken = r#"{"cell":"north","users":[{"distance_m":-1}]}"#;
    for order in [[0, 1], [1, 0]] {
        let mut judge = judge("urllc", &answers[..2].join("\n"));
        for at in order {
            let told = words(&mut judge, at, [broken, &cells[1]][at]);
            assert!(told.contains(["distance_m is -1", "feasible"][at]), "{told}");
        }
        assert_eq!(judge.left(1).unwrap(), 0);
    }
}

#[test]
fn names_that_repeat_are_refused_where_nobody_knows_whose_an_allocation_is() {
    let cells = cells_called("north", 2);
    let other = format!(r#"{{"cell":"south","users":[{{{AMPLE}}},{{{AMPLE}}}]}}"#);
    let answers = answers_of(&cells);
    let told =
        "several cells are named \"north\", and their allocations are not in the same positions";
    for allocations in [
        [&*other, &*answers[0], &*answers[1]].join("\n"),
        answers[0].clone(),
        [&*other, &*answers[0]].join("\n"),
    ] {
        for order in [[0, 1], [1, 0]] {
            let mut judge = judge("urllc", &allocations);
            let all: String = order.map(|at| words(&mut judge, at, &cells[at])).join("\n");
            assert!(all.contains(told), "{allocations}: {all}");
            let left = judge.left(0).unwrap_err().to_string();
            assert!(left.contains(told), "{left}");
        }
    }
    // The allocation of a cell that cannot be read is not used for another cell.
    let broken = r#"{"cell":"north","users":[{"distance_m":-1}]}"#;
    for order in [[0, 1], [1, 0]] {
        let mut judge = judge("urllc", &answers[1]);
        for at in order {
            words(&mut judge, at, [broken, &cells[1]][at]);
        }
        assert!(judge.left(1).unwrap_err().to_string().contains(told));
    }
    // A name identifies one allocation at any position.
    let mut judge = judge("urllc", &[&*other, &*answers[0]].join("\n"));
    assert_eq!(words(&mut judge, 0, &cells[0]), "feasible");
    assert_eq!(judge.left(0).unwrap(), 1);
}

/// Tests documents of two networks of one link, each with its own power.
#[test]
fn networks_of_a_document_have_the_powers_of_that_document() {
    let document = r#"{"gains":[[[1]],[[1]]]}"#;
    let power = |part: usize, at: usize| 0.1 * (1 + 2 * part + at) as f64;
    let value = |power: f64| {
        let alone = verdicts(
            &mut judge("interference", &format!(r#"{{"power":[{power}]}}"#)),
            0,
            r#"{"gains":[[1]]}"#,
        );
        alone[0].1.unwrap()
    };
    let mut table = "cell,instance,link,power,status\n".to_owned();
    let mut json = String::new();
    for part in 0..4 {
        let of = |at| power(part, at);
        json += &format!(r#"{{"instances":[{{"power":[{}]}},{{"power":[{}]}}]}}"#, of(0), of(1));
        json.push('\n');
        for at in 0..2 {
            table += &format!("{},{at},0,{},converged\n", part + 1, of(at));
        }
    }
    for allocations in [table, json] {
        let mut judge = judge("interference", &allocations);
        for part in [2, 0, 3, 1] {
            let found = verdicts(&mut judge, part, document);
            let expected = [0, 1].map(|at| ("feasible".to_owned(), Some(value(power(part, at)))));
            assert_eq!(found, expected, "{part}: {allocations}");
        }
        assert_eq!(judge.left(0).unwrap(), 0);
    }
    // If an instance is missing, the next document still gets its own allocations.
    for (allocations, first) in [
        (
            "{\"instances\":[{\"power\":[0.5]}]}\n{\"instances\":[{\"power\":[0.5]},{\"power\":[1]}]}",
            "amounts for 1 network, expected 2",
        ),
        (
            "cell,instance,link,power\n1,0,0,0.5\n2,0,0,0.5\n2,1,0,1\n",
            "amounts for 1 network, expected 2",
        ),
        ("{\"power\":\"x\"}\n{\"instances\":[{\"power\":[0.5]},{\"power\":[1]}]}", "line 1"),
    ] {
        let mut judge = judge("interference", allocations);
        let told = verdicts(&mut judge, 0, document);
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|(told, _)| told.contains(first)), "{told:?}");
        assert_eq!(words(&mut judge, 1, document), "feasible\nfeasible", "{allocations}");
    }
    let told = words(
        &mut judge("interference", "cell,instance,link,power\n1,1,0,0.5\n1,0,0,1\n"),
        0,
        document,
    );
    assert!(
        told.contains("line 2: instance is 1, expected 0: networks must be in order"),
        "{told}"
    );
}

#[test]
fn columns_of_networks_are_anybodys_own_in_a_table_of_users() {
    for name in ["instance", "link"] {
        let table = format!("id,{name},power_w,bandwidth_hz\na,4,9,2e5\nb,7,9,2e5\n");
        assert_eq!(of_two("urllc", &table), "feasible", "{name}");
    }
}

#[test]
fn a_field_stands_once() {
    let users = format!(r#""users":[{{"id":"a",{AMPLE}}},{{"id":"b",{AMPLE}}}]"#);
    assert_eq!(of_two("urllc", &format!("{{{users}}}")), "feasible");
    for (allocations, told) in [
        (
            "id,power_w,power_w,bandwidth_hz\na,9,1,2e5\nb,9,1,2e5\n".to_owned(),
            "the header: the column \"power_w\" appears twice, expected once",
        ),
        (
            format!(r#"{{"users":[{{"id":"a",{AMPLE},"power_w":5}},{{"id":"b",{AMPLE}}}]}}"#),
            "duplicate field `power_w`",
        ),
        (
            format!(r#"{{"users":[{{"id":"a",{AMPLE},"id":"c"}},{{"id":"b",{AMPLE}}}]}}"#),
            "duplicate field `id`",
        ),
        (
            format!(r#"{{"users":[{{"id":"a",{AMPLE}}}],"users":[{{"id":"b",{AMPLE}}}]}}"#),
            "duplicate field `users`",
        ),
        (format!(r#"{{"power_w":1,"power_w":2,{users}}}"#), "duplicate field `power_w`"),
        (format!(r#"{{"cell":"x","cell":"y",{users}}}"#), "duplicate field `cell`"),
    ] {
        let found = of_two("urllc", &allocations);
        assert!(found.contains(told), "{allocations}: {found}");
    }
    let network = r#"{"gains":[[1,0.1],[0.1,1]]}"#;
    for allocations in [
        r#"{"power":[1],"power":[1]}"#,
        r#"{"instances":[{"power":[1],"power":[1]}]}"#,
        r#"{"power":[],"power":[1,1]}"#,
    ] {
        let found = words(&mut judge("interference", allocations), 0, network);
        assert!(found.contains("duplicate field `power`"), "{allocations}: {found}");
    }
}

#[test]
fn lines_of_a_table_are_those_of_the_file() {
    let start = "# by me\n\nid,power_w,bandwidth_hz\r\n\n# the first\na,9,2e5\n\n";
    for (row, told) in [
        ("b,much,2e5\n", "mine: line 8: power_w is much"),
        ("b,9\n", "mine: line 8: 2 fields, expected 3 as in the header"),
    ] {
        let found = of_two("urllc", &format!("{start}{row}"));
        assert!(found.contains(told), "{found}");
    }
    // The file contains several cells, as the second allocation shows.
    let table = "# by me\ncell,id,power_w,bandwidth_hz\nx,a,9,2e5\n\n# another\ny,a,9,2e5\n";
    let mut judge = judge("urllc", table);
    words(&mut judge, 0, r#"{"users":[{"id":"a","distance_m":60}]}"#);
    let left = judge.left(0).unwrap_err().to_string();
    assert!(left.contains("mine: line 6: allocation 2 has no cell"), "{left}");
}

#[test]
fn negative_amounts_that_are_alike_are_told_as_what_they_are() {
    let users = |hz: [f64; 2]| {
        let user = |hz: f64| format!(r#"{{"power_w":1,"bandwidth_hz":{hz}}}"#);
        format!(r#"{{"users":[{},{}]}}"#, user(hz[0]), user(hz[1]))
    };
    let found = of_two("equal-bandwidth", &users([-1e5, -1e5]));
    assert!(found.contains("bandwidth_hz") && found.contains("is -100000"), "{found}");
    assert!(!found.contains("the same"), "{found}");
    for different in [[-1e5, -2e5], [-1e5, 1e5], [0.0, 1.0]] {
        let found = of_two("equal-bandwidth", &users(different));
        assert!(found.contains("expected the same value for all users"), "{found}");
    }
}

#[test]
fn only_an_author_who_says_why_refuses() {
    let users = format!(r#""users":[{{"id":"a",{AMPLE}}},{{"id":"b",{AMPLE}}}]"#);
    for said in [
        r#""error":false"#,
        r#""error":"""#,
        r#""error":"none""#,
        r#""error":null"#,
        r#""status":"error-free""#,
        r#""status":"infeasible""#,
    ] {
        assert_eq!(of_two("urllc", &format!("{{{users},{said}}}")), "feasible", "{said}");
    }
    for said in ["error-free", "errors: 0", "error", "infeasible"] {
        let table = format!("id,power_w,bandwidth_hz,status\na,9,2e5,{said}\nb,9,2e5,{said}\n");
        assert_eq!(of_two("urllc", &table), "feasible", "{said}");
    }
    for (allocations, told) in [
        (r#"{"error":"errors in my matrix"}"#, "no-allocation: errors in my matrix"),
        (r#"{"users":[{"id":"a"},{"id":"b"}],"error":"no idea"}"#, "no-allocation: no idea"),
        (r#"{"status":"infeasible"}"#, "no-allocation: infeasible"),
        ("id,power_w,bandwidth_hz,status\na,,,error: no idea\nb,,,\n", "no-allocation: no idea"),
        ("id,power_w,bandwidth_hz,status\na,,,infeasible\nb,9,2e5,infeasible\n", "no-allocation"),
    ] {
        let found = of_two("urllc", allocations);
        assert!(found.starts_with(told), "{allocations}: {found}");
    }
    // Without amounts and without a reason, there is no allocation.
    for nothing in [r#"{"error":false}"#, r#"{"error":" "}"#, r#"{"status":"error"}"#] {
        let found = of_two("urllc", nothing);
        assert!(found.contains("there is no allocation in"), "{nothing}: {found}");
    }
}

#[test]
fn a_broken_allocation_is_told_to_the_cell_that_has_none() {
    let cells = cells_called("north", 1);
    let good = format!(r#"{{"cell":"south","users":[{{{AMPLE}}}]}}"#);
    let broken = "{\"cell\":\"north\",\"users\":[{\"power_w\":1,}";
    for allocations in [format!("{good}\n{broken}\n"), format!("{broken}\n{good}\n")] {
        let mut judge = judge("urllc", &allocations);
        let south = r#"{"cell":"south","users":[{"distance_m":60}]}"#;
        assert_eq!(words(&mut judge, 0, south), "feasible");
        let told = words(&mut judge, 1, &cells[0]);
        let line = if allocations.starts_with(broken) { "mine: line 1" } else { "mine: line 2" };
        assert!(told.contains(line), "{told}");
        assert!(told.contains("cell \"north\" has no allocation that can be read"), "{told}");
        assert!(judge.left(0).unwrap_err().to_string().contains(line));
    }
    // If all lines are valid, only the missing allocation is reported.
    let told = words(&mut judge("urllc", &good), 0, &cells[0]);
    assert_eq!(told, "cell north has no allocation in mine, expected one for each cell");
}
