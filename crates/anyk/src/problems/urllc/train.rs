//! Options and training runs of URLLC policies.

use std::sync::Arc;

use crate::config::Config;
use crate::core::{Model, Trained, no_better_than};
use crate::exchange::{read_fading_samples, read_file};
use crate::framework::{
    CellOptions, Error, FORMER_PRICE, Method, ModelError, ModelFile, OptionSpec, OptionValue,
    Options, PRICE, PretrainLoss, PretrainSettings, Silent, Stored as _, TrainingContext,
    training_cells, training_specs,
};
use crate::invalid::Invalid;
use crate::network::Aggregator;
use crate::problems::urllc::price_run::equal_power_gap_percent;
use crate::problems::urllc::reports::{LearnedReport, PriceReport};
use crate::problems::urllc::run::{mean_metrics, validation_set};
use crate::problems::urllc::{
    DEVIATIONS, EqualPower, LearnedPolicy, PricePolicy, PriceSettings, Recipe, SampledSettings,
    TrainSettings, UserInputs, law_for, measure_law, train_price_policy, train_sampled_policy,
    train_urllc,
};
use crate::qos::ServiceClass;

/// Method that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trainable {
    Paper(Method),
    Price,
}

impl Trainable {
    /// Name, help text and value of each method.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        (
            "p-gnn",
            "Power by softmax, bandwidth with a pre-trained outer function",
            Self::Paper(Method::PGnn),
        ),
        (
            "m-gnn",
            "Power by softmax, bandwidth without an outer function",
            Self::Paper(Method::MGnn),
        ),
        (
            "fnn",
            "Fully connected networks, for cells up to the training size",
            Self::Paper(Method::Fnn),
        ),
        (
            PRICE,
            "Power from the user's response to a price, minimum bandwidth for it; certified",
            Self::Price,
        ),
        (FORMER_PRICE, "", Self::Price),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Fast,
    Paper,
}

impl Preset {
    /// Name, help text and value of each preset.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("fast", "Fast recipe; training takes seconds", Self::Fast),
        ("paper", "Recipe of the paper: plain gradient steps, 5000 epochs (table II)", Self::Paper),
    ];
}

impl PretrainLoss {
    /// Name, help text and value of each loss.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("supervised", "Labels from the solver", Self::Supervised),
        ("unsupervised", "KKT residual, without labels", Self::Unsupervised),
    ];
}

pub(super) fn training_options() -> Vec<OptionSpec> {
    let [train_k, samples, seed] = training_specs();
    vec![
        OptionSpec::choice(Trainable::ALL, "method", "Method to train")
            .or("p-gnn; price with samples of fading"),
        train_k,
        samples,
        OptionSpec::new(
            "epsilon-d",
            OptionValue::Number("PROBABILITY"),
            "Loss target for training, stricter than that of the users; not for price",
        )
        .or("6e-6"),
        OptionSpec::choice(
            Aggregator::NAMES,
            "aggregator",
            "Aggregation over the other users, for p-gnn and m-gnn",
        )
        .or("mean")
        .rare(),
        OptionSpec::choice(
            Preset::ALL,
            "preset",
            "Training recipe for the paper's networks: AnyK's (fast) or published (paper)",
        )
        .or("fast"),
        OptionSpec::choice(
            PretrainLoss::ALL,
            "pretraining",
            "Training loss of the outer function (p-gnn), or of price with samples of fading",
        )
        .or("supervised")
        .rare(),
        OptionSpec::new(
            "fading",
            OptionValue::File,
            "Samples of an unknown fading distribution (.npy, one axis, 500 or more; price only)",
        ),
        OptionSpec::new(
            "deviations",
            OptionValue::Number("N"),
            "Standard errors added to a bandwidth that is learned from samples of fading",
        )
        .or("3.719, which 9,999 of 10,000 normal errors do not exceed")
        .rare(),
        seed,
    ]
}

