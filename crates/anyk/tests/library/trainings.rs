//! Training runs of every kind, each a fraction of a second long.

// Each test file that includes this module uses only a part of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use anyk::channel::{D2dField, FadingLaw, FadingSamples};
use anyk::framework::{
    LawSizes, Method, PretrainLoss, PretrainSettings, Session, Silent, Stored, TrainError,
};
use anyk::network::{Aggregator, EdgeGnn, LawShape, PriceResponse};
use anyk::problems::closed_forms::{ClosedForm, ClosedFormSettings, train_closed_form};
use anyk::problems::interference::{PowerLoss, PowerOutput, PowerTrainSettings};
use anyk::problems::interference::{Scenario, train_power};
use anyk::problems::urllc::{PriceSettings, Recipe, SampledSettings, TrainSettings, UserInputs};
use anyk::problems::urllc::{
    draw_fading, law_for, train_price_policy, train_sampled_policy, train_urllc,
};
use anyk::problems::urllc_power::BandPricePolicy;
use anyk::{Config, System};

/// Training run that returns the bytes of its model.
pub(crate) struct Training {
    /// Problem and method.
    pub(crate) name: &'static str,
    /// Stages in their order.
    pub(crate) stages: &'static [&'static str],
    /// Function that runs the training.
    pub(crate) run: fn(&mut Session<'_>) -> Result<Vec<u8>, TrainError>,
}

impl Training {
    /// Returns the model of an uninterrupted run.
    pub(crate) fn model(&self) -> Vec<u8> {
        (self.run)(&mut Session::new(&Silent)).unwrap()
    }
}

/// All training runs.
pub(crate) static ALL: [Training; 13] = [
    Training {
        name: "urllc p-gnn",
        stages: &["pre-training", "training"],
        run: |session| {
            let pretraining = pretraining(PretrainLoss::Supervised);
            urllc(&settings(Method::PGnn), &pretraining, session)
        },
    },
    Training {
        name: "urllc p-gnn, pre-trained without labels",
        stages: &["pre-training", "training"],
        run: |session| {
            let settings = TrainSettings {
                aggregator: Aggregator::Sum,
                train_k: vec![2, 4],
                ..settings(Method::PGnn)
            };
            urllc(&settings, &pretraining(PretrainLoss::Unsupervised), session)
        },
    },
    Training {
        name: "urllc m-gnn",
        stages: &["training"],
        run: |session| {
            // Plain gradient steps.
            let recipe = Recipe { steps: Some(STEPS), ..Recipe::paper() };
            let settings = TrainSettings { recipe, ..settings(Method::MGnn) };
            urllc(&settings, &PretrainSettings::default(), session)
        },
    },
    Training {
        name: "urllc m-gnn, size as an input",
        stages: &["training"],
        run: |session| {
            let settings = TrainSettings {
                train_k: vec![2, 4],
                inputs: UserInputs::GainAndSize,
                ..settings(Method::MGnn)
            };
            urllc(&settings, &PretrainSettings::default(), session)
        },
    },
    Training {
        name: "urllc fnn",
        stages: &["training"],
        run: |session| {
            let recipe = Recipe { steps: Some(STEPS), batch: 8, ..Recipe::fast_fnn() };
            let settings = TrainSettings {
                train_k: vec![2, 4],
                hidden: vec![6],
                recipe,
                ..settings(Method::Fnn)
            };
            urllc(&settings, &PretrainSettings::default(), session)
        },
    },
    Training {
        name: "urllc price",
        stages: &["training"],
        run: |session| Ok(train_price_policy(&SYSTEM, &price_settings(), session)?.to_bytes()?),
    },
    Training {
        name: "urllc price, from samples with labels",
        stages: &["bandwidth", "training"],
        run: |session| sampled(PretrainLoss::Supervised, session),
    },
    Training {
        name: "urllc price, from samples without labels",
        stages: &["bandwidth", "training"],
        run: |session| sampled(PretrainLoss::Unsupervised, session),
    },
    Training {
        name: "urllc-power price",
        stages: &["training"],
        run: |session| Ok(BandPricePolicy::train(&SYSTEM, &price_settings(), session)?.to_bytes()?),
    },
    Training {
        name: "qos-power",
        stages: &["powers"],
        run: |session| {
            let problem = ClosedForm::QosPower { rate_bps: 1e6, bandwidth_hz: 1e6 };
            closed_form(&closed_form_settings(problem), session)
        },
    },
    Training {
        name: "equal-bandwidth p-gnn",
        stages: &["pre-training", "powers", "bandwidth"],
        run: |session| {
            let problem = ClosedForm::EqualBandwidth { rate_bps: 1e5 };
            closed_form(&closed_form_settings(problem), session)
        },
    },
    Training {
        name: "interference",
        stages: &["training"],
        run: |session| {
            let settings = PowerTrainSettings {
                train_k: 4,
                samples: 20,
                batch: 8,
                steps: STEPS,
                network: EdgeGnn {
                    hidden: 8,
                    rounds: 1,
                    aggregator: Aggregator::Mean,
                    weighted: false,
                },
                ..PowerTrainSettings::preset(Scenario::Dense, 1)
            };
            let policy = train_power(&settings, PowerOutput::Priced { steps: 1 }, session)?;
            Ok(policy.to_bytes()?)
        },
    },
    Training {
        name: "link scheduling",
        stages: &["training"],
        run: |session| {
            let settings = PowerTrainSettings {
                train_k: 6,
                samples: 20,
                batch: 8,
                steps: STEPS,
                loss: PowerLoss::Fplinq,
                network: EdgeGnn {
                    hidden: 8,
                    rounds: 2,
                    aggregator: Aggregator::Sum,
                    weighted: false,
                },
                ..PowerTrainSettings::preset(Scenario::D2d(D2dField::default()), 1)
            };
            let policy = train_power(&settings, PowerOutput::Ranked { passes: 2 }, session)?;
            Ok(policy.to_bytes()?)
        },
    },
];

