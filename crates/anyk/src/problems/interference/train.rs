//! Options and training runs of learned powers and schedules.

use serde::Serialize;

use crate::core::{Text, Trained};
use crate::framework::{Error, OptionSpec, OptionValue, Options, Stored as _, TrainingContext};
use crate::invalid::Invalid;
use crate::network::{Aggregator, EdgeGnn};
use crate::problems::interference::{
    INTERFERENCE, LINK_SCHEDULING, PASSES, PowerLoss, PowerOutput, PowerTrainSettings, RandomLinks,
    train_power,
};

/// Percentage of WMMSE's sum rate on validation below which a training run has failed.
const POOR_PERCENT: f64 = 95.0;

impl PowerLoss {
    /// Name, help text and value of each choice.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("none", "Sum rate, without labels", Self::SumRate),
        ("wmmse", "Powers of WMMSE", Self::Wmmse),
        ("fplinq", "Schedule of FPLinQ", Self::Fplinq),
    ];
}

impl PowerOutput {
    /// Name, help text and value of each choice.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("sigmoid", "Maximum power times a sigmoid", Self::Sigmoid),
        ("classifier", "Full power if the output is positive, otherwise off", Self::Classifier),
        (
            "ranked",
            "Switch links on in the order of the outputs if that raises the sum rate",
            Self::Ranked { passes: PASSES },
        ),
        (
            "priced",
            "A sigmoid, then a step to the powers that match the prices of interference",
            Self::Priced { steps: 1 },
        ),
    ];
}

/// Returns the options of a training run, except those of the random networks.
pub(super) fn training_options(
    scheduling: bool,
    scenario: OptionSpec,
    weights: OptionSpec,
) -> Vec<OptionSpec> {
    let output = OptionSpec::choice(
        PowerOutput::ALL,
        "output",
        "Output layer that turns outputs into powers",
    );
    vec![
        scenario.or("dense"),
        OptionSpec {
            help: "Random weights of the links, to train for the weighted sum rate",
            ..weights.or("all 1")
        },
        OptionSpec::new(
            "train-k",
            OptionValue::Whole("K"),
            "Number of links in each training sample",
        )
        .or("10 for dense, 50 for d2d"),
        OptionSpec::new("samples", OptionValue::Whole("N"), "Number of training samples")
            .or("20000 for dense, 2000 for d2d"),
        OptionSpec::choice(
            Aggregator::NAMES,
            "aggregator",
            "Aggregation of the messages from other links",
        )
        .or("mean for dense, sum for d2d")
        .rare(),
        OptionSpec::choice(PowerLoss::ALL, "labels", "Labels of the training samples").or("none"),
        if scheduling {
            output.without(&["sigmoid", "priced"]).or("ranked")
        } else {
            output.or("ranked for dense, priced for d2d")
        },
        OptionSpec::new(
            "hidden",
            OptionValue::Whole("N"),
            "Number of features of each link and message: 8, 16 or 32",
        )
        .or("16 for dense, 8 for d2d")
        .rare(),
        OptionSpec::new("rounds", OptionValue::Whole("N"), "Number of message rounds")
            .or("2")
            .rare(),
        OptionSpec::new("steps", OptionValue::Whole("N"), "Steps of the optimizer")
            .or("20000 for dense, 10000 for d2d"),
        OptionSpec::new(
            "seed",
            OptionValue::Whole("SEED"),
            "Seed of samples, initialization and order",
        )
        .or("1"),
    ]
}

fn settings(
    scheduling: bool,
    options: &Options,
) -> Result<(PowerTrainSettings, PowerOutput), Error> {
    let RandomLinks { scenario, weights } = RandomLinks::read(options)?;
    let mut settings = PowerTrainSettings::preset(scenario, options.seed("seed", 1)?);
    if let Some(law) = weights {
        settings = settings.with_weights(law);
    }
    match options.sizes("train-k")?.as_deref() {
        None => (),
        Some([size]) => settings.train_k = *size,
        Some(_) => {
            let given = options.text("train-k").unwrap_or_default();
            let error = Invalid::value("train_k", given, "one size for this problem");
            return Err(error.into());
        }
    }
    let whole = |name: &str| options.whole(name, 0, 1 << 40);
    #[allow(clippy::cast_possible_truncation)]
    let count = |name: &str| whole(name).map(|found| found.map(|count| count as usize));
    settings.samples = count("samples")?.unwrap_or(settings.samples);
    settings.steps = whole("steps")?.unwrap_or(settings.steps);
    let network = settings.network;
    settings = settings.with_network(EdgeGnn {
        aggregator: options.choice(Aggregator::NAMES, "aggregator")?.unwrap_or(network.aggregator),
        hidden: count("hidden")?.unwrap_or(network.hidden),
        rounds: count("rounds")?.unwrap_or(network.rounds),
        weighted: network.weighted,
    });
    settings.loss = options.choice(PowerLoss::ALL, "labels")?.unwrap_or(PowerLoss::SumRate);
    let usual = if scheduling || settings.scenario.is_dense() {
        PowerOutput::Ranked { passes: PASSES }
    } else {
        PowerOutput::Priced { steps: 1 }
    };
    let output = options.choice(PowerOutput::ALL, "output")?.unwrap_or(usual);
    if scheduling && !output.is_schedule() {
        let expected = "classifier or ranked, since other outputs do not give a schedule";
        return Err(Invalid::value("output", output.name(), expected).into());
    }
    settings.validate()?;
    Ok((settings, output))
}

/// Trains a policy.
pub(super) fn train(
    scheduling: bool,
    options: &Options,
    context: &TrainingContext<'_>,
) -> Result<Trained, Error> {
    let about = if scheduling { &LINK_SCHEDULING } else { &INTERFERENCE };
    let (settings, output) = settings(scheduling, options)?;
    let mut session = context.session(&(about.name, &settings, output))?;
    let policy = session.kept_or(|session| train_power(&settings, output, session))?;
    let report = Report {
        model: context.model_name(),
        training: settings,
        output,
        train_seconds: session.seconds("training"),
        sum_rate_percent: policy.record().sum_rate_percent,
    };
    let warning = (report.sum_rate_percent < POOR_PERCENT).then(|| {
        format!(
            "on validation, the model reaches {:.1} % of WMMSE's sum rate; try the output \"ranked\" (dense) or \
             \"priced\" (d2d), more steps or samples, or another seed",
            report.sum_rate_percent
        )
    });
    let text = report.text();
    Trained::new(&session, policy, &report, text, warning)
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: PowerTrainSettings,
    output: PowerOutput,
    train_seconds: f64,
    /// Sum rate as a percentage of that of WMMSE, on a validation set with the training size.
    sum_rate_percent: f64,
}

impl Report {
    fn text(&self) -> Text {
        let Self { model, training, output, train_seconds, sum_rate_percent, .. } = self;
        let mut text = Text::line(format!(
            "{model}: {} steps at K = {} ({}{}) in {train_seconds:.1} s",
            training.steps,
            training.train_k,
            training.scenario.name(),
            training.weights.map_or_else(String::new, |law| format!(", weights {}", law.name())),
        ));
        text.push(format!(
            "validation, output {}: {sum_rate_percent:.2} % of the {}sum rate of WMMSE",
            output.name(),
            if training.weights.is_some() { "weighted " } else { "" },
        ));
        text
    }
}
