//! Memory through the program: small files that unpack to any size, and sizes that multiply, are refused before
//! anything of that size is allocated; honest files are read.
//!
//! Each run has an address space of its own size (`ulimit -v`, which takes no rights): whoever allocates more is
//! killed, and that is no exit code that [`common::outcome`] accepts.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use common::{Outcome, shell};
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

/// Runs a command line in a folder with so many MiB of address space, on two threads: each has a stack.
fn limited(mib: u64, line: &str, folder: &Path) -> Outcome {
    let kib = mib * 1024;
    shell(&format!("ulimit -v {kib}; export RAYON_NUM_THREADS=2; \"$ANYK\" {line}"), folder)
}

/// The command is refused as bad input, with all of these words.
#[track_caller]
fn refused(mib: u64, line: &str, folder: &Path, parts: &[&str]) {
    let outcome = limited(mib, line, folder);
    assert_eq!(outcome.code, 2, "{line}: {}", outcome.stderr);
    for part in parts {
        assert!(outcome.stderr.contains(part), "{line}: {part}: {}", outcome.stderr);
    }
}

#[track_caller]
fn done(mib: u64, line: &str, folder: &Path) -> String {
    let outcome = limited(mib, line, folder);
    assert_eq!(outcome.code, 0, "{line}: {}", outcome.stderr);
    outcome.stdout
}

/// The header of an array of float64.
fn header(count: usize) -> Vec<u8> {
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}\n");
    let length = u16::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], text.as_bytes()].concat()
}

/// Bytes of an array of so many numbers whose header claims others.
fn array_bytes(count: usize, claimed: usize) -> u32 {
    u32::try_from(header(claimed).len() + 8 * count).unwrap()
}

/// A NumPy archive of arrays with so many zeros, which deflate packs by a factor of a thousand, and headers that
/// claim so many.
fn npz((count, claimed): (usize, usize), arrays: &[&str]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let block = vec![0; 1 << 20];
    for name in arrays {
        archive
            .start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())
            .unwrap();
        archive.write_all(&header(claimed)).unwrap();
        let mut left = 8 * count;
        while left > 0 {
            let part = left.min(block.len());
            archive.write_all(&block[..part]).unwrap();
            left -= part;
        }
    }
    archive.finish().unwrap().into_inner()
}

/// A Parquet file of so many groups of so many rows, each group of one size K.
fn parquet(groups: u32, rows: u32) -> Vec<u8> {
    let schema = "message m { required double k; required double x; required double y; required double instance; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for group in 0..groups {
        let k = 2.0 + f64::from(group);
        // Few different values, so that dictionaries and run lengths pack millions into bytes.
        let many = rows > 100_000;
        let x: Vec<f64> = (0..rows).map(|i| if many { 1.0 } else { f64::from(i % 97) }).collect();
        let instance: Vec<f64> =
            (0..rows).map(|i| if many { f64::from(i / 100_000) } else { f64::from(i) }).collect();
        let mut writer = file.next_row_group().unwrap();
        for values in [&vec![k; x.len()], &x, &x, &instance] {
            let mut column = writer.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(values, None, None).unwrap();
            column.close().unwrap();
        }
        writer.close().unwrap();
    }
    file.close().unwrap();
    bytes
}

#[test]
fn a_small_archive_that_unpacks_to_gigabytes_is_refused() {
    let folder = TempDir::new().unwrap();
    let bytes = npz((40_000_000, 40_000_000), &["k", "x", "y"]);
    assert!(bytes.len() < 2 << 20, "{} bytes", bytes.len());
    fs::write(folder.path().join("bomb.npz"), bytes).unwrap();
    let line = "diagnose --samples bomb.npz";
    let parts =
        ["bomb.npz: the 40000000 rows in it would take about 14.3 GiB, more than the memory"];
    // By default, half of the 2000 MiB.
    refused(2000, line, folder.path(), &[parts[0], "budget of 1000 MiB; --max-memory raises it"]);
    let low = format!("{line} --max-memory 64MB");
    refused(600, &low, folder.path(), &[parts[0], "budget of 64 MB; --max-memory raises it"]);
    // Whatever the budget, there is a bound on rows.
    let bytes = npz((60_000_000, 60_000_000), &["k", "x", "y"]);
    fs::write(folder.path().join("more.npz"), bytes).unwrap();
    let line = "diagnose --samples more.npz --max-memory 1TB";
    refused(600, line, folder.path(), &["more.npz: 60000000 rows, expected at most 50000000"]);
    // One that fits is unpacked, and refused for what is in it.
    fs::write(folder.path().join("fits.npz"), npz((100_000, 100_000), &["k", "x", "y"])).unwrap();
    let line = "diagnose --samples fits.npz --max-memory 64MB";
    refused(600, line, folder.path(), &["fits.npz: k[0] is 0, expected a whole number from 1"]);
}

