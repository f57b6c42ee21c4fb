//! Tests of the help pages.

#![allow(clippy::unwrap_used)]

use crate::common::run;

const PROBLEMS: [&str; 7] = [
    "urllc",
    "urllc-power",
    "qos-power",
    "equal-bandwidth",
    "interference",
    "link-scheduling",
    "separable",
];

/// Returns the arguments that lead to each help page.
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

/// Maximum number of lines of a short page.
const MOST_LINES: usize = 40;

#[test]
fn short_pages_are_short_and_long_pages_have_examples() {
    for command in pages() {
        let (short, long) = (page(&command, "-h"), page(&command, "--help"));
        assert_eq!(short.lines().next(), long.lines().next(), "{command:?}");
        let lines = short.lines().count();
        assert!(lines <= MOST_LINES, "{command:?}: {lines} lines\n{short}");
        assert!(!short.contains("Examples:"), "{command:?}: {short}");
        assert!(short.contains("see more with '--help'"), "{command:?}: {short}");
        let examples = long.split_once("\nExamples:\n").unwrap().1;
        let name = format!("anyk {}", command.join(" "));
        assert!(examples.contains(name.trim_end()), "{command:?}: {long}");
        for text in [&short, &long] {
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{command:?}: {text}");
        }
        // The long page contains all flags of the short one.
        let flags = |text: &str| -> Vec<String> {
            let words = text.split_whitespace().filter(|word| word.starts_with("--"));
            words.map(|word| word.trim_end_matches([',', ')', '\'']).to_owned()).collect()
        };
        let all = flags(&long);
        assert!(flags(&short).iter().all(|flag| all.contains(flag)), "{command:?}: {short}");
    }
    // A command without a subcommand prints its help page.
    for command in [&[][..], &["solve"], &["train"], &["sample"]] {
        let outcome = run(command, "");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        assert_eq!(outcome.stderr, page(command, "-h"));
    }
}

/// Returns the flags of a help page.
fn flags(command: &[&str]) -> Vec<String> {
    let page = page(command, "--help");
    // Leave out the examples, where a line may start with a flag.
    let options = page.split_once("Usage:").unwrap().1.split("\nExamples:").next().unwrap();
    let words = options.lines().filter_map(|line| {
        let line = line.trim_start();
        line.starts_with('-').then(|| line.split([' ', ',']).find(|word| word.starts_with("--")))?
    });
    words.map(str::to_owned).collect()
}

#[test]
fn a_problem_has_its_own_flags_and_no_others() {
    let radio = ["--min-distance-m", "--noise-density-dbm-hz", "--config"];
    let service = ["--epsilon", "--antennas", "--packet-bits"];
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
            vec![&["--certify", "--rate-bps", "--p-max", "--input"]],
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

/// Flags that do not apply to a model are rejected; the error names the flag and describes the model.
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
    let any = train("price.safetensors", &["urllc", "--method", "price"]);
    let band = train("band.safetensors", &["urllc-power"]);
    let power = train("power.safetensors", &["qos-power"]);
    let links = train("links.safetensors", &["interference", "--steps", "100"]);
    let of_paper = "paper.safetensors, a model for urllc (m-gnn)";
    let of_any = "price.safetensors, a model for urllc (price)";
    let of_band = "band.safetensors, a model for urllc-power (price)";
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
        ("allocate", &links, &["--antennas", "4"], of_links),
    ];
    for (verb, model, flags, name) in table {
        let input: &[&str] = if verb == "allocate" { &["--input", "-"] } else { &[] };
        let refused = run(&[&[verb, model], input, flags].concat(), "");
        assert_eq!(refused.code, 2, "{verb} {flags:?}");
        // A model for one cell gets the command that trains a model for this cell.
        let end = match (name == of_paper, flags[0]) {
            (true, "--max-power-dbm" | "--config") => {
                let command = format!("`anyk train urllc {}`", flags.join(" "));
                assert!(refused.stderr.contains(&format!("{name}, which works only in the cell")));
                format!("{command}, or use `anyk solve urllc`); remove it\n")
            }
            _ => format!("{name}; remove it\n"),
        };
        assert!(refused.stderr.ends_with(&end), "{verb} {flags:?}: {}", refused.stderr);
        let start = format!("error: {} does not apply to ", flags[0]);
        assert!(refused.stderr.starts_with(&start), "{verb} {flags:?}: {}", refused.stderr);
    }
    let cells = run(&["diagnose", &paper, "--epsilon", "1e-6"], "");
    assert_eq!(cells.code, 2);
    assert!(cells.stderr.contains("--epsilon does not apply to a model"), "{}", cells.stderr);
    // Only models for urllc can be calibrated.
    for (model, name) in
        [(&band, "band.safetensors"), (&power, "power.safetensors"), (&links, "links.safetensors")]
    {
        let out = folder.path().join("never").to_str().unwrap().to_owned();
        let refused = run(&["calibrate", model, "--out", &out], "");
        assert_eq!(refused.code, 2);
        for word in [name, "no margin to calibrate"] {
            assert!(refused.stderr.contains(word), "{}", refused.stderr);
        }
        assert!(!std::fs::exists(&out).unwrap());
    }
}
