//! Model files.

use serde::{Deserialize, Serialize};

use crate::exchange::container::Container;
use crate::policy::{LearnedPolicy, ModelError, ModelRecord};

const KIND: &str = "anyk-model";
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    version: u64,
    record: ModelRecord,
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
}

impl Model {
    /// Reads a model of any problem; a damaged, truncated, foreign or newer file is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        model_from_bytes(bytes).map(|policy| Self::Urllc(Box::new(policy)))
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
    let mut file = Container::from_bytes(bytes, KIND).map_err(ModelError::Format)?;
    let parse = |error: serde_json::Error| ModelError::Format(error.to_string());
    let Version { version } = serde_json::from_str(&file.text).map_err(parse)?;
    if version > VERSION {
        return Err(ModelError::Newer { found: version, known: VERSION });
    }
    let Text { record, .. } = serde_json::from_str(&file.text).map_err(parse)?;
    let missing = |name: &str| ModelError::Format(format!("the tensor {name} is missing"));
    let power = file.take("power").ok_or_else(|| missing("power"))?;
    let bandwidth = file.take("bandwidth").ok_or_else(|| missing("bandwidth"))?;
    let law = file.take("law");
    LearnedPolicy::new(record, power, bandwidth, law)
}
