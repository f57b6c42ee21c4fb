//! Model files as described in `docs/model-format.md`, read and written here only from that description. The tests
//! cover names and shapes, identical bytes after rewriting, and rejection of damaged, foreign, older and newer files.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::trainings::{self, ALL};
use anyk::core::Answer;
use anyk::exchange::Input;
use anyk::framework::{ModelError, ModelFile, Options, Stored};
use anyk::network::EdgeGnn;
use anyk::problems::interference::PowerPolicy;
use anyk::problems::urllc::{CellPolicy, LearnedPolicy, PricePolicy, Urllc, UrllcAllocation};
use anyk::problems::urllc_power::{BandPricePolicy, UrllcPower};
use anyk::problems::{allocating, read_model};
use rayon::prelude::*;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Small models of every kind, by the name of their training run.
static MODELS: LazyLock<Vec<(&str, Vec<u8>)>> =
    LazyLock::new(|| ALL.iter().map(|training| (training.name, training.model())).collect());

fn model(name: &str) -> &'static [u8] {
    &MODELS.iter().find(|(found, _)| *found == name).unwrap().1
}

/// Parts of a model file.
#[derive(Debug, Clone, PartialEq)]
struct File {
    kind: String,
    version: u64,
    checksum: String,
    /// Content as text, exactly as in the file.
    content: String,
    /// Shapes and values by name.
    tensors: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
}

#[derive(Deserialize)]
struct About {
    kind: String,
    version: u64,
    checksum: String,
    content: Box<RawValue>,
}

impl File {
    /// Reads the length of the header in eight bytes, the header as JSON, and the numbers.
    fn read(bytes: &[u8]) -> Self {
        let (size, rest) = bytes.split_first_chunk::<8>().unwrap();
        let (header, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*size)).unwrap());
        let mut header: BTreeMap<String, Value> = serde_json::from_slice(header).unwrap();
        let metadata = header.remove("__metadata__").unwrap();
        assert_eq!(metadata.as_object().unwrap().len(), 1);
        let About { kind, version, checksum, content } =
            serde_json::from_str(metadata["anyk"].as_str().unwrap()).unwrap();
        let tensor = |(name, entry): (String, Value)| {
            assert_eq!(entry["dtype"], "F64");
            let numbers =
                |value: &Value| -> Vec<usize> { serde_json::from_value(value.clone()).unwrap() };
            let (shape, offsets) = (numbers(&entry["shape"]), numbers(&entry["data_offsets"]));
            let values = data[offsets[0]..offsets[1]].chunks_exact(8);
            let values = values.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()));
            (name, (shape, values.collect()))
        };
        let tensors = header.into_iter().map(tensor).collect();
        Self { kind, version, checksum, content: content.get().to_owned(), tensors }
    }

    /// Returns the CRC-32 of the content and of each tensor, in the order of names.
    fn crc(&self) -> String {
        let mut crc = crc32fast::Hasher::new();
        crc.update(self.content.as_bytes());
        for (name, (shape, values)) in &self.tensors {
            crc.update(name.as_bytes());
            shape.iter().for_each(|&axis| crc.update(&(axis as u64).to_le_bytes()));
            values.iter().for_each(|value| crc.update(&value.to_le_bytes()));
        }
        format!("{:08x}", crc.finalize())
    }

    /// Returns the bytes of the file after changes.
    fn write(&self) -> Vec<u8> {
        let Self { kind, version, checksum, content, .. } = self;
        self.with_header(&format!(
            r#"{{"kind":"{kind}","version":{version},"checksum":"{checksum}","content":{content}}}"#
        ))
    }

    fn with_header(&self, header: &str) -> Vec<u8> {
        let data: Vec<(&String, &Vec<usize>, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, (shape, values))| {
                (name, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
            })
            .collect();
        let views = data.iter().map(|(name, shape, bytes)| {
            (name.as_str(), TensorView::new(Dtype::F64, (*shape).clone(), bytes).unwrap())
        });
        let metadata = HashMap::from([("anyk".to_owned(), header.to_owned())]);
        serialize(views, Some(metadata)).unwrap()
    }

    /// Returns a changed file with a valid checksum, so that only the checks of its model can reject it.
    fn changed(&self, change: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut file = self.clone();
        change(&mut file);
        file.checksum = file.crc();
        file.write()
    }

    fn content(&self) -> Value {
        serde_json::from_str(&self.content).unwrap()
    }
}

