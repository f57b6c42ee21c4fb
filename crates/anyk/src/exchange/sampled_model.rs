//! Model files of policies for fading of unknown law.

use crate::exchange::container::Container;
use crate::exchange::model::{open, text_of};
use crate::network::ConvexLaw;
use crate::policy::{ModelError, SampledPolicy, SampledRecord};
use crate::training::SampledBandwidth;

pub(super) const KIND: &str = "anyk-sampled-model";
const VERSION: u64 = 1;

/// A model as the bytes of a safetensors file: tensors `errors`, `law` and `places`, with the record in the
/// metadata. The same model gives the same bytes.
pub fn sampled_to_bytes(policy: &SampledPolicy) -> Result<Vec<u8>, ModelError> {
    let (places, errors) = policy.bandwidth().standard_error.iter().copied().unzip();
    let tensors = vec![
        ("errors".to_owned(), errors),
        ("law".to_owned(), policy.law().parameters().to_vec()),
        ("places".to_owned(), places),
    ];
    let text = text_of(VERSION, policy.record())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads a model; a damaged, truncated, foreign or newer file is refused.
pub fn sampled_from_bytes(bytes: &[u8]) -> Result<SampledPolicy, ModelError> {
    let (mut file, record): (Container, SampledRecord) = open(bytes, KIND, VERSION)?;
    let mut take = |name: &str| {
        file.take(name).ok_or_else(|| ModelError::Format(format!("the tensor {name} is missing")))
    };
    let (errors, parameters, places) = (take("errors")?, take("law")?, take("places")?);
    let law = ConvexLaw::new(record.range_w.0, parameters)
        .ok_or_else(|| ModelError::Content("the parameters of b̂ do not fit".into()))?;
    let standard_error = places.into_iter().zip(errors).collect();
    let range_w = record.range_w;
    SampledPolicy::new(record, SampledBandwidth { law, range_w, standard_error })
}
