//! Tests of input files and of streams of cells.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::common::{Outcome, run};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn solve(arguments: &[&str], input: &str) -> Outcome {
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
    // With --fail-fast, the first error ends the run, and earlier answers are printed.
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

/// In a table with several cells, a bad row only affects its cell, wherever the rows of that cell are.
#[test]
fn a_bad_row_refuses_its_cell_alone() {
    let table = "cell,id,distance_m,note\nn,a,60,x\ns,b,-5,y\ns,c,70,z\nn,d,90,w\ne,f,90\nw,h,80,v\nw,h,81,u\n7,i,80,t\n";
    let outcome = solve(&["--json"], table);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let answers = lines(&outcome.stdout);
    let cells: Vec<&Value> = answers.iter().map(|answer| &answer["cell"]).collect();
    let names = ["n", "s", "e", "w"].map(Value::from);
    assert_eq!(cells[..4], names.iter().collect::<Vec<_>>(), "{}", outcome.stdout);
    assert_eq!(cells[4], 7);
    let users: Vec<&Value> =
        answers[0]["users"].as_array().unwrap().iter().map(|user| &user["id"]).collect();
    assert_eq!(users, ["a", "d"]);
    assert_eq!(answers[4]["status"], "optimal");
    for (at, line, told) in [
        (1, 3, "distance_m is -5"),
        (2, 6, "3 fields, expected 4"),
        (3, 7, "which line 7 already has"),
    ] {
        assert_eq!(answers[at]["line"], line, "{}", answers[at]);
        assert!(answers[at]["error"].as_str().unwrap().contains(told), "{}", answers[at]);
    }
    assert!(outcome.stderr.contains("3 of 5 instances were not answered"), "{}", outcome.stderr);
    // In CSV, rows keep their order, and the status contains the error.
    let outcome = solve(&["--format", "csv"], table);
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    let starts = ["cell,id,", "n,a,", "n,d,", "s,,,,,,\"error: ", "e,,", "w,,", "7,i,"];
    assert_eq!(rows.len(), starts.len(), "{}", outcome.stdout);
    for (row, start) in rows.iter().zip(starts) {
        assert!(row.starts_with(start), "{row}");
    }
    // With --fail-fast, the first error ends the run.
    let outcome = solve(&["--json", "--fail-fast"], table);
    assert_eq!((outcome.code, outcome.stdout.lines().count()), (2, 1), "{}", outcome.stdout);
    // If a row has no name of a cell, no cell is answered, since the row may belong to any of them.
    let outcome = solve(&["--json"], "distance_m,cell\n60,n\n70\n");
    assert_eq!(
        (outcome.code, outcome.stdout.contains("optimal")),
        (2, false),
        "{}",
        outcome.stdout
    );
}

/// Rows of dropped users keep their positions and their other fields. The table has all columns even if it starts with
/// a cell in which no user can be served, or with a rejected cell.
#[test]
fn infeasible_cells_keep_their_rows() {
    let users = "cell,id,distance_m,sector\nz,a,250,1\nz,b,60,2\nz,c,250,3\ny,d,60,4\n";
    let outcome = solve(&["--format", "csv", "--max-power-dbm", "11"], users);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let rows: Vec<Vec<&str>> =
        outcome.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0].join(","), "cell,id,power_w,bandwidth_hz,packet_loss,sector,status");
    let part = |row: &Vec<&str>| [row[0], row[1], row[5], row[6]].join(" ");
    let parts: Vec<String> = rows[1..].iter().map(part).collect();
    assert_eq!(
        parts,
        ["z a 1 infeasible", "z b 2 infeasible", "z c 3 infeasible", "y d 4 optimal"]
    );
    assert_eq!(rows[1..4].iter().filter(|row| row[2].is_empty()).count(), 1, "{rows:?}");
    // A rejected cell, one without served users, and one with a served user.
    let users = "{\"users\":[{\"distance_m\":-1}]}\n{\"users\":[{\"gain_db\":-200,\"sector\":5}]}\n{\"users\":[{\"distance_m\":60,\"sector\":6}]}\n";
    let outcome = solve(&["--format", "csv"], users);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(rows[0], "cell,id,power_w,bandwidth_hz,packet_loss,sector,status");
    assert!(
        rows[1].starts_with("1,,,,,,\"error: ") && rows[2] == "2,1,,,,5,infeasible",
        "{rows:?}"
    );
    assert!(rows[3].starts_with("3,1,19.95") && rows[3].ends_with(",6,optimal"), "{rows:?}");
    // Only a rejected cell.
    let outcome = solve(&["--format", "csv"], "{\"cell\":\"q\"}");
    assert!(outcome.stdout.starts_with("cell,status\nq,\"error: "), "{}", outcome.stdout);
}

