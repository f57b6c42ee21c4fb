//! Tests of `assess` and `evaluate` with external policies and allocations.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use crate::common::{run, shell};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}

/// `assess` finds that the answers of `solve` are feasible and optimal.
#[test]
fn the_solvers_own_answers_are_optimal_to_the_judge() {
    let folder = tempfile::tempdir().unwrap();
    for (problem, options) in [
        ("urllc", ""),
        ("urllc-power", "--max-bandwidth-hz 3e6"),
        ("qos-power", ""),
        ("equal-bandwidth", ""),
        ("interference", ""),
        ("link-scheduling", ""),
        ("separable", "--cost log1p"),
        ("separable", "--cost delay --max-power-dbm 10"),
    ] {
        let line = format!(
            "set -e; $ANYK sample {problem} --k 5 --count 3 > cells; \
             $ANYK solve {problem} {options} --json --input cells > answers; \
             $ANYK assess {problem} {options} --json --input cells --allocations answers; \
             $ANYK solve {problem} {options} --format csv --input cells --out answers.csv --force; \
             $ANYK assess {problem} {options} --json --input cells --allocations answers.csv"
        );
        let outcome = shell(&line, folder.path());
        assert_eq!(outcome.code, 0, "{problem}: {}", outcome.stderr);
        let line = format!(
            "$ANYK assess {problem} {options} --format csv --input cells --allocations answers"
        );
        let table = shell(&line, folder.path()).stdout;
        assert!(table.starts_with("cell,status,k,") && table.lines().count() == 4, "{table}");
        let verdicts = lines(&outcome.stdout);
        // Three cells and their summary, twice.
        assert_eq!(verdicts.len(), 8, "{problem}");
        assert_eq!(verdicts[3]["summary"][0]["instances"], 3, "{problem}");
        for verdict in verdicts.iter().filter(|line| line["summary"].is_null()) {
            assert_eq!(verdict["status"], "feasible", "{problem}: {verdict}");
            assert!(verdict["gap_percent"].as_f64().unwrap().abs() < 1e-6, "{problem}: {verdict}");
            assert!(verdict["budget_used"].as_f64().is_none_or(|used| used < 1.0 + 1e-8));
        }
    }
}

/// With weights, the objective is the weighted sum rate, both in `solve` and in `assess`.
#[test]
fn weights_count_for_the_judge_too() {
    let folder = tempfile::tempdir().unwrap();
    let line = "set -e; $ANYK sample interference --k 5 --count 2 --random-weights log-uniform > w; \
                $ANYK solve interference --json --input w > answers; \
                $ANYK assess interference --json --input w --allocations answers; \
                $ANYK evaluate wmmse --problem interference --k 4 --samples 3 --random-weights exponential --json";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let lines = lines(&outcome.stdout);
    for verdict in &lines[..2] {
        assert_eq!(verdict["objective"]["name"], "weighted sum rate");
        assert!(verdict["gap_percent"].as_f64().unwrap().abs() < 1e-9, "{verdict}");
    }
    assert!(lines[3]["rows"][0]["gap_percent"].as_f64().unwrap().abs() < 1e-9, "{}", lines[3]);
    // Rows in the wrong order, and a power that is not valid in a schedule.
    fs::write(folder.path().join("g"), "[[1,0.1],[0.2,1]]").unwrap();
    fs::write(folder.path().join("p.csv"), "link,power\n1,1\n0,0\n").unwrap();
    fs::write(folder.path().join("p.json"), "{\"power\":[1,0.5]}").unwrap();
    for (line, told) in [
        ("$ANYK assess interference --input g --allocations p.csv", "link is 1, expected 0"),
        ("$ANYK assess link-scheduling --input g --allocations p.json", "expected a schedule"),
    ] {
        let outcome = shell(line, folder.path());
        assert_eq!(outcome.code, 2, "{}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    }
}

#[test]
fn who_is_not_served_is_told_and_by_how_much() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let cells = path(
        "cells.jsonl",
        "{\"cell\":\"north\",\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":200}]}\n\
         {\"cell\":\"south\",\"users\":[{\"id\":\"c\",\"distance_m\":90}]}\n\
         {\"cell\":\"east\",\"users\":[{\"id\":\"d\",\"distance_m\":90}]}\n",
    );
    // Cells and users are matched by name in any order. One cell exceeds the budget, one is missing.
    let mine = path(
        "mine.csv",
        "cell;id;power_w;bandwidth_hz;note\n\
         south;c;30;300000;too much\n\
         north;b;10;100000;too little\n\
         north;a;5;300000;plenty\n",
    );
    let arguments =
        ["assess", "urllc", "--json", "--input", cells.as_str(), "--allocations", mine.as_str()];
    let outcome = run(&arguments, "");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let verdicts = lines(&outcome.stdout);
    assert_eq!(verdicts[0]["cell"], "north");
    assert_eq!(verdicts[0]["status"], "misses");
    assert_eq!(verdicts[0]["availability"], 0.5);
    assert_eq!(verdicts[0]["missed"][0]["id"], "b");
    assert!(verdicts[0]["missed"][0]["value"].as_f64().unwrap() > 1e-5);
    assert_eq!(verdicts[1]["status"], "over-budget");
    assert!(verdicts[2]["error"].as_str().unwrap().contains("no allocation"), "{}", verdicts[2]);
    // The text output contains the same words.
    let outcome =
        run(&arguments[..2].iter().chain(&arguments[3..]).copied().collect::<Vec<_>>(), "");
    for word in ["cell north", "user b: packet loss", "over-budget", "factor of"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
}

