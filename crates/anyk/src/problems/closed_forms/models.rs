//! Models of (P5) and (P6) for the program, and the options of their training.

use std::sync::Arc;

use serde::Serialize;

use crate::config::Config;
use crate::core::{
    About, FixedCell, Model, Page, Policy, Problem, Shown, Text, Trained, evaluation,
    no_better_than, or_dash,
};
use crate::framework::{
    Error, Method, ModelError, Observer, OptionSpec, Options, Stored as _, TrainingContext, Trials,
    training_cells, training_specs,
};
use crate::network::{Aggregator, Output};
use crate::problems::closed_forms::evaluation::validation;
use crate::problems::closed_forms::problem::{FADED, about, cell};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormMetrics, ClosedFormPolicy, ClosedFormResult, ClosedFormSettings,
    evaluate_closed_form, train_closed_form,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trainable(Method);

impl Trainable {
    /// Name, help text and value of each method.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("p-gnn", "Bandwidth with a pre-trained outer function", Self(Method::PGnn)),
        ("m-gnn", "Bandwidth without an outer function", Self(Method::MGnn)),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Normalisation(Output);

impl Normalisation {
    /// Name, help text and value of each output.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("softmax", "e^o divided by its sum", Self(Output::Softmax)),
        ("sum-normalisation", "softplus(o) divided by its sum", Self(Output::SumNormalisation)),
    ];
}

/// Returns the options of a training run, except those of the problem.
pub(super) fn training_options(shared: bool) -> Vec<OptionSpec> {
    let aggregator =
        OptionSpec::choice(Aggregator::NAMES, "aggregator", "Aggregation over the other users")
            .or("mean");
    let [train_k, samples, seed] = training_specs();
    if !shared {
        return vec![train_k, samples, aggregator, seed];
    }
    let method = OptionSpec::choice(Trainable::ALL, "method", "Method to train").or("p-gnn");
    let help = "Output layer that turns outputs into powers";
    let output = OptionSpec::choice(Normalisation::ALL, "output", help).or("softmax");
    vec![method, train_k, samples, aggregator, output, seed]
}

/// Trains a policy of (P6) if `shared`, otherwise of (P5).
pub(super) fn train(
    shared: bool,
    options: &Options,
    context: &TrainingContext<'_>,
) -> Result<Trained, Error> {
    let system = cell(shared).system(options, &Config::default())?;
    let seed = options.seed("seed", 1)?;
    let mut settings = ClosedFormSettings::new(ClosedForm::new(shared, options)?, seed);
    (settings.train_k, settings.samples) = training_cells(options)?;
    settings.aggregator =
        options.choice(Aggregator::NAMES, "aggregator")?.unwrap_or(Aggregator::Mean);
    if let Some(Trainable(method)) = options.choice(Trainable::ALL, "method")? {
        settings.method = method;
    }
    if let Some(Normalisation(output)) = options.choice(Normalisation::ALL, "output")? {
        settings.output = output;
    }
    settings.validate(&system)?;
    let mut session = context.session(&(about(shared).name, system.config(), &settings))?;
    let policy = session.kept_or(|session| train_closed_form(&system, &settings, session))?;
    let metrics = policy.record().metrics;
    let results = validation(&policy)?;
    let equal = results.iter().map(|result| result.equal_power_percent).sum::<f64>();
    let equal_power_percent = equal / results.len() as f64;
    let seconds = |stage: &str| session.seconds(stage);
    let report = Report {
        model: context.model_name(),
        training: settings,
        train_seconds: seconds("pre-training") + seconds("powers") + seconds("bandwidth"),
        metrics,
        equal_power_percent,
    };
    let warning = no_better_than("equal power", metrics.power_error_percent, equal_power_percent);
    let Report { model, training, train_seconds, .. } = &report;
    let mut text = Text::line(format!(
        "{model}: {} steps for each network at K = {:?} in {train_seconds:.1} s",
        training.steps, training.train_k
    ));
    let of_bandwidth = metrics.bandwidth_error_percent;
    text.push(format!(
        "validation: powers off by {:.3} % (equal power: {equal_power_percent:.1} %){}",
        metrics.power_error_percent,
        of_bandwidth.map_or(String::new(), |percent| format!(", bandwidth by {percent:.3} %"))
    ));
    Trained::new(&session, policy, &report, text, warning)
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: ClosedFormSettings,
    train_seconds: f64,
    /// Metrics on a validation set with the training sizes.
    #[serde(flatten)]
    metrics: ClosedFormMetrics,
    /// Error of the powers if every user gets the mean power, percent.
    equal_power_percent: f64,
}

/// Formats a percentage, or a dash if it is absent.
fn percent(value: Option<f64>) -> String {
    or_dash(value, |percent| format!("{percent:.3}"))
}

#[derive(Serialize)]
struct Measured {
    problem: ClosedForm,
}

const OF_QOS_POWER: [Shown<ClosedFormResult>; 2] =
    [("K", |row| row.k.to_string()), ("power off by (%)", |row| percent(row.power_error_percent))];

const OF_EQUAL_BANDWIDTH: [Shown<ClosedFormResult>; 5] = [
    ("K", |row| row.k.to_string()),
    ("power, total variation (%)", |row| percent(row.total_variation_percent)),
    ("bandwidth, mean gap (%)", |row| {
        or_dash(row.bandwidth_gap_percent, |percent| format!("{percent:+.3}"))
    }),
    ("off by (%)", |row| percent(row.bandwidth_error_percent)),
    ("infeasible", |row| row.infeasible.unwrap_or(0).to_string()),
];

impl Model for ClosedFormPolicy {
    fn about(&self) -> &'static About {
        about(self.record().training.problem.is_shared())
    }

    fn describe(&self) -> String {
        format!("a model for {} ({})", self.about().name, self.method())
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn trained_options(&self) -> Options {
        let form = self.record().training.problem;
        let mut options = cell(form.is_shared()).describe(&self.record().config);
        form.describe(&mut options);
        options
    }

    fn policy(&self, _options: &Options) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(FixedCell::new(
            Box::new(self.allocator()),
            self.trained_options(),
            "`anyk solve`",
        )))
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        let problem = self.record().training.problem;
        let columns: &[_] = if problem.is_shared() { &OF_EQUAL_BANDWIDTH } else { &OF_QOS_POWER };
        evaluation(&Measured { problem }, (trials, "cells", observer), columns, || {
            evaluate_closed_form(self, trials, observer)
        })
    }

    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        let mut options = self.trained_options();
        options.set(FADED, "");
        (self.about().make)(&options)
    }

    fn validated_k(&self) -> Option<usize> {
        self.record().training.train_k.iter().copied().max()
    }
}