/// Fields of the input with the name of an output field get another name in the answer.
#[test]
fn nothing_of_a_file_is_lost_to_a_name() {
    let csv = "distance_m,power_w,status,packet_loss,input_status\n60,5,on,,x\n";
    let outcome = solve(&["--format", "csv"], csv);
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    let columns = "input_power_w,input_input_status,input_packet_loss,input_status,status";
    assert!(rows[0].ends_with(columns), "{}", rows[0]);
    assert!(rows[1].ends_with(",5,on,,x,optimal"), "{}", rows[1]);
    let json = "{\"cell\":\"A\",\"status\":\"old\",\"value\":1,\"objective\":2,\"users\":[{\"id\":\"a\",\"distance_m\":60,\"bandwidth_hz\":7}]}";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("cells"), json).unwrap();
    let solved = run(&["solve", "urllc", "--json", "--input", &path("cells")], "");
    let answer = &lines(&solved.stdout)[0];
    assert_eq!((&answer["input_status"], &answer["status"]), (&"old".into(), &"optimal".into()));
    assert_eq!((&answer["value"], &answer["input_objective"]), (&1.into(), &2.into()));
    assert_eq!(answer["users"][0]["input_bandwidth_hz"], 7);
    fs::write(path("answers"), solved.stdout).unwrap();
    let judged = run(
        &[
            "assess",
            "urllc",
            "--json",
            "--input",
            &path("cells"),
            "--allocations",
            &path("answers"),
        ],
        "",
    );
    let verdict = &lines(&judged.stdout)[0];
    assert_eq!(
        (&verdict["input_value"], &verdict["input_status"]),
        (&1.into(), &"old".into()),
        "{verdict}"
    );
    assert_eq!(judged.stdout.matches("\"value\":").count(), 1, "{}", judged.stdout);
}

/// The field `cell` of a user is not the name of the cell.
#[test]
fn a_cell_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let of = |cell: &str, metres: u32| {
        format!(
            "{{\"cell\":{cell:?},\"users\":[{{\"id\":\"a\",\"distance_m\":{metres},\"cell\":\"south\"}},\
             {{\"id\":\"b\",\"distance_m\":250,\"cell\":\"south\"}}]}}\n"
        )
    };
    let cells = of("#north", 60) + &of("south", 90);
    let outcome = solve(&["--format", "csv"], &cells);
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(rows[0], "cell,id,power_w,bandwidth_hz,packet_loss,input_cell,status");
    for (row, start) in rows[1..].iter().zip(["\"#north\",a,", "\"#north\",b,", "south,a,"]) {
        assert!(row.starts_with(start) && row.ends_with(",south,optimal"), "{row}");
    }
    // The same holds for dropped users.
    let short = solve(&["--format", "csv", "--max-power-dbm", "10"], &cells);
    assert!(short.stdout.contains("\n\"#north\",b,,,,south,infeasible\n"), "{}", short.stdout);
    let solved = solve(&["--json"], &cells);
    assert_eq!(lines(&solved.stdout)[0]["users"][1]["input_cell"], "south");
    // `assess` matches each cell with its own allocation in both formats, and accepts answers as input.
    fs::write(path("cells"), &cells).unwrap();
    for answers in [&outcome.stdout, &solved.stdout] {
        fs::write(path("answers"), answers).unwrap();
        let (cells, answers) = (path("cells"), path("answers"));
        let files = ["--input", &cells, "--allocations", &answers];
        let judged = run(&[&["assess", "urllc", "--json"], &files[..]].concat(), "");
        assert_eq!(judged.code, 0, "{}", judged.stderr);
        assert_eq!(
            judged.stdout.matches("\"status\":\"feasible\"").count(),
            2,
            "{}",
            judged.stdout
        );
    }
    let again = outcome.stdout.replace(",status", ",distance_m").replace("optimal", "60");
    let again = solve(&["--json"], &again);
    let again = lines(&again.stdout);
    assert_eq!((&again[0]["cell"], &again[1]["cell"]), (&"#north".into(), &"south".into()));
    assert_eq!(again[0]["users"][0]["input_cell"], "south");
}