fn refusal(bytes: &[u8]) -> ModelError {
    match read_model(bytes) {
        Ok(model) => unreachable!("{} was not refused", model.describe()),
        Err(error) => error,
    }
}

/// Returns the tensors of a GNN.
fn gnn(network: &str, widths: &[usize]) -> Vec<(String, Vec<usize>)> {
    let layer = |(layer, pair): (usize, &[usize])| {
        let name = |part: &str| format!("{network}.{layer}.{part}");
        let weights = vec![pair[1], pair[0]];
        [(name("own"), weights.clone()), (name("others"), weights), (name("bias"), vec![pair[1]])]
    };
    widths.windows(2).enumerate().flat_map(layer).collect()
}

/// Returns the tensors of a fully connected network.
fn dense(network: &str, widths: &[usize]) -> Vec<(String, Vec<usize>)> {
    let layer = |(layer, pair): (usize, &[usize])| {
        let name = |part: &str| format!("{network}.{layer}.{part}");
        [(name("weight"), vec![pair[1], pair[0]]), (name("bias"), vec![pair[1]])]
    };
    widths.windows(2).enumerate().flat_map(layer).collect()
}

fn edge_gnn(rounds: usize, h: usize) -> Vec<(String, Vec<usize>)> {
    let mut parts = vec![
        ("encode.weight".to_owned(), vec![h]),
        ("encode.bias".to_owned(), vec![h]),
        ("last.weight".to_owned(), vec![h, h]),
        ("last.bias".to_owned(), vec![h]),
        ("output.weight".to_owned(), vec![h]),
        ("output.bias".to_owned(), vec![1]),
    ];
    for round in 0..rounds {
        parts.extend([
            (format!("{round}.message.sender"), vec![h, h]),
            (format!("{round}.message.path"), vec![2, h]),
            (format!("{round}.message.bias"), vec![h]),
            (format!("{round}.update.own"), vec![h, h]),
            (format!("{round}.update.heard"), vec![h, h]),
            (format!("{round}.update.bias"), vec![h]),
        ]);
    }
    parts.into_iter().map(|(name, shape)| (format!("network.{name}"), shape)).collect()
}

/// Returns the problem, the method, and the names and shapes of the tensors of each kind.
fn documented(name: &str) -> (&'static str, &'static str, Vec<(String, Vec<usize>)>) {
    let p_gnn =
        [gnn("power", &[1, 4, 1]), gnn("bandwidth", &[1, 4, 1]), dense("law", &[2, 6, 5, 1])];
    // The context of a class has 4 numbers. The response has a linear part and eight bends with three numbers each.
    let response = dense("response", &[4, 3, 26]);
    let sampled = || {
        let flat = |part: &str, count| (format!("bandwidth.{part}"), vec![count]);
        let errors = ["places", "shortfalls", "standard_errors"].map(|part| flat(part, 129));
        // A constant, and three numbers for each of six units.
        [response.clone(), vec![flat("law", 19)], errors.to_vec()].concat()
    };
    match name {
        "urllc p-gnn" | "urllc p-gnn, pre-trained without labels" => {
            ("urllc", "p-gnn", p_gnn.concat())
        }
        "urllc m-gnn" => ("urllc", "m-gnn", p_gnn[..2].concat()),
        "urllc m-gnn, size as an input" => {
            ("urllc", "m-gnn", [gnn("power", &[2, 4, 1]), gnn("bandwidth", &[2, 4, 1])].concat())
        }
        "urllc fnn" => {
            ("urllc", "fnn", [dense("power", &[4, 6, 4]), dense("bandwidth", &[4, 6, 4])].concat())
        }
        "urllc price" => ("urllc", "price", response),
        "urllc price, from samples with labels" | "urllc price, from samples without labels" => {
            ("urllc", "price", sampled())
        }
        "urllc-power price" => ("urllc-power", "price", response),
        "qos-power" => ("qos-power", "m-gnn", gnn("power", &[1, 3, 1])),
        "equal-bandwidth p-gnn" => {
            let networks = [gnn("power", &[1, 3, 1]), gnn("bandwidth", &[1, 4, 3, 1])];
            let law = dense("law", &[2, 40, 40, 1]);
            ("equal-bandwidth", "p-gnn", [networks.concat(), law].concat())
        }
        "interference" => ("interference", "edge-gnn", edge_gnn(1, 8)),
        "link scheduling" => ("interference", "edge-gnn", edge_gnn(2, 8)),
        other => unreachable!("{other} is not documented"),
    }
}