/// The header of an array and the directory of an archive can both lie about what is packed.
#[test]
fn an_archive_that_lies_about_its_sizes_is_refused() {
    let folder = TempDir::new().unwrap();
    let mut bytes = npz((1_000_000, 100), &["k", "x", "y"]);
    let path = folder.path();
    fs::write(path.join("header.npz"), &bytes).unwrap();
    let parts = ["header.npz: k.npy: 100 numbers of 8 bytes each, but 8000000 bytes follow"];
    refused(600, "diagnose --samples header.npz", path, &parts);
    let sizes = [1_000_000, 100].map(|count| array_bytes(count, 100).to_le_bytes());
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == sizes[0] {
            bytes[at..at + 4].copy_from_slice(&sizes[1]);
        }
    }
    fs::write(path.join("both.npz"), &bytes).unwrap();
    let parts = ["both.npz: k.npy cannot be unpacked: "];
    refused(600, "diagnose --samples both.npz", path, &parts);
    // One that claims more files than it has bytes.
    let end = bytes.len() as u64;
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for field in [1_u64 << 40, 1 << 40, 1 << 46, 0] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(end.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([0xff; 12]);
    bytes.extend([0; 2]);
    fs::write(path.join("claims.npz"), &bytes).unwrap();
    let parts = ["claims.npz: the archive claims 1099511627776 files, expected at most 65535"];
    refused(600, "diagnose --samples claims.npz", path, &parts);
}

#[test]
fn a_small_parquet_file_of_millions_of_rows_is_refused() {
    let folder = TempDir::new().unwrap();
    let bytes = parquet(20, 1_000_000);
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    fs::write(folder.path().join("bomb.parquet"), bytes).unwrap();
    let line = "diagnose --samples bomb.parquet";
    let parts = ["bomb.parquet: the 20000000 rows in it would take about 2.4 GiB, more than"];
    refused(
        2000,
        line,
        folder.path(),
        &[parts[0], "memory budget of 1000 MiB; --max-memory raises"],
    );
    let low = format!("{line} --max-memory 64MB");
    refused(
        600,
        &low,
        folder.path(),
        &[parts[0], "the memory budget of 64 MB; --max-memory raises"],
    );
    // An honest one is diagnosed.
    fs::write(folder.path().join("fits.parquet"), parquet(4, 5000)).unwrap();
    let line = "diagnose --samples fits.parquet --no-check --max-memory 64MB";
    assert!(done(600, line, folder.path()).contains("at least 5000 of each size"));
}

