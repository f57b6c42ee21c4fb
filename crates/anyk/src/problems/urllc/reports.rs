//! What there is to say about a training and a measurement, as JSON and in words.

use serde::Serialize;

use crate::core::{Page, Text};
use crate::framework::{Error, Guarantee, Session, Stored as _, Trials, Workshop};
use crate::problems::urllc::{
    LearnedPolicy, PricePolicy, PriceSettings, RelativeError, SampledRecord, SizeResult,
    TrainSettings, TrainedRanges,
};

/// Of a training by Algorithm 1.
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
    /// The same of equal power with exact bandwidths, which learns nothing.
    equal_power_gap_percent: f64,
    #[serde(skip)]
    epsilon: f64,
}

impl LearnedReport {
    pub(crate) fn new(
        workshop: &Workshop<'_>,
        session: &Session<'_>,
        policy: &LearnedPolicy,
        law_error: Option<RelativeError>,
        equal_power_gap_percent: f64,
    ) -> Self {
        let record = policy.record();
        Self {
            model: workshop.model_name(),
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
    /// As people read it.
    pub(crate) fn text(&self) -> Text {
        // None of its own: a method without one, or an outer function that several trainings share.
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
                "outer function, held-out: off by {:.2} % on average, {:.2} % at the 99th percentile, {:.2} % at \
                 most",
                100.0 * mean,
                100.0 * percentile_99,
                100.0 * max
            ));
        }
        text.push(format!(
            "validation: {:.2} % of users meet ε = {}; bandwidth {:.2} % over the optimum (equal power with exact \
             bandwidths: {:.2} %)",
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent,
            self.equal_power_gap_percent
        ));
        text
    }
}

/// Of a training of the price policy.
#[derive(Serialize)]
pub(crate) struct PriceReport {
    model: String,
    training: PriceSettings,
    train_seconds: f64,
    ranges: TrainedRanges,
    /// On a validation set of the training sizes, in the cell's own ranges; under the law of the samples if
    /// there is no other.
    availability: f64,
    gap_percent: f64,
    /// The same of equal power with exact bandwidths, which learns nothing.
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
    /// Largest relative standard error of the bandwidth, over the received powers learned.
    largest_standard_error: f64,
}

impl PriceReport {
    pub(crate) fn new(
        workshop: &Workshop<'_>,
        session: &Session<'_>,
        policy: &PricePolicy,
        equal_power_gap_percent: f64,
    ) -> Self {
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
    /// As people read it.
    pub(crate) fn text(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps in {:.1} s",
            self.model, self.training.steps, self.train_seconds
        ));
        if let Some(Sampled { record, largest_standard_error }) = &self.sampled {
            text.push(format!(
                "bandwidth from {} samples of fading: its standard error is at most {:.2} %, and {} of them are \
                 added; `fading` names a law to evaluate it by",
                record.samples,
                100.0 * largest_standard_error,
                record.deviations
            ));
        }
        text.push(format!(
            "validation{}: {:.2} % of users meet ε = {}; bandwidth {:.4} % over the optimum (equal power with exact \
             bandwidths: {:.2} %)",
            if self.sampled.is_some() { ", under the law of the samples" } else { "" },
            100.0 * self.availability,
            self.epsilon,
            self.gap_percent,
            self.equal_power_gap_percent
        ));
        text
    }
}

/// What a model reaches at each size.
#[derive(Serialize)]
pub(crate) struct Evaluation {
    samples: u64,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<Guarantee>,
    sizes: Vec<EvaluatedSize>,
    /// The stricter target that the model allocates and codes for.
    #[serde(skip)]
    epsilon_d: Option<f64>,
}

/// One size.
#[derive(Serialize)]
pub(crate) struct EvaluatedSize {
    pub(crate) k: usize,
    /// What was found on the cells that the budget can serve; absent where it serves none.
    #[serde(flatten)]
    pub(crate) found: Option<Measured>,
    /// Cells that it cannot: they are in no mean.
    pub(crate) infeasible: usize,
}

/// On the cells that can be served.
#[derive(Serialize)]
pub(crate) struct Measured {
    availability: f64,
    /// The same, counted as a base station codes that allocates for a stricter target; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    availability_as_coded: Option<f64>,
    total_bandwidth_mhz: f64,
    optimum_mhz: f64,
    gap_percent: f64,
    /// Equal power with exact bandwidths on the same cells: what any policy is to be measured against.
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

    /// As people read it.
    fn text(&self) -> Text {
        // Rounding is not less than nothing.
        let percent = |gap: f64| format!("{:.2}", if gap.abs() < 5e-3 { 0.0 } else { gap });
        let mut header = vec!["K", "availability"];
        header.extend(self.epsilon_d.map(|_| "as coded"));
        header.extend([
            "bandwidth (MHz)",
            "optimum (MHz)",
            "over (%)",
            "equal power, over (%)",
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
                    // Of those whom it serves at all.
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
                "availability: ε_c = ε_q = ε/2; as coded: the model is trained for ε_D = {epsilon_d:e}, its base station \
                 codes for ε_c = ε_D/2, and a user may lose ε_D/2 + ε_q"
            ));
        }
        if let Some(guarantee) = &self.guarantee {
            text.push(guarantee.sentence());
        }
        text
    }
}