#[test]
fn names_and_shapes_are_as_documented() {
    for (name, bytes) in MODELS.iter() {
        let file = File::read(bytes);
        assert_eq!((file.kind.as_str(), file.version), ("model", 2), "{name}");
        assert_eq!(file.checksum, file.crc(), "{name}");
        let (problem, method, tensors) = documented(name);
        let content = file.content();
        assert_eq!(content["problem"], problem, "{name}");
        assert_eq!(content["method"], method, "{name}");
        assert_eq!(content.as_object().unwrap().len(), 3, "{name}");
        assert!(content["record"]["training"]["seed"].is_u64(), "{name}");
        let count = tensors.len();
        let expected: BTreeMap<String, Vec<usize>> = tensors.into_iter().collect();
        assert_eq!(expected.len(), count);
        let found: BTreeMap<String, Vec<usize>> =
            file.tensors.iter().map(|(name, (shape, _))| (name.clone(), shape.clone())).collect();
        assert_eq!(found, expected, "{name}");
        for (tensor, (shape, values)) in &file.tensors {
            assert_eq!(values.len(), shape.iter().product::<usize>(), "{name}: {tensor}");
            assert!(values.iter().all(|value| value.is_finite()), "{name}: {tensor}");
        }
    }
}

#[test]
fn files_round_trip_to_the_same_bytes() {
    for (name, bytes) in MODELS.iter() {
        let loaded = read_model(bytes).unwrap();
        assert!(loaded.bytes().unwrap() == *bytes, "{name}");
        let (problem, method, _) = documented(name);
        let said = loaded.describe();
        let known = said.contains(method) || method == "edge-gnn";
        assert!(known && said.contains(problem), "{name}: {said}");
        // Read and written only by the documented format.
        assert!(File::read(bytes).write() == *bytes, "{name}");
        // The same training run gives the same file.
        assert!(trainings::named(name).model() == *bytes, "{name}");
    }
}