/// Names of cells match by their value, regardless of how JSON writes it.
#[test]
fn cells_are_matched_by_what_their_names_read() {
    let folder = tempfile::tempdir().unwrap();
    let user =
        "\"users\":[{\"id\":\"a\",\"distance_m\":60,\"power_w\":19,\"bandwidth_hz\":150000}]";
    let write = |name: &str, names: [&str; 2]| {
        let text = names.map(|cell| format!("{{\"cell\":{cell},{user}}}\n")).concat();
        fs::write(folder.path().join(name), text).unwrap();
    };
    write("cells", [r#""caf\u00e9 \"9\"""#, "7"]);
    write("mine", ["7", r#""café \"9\"""#]);
    let outcome = shell("$ANYK assess urllc --input cells --allocations mine", folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("cell café \"9\"\n"), "{}", outcome.stdout);
}

#[test]
fn allocations_that_cannot_be_judged_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let cells = folder.path().join("cells.json");
    fs::write(
        &cells,
        "{\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":200}]}",
    )
    .unwrap();
    let mine = folder.path().join("mine");
    for (text, told) in [
        (
            "{\"users\":[{\"id\":\"a\",\"power_w\":1,\"bandwidth_hz\":1}]}",
            "invalid allocation: amounts for 1 user, expected 2: one",
        ),
        (
            "{\"users\":[{\"id\":\"a\",\"power_w\":1,\"bandwidth_hz\":1},{\"id\":\"x\",\"power_w\":1,\"bandwidth_hz\":1}]}",
            "the user \"b\" has no allocation",
        ),
        (
            "{\"users\":[{\"id\":\"a\",\"power_w\":-1,\"bandwidth_hz\":1},{\"id\":\"b\",\"power_w\":1,\"bandwidth_hz\":1}]}",
            "power_w of user \"a\" is -1",
        ),
        ("{\"users\":[{\"power_w\":1},{\"power_w\":1}]}", "has no bandwidth_hz"),
        ("{\"users\":[{\"power_w\":NaN}]}", "JSON has no NaN"),
        ("{\"power\":[1,0]}", "there is no allocation in {\"power\":[1,0]}, expected JSON"),
        ("id,power\na,1\nb,1\n", "\"power\" to power_w; names include"),
        (
            "user,power,bandwidth\na,1,2e5\nb,1,2e5\n",
            "\"bandwidth\" to bandwidth_hz; names include",
        ),
        (
            "id;power_w;bandwidth_hz\na;0,5;2e5\nb;1;2e5\n",
            "power_w is 0,5, expected a number (use a decimal point",
        ),
        ("{}", "there is no allocation in {}"),
        ("a,b\n1,2\n", "the columns are a,b"),
        ("id,power_w,bandwidth_hz\na,inf,1\n", "power_w is inf"),
        ("", "the columns are ,"),
    ] {
        fs::write(&mine, text).unwrap();
        let (cells, mine) = (cells.display().to_string(), mine.display().to_string());
        let outcome = run(&["assess", "urllc", "--input", &cells, "--allocations", &mine], "");
        assert_eq!(outcome.code, 2, "{text}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(told), "{text}: {}", outcome.stderr);
    }
}

/// The policies in examples/policies perform as they claim.
#[test]
fn programs_are_policies() {
    let line = "$ANYK evaluate --problem urllc --k 1,5,40 --samples 20 --json \
                'cmd:python3 examples/policies/equal_power.py' \
                'cmd:sh examples/policies/same_for_all.sh'";
    let outcome = shell(line, root());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report = json(&outcome.stdout);
    let rows = report["rows"].as_array().unwrap();
    // Two programs, the best policy and the baseline.
    assert_eq!(rows.len(), 4 * 3);
    let row = |policy: &str, k: u64| {
        let fits = |row: &&Value| {
            row["policy"].as_str().unwrap().contains(policy) && row["k"].as_u64() == Some(k)
        };
        rows.iter().find(fits).unwrap_or_else(|| panic!("{policy} {k}"))
    };
    for k in [1, 5, 40] {
        assert!(row("optimum", k)["gap_percent"].as_f64().unwrap().abs() < 1e-9);
        let (python, ours) = (row("equal_power.py", k), row("equal-power", k));
        assert_eq!(python["availability"], 1.0, "{python}");
        let apart = python["gap_percent"].as_f64().unwrap() - ours["gap_percent"].as_f64().unwrap();
        assert!((0.0..1.0).contains(&apart), "K = {k}: {apart}");
        assert!(python["reorder_change"].as_f64().unwrap() < 1e-9);
        assert_eq!(python["failed"], 0);
    }
    let shell = row("same_for_all.sh", 40);
    assert!(
        shell["availability"].as_f64().unwrap() < 1.0
            || shell["gap_percent"].as_f64().unwrap() > 20.0
    );
    assert_eq!(report["size_laws"].as_array().unwrap().len(), 2);
}

/// If a program fails for some cells, these are reported and the others are evaluated.
#[test]
fn a_program_that_fails_is_told_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"
import json, sys, time
mode, count = sys.argv[1], 0
for line in sys.stdin:
    users = json.loads(line)["users"]
    count += 1
    answer = [{"id": u["id"], "power_w": 1.0, "bandwidth_hz": 5e5} for u in users]
    if mode == "order":
        for place, user in enumerate(answer):
            user["power_w"] = 1.0 + place
    if count % 3 == 0 or mode in ("never", "order"):
        if mode == "crash":
            sys.stderr.write("my matrix is singular\n")
            sys.exit(7)
        if mode == "slow":
            time.sleep(60)
        if mode == "never":
            time.sleep(60)
        if mode == "count":
            answer = answer[1:]
        if mode == "nan":
            answer[0]["power_w"] = float("nan")
        if mode == "words":
            print("I do not know", flush=True)
            continue
        if mode == "huge":
            answer[0]["power_w"] = 1e308
    print(json.dumps({"users": answer}), flush=True)
    if mode == "twice":
        print(json.dumps({"users": answer}), flush=True)
"#;
    fs::write(folder.path().join("policy.py"), policy).unwrap();
    let told = [
        ("crash", "my matrix is singular"),
        ("slow", "no answer within 1 s"),
        ("count", "for 2 users, expected 3"),
        ("nan", "NaN"),
        ("words", "I do not know"),
        ("twice", "received an extra line"),
        ("huge", "is 1e308, expected a number from 0 to 1e15"),
    ];
    for (mode, told) in told {
        // A busy machine may take seconds to start a program.
        let timeout = if mode == "slow" { 1 } else { 30 };
        let line = format!(
            "$ANYK evaluate --problem urllc --k 3 --samples 6 --timeout {timeout} --json \
             'cmd:python3 policy.py {mode}'"
        );
        let outcome = shell(&line, folder.path());
        assert_eq!(outcome.code, 0, "{mode}: {}", outcome.stderr);
        let report = json(&outcome.stdout);
        let row = &report["rows"][0];
        let failed = row["failed"].as_u64().unwrap();
        // If a program always prints too many lines, all its answers are discarded.
        assert!(if mode == "twice" { failed == 6 } else { (1..=5).contains(&failed) }, "{row}");
        assert!(mode == "twice" || row["value"].as_f64().unwrap() > 1e6, "{mode}: {row}");
        assert!(row["availability"].as_f64().unwrap() < 1.0, "{mode}: {row}");
        let failures = report["failures"].to_string();
        assert!(
            failures.contains(told) && failures.contains("\"instance\":"),
            "{mode}: {failures}"
        );
    }
    // If a program never answers or does not exist, every cell is reported.
    for (command, told) in
        [("python3 policy.py never", "no answer within 0.3 s"), ("./no-such-program", "ended")]
    {
        let line = format!(
            "$ANYK evaluate --problem urllc --k 2 --samples 3 --timeout 0.3 'cmd:{command}'"
        );
        let outcome = shell(&line, folder.path());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("NaN"));
    }
    // A policy that depends on the position of a user is not equivariant.
    let line = "$ANYK evaluate --problem urllc --k 4 --samples 3 'cmd:python3 policy.py order'";
    let outcome = shell(line, folder.path());
    assert!(outcome.stdout.contains("NOT equivariant"), "{}", outcome.stdout);
}

