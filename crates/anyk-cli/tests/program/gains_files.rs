//! People's own networks through the real binary: every format with gains, weights, noise and largest powers, flags
//! beside them, and files that are damaged or hostile.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Outcome, gathered, run};

/// Three links; not symmetric, so that a matrix read the wrong way round shows.
const GAINS: [f64; 9] = [1.0, 0.1, 0.3, 0.2, 0.9, 0.05, 0.4, 0.15, 1.2];
const WEIGHTS: [f64; 3] = [1.0, 0.5, 4.0];
const NOISE: [f64; 3] = [0.1, 0.2, 0.05];
const MAX_POWER: [f64; 3] = [2.0, 1.0, 3.0];

fn solve(file: &Path, flags: &[&str]) -> Outcome {
    let command = ["solve", "interference", "--json", "--input", file.to_str().unwrap()];
    run(&[&command[..], flags].concat(), "")
}

fn answer(file: &Path, flags: &[&str]) -> Value {
    let outcome = solve(file, flags);
    assert_eq!(outcome.code, 0, "{}: {}", file.display(), outcome.stderr);
    gathered(&outcome.stdout)
}

/// The file is refused in words that name it, and what is wrong.
fn refused(file: &Path, flags: &[&str], words: &[&str]) {
    let outcome = solve(file, flags);
    assert_eq!(outcome.code, 2, "{}: {}", file.display(), outcome.stderr);
    assert!(!outcome.stdout.contains("status"), "{}", outcome.stdout);
    assert!(outcome.stderr.len() < 700, "{}", outcome.stderr);
    for word in words {
        assert!(outcome.stderr.contains(word), "{word:?} not in {}", outcome.stderr);
    }
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A NumPy array.
fn npy(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
}

fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, array) in arrays {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(array).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// How a `.mat` is written.
#[derive(Clone, Copy)]
struct Mat {
    big: bool,
    packed: bool,
}

const PLAIN: Mat = Mat { big: false, packed: false };

impl Mat {
    fn four(self, value: usize) -> [u8; 4] {
        let value = u32::try_from(value).unwrap();
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn element(self, kind: usize, data: &[u8]) -> Vec<u8> {
        let mut element = [&self.four(kind)[..], &self.four(data.len()), data].concat();
        element.resize(element.len().next_multiple_of(8), 0);
        element
    }

    /// A small element: up to four bytes in the tag.
    fn small(self, kind: usize, data: &[u8]) -> Vec<u8> {
        let mut element = self.four(data.len() << 16 | kind).to_vec();
        element.extend(data);
        element.resize(8, 0);
        element
    }

    /// A variable whose numbers are stored as type `kind`.
    fn variable(
        self,
        name: &str,
        class: usize,
        axes: &[usize],
        (kind, data): (usize, &[u8]),
    ) -> Vec<u8> {
        let axes: Vec<u8> = axes.iter().flat_map(|&axis| self.four(axis)).collect();
        let flags = [self.four(class), self.four(0)].concat();
        let name = if name.len() <= 4 {
            self.small(1, name.as_bytes())
        } else {
            self.element(1, name.as_bytes())
        };
        let data = if data.len() <= 4 { self.small(kind, data) } else { self.element(kind, data) };
        let whole = [self.element(6, &flags), self.element(5, &axes), name, data].concat();
        let whole = self.element(14, &whole);
        if self.packed { self.pack(&whole) } else { whole }
    }

    fn pack(self, element: &[u8]) -> Vec<u8> {
        let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        stream.write_all(element).unwrap();
        let stream = stream.finish().unwrap();
        [&self.four(15)[..], &self.four(stream.len()), &stream].concat()
    }

    fn doubles(self, values: &[f64]) -> Vec<u8> {
        let one = |value: &f64| if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        values.iter().flat_map(one).collect()
    }

    fn double(self, name: &str, axes: &[usize], values: &[f64]) -> Vec<u8> {
        self.variable(name, 6, axes, (9, &self.doubles(values)))
    }

    fn file(self, variables: &[Vec<u8>]) -> Vec<u8> {
        let mut file = b"MATLAB 5.0 MAT-file, written by a test".to_vec();
        file.resize(124, b' ');
        file.extend(if self.big { *b"\x01\x00MI" } else { *b"\x00\x01IM" });
        file.extend(variables.concat());
        file
    }
}

/// MATLAB's order: the first index fastest.
fn by_columns(values: &[f64]) -> Vec<f64> {
    (0..9).map(|at| values[3 * (at % 3) + at / 3]).collect()
}

fn json_network() -> Value {
    let rows: Vec<&[f64]> = GAINS.chunks(3).collect();
    json!({"gains": rows, "weights": WEIGHTS, "noise": NOISE, "max_power": MAX_POWER})
}

/// All files and flags that say the same give the same answer, to the last bit.
#[test]
fn every_format_is_the_same_network() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let expected = answer(&write("all.json", json_network().to_string().as_bytes()), &[]);
    let instance = &expected["instances"][0];
    let (rates, weighted) = (&instance["sum_rate_bits"], &instance["weighted_sum_rate_bits"]);
    assert!(weighted.as_f64().unwrap() > rates.as_f64().unwrap());
    let power: Vec<f64> = serde_json::from_value(instance["power"].clone()).unwrap();
    assert!(power.iter().zip(MAX_POWER).all(|(power, most)| (0.0..=most).contains(power)));
    let c = |shape: &str, values: &[f64]| npy("<f8", "False", shape, &bytes(values));
    let each = [("weights", WEIGHTS), ("noise", NOISE), ("max_power", MAX_POWER)];
    let with_gains = |gains: Vec<u8>| {
        let mut arrays = vec![("gains", gains)];
        arrays.extend(each.map(|(name, values)| (name, c("(3,)", &values))));
        npz(&arrays)
    };
    let fortran = npy("<f8", "True", "(3, 3)", &bytes(&by_columns(&GAINS)));
    let big: Vec<u8> = GAINS.iter().flat_map(|gain| gain.to_be_bytes()).collect();
    let mut files = vec![
        write("c.npz", &with_gains(c("(3, 3)", &GAINS))),
        write("fortran.npz", &with_gains(fortran.clone())),
        write("big.npz", &with_gains(npy(">f8", "False", "(1, 3, 3)", &big))),
    ];
    // By another name, the only one that fits, and the numbers of the links as a row of one network.
    let mut arrays = vec![("h", c("(3, 3)", &GAINS)), ("note", c("(4,)", &[0.0; 4]))];
    arrays.extend(each.map(|(name, values)| (name, c("(1, 3)", &values))));
    files.push(write("other.npz", &npz(&arrays)));
    for mat in [false, true]
        .into_iter()
        .flat_map(|big| [Mat { big, packed: false }, Mat { big, packed: true }])
    {
        let name = format!("{}-{}.mat", mat.big, mat.packed);
        let gains = by_columns(&GAINS);
        // A row, a column, and axes that MATLAB never leaves out.
        let variables = [
            mat.variable("text", 4, &[1, 2], (4, &[0, 65, 0, 66])),
            mat.double("gains", &[3, 3], &gains),
            mat.double("weights", &[1, 3], &WEIGHTS),
            mat.double("noise", &[3, 1], &NOISE),
            mat.double("max_power", &[1, 3, 1], &MAX_POWER[..]),
        ];
        // Three axes are no numbers of links.
        refused(
            &write("axes.mat", &mat.file(&variables)),
            &[],
            &["axes.mat: max_power has the shape [1, 3, 1]"],
        );
        let [text, gains, weights, noise, _] = variables;
        let max_power = mat.double("max_power", &[1, 3], &MAX_POWER);
        files.push(write(&name, &mat.file(&[text, gains, weights, noise, max_power])));
    }
    for file in &files {
        assert_eq!(answer(file, &[]), expected, "{}", file.display());
    }
    // Gains alone, the rest by flags: lists, and files of three kinds.
    let rows: Vec<String> = GAINS
        .chunks(3)
        .map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
        .collect();
    let text = |separator: &str| rows.join("\n").replace(',', separator);
    let gains = [
        write("comma.csv", text(",").as_bytes()),
        write(
            "semicolon.csv",
            format!("# gains\r\n\r\n{}\r\n", text(";").replace('\n', "\r\n")).as_bytes(),
        ),
        write("tab.txt", text("\t").as_bytes()),
        write("spaces.txt", text("   ").as_bytes()),
        write(
            "quoted.csv",
            text("\",\"")
                .lines()
                .fold(String::new(), |all, line| all + &format!("\"{line}\"\n"))
                .as_bytes(),
        ),
        write("c.npy", &c("(3, 3)", &GAINS)),
        write("fortran.npy", &fortran),
        write("alone.npz", &npz(&[("arr_0", c("(3, 3)", &GAINS))])),
        write("alone.mat", &PLAIN.file(&[PLAIN.double("h", &[3, 3], &by_columns(&GAINS))])),
        write(
            "alone.json",
            json!({"gains": GAINS.chunks(3).collect::<Vec<_>>()}).to_string().as_bytes(),
        ),
    ];
    let weights = write("weights.csv", b"1\n0.5\n4\n");
    let noise = write("noise.json", b"[0.1, 0.2, 0.05]");
    let most = write("most.npy", &c("(3,)", &MAX_POWER));
    let [weights, noise, most] = [&weights, &noise, &most].map(|path| path.to_str().unwrap());
    for file in &gains {
        for flags in [
            ["--weights", "1,0.5,4", "--noise", "0.1,0.2,0.05", "--p-max", "2,1,3"],
            ["--weights", weights, "--noise", noise, "--p-max", most],
        ] {
            assert_eq!(answer(file, &flags), expected, "{}", file.display());
        }
    }
    // Said twice, it is not clear what holds.
    let words = ["c.npz: instance 0: noise stands in the file, and --noise says another"];
    refused(&files[0], &["--noise", "2"], &words);
}

/// N networks with weights of each, of all, and one for all; integers as MATLAB and NumPy store them.
#[test]
fn several_networks_and_other_types() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let lines = |networks: [Value; 2]| networks.map(|network| network.to_string()).join("\n");
    let two = |weights: [Value; 2]| {
        let [a, b] = weights;
        lines([
            json!({"gains": [[1, 2], [3, 4]], "weights": a, "noise": 2}),
            json!({"gains": [[5, 6], [7, 8]], "weights": b, "noise": 2}),
        ])
    };
    let rows = answer(&write("rows.json", two([json!([1, 2]), json!([3, 1])]).as_bytes()), &[]);
    assert_eq!(rows["instances"].as_array().unwrap().len(), 2);
    let same = answer(&write("same.json", two([json!([1, 2]), json!([1, 2])]).as_bytes()), &[]);
    let list = json!({"gains": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "weights": [[1, 2], [3, 1]], "noise": 2});
    assert_eq!(answer(&write("list.json", list.to_string().as_bytes()), &[]), rows);
    let whole =
        |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let gains = || ("gains", npy("<i8", "False", "(2, 2, 2)", &whole(&[1, 2, 3, 4, 5, 6, 7, 8])));
    let noise = || ("noise", npy("<i8", "False", "()", &whole(&[2])));
    let weights = ("weights", npy("<i8", "False", "(2, 2)", &whole(&[1, 2, 3, 1])));
    assert_eq!(answer(&write("rows.npz", &npz(&[gains(), weights, noise()])), &[]), rows);
    let weights = ("weights", npy("|u1", "False", "(2,)", &[1, 2]));
    assert_eq!(answer(&write("same.npz", &npz(&[gains(), weights, noise()])), &[]), same);
    for mat in [PLAIN, Mat { big: true, packed: true }] {
        // Doubles stored as bytes, and an array of int16: element (n, k, j) at n + 2·(k + 2·j).
        let gains = mat.variable("gains", 6, &[2, 2, 2], (2, &[1, 5, 3, 7, 2, 6, 4, 8]));
        let short = |value: i16| if mat.big { value.to_be_bytes() } else { value.to_le_bytes() };
        let weights: Vec<u8> = [1, 3, 2, 1].into_iter().flat_map(short).collect();
        let weights = mat.variable("weights", 10, &[2, 2], (3, &weights));
        let noise = mat.variable("noise", 6, &[1, 1], (2, &[2]));
        assert_eq!(answer(&write("rows.mat", &mat.file(&[gains, weights, noise])), &[]), rows);
    }
    // Rows by a flag.
    let file = write("rows.csv", b"1,2\n3,1\n");
    let plain = write(
        "plain.npy",
        &npy("<f8", "False", "(2, 2, 2)", &bytes(&[1., 2., 3., 4., 5., 6., 7., 8.])),
    );
    let flags = ["--weights", file.to_str().unwrap(), "--noise", "2"];
    assert_eq!(answer(&plain, &flags), rows);
    // Weights of 1 are none, in the file and by a flag.
    let none = answer(&plain, &[]);
    assert!(none["instances"][0].get("weighted_sum_rate_bits").is_none());
    assert_eq!(answer(&plain, &["--weights", "1"]), none);
    assert_eq!(answer(&plain, &["--weights", "1,1"]), none);
    // Every method takes them, in both problems, and a table shows them.
    let best = |method: &str| {
        answer(&plain, &[&flags[..], &["--method", method]].concat())["instances"][0]["weighted_sum_rate_bits"]
            .as_f64()
            .unwrap()
    };
    for method in ["wmmse", "fplinq", "greedy"] {
        assert!(best(method) <= best("exact") * 1.2 && best(method) > 0.5 * best("exact"));
    }
    let one = write("one.json", br#"{"gains":[[1,2],[3,4]],"weights":[1,2.5]}"#);
    let text =
        run(&["solve", "interference", "--trace", "--input", one.to_str().unwrap()], "").stdout;
    assert!(
        text.contains("weight\n") && text.contains("2.5") && text.contains("weighted sum rate: "),
        "{text}"
    );
}

/// What goes in, and words that the message must have.
#[test]
fn damaged_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &[u8], words: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        refused(&path, &[], &[&[name][..], words].concat());
    };
    let square = |values: [f64; 4]| npy("<f8", "False", "(2, 2)", &bytes(&values));
    check("header.csv", b"a,b\n1,2\n", &["line 1: column 0 is \"a\", expected a number"]);
    check("ragged.csv", b"1,2\n3\n", &["line 2: row 1 has 1 gains, expected 2"]);
    check("flat.csv", b"1,2\n", &["1 rows of 2 gains"]);
    check("tall.csv", b"1\n2\n", &["line 2: there are more rows than the 1 columns"]);
    check("nan.csv", b"1,nan\n2,3\n", &["row 0, column 1: the gain is NaN"]);
    check("negative.csv", b"1;2\n-3;4\n", &["row 1, column 0: the gain is -3"]);
    check(
        "decimal.csv",
        b"1,5;2\n2;3\n",
        &["line 1: column 0 is \"1,5\", expected a number (numbers have a decimal point"],
    );
    let weighted =
        |weights: Value| json!({"gains": [[1, 2], [3, 4]], "weights": weights}).to_string();
    for (weights, words) in [
        (json!([1]), "instance 0: weights has 1 values, expected 2, one for each link"),
        (json!([1, -2]), "instance 0: weights[1] is -2, expected a number from 0 to 1e100"),
        (json!([0, 0]), "the weights are all 0, expected a positive one"),
        (json!([[1, 2], [1, 2]]), "weights has 2 rows, expected 1, one for each network"),
        (json!("heavy"), "expected a number, a list of numbers"),
        (json!([1, [2]]), "a number and a list in one list"),
        (json!([[[1]]]), "a list of lists of lists"),
        (json!(null), "expected a number"),
    ] {
        check("weights.json", weighted(weights).as_bytes(), &[words]);
    }
    check(
        "noise.json",
        br#"{"gains":[[1]],"noise":0}"#,
        &["noise[0] is 0, expected a positive number"],
    );
    check(
        "typo.json",
        br#"{"gains":[[1]],"weight":[1]}"#,
        &["the key \"weight\" looks like a slip of \"weights\""],
    );
    for (key, meant) in
        [("gain", "gains"), ("maxpower", "max_power"), ("p_max", "max_power"), ("Noise", "noise")]
    {
        let text = json!({"gains": [[1]], key: [1]}).to_string();
        let words = format!("the key {key:?} looks like a slip of {meant:?}");
        check("slip.json", text.as_bytes(), &[&words]);
    }
    check("twice.json", br#"{"gains":[[1]],"noise":1,"noise":1}"#, &["duplicate field `noise`"]);
    let many = json!({"gains": [[[1]], [[2]]], "weights": [[1], [-1]]}).to_string();
    check("second.json", many.as_bytes(), &["instance 1: weights[0] is -1"]);
    // Archives.
    let gains = || ("gains", square([1., 2., 3., 4.]));
    check(
        "none.npz",
        &npz(&[("x", npy("<f8", "False", "(4,)", &[0; 32]))]),
        &["no array is gains", "x"],
    );
    check(
        "many.npz",
        &npz(&[("a", square([1.; 4])), ("b", square([1.; 4]))]),
        &["several arrays", "a, b"],
    );
    check(
        "shape.npz",
        &npz(&[("gains", npy("<f8", "False", "(2, 3)", &[0; 48]))]),
        &["gains has the shape [2, 3]"],
    );
    check(
        "text.npz",
        &npz(&[("gains", npy("<U3", "False", "(2, 2)", &[0; 48]))]),
        &["gains.npy: "],
    );
    check(
        "nan.npz",
        &npz(&[("gains", square([1., f64::NAN, 3., 4.]))]),
        &["gains: instance 0: row 0, column 1"],
    );
    let bad = npz(&[gains(), ("noise", npy("<f8", "False", "(3,)", &bytes(&[1.; 3])))]);
    check("noise.npz", &bad, &["noise has 3 values, expected 2"]);
    let bad = npz(&[gains(), ("weight", npy("<f8", "False", "(2,)", &bytes(&[1.; 2])))]);
    check("slip.npz", &bad, &["the array \"weight\" looks like a slip of \"weights\""]);
    let mut cut = npz(&[gains()]);
    cut.truncate(cut.len() - 30);
    check("cut.npz", &cut, &["not a readable archive"]);
    // MATLAB.
    let gains = |mat: Mat| mat.double("gains", &[2, 2], &[1., 2., 3., 4.]);
    let hdf5 = [&[0; 512][..], b"\x89HDF\r\n\x1a\n", &[0; 100]].concat();
    let mut new = PLAIN.file(&[]);
    new[124..126].copy_from_slice(&[0, 2]);
    new.extend(&hdf5[128..]);
    check("new.mat", &new, &["version 7.3 (HDF5)", "'-v7'"]);
    check("h5.mat", &hdf5[512..], &["version 7.3 (HDF5)"]);
    check("short.mat", &PLAIN.file(&[])[..100], &["128 bytes, but 100 follow"]);
    check("empty.mat", &PLAIN.file(&[]), &["no array is gains", "none"]);
    let slip = PLAIN.double("Noise", &[1, 1], &[1.]);
    check(
        "slip.mat",
        &PLAIN.file(&[slip, gains(PLAIN)]),
        &["\"Noise\" looks like a slip of \"noise\""],
    );
    check("twice.mat", &PLAIN.file(&[gains(PLAIN), gains(PLAIN)]), &["gains stands twice"]);
    for (class, word) in [(1, "cell"), (2, "structure"), (4, "text"), (5, "sparse")] {
        let other = PLAIN.variable("gains", class, &[2, 2], (9, &[0; 32]));
        check("class.mat", &PLAIN.file(&[other]), &["gains: it is ", word]);
    }
    let complex = PLAIN.variable("gains", 6 | 0x800, &[2, 2], (9, &[0; 32]));
    check("complex.mat", &PLAIN.file(&[complex]), &["gains: it is complex", "abs(h).^2"]);
    let deep = PLAIN.double("gains", &[2, 2, 3], &[1.; 12]);
    check(
        "order.mat",
        &PLAIN.file(&[deep]),
        &["gains has the shape [2, 2, 3]", "permute(gains,[3 1 2])"],
    );
    let kind = PLAIN.variable("gains", 6, &[2, 2], (16, &[0; 32]));
    check("kind.mat", &PLAIN.file(&[kind]), &["its content is of type 16"]);
    let negative = PLAIN.variable("gains", 6, &[u32::MAX as usize, 2], (9, &[0; 32]));
    check("axes.mat", &PLAIN.file(&[negative]), &["gains: the shape is [18446744073709551615, 2]"]);
    let value = PLAIN.double("gains", &[2, 2], &[1., 2., -3., 4.]);
    check(
        "value.mat",
        &PLAIN.file(&[value]),
        &["gains: instance 0: row 0, column 1: the gain is -3"],
    );
    // Cut anywhere, and with a byte changed anywhere, plain and packed: an answer or an error, never a panic.
    for mat in [PLAIN, Mat { big: true, packed: true }] {
        let whole = mat.file(&[mat.double("weights", &[1, 2], &[1., 2.]), gains(mat)]);
        for end in (129..whole.len()).step_by(17) {
            let path = folder.path().join("cut.mat");
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(solve(&path, &[]).code, 2, "cut at {end} of {}", whole.len());
        }
    }
    let mut flipped = Mat { packed: true, ..PLAIN }.file(&[gains(Mat { packed: true, ..PLAIN })]);
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    check("checksum.mat", &flipped, &["cannot be unpacked"]);
}

