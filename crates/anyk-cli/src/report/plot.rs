//! SVG drawing of a [`Chart`] with kuva.

use std::sync::Arc;

use anyk::framework::{Chart, Series};
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::prelude::{
    Layout, LegendEntry, LegendPosition, LegendShape, LinePlot, Plot, ScatterPlot, SvgBackend,
    TickFormat, render_multiple,
};
use kuva::render::layout::ComputedLayout;
use kuva::render::render::Primitive;

use super::html::escape;
use crate::printable::is_obeyed;

/// Colors of Okabe and Ito, which color-blind readers can tell apart, with gray instead of yellow. Orange and sky blue
/// are darker than theirs, because a thin line needs a contrast of 3:1 with white.
const COLOURS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#C28100", "#3F9BD8", "#000000", "#808080"];
const CROSSES: &str = "#000000";
/// Markers of measurements, and of the dashed curves that they are compared with.
const MARKERS: [MarkerShape; 6] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Star,
];
const DASHED_MARKERS: [MarkerShape; 2] = [MarkerShape::Cross, MarkerShape::Plus];
/// Short dashes, so that the legend shows two of them.
const DASHES: &str = "4 3";

/// Width of the picture and height of its plot area, in pixels.
const WIDTH: f64 = 720.0;
const PLOT_HEIGHT: f64 = 300.0;
/// Space for the right half of the last label of the x axis.
const OVERHANG: f64 = 12.0;
/// Maximum number of points with markers. A longer series is a curve without markers, with its spread as a band.
const MOST_MARKERS: usize = 16;
/// Maximum length of a series label; longer labels are truncated.
const LONGEST_LABEL: usize = 80;
/// Largest value on an axis, and smallest on a log axis, where kuva's ticks start.
const LARGEST: f64 = 1e15;
const SMALLEST_ON_LOG: f64 = 1e-10;

/// Points of a series that the axes can show, with the ends of their intervals.
type Points = Vec<((f64, f64), (f64, f64))>;

/// Renders a chart as a complete SVG document. Equal charts give equal documents.
pub(crate) fn svg(chart: &Chart) -> String {
    let all: Vec<Points> = chart.series.iter().map(|series| shown(chart, series)).collect();
    let x = range(all.iter().flatten().map(|&((x, _), _)| x), chart.log_x);
    let y = range(all.iter().flatten().flat_map(|&(_, (low, high))| [low, high]), chart.log_y);
    // Without any plot, kuva does not draw axes.
    let mut plots = vec![Plot::Line(LinePlot::new())];
    let mut legend = Vec::new();
    for (place, (series, points)) in chart.series.iter().zip(&all).enumerate() {
        legend.push(draw(&mut plots, chart, place, series, points));
    }
    let mut layout = Layout::new(x, y)
        .with_title(text(&chart.title))
        .with_title_wrap(70)
        .with_title_size(15)
        .with_x_label(text(&chart.x_label))
        .with_y_label(text(&chart.y_label))
        .with_y_label_wrap(40)
        .with_label_size(13)
        .with_tick_size(12)
        .with_x_tick_format(ticks(x, chart.log_x))
        .with_y_tick_format(ticks(y, chart.log_y))
        .with_body_size(12)
        .with_legend_entries(legend)
        .with_legend_position(LegendPosition::OutsideBottomColumns)
        .with_legend_box(false)
        .with_width(WIDTH);
    if chart.log_x {
        layout = layout.with_log_x();
        // kuva ends log axes at powers of ten, which would leave a quarter of the width empty for K = 1 to 200.
        if x.1 >= 10.0 * x.0 {
            layout = layout.with_x_axis_min(x.0).with_x_axis_max(x.1);
        }
    }
    if chart.log_y {
        layout = layout.with_log_y();
    }
    if all.iter().all(Vec::is_empty) {
        layout = layout.with_subtitle("no data");
    }
    let margins = ComputedLayout::from_layout(&layout);
    layout = layout.with_height(PLOT_HEIGHT + margins.margin_top + margins.margin_bottom);

    let mut scene = render_multiple(plots, layout);
    // kuva numbers clip paths across the whole process, so pictures would depend on earlier ones, and names would
    // collide on a page. All points are inside the axes, so no clipping is needed.
    scene.elements.retain(|e| !matches!(e, Primitive::ClipStart { .. } | Primitive::ClipEnd));
    scene.defs.clear();
    scene.width += OVERHANG;
    // The view box makes the picture scale; screen readers use the label.
    let head = format!(
        r#"<svg viewBox="0 0 {} {}" role="img" aria-label="{}" "#,
        scene.width,
        scene.height,
        escape(&chart.title)
    );
    SvgBackend::new().with_pretty(true).render_scene(&scene).replacen("<svg ", &head, 1)
}

