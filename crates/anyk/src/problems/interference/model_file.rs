//! Model files and checkpoints of policies for interference networks.

use serde::{Deserialize, Serialize};

use crate::exchange::container::Container;
use crate::framework::Adam;
use crate::framework::ModelError;
use crate::math::single;
use crate::problems::interference::PowerPolicy;
use crate::problems::interference::{PowerTrainSettings, PowerTrainState};
use crate::problems::urllc::model_file::{open, text_of};

pub(crate) const KIND: &str = "anyk-power-model";
const VERSION: u64 = 1;
const CHECKPOINT: &str = "anyk-power-checkpoint";

/// A policy as the bytes of a safetensors file with one tensor, `parameters`, and the record of its
/// training in the metadata. The same policy gives the same bytes.
pub fn power_to_bytes(policy: &PowerPolicy) -> Result<Vec<u8>, ModelError> {
    let parameters = policy.parameters().iter().map(|&value| f64::from(value)).collect();
    let tensors = vec![("parameters".to_owned(), parameters)];
    let text = text_of(VERSION, policy.record())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes().map_err(ModelError::Format)
}

/// Reads such a policy; a damaged, truncated, foreign or newer file is refused.
pub fn power_from_bytes(bytes: &[u8]) -> Result<PowerPolicy, ModelError> {
    let (mut file, record) = open(bytes, KIND, VERSION)?;
    let missing = || ModelError::Format("the tensor parameters is missing".into());
    let parameters = file.take("parameters").ok_or_else(missing)?;
    PowerPolicy::new(record, parameters.into_iter().map(single).collect())
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    settings: PowerTrainSettings,
    step: u64,
    adam_steps: u64,
}

/// The state of a training, as the bytes of a file.
pub fn power_checkpoint_to_bytes(
    settings: &PowerTrainSettings,
    state: &PowerTrainState,
) -> Result<Vec<u8>, String> {
    let (first, second, adam_steps) = state.adam.memory();
    let double = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    let text = Text { settings: settings.clone(), step: state.step, adam_steps };
    let tensors = vec![
        ("first".to_owned(), double(first)),
        ("parameters".to_owned(), double(&state.parameters)),
        ("second".to_owned(), double(second)),
    ];
    let text = serde_json::to_string(&text).map_err(|error| error.to_string())?;
    Container { kind: CHECKPOINT.to_owned(), text, tensors }.to_bytes()
}

/// The state in a checkpoint of exactly this training; an error says why it is not one.
pub fn power_checkpoint_from_bytes(
    bytes: &[u8],
    settings: &PowerTrainSettings,
) -> Result<PowerTrainState, String> {
    let mut file = Container::from_bytes(bytes, CHECKPOINT)?;
    let text: Text = serde_json::from_str(&file.text).map_err(|error| error.to_string())?;
    if &text.settings != settings {
        return Err("it belongs to a training with other settings".into());
    }
    let mut take = |name: &str| -> Result<Vec<f32>, String> {
        let values = file.take(name).ok_or_else(|| format!("the tensor {name} is missing"))?;
        Ok(values.into_iter().map(single).collect())
    };
    let (first, second) = (take("first")?, take("second")?);
    let adam = Adam::from_memory(first, second, text.adam_steps, PowerTrainSettings::BETAS)
        .ok_or("its optimizer's memory does not fit")?;
    Ok(PowerTrainState { step: text.step, parameters: take("parameters")?, adam })
}
