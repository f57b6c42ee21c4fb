//! `anyk diagnose`, through the real binary.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use crate::common::run;
use anyk::exchange::read_samples;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use serde_json::Value;

/// Samples of a policy that falls as 1/K: `y = (1 + x)/K`, x spread evenly.
fn samples(instances: bool) -> String {
    let mut text = String::from(if instances { "k,x,y,instance\n" } else { "k,x,y\n" });
    for k in [2u32, 4, 8, 16, 32, 64] {
        for row in 0..640 {
            let x = f64::from((row * 37) % 640) / 640.0;
            write!(text, "{k},{x},{}", (1.0 + x) / f64::from(k)).unwrap();
            if instances {
                write!(text, ",{}", row / k).unwrap();
            }
            text.push('\n');
        }
    }
    text
}

#[test]
fn a_policy_is_diagnosed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let args = ["diagnose", "--policy", "urllc-bandwidth", "--users", "1000", "--no-check"];
    let answer = run(&[&args[..], &["--out", out.to_str().unwrap()]].concat(), "");
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    for part in ["equivariant       yes", "size-invariant    no", "pre-trained activation"] {
        assert!(answer.stdout.contains(part), "{part}: {}", answer.stdout);
    }
    for name in ["policy.csv", "policy.svg", "policy.md", "networks.svg", "report.html"] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
    }
}

#[test]
fn samples_are_diagnosed_as_json() {
    let answer = run(&["diagnose", "--samples", "-", "--json"], samples(true));
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let found: Value = serde_json::from_str(&answer.stdout).unwrap();
    let exponent = found["diagnosis"]["exponent"]["value"].as_f64().unwrap();
    assert!((exponent + 1.0).abs() < 0.02, "{exponent}");
    let chosen = usize::try_from(found["recommendation"]["chosen"].as_u64().unwrap()).unwrap();
    assert_eq!(found["recommendation"]["candidates"][chosen]["output"], "softmax");
    let predictions = found["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), 4);
    // A size-invariant network trained at 16 gives four times too much at 64.
    let number = |name: &str| predictions[0][name].as_f64().unwrap();
    assert!((number("predicted_percent") / 300.0 - 1.0).abs() < 0.1, "{}", predictions[0]);
    assert!((number("measured_percent") / 300.0 - 1.0).abs() < 0.1, "{}", predictions[0]);
    let range = number("low_percent")..=number("high_percent");
    assert!(range.contains(&number("predicted_percent")), "{}", predictions[0]);
    let text = run(&["diagnose", "--samples", "-"], samples(true)).stdout;
    assert!(text.contains("range (%)"), "{text}");
    let answer = run(&["diagnose", "--samples", "-", "--no-check"], samples(false));
    assert!(answer.stdout.contains("samples without instances"), "{}", answer.stdout);
}

/// The samples as a Parquet file; pandas packs by snappy.
fn parquet_samples(compression: Compression) -> Vec<u8> {
    use parquet::data_type::{DoubleType, Int64Type};
    let schema = "message samples {
        required int64 k; required double x; required double y; required int64 instance; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let text = samples(true);
    let column = |position: usize| {
        text.lines().skip(1).map(move |line| line.split(',').nth(position).unwrap())
    };
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for position in 0..4 {
        let mut writer = group.next_column().unwrap().unwrap();
        if position == 1 || position == 2 {
            let values: Vec<f64> = column(position).map(|field| field.parse().unwrap()).collect();
            writer.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        } else {
            let values: Vec<i64> = column(position).map(|field| field.parse().unwrap()).collect();
            writer.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        }
        writer.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

#[test]
fn parquet_is_diagnosed_as_csv_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.parquet");
    let bytes = parquet_samples(Compression::SNAPPY);
    fs::write(&path, &bytes).unwrap();
    let file = ["diagnose", "--samples", path.to_str().unwrap(), "--no-check"];
    let answer = run(&file, "");
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let by_csv = run(&["diagnose", "--samples", "-", "--no-check"], samples(true));
    // All but the first line, which names the file.
    let verdict = |text: &str| text.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(verdict(&answer.stdout), verdict(&by_csv.stdout));
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let answer = run(&file, "");
    assert_eq!(answer.code, 2);
    let message = "samples.parquet: the Parquet file is damaged";
    assert!(answer.stderr.contains(message), "{}", answer.stderr);
}

/// The Parquet crate panics at a run length that does not end; the user sees our message and nothing else.
#[test]
fn a_panic_in_the_decoder_of_parquet_is_one_clean_error() {
    let bytes = parquet_samples(Compression::UNCOMPRESSED);
    let damaged = (0..bytes.len() - 12).find_map(|at| {
        let mut damaged = bytes.clone();
        damaged[at..at + 12].fill(0xff);
        let error = read_samples(&damaged, "f").err()?;
        error.message.contains("the decoder gave up").then_some(damaged)
    });
    let answer = run(&["diagnose", "--samples", "-"], damaged.unwrap());
    assert_eq!(answer.code, 2);
    let (start, end) =
        ("error: standard input: the column ", "the decoder gave up; write the file again\n");
    let stderr = answer.stderr;
    assert!(stderr.starts_with(start) && stderr.ends_with(end), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn a_model_is_diagnosed() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("power.safetensors");
    let path = model.to_str().unwrap();
    run(&["train", "qos-power", "--samples", "50", "--out", path], "");
    let quick = ["--users", "1000", "--no-check", "--k", "2,5,10,20,40"];
    let answer = run(&[&["diagnose", path], &quick[..]].concat(), "");
    assert!(answer.stdout.contains("size-invariant    yes"), "{}", answer.stdout);
    let answer = run(&[&["diagnose", path, "--quantity", "bandwidth"], &quick[..]].concat(), "");
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("expected the quantity power"), "{}", answer.stderr);
}

#[test]
fn bad_input_is_exit_code_2() {
    let refused = |args: &[&str], stdin: &[u8], part: &str| {
        let answer = run(&[&["diagnose"], args].concat(), stdin);
        assert_eq!(answer.code, 2, "{args:?}");
        assert!(answer.stderr.contains(part), "{part}: {}", answer.stderr);
    };
    refused(&[], b"", "required");
    refused(&["--policy", "urllc-power", "--samples", "-"], b"", "cannot be used with");
    refused(&["--samples", "-"], b"", "the file is empty");
    refused(&["--samples", "-"], b"k,x\n2,1\n", "the column y is missing");
    refused(&["--samples", "-"], b"k,x,y\n2,1,nan\n", "line 2: y is \"nan\", expected a finite");
    refused(&["--samples", "-"], b"k,x,y\n2,1,1\n", "1 size(s) k, expected at least 2");
    refused(&["--samples", "-"], b"k,x,y\n2,1,1\n3,1,1\n", "k = 2 has 1 samples");
    refused(&["--samples", "-"], b"PAR1....", "standard input: the Parquet file is damaged");
    refused(&["--samples", "-"], b"PK\x03\x04 damaged", "not a readable archive");
    refused(&["--samples", "-", "--epsilon", "1e-6"], b"k,x,y\n", "--epsilon");
    refused(&["nowhere.safetensors"], b"", "cannot read");
    refused(&["--policy", "urllc-power", "--users", "7"], b"", "from 100 to 10000000");
    refused(&["--policy", "urllc-power", "--k", "10"], b"", "expected at least 2");
}