/// Computes the powers of P-GNN only from its tensors, as a reader of the documentation would.
#[test]
fn tensors_mean_what_is_documented() {
    let bytes = model("urllc p-gnn");
    let file = File::read(bytes);
    let gains: [f64; 4] = [1e-9, 3e-11, 2e-12, 4e-13];
    let x: Vec<Vec<f64>> = gains.iter().map(|gain| vec![gain.ln() + 30.0]).collect();
    let outputs = |network: &str| {
        let mut h = x.clone();
        for layer in 0..2 {
            let part = |part: &str| &file.tensors[&format!("{network}.{layer}.{part}")];
            let ((shape, own), (_, others), (_, bias)) =
                (part("own"), part("others"), part("bias"));
            let [outs, ins] = [shape[0], shape[1]];
            h = (0..h.len())
                .map(|user| {
                    let mean = |i: usize| {
                        let sum: f64 = h.iter().map(|h| h[i]).sum();
                        (sum - h[user][i]) / h.len() as f64
                    };
                    let feature = |o: usize| {
                        let sum: f64 = (0..ins)
                            .map(|i| own[o * ins + i] * h[user][i] + others[o * ins + i] * mean(i))
                            .sum();
                        let value = sum + bias[o];
                        if layer == 0 && value < 0.0 { 0.01 * value } else { value }
                    };
                    (0..outs).map(feature).collect()
                })
                .collect();
        }
        h.into_iter().map(|h| h[0]).collect::<Vec<f64>>()
    };
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    // B^v in units of 1e5 Hz.
    let law = |gain: f64| {
        let mut h = vec![gain.ln() + 30.0, gains.len() as f64 / 200.0];
        for layer in 0..3 {
            let part = |part: &str| &file.tensors[&format!("law.{layer}.{part}")];
            let ((shape, weight), (_, bias)) = (part("weight"), part("bias"));
            let row = |o: usize| {
                let weights = &weight[o * shape[1]..(o + 1) * shape[1]];
                let sum: f64 = weights.iter().zip(&h).map(|(weight, h)| weight * h).sum();
                let value = sum + bias[o];
                if layer < 2 && value < 0.0 { 0.01 * value } else { value }
            };
            h = (0..shape[0]).map(row).collect();
        }
        1e5 * softplus(h[0])
    };
    let exponentials: Vec<f64> = outputs("power").into_iter().map(f64::exp).collect();
    let sum: f64 = exponentials.iter().sum();
    let policy = LearnedPolicy::from_bytes(bytes).unwrap();
    let max_power_w = trainings::SYSTEM.max_power_w();
    let mut allocation = UrllcAllocation::default();
    policy.allocator().serve_plainly(&gains, &mut allocation).unwrap();
    for (power_w, share) in allocation.power_w.iter().zip(&exponentials) {
        assert!((power_w / (max_power_w * share / sum) - 1.0).abs() < 1e-10);
    }
    let factors = outputs("bandwidth");
    for ((bandwidth_hz, factor), gain) in allocation.bandwidth_hz.iter().zip(factors).zip(gains) {
        assert!((bandwidth_hz / (softplus(factor) * law(gain)) - 1.0).abs() < 1e-10);
    }
    // The parameters of an edge network are its tensors in the order of its layout.
    let bytes = model("link scheduling");
    let file = File::read(bytes);
    let policy = PowerPolicy::from_bytes(bytes).unwrap();
    let network: EdgeGnn = policy.record().training.network;
    let parts = network.layout();
    let values = parts.iter().flat_map(|(part, _)| &file.tensors[&format!("network.{part}")].1);
    assert!(values.copied().eq(policy.parameters().iter().map(|&value| f64::from(value))));
}

/// Tests that changing any byte is detected or gives the same model.
#[test]
fn a_damaged_byte_is_found() {
    for (name, bytes) in MODELS.iter() {
        let header = 8 + usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let damage = |at: usize, value: u8| {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let same = |model: Vec<u8>| model == *bytes;
            let kept = read_model(&damaged).map(|model| model.bytes().is_ok_and(same));
            assert!(kept.unwrap_or(true), "{name}: byte {at} is {value}, was {}", bytes[at]);
        };
        (0..bytes.len()).into_par_iter().for_each(|at| {
            let was = bytes[at];
            damage(at, was ^ (1 << (at % 8)));
            damage(at, !was);
            if at < header {
                (0..8).for_each(|bit| damage(at, was ^ (1 << bit)));
            }
            // Characters with a meaning in the header; all headers have the same form.
            if at < header && *name == "urllc m-gnn" {
                let signs = b"\0 \"\\{}[],:09nae\xff".iter().filter(|&&sign| sign != was);
                signs.for_each(|&sign| damage(at, sign));
            }
        });
    }
}

#[test]
fn a_cut_or_longer_file_is_refused() {
    for (name, bytes) in MODELS.iter() {
        (0..bytes.len()).into_par_iter().for_each(|length| {
            assert!(read_model(&bytes[..length]).is_err(), "{name}: cut at {length}");
        });
        let longer = [bytes.as_slice(), &[0; 8]].concat();
        assert!(matches!(refusal(&longer), ModelError::Format(_)), "{name}");
    }
}

