//! Tests that names from input reach the terminal as text: the program prints no control characters except line breaks,
//! and no characters that change the text direction.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::common::{Outcome, shell};
use tempfile::TempDir;

/// Checks that neither stream contains a character that a terminal interprets, and that `part` is printed.
#[track_caller]
fn harmless(outcome: &Outcome, part: &str) {
    let both = format!("{}{}", outcome.stdout, outcome.stderr);
    let obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(both.find(obeyed), None, "{both:?}");
    assert!(both.contains(part), "{part}: {both:?}");
}

fn run(line: &str, folder: &Path) -> Outcome {
    shell(&format!("\"$ANYK\" {line}"), folder)
}

#[test]
fn names_of_users_are_shown() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // A character that changes the text direction is not a control character, so a name may contain it.
    write("turned.json", "{\"users\":[{\"id\":\"a\u{202e}nimda\",\"distance_m\":60}]}");
    let outcome = run("solve urllc --input turned.json", folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    harmless(&outcome, "a\\u{202e}nimda");
    // JSON is for programs and contains the name unchanged.
    let json = run("solve urllc --input turned.json --json", folder.path());
    assert!(json.stdout.contains("a\u{202e}nimda"), "{}", json.stdout);
    // Raw and escaped control characters in an id, in a key, and in text that is not JSON.
    for (text, part) in [
        ("{\"users\":[{\"id\":\"\\u001b]0;owned\\u0007\",\"distance_m\":60}]}", "\\u{1b}]0;owned"),
        ("{\"users\":[{\"id\":\"a\",\"\\u001b[2J\":60}]}", "none of distance_m"),
        ("{\"users\":[{\"id\":\"\u{1b}[31m\",\"distance_m\":60}]}", "control character"),
        ("{\"users\":[{\"id\":\"a\",\"distance_m\":60}]} \u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
        ("id,distance_m\n\u{1b}[31m,60\n", "\\u{1b}[31m"),
        ("id,\u{1b}[31m\na,60\n", "\\u{1b}[31m"),
        ("id,distance_m\na,\u{1b}[31m\n", "line 2"),
    ] {
        write("hostile", text);
        let outcome = run("solve urllc --input hostile", folder.path());
        assert_eq!(outcome.code, 2, "{text:?}: {}", outcome.stderr);
        harmless(&outcome, part);
    }
}

/// The command `script` provides a terminal, on which CSV is escaped.
#[cfg(target_os = "linux")]
#[test]
fn names_of_columns_are_shown() {
    let folder = TempDir::new().unwrap();
    let input =
        "{\"cell\":\"a\u{202e}b\",\"users\":[{\"distance_m\":60,\"note\\u001b]0;pwn\\u0007\":1}]}";
    fs::write(folder.path().join("cells"), input).unwrap();
    for (format, part) in [("csv", "note\\u{1b}]0;pwn\\u{7}"), ("table", "cell a\\u{202e}b")] {
        let line = format!("'\"$ANYK\" solve urllc --input cells --format {format}'");
        let mut outcome = shell(&format!("script -qec {line} /dev/null"), folder.path());
        assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout = outcome.stdout.replace("\r\n", "\n");
        harmless(&outcome, part);
    }
}

#[test]
fn names_of_files_and_flags_are_shown() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let name = "\u{1b}[31mred\u{202e}";
    let shown = "\\u{1b}[31mred\\u{202e}";
    // Name of a missing input file, an existing input file, a model, a config and samples.
    harmless(&run(&format!("solve urllc --input '{name}'"), path), shown);
    fs::write(path.join(name), "{\"users\":[]}").unwrap();
    harmless(&run(&format!("solve urllc --input '{name}'"), path), shown);
    harmless(&run(&format!("evaluate '{name}'"), path), shown);
    harmless(&run(&format!("config --config '{name}'"), path), shown);
    harmless(&run(&format!("diagnose --samples '{name}'"), path), shown);
    // Name of output files and folders.
    harmless(&run(&format!("train urllc --out '{name}'"), path), shown);
    let out = format!("{name}.st");
    let train = format!("train urllc --method price --samples 50 --out '{out}'");
    let trained = run(&train, path);
    assert_eq!(trained.code, 0, "{}", trained.stderr);
    harmless(&trained, shown);
    harmless(&run(&format!("allocate '{out}' --input nowhere --p-max 1"), path), shown);
    // Name of a flag, of a problem, and value of a flag; clap removes the escape sequences of colours.
    let without = "red\\u{202e}";
    harmless(&run(&format!("solve urllc '--{name}'"), path), without);
    harmless(&run(&format!("solve '{name}'"), path), without);
    harmless(&run(&format!("evaluate '{out}' --k '{name}'"), path), without);
    harmless(&run(&format!("train urllc --out x --epsilon '{name}'"), path), without);
}

#[test]
fn names_in_parameters_and_samples_are_shown() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    write("cell.toml", "\"\\u001b[31m\" = 1\n");
    harmless(&run("config --config cell.toml", path), "cell.toml");
    write("cell.toml", "[cell] \u{1b}[31m\n");
    harmless(&run("config --config cell.toml", path), "cell.toml");
    write("samples.csv", "k,x,y,\u{1b}[31m\n1,1,1,1\n");
    harmless(&run("diagnose --samples samples.csv", path), "\\u{1b}[31m");
    // The name of the diagnosed file is the title of the report, as plain text and in HTML.
    let rows: String =
        (0..400).map(|i| format!("{},{},{}\n", 2 + i / 200, i % 7, 1 + i % 5)).collect();
    let name = "<b>\u{1b}[31m\u{202e}.csv";
    write(name, &format!("k,x,y\n{rows}"));
    let outcome = run(&format!("diagnose --no-check --out out --samples '{name}'"), path);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    harmless(&outcome, "<b>\\u{1b}[31m\\u{202e}.csv");
    let page = fs::read_to_string(path.join("out/report.html")).unwrap();
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert_eq!(page.find(obeyed), None);
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
}