/// After an extra line, all answers since the counts last agreed are discarded, however late AnyK notices the line.
#[test]
fn a_line_too_many_spoils_what_came_before_it() {
    let folder = tempfile::tempdir().unwrap();
    // The extra line comes late, so AnyK first takes it for the answer to the next cell.
    let policy = r#"
import json, sys, time
for count, line in enumerate(sys.stdin):
    users = json.loads(line)["users"]
    answer = json.dumps({"users": [{"id": u["id"], "power_w": 1.0, "bandwidth_hz": 5e5} for u in users]})
    print(answer, flush=True)
    if count == int(sys.argv[1]):
        time.sleep(0.03)
        print(answer, flush=True)
"#;
    fs::write(folder.path().join("policy.py"), policy).unwrap();
    for (at, least) in [("2", 3), ("5", 6)] {
        let line = format!(
            "$ANYK evaluate --problem urllc --k 3 --samples 6 --json 'cmd:python3 policy.py {at}'"
        );
        let outcome = shell(&line, folder.path());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let report = json(&outcome.stdout);
        let failed = report["rows"][0]["failed"].as_u64().unwrap();
        assert!(failed >= least, "{at}: {failed}");
        assert!(
            report["failures"].to_string().contains("cannot be matched to instances"),
            "{}",
            report["failures"]
        );
    }
}