#[test]
fn an_extra_tensor_is_refused() {
    for (name, bytes) in MODELS.iter() {
        let file = File::read(bytes);
        for extra in ["extra", "power.9.own", "law.0.weight.", "zzz"] {
            let changed = file.changed(|file| {
                file.tensors.insert(extra.to_owned(), (vec![1], vec![0.0]));
            });
            let expected = format!("the model does not use the tensor {extra}");
            assert_eq!(refusal(&changed), ModelError::Format(expected), "{name}");
        }
    }
}

#[test]
fn a_missing_tensor_is_refused() {
    for (name, bytes) in MODELS.iter() {
        let file = File::read(bytes);
        for tensor in file.tensors.keys() {
            let changed = file.changed(|file| _ = file.tensors.remove(tensor));
            let expected = format!("the tensor {tensor} is missing");
            assert_eq!(refusal(&changed), ModelError::Format(expected), "{name}");
        }
    }
}

#[test]
fn a_wrong_shape_is_refused() {
    for (name, bytes) in MODELS.iter() {
        let file = File::read(bytes);
        for (tensor, (shape, values)) in &file.tensors {
            let count = values.len();
            let transposed: Vec<usize> = shape.iter().rev().copied().collect();
            let wrong = [
                (transposed, values.clone()),
                (vec![count], values.clone()),
                (vec![1, count], values.clone()),
                ([shape.as_slice(), &[1]].concat(), values.clone()),
                (vec![count + 1], [values.as_slice(), &[0.5]].concat()),
                (vec![count + 3], [values.as_slice(), &[0.5; 3]].concat()),
                (vec![count - 1], values[1..].to_vec()),
                (vec![], vec![0.5]),
                (vec![0], vec![]),
            ];
            for wrong in wrong.into_iter().filter(|(wrong, _)| wrong != shape) {
                let shape = wrong.0.clone();
                let changed = file.changed(|file| _ = file.tensors.insert(tensor.clone(), wrong));
                let error = refusal(&changed);
                let found = matches!(error, ModelError::Content(_) | ModelError::Format(_));
                assert!(found, "{name}: {tensor} {shape:?}: {error}");
            }
        }
    }
}

#[test]
fn a_number_that_is_not_finite_is_refused() {
    for (name, bytes) in MODELS.iter() {
        let file = File::read(bytes);
        for tensor in file.tensors.keys() {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let changed =
                    file.changed(|file| file.tensors.get_mut(tensor).unwrap().1[0] = value);
                let error = refusal(&changed);
                assert!(matches!(error, ModelError::Content(_)), "{name}: {tensor}: {error}");
            }
        }
    }
}

/// Tests files with a header of version 0.1: a word, a line break, and any content.
#[test]
fn files_of_the_first_version_are_named_as_such() {
    let file = File::read(model("urllc m-gnn"));
    for kind in ["anyk-model", "anyk-any-model", "anyk-closed-form-model", "anyk-power-model"] {
        let bytes = file.with_header(&format!("{kind}\n1\n00000000\n{{\"config\":{{}}}}"));
        let error = refusal(&bytes);
        assert_eq!(error, ModelError::Old, "{kind}");
        let text = error.to_string();
        assert!(text.contains("written by AnyK 0.1") && text.contains("train it again"), "{text}");
        assert_eq!(LearnedPolicy::from_bytes(&bytes).unwrap_err(), ModelError::Old);
    }
}

