//! A [`Chart`] as SVG, drawn by kuva.

use anyk::framework::{Chart, Series};
use kuva::plot::scatter::MarkerShape;
use kuva::prelude::{
    Layout, LegendEntry, LegendPosition, LegendShape, LinePlot, Plot, ScatterPlot, SvgBackend,
    Theme, render_multiple,
};
use kuva::render::render::Primitive;

use super::axis::{Axis, shows};
use super::html::escape;
use crate::printable::is_obeyed;

/// Text and axes. The page's style looks for this colour, to turn it light on a dark screen.
pub(super) const INK: &str = "#24292f";
/// Grid lines; known to the page's style as well.
pub(super) const GRID: &str = "#e4e7eb";

/// Okabe and Ito's palette, which colour-blind readers can tell apart, less its yellow and black,
/// one of which is lost on each background.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

/// Shapes say the same as the colours, for print without colour.
const SHAPES: [MarkerShape; 6] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Star,
];

/// Width of the picture in pixels.
const WIDTH: f64 = 720.0;
/// Height of the picture without its legend.
const HEIGHT: f64 = 380.0;
/// Height of one line of the legend.
const LEGEND_LINE: f64 = 18.0;
/// Added on the right.
const OVERHANG: f64 = 12.0;
/// A label of this many characters fills the legend's whole width; a longer one is cut.
const LONGEST_LABEL: usize = 80;
/// More points than this are a curve without markers, and their intervals are drawn as a band; up
/// to here they are measurements with error bars, which stay readable where several series cross.
const MOST_MARKERS: usize = 16;

/// A point the axes can show, with the interval around it.
#[derive(Clone, Copy)]
struct Point {
    /// To the right.
    x: f64,
    /// Upwards.
    y: f64,
    /// The lower end of the interval; minus infinity where a log axis has no place for it.
    lower: f64,
    /// The upper end of the interval.
    upper: f64,
}

/// The SVG text of a chart.
pub(super) fn svg(chart: &Chart) -> String {
    let series: Vec<Vec<Point>> = chart.series.iter().map(|series| points(chart, series)).collect();
    let all = || series.iter().flatten();
    let x = Axis::around(all().map(|point| point.x), chart.log_x);
    let y = Axis::around(all().flat_map(|point| [point.y, point.lower, point.upper]), chart.log_y);

    let mut plots = Vec::new();
    let mut legend = Vec::new();
    for (series, (points, style)) in chart.series.iter().zip(series.iter().zip(styles(chart))) {
        legend.push(style.legend(series, points));
        style.draw(series, points, y, &mut plots);
    }
    let empty = plots.is_empty();
    if empty {
        // Without anything to draw there would be no axes either.
        plots.push(Plot::Line(LinePlot::new()));
    }
    let lines = legend.len().div_ceil(2);
    let height = HEIGHT + LEGEND_LINE * lines as f64;

    let mut layout = Layout::new((x.min, x.max), (y.min, y.max))
        .with_x_axis_min(x.min)
        .with_x_axis_max(x.max)
        .with_y_axis_min(y.min)
        .with_y_axis_max(y.max)
        .with_x_tick_format(x.tick_format())
        .with_y_tick_format(y.tick_format())
        .with_title(label(&chart.title))
        .with_title_wrap(70)
        .with_title_size(15)
        .with_x_label(label(&chart.x_label))
        .with_y_label(label(&chart.y_label))
        .with_y_label_wrap(40)
        .with_theme(theme())
        .with_legend_entries(legend)
        .with_legend_position(LegendPosition::OutsideBottomColumns)
        .with_legend_col_limit(2)
        .with_legend_box(false)
        .with_width(WIDTH)
        .with_height(height);
    if chart.log_x {
        layout = layout.with_log_x();
    }
    if chart.log_y {
        layout = layout.with_log_y();
    }
    if empty {
        layout = layout.with_subtitle("no data");
    }

    let mut scene = render_multiple(plots, layout);
    // Every point lies inside the axes. Without the clipping, markers on an axis stay whole, and
    // the text of a picture does not depend on how many were drawn before it.
    scene.elements.retain(|e| !matches!(e, Primitive::ClipStart { .. } | Primitive::ClipEnd));
    scene.defs.clear();
    // Half of the last label of the x axis stands beyond it.
    scene.width += OVERHANG;
    let (width, height) = (scene.width, scene.height);
    let text = SvgBackend::new().with_pretty(true).render_scene(&scene);
    // With a view box the picture scales; the label is for those who listen to the page.
    let head = format!(
        r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}" "#,
        escape(&chart.title)
    );
    text.replacen("<svg ", &head, 1)
}

