//! Model files of policies for fading of unknown law.

use crate::exchange::container::Container;
use crate::exchange::model::{open, text_of};
use crate::network::ConvexLaw;
use crate::policy::{ModelError, SampledPolicy, SampledRecord};
use crate::training::{ErrorPoint, SampledBandwidth};

pub(super) const KIND: &str = "anyk-sampled-model";
const VERSION: u64 = 1;

/// A model as the bytes of a safetensors file: tensors `law`, `places`, `shortfalls` and
/// `standard_errors`, with the record in the metadata. The same model gives the same bytes.
pub fn sampled_to_bytes(policy: &SampledPolicy) -> Result<Vec<u8>, ModelError> {
    let column = |value: fn(&ErrorPoint) -> f64| {
        policy.bandwidth().errors.iter().map(value).collect::<Vec<f64>>()
    };
    let tensors = vec![
        ("law".to_owned(), policy.law().parameters().to_vec()),
        ("places".to_owned(), column(|point| point.place)),
        ("shortfalls".to_owned(), column(|point| point.shortfall)),
        ("standard_errors".to_owned(), column(|point| point.standard_error)),
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
    let (parameters, places) = (take("law")?, take("places")?);
    let (shortfalls, standard_errors) = (take("shortfalls")?, take("standard_errors")?);
    if places.len() != shortfalls.len() || places.len() != standard_errors.len() {
        return Err(ModelError::Content("the errors of b̂ do not fit each other".into()));
    }
    let law = ConvexLaw::new(record.range_w.0, parameters)
        .ok_or_else(|| ModelError::Content("the parameters of b̂ do not fit".into()))?;
    let rows = places.into_iter().zip(shortfalls).zip(standard_errors);
    let errors = rows
        .map(|((place, shortfall), standard_error)| ErrorPoint { place, standard_error, shortfall })
        .collect();
    let range_w = record.range_w;
    SampledPolicy::new(record, SampledBandwidth { law, range_w, errors })
}
