//! Tables with charts, and lines of text, for a finding.

use super::{
    Answer, Candidate, Curve, Diagnosis, Finding, Ground, Layer, PROMISE_PERCENT, Recommendation,
};
use crate::framework::{Chart, Series, Table, Value};
use crate::network::{Aggregator, Output};
use crate::row;

impl Finding {
    /// Returns all tables of the finding.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.policy_table(), self.networks_table()];
        if !self.predictions.is_empty() {
            tables.push(self.prediction_table());
        }
        tables
    }

    /// Returns the table of `f(x, K)` with its confidence intervals.
    fn policy_table(&self) -> Table {
        let diagnosis = &self.diagnosis;
        let curves = &diagnosis.estimate.curves;
        let columns = curves.iter().flat_map(|curve| {
            let x = format!("{:.4}", curve.x);
            [format!("f({x}, K)"), format!("low at {x}"), format!("high at {x}")]
                .map(|head| (head, "{:.5e}"))
        });
        let row = |&k: &usize| {
            let at = |curve: &Curve| match curve.at(k) {
                Some(point) => [point.value, point.low, point.high].map(Value::from),
                None => [""; 3].map(Value::from),
            };
            row![k; curves.iter().flat_map(at)]
        };
        let series = curves.iter().map(|curve| {
            let points = curve.points.iter().map(|point| (point.k as f64, point.value)).collect();
            Series {
                spread: Some(curve.points.iter().map(|point| (point.low, point.high)).collect()),
                ..Series::solid(curve_label(curve), points)
            }
        });
        let points = || curves.iter().flat_map(|curve| &curve.points);
        Table {
            name: "policy".into(),
            title: "Mean output of a user with a given input, over the number of users".into(),
            note: format!(
                "Permutation-equivariant: {}. A function of x and K: {}. Size-invariant: {}. Size law: {}. \
                 Recommended: {}; {}. The intervals are 95 % confidence intervals over instances.",
                diagnosis.order.text(),
                diagnosis.decoupling_text(),
                diagnosis.invariance_text(),
                diagnosis.law_text(),
                self.recommendation.pair_text(),
                self.recommendation.reason,
            ),
            columns: row!["K"; columns],
            rows: diagnosis.sizes.iter().map(row).collect(),
            chart: Some(Chart {
                title: diagnosis.label.clone(),
                x_label: "users K".into(),
                y_label: "f(x, K)".into(),
                log_x: true,
                log_y: points().all(|point| point.value > 0.0),
                series: series.collect(),
            }),
            ..Table::default()
        }
    }

    /// Returns the table that compares the size laws of networks with that of the policy.
    pub fn networks_table(&self) -> Table {
        let Self { diagnosis, recommendation, .. } = self;
        let (from, to) = (recommendation.from_k, recommendation.to_k);
        let rows = recommendation.candidates.iter().enumerate().map(|(index, candidate)| {
            let word = match (recommendation.chosen == Some(index), candidate.possible) {
                (true, _) => "recommended",
                (false, false) => "no: outputs cannot be negative",
                (false, true) if candidate.aligned => "within 0.1",
                (false, true) => "no",
            };
            row![candidate.label(), candidate.exponent, candidate.mismatch, word]
        });
        let middle = diagnosis.estimate.curves.get(diagnosis.estimate.curves.len() / 2);
        let mut series = Vec::new();
        if let Some((curve, start)) = middle.and_then(|curve| Some((curve, curve.at(from)?.value)))
        {
            let points = curve.points.iter().filter(|point| point.k >= from);
            let points = points.map(|point| (point.k as f64, point.value / start));
            let label = format!("the policy, x = {:.3}", curve.x);
            series.push(Series::solid(label, points.collect()));
        }
        // The normalizations with any aggregator and the price layer share one line, and a pre-trained activation has
        // the same line as the policy, so these lines are not repeated.
        let drawn = recommendation.candidates.iter().filter(|candidate| match candidate.output {
            Layer::Network(Output::Elementwise(_)) => true,
            Layer::Network(Output::Softmax) => candidate.aggregator == Some(Aggregator::Mean),
            _ => false,
        });
        series.extend(drawn.map(|candidate| {
            let end = (to as f64 / from as f64).powf(candidate.exponent);
            let end = end.clamp(1e-4, 1e4);
            Series::dashed(candidate.label(), vec![(from as f64, 1.0), (to as f64, end)])
        }));
        Table {
            name: "networks".into(),
            title: "Size laws of networks compared with the policy".into(),
            note: format!(
                "Exponents of K for random networks on the policy's inputs, from {from} to {to} users. The policy \
                 has the exponent {:+.2}. A kind of network follows the policy if the exponents of all its networks \
                 differ from it by at most 0.1. A pre-trained activation takes the policy's size law from its outer \
                 function. A normalization has the size law of every policy whose outputs always have the same sum.",
                recommendation.policy_exponent
            ),
            columns: row![
                "network",
                ("exponent", "{:+.2}"),
                ("furthest from the policy", "{:.2}"),
                "follows it",
            ],
            rows: rows.collect(),
            chart: Some(Chart {
                title: format!("Change relative to K = {from}, median over random networks"),
                x_label: "users K".into(),
                y_label: format!("output divided by the output at K = {from}"),
                log_x: true,
                log_y: true,
                series,
            }),
            ..Table::default()
        }
    }

    /// Returns the table of predicted and measured losses.
    pub fn prediction_table(&self) -> Table {
        let first = self.predictions.first();
        let (train_k, test_k) = first.map_or((0, 0), |first| (first.train_k, first.test_k));
        let rows = self.predictions.iter().map(|prediction| {
            let [low, high] = [prediction.low_percent, prediction.high_percent];
            let range = format!("{} to {}", percent_format(low), percent_format(high));
            row![
                prediction.label,
                percent(prediction.drift_percent),
                percent(prediction.train_loss_percent),
                percent(prediction.predicted_percent),
                Value::formatted([low, high], range),
                percent(prediction.measured_percent),
                prediction.ratio,
                percent(prediction.with_law_percent),
            ]
        });
        Table {
            name: "prediction".into(),
            title: format!("Loss at K = {test_k} of networks trained at K = {train_k}"),
            note: format!(
                "A loss is the factor by which outputs are wrong, max(ŷ/y, y/ŷ), as a geometric mean over users, \
                 minus 1, in percent. It is predicted from samples of at most {train_k} users. The prediction adds \
                 the cost of the size laws up to K = {test_k} (drift) to the loss of the trained network at \
                 K = {train_k}, of which the part that other users cause decays. The range is meant to contain \
                 {PROMISE_PERCENT:.0} % of the measured losses. It allows for an error of two standard deviations \
                 in the size law, two standard errors over cells, and a tenth of the loss. The influence of other \
                 users may decay fully or not at all. In the ratio, losses below 1 % count as 1 %. \
                 “Fitted to all K” is the loss at K = {test_k} if the outer function of a pre-trained activation, or \
                 the response of a price layer, is fitted to samples of all K. The recommendation depends on this loss."
            ),
            columns: row![
                "mean aggregator and",
                ("drift", "%", "{:.2}"),
                (format!("loss at {train_k}"), "%", "{:.2}"),
                (format!("predicted at {test_k}"), "%", "{:.2}"),
                ("range", "%", "{:.2}"),
                ("measured", "%", "{:.2}"),
                ("ratio", "{:.2}"),
                ("fitted to all K", "%", "{:.2}"),
            ],
            rows: rows.collect(),
            chart: None,
            ..Table::default()
        }
    }
}

