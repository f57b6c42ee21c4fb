//! Tests of the documentation: console examples print the output that is shown, and all other commands are valid.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Root of the repository, where readers run the commands.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn documented_commands() {
    std::env::set_current_dir(root()).unwrap();
    trycmd::TestCases::new().case("README.md").case("docs/how-to/*.md");
}

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the commands in a document, from code blocks and from code spans.
fn commands(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches("$ "));
    // Two spaces are the row of a table.
    let is_command = |line: &&str| line.starts_with("anyk ") && !line.starts_with("anyk  ");
    let blocks = lines.filter(is_command).map(str::to_owned);
    // A code span may continue on the next line, and an escaped backtick begins none.
    let text = text.replace('\n', " ").replace("\\`", "");
    let spans = text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    blocks.chain(spans.into_iter().filter(|span| span.starts_with("anyk "))).collect()
}

/// With `--help` at the end, a command does nothing, but its other arguments are checked.
#[test]
fn every_command_is_understood() {
    let mut files = vec![root().join("README.md"), root().join("bench/README.md")];
    documents(&root().join("docs"), &mut files);
    let mut count = 0;
    for file in files {
        for command in commands(&fs::read_to_string(&file).unwrap()) {
            let command = command.split(" # ").next().unwrap();
            for part in command.split(" | ") {
                let part = part.split([';', '>', '&']).next().unwrap();
                let words: Vec<&str> = part.split_whitespace().skip(1).collect();
                // Skip commands with placeholders.
                if words.iter().any(|word| ["PROBLEM", "NAME", "…"].contains(word)) {
                    continue;
                }
                let outcome = crate::common::run(&[&words[..], &["--help"]].concat(), "");
                assert_eq!(outcome.code, 0, "{}: {part}: {}", file.display(), outcome.stderr);
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count} commands");
}
