//! What `--out` may be: checked before any work, and nobody's file is overwritten unasked.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::time::{Duration, Instant};

use crate::common::run;

/// A training that takes minutes.
const LONG: [&str; 6] = ["train", "urllc", "--method", "fnn", "--preset", "paper"];

/// The shortest of some runs: machines of tests are busy with other things.
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
    let neither = "expected a new file, or one that this program wrote: it is neither; --force";
    for (out, code, words) in [
        (foreign.as_str(), 2, neither),
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
        // So does a calibration, and it needs no model for that.
        let calibration = run(&["calibrate", "/no/such/model", "--out", out], "");
        assert_eq!(calibration.code, code, "{out}: {}", calibration.stderr);
        assert!(calibration.stderr.contains(words), "{out}: {}", calibration.stderr);
        // A hundred million users would take long as well.
        let sample = ["sample", "urllc", "--k", "10000000", "--count", "10", "--out", out];
        let drawn = run(&sample, "");
        assert_eq!(drawn.code, code, "{out}: {}", drawn.stderr);
        assert!(drawn.stderr.contains(words), "{out}: {}", drawn.stderr);
        // No device, FIFO or folder is made a file by force.
        if out != foreign {
            let forced = run(&[&args[..], &["--force"]].concat(), "");
            assert_eq!(forced.code, code, "{out}: {}", forced.stderr);
        }
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "a letter\n");
    // Nothing is left behind by looking.
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["fifo", "foreign.txt"]);
}

/// Trains a small model, and returns the exit code.
fn train(out: &str, flags: &[&str]) -> i32 {
    let args = ["train", "urllc", "--method", "m-gnn", "--samples", "20", "--out", out];
    run(&[&args[..], flags].concat(), "").code
}

#[test]
fn a_model_replaces_ours_and_others_by_force_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str| fs::read(name).unwrap();
    let (model, other, empty) = (path("model"), path("other.safetensors"), path("empty"));
    assert_eq!(train(&model, &[]), 0);
    let first = read(&model);
    assert_eq!(train(&model, &["--seed", "2"]), 0);
    assert_ne!(read(&model), first);
    assert_eq!(train(&model, &[]), 0);
    assert_eq!(read(&model), first);
    // A model of another problem is ours too, and so is an empty file.
    assert_eq!(run(&["train", "qos-power", "--samples", "20", "--out", &model], "").code, 0);
    fs::write(&empty, "").unwrap();
    assert_eq!(train(&empty, &[]), 0);
    assert_eq!(read(&empty), first);
    // Somebody else's weights, in the same format; a letter; bytes.
    let foreign = b"\x20\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}";
    for content in [&foreign[..], b"a letter to anyk\n", b"{\"a\":1}", &[0xff; 1000]] {
        fs::write(&other, content).unwrap();
        assert_eq!(train(&other, &[]), 2);
        assert_eq!(read(&other), content);
        let calibrate = ["calibrate", &empty, "--cells", "300", "--beta", "0.01", "--out", &other];
        assert_eq!(run(&calibrate, "").code, 2);
        assert_eq!(read(&other), content);
        assert_eq!(train(&other, &["--force"]), 0);
        assert_eq!(read(&other), first);
        fs::write(&other, content).unwrap();
        let forced = run(&[&calibrate[..], &["--force"]].concat(), "");
        assert_eq!(forced.code, 0, "{}", forced.stderr);
        assert_ne!(read(&other), content);
    }
    // A model may be calibrated in its place.
    let calibrate = ["calibrate", &empty, "--cells", "300", "--beta", "0.01", "--out", &empty];
    assert_eq!(run(&calibrate, "").code, 0);
    assert_ne!(read(&empty), first);
}

/// The bytes that NumPy itself writes for an array of three numbers.
fn numpy_array() -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\0\x76\0".to_vec();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend([0; 24]);
    bytes
}

#[test]
fn samples_replace_ours_and_others_by_force_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let array = numpy_array();
    let users = ["sample", "urllc", "--k", "3"];
    let table: [(&[&str], &[u8]); 6] = [
        (&users, br#"{"name":"somebody's"}"#),
        (&[&users[..], &["--format", "csv"]].concat(), b"id,name\n1,somebody\n"),
        (&["sample", "interference", "--k", "3"], b"[[1]]"),
        (&["sample", "link-scheduling", "--k", "3", "--format", "npy"], &array),
        (&["sample", "fading", "--law", "rayleigh", "--count", "3"], b"{}"),
        (&["sample", "fading", "--law", "rayleigh", "--count", "3", "--format", "npy"], &array),
    ];
    for (command, foreign) in table {
        let _ = fs::remove_file(&out);
        let written = [command, &["--out", &out]].concat();
        let other = [&written[..], &["--seed", "5"]].concat();
        assert_eq!(run(&written, "").code, 0, "{command:?}");
        let first = fs::read(&out).unwrap();
        assert_eq!(run(&other, "").code, 0, "{command:?}");
        assert_ne!(fs::read(&out).unwrap(), first, "{command:?}");
        fs::write(&out, foreign).unwrap();
        let refused = run(&written, "");
        assert_eq!(refused.code, 2, "{command:?}");
        assert!(refused.stderr.contains("--force overwrites it"), "{}", refused.stderr);
        assert_eq!(fs::read(&out).unwrap(), foreign, "{command:?}");
        assert_eq!(run(&[&written[..], &["--force"]].concat(), "").code, 0, "{command:?}");
        assert_eq!(fs::read(&out).unwrap(), first, "{command:?}");
    }
    // Without a file there is nothing to force.
    let stray = run(&[&users[..], &["--force"]].concat(), "");
    assert!(stray.code == 2 && stray.stderr.contains("--out"), "{}", stray.stderr);
}