/// What else stands beside the gains is nobody's business, and comes back where it can.
#[test]
fn whatever_else_is_in_a_file_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let plain = answer(&write("plain.json", b"{\"gains\":[[1,0.1],[0.2,0.9]]}"), &[]);
    let square = npy("<f8", "False", "(2, 2)", &bytes(&[1., 0.1, 0.2, 0.9]));
    let arrays = [
        ("gains", square),
        ("positions", npy("<f8", "False", "(2, 3)", &[0; 48])),
        ("note", b"text".to_vec()),
    ];
    assert_eq!(answer(&write("more.npz", &npz(&arrays)), &[]), plain);
    let mat = PLAIN.file(&[
        PLAIN.double("positions", &[2, 3], &[0.; 6]),
        PLAIN.double("gains", &[2, 2], &[1., 0.2, 0.1, 0.9]),
    ]);
    assert_eq!(answer(&write("more.mat", &mat), &[]), plain);
    let more = br#"{"site":{"x":[1,2]},"gains":[[1,0.1],[0.2,0.9]],"instances":4,"cell":"lab"}"#;
    let found = answer(&write("more.json", more), &[]);
    assert_eq!(found["instances"], plain["instances"]);
    assert_eq!((&found["cell"], &found["site"]["x"][1]), (&json!("lab"), &json!(2)));
    assert_eq!(found["input_instances"], 4);
    let table = run(&["solve", "interference", "--format", "csv", "--input", "-"], &more[..]);
    assert!(table.stdout.contains("\nlab,0,1,1,"), "{}", table.stdout);
    refused(
        &write("name.json", br#"{"cell":[1],"gains":[[1]]}"#),
        &[],
        &["expected a name or a whole number"],
    );
    // As much of it as fits.
    let long = format!("{{\"gains\":[[1]],\"x\":\"{}\"}}", "y".repeat(600_000));
    let words = ["long.json: instance 0: the gains in it would take", "budget of 1 MiB"];
    refused(&write("long.json", long.as_bytes()), &["--max-memory", "1MiB"], &words);
}

