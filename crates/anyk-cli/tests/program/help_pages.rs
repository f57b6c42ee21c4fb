//! Help pages, as somebody new reads them.

#![allow(clippy::unwrap_used)]

use crate::common::{anyk, outcome, run};

const PROBLEMS: [&str; 7] = [
    "urllc",
    "urllc-power",
    "qos-power",
    "equal-bandwidth",
    "interference",
    "link-scheduling",
    "separable",
];

/// Every page there is, as words.
fn pages() -> Vec<Vec<&'static str>> {
    let commands = [
        "solve",
        "train",
        "sample",
        "assess",
        "evaluate",
        "allocate",
        "calibrate",
        "info",
        "diagnose",
        "sweep",
        "reproduce",
        "config",
        "bench",
        "completions",
    ];
    let by_problem = ["solve", "train", "sample", "assess"]
        .into_iter()
        .flat_map(|verb| PROBLEMS.into_iter().map(move |problem| vec![verb, problem]));
    let commands = commands.into_iter().map(|command| vec![command]);
    [vec![], vec!["sample", "fading"]].into_iter().chain(commands).chain(by_problem).collect()
}

fn page(command: &[&str], flag: &str) -> String {
    let outcome = run(&[command, &[flag]].concat(), "");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{command:?}");
    outcome.stdout
}

/// The same on so many columns.
fn page_on(columns: &str, command: &[&str], flag: &str) -> String {
    let mut program = anyk();
    program.env("COLUMNS", columns).args(command).arg(flag);
    outcome(&program.output().unwrap()).stdout
}

/// The examples of a page, those of several lines as one.
fn examples(page: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != "Examples:").skip(1);
    let block: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let joined = block.join("\n").replace(" \\\n      ", " ");
    joined.lines().map(str::to_owned).collect()
}

#[test]
fn pages_begin_with_a_line_and_examples_and_end_without_blanks() {
    for command in pages() {
        let (short, long) = (page(&command, "-h"), page(&command, "--help"));
        let first = long.lines().next();
        assert!(first.is_some_and(|line| !line.contains("Flags of")), "{command:?}: {long}");
        let shown = examples(&long);
        assert!(!shown.is_empty(), "{command:?}: {long}");
        let name = format!("anyk {}", command.join(" "));
        assert!(shown.iter().any(|line| line.contains(name.trim())), "{command:?}: {long}");
        for text in [&short, &long] {
            // The same line and the same examples on both, before anything else.
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(
                (lines.first().copied(), lines[1], lines[2]),
                (first, "", "Examples:"),
                "{command:?}: {text}"
            );
            assert_eq!(examples(text), shown, "{command:?}");
            let place = |part: &str| text.find(part);
            assert!(
                place("Examples:") < place("Usage:") && place("Usage:") < place("Options:"),
                "{text}"
            );
            assert_eq!(text.matches("Examples:").count(), 1, "{command:?}: {text}");
            for example in &shown {
                // One that is wrapped without a backslash would begin with something else.
                assert!(example.starts_with("  anyk "), "{command:?}: {example}");
            }
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{command:?}: {text}");
            assert!(!text.contains("\n\n\n"), "{command:?}: {text}");
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{command:?}: {line}");
            }
        }
    }
    // Without anything to do, the program says what it can do.
    for command in [&[][..], &["solve"], &["train"], &["sample"]] {
        let outcome = run(command, "");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        assert_eq!(outcome.stderr, page(command, "-h"));
    }
}

#[test]
fn pages_are_as_wide_as_the_terminal() {
    // The line of the usage is one line, however long.
    let widest = |page: &str| {
        let lines = page.lines().filter(|line| !line.starts_with("Usage:"));
        lines.map(|line| line.chars().count()).max().unwrap()
    };
    for command in [&[][..], &["train", "urllc"], &["evaluate"], &["reproduce"], &["diagnose"]] {
        let usual = page(command, "--help");
        for (columns, most) in [("60", 60), ("80", 80), ("140", 140)] {
            for flag in ["-h", "--help"] {
                let text = page_on(columns, command, flag);
                // A word that is longer than its column alone may stand out; there are none on these pages.
                assert!(widest(&text) <= most, "{command:?} {columns}: {text}");
                // Whatever the width, the same commands can be pasted.
                assert_eq!(examples(&text), examples(&usual), "{command:?} {columns}");
            }
            let long = page_on(columns, command, "--help");
            let reaches = widest(&long) > most.min(100) - 15;
            assert!(reaches, "{command:?}: {columns} columns are not used: {long}");
        }
        assert!(widest(&page_on("140", command, "--help")) > 100, "{command:?}");
        // What is no width is none.
        for columns in ["0", "", "wide", "-3"] {
            assert_eq!(page_on(columns, command, "--help"), usual, "{columns:?}");
        }
    }
    // A list goes on below what it means.
    let codes = page_on("60", &[], "--help");
    assert!(
        codes.contains(
            "\n    1  the machine failed: a full disk, a folder that cannot\n       be written\n"
        ),
        "{codes}"
    );
}

