//! Models of URLLC in a fixed band: training and evaluation.

use serde::Serialize;

use crate::config::Config;
use crate::core::{About, Model, Page, Policy, Shown, Text, Trained, evaluation, no_better_than};
use crate::framework::{
    Error, ModelError, Observer, Options, Stored as _, TrainingContext, Trials,
};
use crate::invalid::Invalid;
use crate::problems::urllc::{ModelMetrics, PriceSettings};
use crate::problems::urllc_power::evaluation::{BandTrials, validated};
use crate::problems::urllc_power::problem::{CELL, USER_BAND_HZ};
use crate::problems::urllc_power::{BandPricePolicy, BandResult, URLLC_POWER, evaluate_band};

/// Trains a policy.
pub(super) fn train(options: &Options, context: &TrainingContext<'_>) -> Result<Trained, Error> {
    let system = CELL.system(options, &Config::default())?;
    let settings = PriceSettings::of_options(options)?;
    let mut session = context.session(&(URLLC_POWER.name, system.config(), &settings))?;
    let policy = session.kept_or(|session| BandPricePolicy::train(&system, &settings, session))?;
    let (metrics, equal_gap_percent) = validated(&policy)?;
    let warning = no_better_than("equal bandwidths", metrics.gap_percent, equal_gap_percent);
    let report = Report {
        model: context.model_name(),
        training: settings,
        train_seconds: session.seconds("training"),
        metrics,
        equal_gap_percent,
    };
    let Report { model, training, train_seconds, .. } = &report;
    let mut text = Text::line(format!("{model}: {} steps in {train_seconds:.1} s", training.steps));
    text.push(format!(
        "validation, {} kHz for each user: the QoS of {:.2} % of users is met; power {:.4} % above the optimum \
         (equal bandwidths: {equal_gap_percent:.2} %)",
        1e-3 * USER_BAND_HZ,
        100.0 * metrics.availability,
        metrics.gap_percent,
    ));
    Trained::new(&session, policy, &report, text, warning)
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: PriceSettings,
    train_seconds: f64,
    /// Metrics on a validation set with the training sizes, with 200 kHz for each user.
    #[serde(flatten)]
    metrics: ModelMetrics,
    /// Extra power of equal bandwidths, percent; this baseline learns nothing.
    equal_gap_percent: f64,
}

const COLUMNS: [Shown<BandResult>; 9] = [
    ("K", |row| row.k.to_string()),
    ("band (MHz)", |row| format!("{:.3}", 1e-6 * row.max_bandwidth_hz)),
    ("availability", |row| format!("{:.4}", row.availability)),
    ("power (W)", |row| format!("{:.4}", row.total_power_w)),
    ("optimum (W)", |row| format!("{:.4}", row.optimum_w)),
    ("extra (%)", |row| format!("{:.4}", row.gap_percent)),
    ("worst cell (%)", |row| format!("{:.4}", row.worst_gap_percent)),
    ("equal bandwidths, extra (%)", |row| format!("{:.2}", row.equal_gap_percent)),
    ("infeasible", |row| row.infeasible.to_string()),
];

impl Model for BandPricePolicy {
    fn about(&self) -> &'static About {
        &URLLC_POWER
    }

    fn describe(&self) -> String {
        "a model for urllc-power (price)".to_owned()
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn trained_options(&self) -> Options {
        CELL.describe(&self.record().config)
    }

    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.allocator().explaining(options.has("explain"))))
    }

    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        let system = CELL.system(options, &self.record().config)?;
        let each_hz = options.positive("user-bandwidth-hz")?;
        let fixed_hz = options.positive("max-bandwidth-hz")?;
        if each_hz.is_some() && fixed_hz.is_some() {
            let what = "a band that is the same at every size";
            return Err(Invalid::stray("user_bandwidth_hz", what).into());
        }
        let each_hz = each_hz.unwrap_or(USER_BAND_HZ);
        let band_trials = BandTrials {
            system: &system,
            trials,
            band_hz: &|size| fixed_hz.unwrap_or(each_hz * size as f64),
        };
        evaluation(&(), (trials, "cells", observer), &COLUMNS, || {
            evaluate_band(&self.allocator(), &band_trials, observer)
        })
    }
}
