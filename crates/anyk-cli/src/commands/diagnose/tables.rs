//! What a diagnosis shows, as tables with charts: in a report, and in lines of text.

use anyk::diagnosis::{Answer, Candidate, Curve, Diagnosis, Recommendation, STILL};
use anyk::network::{Aggregator, Output};

use super::Finding;
use crate::report::{Chart, Series, Table};

/// Tables of one policy.
pub(crate) fn all(finding: &Finding) -> Vec<Table> {
    let mut tables = vec![policy(finding), candidates(finding)];
    if !finding.predictions.is_empty() {
        tables.push(predictions(finding));
    }
    tables
}

/// How much was seen.
pub(crate) fn samples(diagnosis: &Diagnosis) -> String {
    let least = diagnosis.samples.iter().min().copied().unwrap_or(0);
    let list: Vec<String> = diagnosis.sizes.iter().map(ToString::to_string).collect();
    let instances = if diagnosis.clustered {
        ""
    } else {
        "; no instances: users that depend on each other make the intervals too narrow"
    };
    format!("K = {}; at least {least} of each size{instances}", list.join(", "))
}

/// Whether the output becomes a function of the own input and K.
pub(crate) fn decoupling(diagnosis: &Diagnosis) -> String {
    let spread = 100.0 * diagnosis.estimate.last_spread;
    let yes = match diagnosis.decouples {
        true if spread > 10.0 => "slowly",
        true => "yes",
        false => "no",
    };
    let k = diagnosis.sizes.last().copied().unwrap_or(0);
    // Under this the spread is what the width of a window and rounding leave.
    let exponent = diagnosis.estimate.spread_exponent.filter(|_| spread > 0.1);
    let rate = exponent.map_or(String::new(), |exponent| {
        format!(", going as K^({:+.2} ± {:.2})", exponent.value, exponent.half_width)
    });
    format!("{yes}: spread {spread:.1} % for a given x at K = {k}{rate}")
}

/// Whether `f(x, K)` still changes.
pub(crate) fn invariance(diagnosis: &Diagnosis) -> String {
    let found = &diagnosis.invariance;
    format!(
        "{}: f changes by up to {:+.1} % when K doubles ({} to {}; {:.0} % is none)",
        answer(found.answer),
        found.largest_percent(),
        found.from_k,
        found.to_k,
        100.0 * STILL,
    )
}

/// In a word.
pub(crate) fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Undecided => "undecided",
    }
}

/// The recommended pair, in words.
pub(crate) fn pair(recommendation: &Recommendation) -> String {
    recommendation.pair().map_or_else(|| "none".to_owned(), Candidate::label)
}

/// The name of a curve.
fn curve_label(curve: &Curve) -> String {
    format!("x = {:.3} ({:.0} % quantile)", curve.x, 100.0 * curve.quantile)
}

/// `f(x, K)` with its confidence.
fn policy(finding: &Finding) -> Table {
    let diagnosis = &finding.diagnosis;
    let curves = &diagnosis.estimate.curves;
    let mut columns = vec!["K".to_owned()];
    columns.extend(curves.iter().flat_map(|curve| {
        let x = format!("{:.4}", curve.x);
        [format!("f({x}, K)"), format!("low at {x}"), format!("high at {x}")]
    }));
    let row = |&k: &usize| {
        let mut row = vec![k.to_string()];
        for curve in curves {
            match curve.at(k) {
                Some(point) => row.extend(
                    [point.value, point.low, point.high].map(|value| format!("{value:.5e}")),
                ),
                None => row.extend(vec![String::new(); 3]),
            }
        }
        row
    };
    let series = curves.iter().map(|curve| Series {
        label: curve_label(curve),
        points: curve.points.iter().map(|point| (point.k as f64, point.value)).collect(),
        dashed: false,
        lower: Some(curve.points.iter().map(|point| point.low).collect()),
        upper: Some(curve.points.iter().map(|point| point.high).collect()),
    });
    let points = || curves.iter().flat_map(|curve| &curve.points);
    Table {
        name: "policy".into(),
        title: "What a user of given input gets, over the number of users".into(),
        note: format!(
            "Permutation-equivariant: {}. A function of x and K: {}. Size-invariant: {}. Size law: {}. \
             Recommended: {}; {}. Intervals of 95 %, over instances.",
            diagnosis.order.text(),
            decoupling(diagnosis),
            invariance(diagnosis),
            diagnosis.law_text(),
            pair(&finding.recommendation),
            finding.recommendation.reason,
        ),
        columns,
        rows: diagnosis.sizes.iter().map(row).collect(),
        chart: Some(Chart {
            title: diagnosis.label.clone(),
            x_label: "users K".into(),
            y_label: "f(x, K)".into(),
            log_x: true,
            log_y: points().all(|point| point.value > 0.0),
            series: series.collect(),
        }),
    }
}