impl Diagnosis {
    /// Returns a description of the samples: the sizes and the smallest number of samples.
    pub fn samples_text(&self) -> String {
        let least = self.samples.iter().min().copied().unwrap_or(0);
        let list: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        let instances = if self.clustered {
            ""
        } else {
            "; no instances: if users depend on each other, the intervals are too narrow"
        };
        format!("K = {}; at least {least} of each size{instances}", list.join(", "))
    }

    /// Returns whether the output becomes a function of the user's own input and K, as text.
    pub fn decoupling_text(&self) -> String {
        let spread = 100.0 * self.estimate.last_spread;
        let yes = match self.decouples {
            true if spread > 10.0 => "slowly",
            true => "yes",
            false => "no",
        };
        let k = self.sizes.last().copied().unwrap_or(0);
        // A smaller spread only reflects the width of the window and rounding.
        let exponent = self.estimate.spread_exponent.filter(|_| spread > 0.1);
        let rate = exponent.map_or(String::new(), |exponent| {
            format!(", which scales as K^({:+.2} ± {:.2})", exponent.value, exponent.half_width)
        });
        format!("{yes}: spread {spread:.1} % for a given x at K = {k}{rate}")
    }

    /// Returns whether `f(x, K)` still changes, as text.
    pub fn invariance_text(&self) -> String {
        let found = &self.invariance;
        let (change, error) = found.largest_percent();
        format!(
            "{}: f changes by up to {change:+.1} ± {:.1} % when K doubles ({} to {})",
            found.answer.text(),
            2.0 * error,
            found.from_k,
            found.to_k,
        )
    }
}

impl Answer {
    /// Returns the answer as a word.
    pub fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Undecided => "undecided",
        }
    }
}

impl Recommendation {
    /// Returns the recommended pair of aggregator and output as text.
    pub fn pair_text(&self) -> String {
        let nothing = if self.ground == Ground::Unsure { "undecided" } else { "none" };
        let Some(pair) = self.pair() else { return nothing.to_owned() };
        let sign = match pair.output {
            Layer::Network(Output::Elementwise(_)) if self.support.negative => {
                " that can be negative"
            }
            Layer::Network(Output::Pretrained) if self.support.negative => {
                " times an activation that can be negative"
            }
            _ => "",
        };
        format!("{}{sign}", Candidate::label(pair))
    }
}

/// Returns the name of a curve.
fn curve_label(curve: &Curve) -> String {
    format!("x = {:.3} ({:.0} % quantile)", curve.x, 100.0 * curve.quantile)
}

/// Returns a loss in percent, with about three digits.
fn percent(loss: f64) -> Value {
    Value::formatted([loss], percent_format(loss))
}

fn percent_format(loss: f64) -> &'static str {
    match loss {
        loss if loss >= 100.0 => "{:.0}",
        loss if loss >= 10.0 => "{:.1}",
        _ => "{:.2}",
    }
}