#[test]
fn foreign_headers_are_refused() {
    let file = File::read(model("urllc m-gnn"));
    for version in [3, 4, u64::MAX] {
        // A newer header may have unknown fields.
        let header = format!(r#"{{"kind":"model","version":{version},"what":["is", "it"]}}"#);
        let error = refusal(&file.with_header(&header));
        assert_eq!(error, ModelError::Newer { found: version, known: 2 });
    }
    for version in [0, 1] {
        let bytes = file.changed(|file| file.version = version);
        assert!(matches!(refusal(&bytes), ModelError::Format(_)), "{version}");
    }
    let bytes = file.changed(|file| file.kind = "section".to_owned());
    assert!(refusal(&bytes).to_string().contains("it is a \"section\", expected a \"model\""));
    for header in ["", "{}", "null", "[]", "anyk", "anyk-modelling\n", "\"model\""] {
        let error = refusal(&file.with_header(header));
        assert!(matches!(error, ModelError::Format(_)), "{header:?}: {error}");
    }
    // Valid except for one field.
    let with_content =
        |content: &Value| refusal(&file.changed(|file| file.content = content.to_string()));
    let content = file.content();
    let mut unknown = content.clone();
    unknown["problem"] = "chess".into();
    assert_eq!(with_content(&unknown), ModelError::UnknownProblem("chess".into()));
    let mut extra = content.clone();
    extra["extra"] = 1.into();
    assert!(matches!(with_content(&extra), ModelError::Format(_)));
    let mut extra = content.clone();
    extra["record"]["extra"] = 1.into();
    assert!(matches!(with_content(&extra), ModelError::Format(_)));
    for (problem, method) in [
        ("interference", "m-gnn"),
        ("qos-power", "m-gnn"),
        ("urllc", "price"),
        ("urllc", "any-gnn"),
        ("urllc", "fnn"),
        ("urllc", "m_gnn"),
    ] {
        let mut other = content.clone();
        (other["problem"], other["method"]) = (problem.into(), method.into());
        assert!(matches!(with_content(&other), ModelError::Format(_)), "{problem} {method}");
    }
    // Two problems share this kind of model.
    let file = File::read(model("qos-power"));
    let other = file.content.replacen("qos-power", "equal-bandwidth", 1);
    let error = refusal(&file.changed(|file| file.content = other));
    assert!(
        error.to_string().contains("does not describe a m-gnn model for equal-bandwidth"),
        "{error}"
    );
    let wrong = File { checksum: "00000000".to_owned(), ..file.clone() };
    assert!(refusal(&wrong.write()).to_string().contains("its checksum does not match"));
    // Not a safetensors file.
    for foreign in [&b""[..], b"{}", b"PK\x03\x04", &[0xff; 64], &[0; 8]] {
        assert!(matches!(refusal(foreign), ModelError::Format(_)), "{foreign:?}");
    }
}

/// Returns the answers of a model for the users or links of the training runs as JSON, or an error as text.
fn answers(model: &dyn anyk::Model) -> Result<Vec<Value>, String> {
    let users = r#"{"users":[{"id":"a","distance_m":60},{"id":"b","distance_m":120},{"id":"c","distance_m":240}]}"#;
    let links = r#"{"gains":[[1.0,0.2,0.1],[0.1,2.0,0.3],[0.2,0.1,0.5]]}"#;
    let interference = model.describe().contains("interference");
    let input = Input::new(if interference { links } else { users }.as_bytes(), "input");
    let mut options = Options::default();
    if model.describe().contains("urllc-power") {
        options.set("max-bandwidth-hz", "2e6");
    }
    let answering = allocating(model, &options);
    let answers = answering.and_then(|mut answering| answering.answer_all(input));
    let json = |answer: &Answer| answer.json().map(|json| serde_json::from_str(&json).unwrap());
    let answers = answers.and_then(|answers| answers.iter().map(json).collect());
    answers.map_err(|error| error.to_string())
}

/// Asserts that no power or bandwidth in an answer is negative.
fn assert_amounts(name: &str, value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| assert_amounts(name, item)),
        Value::Object(fields) => {
            for (field, value) in fields {
                if ["power_w", "bandwidth_hz", "power", "total_power_w"].contains(&field.as_str())
                    && let Some(amount) = value.as_f64()
                {
                    assert!(amount >= 0.0, "{name}: {field} is {amount}");
                }
                assert_amounts(name, value);
            }
        }
        _ => (),
    }
}