/// Smallest availability that counts as 1.00, as the paper prints it.
const AVAILABLE: f64 = 0.995;

/// Options that apply only to the paper's methods.
const OF_PAPER: [&str; 3] = ["epsilon-d", "aggregator", "preset"];
/// Options that apply only to the price policy.
const OF_PRICE: [&str; 2] = ["fading", "deviations"];

fn learned_settings(method: Method, options: &Options) -> Result<TrainSettings, Error> {
    options.refuse(&OF_PRICE, method.name())?;
    if method != Method::PGnn {
        options.refuse(&["pretraining"], method.name())?;
    }
    if method == Method::Fnn {
        options.refuse(&["aggregator"], method.name())?;
    }
    let epsilon_d = options.number("epsilon-d")?.unwrap_or(6e-6);
    ServiceClass { epsilon: epsilon_d, ..ServiceClass::default() }
        .validate()
        .map_err(|_| Invalid::value("epsilon_d", epsilon_d, ServiceClass::EPSILON_EXPECTED))?;
    let (train_k, samples) = training_cells(options)?;
    let largest = train_k.iter().copied().max().unwrap_or(1);
    let settings = TrainSettings {
        method,
        train_k,
        samples,
        epsilon_d,
        aggregator: options.choice(Aggregator::NAMES, "aggregator")?.unwrap_or(Aggregator::Mean),
        inputs: UserInputs::default(),
        hidden: if method == Method::Fnn { vec![300] } else { vec![4] },
        recipe: recipe(method, largest, options)?,
        seed: options.seed("seed", 1)?,
    };
    settings.validate()?;
    Ok(settings)
}

fn preset(options: &Options) -> Result<Preset, Error> {
    Ok(options.choice(Preset::ALL, "preset")?.unwrap_or(Preset::Fast))
}

fn recipe(method: Method, largest: usize, options: &Options) -> Result<Recipe, Error> {
    Ok(match (preset(options)?, method) {
        (Preset::Fast, Method::Fnn) => Recipe::fast_fnn(),
        (Preset::Fast, _) => Recipe::fast(largest),
        (Preset::Paper, Method::Fnn) => Recipe::paper_fnn(),
        (Preset::Paper, _) => Recipe::paper(),
    })
}

fn train_learned(
    method: Method,
    options: &Options,
    context: &TrainingContext<'_>,
) -> Result<Trained, Error> {
    let system = CellOptions::ALL.system(options, &Config::default())?;
    let settings = learned_settings(method, options)?;
    let loss =
        options.choice(PretrainLoss::ALL, "pretraining")?.unwrap_or(PretrainLoss::Supervised);
    let pretraining = match preset(options)? {
        Preset::Fast => PretrainSettings::default(),
        Preset::Paper => PretrainSettings::paper(),
    };
    let pretraining = PretrainSettings { loss, ..pretraining };
    let seed = context.law_seed(settings.seed);
    let law_seed = (method == Method::PGnn).then_some(seed);
    let decides = ("urllc", system.config(), &settings, &pretraining, law_seed);
    let mut session = context.session(&decides)?;
    let policy = session.kept_or(|session| -> Result<_, Error> {
        let decides = (method, system.config(), settings.epsilon_d, seed);
        let law = context.law::<LearnedPolicy>(session, (&pretraining, &decides), |session| {
            law_for(&system, &TrainSettings { seed, ..settings.clone() }, &pretraining, session)
        })?;
        Ok(train_urllc(&system, &settings, (&pretraining, law.as_ref()), session)?)
    })?;
    // Cells other than those of the pre-training, which uses the seed of the training run.
    let held_out = !settings.seed;
    let law_error = policy
        .law()
        .map(|law| measure_law(&system, settings.epsilon_d, law, &pretraining, held_out))
        .transpose()?;
    let set = validation_set(&system, None, &settings.train_k, settings.seed)?;
    let equal = set.evaluate(&EqualPower::default(), &Silent)?;
    let equal_percent = mean_metrics(&equal).gap_percent;
    let report = LearnedReport::new(context, &session, &policy, law_error, equal_percent);
    let availability = policy.record().metrics.availability;
    let hint = "a stricter `epsilon_d`, more samples, another seed, or the method price";
    let warning = (availability < AVAILABLE).then(|| not_all_served(availability, hint));
    let text = report.text();
    Trained::new(&session, policy, &report, text, warning)
}

