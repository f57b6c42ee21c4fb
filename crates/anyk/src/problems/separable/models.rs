//! Models of separable costs for the program, and the options of their training.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::config::Config;
use crate::core::{About, Model, Page, Policy, Problem, Shown, Text, Trained, evaluation, or_dash};
use crate::framework::{
    Error, ModelError, Observer, OptionSpec, OptionValue, Options, Stored as _, TrainingContext,
    Trials, training_cells,
};
use crate::problems::separable::problem::{
    CELL, CostOfSnr, SEPARABLE, bandwidth_hz, cost, cost_name,
};
use crate::problems::separable::{
    OwnSeparable, SeparableCell, SeparableMetrics, SeparablePrice, SeparableResult,
    SeparableSettings, evaluate_separable,
};

/// Returns the options of a training run, except those of the problem.
pub(super) fn training_options() -> Vec<OptionSpec> {
    let whole = |name, unit, help| OptionSpec::new(name, OptionValue::Whole(unit), help);
    let sizes = "Numbers of users in the test instances, separated by commas";
    vec![
        OptionSpec::new("train-k", OptionValue::Sizes, sizes).or("10"),
        whole("samples", "N", "Number of test instances for each number of users").or("200"),
        whole("seed", "SEED", "Seed of the test instances").or("1"),
    ]
}

/// Trains a policy for the users of a cell.
pub(super) fn train(options: &Options, context: &TrainingContext<'_>) -> Result<Trained, Error> {
    let system = CELL.system(options, &Config::default())?;
    let costs = [cost(options)?];
    let bandwidth_hz = bandwidth_hz(options)?;
    let noise_w = system.noise_w_hz() * bandwidth_hz;
    let road = system.road();
    let [low, high] = [road.cell_radius_m, road.min_distance_m]
        .map(|distance_m| system.path_loss().gain(distance_m) / noise_w);
    let seed = options.seed("seed", 1)?;
    let mut settings = SeparableSettings::new((low, high), system.max_power_w(), seed);
    let measured = training_cells(options)?;
    settings.train_k = measured.0;
    if options.has("samples") {
        settings.samples = measured.1;
    }
    settings.validate()?;
    let name = cost_name(options).to_owned();
    let cell = SeparableCell { config: system.config().clone(), bandwidth_hz, cost: name };
    let (low, ends, coefficients, errors) = costs[0].parts();
    let cost = (low, ends, coefficients.collect::<Vec<_>>(), errors);
    let mut session = context.session(&(SEPARABLE.name, &settings, &cell, cost))?;
    let started = Instant::now();
    let policy = session.kept_or(|_| SeparablePrice::train(&costs, &settings, Some(cell)))?;
    let metrics = policy.record().metrics;
    let report = Report {
        model: context.model_name(),
        training: settings,
        prices: policy.prices(),
        train_seconds: started.elapsed().as_secs_f64(),
        metrics,
    };
    let Report { model, training, prices, train_seconds, .. } = &report;
    let mut text = Text::line(format!(
        "{model}: the response of a user at {prices} prices, in {train_seconds:.1} s"
    ));
    text.push(format!(
        "validation at K = {:?}: costs {:.4} % above the optimum, equal shares {:.4} %",
        training.train_k, metrics.gap_percent, metrics.equal_gap_percent
    ));
    Trained::new(&session, policy, &report, text, None)
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: SeparableSettings,
    /// Number of prices at which the response of a user is known.
    prices: usize,
    train_seconds: f64,
    #[serde(flatten)]
    metrics: SeparableMetrics,
}

const COLUMNS: [Shown<SeparableResult>; 8] = [
    ("K", |row| row.k.to_string()),
    ("cost", |row| format!("{:.6}", row.objective)),
    ("optimum", |row| format!("{:.6}", row.optimum)),
    ("extra (%)", |row| format!("{:.4}", row.gap_percent)),
    ("worst (%)", |row| format!("{:.4}", row.worst_gap_percent)),
    ("equal shares, extra (%)", |row| {
        or_dash(row.equal_gap_percent, |percent| format!("{percent:.2}"))
    }),
    ("share with nothing", |row| format!("{:.3}", row.zeros)),
    ("infeasible", |row| row.infeasible.to_string()),
];

impl Model for SeparablePrice {
    fn about(&self) -> &'static About {
        &SEPARABLE
    }

    fn describe(&self) -> String {
        "a model for separable (price)".to_owned()
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn trained_options(&self) -> Options {
        let Some(cell) = &self.record().cell else { return Options::default() };
        let mut options = CELL.describe(&cell.config);
        options.set("bandwidth-hz", cell.bandwidth_hz.to_string());
        options.set("cost", cell.cost.clone());
        options
    }

    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.allocator().explaining(options.has("explain"))))
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        evaluation(&(), (trials, "instances", observer), &COLUMNS, || {
            evaluate_separable(self, trials, observer)
        })
    }

    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        let trained = self.trained_options();
        let mut options = options.over_trained(&trained);
        // Files of parameters do not contain these.
        for name in ["bandwidth-hz", "cost"] {
            if let (false, Some(own)) = (options.has(name), trained.text(name)) {
                options.set(name, own);
            }
        }
        Ok(Arc::new(CostOfSnr::of_model(self.costs(), &options)?))
    }

    fn drawn_from(&self) -> Result<Arc<dyn Problem>, Error> {
        Ok(Arc::new(OwnSeparable::new(self.costs()).drawn_as_in(&self.record().training)))
    }
}