/// Names of cells have the same limits as names of users, since messages and tables repeat them.
#[test]
fn names_of_cells_are_short_and_in_one_line() {
    let with = |name: &str| format!("{{\"cell\":{name:?},\"users\":[{{\"distance_m\":60}}]}}\n");
    let network = |name: &str| format!("{{\"cell\":{name:?},\"gains\":[[1]]}}\n");
    let told = "expected at most 200 printable characters";
    let (most, long) = ("é".repeat(200), "é".repeat(201));
    assert_eq!(solve(&[], &with(&most)).code, 0);
    for (name, shown) in [(&*long, "ééé…"), ("a\nerror: fake", "cell is \"a\\nerror: fake\"")]
    {
        for (problem, input) in [("urllc", with(name)), ("interference", network(name))] {
            let outcome = run(&["solve", problem, "--input", "-"], input);
            assert_eq!(outcome.code, 2, "{}", outcome.stdout);
            let Outcome { stdout, stderr, .. } = &outcome;
            assert!(stderr.contains(told) && stderr.contains(shown), "{stderr}");
            assert!(!format!("{stdout}{stderr}").contains("\nerror: fake"), "{stdout}{stderr}");
        }
        // The JSON line of an error does not repeat the whole name either.
        let endless = "é".repeat(10_000);
        for cells in [with(&endless), format!("cell,distance_m\n{endless},60\n")] {
            let outcome = solve(&["--json"], &cells);
            assert!(outcome.stdout.len() < 1000, "{}", outcome.stdout);
            assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
        }
    }
    // The other cells of a table are answered.
    let table = format!("cell,distance_m\n{long},60\n{most},60\n\"a\nb\",60\n{long},70\n,60\n");
    let outcome = solve(&["--json"], &table);
    let answers = lines(&outcome.stdout);
    assert_eq!(answers.len(), 4, "{}", outcome.stdout);
    for (answer, line) in [(&answers[0], 2), (&answers[2], 4)] {
        assert_eq!(answer["line"], line);
        assert!(answer["error"].as_str().unwrap().contains(told), "{answer}");
    }
    assert_eq!(
        (&answers[1]["status"], &answers[3]["status"]),
        (&"optimal".into(), &"optimal".into())
    );
}