/// The same command again writes the same file again, in every form; somebody else's stays.
#[test]
fn answers_replace_ours_and_others_by_force_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        path(name)
    };
    let users = "\"users\":[{\"id\":\"a\",\"distance_m\":60}]}\n";
    let one = write("one", &format!("{{{users}"));
    let extra = write("extra", &format!("{{\"site\":[1,2],{users}{{\"cell\":\"b\",{users}"));
    let table = write("table.csv", "cell,id,distance_m\na,1,60\nb,2,-1\n");
    let bad = write("bad", "{\"users\":[]}\n");
    let gains = write("gains", "[[1,0.1],[0.2,1]]");
    let named = write("named", "{\"cell\":\"lab\",\"gains\":[[1,0.1],[0.2,1]]}");
    let given =
        write("given", "{\"users\":[{\"power_w\":1,\"bandwidth_hz\":2e5}]}\n{\"error\":\"no\"}\n");
    let (solve, links) = (["solve", "urllc", "--input"], ["solve", "interference", "--input"]);
    let assess = ["assess", "urllc", "--allocations", &given, "--input"];
    let power = ["solve", "urllc-power", "--max-bandwidth-hz", "3e5", "--input"];
    let commands: [(&[&str], &str, i32); 9] = [
        (&solve, &one, 0),
        (&solve, &extra, 0),
        (&solve, &table, 2),
        (&solve, &bad, 2),
        (&[&solve[..2], &["--max-power-dbm", "-40", "--input"]].concat(), &one, 3),
        (&power, &one, 0),
        (&links, &gains, 0),
        (&links, &named, 0),
        (&assess, &extra, 3),
    ];
    for (command, input, code) in commands {
        for format in ["json", "csv", "table"] {
            let out = path(&format!("out.{format}"));
            let _ = fs::remove_file(&out);
            let whole = [command, &[input, "--format", format, "--out", &out]].concat();
            let first = run(&whole, "");
            assert_eq!(first.code, code, "{whole:?}: {}", first.stderr);
            let written = fs::read(&out).unwrap();
            let second = run(&whole, "");
            assert_eq!(second.code, code, "{whole:?}: {}", second.stderr);
            assert_eq!(fs::read(&out).unwrap(), written, "{whole:?}");
        }
    }
    // People's own files, also such as look like ours: their cells, tables and notes.
    for foreign in [
        "cell,id,distance_m\na,1,60\n",
        "cell,status\na,on\n",
        "{\"cell\":\"a\",\"users\":[{\"distance_m\":60}]}\n",
        "{\"status\":\"ok\",\"jobs\":3}\n",
        "cell north\nuser   power (W)\n",
        "# answers of mine\n",
    ] {
        let out = write("foreign", foreign);
        let refused = run(&[&solve[..], &[&one, "--json", "--out", &out]].concat(), "");
        assert_eq!(refused.code, 2, "{foreign}");
        assert!(refused.stderr.contains("error: --out is "), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(&out).unwrap(), foreign);
    }
    // Whatever flag named it.
    for flag in ["--csv", "--plot"] {
        let out = path("foreign");
        let refused = run(&["evaluate", "optimum", "--problem", "urllc", flag, &out], "");
        let words = format!("error: {flag} is {out}, expected a new file");
        assert!(refused.code == 2 && refused.stderr.contains(&words), "{}", refused.stderr);
    }
}

/// The checkpoint's place is looked at as well, and what was set aside before is not lost.
#[test]
#[cfg(unix)]
fn a_checkpoint_has_a_place_and_takes_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("model.checkpoint")).unwrap();
    let refused = run(&[&LONG[..], &["--out", &path("model")]].concat(), "");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("model.checkpoint can be written"), "{}", refused.stderr);
    let long = path(&"n".repeat(250));
    let refused = run(&[&LONG[..], &["--out", &long]].concat(), "");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    fs::write(path("other.checkpoint"), "second").unwrap();
    fs::write(path("other.checkpoint.unused"), "first").unwrap();
    assert_eq!(train(&path("other"), &[]), 0);
    assert_eq!(fs::read_to_string(path("other.checkpoint.unused")).unwrap(), "first");
    assert_eq!(fs::read_to_string(path("other.checkpoint.unused.2")).unwrap(), "second");
    // Nothing is left to continue where nobody can be served.
    let none = path("none");
    let hopeless = ["--method", "any-gnn", "--max-power-dbm", "-20", "--out", &none];
    assert_eq!(run(&[&["train", "urllc", "--samples", "50"], &hopeless[..]].concat(), "").code, 3);
    assert!(!folder.path().join("none.checkpoint").exists());
}
