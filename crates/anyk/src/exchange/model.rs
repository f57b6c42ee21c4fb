//! Model files.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exchange::container::Container;
use crate::network::single;
use crate::policy::{LearnedPolicy, ModelError, ModelRecord, PowerModelRecord, PowerPolicy};

const KIND: &str = "anyk-model";
const POWER_KIND: &str = "anyk-power-model";
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text<R> {
    version: u64,
    record: R,
}

/// The version alone: a newer file may have fields that are not known here.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// A learned policy of any problem.
#[derive(Debug, Clone)]
pub enum Model {
    /// Power and bandwidth for URLLC.
    Urllc(Box<LearnedPolicy>),
    /// Powers of an interference network.
    Power(Box<PowerPolicy>),
}

impl Model {
    /// Reads a model of any problem; a damaged, truncated, foreign or newer file is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        match Container::kind_of(bytes).as_deref() {
            Ok(POWER_KIND) => power_from_bytes(bytes).map(|policy| Self::Power(Box::new(policy))),
            _ => model_from_bytes(bytes).map(|policy| Self::Urllc(Box::new(policy))),
        }
    }
}

/// A model as the bytes of a safetensors file: tensors `power`, `bandwidth` and, for P-GNN, `law`, with
/// the record of its training in the metadata. The same model gives the same bytes.
pub fn model_to_bytes(policy: &LearnedPolicy) -> Result<Vec<u8>, ModelError> {
    let text = Text { version: VERSION, record: policy.record().clone() };
    let mut tensors = vec![("bandwidth".to_owned(), policy.bandwidth_parameters().to_vec())];
    if let Some(law) = policy.law() {
        tensors.push(("law".to_owned(), law.parameters().to_vec()));
    }
    tensors.push(("power".to_owned(), policy.power_parameters().to_vec()));
    let text = serde_json::to_string(&text).map_err(|e| ModelError::Format(e.to_string()))?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads a model; a damaged, truncated, foreign or newer file is refused.
pub fn model_from_bytes(bytes: &[u8]) -> Result<LearnedPolicy, ModelError> {
    let (record, mut file) = open::<ModelRecord>(bytes, KIND)?;
    let power = file.take("power").ok_or_else(|| missing("power"))?;
    let bandwidth = file.take("bandwidth").ok_or_else(|| missing("bandwidth"))?;
    let law = file.take("law");
    LearnedPolicy::new(record, power, bandwidth, law)
}

/// A policy for interference networks as the bytes of a safetensors file with one tensor, `parameters`.
pub fn power_to_bytes(policy: &PowerPolicy) -> Result<Vec<u8>, ModelError> {
    let text = Text { version: VERSION, record: policy.record().clone() };
    let parameters = policy.parameters().iter().map(|&value| f64::from(value)).collect();
    let tensors = vec![("parameters".to_owned(), parameters)];
    let text = serde_json::to_string(&text).map_err(|e| ModelError::Format(e.to_string()))?;
    Container { kind: POWER_KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

fn power_from_bytes(bytes: &[u8]) -> Result<PowerPolicy, ModelError> {
    let (record, mut file) = open::<PowerModelRecord>(bytes, POWER_KIND)?;
    let parameters = file.take("parameters").ok_or_else(|| missing("parameters"))?;
    PowerPolicy::new(record, parameters.into_iter().map(single).collect())
}

/// The record and the tensors of a model of a kind.
fn open<R: DeserializeOwned>(bytes: &[u8], kind: &str) -> Result<(R, Container), ModelError> {
    let file = Container::from_bytes(bytes, kind).map_err(ModelError::Format)?;
    let parse = |error: serde_json::Error| ModelError::Format(error.to_string());
    let Version { version } = serde_json::from_str(&file.text).map_err(parse)?;
    if version > VERSION {
        return Err(ModelError::Newer { found: version, known: VERSION });
    }
    let Text { record, .. } = serde_json::from_str(&file.text).map_err(parse)?;
    Ok((record, file))
}

fn missing(name: &str) -> ModelError {
    ModelError::Format(format!("the tensor {name} is missing"))
}
