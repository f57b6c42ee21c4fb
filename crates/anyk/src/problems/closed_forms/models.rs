//! Models of (P5) and (P6) as the program sees them, and their training by options.

use std::sync::Arc;

use serde::Serialize;

use crate::config::Config;
use crate::core::{
    About, FixedCell, Model, Page, Policy, Problem, Text, Trained, no_better_than,
    reference_options,
};
use crate::framework::{
    Error, Method, ModelError, ModelFile, Observer, OptionSpec, OptionValue, Options, Stored as _,
    Trials, Verb, Workshop, training_cells,
};
use crate::network::{Aggregator, Output};
use crate::problems::closed_forms::evaluation::validation;
use crate::problems::closed_forms::problem::{FADED, about, cell};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormPolicy, ClosedFormResult, ClosedFormSettings, evaluate_closed_form,
    train_closed_form,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trainable(Method);

impl Trainable {
    /// Names, what they mean, and values.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("p-gnn", "Bandwidth with a pre-trained outer function", Self(Method::PGnn)),
        ("m-gnn", "Bandwidth without it", Self(Method::MGnn)),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Normalisation(Output);

impl Normalisation {
    /// Names, what they mean, and values.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("softmax", "e^o over its sum", Self(Output::Softmax)),
        ("sum-normalisation", "softplus(o) over its sum", Self(Output::SumNormalisation)),
    ];
}

/// The options of a training, apart from those of the problem.
pub(super) fn training_options(shared: bool) -> Vec<OptionSpec> {
    let sizes = "Users in the training samples; several sizes separated by commas";
    let samples = "Training samples of each size";
    let seed = "Seed of samples, initialization and order";
    let mut options = Vec::new();
    if shared {
        options.push(OptionSpec::choice(Trainable::ALL, "method", "What to train").or("p-gnn"));
    }
    options.extend([
        OptionSpec::new("train-k", OptionValue::Sizes, sizes).or("10"),
        OptionSpec::new("samples", OptionValue::Whole("N"), samples).or("2000"),
        OptionSpec::choice(Aggregator::NAMES, "aggregator", "How users see each other").or("mean"),
    ]);
    if shared {
        let help = "What makes powers of the outputs";
        options.push(OptionSpec::choice(Normalisation::ALL, "output", help).or("softmax"));
    }
    options.push(OptionSpec::new("seed", OptionValue::Whole("SEED"), seed).or("1"));
    options
}

/// Trains a policy of (P6), or of (P5).
pub(super) fn train(
    shared: bool,
    options: &Options,
    workshop: &Workshop<'_>,
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
    let mut session = workshop.session(&(about(shared).name, system.config(), &settings))?;
    let policy = session.kept_or(|session| train_closed_form(&system, &settings, session))?;
    let metrics = policy.record().metrics;
    let results = validation(&policy)?;
    let equal = results.iter().map(|result| result.equal_power_percent).sum::<f64>();
    let equal_power_percent = equal / results.len() as f64;
    let seconds = |stage: &str| session.seconds(stage);
    let report = Report {
        model: workshop.model_name(),
        training: settings,
        train_seconds: seconds("pre-training") + seconds("powers") + seconds("bandwidth"),
        power_error_percent: metrics.power_error_percent,
        bandwidth_error_percent: metrics.bandwidth_error_percent,
        equal_power_percent,
    };
    let warning = no_better_than("equal power", metrics.power_error_percent, equal_power_percent);
    let text = report.text();
    Trained::new(&session, policy, &report, text, warning)
}

/// Reads a model.
pub(super) fn load(file: ModelFile) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(file.into_model::<ClosedFormPolicy>()?))
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: ClosedFormSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes.
    power_error_percent: f64,
    bandwidth_error_percent: Option<f64>,
    /// Error of the powers if every user gets the mean power.
    equal_power_percent: f64,
}

impl Report {
    fn text(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps for each network at K = {:?} in {:.1} s",
            self.model, self.training.steps, self.training.train_k, self.train_seconds
        ));
        let bandwidth = self.bandwidth_error_percent;
        text.push(format!(
            "validation: powers off by {:.3} % (equal power: {:.1} %){}",
            self.power_error_percent,
            self.equal_power_percent,
            bandwidth.map_or(String::new(), |percent| format!(", bandwidth by {percent:.3} %"))
        ));
        text
    }
}

#[derive(Serialize)]
struct Evaluation {
    problem: ClosedForm,
    samples: u64,
    seed: u64,
    sizes: Vec<ClosedFormResult>,
}

impl Evaluation {
    fn text(&self) -> Text {
        let percent = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3}"));
        let mut text = Text::default();
        if !self.problem.is_shared() {
            let row =
                |row: &ClosedFormResult| vec![row.k.to_string(), percent(row.power_error_percent)];
            text.table(&["K", "power off by (%)"], self.sizes.iter().map(row));
            return text;
        }
        let row = |row: &ClosedFormResult| {
            vec![
                row.k.to_string(),
                percent(row.total_variation_percent),
                row.bandwidth_gap_percent.map_or("–".into(), |gap| format!("{gap:+.3}")),
                percent(row.bandwidth_error_percent),
                row.infeasible.unwrap_or(0).to_string(),
            ]
        };
        let header = [
            "K",
            "power, total variation (%)",
            "bandwidth, mean gap (%)",
            "off by (%)",
            "infeasible",
        ];
        text.table(&header, self.sizes.iter().map(row));
        text
    }
}

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

    fn home(&self) -> Options {
        let form = self.record().training.problem;
        let mut options = cell(form.is_shared()).describe(&self.record().config);
        form.describe(&mut options);
        options
    }

    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        if verb == Verb::Allocate { reference_options().to_vec() } else { Vec::new() }
    }

    fn policy(&self, _options: &Options) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(FixedCell::new(Box::new(self.allocator()), self.home(), "`anyk solve`")))
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        let Trials { sizes, samples, seed } = trials;
        trials.check()?;
        observer.begin("cells", samples * sizes.len() as u64);
        let sizes = evaluate_closed_form(self, sizes, *samples, *seed, observer)?;
        observer.end();
        let problem = self.record().training.problem;
        let evaluation = Evaluation { problem, samples: *samples, seed: *seed, sizes };
        Page::new(&evaluation, evaluation.text())
    }

    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        let mut options = self.home();
        options.set(FADED, "");
        (self.about().make)(&options)
    }

    fn validated_k(&self) -> Option<usize> {
        self.record().training.train_k.iter().copied().max()
    }
}
