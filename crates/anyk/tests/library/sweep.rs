//! Sweeps: what a specification may contain, and that the table does not depend on who computes which slice.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use anyk::exchange::{Origin, to_json};
use anyk::framework::{Observer, Share, Silent, Value};
use anyk::sweep::{SliceResult, Sweep};

/// Specification with two sizes and two seeds, and two blocks of instances for each size.
const SMALL: &str = r#"
problem = "urllc"
policies = ["m-gnn", "optimum", "equal-power"]
k = "1,40"
samples = 1200
seeds = [1, 2]
[options]
max_power_dbm = ["40W"]
[train]
samples = 30
[train.m-gnn]
epsilon-d = [6e-6]
"#;

fn refused(spec: &str) -> String {
    let checked = Sweep::parse(spec).and_then(|sweep| sweep.check());
    assert!(checked.is_err(), "accepted: {spec}");
    checked.unwrap_err().to_string()
}

/// A specification of equal power with another line.
fn with(line: &str) -> String {
    let mut lines = vec!["problem = 'urllc'", "policies = 'equal-power'", "k = 1"];
    let key = line.split([' ', '=']).next().unwrap();
    lines.retain(|known| known.split(' ').next().unwrap() != key);
    lines.insert(0, line);
    // A table must come last.
    lines.sort_by_key(|line| line.starts_with('['));
    lines.join("\n")
}

#[test]
fn bad_specifications_are_refused_with_the_fix() {
    let long = format!("k = '{}'", "1,".repeat(600_000));
    for (line, says) in [
        ("polices = ['price']", "polices is unknown; did you mean policies?"),
        ("colour = 1", "a key is colour, expected one of problem, policies, k, samples"),
        ("problem = 'urlc'", "problem is urlc, expected one of urllc, urllc-power"),
        ("problem = 3", "problem is 3, expected the name of a problem"),
        ("policies = []", "policies is [], expected names of policies: p-gnn, m-gnn"),
        ("policies = ['pgnn']", "did you mean p-gnn?"),
        ("policies = ['equal_power']", "did you mean equal-power?"),
        ("policies = ['optimum', 'optimum']", "expected each policy only once"),
        ("policies = [7]", "policies is 7"),
        ("k = []", "k is [], expected a whole number, an array"),
        ("k = 0", "k is 0, expected numbers from 1 to 10000000"),
        ("k = -5", "k is -5, expected numbers from 1"),
        ("k = 1.5", "k is 1.5, expected a whole number"),
        ("k = '1,x'", "k is x, expected numbers from 1"),
        ("k = '1-100000000'", "k is 1-100000000, expected numbers from 1 to 10000000"),
        ("k = '1-10000000'", "expected a list of at most 10000 numbers"),
        ("k = [[1]]", "k is [[1]]"),
        ("k = nan", "k is nan"),
        (&long, "longer than 1048576 bytes"),
        ("samples = 0", "samples is 0, expected a whole number from 1 to 16777216"),
        ("samples = 1e300", "expected a whole number from 1 to 16777216"),
        ("samples = 'many'", "samples is \"many\""),
        ("samples = [1, 2]", "samples is [1, 2]"),
        ("seeds = '5..1'", "seeds is 5-1"),
        ("seeds = {}", "seeds is {}"),
        ("test_seed = -1", "test_seed is -1, expected a whole number from 0"),
        ("options = 3", "options is 3, expected a table"),
        ("options.max-power-dmb = 3", "max_power_dmb is unknown; did you mean max_power_dbm?"),
        ("options.colour = 3", "colour does not apply to instances of urllc; remove it"),
        ("options.k = 3", "k does not apply"),
        ("options.max-power-dbm = []", "max_power_dbm is an empty array"),
        ("options.max-power-dbm = [1, 1]", "max_power_dbm is 1, expected each value only once"),
        ("options.max-power-dbm = nan", "max_power_dbm is nan"),
        ("options.max-power-dbm = 4000", "max_power_dbm is 4000, expected"),
        ("options.max-power-dbm = '5 m'", "max_power_dbm is 5 m"),
        ("options.max-power-dbm = {a = 1}", "max_power_dbm is { a = 1 }"),
        ("options.max-power-dbm = 1979-05-27", "max_power_dbm is 1979-05-27"),
        ("options.max-power-dbm = true", "max_power_dbm is true"),
        ("options.config = 'nosuch.toml'", "nosuch.toml: cannot read"),
        ("train.samples = 3", "train does not apply to policies that need no training"),
        ("k = [1", "TOML parse error"),
        ("k = 1\nk = 2", "duplicate key"),
    ] {
        let error = refused(&with(line));
        assert!(error.contains(says), "{line}: {error}");
        assert!(error.len() < 700, "{line}: {error}");
    }
    let options = "[options]\nmax-power-dbm = 1\nmax_power_dbm = 2";
    assert!(refused(&with(options)).contains("max_power_dbm is given twice"));
    assert_eq!(refused("k = 1"), "problem is missing, expected the name of a problem");
    assert!(refused("{\"k\": null}").contains("null"));
    let many: Vec<String> = (0..101).map(|i| (i + 1).to_string()).collect();
    let many = many.join(",");
    let options = format!("[options]\nantennas = [{many}]\narrival-rate = [{many}]");
    assert!(refused(&with(&options)).contains("the number of combinations of options is 10201"));
    let many = "problem = 'urllc'\npolicies = 'optimum'\nk = '1000-9999'\nsamples = 1e6";
    assert!(refused(many).contains("the number of slices is"));
    assert!(
        refused("problem = 'interference'\npolicies = 'wmmse'\nk = 30000")
            .contains("at most 20000 links")
    );
}