/// Hostile programs are reported within the time limit, and none of their processes remains.
#[test]
fn hostile_programs_are_told_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let line = "bytes without a line break";
    for (command, timeout, told) in [
        ("yes", 9.0, "received \"y\""),
        ("yes \"{}\"", 9.0, "there is no allocation in {}"),
        ("head -c 1000000000 /dev/zero | tr \"\\0\" x", 9.0, line),
        ("yes 1>&2", 0.1, "no answer within 0.1 s"),
        ("exec >&-; sleep 6543", 9.0, "the program closed its output but is still running"),
        ("(exec >&-; sleep 6543); true", 0.5, "no answer within 0.5 s"),
        ("sleep 6543 & exit 3", 9.0, "the program ended (exit status: 3)"),
        ("sleep 6543 & sleep 6543 & wait", 0.1, "no answer within 0.1 s"),
        ("kill -9 $$", 9.0, "SIGKILL"),
        (
            "while read l; do echo \"{\\\"error\\\":\\\"no idea\\\"}\"; done",
            9.0,
            "no allocation: no idea",
        ),
    ] {
        let line = format!(
            "$ANYK evaluate --problem urllc --k 2 --samples 1 --timeout {timeout} \
             'cmd:{command}'"
        );
        let outcome = shell(&line, folder.path());
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
        assert!(outcome.stdout.contains(told), "{command}: {}", outcome.stdout);
        assert!(outcome.stdout.len() < 6000, "{command}: {}", outcome.stdout.len());
    }
    assert!(is_over("sleep 6543"), "something is left behind");
}