/// The points the axes can show, with their intervals.
fn points(chart: &Chart, series: &Series) -> Vec<Point> {
    let bound = |bounds: &Option<Vec<f64>>, index: usize, y: f64| {
        let bound = bounds.as_ref().and_then(|bounds| bounds.get(index)).copied();
        bound.filter(|bound| !bound.is_nan()).unwrap_or(y)
    };
    series
        .points
        .iter()
        .enumerate()
        .filter(|&(_, &(x, y))| shows(x, chart.log_x) && shows(y, chart.log_y))
        .map(|(index, &(x, y))| Point {
            x,
            y,
            lower: bound(&series.lower, index, y).min(y),
            upper: bound(&series.upper, index, y).max(y),
        })
        .collect()
}

/// The look of one series.
#[derive(Clone, Copy)]
struct Style {
    /// The colour of line and markers.
    colour: &'static str,
    /// The shape of the markers.
    shape: MarkerShape,
}

/// The look of every series, in their order.
fn styles(chart: &Chart) -> Vec<Style> {
    let dashed = chart.series.iter().filter(|series| series.dashed).count();
    let in_pairs = 2 * dashed == chart.series.len();
    let mut seen = [0, 0];
    let mut next = |dashed: bool| {
        let counter = &mut seen[usize::from(in_pairs && dashed)];
        let index = *counter;
        *counter += 1;
        // Beyond the palette, shape and colour run on at different lengths, so pairs stay unique.
        Style { colour: COLOURS[index % COLOURS.len()], shape: SHAPES[index % SHAPES.len()] }
    };
    chart.series.iter().map(|series| next(series.dashed)).collect()
}

impl Style {
    /// The line of the legend.
    fn legend(self, series: &Series, points: &[Point]) -> LegendEntry {
        let mut label: String = label(&series.label).chars().take(LONGEST_LABEL).collect();
        if series.label.chars().count() > LONGEST_LABEL {
            label.push('…');
        }
        if points.is_empty() {
            label.push_str(" (no data)");
        }
        let (shape, dasharray) = if series.dashed {
            // Finer than the line itself, so that the short sample shows more than one dash.
            (LegendShape::Line, Some("3 1.5".to_owned()))
        } else if points.len() > MOST_MARKERS {
            (LegendShape::Line, None)
        } else {
            (LegendShape::Marker(self.shape), None)
        };
        LegendEntry { label, color: self.colour.to_owned(), shape, dasharray }
    }

    /// Adds line, intervals and markers; nothing for a series of no points.
    fn draw(self, series: &Series, points: &[Point], y: Axis, plots: &mut Vec<Plot>) {
        if points.is_empty() {
            return;
        }
        let data = || points.iter().map(|point| (point.x, point.y));
        // An interval that reaches beyond the axis ends with it.
        let ends = |point: &Point| (point.lower.max(y.min), point.upper.min(y.max));
        let mut line =
            LinePlot::new().with_data(data()).with_color(self.colour).with_stroke_width(1.8);
        if series.dashed {
            line = line.with_dashed();
        }
        if series.lower.is_some() || series.upper.is_some() {
            line = if points.len() > MOST_MARKERS {
                line.with_band(points.iter().map(|p| ends(p).0), points.iter().map(|p| ends(p).1))
            } else {
                line.with_y_err_asymmetric(
                    points.iter().map(|p| (p.y - ends(p).0, ends(p).1 - p.y)),
                )
            };
        }
        plots.push(Plot::Line(line));
        // Markers on every point of a dense curve would hide it.
        if points.len() <= MOST_MARKERS {
            let size = if series.dashed { 3.0 } else { 4.5 };
            let markers = ScatterPlot::new().with_data(data()).with_color(self.colour);
            plots.push(Plot::Scatter(markers.with_size(size).with_marker(self.shape)));
        }
    }
}

/// Dark on white, with a light grid.
fn theme() -> Theme {
    let ink = || INK.to_owned();
    Theme {
        axis_color: ink(),
        tick_color: ink(),
        text_color: ink(),
        grid_color: GRID.to_owned(),
        ..Theme::light()
    }
}

/// A label as kuva shows it unchanged: dollar signs would begin a formula there, and XML has no
/// way to write a control character.
fn label(text: &str) -> String {
    text.replace(is_obeyed, " ").replace('$', "\\$")
}
