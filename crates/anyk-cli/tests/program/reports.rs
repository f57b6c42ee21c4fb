//! Tests of the report of `anyk reproduce`: a run updates its own sections and leaves the others unchanged.

#![allow(clippy::unwrap_used)]

use std::fs;

use crate::common::run;

/// Returns the names of the sections of a page, in their order.
fn sections(page: &str) -> Vec<String> {
    let main = page.split_once("<main>").unwrap().1;
    let parts = main.split("<section id=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn a_run_with_one_name_leaves_the_other_sections() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let reproduce = |args: &[&str]| {
        let outcome = run(&[&["reproduce", "--out", out.to_str().unwrap()], args].concat(), "");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        (fs::read_to_string(out.join("report.html")).unwrap(), outcome.stderr)
    };
    let section = |page: &str, name: &str| -> String {
        let start = page.find(&format!("<section id=\"{name}\">")).unwrap();
        page[start..][..page[start..].find("</section>").unwrap()].to_owned()
    };
    // Sections have the order of the registry, and not the order of the runs.
    let (first, _) = reproduce(&["fig1", "table2"]);
    assert_eq!(sections(&first), ["table2", "fig1"]);
    let (second, notes) = reproduce(&["table1", "--trial"]);
    assert_eq!(sections(&second), ["table1", "table2", "fig1"]);
    assert_eq!(notes, "");
    // The first page describes in one line how all studies ran; the second has such a line in each section.
    let plain = |section: String| -> String {
        section.lines().filter(|line| !line.starts_with("<p class=\"about\">")).collect()
    };
    for name in ["table2", "fig1"] {
        assert_eq!(plain(section(&first, name)), plain(section(&second, name)));
    }
    assert!(section(&second, "table1").contains("a trial: ignore its figures"));
    assert!(!section(&second, "fig1").contains("a trial"));
    assert!(second.contains("Run with --trial (few cells and steps): table1."));

    // The summary lists the statements that were tested, and the command for those that were not.
    assert!(second.contains(
        "Of 1 statement of the paper tested below, 1 reproduces, 0 reproduce partly, and 0 do not."
    ));
    assert!(
        second.contains("Figure 1: of two policies, one stays constant and the other grows with K")
    );
    let missing = format!(
        "anyk reproduce table3 table4 table5 table6 closed-forms fig2a fig2b fig2c propositions \
         power-control --out {}",
        out.display()
    );
    assert!(second.contains(&missing), "{second}");

    // The content of an existing page is not used.
    for foreign in [
        &b"not ours"[..],
        &second.as_bytes()[..second.len() / 2],
        b"",
        b"\xff\xfe<section id=\"table9\">",
    ] {
        fs::write(out.join("report.html"), foreign).unwrap();
        let (page, notes) = reproduce(&["table1", "--trial", "--force"]);
        assert_eq!((page, notes.as_str()), (second.clone(), ""));
    }

    // A damaged section is reported and left out, the others stay, and a new run of its study restores it.
    let kept = out.join("sections/fig1.json");
    let text = fs::read_to_string(&kept).unwrap();
    for damaged in
        [text.replace("policy 1", "policy 9"), text[..text.len() / 2].to_owned(), String::new()]
    {
        fs::write(&kept, damaged).unwrap();
        let (page, notes) = reproduce(&["table2"]);
        assert_eq!(sections(&page), ["table1", "table2"]);
        assert!(notes.contains("fig1.json") && notes.contains("`anyk reproduce fig1`"), "{notes}");
        assert!(notes.ends_with("the report leaves it out\n"), "{notes}");
    }
    let (mended, notes) = reproduce(&["fig1", "--force"]);
    assert_eq!((mended, notes.as_str()), (second, ""));
}

/// After Ctrl-C, a message says where finished work is kept and how to continue.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_continue() {
    let folder = tempfile::tempdir().unwrap();
    let line = "$ANYK reproduce closed-forms --out r & \
                while [ -z \"$(ls r/cache 2> /dev/null)\" ]; do sleep 0.02; done; kill -INT $!; wait $!";
    let outcome = crate::common::shell(line, folder.path());
    assert_eq!(outcome.code, 130, "{}", outcome.stderr);
    let told = "finished work is kept in r/cache; run the same command again to continue";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
}
