//! `anyk info`: shows a model's problem, method, training record and tensors.

use std::process::ExitCode;

use anyk::core::{Page, Text};
use anyk::framework::{Error, ModelFile};
use anyk::problems::read_model;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::InfoArgs;
use crate::failure::Failure;
use crate::{files, output};

#[derive(Serialize)]
struct Info {
    model: String,
    what: String,
    problem: String,
    method: String,
    bytes: usize,
    /// Largest K at which the model was validated, for methods whose quality depends on K.
    #[serde(skip_serializing_if = "Option::is_none")]
    validated_k: Option<usize>,
    record: Box<RawValue>,
    tensors: Vec<TensorInfo>,
    parameters: usize,
}

#[derive(Serialize)]
struct TensorInfo {
    name: String,
    shape: Vec<usize>,
}

pub(super) fn run(args: &InfoArgs) -> Result<ExitCode, Failure> {
    let name = files::name(&args.model);
    let bytes = files::model_file(&args.model)?;
    let named = |error: anyk::framework::ModelError| Error::from(error).in_file(name);
    // Load the whole model, so that an unusable file is an error.
    let model = read_model(&bytes).map_err(named)?;
    let file = ModelFile::read(&bytes).map_err(named)?;
    let tensors: Vec<TensorInfo> = file
        .shapes()
        .map(|(name, shape)| TensorInfo { name: name.to_owned(), shape: shape.to_vec() })
        .collect();
    let info = Info {
        model: name.to_owned(),
        what: model.describe(),
        problem: file.problem().to_owned(),
        method: file.method().to_owned(),
        bytes: bytes.len(),
        validated_k: model.validated_k(),
        record: file.record().to_owned(),
        parameters: tensors.iter().map(|tensor| tensor.shape.iter().product::<usize>()).sum(),
        tensors,
    };
    output::page(&Page::new(&info, info.text())?, args.json)
}

impl Info {
    fn text(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {}, {} parameters, {} bytes",
            self.model, self.what, self.parameters, self.bytes
        ));
        if let Some(k) = self.validated_k {
            text.push(format!("validated up to K = {k}"));
        }
        let record: Value = serde_json::from_str(self.record.get()).unwrap_or_default();
        let mut rows = Vec::new();
        flatten(String::new(), &record, &mut rows);
        text.push("");
        text.table(&["record", ""], rows);
        text.push("");
        let rows = self.tensors.iter().map(|tensor| {
            let axes: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
            vec![tensor.name.clone(), axes.join(" × ")]
        });
        text.table(&["tensor", "shape"], rows);
        text
    }
}

/// Flattens a record to rows of name and value: `training.seed`, `1`.
fn flatten(name: String, value: &Value, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flatten(format!("{name}{dot}{field}"), value, rows);
            }
        }
        Value::String(text) => rows.push(vec![name, text.clone()]),
        Value::Null => rows.push(vec![name, "–".to_owned()]),
        other => rows.push(vec![name, other.to_string()]),
    }
}
