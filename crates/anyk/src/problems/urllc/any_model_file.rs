//! Model files of any-gnn.

use crate::exchange::container::Container;
use crate::framework::ModelError;
use crate::network::ConvexLaw;
use crate::problems::urllc::model_file::{open, text_of};
use crate::problems::urllc::{AnyPolicy, AnyRecord};
use crate::problems::urllc::{ErrorPoint, SampledBandwidth};

pub(crate) const KIND: &str = "anyk-any-model";
/// 2: bandwidths learned from samples of fading, and guarantees.
const VERSION: u64 = 2;

/// A model as the bytes of a safetensors file with a tensor `parameters`, and the record of its training in
/// the metadata. If its bandwidth was learned from samples of fading, also the tensors `law`, `places`,
/// `shortfalls` and `standard_errors`. The same model gives the same bytes.
pub fn any_to_bytes(policy: &AnyPolicy) -> Result<Vec<u8>, ModelError> {
    let mut tensors = Vec::new();
    let mut push = |name: &str, values: Vec<f64>| tensors.push((name.to_owned(), values));
    if let Some(SampledBandwidth { law, errors, .. }) = policy.bandwidth() {
        push("law", law.parameters().to_vec());
        push("places", errors.iter().map(|point| point.place).collect());
        push("shortfalls", errors.iter().map(|point| point.shortfall).collect());
        push("standard_errors", errors.iter().map(|point| point.standard_error).collect());
    }
    push("parameters", policy.parameters().to_vec());
    let text = text_of(VERSION, policy.record())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads such a model; a damaged, truncated, foreign or newer file is refused.
pub fn any_from_bytes(bytes: &[u8]) -> Result<AnyPolicy, ModelError> {
    let (mut file, record): (Container, AnyRecord) = open(bytes, KIND, VERSION)?;
    let mut take = |name: &str| {
        file.take(name).ok_or_else(|| ModelError::Format(format!("the tensor {name} is missing")))
    };
    let parameters = take("parameters")?;
    let Some(sampled) = &record.sampled else {
        return AnyPolicy::new(record, parameters, None);
    };
    let (law, places) = (take("law")?, take("places")?);
    let (shortfalls, standard_errors) = (take("shortfalls")?, take("standard_errors")?);
    if places.len() != shortfalls.len() || places.len() != standard_errors.len() {
        return Err(ModelError::Content("the errors of b̂ do not fit each other".into()));
    }
    let range_w = sampled.range_w;
    let law = ConvexLaw::new(range_w.0, law)
        .ok_or_else(|| ModelError::Content("the parameters of b̂ do not fit".into()))?;
    let rows = places.into_iter().zip(shortfalls).zip(standard_errors);
    let errors = rows
        .map(|((place, shortfall), standard_error)| ErrorPoint { place, standard_error, shortfall })
        .collect();
    AnyPolicy::new(record, parameters, Some(SampledBandwidth { law, range_w, errors }))
}