/// Waits until no process has this command line; returns whether that happens in time.
fn is_over(command: &str) -> bool {
    let runs = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .into_iter()
            .any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim_end() == command)
    };
    let mut looks = (0..100).map(|_| std::thread::sleep(std::time::Duration::from_millis(30)));
    !cfg!(target_os = "linux") || looks.any(|()| !runs())
}

/// Ctrl-C and SIGTERM also end the program that AnyK waits for, and its child processes.
#[cfg(target_os = "linux")]
#[test]
fn a_program_ends_with_us() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (signal, code)) in [("TERM", 128 + 15), ("INT", 130)].into_iter().enumerate() {
        // Use a time that no other process sleeps.
        let waits = format!("sleep {}{index}", 100_000 + std::process::id());
        let outcome = shell(
            &signalled(signal, &format!("{waits} & touch started; {waits}; true")),
            folder.path(),
        );
        assert_eq!(outcome.stdout, format!("{code}\n"), "{signal}");
        assert!(is_over(&waits), "{signal}");
    }
}

/// After SIGKILL, AnyK cannot end the program, but the program's standard input is closed, so that it can exit.
#[cfg(target_os = "linux")]
#[test]
fn the_input_of_a_program_ends_with_us() {
    let folder = tempfile::tempdir().unwrap();
    let line = signalled("KILL", "touch started; cat > /dev/null; touch ended");
    let waits = "for i in $(seq 500); do test -e ended && break; sleep 0.02; done; test -e ended";
    let outcome = shell(&format!("{line}; {waits}"), folder.path());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "137\n"), "{}", outcome.stderr);
}

/// Returns a command line that sends a signal to `anyk` after its program has created the file `started`, and prints
/// the exit code.
#[cfg(target_os = "linux")]
fn signalled(signal: &str, command: &str) -> String {
    format!(
        "rm -f started; $ANYK evaluate --problem urllc --k 2 --samples 1 --timeout 60 'cmd:{command}' \
         > /dev/null 2>&1 & for i in $(seq 500); do test -e started && break; sleep 0.02; done; \
         test -e started && kill -{signal} $! && wait $!; echo $?"
    )
}

/// A process that starts its own session leaves the process group and survives, as documented.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_starts_its_own_session_survives() {
    let folder = tempfile::tempdir().unwrap();
    let waits = format!("sleep {}", 200_000 + std::process::id());
    let stays = format!("sleep {}", 300_000 + std::process::id());
    let line = format!(
        "$ANYK evaluate --problem urllc --k 2 --samples 1 --timeout 0.5 \
         'cmd:{waits} & setsid {stays} > /dev/null 2>&1 & echo $! >> id; {waits}; true'"
    );
    let outcome = shell(&line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(is_over(&waits));
    let ended = shell("kill $(cat id)", folder.path());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(is_over(&stays));
}

