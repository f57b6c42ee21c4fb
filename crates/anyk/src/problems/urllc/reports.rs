//! Reports on training runs and evaluations of URLLC models, as JSON and as text.

use serde::Serialize;

use crate::core::{Page, Text};
use crate::framework::{Error, Guarantee, Session, Stored as _, TrainingContext, Trials};
use crate::problems::urllc::{
    LearnedPolicy, PricePolicy, PriceSettings, RelativeError, SampledRecord, SizeResult,
    TrainSettings, TrainedRanges,
};

/// Report on a training run of Algorithm 1.
#[derive(Serialize)]
pub(crate) struct LearnedReport {
    model: String,
    training: TrainSettings,
    pretrain_seconds: f64,
    train_seconds: f64,
    /// Relative error of the outer function on held-out (α, K), for P-GNN.
    law_error: Option<RelativeError>,
    availability: f64,
    gap_percent: f64,
    /// Extra bandwidth of equal power with exact bandwidths, percent; this baseline needs no training.
    equal_power_gap_percent: f64,
    #[serde(skip)]
    epsilon: f64,
}

impl LearnedReport {
    pub(crate) fn new(
        context: &TrainingContext<'_>,
        session: &Session<'_>,
        policy: &LearnedPolicy,
        law_error: Option<RelativeError>,
        equal_power_gap_percent: f64,
    ) -> Self {
        let record = policy.record();
        Self {
            model: context.model_name(),
            training: record.training.clone(),
            pretrain_seconds: session.seconds("pre-training"),
            train_seconds: session.seconds("training"),
            law_error,
            availability: record.metrics.availability,
            gap_percent: record.metrics.gap_percent,
            equal_power_gap_percent,
            epsilon: record.config.service.epsilon,
        }
    }
}

impl LearnedReport {
    /// Returns the report as text.
    pub(crate) fn text(&self) -> Text {
        // There is no pre-training for a method without an outer function, or if several runs share one.
        let before = match self.pretrain_seconds {
            seconds if seconds > 0.0 => format!(", after {seconds:.1} s of pre-training"),
            _ => String::new(),
        };
        let mut text = Text::line(format!(
            "{}: {} steps at K = {:?} in {:.1} s{before}",
            self.model,
            self.training.steps(),
            self.training.train_k,
            self.train_seconds,
        ));
        if let Some(RelativeError { mean, percentile_99, max }) = self.law_error {
            text.push(format!(
                "outer function, on held-out users: relative error {:.2} % on average, {:.2} % at the 99th percentile, {:.2} % \
                 at most",
                100.0 * mean,
                100.0 * percentile_99,
                100.0 * max
            ));
        }
        text.push(format!(
            "validation: {:.2} % of users meet ε = {}; bandwidth {:.2} % above the optimum (equal power with exact \
             bandwidths: {:.2} %)",
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent,
            self.equal_power_gap_percent
        ));
        text
    }
}

/// Report on a training run of the price policy.
#[derive(Serialize)]
pub(crate) struct PriceReport {
    model: String,
    training: PriceSettings,
    train_seconds: f64,
    ranges: TrainedRanges,
    /// Availability on a validation set with the training sizes, in the cell's own ranges; under the distribution
    /// of the samples if no other is known.
    availability: f64,
    gap_percent: f64,
    /// Extra bandwidth of equal power with exact bandwidths, percent; this baseline needs no training.
    equal_power_gap_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled>,
    #[serde(skip)]
    epsilon: f64,
}

#[derive(Serialize)]
struct Sampled {
    #[serde(flatten)]
    record: SampledRecord,
    /// Largest relative standard error of the bandwidth over the learned range of received powers.
    largest_standard_error: f64,
}

impl PriceReport {
    pub(crate) fn new(
        context: &TrainingContext<'_>,
        session: &Session<'_>,
        policy: &PricePolicy,
        equal_power_gap_percent: f64,
    ) -> Self {
        let record = policy.record();
        let errors = policy.bandwidth().map_or(&[][..], |bandwidth| &bandwidth.errors);
        let largest = errors.iter().fold(0.0, |most: f64, point| most.max(point.standard_error));
        Self {
            model: context.model_name(),
            training: record.training.clone(),
            train_seconds: session.seconds("bandwidth") + session.seconds("training"),
            ranges: record.ranges.clone(),
            availability: record.metrics.availability,
            gap_percent: record.metrics.gap_percent,
            equal_power_gap_percent,
            sampled: record
                .sampled
                .clone()
                .map(|record| Sampled { record, largest_standard_error: largest }),
            epsilon: record.config.service.epsilon,
        }
    }
}

