//! Pictures of a summary: bandwidth and availability of all methods, and sum rates of links, by K.

use crate::entry::AVAILABLE;
use crate::verdict::listed;
use anyk::framework::{Chart, Picture, Series};

/// Subjects of the pictures.
pub(crate) const BANDWIDTH: &str = "bandwidth";
pub(crate) const AVAILABILITY: &str = "availability";
pub(crate) const DENSE_RATES: &str = "dense-rates";
pub(crate) const FIELD_RATES: &str = "d2d-rates";

/// Curve of a method: size, availability, and extra bandwidth in percent.
pub(crate) struct MethodCurve {
    pub(crate) label: String,
    pub(crate) figures: Vec<(usize, f64, f64)>,
}

/// Draws the extra bandwidth of the chosen methods, with crosses at failures, and the availability of all methods,
/// whose legend names the sizes at which each fails.
pub(crate) fn of_methods(chosen: &[MethodCurve], all: &[MethodCurve]) -> Vec<Picture> {
    let figures = |curve: &MethodCurve, value: fn(&(usize, f64, f64)) -> f64| {
        curve.figures.iter().map(|figure| (figure.0 as f64, value(figure))).collect()
    };
    let gap = |figure: &(usize, f64, f64)| figure.2;
    let mut gaps: Vec<Series> = chosen
        .iter()
        .map(|curve| Series::solid(curve.label.clone(), figures(curve, gap)))
        .collect();
    let failed = chosen.iter().flat_map(|curve| &curve.figures).filter(|figure| fails(figure));
    let failed: Vec<(f64, f64)> = failed.map(|figure| (figure.0 as f64, figure.2)).collect();
    if !failed.is_empty() {
        gaps.push(Series::crosses("does not serve every user", failed));
    }
    let availability = all.iter().map(|curve| {
        let label = format!("{}{}", curve.label, at_failures(curve));
        Series::solid(label, figures(curve, |figure| figure.1))
    });
    vec![
        Picture {
            subject: BANDWIDTH.to_owned(),
            caption: "0 is optimal. A cross marks a size at which a method does not serve every user (availability \
                      below 1.00). Below 0, users get less bandwidth than they need."
                .into(),
            chart: Chart {
                title: "Extra bandwidth compared with the optimum (%)".into(),
                x_label: "number of users K".into(),
                y_label: "extra bandwidth (%)".into(),
                log_x: true,
                log_y: false,
                series: gaps,
            },
        },
        Picture {
            subject: AVAILABILITY.to_owned(),
            caption: availability_words(all),
            chart: Chart {
                title: "Availability: share of users whose QoS is met".into(),
                x_label: "number of users K".into(),
                y_label: "availability A_K".into(),
                log_x: true,
                log_y: false,
                series: availability.collect(),
            },
        },
    ]
}

/// Returns whether a method does not serve every user at a size.
fn fails(figure: &(usize, f64, f64)) -> bool {
    figure.1 < AVAILABLE
}

/// Names the sizes at which a method does not serve every user, as a suffix of its label.
fn at_failures(curve: &MethodCurve) -> String {
    let failed: Vec<String> = curve
        .figures
        .iter()
        .filter(|figure| fails(figure))
        .map(|figure| figure.0.to_string())
        .collect();
    match failed.len() {
        0 => String::new(),
        all if all == curve.figures.len() => ": fails at every K".to_owned(),
        _ => format!(": fails at K = {}", failed.join(", ")),
    }
}

