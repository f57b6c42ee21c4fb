//! The report of `anyk reproduce`: a run updates only the sections of its studies.

#![allow(clippy::unwrap_used)]

use std::fs;

use crate::common::run;

/// Returns the names of the tables of a page, in order.
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
    // The report lists studies in the order of the registry, whatever order they are run in.
    let (first, _) = reproduce(&["fig1", "table2"]);
    assert_eq!(sections(&first), ["table2", "fig1"]);
    let (second, notes) = reproduce(&["table1", "--trial"]);
    assert_eq!(sections(&second), ["table1", "table2", "fig1"]);
    assert_eq!(notes, "");
    // The first page says once how all sections were made; this one says it for each section.
    let plain = |section: String| -> String {
        section.lines().filter(|line| !line.starts_with("<p class=\"about\">")).collect()
    };
    for name in ["table2", "fig1"] {
        assert_eq!(plain(section(&first, name)), plain(section(&second, name)));
    }
    assert!(section(&second, "table1").contains("a trial: ignore its figures"));
    assert!(!section(&second, "fig1").contains("a trial"));
    assert!(second.contains("Run with --trial (few cells and steps): table1."));

    // The summary names the tested statements, the studies that were not run, and the command that runs them.
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

    // An existing page is never read.
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

    // A damaged section file is named and left out of the report; the other sections stay. A new run replaces it.
    let kept = out.join("sections/fig1.json");
    let text = fs::read_to_string(&kept).unwrap();
    for damaged in
        [text.replace("policy 1", "policy 9"), text[..text.len() / 2].to_owned(), String::new()]
    {
        fs::write(&kept, damaged).unwrap();
        let (page, notes) = reproduce(&["table2"]);
        assert_eq!(sections(&page), ["table1", "table2"]);
        assert!(notes.contains("fig1.json") && notes.contains("`anyk reproduce fig1`"), "{notes}");
        assert!(notes.ends_with("it is left out of the report\n"), "{notes}");
    }
    let (mended, notes) = reproduce(&["fig1", "--force"]);
    assert_eq!((mended, notes.as_str()), (second, ""));
}

/// After Ctrl-C, a message says where the finished parts are and how to continue.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_continue() {
    let folder = tempfile::tempdir().unwrap();
    let line = "$ANYK reproduce table3 --out r & \
                while [ -z \"$(ls r/cache 2> /dev/null)\" ]; do sleep 0.02; done; kill -INT $!; wait $!";
    let outcome = crate::common::shell(line, folder.path());
    assert_eq!(outcome.code, 130, "{}", outcome.stderr);
    let told = "what is done is kept in r/cache; the same command does the rest";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
}
