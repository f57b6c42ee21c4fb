//! A [`Chart`] as SVG, drawn by kuva; markers and the legend are our own.

use anyk::framework::{Chart, Series};
use kuva::plot::line::LineStyle;
use kuva::prelude::{Layout, LinePlot, Plot, ScatterPlot, SvgBackend, Theme, render_multiple};
use kuva::render::color::Color;
use kuva::render::render::Primitive;

use super::axis::{Axis, shows};
use super::html::escape;
use super::marker::{add_legend, marker};
use super::style::{GRID, INK, Style, dark_rules, styles};
use super::typeset::{Medium, typeset};
use crate::printable::is_obeyed;

/// What a picture is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A file of its own, which brings its colours for a dark screen along.
    Alone,
    /// A page, whose style sheet has them.
    Page,
    /// The same on a phone: as wide as one, with text of the same size.
    Phone,
}

impl Form {
    /// Width and height in pixels, without the legend.
    fn size(self) -> (f64, f64) {
        match self {
            Self::Alone | Self::Page => (720.0, 380.0),
            Self::Phone => (328.0, 300.0),
        }
    }

    /// Characters of a line of the title.
    fn title_wrap(self) -> usize {
        if self == Self::Phone { 32 } else { 70 }
    }
}

/// Added on the right.
const OVERHANG: f64 = 12.0;
/// More points than this are a curve with a marker here and there, and their intervals are drawn as a band; up to here
/// they are measurements with error bars, which stay readable where several series cross.
const MOST_MARKERS: usize = 16;
/// Markers on a curve of more points.
const FEW_MARKERS: usize = 6;

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
pub(super) fn svg(chart: &Chart, form: Form) -> String {
    let series: Vec<Vec<Point>> = chart.series.iter().map(|series| points(chart, series)).collect();
    let all = || series.iter().flatten();
    let x = Axis::around(all().map(|point| point.x), chart.log_x);
    let y = Axis::around(all().flat_map(|point| [point.y, point.lower, point.upper]), chart.log_y);
    let styles = styles(chart);

    let mut plots = Vec::new();
    for (index, (points, style)) in series.iter().zip(&styles).enumerate() {
        draw((index, &chart.series[index]), points, *style, y, &mut plots);
    }
    let empty = plots.is_empty();
    if empty {
        // Without anything to draw there would be no axes either.
        plots.push(Plot::Line(LinePlot::new()));
    }
    let (width, height) = form.size();
    let mut layout = Layout::new((x.min, x.max), (y.min, y.max))
        .with_x_axis_min(x.min)
        .with_x_axis_max(x.max)
        .with_y_axis_min(y.min)
        .with_y_axis_max(y.max)
        .with_x_tick_format(x.tick_format(form == Form::Phone))
        .with_y_tick_format(y.tick_format(false))
        .with_title(label(&chart.title))
        .with_title_wrap(form.title_wrap())
        .with_title_size(if form == Form::Phone { 14 } else { 15 })
        .with_label_size(13)
        .with_tick_size(12)
        .with_x_label(label(&chart.x_label))
        .with_y_label(label(&chart.y_label))
        .with_y_label_wrap(40)
        .with_theme(theme())
        .with_width(width)
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
    scene.elements = with_markers(scene.elements, &styles);
    // Half of the last label of the x axis stands beyond it.
    scene.width += OVERHANG;
    let drawn: Vec<bool> = series.iter().map(|points| !points.is_empty()).collect();
    add_legend(
        &mut scene,
        &chart.series,
        &styles,
        &drawn,
        if form == Form::Phone { 8.0 } else { 60.0 },
    );
    let (width, height) = (scene.width, scene.height);
    let text = SvgBackend::new().with_pretty(true).render_scene(&scene);
    // With a view box the picture scales; the label is for those who listen to the page.
    let head = format!(
        r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}" "#,
        escape(&chart.title)
    );
    let text = with_symbols(&text.replacen("<svg ", &head, 1));
    if form == Form::Alone { with_dark_colours(&text) } else { text }
}

/// Puts our markers in the place of the circles that stand for them.
fn with_markers(elements: Vec<Primitive>, styles: &[Style]) -> Vec<Primitive> {
    let mut all = Vec::with_capacity(elements.len());
    for element in elements {
        match element {
            Primitive::CircleBatch { cx, cy, fill: Color::Rgb(PLACE, high, low), .. } => {
                let index = usize::from(u16::from_be_bytes([high, low]));
                let Some(style) = styles.get(index) else { continue };
                all.extend(cx.into_iter().zip(cy).map(|point| marker(*style, point)));
            }
            element => all.push(element),
        }
    }
    all
}

/// A red that no colour of ours has: of circles whose green and blue are the place of their series.
const PLACE: u8 = 1;

/// Typesets the text of every label.
fn with_symbols(svg: &str) -> String {
    let mut shown = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, text)) = rest.split_once("<text ") {
        let (Some((tag, _)), Some((inside, after))) =
            (text.split_once('>'), text.split_once("</text>"))
        else {
            break;
        };
        let content = &inside[tag.len() + 1..];
        shown.push_str(before);
        shown.push_str("<text ");
        shown.push_str(tag);
        shown.push('>');
        shown.push_str(&typeset(content, Medium::Svg));
        shown.push_str("</text>");
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Puts the colours for a dark screen into a picture.
fn with_dark_colours(svg: &str) -> String {
    let Some((tag, rest)) = svg.split_once('>') else { return svg.to_owned() };
    let rules = dark_rules("svg");
    format!("{tag}>\n<style>\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n</style>{rest}")
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

/// Adds line, intervals and places of markers; nothing for a series of no points.
fn draw(
    (index, series): (usize, &Series),
    points: &[Point],
    style: Style,
    y: Axis,
    plots: &mut Vec<Plot>,
) {
    if points.is_empty() {
        return;
    }
    // An interval that reaches beyond the axis ends with it.
    let ends = |point: &Point| (point.lower.max(y.min), point.upper.min(y.max));
    let is_dense = points.len() > MOST_MARKERS && !series.marks;
    if let Some(dash) = style.dash {
        let mut line = LinePlot::new()
            .with_data(points.iter().map(|point| (point.x, point.y)))
            .with_color(style.colour)
            .with_stroke_width(1.8);
        if let Some(array) = dash.array() {
            line = line.with_line_style(LineStyle::Custom(array.to_owned()));
        }
        if series.lower.is_some() || series.upper.is_some() {
            line = if is_dense {
                line.with_band(points.iter().map(|p| ends(p).0), points.iter().map(|p| ends(p).1))
            } else {
                line.with_y_err_asymmetric(
                    points.iter().map(|p| (p.y - ends(p).0, ends(p).1 - p.y)),
                )
            };
        }
        plots.push(Plot::Line(line));
    }
    // Markers on every point of a dense curve would hide it; those of several curves stand at different places.
    let every = if is_dense { points.len() / FEW_MARKERS } else { 1 };
    let marked = points.iter().skip(index % every).step_by(every).map(|point| (point.x, point.y));
    if let Ok(place) = u16::try_from(index) {
        let [high, low] = place.to_be_bytes();
        let place = format!("#{PLACE:02x}{high:02x}{low:02x}");
        plots.push(Plot::Scatter(ScatterPlot::new().with_data(marked).with_color(place)));
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
pub(super) fn label(text: &str) -> String {
    text.replace(is_obeyed, " ").replace('$', "\\$")
}
