//! Tests of output files: they are checked before any work, they are never an input, and an existing file is
//! overwritten only with `--force`, or if it is a model or listed in a manifest.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::run;

/// Arguments of a training run that takes minutes.
const LONG: [&str; 6] = ["train", "urllc", "--method", "fnn", "--preset", "paper"];

/// End of the error about an existing file.
const EXISTS: &str = ": the file exists; pass --force to overwrite it\n";

/// Returns the shortest time of five runs, since other programs may slow down a run.
fn quickest(mut once: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| {
        let started = Instant::now();
        once();
        started.elapsed()
    });
    times.min().unwrap()
}

#[test]
#[cfg(unix)]
fn a_target_that_cannot_be_is_told_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (fifo, foreign) = (path("fifo"), path("foreign.txt"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fs::write(&foreign, "a letter\n").unwrap();
    let below = format!("{foreign}/model.safetensors");
    for (out, code, words) in [
        (foreign.as_str(), 2, EXISTS),
        (&below, 1, "cannot write"),
        ("/no/such/folder/model", 1, "cannot write"),
        (&fifo, 2, "expected a plain file, not a device or a pipe"),
        ("/dev/null", 2, "expected a plain file, not a device or a pipe"),
        (folder.path().to_str().unwrap(), 2, "expected a file, not a folder"),
        ("/", 2, "expected a file, not a folder"),
        ("", 2, "--out"),
    ] {
        let args = [&LONG[..], &["--out", out]].concat();
        let elapsed = quickest(|| {
            let outcome = run(&args, "");
            assert_eq!(outcome.code, code, "{out}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(words), "{out}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(out), "{out}: {}", outcome.stderr);
            assert_eq!(outcome.stdout, "");
        });
        assert!(elapsed < Duration::from_secs(1), "{out}: {elapsed:?}");
        // `calibrate` reports the same error, even before it reads the model.
        let calibration = run(&["calibrate", "/no/such/model", "--out", out], "");
        assert_eq!(calibration.code, code, "{out}: {}", calibration.stderr);
        assert!(calibration.stderr.contains(words), "{out}: {}", calibration.stderr);
        // Drawing a hundred million users would also take long.
        let sample = ["sample", "urllc", "--k", "10000000", "--count", "10", "--out", out];
        let drawn = run(&sample, "");
        assert_eq!(drawn.code, code, "{out}: {}", drawn.stderr);
        assert!(drawn.stderr.contains(words), "{out}: {}", drawn.stderr);
        // --force does not replace a device, a FIFO or a folder.
        if out != foreign {
            let forced = run(&[&args[..], &["--force"]].concat(), "");
            assert_eq!(forced.code, code, "{out}: {}", forced.stderr);
        }
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "a letter\n");
    // The checks leave no files behind.
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["fifo", "foreign.txt"]);
}

/// Trains a small model and returns the exit code.
fn train(out: &str, flags: &[&str]) -> i32 {
    let args = ["train", "urllc", "--method", "price", "--samples", "20", "--out", out];
    run(&[&args[..], flags].concat(), "").code
}

#[test]
fn only_a_model_whose_checksum_holds_is_overwritten_by_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str| fs::read(name).unwrap();
    let (model, other) = (path("model"), path("other.safetensors"));
    assert_eq!(train(&model, &[]), 0);
    let first = read(&model);
    assert_eq!(train(&model, &["--seed", "2"]), 0);
    assert_ne!(read(&model), first);
    // A model of another problem may be overwritten, too.
    assert_eq!(run(&["train", "qos-power", "--samples", "20", "--out", &model], "").code, 0);
    assert_eq!(train(&model, &[]), 0);
    assert_eq!(read(&model), first);
    // Foreign weights in the same format, a model with one changed byte, text, and an empty file.
    let foreign = b"\x20\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}";
    let mut damaged = first.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let calibrate = ["calibrate", &model, "--cells", "300", "--beta", "0.01", "--out", &other];
    for content in [&foreign[..], &damaged, b"a letter to \"anyk\"\n", b""] {
        fs::write(&other, content).unwrap();
        assert_eq!(train(&other, &[]), 2);
        let refused = run(&calibrate, "");
        assert_eq!(refused.code, 2);
        assert_eq!(refused.stderr, format!("error: cannot write {other}{EXISTS}"));
        assert_eq!(read(&other), content);
        assert_eq!(train(&other, &["--force"]), 0);
        assert_eq!(read(&other), first);
    }
    let calibrated = run(&calibrate, "");
    assert_eq!(calibrated.code, 0, "{}", calibrated.stderr);
    assert_ne!(read(&other), first);
    // With several seeds, each file is checked.
    fs::write(path("p-2"), "mine").unwrap();
    let several = ["train", "qos-power", "--samples", "20", "--seeds", "1,2", "--out", &path("p")];
    let refused = run(&several, "");
    assert_eq!((refused.code, fs::exists(path("p-1")).unwrap()), (2, false));
    assert_eq!(refused.stderr, format!("error: cannot write {}{EXISTS}", path("p-2")));
    // Other output does not overwrite a model.
    let refused = run(&["sample", "urllc", "--out", &model], "");
    assert_eq!((refused.code, read(&model) == first), (2, true));
}