#[test]
fn json_and_csv_that_are_larger_in_memory_are_refused() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let path = folder.path();
    // 30 MB of users without anything in them: 1 GB if they were gathered first.
    write("bomb.json", format!("{{\"users\":[{}{{}}]}}", "{},".repeat(10_000_000)));
    let solve = "solve urllc --input bomb.json";
    refused(500, solve, path, &["bomb.json: user 1: none of distance_m, gain_db"]);
    let parts =
        ["bomb.json: cannot read: what there is to read would take", "more than the memory budget"];
    refused(500, &format!("{solve} --max-memory 8MiB"), path, &parts);
    // From a pipe nobody knows how much is to come.
    let line = "--max-memory 8MiB solve urllc --input - < bomb.json";
    refused(500, line, path, &["standard input: cannot read: what there is to read", "8 MiB"]);
    let line = "--max-memory 64MiB solve urllc --input - < /dev/zero";
    refused(500, line, path, &["standard input: cannot read: what there is to read", "64 MiB"]);
    // Users that are in order, but too many: all in one cell, and as CSV. Each in a cell of its own, they are no more
    // than one at a time.
    let user = |i: usize| format!("{{\"id\":{i},\"gain_db\":-9}}");
    let users: Vec<String> = (0..300_000).map(user).collect();
    write("one.json", format!("{{\"users\":[{}]}}", users.join(",")));
    let cells: Vec<String> = users.iter().map(|user| format!("{{\"users\":[{user}]}}")).collect();
    write("cells.json", cells.concat());
    let rows: Vec<String> = (0..300_000).map(|i| format!("{i},-9\n")).collect();
    write("users.csv", format!("id,gain_db\n{}", rows.concat()));
    let line = "solve urllc --input cells.json --json --no-check --max-memory 64MB";
    assert_eq!(done(500, line, path).lines().count(), 300_000);
    for file in ["one.json", "users.csv"] {
        let line = format!("solve urllc --input {file} --max-memory 64MB");
        let message = format!(
            "{file}: the users in it would take more than the memory budget of 64 MB; --max-memory raises it"
        );
        refused(500, &line, path, &[&message]);
    }
    // Gains: one large matrix, and many small ones.
    let row = format!("[{}1],", "1,".repeat(1999));
    write("wide.json", format!("[{}{}]", row.repeat(1999), row.trim_end_matches(',')));
    write("many.json", format!("[{}[[1]]]", "[[1]],".repeat(300_000)));
    for file in ["wide.json", "many.json"] {
        let line = format!("solve interference --input {file} --max-memory 64MB");
        refused(
            500,
            &line,
            path,
            &[file, "the gains in it would take more than the memory budget"],
        );
    }
    let samples: Vec<String> = (0..300_000).map(|i| format!("2,{i},1\n")).collect();
    write("samples.csv", format!("k,x,y\n{}", samples.concat()));
    let line = "diagnose --samples samples.csv --max-memory 64MB";
    refused(
        500,
        line,
        path,
        &["samples.csv: the rows in it would take more than the memory budget"],
    );
    // A tenth of them fits.
    write("fits.json", format!("{{\"users\":[{}]}}", users[..30_000].join(",")));
    let line = "solve urllc --input fits.json --json --max-memory 64MB --max-power-dbm 60";
    assert!(done(500, line, path).contains("\"optimal\""));
    // More cells of parameters than any cell has.
    write("long.toml", "# a comment\n".repeat(200_000));
    let line = "config --config long.toml";
    refused(500, line, path, &["long.toml: the file is longer than 1048576 bytes, expected TOML"]);
}

#[test]
fn arrays_and_models_ask_for_what_they_need() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let sampled = "sample interference --k 1000 --format npy --out gains.npy";
    done(500, sampled, path);
    let line = "solve interference --iterations 2 --input gains.npy --json --max-memory";
    refused(
        500,
        &format!("{line} 16MB"),
        path,
        &["gains.npy: the gains in it would take about 38"],
    );
    done(500, &format!("{line} 64MB"), path);
    done(500, "sample fading --law rayleigh --count 1000000 --format npy --out g.npy", path);
    let train =
        "train urllc --method any-gnn --fading g.npy --samples 50 --out any.st --max-memory";
    refused(
        500,
        &format!("{train} 20MB"),
        path,
        &["g.npy: the gains in it would take about 30.5 MiB"],
    );
    // A header of a million tensors without a number in them.
    let tensor =
        |i: usize| format!("\"{i}\":{{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    let tensors: Vec<String> = (0..200_000).map(tensor).collect();
    let header = format!("{{{}}}", tensors.join(","));
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path.join("bomb.st"), [&length[..], header.as_bytes()].concat()).unwrap();
    let line = "evaluate bomb.st --max-memory 64MB";
    refused(500, line, path, &["bomb.st: ", "header", "the memory budget of 64 MB"]);
}