/// The law of every network beside the policy's.
pub(crate) fn candidates(finding: &Finding) -> Table {
    let Finding { diagnosis, recommendation, .. } = finding;
    let (from, to) = (recommendation.from_k, recommendation.to_k);
    let rows = recommendation.candidates.iter().enumerate().map(|(index, candidate)| {
        let word = match (recommendation.chosen == Some(index), candidate.aligned) {
            (true, _) => "recommended",
            (false, true) => "follows",
            (false, false) => "no",
        };
        vec![
            candidate.label(),
            format!("{:+.2}", candidate.exponent),
            format!("{:.2}", candidate.mismatch),
            word.to_owned(),
        ]
    });
    let middle = diagnosis.estimate.curves.get(diagnosis.estimate.curves.len() / 2);
    let mut series = Vec::new();
    if let Some((curve, start)) = middle.and_then(|curve| Some((curve, curve.at(from)?.value))) {
        let points = curve.points.iter().filter(|point| point.k >= from);
        let points = points.map(|point| (point.k as f64, point.value / start));
        series.push(Series {
            label: format!("the policy, x = {:.3}", curve.x),
            points: points.collect(),
            ..Series::default()
        });
    }
    // Both normalisations, and all aggregators under them, lie on one line; a pre-trained activation
    // lies on the policy's own.
    let drawn = recommendation.candidates.iter().filter(|candidate| match candidate.output {
        Output::Elementwise(_) => true,
        Output::Softmax => candidate.aggregator == Aggregator::Mean,
        Output::SumNormalisation | Output::Pretrained => false,
    });
    series.extend(drawn.map(|candidate| {
        let end = (to as f64 / from as f64).powf(candidate.exponent);
        let end = end.clamp(1e-4, 1e4);
        Series {
            label: candidate.label(),
            points: vec![(from as f64, 1.0), (to as f64, end)],
            dashed: true,
            ..Series::default()
        }
    }));
    Table {
        name: "networks".into(),
        title: "The size laws of networks beside the policy's".into(),
        note: format!(
            "Exponents of K from {from} to {to} users, of random networks on inputs like the policy's; that \
             of the policy is {:+.2}. A kind of network follows the policy if no network of it is off by \
             more than 0.1; a pre-trained activation has the policy's law from its outer function, and a \
             normalisation that of every policy whose outputs have one sum.",
            recommendation.policy_exponent
        ),
        columns: ["network", "exponent", "furthest from the policy", "follows it"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        chart: Some(Chart {
            title: format!("Change since K = {from}, median over random networks"),
            x_label: "users K".into(),
            y_label: format!("output over that at K = {from}"),
            log_x: true,
            log_y: true,
            series,
        }),
    }
}

/// A loss in percent.
fn percent(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Predicted and measured losses.
pub(crate) fn predictions(finding: &Finding) -> Table {
    let first = finding.predictions.first();
    let (train_k, test_k) = first.map_or((0, 0), |first| (first.train_k, first.test_k));
    let rows = finding.predictions.iter().map(|prediction| {
        vec![
            prediction.label.to_owned(),
            percent(prediction.drift_percent),
            percent(prediction.train_loss_percent),
            percent(prediction.predicted_percent),
            format!("{} to {}", percent(prediction.low_percent), percent(prediction.high_percent)),
            percent(prediction.measured_percent),
            format!("{:.2}", prediction.ratio),
        ]
    });
    Table {
        name: "prediction".into(),
        title: format!("Loss at K = {test_k} of networks trained at K = {train_k}"),
        note: format!(
            "A loss is the factor by which outputs are off, max(ŷ/y, y/ŷ), in the geometric mean over users, \
             less 1, percent. Predicted from samples of at most {train_k} users: what the size laws cost by \
             K = {test_k} (drift), and what the trained network misses at K = {train_k}, of which what other \
             users do fades. The range is for a law of the policy that is off by two deviations, and two \
             standard errors over cells. Losses under 1 % count as 1 % in the ratio."
        ),
        columns: vec![
            "mean aggregator and".to_owned(),
            "drift (%)".to_owned(),
            format!("loss at {train_k} (%)"),
            format!("predicted at {test_k} (%)"),
            "range (%)".to_owned(),
            "measured (%)".to_owned(),
            "ratio".to_owned(),
        ],
        rows: rows.collect(),
        chart: None,
    }
}