/// Tests files with the right names, shapes and checksum, but with numbers that no training produces. Each file is
/// rejected when it is read, or gives valid amounts, or reports that it has no answer. None gives NaN or negative
/// amounts.
#[test]
fn numbers_that_are_made_to_do_harm_give_no_answers() {
    let mut refused = 0;
    for (name, bytes) in MODELS.iter() {
        answers(&*read_model(bytes).unwrap()).unwrap();
        let file = File::read(bytes);
        for tensor in file.tensors.keys() {
            for (index, value) in [1e300, -1e300, 1e38, -1e30, 1e12, -1e12].into_iter().enumerate()
            {
                let harmful = file.changed(|file| {
                    let (_, values) = file.tensors.get_mut(tensor).unwrap();
                    for (at, slot) in values.iter_mut().enumerate() {
                        // All values, every other value, or a single one.
                        if index % 3 == 0 || (index % 3 == 1 && at % 2 == 0) || at == 0 {
                            *slot = value;
                        }
                    }
                });
                match read_model(&harmful) {
                    Err(_) => refused += 1,
                    Ok(model) => {
                        let answers = answers(&*model).unwrap_or_default();
                        let name = format!("{name}, {tensor}, {value}");
                        answers.iter().for_each(|answer| assert_amounts(&name, answer));
                    }
                }
            }
        }
    }
    // If the loader did not check the answers of the model, none of these files would be rejected.
    assert!(refused > 100, "{refused}");
}

/// Tests that a guarantee that would take days to check is rejected immediately.
#[test]
fn guarantees_are_checked_in_no_time() {
    let file = File::read(model("urllc m-gnn"));
    for cells in [10_000_001_u64, 1_000_000_000_000, u64::MAX] {
        let guarantee = format!(
            r#""guarantee":{{"margin":1.1,"beta":0.5,"delta":0.5,"k":[10],"cells":{cells},"missed":0,"seed":1}}"#
        );
        let harmful = file.changed(|file| {
            let end = file.content.rfind("}}").unwrap();
            file.content.insert_str(end, &format!(",{guarantee}"));
        });
        let started = std::time::Instant::now();
        let refused = refusal(&harmful).to_string();
        assert!(refused.contains("expected at most 10000000"), "{refused}");
        assert!(started.elapsed().as_secs() < 5);
    }
}

/// Returns the folder of models and answers that version 0.2 wrote.
fn models_of_0_2() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../anyk-cli/tests/data/models-0.2")
}

/// Returns the powers and, if there are any, the bandwidths that a model of this folder gives for the users of the
/// folder.
fn old_answer(model: &dyn anyk::Model) -> Vec<Vec<f64>> {
    let mut options = Options::default();
    if model.about().name == "urllc-power" {
        options.set("max-bandwidth-hz", "2e6");
    }
    let users = std::fs::read(models_of_0_2().join("users.json")).unwrap();
    let mut answering = allocating(model, &options).unwrap();
    let answers = answering.answer_all(Input::new(&users, "users.json")).unwrap();
    let answer: Value = serde_json::from_str(&answers[0].json().unwrap()).unwrap();
    let amounts = |name: &str| -> Vec<f64> {
        let users = answer["users"].as_array().unwrap();
        users.iter().filter_map(|user| user[name].as_f64()).collect()
    };
    vec![amounts("power_w"), amounts("bandwidth_hz")]
}

/// Tests the price policies of version 0.2 under their former name. Each loads as a price policy, gives the same
/// answers as before, and is written under the new name.
#[test]
fn price_policies_of_version_0_2_load_under_their_new_name() {
    let text = std::fs::read(models_of_0_2().join("answers.json")).unwrap();
    let known: Value = serde_json::from_slice(&text).unwrap();
    for (name, problem, most_off) in [
        ("urllc-any-gnn", "urllc", 0.0),
        ("urllc-any-gnn-softmax", "urllc", 0.0),
        ("urllc-any-gnn-fading", "urllc", 0.0),
        ("urllc-power", "urllc-power", 0.0),
        ("separable", "separable", 2e-3),
    ] {
        let bytes = std::fs::read(models_of_0_2().join(format!("{name}.safetensors"))).unwrap();
        assert_eq!(File::read(&bytes).content()["method"], "any-gnn", "{name}");
        assert_eq!(ModelFile::read(&bytes).unwrap().method(), "price", "{name}");
        let model = read_model(&bytes).unwrap();
        let said = model.describe();
        assert!(said.contains("price") && said.contains(problem), "{name}: {said}");
        let found = old_answer(&*model);
        for (amount, found) in ["power_w", "bandwidth_hz"].into_iter().zip(&found) {
            let Some(known) = known[name][amount].as_array() else { continue };
            assert_eq!(found.len(), known.len(), "{name}: {amount}");
            for (found, known) in found.iter().zip(known) {
                let known = known.as_f64().unwrap();
                let off = (found / known - 1.0).abs();
                assert!(off <= most_off, "{name}: {amount} is {found}, was {known}");
            }
        }
        // Written and read again.
        let written = model.bytes().unwrap();
        let file = File::read(&written);
        let content = file.content();
        assert_eq!((&content["problem"], &content["method"]), (&problem.into(), &"price".into()));
        assert_eq!(file.checksum, file.crc(), "{name}");
        let again = read_model(&written).unwrap();
        assert_eq!(old_answer(&*again), found, "{name}");
        assert!(again.bytes().unwrap() == written, "{name}");
    }
}