fn not_all_served(availability: f64, hint: &str) -> String {
    format!("on validation, only {:.2} % of users are served; try {hint}", 100.0 * availability)
}

fn price_settings(options: &Options) -> Result<PriceSettings, Error> {
    options.refuse(&OF_PAPER, PRICE)?;
    if !options.has("fading") {
        options.refuse(&["pretraining", "deviations"], "price without `fading`")?;
    }
    Ok(PriceSettings::of_options(options)?)
}

fn train_price(options: &Options, context: &TrainingContext<'_>) -> Result<Trained, Error> {
    let settings = price_settings(options)?;
    let system = CellOptions::ALL.system(options, &Config::default())?;
    let (policy, session, fading) = match options.text("fading") {
        None => {
            let mut session = context.session(&("urllc", system.config(), &settings))?;
            let policy =
                session.kept_or(|session| train_price_policy(&system, &settings, session))?;
            (policy, session, None)
        }
        Some(file) => {
            let deviations = options.number("deviations")?.unwrap_or(DEVIATIONS);
            if !(0.0..=100.0).contains(&deviations) {
                let expected = "a number from 0 to 100";
                return Err(Invalid::value("deviations", deviations, expected).into());
            }
            let bytes = read_file(file.as_ref())
                .map_err(|source| Error::Read { path: file.into(), source })?;
            let samples = read_fading_samples(&bytes, file)?;
            let loss = options
                .choice(PretrainLoss::ALL, "pretraining")?
                .unwrap_or(PretrainLoss::Supervised);
            let learning = SampledSettings::new(loss, settings.seed);
            let data = crc32fast::hash(&bytes);
            let decides = ("urllc", system.config(), &settings, &learning, deviations, data);
            let mut session = context.session(&decides)?;
            let policy = session.kept_or(|session| {
                train_sampled_policy(&system, &samples, &learning, &settings, deviations, session)
            })?;
            (policy, session, Some(samples.compressed_rule()))
        }
    };
    let equal_percent = equal_power_gap_percent(&policy, fading.as_ref())?;
    let report = PriceReport::new(context, &session, &policy, equal_percent);
    let metrics = policy.record().metrics;
    let warning = if metrics.availability < AVAILABLE {
        Some(not_all_served(metrics.availability, "more samples, or another seed"))
    } else {
        no_better_than("equal power with exact bandwidths", metrics.gap_percent, equal_percent)
    };
    let text = report.text();
    Trained::new(&session, policy, &report, text, warning)
}

/// Trains a policy.
pub(super) fn train(options: &Options, context: &TrainingContext<'_>) -> Result<Trained, Error> {
    // Only one method can learn its bandwidth from samples of fading.
    let usual =
        if options.has("fading") { Trainable::Price } else { Trainable::Paper(Method::PGnn) };
    match options.choice(Trainable::ALL, "method")?.unwrap_or(usual) {
        Trainable::Paper(method) => train_learned(method, options, context),
        Trainable::Price => train_price(options, context),
    }
}

/// Reads a model.
pub(super) fn load(file: ModelFile) -> Result<Arc<dyn Model>, ModelError> {
    Ok(match file.method() {
        PRICE => Arc::new(file.into_model::<PricePolicy>()?),
        ModelFile::OUTER_FUNCTION => {
            let message = "it is an outer function, kept for training runs with several seeds; expected a policy";
            return Err(ModelError::Content(message.into()));
        }
        _ => Arc::new(file.into_model::<LearnedPolicy>()?),
    })
}
