//! Model files.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exchange::container::Container;
use crate::framework::ModelError;
use crate::problems::closed_forms::ClosedFormPolicy;
use crate::problems::closed_forms::{answer as closed_form, closed_form_from_bytes};
use crate::problems::interference::PowerPolicy;
use crate::problems::interference::model_file::{self as power_model, power_from_bytes};
use crate::problems::urllc::any_model_file::{self as any_model, any_from_bytes};
use crate::problems::urllc::{AnyPolicy, LearnedPolicy};

const KIND: &str = "anyk-model";
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
    /// The same by a response to one price of power: any-gnn, for fading of known law or of unknown.
    Any(Box<AnyPolicy>),
    /// Power, or power and one bandwidth, at a rate.
    ClosedForm(Box<ClosedFormPolicy>),
    /// Powers of an interference network.
    Power(Box<PowerPolicy>),
}

impl Model {
    /// Reads a model of any problem; a damaged, truncated, foreign or newer file is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        match Container::kind_of(bytes).map_err(ModelError::Format)?.as_str() {
            any_model::KIND => any_from_bytes(bytes).map(|policy| Self::Any(Box::new(policy))),
            closed_form::KIND => {
                closed_form_from_bytes(bytes).map(|policy| Self::ClosedForm(Box::new(policy)))
            }
            power_model::KIND => {
                power_from_bytes(bytes).map(|policy| Self::Power(Box::new(policy)))
            }
            // Of any other kind: the message says what was expected.
            _ => model_from_bytes(bytes).map(|policy| Self::Urllc(Box::new(policy))),
        }
    }
}

/// A model as the bytes of a safetensors file: tensors `power`, `bandwidth` and, for P-GNN, `law`, with
/// the record of its training in the metadata. The same model gives the same bytes.
pub fn model_to_bytes(policy: &LearnedPolicy) -> Result<Vec<u8>, ModelError> {
    let mut tensors = vec![("bandwidth".to_owned(), policy.bandwidth_parameters().to_vec())];
    if let Some(law) = policy.law() {
        tensors.push(("law".to_owned(), law.parameters().to_vec()));
    }
    tensors.push(("power".to_owned(), policy.power_parameters().to_vec()));
    let text = text_of(VERSION, policy.record())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads a model; a damaged, truncated, foreign or newer file is refused.
pub fn model_from_bytes(bytes: &[u8]) -> Result<LearnedPolicy, ModelError> {
    let (mut file, record) = open(bytes, KIND, VERSION)?;
    let missing = |name: &str| ModelError::Format(format!("the tensor {name} is missing"));
    let power = file.take("power").ok_or_else(|| missing("power"))?;
    let bandwidth = file.take("bandwidth").ok_or_else(|| missing("bandwidth"))?;
    let law = file.take("law");
    LearnedPolicy::new(record, power, bandwidth, law)
}

/// The text of a file: the version of its format, and a record.
pub(crate) fn text_of<R: Serialize>(version: u64, record: R) -> Result<String, ModelError> {
    serde_json::to_string(&Text { version, record })
        .map_err(|error| ModelError::Format(error.to_string()))
}

/// The content of a file of a kind, with its record; a version newer than the one known is refused.
pub(crate) fn open<R: DeserializeOwned>(
    bytes: &[u8],
    kind: &str,
    known: u64,
) -> Result<(Container, R), ModelError> {
    let file = Container::from_bytes(bytes, kind).map_err(ModelError::Format)?;
    let parse = |error: serde_json::Error| ModelError::Format(error.to_string());
    let Version { version: found } = serde_json::from_str(&file.text).map_err(parse)?;
    if found > known {
        return Err(ModelError::Newer { found, known });
    }
    let Text { record, .. } = serde_json::from_str(&file.text).map_err(parse)?;
    Ok((file, record))
}