#[test]
fn bad_training_options_are_refused_before_the_start() {
    let train =
        |line: &str| format!("problem = 'urllc'\npolicies = ['price', 'm-gnn']\nk = 1\n{line}");
    for (line, says) in [
        ("train.epsilon-d = 1e-6", "epsilon_d does not apply to price"),
        ("train.m-gnn.epsilon-d = 2", "epsilon_d is 2, expected"),
        ("train.m-gnn.epsilon-d = [6e-6, 2]", "epsilon_d is 2, expected"),
        (
            "train.p-gnn.epsilon-d = 6e-6",
            "a table in train is p-gnn, expected the name of a trained",
        ),
        ("train.seed = 3", "seed does not apply to the training of urllc; policies and seeds have"),
        ("train.method = 'price'", "method does not apply"),
        ("train.trian-k = 3", "trian_k is unknown; did you mean train_k?"),
        ("train.train-k = '5,x'", "train_k is 5,x, expected"),
        ("train.m-gnn.preset = 'slow'", "preset is slow, expected fast, paper"),
    ] {
        let error = refused(&train(line));
        assert!(error.contains(says), "{line}: {error}");
    }
    Sweep::parse(&train("train.m-gnn.epsilon-d = 1e-6")).unwrap().check().unwrap();
}

/// JSON with the same fields is the same specification.
#[test]
fn json_is_accepted() {
    let json = r#"{"problem": "urllc", "policies": ["m-gnn", "optimum", "equal-power"], "k": [1, 40],
        "samples": 1200, "seeds": "1..2", "options": {"max-power-dbm": ["40W"]},
        "train": {"samples": 30, "m-gnn": {"epsilon_d": [6e-6]}}}"#;
    assert_eq!(Sweep::parse(json).unwrap().settings(), Sweep::parse(SMALL).unwrap().settings());
    let other = Sweep::parse(&json.replace("1200", "1201")).unwrap();
    assert_ne!(other.settings(), Sweep::parse(SMALL).unwrap().settings());
}

/// Slices that other processes computed, in another order and on one thread each, give the same table.
#[test]
fn the_table_does_not_depend_on_the_split() {
    let sweep = Sweep::parse(SMALL).unwrap();
    let whole = sweep.run_all(&Share::default(), &Silent).unwrap();
    // Two seeds of one method, and two policies with two blocks at each size.
    assert_eq!(sweep.alike(), [2; 5]);
    assert_eq!(sweep.slices(), 10);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let compute = |slice| {
        let other = Sweep::parse(SMALL).unwrap();
        to_json(&pool.install(|| other.run(slice, &Silent)).unwrap()).unwrap()
    };
    let mut results: Vec<String> = (0..sweep.slices()).rev().map(compute).collect();
    results.reverse();
    let read = |text: &String| serde_json::from_str::<SliceResult>(text).unwrap();
    assert_eq!(sweep.table(results.iter().map(read)).unwrap(), whole);
    // Exact sums: every number is the same, bit for bit.
    assert_eq!(
        to_json(&whole).unwrap(),
        to_json(&sweep.table(results.iter().map(read)).unwrap()).unwrap()
    );
    let missing = sweep.table(results[1..].iter().map(read)).unwrap_err().to_string();
    assert!(missing.contains("missing"), "{missing}");
    let column = |name: &str| {
        let place = whole.columns.iter().position(|column| column.head == name).unwrap();
        whole.rows.iter().map(|row| row[place].clone()).collect::<Vec<_>>()
    };
    assert_eq!(column("max_power_dbm"), vec![Value::Text("40W".into()); 8]);
    assert_eq!(column("seed")[..4], [1, 1, 2, 2].map(Value::Whole));
    assert_eq!(column("epsilon_d")[0], Value::Number(6e-6));
    assert_eq!(column("instances"), vec![Value::Whole(1200); 8]);
    assert_eq!(*column("seed").last().unwrap(), Value::Empty);
}