/// Headings name the cell of each table, even if other cells fail.
#[test]
fn tables_have_headings_where_there_are_several() {
    let (good, bad) =
        ("{\"users\":[{\"distance_m\":60}]}\n", "{\"users\":[{\"distance_m\":-1}]}\n");
    let named = good.replacen('{', "{\"cell\":\"A\",", 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cells").display().to_string();
    for (input, headings) in [
        (good.to_owned(), vec![]),
        (named.clone(), vec!["cell A"]),
        (good.repeat(2), vec!["cell 1", "cell 2"]),
        (format!("{good}{bad}"), vec!["cell 1"]),
        (format!("{bad}{good}"), vec!["cell 2"]),
        (format!("{good}{named}"), vec!["cell 1", "cell A"]),
    ] {
        fs::write(&path, &input).unwrap();
        let outcome = run(&["solve", "urllc", "--input", &path], "");
        let found: Vec<&str> =
            outcome.stdout.lines().filter(|line| line.starts_with("cell ")).collect();
        assert_eq!(found, headings, "{input}");
        assert!(!outcome.stdout.starts_with('\n'), "{input}");
    }
}

/// Every output format prints each answer at once, even the first.
#[test]
fn a_cell_that_comes_alone_is_answered_at_once() {
    for (format, last) in [("json", "}"), ("csv", "optimal"), ("table", "Hz/W here")] {
        answered_at_once(format, last);
    }
}

/// Checks this for a format; `last` is the end of the last line of an answer.
fn answered_at_once(format: &str, last: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_anyk"))
        .args(["solve", "urllc", "--format", format, "--input", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    // Each answer is read before the next cell is sent, so the test ends only if no answer is held back.
    for cell in 0..3 {
        let name = if format == "json" { format!("\"cell\":{cell},") } else { String::new() };
        writeln!(stdin, "{{{name}\"users\":[{{\"distance_m\":{}}}]}}", 60 + cell).unwrap();
        let mut line = String::new();
        while !line.trim_end().ends_with(last) {
            line.clear();
            assert!(answers.read_line(&mut line).unwrap() > 0, "{format}");
        }
        if format == "json" {
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(answer["cell"], cell);
        }
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
    // The answer is one line, even if the input has line breaks.
    let spread =
        solve(&["--json"], &json.replace("52.5", "\n52.5\r\n").replace("[1,2]", "[1,\n2]"));
    assert_eq!(lines(&spread.stdout)[0], *answer, "{}", spread.stdout);
    // An answer is valid input; its output fields are copied as input fields.
    let mut again = answer.clone();
    for user in again["users"].as_array_mut().unwrap() {
        user["distance_m"] = Value::from(60);
    }
    let outcome = solve(&["--json"], &again.to_string());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let twice = &lines(&outcome.stdout)[0];
    assert_eq!(twice["site"]["lat"], 52.5);
    assert_eq!(twice["users"][0]["input_power_w"], answer["users"][0]["power_w"]);

    // CSV as input and output, with semicolons, comments, quotes, missing ids and two cells.
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
fn gains_come_in_five_ways() {
    // 35.3 + 37.6·log10(100) = 110.5 dB; at 20 dBm over 1 MHz the noise is −113 dBm,
    // and the received power −90.5 dBm.
    let users = "{\"users\":[{\"distance_m\":100},{\"gain_db\":-110.5},{\"path_loss_db\":110.5},{\"snr_db\":22.5},{\"rsrp_dbm\":-90.5}]}";
    let reference = ["--reference-power-dbm", "20", "--reference-bandwidth-hz", "1e6"];
    let outcome = solve(&[&["--json"][..], &reference].concat(), users);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = &lines(&outcome.stdout)[0];
    let power = |user: usize| answer["users"][user]["power_w"].as_f64().unwrap();
    for user in 1..5 {
        assert!((power(user) / power(0) - 1.0).abs() < 1e-9, "{answer}");
    }
    for (arguments, input, told) in [
        (&[][..], users, "`reference_power_dbm`"),
        (&reference[..2], users, "reference_bandwidth_hz is missing, expected a bandwidth in Hz"),
        (&[], "{\"users\":[{\"rsrp_dbm\":-90}]}", "or `reference_power_dbm`, the transmit power"),
        (
            &reference[..2],
            "{\"users\":[{\"rsrp_dbm\":21}]}",
            "rsrp_dbm is 21, expected a power below",
        ),
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
fn users_name_their_service_class() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.csv");
    let file = path.to_str().unwrap();
    let with = |classes: &str, users: &str| {
        std::fs::write(&path, classes).unwrap();
        solve(&["--json", "--classes", file], users)
    };
    let classes = "class;packet_bits;epsilon\nrobot;256;1e-6\n# a comment\n2;1600;1e-4\n";
    let named =
        with(classes, "id,distance_m,class,packet_bits\na,60,robot,\nb,100,2,\nc,80,2,800\n");
    assert_eq!(named.code, 0, "{}", named.stderr);
    let spelled = solve(
        &["--json"],
        "id,distance_m,epsilon,packet_bits\na,60,1e-6,256\nb,100,1e-4,1600\nc,80,1e-4,800\n",
    );
    let unnamed = named.stdout.replace(r#","class":"robot""#, "").replace(r#","class":2"#, "");
    assert_eq!(unnamed, spelled.stdout);
    let without = solve(&["--json"], "id,distance_m,class\na,60,robot\n");
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("class is \"robot\", expected a table"), "{}", without.stderr);
    for (classes, user, told) in [
        (classes, r#""class":"robots""#, "class is robots, expected one of 2, robot from"),
        (classes, r#""class":"robots""#, "did you mean robot?"),
        (classes, r#""name":"x""#, "user 1: class is missing, expected one of 2, robot"),
        ("class,epsilon\na,1e-6\na,1e-5\n", "", "classes.csv: line 3: the class a appears twice"),
        ("class,epsilom\na,1\n", "", "\"epsilom\" is unknown, expected class, epsilon"),
        ("class,epsilom\na,1\n", "", "did you mean epsilon?"),
        ("class,epsilon\na,\n", "", "classes.csv: line 2: epsilon is missing"),
        ("class,epsilon\na,2\n", "", "classes.csv: line 2: epsilon is 2, expected a probability"),
        ("class,epsilon\na,x\n", "", "classes.csv: line 2: epsilon is x, expected a number"),
        ("class,epsilon\na\n", "", "classes.csv: line 2: 1 fields, expected 2"),
        ("class,epsilon\n", "", "classes.csv: there are no classes"),
        ("epsilon\n1e-5\n", "", "there is no column \"class\""),
    ] {
        let outcome = with(
            classes,
            &format!(
                r#"{{"users":[{{"distance_m":60{}{user}}}]}}"#,
                if user.is_empty() { "" } else { "," }
            ),
        );
        assert_eq!(outcome.code, 2, "{classes} {user}");
        assert!(outcome.stderr.contains(told), "{told}: {}", outcome.stderr);
    }
}

#[test]
fn slips_of_the_pen_are_refused() {
    for (input, told) in [
        ("id,distnce_m\na,60\n", "\"distnce_m\" looks like a typo of \"distance_m\""),
        ("id,distance_m,epsilo\na,60,1e-5\n", "typo of \"epsilon\""),
        ("ID,distance_m\na,60\n", "typo of \"id\""),
        ("id,distance_m,x,x\na,60,1,2\n", "\"x\" appears twice"),
        ("id,lat\na,60\n", "expected one of distance_m, gain_db, path_loss_db, snr_db"),
        ("{\"users\":[{\"distance\":60}]}", "typo of \"distance_m\""),
        ("{\"user\":[{\"distance_m\":60}]}", "typo of \"users\""),
        ("{\"users\":[{\"distance_m\":60,\"a\":1,\"a\":2}]}", "duplicate field"),
        ("{\"users\":[{\"distance_m\":60,\"a\":1e999}]}", "out of range"),
        ("{\"cell\":[1],\"users\":[{\"distance_m\":60}]}", "expected a name or a whole number"),
        ("id;distance_m\na;60;3\n", "3 fields, expected 2"),
        (
            "id;distance_m\na;60,5\n",
            "distance_m is 60,5, expected a number of metres (use a decimal point",
        ),
        ("id;distance_m;epsilon\na;60;0,5\n", "(use a decimal point"),
        ("id,distance_m\r\na,60\r\nb,-1\r\n", "line 3 (user \"b\")"),
        ("# one\nid,distance_m\n\n# four\na,60\n# six\nb,-1\n", "line 7 (user \"b\")"),
    ] {
        let outcome = solve(&[], input);
        assert_eq!(outcome.code, 2, "{input}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{input}: {}", outcome.stderr);
    }
}

/// The number of unknown keys is limited like that of columns, at every level, and duplicate keys are found.
#[test]
fn an_object_has_at_most_a_thousand_unknown_keys() {
    let keys = |count: usize| (0..count).map(|i| format!(",\"k{i}\":1")).collect::<String>();
    // Keys of a user, of a cell and of a network: the text before and after the keys.
    for (problem, before, after) in [
        ("urllc", "{\"users\":[{\"distance_m\":60", "}]}"),
        ("urllc", "{\"users\":[{\"distance_m\":60}]", "}"),
        ("urllc", "{\"cell\":\"A\",\"users\":[{\"distance_m\":60}]", "}"),
        ("interference", "{\"gains\":[[1]]", "}"),
    ] {
        let form = |keys: &str| format!("{before}{keys}{after}");
        let args = ["solve", problem, "--json", "--input", "-"];
        let outcome = crate::common::run(&args, form(&keys(1000)));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(
            outcome.stdout.matches("\"k").count() - outcome.stdout.matches("\"kkt").count(),
            1000
        );
        for count in [1001, 40_000, 1_000_000] {
            let outcome = crate::common::run(&args, form(&keys(count)));
            assert_eq!(outcome.code, 2, "{count}");
            let told = "an object has more than 1000 unknown keys";
            assert!(outcome.stderr.contains(told), "{count}: {}", outcome.stderr);
        }
        let twice = keys(1000).replace("\"k999\"", "\"k0\"");
        let outcome = crate::common::run(&args, form(&twice));
        assert!(outcome.stderr.contains("duplicate field `k0`"), "{}", outcome.stderr);
    }
    // Each key becomes a column, also if only one user has it.
    let users = |count: usize| {
        let keys = |user: usize| keys(1000).replace("\"k", &format!("\"u{user}_"));
        let user = |user: usize| format!("{{\"distance_m\":60{}}}", keys(user));
        format!("{{\"users\":[{}]}}", (0..count).map(user).collect::<Vec<_>>().join(","))
    };
    let outcome = solve(&["--format", "csv"], &users(1));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let header = outcome.stdout.lines().next().unwrap();
    assert_eq!(header.split(',').filter(|name| name.starts_with('u')).count(), 1000);
    let outcome = solve(&["--format", "csv"], &users(40));
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    let told = "the number of CSV columns is 40006, expected at most 2000; use --json";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert_eq!(solve(&["--json"], &users(40)).code, 0);
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
    // A run that ends early leaves the output file unchanged.
    let force = ["--json", "--force", "--out", &path];
    let outcome = solve(&[&force[..], &["--fail-fast"]].concat(), &format!("{good}nonsense\n"));
    assert_eq!(outcome.code, 2);
    assert_eq!(fs::read_to_string(&out).unwrap(), first);
    let outcome = solve(&force, &format!("{good}{good}"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(lines(&fs::read_to_string(&out).unwrap()).len(), 2);
}

/// Runs a command in the root of the repository, with this build of the program in the path.
#[cfg(unix)]
fn client(command: &mut Command) -> Outcome {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_anyk"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(program.parent().unwrap().to_owned());
    let folders = folders.chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = command.current_dir(root).output().unwrap();
    crate::common::outcome(&output)
}

#[cfg(unix)]
#[test]
fn a_client_in_python_gets_an_answer_for_each_line() {
    let outcome =
        client(Command::new("python3").args(["examples/service/client.py", "solve", "urllc"]));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("; first answer "), "{}", outcome.stdout);
}

/// Skipped if there is no C compiler.
#[cfg(unix)]
#[test]
fn a_client_in_c_gets_the_answers_of_a_file() {
    if Command::new("cc").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("client");
    let strict = ["-Wall", "-Wextra", "-Werror", "examples/service/client.c", "-o"];
    let outcome = client(Command::new("cc").args(strict).arg(&program));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answers = client(Command::new(&program).args(["solve", "urllc"]));
    assert_eq!(answers.code, 0, "{}", answers.stderr);
    // A service is prepared by a random cell, and a file is not; the answers are the same bit by bit.
    let cells = folder.path().join("cells.jsonl");
    let cell = |cell: usize| {
        let near = 60 + 10 * cell;
        format!(r#"{{"cell":{cell},"users":[{{"distance_m":{near}}},{{"distance_m":200}}]}}"#)
    };
    fs::write(&cells, (0..3).map(cell).collect::<Vec<_>>().join("\n")).unwrap();
    let file = run(&["solve", "urllc", "--json", "--input", cells.to_str().unwrap()], "");
    assert_eq!(answers.stdout, file.stdout);
}