/// Headers and elements that claim what cannot be.
#[test]
fn absurd_claims_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &[u8], words: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        refused(&path, &["--max-memory", "64MB"], &[&[name][..], words].concat());
    };
    for (shape, words) in [
        ("(99999999999999999999, 1)", "is not that of a plain array"),
        ("(4294967296, 4294967296)", "is not that of a plain array"),
        ("(1000000, 1000000)", "but 32 follow the header"),
        ("(0, 0)", "expected at least one link"),
        ("(-2, 2)", "header"),
        ("(((((((((2,),),),),),),),),)", "is not that of a plain array"),
        ("(2, 2", "header"),
    ] {
        check("shape.npy", &npy("<f8", "False", shape, &[0; 32]), &[words]);
        check("shape.npz", &npz(&[("gains", npy("<f8", "False", shape, &[0; 32]))]), &["gains"]);
    }
    check("type.npy", &npy("<c16", "False", "(1, 1)", &[0; 16]), &["expected float32 or float64"]);
    let mut long = npy("<f8", "False", "(2, 2)", &[0; 32]);
    long[8..10].copy_from_slice(&[0xff, 0xff]);
    check("long.npy", &long, &["longer than the file"]);
    check("magic.npy", b"\x93NUMPY", &["no known version"]);
    // MATLAB: elements that reach beyond the file, streams in streams, tags without end, names and axes that are none.
    let gains = PLAIN.double("gains", &[2, 2], &[1., 2., 3., 4.]);
    let mut beyond = PLAIN.file(std::slice::from_ref(&gains));
    beyond[132..136].copy_from_slice(&[0xff; 4]);
    check("beyond.mat", &beyond, &["4294967295 bytes, but"]);
    let inner = PLAIN.pack(&PLAIN.pack(&gains));
    check("nested.mat", &PLAIN.file(&[inner]), &["the stream is of type 15"]);
    let mut small = PLAIN.file(std::slice::from_ref(&gains));
    // The tag of the numbers: a small element of more bytes than a tag has.
    let tag = small.len() - 40;
    small[tag..tag + 4].copy_from_slice(&PLAIN.four(32 << 16 | 9));
    check("small.mat", &small, &["gains: 4 numbers of 8 bytes each, but 32"]);
    let axes = PLAIN.variable("gains", 6, &[1 << 20, 1 << 20], (9, &[0; 8]));
    check("axes.mat", &PLAIN.file(&[axes]), &["the gains in it would take"]);
    let many = PLAIN.variable("gains", 6, &[1; 40], (9, &[0; 8]));
    check("many.mat", &PLAIN.file(&[many]), &["its shape is of type 5 with 160 bytes"]);
    // A stream that unpacks to itself for long: elements of nothing, and then none.
    let endless = PLAIN.pack(&PLAIN.element(14, &vec![0; 1 << 24]));
    check("endless.mat", &PLAIN.file(&[endless]), &["endless.mat"]);
}

