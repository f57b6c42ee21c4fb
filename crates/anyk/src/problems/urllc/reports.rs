//! What there is to say about a training and a measurement, as JSON and in words.

use serde::Serialize;

use crate::framework::{Guarantee, Model, Session, Show, Text, Trials, Workshop};
use crate::problems::urllc::{
    AnyPolicy, AnySettings, LearnedPolicy, RelativeError, SampledRecord, SizeResult, TrainSettings,
    TrainedRanges,
};

/// Of a training by Algorithm 1.
#[derive(Serialize)]
pub(crate) struct LearnedReport {
    model: String,
    training: TrainSettings,
    pretrain_seconds: f64,
    train_seconds: f64,
    resumed_at_step: u64,
    /// Relative error of the outer function on held-out (α, K), for P-GNN.
    law_error: Option<RelativeError>,
    availability: f64,
    gap_percent: f64,
    #[serde(skip)]
    epsilon: f64,
}

impl LearnedReport {
    pub(crate) fn new(
        workshop: &Workshop<'_>,
        session: &Session<'_>,
        policy: &LearnedPolicy,
        law_error: Option<RelativeError>,
    ) -> Self {
        let record = policy.record();
        Self {
            model: workshop.model_name(),
            training: record.training.clone(),
            pretrain_seconds: session.seconds("pre-training"),
            train_seconds: session.seconds("training"),
            resumed_at_step: session.resumed_at_step(),
            law_error,
            availability: record.metrics.availability,
            gap_percent: record.metrics.gap_percent,
            epsilon: record.config.service.epsilon,
        }
    }
}

impl Show for LearnedReport {
    fn show(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps at K = {:?} in {:.1} s, after {:.1} s of pre-training",
            self.model,
            self.training.steps(),
            self.training.train_k,
            self.train_seconds,
            self.pretrain_seconds
        ));
        if let Some(RelativeError { mean, percentile_99, max }) = self.law_error {
            text.push(format!(
                "outer function, held-out: off by {:.2} % on average, {:.2} % at the 99th percentile, {:.2} % at \
                 most",
                100.0 * mean,
                100.0 * percentile_99,
                100.0 * max
            ));
        }
        text.push(format!(
            "validation: {:.2} % of users meet ε = {}; bandwidth {:.2} % over the optimum",
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent
        ));
        text
    }
}

/// Of a training of any-gnn.
#[derive(Serialize)]
pub(crate) struct AnyReport {
    model: String,
    training: AnySettings,
    train_seconds: f64,
    ranges: TrainedRanges,
    /// On a validation set of the training sizes, in the cell's own ranges; under the law of the samples if
    /// there is no other.
    availability: f64,
    gap_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled>,
    #[serde(skip)]
    epsilon: f64,
}

#[derive(Serialize)]
struct Sampled {
    #[serde(flatten)]
    record: SampledRecord,
    /// Largest relative standard error of the bandwidth, over the received powers learned.
    largest_standard_error: f64,
}

impl AnyReport {
    pub(crate) fn new(workshop: &Workshop<'_>, session: &Session<'_>, policy: &AnyPolicy) -> Self {
        let record = policy.record();
        let errors = policy.bandwidth().map_or(&[][..], |bandwidth| &bandwidth.errors);
        let largest = errors.iter().fold(0.0, |most: f64, point| most.max(point.standard_error));
        Self {
            model: workshop.model_name(),
            training: record.training.clone(),
            train_seconds: session.seconds("bandwidth") + session.seconds("training"),
            ranges: record.ranges.clone(),
            availability: record.metrics.availability,
            gap_percent: record.metrics.gap_percent,
            sampled: record
                .sampled
                .clone()
                .map(|record| Sampled { record, largest_standard_error: largest }),
            epsilon: record.config.service.epsilon,
        }
    }
}

impl Show for AnyReport {
    fn show(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps at K = {:?} in {:.1} s",
            self.model, self.training.steps, self.training.train_k, self.train_seconds
        ));
        if let Some(Sampled { record, largest_standard_error }) = &self.sampled {
            text.push(format!(
                "bandwidth from {} samples of fading: its standard error is at most {:.2} %, and {} of them are \
                 added; judge it with `anyk evaluate --fading`",
                record.samples,
                100.0 * largest_standard_error,
                record.deviations
            ));
        }
        text.push(format!(
            "validation{}: {:.2} % of users meet ε = {}; bandwidth {:.4} % over the optimum",
            if self.sampled.is_some() { ", under the law of the samples" } else { "" },
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent
        ));
        text
    }
}

/// What a policy reaches on random cells.
#[derive(Serialize)]
pub(crate) struct Evaluation {
    samples: u64,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<Guarantee>,
    sizes: Vec<SizeResult>,
}

impl Evaluation {
    pub(crate) fn new(
        trials: &Trials,
        guarantee: Option<&Guarantee>,
        sizes: Vec<SizeResult>,
    ) -> Self {
        let Trials { samples, seed, .. } = trials;
        Self { samples: *samples, seed: *seed, guarantee: guarantee.cloned(), sizes }
    }
}

impl Show for Evaluation {
    fn show(&self) -> Text {
        let rows = self.sizes.iter().map(|row| {
            vec![
                row.k.to_string(),
                format!("{:.4}", row.availability),
                format!("{:.4}", row.total_bandwidth_mhz),
                format!("{:.4}", row.optimum_mhz),
                // Rounding is not less than nothing.
                format!("{:.2}", if row.gap_percent.abs() < 5e-3 { 0.0 } else { row.gap_percent }),
            ]
        });
        let header = ["K", "availability", "bandwidth (MHz)", "optimum (MHz)", "over (%)"];
        let mut text = Text::default();
        text.table(&header, rows);
        if let Some(guarantee) = &self.guarantee {
            text.push(guarantee.sentence());
        }
        text
    }
}