/// The flags of a page.
fn flags(command: &[&str]) -> Vec<String> {
    let page = page(command, "--help");
    // Examples come before the usage, and may have flags at the start of a line.
    let options = page.split_once("Usage:").unwrap().1;
    let words = options.lines().filter_map(|line| {
        let line = line.trim_start();
        line.starts_with('-').then(|| line.split([' ', ',']).find(|word| word.starts_with("--")))?
    });
    words.map(str::to_owned).collect()
}

#[test]
fn a_problem_has_its_own_flags_and_no_others() {
    let radio = ["--min-distance-m", "--noise-density-dbm-hz", "--config"];
    let service = ["--epsilon", "--antennas", "--packet-bits", "--quadrature"];
    let links = ["--p-max", "--noise"];
    #[allow(clippy::type_complexity)]
    let table: [(&[&str], Vec<&[&str]>, Vec<&[&str]>); 19] = [
        (
            &["solve", "urllc"],
            vec![&radio, &service, &["--max-power-dbm"]],
            vec![&links, &["--rate-bps", "--method", "--scenario", "--seed", "--k"]],
        ),
        (
            &["solve", "urllc-power"],
            vec![&radio, &service, &["--max-bandwidth-hz", "--max-power-dbm"]],
            vec![&links, &["--rate-bps", "--method", "--user-bandwidth-hz"]],
        ),
        (
            &["solve", "qos-power"],
            vec![&radio, &["--rate-bps", "--bandwidth-hz"]],
            vec![&links, &service, &["--max-power-dbm", "--method"]],
        ),
        (
            &["solve", "equal-bandwidth"],
            vec![&radio, &["--rate-bps", "--max-power-dbm"]],
            vec![&links, &service, &["--bandwidth-hz", "--method"]],
        ),
        (
            &["solve", "interference"],
            vec![&links, &["--method", "--tolerance", "--random-starts", "--trace", "--seed"]],
            vec![&radio, &service, &["--max-power-dbm", "--rate-bps", "--scenario"]],
        ),
        (
            &["solve", "link-scheduling"],
            vec![&links, &["--method", "--iterations"]],
            vec![&radio, &service, &["--tolerance", "--random-starts", "--trace", "--seed"]],
        ),
        (
            &["solve", "separable"],
            vec![&radio, &["--cost", "--bandwidth-hz", "--max-power-dbm"]],
            vec![&links, &service, &["--rate-bps", "--method"]],
        ),
        (
            &["train", "urllc"],
            vec![&radio, &service, &["--method", "--epsilon-d", "--fading", "--preset"]],
            vec![&links, &["--scenario", "--rate-bps", "--labels", "--hidden", "--input"]],
        ),
        (
            &["train", "urllc-power"],
            vec![&radio, &service, &["--train-k", "--samples", "--seed"]],
            vec![&links, &["--max-power-dbm", "--max-bandwidth-hz", "--method", "--fading"]],
        ),
        (
            &["train", "qos-power"],
            vec![&radio, &["--rate-bps", "--bandwidth-hz", "--aggregator"]],
            vec![&links, &service, &["--method", "--output", "--preset", "--max-power-dbm"]],
        ),
        (
            &["train", "equal-bandwidth"],
            vec![&radio, &["--rate-bps", "--method", "--output", "--max-power-dbm"]],
            vec![&links, &service, &["--bandwidth-hz", "--epsilon-d", "--fading"]],
        ),
        (
            &["train", "interference"],
            vec![&["--scenario", "--labels", "--hidden", "--rounds", "--output", "--steps"]],
            vec![&links, &radio, &service, &["--max-power-dbm", "--method", "--epsilon-d"]],
        ),
        (
            &["train", "link-scheduling"],
            vec![&["--scenario", "--labels", "--hidden", "--rounds", "--output", "--steps"]],
            vec![&links, &radio, &service, &["--max-power-dbm", "--method", "--epsilon-d"]],
        ),
        (
            &["sample", "urllc"],
            vec![&["--k", "--count", "--seed", "--format", "--min-distance-m", "--out"]],
            vec![&links, &service, &["--scenario", "--max-power-dbm", "--law"]],
        ),
        (
            &["sample", "interference"],
            vec![&["--scenario", "--k", "--count", "--seed", "--format", "--out"]],
            vec![&links, &radio, &service, &["--max-power-dbm", "--law"]],
        ),
        (
            &["sample", "fading"],
            vec![&["--law", "--count", "--seed", "--format", "--antennas", "--out"]],
            vec![&links, &radio, &["--k", "--scenario", "--max-power-dbm", "--epsilon"]],
        ),
        (
            &["evaluate"],
            vec![&radio, &service, &["--k", "--samples", "--fading"]],
            vec![&["--certify", "--rate-bps", "--out", "--p-max", "--input"]],
        ),
        (
            &["allocate"],
            vec![&radio, &service, &links, &["--certify", "--fading", "--input"]],
            vec![&["--rate-bps", "--csv", "--k"]],
        ),
        (
            &["calibrate"],
            vec![&["--k", "--cells", "--beta", "--delta", "--fading", "--out", "--force"]],
            vec![&radio, &service, &links, &["--certify"]],
        ),
    ];
    for (command, own, others) in table {
        let flags = flags(command);
        for flag in own.concat() {
            assert!(flags.iter().any(|known| known == flag), "{command:?} has no {flag}");
        }
        for flag in others.concat() {
            assert!(!flags.iter().any(|known| known == flag), "{command:?} has {flag}");
            let refused = run(&[command, &[flag]].concat(), "");
            let word = format!("unexpected argument '{flag}' found");
            assert_eq!(refused.code, 2, "{command:?} {flag}");
            assert!(refused.stderr.contains(&word), "{command:?}: {}", refused.stderr);
        }
        let mut once = flags.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), flags.len(), "{command:?}: {flags:?}");
    }
}

