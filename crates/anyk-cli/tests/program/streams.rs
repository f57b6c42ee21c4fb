//! People's own files, and streams of cells, through the real program.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::common::run;
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn solve(arguments: &[&str], input: &str) -> crate::common::Outcome {
    run(&[&["solve", "urllc", "--input", "-"], arguments].concat(), input)
}

#[test]
fn a_bad_cell_gets_a_line_and_the_rest_goes_on() {
    let input = "{\"users\":[{\"distance_m\":60}]}\n\
                 {\"cell\":\"b\",\"users\":[{\"distance_m\":-5}]}\n\
                 {\"users\":[{\"distance_m\":60}\n\
                 {not json at all\n\
                 {\"cell\":\"last\",\"users\":[{\"distance_m\":90}]}\n";
    let outcome = solve(&["--json"], input);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let answers = lines(&outcome.stdout);
    assert_eq!(answers.len(), 5, "{}", outcome.stdout);
    assert_eq!(answers[0]["status"], "optimal");
    assert_eq!((&answers[1]["cell"], &answers[1]["line"]), (&Value::from("b"), &Value::from(2)));
    assert!(answers[1]["error"].as_str().unwrap().contains("distance_m is -5"), "{}", answers[1]);
    assert_eq!((&answers[2]["line"], &answers[3]["line"]), (&Value::from(3), &Value::from(4)));
    assert!(answers[2]["error"].is_string() && answers[3]["error"].is_string());
    assert_eq!(answers[4]["cell"], "last");
    assert_eq!(answers[4]["status"], "optimal");
    assert!(outcome.stderr.contains("3 of 5 instances were not answered"), "{}", outcome.stderr);
    // The old way: the first ends it, and what came before is there.
    let outcome = solve(&["--json", "--fail-fast"], input);
    assert_eq!(outcome.code, 2);
    assert_eq!(lines(&outcome.stdout).len(), 1, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("cell 2, user 1"), "{}", outcome.stderr);
}

#[test]
fn answers_are_in_order_whatever_the_size_of_the_cells() {
    let mut input = String::new();
    for cell in 0..300 {
        let users: Vec<String> = (0..1 + cell * 7 % 60)
            .map(|user| format!("{{\"distance_m\":{}}}", 50 + (cell + 3 * user) % 200))
            .collect();
        input.push_str(&format!("{{\"cell\":{cell},\"users\":[{}]}}\n", users.join(",")));
    }
    let outcome = solve(&["--json", "--no-check"], &input);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answers = lines(&outcome.stdout);
    assert_eq!(answers.len(), 300);
    for (cell, answer) in answers.iter().enumerate() {
        assert_eq!(answer["cell"], cell);
        assert_eq!(answer["users"].as_array().unwrap().len(), 1 + cell * 7 % 60);
        assert!(answer["users"][0]["packet_loss"].is_null());
    }
}