/// Tests that the training ranges of a model of version 0.2 are kept. These are ranges of gains and budgets; for
/// urllc-power they were stored next to the ranges of the record.
#[test]
fn ranges_of_version_0_2_are_kept() {
    let read =
        |name: &str| std::fs::read(models_of_0_2().join(format!("{name}.safetensors"))).unwrap();
    let system = &*trainings::SYSTEM;
    let far = system.path_loss().gain(900.0);
    let policy = PricePolicy::from_bytes(&read("urllc-any-gnn")).unwrap();
    let names: Vec<&String> = policy.record().ranges.0.keys().collect();
    let all = [
        "antennas",
        "arrival_rate",
        "epsilon",
        "gain_db",
        "load",
        "packet_bits",
        "power_per_user_w",
    ];
    assert_eq!(names, all);
    let mut allocator = policy.allocator();
    let mut outside = |gain: f64| {
        let problem = Urllc::uniform(system, [gain; 10]).unwrap();
        allocator.serve(&problem, &mut UrllcAllocation::default()).unwrap();
        allocator.out_of_range(&problem)
    };
    assert_eq!(outside(system.path_loss().gain(100.0)), Vec::<String>::new());
    let told = outside(far);
    assert!(told.iter().any(|text| text.starts_with("gain_db -14")), "{told:?}");
    let policy = BandPricePolicy::from_bytes(&read("urllc-power")).unwrap();
    let names: Vec<&String> = policy.record().ranges.0.keys().collect();
    assert_eq!(names, ["bandwidth_per_user_hz", "gain_db"]);
    let mut allocator = policy.allocator();
    let mut outside = |gain: f64, each_hz: f64| {
        let problem = UrllcPower::uniform(system, [gain; 10], 10.0 * each_hz).unwrap();
        allocator.serve(&problem, &mut UrllcAllocation::default()).unwrap();
        allocator.out_of_range(&problem)
    };
    assert_eq!(outside(system.path_loss().gain(100.0), 3e5), Vec::<String>::new());
    let told = outside(far, 9e6);
    assert!(told.len() == 2 && told[0].starts_with("gain_db -14"), "{told:?}");
    assert!(told[1].starts_with("bandwidth_per_user_hz 9.00e6"), "{told:?}");
}

/// Tests that only price policies have the former name, and that a file under this name must not contain unknown
/// tensors.
#[test]
fn the_former_name_stands_for_nothing_else() {
    let bytes = std::fs::read(models_of_0_2().join("separable.safetensors")).unwrap();
    let file = File::read(&bytes);
    assert!(file.tensors.contains_key("response.outputs"));
    let without = file.changed(|file| _ = file.tensors.remove("response.outputs"));
    let [with, without] = [&bytes, &without].map(|bytes| read_model(bytes).unwrap());
    assert_eq!(with.bytes().unwrap(), without.bytes().unwrap());
    for problem in ["qos-power", "equal-bandwidth", "interference", "urllc-power"] {
        let renamed = file.changed(|file| {
            file.content = file.content.replacen("separable", problem, 1);
        });
        assert!(matches!(refusal(&renamed), ModelError::Format(_)), "{problem}");
    }
}