/// Other commands overwrite no existing file without `--force`, even if AnyK wrote it.
#[test]
fn other_files_are_overwritten_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (users, gains, given) = (path("users"), path("gains"), path("given"));
    fs::write(&users, "{\"users\":[{\"distance_m\":60}]}\n").unwrap();
    fs::write(&gains, "[[1,0.1],[0.2,1]]").unwrap();
    fs::write(&given, "{\"users\":[{\"power_w\":1,\"bandwidth_hz\":2e5}]}\n").unwrap();
    let model = path("model");
    assert_eq!(train(&model, &[]), 0);
    let evaluate = ["evaluate", "optimum", "--problem", "urllc", "--k", "2", "--samples", "2"];
    let law = ["sample", "fading", "--law", "rayleigh", "--count", "3"];
    let out = path("out");
    let commands: [&[&str]; 12] = [
        &["sample", "urllc", "--k", "3", "--out", &out],
        &["sample", "urllc", "--k", "3", "--format", "csv", "--out", &out],
        &["sample", "interference", "--k", "3", "--out", &out],
        &["sample", "link-scheduling", "--k", "3", "--format", "npy", "--out", &out],
        &[&law[..], &["--out", &out]].concat(),
        &["solve", "urllc", "--json", "--input", &users, "--out", &out],
        &["solve", "urllc", "--format", "csv", "--input", &users, "--out", &out],
        &["solve", "interference", "--input", &gains, "--out", &out],
        &["assess", "urllc", "--allocations", &given, "--input", &users, "--out", &out],
        &["allocate", &model, "--input", &users, "--out", &out],
        &[&evaluate[..], &["--csv", &out]].concat(),
        &[&evaluate[..], &["--plot", &out]].concat(),
    ];
    for command in commands {
        let _ = fs::remove_file(&out);
        let first = run(command, "");
        assert!([0, 3].contains(&first.code), "{command:?}: {}", first.stderr);
        let written = fs::read(&out).unwrap();
        assert!(!written.starts_with(b"#"), "{command:?}");
        // The file that the same command wrote, and files that start like its output.
        for content in [
            &written[..],
            b"id,distance_m\nmine,1\n",
            b"{\"gains\":[",
            b"policy,k,instances",
            b"<svg",
            b"",
        ] {
            fs::write(&out, content).unwrap();
            let refused = run(command, "");
            assert_eq!(refused.code, 2, "{command:?}");
            assert_eq!(refused.stderr, format!("error: cannot write {out}{EXISTS}"));
            assert_eq!(refused.stdout, "");
            assert_eq!(fs::read(&out).unwrap(), content, "{command:?}");
        }
        let forced = run(&[command, &["--force"]].concat(), "");
        assert_eq!(forced.code, first.code, "{command:?}: {}", forced.stderr);
        assert_ne!(fs::read(&out).unwrap(), b"", "{command:?}");
    }
    // --force requires an output file.
    let stray = run(&["sample", "urllc", "--force"], "");
    assert!(stray.code == 2 && stray.stderr.contains("--out"), "{}", stray.stderr);
}