/// Caption that names the methods with availability 1.00 at every size.
fn availability_words(curves: &[MethodCurve]) -> String {
    let serves = |curve: &&MethodCurve| curve.figures.iter().all(|figure| figure.1 >= AVAILABLE);
    let (all, some): (Vec<&MethodCurve>, Vec<&MethodCurve>) = curves.iter().partition(serves);
    let names = |curves: &[&MethodCurve]| {
        // Labels are quoted, because they contain commas.
        let names: Vec<String> = curves.iter().map(|curve| format!("“{}”", curve.label)).collect();
        listed(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    match (all.as_slice(), some.as_slice()) {
        (all, []) => format!("Availability 1.00 at every K: {}.", names(all)),
        (all, some) => format!(
            "Availability 1.00 at every K: {}. Lower at some K: {}.",
            names(all),
            names(some)
        ),
    }
}

/// Draws sum rates of links relative to the baseline's, in percent: curves of networks, and of other methods.
pub(crate) fn of_rates(
    subject: &str,
    title: &str,
    networks: &[Series],
    others: Vec<Series>,
) -> Picture {
    let lowest = |series: &Series| series.points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let best = networks.iter().max_by(|a, b| lowest(a).total_cmp(&lowest(b)));
    let caption = best.map_or_else(String::new, |best| {
        format!(
            "The learned policy with the highest minimum over all K is “{}”: {:.1} % of WMMSE at its lowest. Dashed \
             lines are methods without training.",
            best.label,
            lowest(best),
        )
    });
    Picture {
        subject: subject.to_owned(),
        caption,
        chart: Chart {
            title: title.to_owned(),
            x_label: "number of links K".into(),
            y_label: "sum rate (% of WMMSE)".into(),
            log_x: true,
            log_y: false,
            series: networks.iter().cloned().chain(others).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(label: &str, figures: &[(usize, f64, f64)]) -> MethodCurve {
        MethodCurve { label: label.to_owned(), figures: figures.to_vec() }
    }

    #[test]
    fn failures_are_named() {
        let good = curve("a", &[(1, 1.0, 0.0), (10, 0.996, 2.0)]);
        let bad = curve("b", &[(1, 1.0, 3.0), (10, 0.2, -30.0), (50, 0.99, 4.0)]);
        let curves = [good, bad];
        let [over, availability] = of_methods(&curves, &curves).try_into().unwrap();
        let points = |picture: &Picture, series: usize| picture.chart.series[series].points.clone();
        assert_eq!(points(&over, 1), [(1.0, 3.0), (10.0, -30.0), (50.0, 4.0)]);
        // Crosses mark the failures of all methods.
        assert!(over.chart.series[2].crosses);
        assert_eq!(points(&over, 2), [(10.0, -30.0), (50.0, 4.0)]);
        assert_eq!(points(&availability, 1), [(1.0, 1.0), (10.0, 0.2), (50.0, 0.99)]);
        assert_eq!(over.chart.series[1].label, "b");
        assert_eq!(availability.chart.series[1].label, "b: fails at K = 10, 50");
        assert!(availability.caption.contains("at every K: “a”. Lower at some K: “b”."));
        // Without a failure, no label names one, and there are no crosses.
        let curves = [curve("a", &[(1, 1.0, 1.0)])];
        let fine = of_methods(&curves, &curves);
        assert!(fine.iter().all(|picture| picture.chart.series.len() == 1));
        assert!(fine.iter().all(|picture| picture.chart.series[0].label == "a"));
        assert_eq!(fine[1].caption, "Availability 1.00 at every K: “a”.");
        assert_eq!(at_failures(&curve("c", &[(1, 0.0, 0.0)])), ": fails at every K");
    }

    #[test]
    fn the_best_network_is_found_by_its_lowest_rate() {
        let series = |label: &str, rates: [f64; 2]| {
            Series::solid(label, vec![(10.0, rates[0]), (50.0, rates[1])])
        };
        let networks = [series("steady", [97.0, 96.0]), series("falls", [101.0, 60.0])];
        let picture = of_rates(DENSE_RATES, "t", &networks, vec![Series::dashed("x", vec![])]);
        assert!(picture.caption.contains("“steady”: 96.0 % of WMMSE"), "{}", picture.caption);
        assert_eq!(picture.chart.series.len(), 3);
    }
}