/// Two allocations of one cell are an error that names both positions, unless the cell is not in the input.
#[test]
fn a_cell_has_one_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[&str]| {
        fs::write(folder.path().join(name), lines.join("\n") + "\n").unwrap();
    };
    let users = "\"users\":[{\"id\":\"x\",\"distance_m\":60}]";
    let cell = |name: &str| format!("{{\"cell\":{name},{users}}}");
    let given = "\"users\":[{\"id\":\"x\",\"power_w\":1,\"bandwidth_hz\":1e6}]";
    let allocation = |name: &str| format!("{{\"cell\":{name},{given}}}");
    let (a, b, nameless) = (allocation("\"a\""), allocation("\"b\""), format!("{{{given}}}"));
    write("one", &[&cell("\"a\"")]);
    write("two", &[&cell("\"a\""), &cell("\"b\"")]);
    write("twins", &[&cell("\"a\""), &cell("\"a\"")]);
    write("nameless", &[&format!("{{{users}}}")]);
    write("a-a", &[&a, &a]);
    write("a-b-a", &[&a, &b, &a]);
    write("a-b", &[&a, &b]);
    write("nameless-2", &[&nameless, &nameless]);
    write("csv", &["cell,id,power_w,bandwidth_hz", "a,x,1,1e6", "b,x,1,1e6", "a,x,1,1e6"]);
    let a_twice = "has another allocation on line 1, expected one for each cell";
    for (cells, allocations, code, told) in [
        ("one", "a-a", 2, format!("error: a-a: line 2: cell \"a\" {a_twice}\n")),
        ("two", "a-b-a", 2, format!("error: a-b-a: line 3: cell \"a\" {a_twice}\n")),
        (
            "nameless",
            "a-b",
            2,
            "line 2: allocation 2 has no cell, expected one allocation for".into(),
        ),
        ("nameless", "nameless-2", 2, "line 2: allocation 2 has no cell".into()),
        ("one", "nameless-2", 2, "line 2: allocation 2 has no cell".into()),
        ("two", "csv", 2, "amounts for 2 users, expected 1".into()),
        // As many allocations as cells of that name, and an allocation of another cell.
        ("twins", "a-a", 0, String::new()),
        ("one", "a-b", 0, "a-b: 1 more allocations than cells\n".into()),
    ] {
        for stream in ["--input", "--input - <"] {
            let line =
                format!("$ANYK assess urllc --allocations {allocations} --json {stream} {cells}");
            let outcome = shell(&line, folder.path());
            assert_eq!(outcome.code, code, "{line}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(&told), "{line}: {}", outcome.stderr);
            assert_eq!(outcome.stderr.is_empty(), told.is_empty(), "{line}: {}", outcome.stderr);
        }
    }
    // Powers for more networks than the document contains.
    write("network", &["{\"gains\":[[1]]}"]);
    write("powers", &["{\"instances\":[{\"power\":[1]},{\"power\":[1]}]}"]);
    let outcome =
        shell("$ANYK assess interference --input network --allocations powers", folder.path());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("amounts for 2 networks, expected 1"), "{}", outcome.stderr);
}

/// `assess` accepts all output of `solve`. Cells that are infeasible or unreadable have no allocation and are counted.
#[test]
fn answers_without_an_allocation_are_judged_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let cells = |names: [&str; 4]| {
        let users = [
            "{\"id\":\"x\",\"distance_m\":60}",
            "{\"id\":\"x\",\"distance_m\":60},{\"id\":\"y\",\"distance_m\":250},{\"id\":\"z\",\"distance_m\":250}",
            "{\"id\":\"x\",\"distance_m\":-4}",
            "{\"id\":\"x\",\"distance_m\":90}",
        ];
        let line = |(name, users): (&str, &str)| format!("{{{name}\"users\":[{users}]}}\n");
        names.into_iter().zip(users).map(line).collect::<String>()
    };
    fs::write(folder.path().join("unnamed"), cells([""; 4])).unwrap();
    let names = ["\"cell\":\"a\",", "\"cell\":\"b\",", "\"cell\":\"c\",", "\"cell\":\"d\","];
    fs::write(folder.path().join("named"), cells(names)).unwrap();
    for problem in [
        "urllc --max-power-dbm 11",
        "urllc-power --max-bandwidth-hz 3e5 --max-power-dbm 30",
        "equal-bandwidth --max-power-dbm 0",
    ] {
        for (input, format) in
            [("named", "json"), ("named", "csv"), ("unnamed", "json"), ("unnamed", "csv")]
        {
            let line = format!(
                "$ANYK solve {problem} --input {input} --format {format} --out answers --force; \
                 $ANYK assess {problem} --input {input} --allocations answers --json"
            );
            let outcome = shell(&line, folder.path());
            assert_eq!(outcome.code, 2, "{problem}: {}", outcome.stderr);
            // Both commands reject the unreadable cell, and its line in the answers belongs to it.
            assert!(outcome.stderr.contains("distance_m is -4"), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains("more allocations"), "{}", outcome.stderr);
            let lines = lines(&outcome.stdout);
            let status = |at: usize| lines[at]["status"].as_str().unwrap_or("none");
            assert_eq!(
                [status(0), status(1), status(2), status(3)],
                ["feasible", "no-allocation", "none", "feasible"],
                "{problem} {input} {format}: {}",
                outcome.stdout
            );
            assert_eq!(lines[1]["reason"], "infeasible");
            assert_eq!((&lines[1]["value"], &lines[1]["reference"]), (&Value::Null, &Value::Null));
            let summary = lines[4]["summary"].as_array().unwrap();
            assert_eq!(summary.len(), 2, "{summary:?}");
            assert_eq!((&summary[1]["k"], &summary[1]["infeasible"]), (&3.into(), &1.into()));
            assert_eq!(lines[4]["unread"], 1);
        }
    }
    // An unreadable cell does not use up the allocation of another cell.
    let line = "{ echo '{\"x\":}'; tail -1 named; head -1 named; } > some; head -1 named > alone; \
                $ANYK solve urllc --input alone --json > answers; tail -1 named > alone; \
                $ANYK solve urllc --input alone --json >> answers; \
                $ANYK assess urllc --json --input some --allocations answers";
    let outcome = shell(line, folder.path());
    let all = lines(&outcome.stdout);
    assert!(all[0]["error"].is_string(), "{}", outcome.stdout);
    for (at, name) in [(1, "d"), (2, "a")] {
        assert_eq!((&all[at]["cell"], &all[at]["status"]), (&name.into(), &"feasible".into()));
    }
    // Without the unreadable cell, the exit code says that a user is not served.
    let line = "grep -v -e -4 named > good; $ANYK solve urllc --max-power-dbm 11 --input good --json > answers; \
                $ANYK assess urllc --max-power-dbm 11 --input good --allocations answers";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let words = "reason: infeasible; no allocation serves every user";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    let words = "K = 3: availability covers 0 of 1 instances; no allocation serves the other 1\n";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
}