#[test]
fn sizes_that_multiply_are_refused_before_work_begins() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    done(500, "train urllc --method any-gnn --samples 50 --out any.st", path);
    done(500, "train interference --train-k 4 --samples 20 --steps 2 --out links.st", path);
    let largest = u64::MAX;
    for (line, parts) in [
        ("train urllc --train-k 10000 --samples 1000000", "1000000 training samples of K = 10000"),
        ("train urllc --method m-gnn --train-k 10000 --samples 1000000", "training samples"),
        ("train urllc --method fnn --train-k 10000 --samples 1000000", "training samples"),
        ("train urllc --method any-gnn --train-k 10000 --samples 10000", "10000 training samples"),
        ("train urllc-power --train-k 10000 --samples 10000", "10000 training samples of K"),
        ("train qos-power --train-k 10000 --samples 1000000", "1000000 training samples"),
        ("train equal-bandwidth --train-k 10000 --samples 1000000", "1000000 training samples"),
        ("train interference --train-k 1000 --samples 1000000", "1000000 training samples of 1000"),
        ("calibrate any.st --cells 1000000000", "1000000000 instances of K = 10"),
        ("sample urllc --k 10000000 --count 1000000", "1000000 cells of 10000000 users"),
        ("sample interference --k 100000 --count 1000000", "1000000 networks of 100000 links"),
    ] {
        let line = format!("{line} --out new --max-memory 700MB");
        let budget = "more than the memory budget of 700 MB; --max-memory raises it";
        refused(500, &line, path, &[parts, budget]);
        assert!(!path.join("new").exists(), "{line}");
    }
    for (line, parts) in [
        ("diagnose --policy interference --k 10,100000", "8 instances of K = 100000"),
        (
            "diagnose --policy urllc-power --k 10,100000 --users 10000000",
            "10000000 users of K = 10",
        ),
        ("evaluate any.st --k 10000000", "100 instances of K = 10000000"),
        ("evaluate any.st --k 1000 --samples 1000000", "1000000 instances of K = 1000"),
        ("evaluate links.st --k 20000", "100 instances of K = 20000"),
        ("sweep --k 10000000", "100 instances of K = 10000000"),
        ("sample fading --law rayleigh --count 10000000", "10000000 gains"),
    ] {
        let line = format!("{line} --max-memory 300MB");
        refused(500, &line, path, &[parts, "more than the memory budget of 300 MB; --max-memory"]);
    }
    // A size that alone says nothing about a law over sizes is not drawn first.
    refused(
        500,
        "diagnose --policy interference --k 100000",
        path,
        &["1 size(s) k, expected at least 2"],
    );
    // More than any machine counts, at once and with what is accepted.
    let line = format!("calibrate any.st --cells {largest} --out new");
    refused(500, &line, path, &["expected a whole number from 1 to 1000000000"]);
    let line = format!("sample urllc --k 2 --count {largest}");
    refused(500, &line, path, &["cells of 2 users would take about", "--max-memory raises it"]);
    let line = format!("sample interference --k 2 --count {largest}");
    refused(500, &line, path, &["networks of 2 links would take about", "--max-memory raises it"]);
}

#[test]
fn the_budget_is_a_flag_of_every_command_and_a_variable() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let expected = "expected a size of at least 1MiB, such as 512MB or 4GiB";
    for value in ["0", "12", "lots", "-1", "4XB", "1e9"] {
        refused(500, &format!("sweep --max-memory={value}"), path, &["--max-memory", expected]);
    }
    let line = |before: &str, after: &str| {
        format!("ulimit -v 500000; {before} \"$ANYK\" {after} sweep --k 1000000 --samples 2")
    };
    for (before, after) in [("", "--max-memory 5MB"), ("ANYK_MAX_MEMORY=5MB", "")] {
        let outcome = shell(&line(before, after), path);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("budget of 5 MB"), "{}", outcome.stderr);
    }
    // The flag is the nearer one.
    let outcome = shell(&line("ANYK_MAX_MEMORY=5MB", "--max-memory 6MB"), path);
    assert!(outcome.stderr.contains("budget of 6 MB"), "{}", outcome.stderr);
    let outcome = shell(&line("ANYK_MAX_MEMORY=much", ""), path);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

/// A line of CSV is held as a whole: one with millions of fields is refused before it is.
#[test]
fn lines_of_millions_of_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("users.csv"), "id,".repeat(5_000_000)).unwrap();
    std::fs::write(path.join("samples.csv"), format!("k,x,y{}", ",a".repeat(5_000_000))).unwrap();
    let words = ["a line has 5000001 fields, expected at most 1000"];
    refused(200, "solve urllc --input users.csv", path, &words);
    let words = ["a line has 5000003 fields, expected at most 1000"];
    refused(200, "diagnose --samples samples.csv", path, &words);
}