/// Observer that stops after a number of slices.
struct StopsAfter(AtomicU64);

impl Observer for StopsAfter {
    fn done(&self, _: u64) {
        let _ =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    }

    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// After an interruption, only the missing slices are computed.
#[test]
fn an_interrupted_sweep_is_continued() {
    let spec =
        "problem = 'urllc'\npolicies = ['optimum', 'equal-power']\nk = [1, 5]\nsamples = 4000";
    let sweep = Sweep::parse(spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin {
        program: "test".into(),
        arguments: vec![sweep.settings().into()],
        files: BTreeMap::new(),
        shard: 1,
        of: 1,
    };
    let open = || Share::part(folder.path(), &origin).unwrap().unwrap();
    let stopped = sweep.run_all(&open(), &StopsAfter(AtomicU64::new(3)));
    assert_eq!(stopped.unwrap_err().to_string(), "interrupted");
    let share = open();
    let missing = (0..sweep.slices()).filter(|slice| share.is_missing(*slice)).count();
    assert!((1..=13).contains(&missing), "{missing}");
    let table = sweep.run_all(&share, &Silent).unwrap();
    assert_eq!(table, sweep.run_all(&Share::default(), &Silent).unwrap());
    drop(share);
    let (merged, _) = Share::parts(folder.path()).unwrap();
    assert_eq!(table, sweep.run_all(&merged, &Silent).unwrap());
}

/// Shards that together compute all slices have the same table as one run.
#[test]
fn shards_merge_to_the_same_table() {
    let spec =
        "problem = 'interference'\npolicies = ['wmmse', 'full-power']\nk = [3, 40]\nsamples = 1500";
    let sweep = Sweep::parse(spec).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for shard in [3, 1, 2] {
        let settings = vec![sweep.settings().to_owned()];
        let (program, files) = ("test".to_owned(), BTreeMap::new());
        let origin = Origin { program, arguments: settings, files, shard, of: 3 };
        let share = Share::part(folder.path(), &origin).unwrap().unwrap();
        let ended = sweep.run_all(&share, &Silent).unwrap_err().to_string();
        assert!(ended.contains(&format!("shard {shard}/3 is complete")), "{ended}");
    }
    let (merged, _) = Share::parts(folder.path()).unwrap();
    let table = sweep.run_all(&merged, &Silent).unwrap();
    assert_eq!(table, sweep.run_all(&Share::default(), &Silent).unwrap());
    assert_eq!(table.chart.unwrap().series.len(), 2);
}

/// A training run that fails is a row, and the sweep goes on.
#[test]
fn failures_are_rows() {
    let spec = "problem = 'urllc'\npolicies = ['m-gnn', 'optimum']\nk = [1, 2]\nsamples = 5\n\
                [options]\nmax-power-dbm = [-60, 43]\n[train]\nsamples = 20";
    let table = Sweep::parse(spec).unwrap().run_all(&Share::default(), &Silent).unwrap();
    let status: Vec<String> = table.rows.iter().map(|row| row.last().unwrap().text("{}")).collect();
    assert_eq!(status.len(), 8);
    assert!(status[0].starts_with("error: the power budget cannot serve"), "{status:?}");
    assert_eq!(status[0], status[1]);
    assert!(
        !status[2].starts_with("error") && status[4..].iter().all(|one| one == "ok"),
        "{status:?}"
    );
    let place = table.columns.iter().position(|column| column.head == "infeasible").unwrap();
    assert_eq!(table.rows[4][place], Value::Whole(5));
}