/// A cell without a valid allocation counts as not served, whether its allocation is missing, invalid or an error.
#[test]
fn what_is_missing_counts_as_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let cell = "{\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":90}]}\n";
    write("cells", &cell.repeat(5));
    let good =
        "{\"users\":[{\"power_w\":9,\"bandwidth_hz\":2e5},{\"power_w\":9,\"bandwidth_hz\":2e5}]}\n";
    // Valid, an error, for another number of users, truncated, missing.
    write(
        "mine",
        &format!("{good}{{\"error\":\"singular\"}}\n{{\"users\":[{{\"power_w\":1}}]}}\n{{\"us\n"),
    );
    let line = "$ANYK assess urllc --input cells --allocations mine --json; \
                $ANYK assess urllc --input cells --allocations mine 2> /dev/null";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let all: Vec<Value> = outcome.stdout.lines().take(6).map(json).collect();
    assert_eq!(
        (&all[1]["status"], &all[1]["reason"]),
        (&"no-allocation".into(), &"singular".into())
    );
    for (at, told) in [(2, "for 1 user,"), (3, "line 4"), (4, "no allocation")] {
        assert!(all[at]["error"].as_str().unwrap().contains(told), "{}", all[at]);
    }
    let row = &all[5]["summary"][0];
    assert_eq!((&row["instances"], &row["failed"]), (&5.into(), &4.into()), "{row}");
    assert_eq!(row["availability"], 0.2, "{row}");
    let words = "K = 2: availability covers 5 of 5 instances; 4 of the 5 have no allocation that can be checked";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    // Networks of links, which may also have names.
    let network = "\"gains\":[[1,0.1],[0.2,1]],\"site\":7}\n";
    write("networks", &format!("{{\"cell\":\"p\",{network}{{\"cell\":\"q\",{network}"));
    write("powers", "{\"cell\":\"q\",\"power\":[1,1]}\n{\"cell\":\"p\",\"error\":\"lost\"}\n");
    let line = "$ANYK assess interference --input networks --allocations powers --json";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let all = lines(&outcome.stdout);
    assert_eq!((&all[0]["cell"], &all[0]["reason"]), (&"p".into(), &"lost".into()));
    assert_eq!((&all[1]["cell"], &all[1]["site"]), (&"q".into(), &7.into()));
    assert_eq!(all[2]["summary"][0]["failed"], 1);
}