impl PriceReport {
    /// Returns the report as text.
    pub(crate) fn text(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps in {:.1} s",
            self.model, self.training.steps, self.train_seconds
        ));
        if let Some(Sampled { record, largest_standard_error }) = &self.sampled {
            text.push(format!(
                "bandwidth from {} samples of fading: its standard error is at most {:.2} %, and {} standard errors \
                 are added; set `fading` to evaluate it under a distribution",
                record.samples,
                100.0 * largest_standard_error,
                record.deviations
            ));
        }
        text.push(format!(
            "validation{}: {:.2} % of users meet ε = {}; bandwidth {:.4} % above the optimum (equal power with exact \
             bandwidths: {:.2} %)",
            if self.sampled.is_some() { ", under the distribution of the samples" } else { "" },
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent,
            self.equal_power_gap_percent
        ));
        text
    }
}

/// Results of a model at each number of users.
#[derive(Serialize)]
pub(crate) struct Evaluation {
    samples: u64,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<Guarantee>,
    sizes: Vec<EvaluatedSize>,
    /// Stricter target for which the model allocates and codes.
    #[serde(skip)]
    epsilon_d: Option<f64>,
}

/// Results at one number of users.
#[derive(Serialize)]
pub(crate) struct EvaluatedSize {
    pub(crate) k: usize,
    /// Results on the cells that the budget can serve; absent if it serves none.
    #[serde(flatten)]
    pub(crate) found: Option<Measured>,
    /// Number of cells that the budget cannot serve; they are excluded from all means.
    pub(crate) infeasible: usize,
}

/// Results on the cells that can be served.
#[derive(Serialize)]
pub(crate) struct Measured {
    availability: f64,
    /// Availability with the code of a base station that allocates for a stricter target; absent without such a
    /// target.
    #[serde(skip_serializing_if = "Option::is_none")]
    availability_as_coded: Option<f64>,
    total_bandwidth_mhz: f64,
    optimum_mhz: f64,
    gap_percent: f64,
    /// Availability of equal power with exact bandwidths on the same cells, the baseline for every policy.
    equal_power_availability: f64,
    equal_power_gap_percent: f64,
}

impl Measured {
    pub(crate) fn new(model: &SizeResult, equal_power: &SizeResult, is_coded: bool) -> Self {
        Self {
            availability: model.availability,
            availability_as_coded: is_coded.then_some(model.availability_as_coded),
            total_bandwidth_mhz: model.total_bandwidth_mhz,
            optimum_mhz: model.optimum_mhz,
            gap_percent: model.gap_percent,
            equal_power_availability: equal_power.availability,
            equal_power_gap_percent: equal_power.gap_percent,
        }
    }
}

impl Evaluation {
    pub(crate) fn new(
        trials: &Trials,
        guarantee: Option<&Guarantee>,
        sizes: Vec<EvaluatedSize>,
        epsilon_d: Option<f64>,
    ) -> Self {
        let Trials { samples, seed, .. } = trials;
        Self { samples: *samples, seed: *seed, guarantee: guarantee.cloned(), sizes, epsilon_d }
    }
}

impl Evaluation {
    pub(crate) fn page(&self) -> Result<Page, Error> {
        Page::new(self, self.text())
    }

    /// Returns the report as text.
    fn text(&self) -> Text {
        // A negative gap due to rounding is printed as 0.
        let percent = |gap: f64| format!("{:.2}", if gap.abs() < 5e-3 { 0.0 } else { gap });
        let mut header = vec!["K", "availability"];
        header.extend(self.epsilon_d.map(|_| "as coded"));
        header.extend([
            "bandwidth (MHz)",
            "optimum (MHz)",
            "extra (%)",
            "equal power, extra (%)",
            "infeasible",
        ]);
        let rows = self.sizes.iter().map(|EvaluatedSize { k, found, infeasible }| {
            let mut row = vec![k.to_string()];
            match found {
                None => row.extend(vec!["–".to_owned(); header.len() - 2]),
                Some(found) => row.extend([
                    format!("{:.4}", found.availability),
                    format!("{:.4}", found.total_bandwidth_mhz),
                    format!("{:.4}", found.optimum_mhz),
                    percent(found.gap_percent),
                    // Share of users that equal power serves, if it does not serve all.
                    if found.equal_power_availability < 1.0 {
                        format!("serves {:.2} %", 100.0 * found.equal_power_availability)
                    } else {
                        percent(found.equal_power_gap_percent)
                    },
                ]),
            }
            let as_coded = found.as_ref().and_then(|found| found.availability_as_coded);
            if let Some(availability) = as_coded {
                row.insert(2, format!("{availability:.4}"));
            }
            row.push(infeasible.to_string());
            row
        });
        let mut text = Text::default();
        text.table(&header, rows);
        if let Some(epsilon_d) = self.epsilon_d {
            text.push(format!(
                "availability is for ε_c = ε_q = ε/2; as coded: the model was trained for ε_D = {epsilon_d:e}, so the \
                 base station codes for ε_c = ε_D/2, and a user is served if ε_D/2 + ε_q ≤ ε"
            ));
        }
        if let Some(guarantee) = &self.guarantee {
            text.push(guarantee.sentence());
        }
        text
    }
}