/// A few kilobytes that unpack to gigabytes are refused before they are unpacked.
#[test]
fn bombs_stay_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &[u8], words: &[&str]| {
        let path = folder.path().join(name);
        assert!(content.len() < 1 << 20, "{} bytes", content.len());
        fs::write(&path, content).unwrap();
        refused(&path, &["--max-memory", "64MB"], &[&[name][..], words].concat());
    };
    // 4000² zeros: 128 MB.
    let size = 4000;
    let zeros = vec![0; 8 * size * size];
    let bomb = npz(&[("gains", npy("<f8", "False", "(4000, 4000)", &zeros))]);
    let words = ["the gains in it would take about", "budget of 64 MB; --max-memory raises it"];
    check("bomb.npz", &bomb, &words);
    let packed = Mat { big: false, packed: true };
    check(
        "bomb.mat",
        &packed.file(&[packed.variable("gains", 6, &[size, size], (9, &zeros))]),
        &words,
    );
    // One small network, and a bomb beside it under a name that is read, and under one that is not.
    let small = || packed.double("gains", &[1, 1], &[1.]);
    let beside = packed.variable("weights", 6, &[1, size * size], (9, &zeros));
    check("beside.mat", &packed.file(&[small(), beside]), &words);
    let other = folder.path().join("other.mat");
    let variables = [packed.variable("other", 6, &[size, size], (9, &zeros)), small()];
    fs::write(&other, packed.file(&variables)).unwrap();
    assert_eq!(solve(&other, &["--max-memory", "64MB"]).code, 0);
    // Axes that are a small matrix, and numbers without end.
    let lying = packed.variable("gains", 6, &[2, 2], (9, &zeros));
    check(
        "lying.mat",
        &packed.file(&[lying]),
        &["gains: 4 numbers of 8 bytes each, but 128000000 bytes follow"],
    );
    // A name without end.
    let name = "x".repeat(1 << 24);
    let named = packed.variable(&name, 6, &[1, 1], (9, &[0; 8]));
    check("name.mat", &packed.file(&[named]), &["its name is of type 1 with 16777216 bytes"]);
    // Axes that claim more than there is: no byte of it is allocated.
    let claims = PLAIN.variable("gains", 6, &[30_000, 30_000], (9, &[0; 32]));
    check("claims.mat", &PLAIN.file(&[claims]), &words);
    let path = folder.path().join("claims.mat");
    refused(&path, &["--max-memory", "1TB"], &["gains: 900000000 numbers of 8 bytes each, but 32"]);
}

