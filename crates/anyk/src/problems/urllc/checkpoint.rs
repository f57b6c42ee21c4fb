//! Checkpoint files: a training, stopped between two steps.

use serde::{Deserialize, Serialize};

use crate::exchange::container::Container;
use crate::framework::Adam;
use crate::math::single;
use crate::network::BandwidthLaw;
use crate::problems::urllc::{PretrainSettings, TrainSettings, TrainState};

const KIND: &str = "anyk-checkpoint";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    settings: TrainSettings,
    pretraining: Option<PretrainSettings>,
    attempt: u32,
    step: u64,
    adam_steps: u64,
}

/// The state of a training and its outer function, as the bytes of a file.
pub fn checkpoint_to_bytes(
    settings: &TrainSettings,
    law: Option<(&PretrainSettings, &BandwidthLaw)>,
    state: &TrainState,
) -> Result<Vec<u8>, String> {
    let (first, second, adam_steps) = state.adam.memory();
    let double = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    let text = Text {
        settings: settings.clone(),
        pretraining: law.map(|law| law.0.clone()),
        attempt: state.attempt,
        step: state.step,
        adam_steps,
    };
    let mut tensors = vec![("first".to_owned(), double(first))];
    if let Some((_, law)) = law {
        tensors.push(("law".to_owned(), law.parameters().to_vec()));
    }
    tensors.push(("parameters".to_owned(), double(&state.parameters)));
    tensors.push(("second".to_owned(), double(second)));
    let text = serde_json::to_string(&text).map_err(|error| error.to_string())?;
    Container { kind: KIND.to_owned(), text, tensors }.to_bytes()
}

/// The state and the outer function of a checkpoint of exactly this training; an error says why it is
/// not one.
pub fn checkpoint_from_bytes(
    bytes: &[u8],
    settings: &TrainSettings,
    pretraining: Option<&PretrainSettings>,
) -> Result<(Option<BandwidthLaw>, TrainState), String> {
    let mut file = Container::from_bytes(bytes, KIND)?;
    let text: Text = serde_json::from_str(&file.text).map_err(|error| error.to_string())?;
    if &text.settings != settings || text.pretraining.as_ref() != pretraining {
        return Err("it belongs to a training with other settings".into());
    }
    let mut take =
        |name: &str| file.take(name).ok_or_else(|| format!("the tensor {name} is missing"));
    let singles = |values: Vec<f64>| values.into_iter().map(single).collect::<Vec<f32>>();
    let law = match pretraining {
        Some(pretraining) => {
            let law = BandwidthLaw::new(&pretraining.shape, take("law")?);
            Some(law.ok_or("its law does not fit")?)
        }
        None => None,
    };
    let (first, second) = (singles(take("first")?), singles(take("second")?));
    let adam = Adam::from_memory(first, second, text.adam_steps, settings.recipe.betas())
        .ok_or("its optimizer's memory does not fit")?;
    let parameters = singles(take("parameters")?);
    Ok((law, TrainState { attempt: text.attempt, step: text.step, parameters, adam }))
}