/// A model's file says what it is for; flags of other kinds are refused by name, with the model's.
#[test]
fn flags_of_another_kind_of_model_are_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let train = |name: &str, flags: &[&str]| {
        let out = folder.path().join(name).to_str().unwrap().to_owned();
        let outcome = run(&[&["train"], flags, &["--samples", "20", "--out", &out]].concat(), "");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    };
    let paper = train("paper.safetensors", &["urllc", "--method", "m-gnn"]);
    let any = train("any.safetensors", &["urllc", "--method", "any-gnn"]);
    let band = train("band.safetensors", &["urllc-power"]);
    let power = train("power.safetensors", &["qos-power"]);
    let links = train("links.safetensors", &["interference", "--steps", "100"]);
    let of_paper = "paper.safetensors, a model for urllc (m-gnn)";
    let of_any = "any.safetensors, a model for urllc (any-gnn)";
    let of_band = "band.safetensors, a model for urllc-power (any-gnn)";
    let of_power = "power.safetensors, a model for qos-power (m-gnn)";
    let of_links = "links.safetensors, a model for interference networks (output ranked)";
    let table: [(&str, &str, &[&str], &str); 16] = [
        ("evaluate", &paper, &["--max-power-dbm", "40"], of_paper),
        ("evaluate", &paper, &["--config", "cell.toml"], of_paper),
        ("evaluate", &paper, &["--fading", "rayleigh"], of_paper),
        ("evaluate", &any, &["--fading", "rayleigh"], of_any),
        ("evaluate", &any, &["--user-bandwidth-hz", "2e5"], of_any),
        ("evaluate", &band, &["--max-power-dbm", "40"], of_band),
        ("evaluate", &power, &["--antennas", "4"], of_power),
        ("evaluate", &links, &["--epsilon", "1e-5"], of_links),
        ("allocate", &paper, &["--p-max", "2"], of_paper),
        ("allocate", &any, &["--noise", "2"], of_any),
        ("allocate", &any, &["--max-bandwidth-hz", "1e6"], of_any),
        ("allocate", &band, &["--certify"], of_band),
        ("allocate", &power, &["--certify"], of_power),
        ("allocate", &power, &["--max-power-dbm", "40"], of_power),
        ("allocate", &links, &["--certify"], of_links),
        ("allocate", &links, &["--quadrature", "gauss-laguerre"], of_links),
    ];
    for (verb, model, flags, name) in table {
        let input: &[&str] = if verb == "allocate" { &["--input", "-"] } else { &[] };
        let refused = run(&[&[verb, model], input, flags].concat(), "");
        assert_eq!(refused.code, 2, "{verb} {flags:?}");
        let end = format!("{name}; leave it out\n");
        assert!(refused.stderr.ends_with(&end), "{verb} {flags:?}: {}", refused.stderr);
        let start = format!("error: {} has no meaning for ", flags[0]);
        assert!(refused.stderr.starts_with(&start), "{verb} {flags:?}: {}", refused.stderr);
    }
    let cells = run(&["diagnose", &paper, "--epsilon", "1e-6"], "");
    assert_eq!(cells.code, 2);
    assert!(cells.stderr.contains("--epsilon has no meaning for a model"), "{}", cells.stderr);
    // There is nothing to calibrate in a model without a loss target.
    for (model, name) in
        [(&band, "band.safetensors"), (&power, "power.safetensors"), (&links, "links.safetensors")]
    {
        let out = folder.path().join("never").to_str().unwrap().to_owned();
        let refused = run(&["calibrate", model, "--out", &out], "");
        assert_eq!(refused.code, 2);
        for word in [name, "nothing to calibrate"] {
            assert!(refused.stderr.contains(word), "{}", refused.stderr);
        }
        assert!(!std::fs::exists(&out).unwrap());
    }
}