#[test]
fn a_cell_that_comes_alone_is_answered_at_once() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_anyk"))
        .args(["solve", "urllc", "--json", "--input", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    // Each answer is read before the next cell is sent: this ends only if nothing is held back.
    for cell in 0..3 {
        writeln!(stdin, "{{\"cell\":{cell},\"users\":[{{\"distance_m\":{}}}]}}", 60 + cell)
            .unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["cell"], cell);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_else_is_in_a_file_comes_back() {
    let json = "{\"cell\":\"A1\",\"site\":{\"lat\":52.5},\"users\":[\
                {\"distance_m\":60,\"name\":\"Zoë\",\"tags\":[1,2]},{\"id\":7,\"path_loss_db\":110.5}]}";
    let outcome = solve(&["--json"], json);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = &lines(&outcome.stdout)[0];
    assert_eq!(answer["site"]["lat"], 52.5);
    assert_eq!(answer["users"][0]["id"], "1");
    assert_eq!(answer["users"][0]["name"], "Zoë");
    assert_eq!(answer["users"][0]["tags"][1], 2);
    assert_eq!(answer["users"][1]["id"], "7");
    // An answer is as good an input as any: its own numbers are read past, the rest stays.
    let mut again = answer.clone();
    for user in again["users"].as_array_mut().unwrap() {
        user["distance_m"] = Value::from(60);
    }
    let outcome = solve(&["--json"], &again.to_string());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(lines(&outcome.stdout)[0]["site"]["lat"], 52.5);

    // The same as CSV, in and out: semicolons, comments, quotes, no ids, two cells.
    let csv = "# measured on Tuesday\ncell;\"distance_m\";sector;remark\nn;60;3;\"a; b\"\nn;90;3;\ns;120;4;far\n";
    let outcome = solve(&["--format", "csv"], csv);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(rows[0], "cell,id,power_w,bandwidth_hz,packet_loss,sector,remark,status");
    assert!(rows[1].starts_with("n,1,") && rows[1].ends_with(",3,a; b,optimal"), "{}", rows[1]);
    assert!(rows[3].starts_with("s,3,"), "{}", rows[3]);
    let outcome = solve(&["--json"], "id\tgain_db\tx\na\t-100\t1.5\n");
    assert_eq!(lines(&outcome.stdout)[0]["users"][0]["x"], 1.5, "{}", outcome.stderr);
}

#[test]
fn gains_come_in_four_ways() {
    // 35.3 + 37.6·log10(100) = 110.5 dB; at 20 dBm over 1 MHz the noise is −113 dBm.
    let users = "{\"users\":[{\"distance_m\":100},{\"gain_db\":-110.5},{\"path_loss_db\":110.5},{\"snr_db\":22.5}]}";
    let reference = ["--reference-power-dbm", "20", "--reference-bandwidth-hz", "1e6"];
    let outcome = solve(&[&["--json"][..], &reference].concat(), users);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = &lines(&outcome.stdout)[0];
    let power = |user: usize| answer["users"][user]["power_w"].as_f64().unwrap();
    for user in 1..4 {
        assert!((power(user) / power(0) - 1.0).abs() < 1e-9, "{answer}");
    }
    for (arguments, input, told) in [
        (&[][..], users, "--reference-power-dbm"),
        (&reference[..2], users, "--reference-bandwidth-hz is missing"),
        (&[], "{\"users\":[{\"path_loss_db\":-110}]}", "path_loss_db is -110, expected a positive"),
        (&[], "{\"users\":[{\"gain_db\":-90,\"distance_m\":5}]}", "expected only one of them"),
        (&[], "{\"users\":[{\"name\":\"x\"}]}", "expected one of them"),
    ] {
        let outcome = solve(arguments, input);
        assert_eq!(outcome.code, 2, "{input}");
        assert!(outcome.stderr.contains(told), "{input}: {}", outcome.stderr);
    }
}

#[test]
fn slips_of_the_pen_are_refused() {
    for (input, told) in [
        ("id,distnce_m\na,60\n", "\"distnce_m\" looks like a slip of \"distance_m\""),
        ("id,distance_m,epsilo\na,60,1e-5\n", "slip of \"epsilon\""),
        ("ID,distance_m\na,60\n", "slip of \"id\""),
        ("id,distance_m,x,x\na,60,1,2\n", "\"x\" stands twice"),
        ("id,lat\na,60\n", "expected one of distance_m, gain_db, path_loss_db, snr_db"),
        ("{\"users\":[{\"distance\":60}]}", "slip of \"distance_m\""),
        ("{\"user\":[{\"distance_m\":60}]}", "slip of \"users\""),
        ("{\"users\":[{\"distance_m\":60,\"a\":1,\"a\":2}]}", "duplicate field"),
        ("{\"users\":[{\"distance_m\":60,\"a\":1e999}]}", "out of range"),
        ("{\"cell\":[1],\"users\":[{\"distance_m\":60}]}", "expected a name or a whole number"),
        ("id;distance_m\na;60;3\n", "3 fields, expected 2"),
        ("id,distance_m\r\na,60\r\nb,-1\r\n", "line 3 (user \"b\")"),
        ("# one\nid,distance_m\n\n# four\na,60\n# six\nb,-1\n", "line 7 (user \"b\")"),
    ] {
        let outcome = solve(&[], input);
        assert_eq!(outcome.code, 2, "{input}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{input}: {}", outcome.stderr);
    }
}

#[test]
fn answers_go_to_a_file_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("answers.jsonl");
    let path = out.display().to_string();
    let good = "{\"users\":[{\"distance_m\":60}]}\n";
    let outcome = solve(&["--json", "--out", &path], good);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""));
    let first = fs::read_to_string(&out).unwrap();
    assert_eq!(lines(&first).len(), 1);
    // It is ours, and may be written again; ended early, it stays as it was.
    let outcome = solve(&["--json", "--fail-fast", "--out", &path], &format!("{good}nonsense\n"));
    assert_eq!(outcome.code, 2);
    assert_eq!(fs::read_to_string(&out).unwrap(), first);
    let outcome = solve(&["--json", "--out", &path], &format!("{good}{good}"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(lines(&fs::read_to_string(&out).unwrap()).len(), 2);
    // What somebody else wrote is not touched.
    fs::write(&out, "my thesis").unwrap();
    let outcome = solve(&["--json", "--out", &path], good);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--force"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&out).unwrap(), "my thesis");
}