/// Adds the line and the markers of a series, and returns its legend entry.
fn draw(
    plots: &mut Vec<Plot>,
    chart: &Chart,
    place: usize,
    series: &Series,
    points: &Points,
) -> LegendEntry {
    // With as many dashed as solid curves, the n-th of each have the same color.
    let dashed = chart.series.iter().filter(|series| series.dashed).count();
    let paired = 2 * dashed == chart.series.len();
    let before = chart.series[..place].iter();
    let index = before.filter(|other| !paired || other.dashed == series.dashed).count();
    let colour = COLOURS[index % COLOURS.len()];

    let data = || points.iter().map(|point| point.0);
    if series.crosses {
        let marker = MarkerShape::Cross;
        let scatter = ScatterPlot::new().with_data(data()).with_color(CROSSES);
        plots.push(Plot::Scatter(scatter.with_marker(marker).with_size(7.0)));
        let (color, shape) = (CROSSES.to_owned(), LegendShape::Marker(marker));
        return LegendEntry { label: text(&series.label), color, shape, dasharray: None };
    }
    let mut line = LinePlot::new().with_data(data()).with_color(colour);
    if series.dashed {
        line = line.with_line_style(LineStyle::Custom(DASHES.to_owned()));
    }
    let dense = points.len() > MOST_MARKERS;
    if series.spread.is_some() {
        let ends = points.iter().map(|point| point.1);
        line = if dense {
            line.with_band(ends.clone().map(|end| end.0), ends.map(|end| end.1))
        } else {
            line.with_y_err_asymmetric(points.iter().map(|&((_, y), (l, h))| (y - l, h - y)))
        };
    }
    let dasharray = line.line_style.dasharray();
    plots.push(Plot::Line(line));
    let shape = if dense {
        LegendShape::Line
    } else {
        let markers = if series.dashed { &DASHED_MARKERS[..] } else { &MARKERS };
        let marker = markers[index % markers.len()];
        let scatter = ScatterPlot::new().with_data(data()).with_color(colour);
        plots.push(Plot::Scatter(scatter.with_marker(marker).with_size(4.0)));
        LegendShape::Marker(marker)
    };
    let mut label: String = series.label.chars().take(LONGEST_LABEL).collect();
    if label.len() < series.label.len() {
        label.push('…');
    }
    if points.is_empty() {
        label.push_str(" (no data)");
    }
    LegendEntry { label: text(&label), color: colour.to_owned(), shape, dasharray }
}

/// Returns the points of a series that the axes can show.
fn shown(chart: &Chart, series: &Series) -> Points {
    let fits = |value: f64, log: bool| {
        // NaN gives false.
        value.abs() <= LARGEST && (!log || value >= SMALLEST_ON_LOG)
    };
    let spread = series.spread.iter().flatten().copied().map(Some).chain(std::iter::repeat(None));
    let points = series.points.iter().zip(spread);
    let points = points.filter(|((x, y), _)| fits(*x, chart.log_x) && fits(*y, chart.log_y));
    let lowest = points.clone().map(|((_, y), _)| *y).fold(f64::INFINITY, f64::min);
    points
        .map(|(&(x, y), ends)| {
            let (low, high) = ends.unwrap_or((y, y));
            // On a log axis, an interval that reaches 0 or below ends at the lowest point of the series.
            let low = if fits(low, chart.log_y) { low } else { lowest };
            let high = if fits(high, chart.log_y) { high } else { y };
            ((x, y), (low.min(y), high.max(y)))
        })
        .collect()
}

/// Returns the range of some values, never empty.
fn range(values: impl Iterator<Item = f64> + Clone, log: bool) -> (f64, f64) {
    let min = values.clone().fold(f64::INFINITY, f64::min);
    let max = values.fold(f64::NEG_INFINITY, f64::max);
    let size = min.abs().max(max.abs());
    if min > max {
        (1.0, 10.0)
    } else if log || max - min > 1e-9 * size {
        (min, max)
    } else {
        // For values that are equal up to rounding, widens the range, because ticks need a distance.
        let margin = if size > 0.0 { 0.1 * size } else { 1.0 };
        (min - margin, max + margin)
    }
}

/// Returns the tick labels of an axis. kuva would mix "1e-1", "0.20" and "0.050" on a log axis, and write 1000000 in
/// full.
fn ticks((min, max): (f64, f64), log: bool) -> TickFormat {
    // On a linear axis, zero has a rounding error.
    let zero = if log { 0.0 } else { 1e-9 * (max - min) };
    TickFormat::Custom(Arc::new(move |value| {
        let rounded = format!("{value:.9e}").parse::<f64>().unwrap_or(value);
        if rounded.abs() <= zero {
            "0".to_owned()
        } else if (1e-3..1e5).contains(&rounded.abs()) {
            rounded.to_string()
        } else {
            format!("{rounded:e}")
        }
    }))
}

/// Escapes text for kuva: a dollar sign would begin a formula, and XML cannot represent control characters.
fn text(label: &str) -> String {
    label.replace(is_obeyed, " ").replace('$', "\\$")
}

#[cfg(test)]
mod tests {
    use super::COLOURS;

    /// Uses contrast and luminance as defined by the Web Content Accessibility Guidelines.
    #[test]
    fn every_colour_has_a_contrast_of_three_to_white() {
        for colour in COLOURS {
            let channel = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            let luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
            let contrast = 1.05 / (luminance + 0.05);
            assert!(contrast >= 3.0, "{colour}: {contrast}");
        }
    }
}