#[test]
#[cfg(unix)]
fn an_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let line = "set -e; $ANYK sample urllc --k 5 --out u.json; $ANYK config > cell.toml; \
                $ANYK train urllc --method price --samples 20 --out m > train.txt; \
                $ANYK sample fading --law rayleigh --count 600 --format npy --out f.npy; \
                $ANYK solve urllc -i u.json --json --out a.json; echo k,x,y > s.csv; echo 1 > w.csv; \
                mkdir r q; for k in 2 4 8; do for x in 1 2 3 4; do echo $k,$x,$x; done; done >> s.csv; \
                cp s.csv r/policy.csv; cp s.csv q/anyk-manifest.json; cp f.npy n.outer; \
                ln -s u.json soft; ln u.json hard; ln -s . here";
    let made = crate::common::shell(line, folder.path());
    assert_eq!(made.code, 0, "{}", made.stderr);
    let before = contents(folder.path());
    let solve = "solve urllc -i u.json --json --out";
    let links = "solve interference -i u.json --weights w.csv --out w.csv";
    for (command, path, input) in [
        (format!("{solve} u.json"), "u.json", "--input"),
        (format!("{solve} ./u.json"), "./u.json", "--input"),
        (format!("{solve} here/u.json"), "here/u.json", "--input"),
        (format!("{solve} soft"), "soft", "--input"),
        (format!("{solve} hard"), "hard", "--input"),
        ("solve urllc -i soft --json --out u.json".into(), "u.json", "--input"),
        ("solve urllc -i - --json --out u.json < u.json".into(), "u.json", "--input"),
        (
            "solve urllc -i u.json --config cell.toml --out cell.toml".into(),
            "cell.toml",
            "--config",
        ),
        ("assess urllc -i u.json -a a.json --out a.json".into(), "a.json", "--allocations"),
        ("allocate m -i u.json --out m".into(), "m", "MODEL"),
        ("allocate m -i u.json --out u.json".into(), "u.json", "--input"),
        ("calibrate m --cells 300 --beta 0.01 --out m".into(), "m", "MODEL"),
        ("evaluate m optimum --k 2 --samples 2 --csv m".into(), "m", "POLICY"),
        ("train urllc --method price --fading f.npy --out f.npy".into(), "f.npy", "--fading"),
        (
            "train urllc --method price --fading n.outer --seeds 1,2 --out n".into(),
            "n.outer",
            "--fading",
        ),
        ("sample urllc --config cell.toml --out cell.toml".into(), "cell.toml", "--config"),
        (links.into(), "w.csv", "--weights"),
        ("diagnose --samples r/policy.csv --out r".into(), "r/policy.csv", "--samples"),
        (
            "diagnose --samples q/anyk-manifest.json --out q".into(),
            "q/anyk-manifest.json",
            "--samples",
        ),
    ] {
        for force in ["--force", ""] {
            // Insert the flag before the redirection.
            let line = format!(
                "$ANYK {} {force} {}",
                command.split(" <").next().unwrap(),
                command.split_once(" <").map_or(String::new(), |(_, file)| format!("<{file}"))
            );
            let refused = crate::common::shell(&line, folder.path());
            let words = format!(
                "error: cannot write {path}: it is also the input ({input}); choose another path\n"
            );
            assert_eq!((refused.code, refused.stderr), (2, words), "{line}");
            assert_eq!(refused.stdout, "", "{line}");
        }
    }
    let line = "$ANYK evaluate optimum --problem urllc --csv new --plot here/new --force";
    let refused = crate::common::shell(line, folder.path());
    let words = "error: cannot write here/new: --csv writes to it; choose another path\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (2, words));
    assert!(contents(folder.path()) == before);
}

/// Returns all files of a folder and its subfolders.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
        } else if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// Files that the manifest of a report folder lists are overwritten unless they were changed since.
#[test]
fn a_report_overwrites_only_files_of_its_manifest() {
    let commands: [(&[&str], &[&str]); 2] = [
        (
            &["diagnose", "--policy", "qos-power", "--users", "1000", "--no-check"],
            &["report.html", "policy.csv", "networks.svg", "anyk-manifest.json"],
        ),
        (
            &["reproduce", "fig1"],
            &["report.html", "fig1.csv", "fig1.svg", "sections/fig1.json", "anyk-manifest.json"],
        ),
    ];
    for (command, names) in commands {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let command = [command, &["--out", out.to_str().unwrap()]].concat();
        let force = [&command[..], &["--force"]].concat();
        // The folder also contains a foreign file.
        fs::create_dir(&out).unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        assert_eq!(run(&command, "").code, 0);
        let first = contents(&out);
        let again = run(&command, "");
        assert_eq!((again.code, again.stderr.as_str()), (0, ""));
        assert!(contents(&out) == first);
        for name in names {
            fs::write(out.join(name), "<html>mine</html>").unwrap();
            let refused = run(&command, "");
            let words = format!("error: cannot write {}{EXISTS}", out.join(name).display());
            assert_eq!((refused.code, refused.stderr), (2, words));
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "<html>mine</html>");
            assert_eq!(run(&force, "").code, 0);
            assert!(contents(&out) == first, "{name}");
        }
        // Without the manifest, existing files are not overwritten.
        fs::remove_file(out.join("anyk-manifest.json")).unwrap();
        assert_eq!(run(&command, "").code, 2);
        fs::remove_dir_all(&out).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("report.html"), "<html>mine</html>").unwrap();
        let refused = run(&command, "");
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(out.join("report.html")).unwrap(), "<html>mine</html>");
    }
}
