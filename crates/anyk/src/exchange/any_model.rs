//! Model files of any-gnn.

use crate::exchange::container::Container;
use crate::exchange::model::{open, text_of};
use crate::policy::{AnyPolicy, ModelError};

pub(super) const KIND: &str = "anyk-any-model";
const VERSION: u64 = 1;

/// A model as the bytes of a safetensors file with one tensor, `parameters`, and the record of its training
/// in the metadata. The same model gives the same bytes.
pub fn any_to_bytes(policy: &AnyPolicy) -> Result<Vec<u8>, ModelError> {
    let tensors = vec![("parameters".to_owned(), policy.parameters().to_vec())];
    let text = text_of(VERSION, policy.record())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads such a model; a damaged, truncated, foreign or newer file is refused.
pub fn any_from_bytes(bytes: &[u8]) -> Result<AnyPolicy, ModelError> {
    let (mut file, record) = open(bytes, KIND, VERSION)?;
    let missing = || ModelError::Format("the tensor parameters is missing".into());
    AnyPolicy::new(record, file.take("parameters").ok_or_else(missing)?)
}