/// Flags beside the gains.
#[test]
fn flags_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gains.csv");
    fs::write(&file, "1,0.5\n0.25,2\n").unwrap();
    for (flags, words) in [
        (["--weights", "1,2,3"], "instance 0: weights has 3 values, expected 2"),
        (["--weights", "-1,0"], "--weights is -1,0, expected numbers from 0 to 1e100"),
        (["--weights", "--noise"], "--weights is --noise, expected numbers, or a file"),
        (["--weights", "0,0"], "--weights is 0,0, expected numbers from 0 to 1e100, not all 0"),
        (["--weights", "no-such-file.csv"], "no-such-file.csv: cannot read"),
        (["--noise", "1,0"], "--noise is 1,0, expected positive numbers"),
        (["--p-max", "-1"], "--p-max is -1, expected a positive number"),
    ] {
        refused(&file, &flags, &[words]);
    }
    let bad = folder.path().join("weights.csv");
    fs::write(&bad, "1\nheavy\n").unwrap();
    refused(
        &file,
        &["--weights", bad.to_str().unwrap()],
        &["weights.csv: line 2: column 0 is \"heavy\""],
    );
}

/// `sample --random-weights | solve` and `| allocate`; a model without weights says what to train.
#[test]
fn samples_and_models_with_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sample =
        ["sample", "interference", "--scenario", "d2d", "--k", "6", "--count", "2", "--seed", "3"];
    let plain = run(&sample, "");
    let drawn = run(&[&sample[..], &["--random-weights", "log-uniform"]].concat(), "");
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    for (plain, drawn) in plain.stdout.lines().zip(drawn.stdout.lines()) {
        let (plain, drawn): (Value, Value) =
            (serde_json::from_str(plain).unwrap(), serde_json::from_str(drawn).unwrap());
        assert_eq!(plain["gains"], drawn["gains"]);
        let weights: Vec<f64> = serde_json::from_value(drawn["weights"].clone()).unwrap();
        assert!(weights.len() == 6 && weights.iter().all(|weight| (0.09..10.1).contains(weight)));
    }
    let outcome =
        run(&[&sample[..], &["--random-weights", "exponential", "--format", "npy"]].concat(), "");
    assert_eq!((outcome.code, outcome.stderr.contains("a .npy holds gains alone")), (2, true));
    let solved = run(&["solve", "interference", "--json", "--input", "-"], drawn.stdout.clone());
    let solved = gathered(&solved.stdout);
    let train = |name: &str, flags: &[&str]| {
        let out = path(name);
        let command =
            ["train", "interference", "--scenario", "d2d", "--samples", "20", "--steps", "200"];
        let outcome = run(&[&command[..], flags, &["--train-k", "10", "--out", &out]].concat(), "");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    };
    let (weighted, without) =
        (train("w.safetensors", &["--random-weights", "log-uniform"]), train("p.safetensors", &[]));
    let allocate =
        |model: &str| run(&["allocate", model, "--json", "--input", "-"], drawn.stdout.clone());
    let learned = allocate(&weighted);
    assert_eq!(learned.code, 0, "{}", learned.stderr);
    let learned = gathered(&learned.stdout);
    for (learned, solved) in
        learned["instances"].as_array().unwrap().iter().zip(solved["instances"].as_array().unwrap())
    {
        let rate = |answer: &Value| answer["weighted_sum_rate_bits"].as_f64().unwrap();
        assert!(rate(learned) > 0.8 * rate(solved), "{learned} {solved}");
    }
    let refused = allocate(&without);
    assert_eq!(refused.code, 2);
    let words =
        "standard input: instance 0: the links have weights, and the model was trained without";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    assert!(refused.stderr.contains("anyk train interference --random-weights log-uniform"));
    let outcome = run(&["evaluate", &weighted, "--k", "5,20", "--samples", "3"], "");
    assert!(outcome.stdout.contains("weighted sum rate (bit/s/Hz)"), "{}", outcome.stdout);
}

/// Elements without end, and lists without end in a file of weights.
#[test]
fn many_small_things_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.mat");
    let mut content = PLAIN.file(&[PLAIN.double("gains", &[1, 1], &[1.])]);
    content.extend([0; 8 * 20_000]);
    fs::write(&file, content).unwrap();
    refused(&file, &[], &["many.mat: more than 10000 elements"]);
    let gains = folder.path().join("gains.csv");
    fs::write(&gains, "1,0.5\n0.25,2\n").unwrap();
    let weights = folder.path().join("weights.json");
    fs::write(&weights, format!("[{}1]", "[],".repeat(100_000))).unwrap();
    let flags = ["--max-memory", "1MiB", "--weights", weights.to_str().unwrap()];
    let words = ["weights.json: the numbers in it would take about", "budget of 1 MiB"];
    refused(&gains, &flags, &words);
}