/// Returns the training run with this name.
pub(crate) fn named(name: &str) -> &'static Training {
    ALL.iter().find(|training| training.name == name).unwrap()
}

/// Number of steps. The driver checks its observer every 64 steps, so four times.
pub(crate) const STEPS: u64 = 300;

pub(crate) static SYSTEM: LazyLock<System> =
    LazyLock::new(|| Config::default().validate().unwrap());

/// Returns settings with batches that do not divide the samples, so that an epoch ends between two checks of the
/// observer.
pub(crate) fn settings(method: Method) -> TrainSettings {
    TrainSettings {
        method,
        train_k: vec![3],
        samples: 25,
        epsilon_d: 6e-6,
        aggregator: Aggregator::Mean,
        inputs: UserInputs::Gain,
        hidden: vec![4],
        recipe: Recipe {
            steps: Some(STEPS),
            batch: 7,
            stored_draws: 4,
            draws: 2,
            ..Recipe::fast(3)
        },
        seed: 1,
    }
}

fn pretraining(loss: PretrainLoss) -> PretrainSettings {
    let shape = LawShape { hidden: vec![6, 5], ..LawShape::default() };
    // Five batches per epoch, the last of them smaller.
    PretrainSettings {
        loss,
        shape,
        sizes: LawSizes::Every { most: 6 },
        samples_per_size: 20,
        batch: 25,
        epochs: 60,
        ..PretrainSettings::default()
    }
}

fn urllc(
    settings: &TrainSettings,
    pretraining: &PretrainSettings,
    session: &mut Session<'_>,
) -> Result<Vec<u8>, TrainError> {
    let law = law_for(&SYSTEM, settings, pretraining, session)?;
    let policy = train_urllc(&SYSTEM, settings, (pretraining, law.as_ref()), session)?;
    Ok(policy.to_bytes()?)
}

fn price_settings() -> PriceSettings {
    PriceSettings {
        train_k: vec![3],
        samples: 30,
        network: PriceResponse { hidden: 3 },
        batch: 7,
        steps: STEPS,
        ..PriceSettings::preset(1)
    }
}

fn sampled(loss: PretrainLoss, session: &mut Session<'_>) -> Result<Vec<u8>, TrainError> {
    let samples = draw_fading(&SYSTEM, &FadingLaw::Rayleigh, 500, 4);
    let samples = FadingSamples::new(samples).unwrap();
    let learning = SampledSettings { units: 6, steps: STEPS, ..SampledSettings::new(loss, 1) };
    let policy =
        train_sampled_policy(&SYSTEM, &samples, &learning, &price_settings(), 2.0, session)?;
    Ok(policy.to_bytes()?)
}

fn closed_form_settings(problem: ClosedForm) -> ClosedFormSettings {
    ClosedFormSettings {
        train_k: vec![3],
        samples: 25,
        power_hidden: vec![3],
        bandwidth_hidden: vec![4, 3],
        batch: 7,
        steps: STEPS,
        ..ClosedFormSettings::new(problem, 1)
    }
}

fn closed_form(
    settings: &ClosedFormSettings,
    session: &mut Session<'_>,
) -> Result<Vec<u8>, TrainError> {
    Ok(train_closed_form(&SYSTEM, settings, session)?.to_bytes()?)
}
