//! Markers of curves, and the legend that names them.

use anyk::framework::Series;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::style::{HOLLOW, INK, Shape, Style};

/// Half of a marker's width.
const SIZE: f64 = 4.5;
/// Size of the legend's text, and the width of a letter of it, on average.
const TEXT: u32 = 12;
const LETTER: f64 = 6.4;
/// Height of a line of the legend, and the width of a sample with the blank after it.
const LINE: f64 = 18.0;
const SAMPLE: f64 = 40.0;
/// A label of more characters than this is cut.
const LONGEST_LABEL: usize = 80;

/// A marker around a point.
pub(super) fn marker(style: Style, (x, y): (f64, f64)) -> Primitive {
    let size = if style.hollow { SIZE - 0.5 } else { SIZE };
    let corners = |corners: &[(f64, f64)]| -> String {
        let mut path = String::new();
        for (place, (dx, dy)) in corners.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            path.push_str(&format!("{letter}{:.2},{:.2} ", x + size * dx, y + size * dy));
        }
        path + "Z"
    };
    let d = match style.shape {
        // Two half circles: a path, like all others, so that all are filled and drawn alike.
        Shape::Circle => format!(
            "M{:.2},{y:.2} a{size},{size} 0 1 0 {width},0 a{size},{size} 0 1 0 -{width},0 Z",
            x - size,
            width = 2.0 * size,
        ),
        Shape::Square => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Shape::Triangle => corners(&[(0.0, -1.15), (1.05, 0.75), (-1.05, 0.75)]),
        Shape::TriangleDown => corners(&[(0.0, 1.15), (1.05, -0.75), (-1.05, -0.75)]),
        Shape::Diamond => corners(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        Shape::Star => {
            let point = |place: u8| {
                let angle = std::f64::consts::PI * (f64::from(place) / 5.0 - 0.5);
                let radius = if place.is_multiple_of(2) { 1.4 } else { 0.6 };
                (radius * angle.cos(), radius * angle.sin())
            };
            corners(&std::array::from_fn::<_, 10, _>(|place| {
                point(u8::try_from(place).unwrap_or(0))
            }))
        }
        Shape::Cross => {
            let arm = 1.3 * size;
            format!(
                "M{:.2},{:.2} L{:.2},{:.2} M{:.2},{:.2} L{:.2},{:.2}",
                x - arm,
                y - arm,
                x + arm,
                y + arm,
                x - arm,
                y + arm,
                x + arm,
                y - arm,
            )
        }
    };
    let fill = match style.shape {
        Shape::Cross => Color::None,
        _ if style.hollow => Color::from(HOLLOW),
        _ => Color::from(style.colour),
    };
    let stroke_width = if style.hollow || style.shape == Shape::Cross { 1.6 } else { 0.5 };
    Primitive::Path(Box::new(PathData {
        d,
        fill: Some(fill),
        stroke: Color::from(style.colour),
        stroke_width,
        opacity: None,
        stroke_dasharray: None,
    }))
}

/// Adds the legend below a picture: a sample of each line with its marker, and its name.
pub(super) fn add_legend(
    scene: &mut Scene,
    series: &[Series],
    styles: &[Style],
    drawn: &[bool],
    left: f64,
) {
    let labels: Vec<String> = series
        .iter()
        .zip(drawn)
        .map(|(series, drawn)| {
            let mut label: String = series.label.chars().take(LONGEST_LABEL).collect();
            if series.label.chars().count() > LONGEST_LABEL {
                label.push('…');
            }
            label.push_str(if *drawn { "" } else { " (no data)" });
            label
        })
        .collect();
    let width = scene.width - left;
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let columns = if 2.0 * (SAMPLE + LETTER * longest as f64) <= width { 2 } else { 1 };
    // As many letters as one column has room for; the rest of a name goes on the next line.
    let most = ((width / columns as f64 - SAMPLE) / LETTER).max(8.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let most = most as usize;
    let (mut y, mut lowest) = (scene.height + 0.5 * LINE, scene.height);
    for (place, ((label, style), series)) in labels.iter().zip(styles).zip(series).enumerate() {
        let column = if columns == 2 { place % 2 } else { 0 };
        let x = left + column as f64 * width / 2.0;
        if let Some(dash) = style.dash {
            scene.add(Primitive::Line {
                x1: x,
                y1: y,
                x2: x + 30.0,
                y2: y,
                stroke: Color::from(style.colour),
                stroke_width: 1.8,
                stroke_dasharray: dash.array().map(str::to_owned),
            });
        }
        if !series.points.is_empty() {
            scene.add(marker(*style, (x + 15.0, y)));
        }
        let lines = wrapped(label, most);
        for (line, content) in lines.iter().enumerate() {
            scene.add(Primitive::Text {
                x: x + SAMPLE - 4.0,
                y: y + 4.0 + LINE * 0.8 * line as f64,
                content: super::chart::label(content),
                size: TEXT,
                anchor: TextAnchor::Start,
                rotate: None,
                bold: false,
                color: Some(Color::from(INK)),
            });
        }
        lowest = lowest.max(y + LINE * 0.8 * (lines.len() as f64 - 1.0) + 0.5 * LINE);
        if column + 1 == columns {
            y = lowest + 0.5 * LINE;
        }
    }
    scene.height = lowest + 0.4 * LINE;
}

/// Lines of at most so many characters, cut at blanks where there are some.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let length = lines[last].chars().count();
        if length > 0 && length + 1 + word.chars().count() > most {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_go_on_below() {
        assert_eq!(
            wrapped("sum, classifier, FPLinQ labels", 18),
            ["sum, classifier,", "FPLinQ labels"]
        );
        assert_eq!(wrapped("P-GNN", 18), ["P-GNN"]);
        assert_eq!(wrapped("", 18), [""]);
        assert_eq!(wrapped("unbreakable-and-long", 8), ["unbreakable-and-long"]);
    }
}