#[test]
fn many_policies_side_by_side_with_a_table_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let line = "set -e; $ANYK train urllc --method price --out price.safetensors; \
                $ANYK train urllc --method m-gnn --out m.safetensors; \
                $ANYK evaluate price.safetensors m.safetensors optimum \
                --k 1,10-30:20 --seeds 1..2 --samples 10 --csv out.csv --plot out.svg; cat out.csv";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for word in ["price.safetensors", "m.safetensors", "optimum", "equal-power", "availability"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
    // Rows of four policies at three sizes.
    let csv: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains(",20,")).collect();
    assert_eq!(csv.len(), 12, "{}", outcome.stdout);
    let svg = fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("equal-power"));
    // Infeasible cells are counted, sizes that cannot be served have their rows, and no value is NaN.
    let line =
        "$ANYK evaluate price.safetensors optimum --k 2,400 --samples 5 --max-power-dbm 16 --json";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report = json(&outcome.stdout);
    let row = &report["rows"][1];
    assert_eq!((row["k"].as_u64(), row["infeasible"].as_u64()), (Some(400), Some(5)));
    assert_eq!(row["availability"], Value::Null);
    assert_eq!(row["value"], Value::Null);
    // A model is rejected if the cell is not the one of its training; the error names the model.
    let line = "$ANYK evaluate m.safetensors optimum --k 2 --samples 2 --max-power-dbm 16";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("m.safetensors was trained for"), "{}", outcome.stderr);
}

/// `info` describes a model as text and JSON. A model that did not learn gets a warning, and users at the edge of the
/// cell are within the training range.
#[test]
fn models_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let line = "set -e; $ANYK train urllc --method m-gnn --samples 5 --epsilon-d 1e-2 --out bad.safetensors > bad.txt; \
                $ANYK train urllc --method price --samples 20 --out price.safetensors > any.txt; \
                $ANYK info price.safetensors; $ANYK info bad.safetensors --json > info.json; \
                echo '{\"users\":[{\"distance_m\":250},{\"distance_m\":50}]}' | \
                $ANYK allocate price.safetensors --input - --json > edge.json";
    let outcome = shell(line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let warning = "warning: bad.safetensors: on validation";
    assert!(outcome.stderr.contains(warning), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("price.safetensors"), "{}", outcome.stderr);
    let report = fs::read_to_string(folder.path().join("bad.txt")).unwrap();
    assert!(report.contains("\nwarning: on validation"), "{report}");
    for word in ["a model for urllc (price)", "training.samples", "config.cell.antennas", "tensor"]
    {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
    let read = |name: &str| json(&fs::read_to_string(folder.path().join(name)).unwrap());
    let info = read("info.json");
    assert_eq!((&info["problem"], &info["method"]), (&Value::from("urllc"), &Value::from("m-gnn")));
    assert_eq!(info["record"]["training"]["samples"], 5);
    assert!(info["record"]["metrics"]["availability"].as_f64().unwrap() < 0.995);
    assert_eq!(info["tensors"][0]["shape"].as_array().map(Vec::is_empty), Some(false));
    let edge = read("edge.json");
    assert_eq!(edge["in_distribution"], true, "{edge}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    for (arguments, told) in [
        (&["evaluate", "cmd:cat"][..], "--problem is missing"),
        (
            &["assess", "urllc", "--input", "-", "--allocations", "-"],
            "--allocations is -, expected a file",
        ),
        (&["evaluate", "optimum", "--problem", "urllc", "--k", "-1,2"], "expected numbers"),
        (&["evaluate", "optimum", "--problem", "urllc", "--k", "3-1"], "expected numbers"),
        (&["evaluate", "wmmse", "--problem", "urllc"], "expected a model file"),
        (&["evaluate", "optimum", "--problem", "urllc", "--seeds", "1..x"], "expected numbers"),
        (&["evaluate", "optimum", "--problem", "urllc", "--timeout", "0"], "seconds"),
        (&["evaluate", "no-such-file"], "no-such-file"),
    ] {
        let outcome = run(arguments, "");
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert!(outcome.stderr.contains(told), "{arguments:?}: {}", outcome.stderr);
    }
}
