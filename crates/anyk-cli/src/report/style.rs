//! How curves are told apart, up to twelve of them: by colour and dashes together, and without colours by the markers
//! and dashes.

use std::fmt::Write as _;

use anyk::framework::Chart;

/// Text and axes. Style sheets look for this colour, to turn it light on a dark screen.
pub(super) const INK: &str = "#24292f";
/// Grid lines; known to style sheets as well.
pub(super) const GRID: &str = "#e4e7eb";
/// The inside of hollow markers: the ground. Not the white of the ground itself, which stands for more than that.
pub(super) const HOLLOW: &str = "#fefefe";

/// The same on a dark screen.
pub(super) const DARK_INK: &str = "#e6e9ed";
pub(super) const DARK_GRID: &str = "#343b44";
pub(super) const DARK_GROUND: &str = "#14181d";

/// Colours on a light and on a dark ground. They were chosen by search over OKLCH: of all hues in these six sectors,
/// those whose nearest pair is farthest apart to all readers, the colour-blind included, with a contrast of at least
/// 3 : 1. The tests say how far that is.
pub(super) const HUES: [(&str, &str); 6] = [
    ("#3414a1", "#635ce5"),
    ("#c18434", "#ea9602"),
    ("#197037", "#8cfa74"),
    ("#c63288", "#f3cafc"),
    ("#419bd4", "#06b7bf"),
    ("#6d172e", "#cd2859"),
];

/// The dashes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    /// What a paper or a formula says.
    Dashed,
    /// Dashes and dots.
    Alternating,
    Dotted,
}

impl Dash {
    /// As SVG writes it.
    pub(super) fn array(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some("7 4"),
            Self::Alternating => Some("9 3 2 3"),
            Self::Dotted => Some("2 3"),
        }
    }
}

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Star,
    /// For marks on the points of curves.
    Cross,
}

const SHAPES: [Shape; 6] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::TriangleDown,
    Shape::Star,
];

/// The look of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// The colour of line and markers.
    pub colour: &'static str,
    /// The line; marks have none.
    pub dash: Option<Dash>,
    /// The marker.
    pub shape: Shape,
    /// Whether the marker is an outline.
    pub hollow: bool,
}

impl Style {
    /// The look of the n-th curve, or of the n-th of a pair.
    fn of_curve(index: usize, dashed: bool, in_pairs: bool) -> Self {
        let count = HUES.len();
        // Beyond one round of colours lines have another pattern and markers are hollow; beyond two, shapes move on. Of a
        // pair, the dashed one is hollow: single points have no line to tell them by.
        let second = (index / count) % 2 == 1;
        let moved = if in_pairs { index / count } else { index / (2 * count) };
        let dash = match (dashed, second) {
            (false, false) => Dash::Solid,
            (false, true) => Dash::Alternating,
            (true, false) => Dash::Dashed,
            (true, true) => Dash::Dotted,
        };
        Self {
            colour: HUES[index % count].0,
            dash: Some(dash),
            shape: SHAPES[(index + moved) % SHAPES.len()],
            hollow: if in_pairs { dashed } else { second },
        }
    }

    /// The look of marks.
    const MARKS: Self = Self { colour: INK, dash: None, shape: Shape::Cross, hollow: false };
}

/// The look of every series, in their order.
pub(super) fn styles(chart: &Chart) -> Vec<Style> {
    let curves = || chart.series.iter().filter(|series| !series.marks);
    let in_pairs = 2 * curves().filter(|series| series.dashed).count() == curves().count();
    let mut seen = [0, 0];
    let look = |series: &anyk::framework::Series| {
        if series.marks {
            return Style::MARKS;
        }
        let counter = &mut seen[usize::from(in_pairs && series.dashed)];
        *counter += 1;
        Style::of_curve(*counter - 1, series.dashed, in_pairs)
    };
    chart.series.iter().map(look).collect()
}

/// The rules that turn a picture dark, each for a selector that is put before it.
pub(super) fn dark_rules(selector: &str) -> String {
    let mut rules = format!(
        "{selector}, {selector} text {{ fill: {DARK_INK}; }}\n\
         {selector} rect[width=\"100%\"], {selector} [fill=\"{HOLLOW}\"] {{ fill: {DARK_GROUND}; }}\n\
         {selector} [stroke=\"{INK}\"] {{ stroke: {DARK_INK}; }}\n\
         {selector} [stroke=\"{GRID}\"] {{ stroke: {DARK_GRID}; }}\n"
    );
    for (light, dark) in HUES {
        let _ = writeln!(rules, "{selector} [stroke=\"{light}\"] {{ stroke: {dark}; }}");
        let _ = writeln!(rules, "{selector} [fill=\"{light}\"] {{ fill: {dark}; }}");
    }
    rules
}

#[cfg(test)]
mod tests {
    use anyk::framework::Series;

    use super::*;

    fn chart(solid: usize, dashed: usize) -> Chart {
        let series = (0..solid).map(|_| Series::solid("", vec![]));
        let series = series.chain((0..dashed).map(|_| Series::dashed("", vec![])));
        Chart { series: series.collect(), ..Chart::default() }
    }

    #[test]
    fn twelve_curves_differ_whatever_is_lost() {
        for (solid, dashed) in [(12, 0), (8, 4), (7, 4), (6, 6), (0, 12), (1, 11), (4, 4)] {
            let all = styles(&chart(solid, dashed));
            for (place, one) in all.iter().enumerate() {
                for other in &all[..place] {
                    assert_ne!(one, other, "{solid} {dashed}");
                    // In print without colours, and on curves too dense for markers.
                    let without_colour = |style: &Style| (style.dash, style.shape, style.hollow);
                    assert_ne!(without_colour(one), without_colour(other), "{solid} {dashed}");
                    assert_ne!((one.colour, one.dash), (other.colour, other.dash));
                    // Single points, which have no line.
                    let point = |style: &Style| (style.shape, style.hollow);
                    assert_ne!(point(one), point(other), "{solid} {dashed}");
                }
            }
        }
        // A paper's curve looks like ours, but for the dashes and the outline.
        let pairs = styles(&chart(5, 5));
        for (own, paper) in pairs[..5].iter().zip(&pairs[5..]) {
            assert_eq!((own.colour, own.shape), (paper.colour, paper.shape));
            assert_eq!((own.dash, paper.dash), (Some(Dash::Solid), Some(Dash::Dashed)));
            assert_eq!((own.hollow, paper.hollow), (false, true));
        }
        // Marks are no curve, and take no colour away.
        let mut marked = chart(2, 2);
        marked.series.insert(0, Series::marks("", vec![]));
        assert_eq!(styles(&marked)[1..], styles(&chart(2, 2)));
        assert_eq!(styles(&marked)[0], Style::MARKS);
    }

    type Colour = [f64; 3];

    /// Linear light of a colour.
    fn linear(hex: &str) -> Colour {
        [1, 3, 5].map(|place| {
            let value = f64::from(u8::from_str_radix(&hex[place..place + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(matrix: [Colour; 3], [a, b, c]: Colour) -> Colour {
        matrix.map(|row| row[0] * a + row[1] * b + row[2] * c)
    }

    /// Björn Ottosson's OKLab, in which equal distances look equally large.
    fn oklab(linear: Colour) -> Colour {
        let cones = times(
            [
                [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
            ],
            linear,
        );
        times(
            [
                [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
            ],
            cones.map(f64::cbrt),
        )
    }

    /// What readers see: all colours, then without the cones for long, middle and short waves (Machado, Oliveira and
    /// Fernandes 2009, severity 1).
    const READERS: [(&str, [Colour; 3]); 4] = [
        ("trichromacy", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    /// Twice what is just told apart side by side is about 0.04; lines that lie apart need more.
    const APART: f64 = 0.11;

    #[test]
    fn every_reader_tells_the_colours_apart_on_either_ground() {
        let luminance = |hex: &str| {
            let [red, green, blue] = linear(hex);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
            a.max(b) / a.min(b)
        };
        for (ground, colours) in
            [("#ffffff", HUES.map(|hue| hue.0)), (DARK_GROUND, HUES.map(|hue| hue.1))]
        {
            for (place, one) in colours.iter().enumerate() {
                assert!(contrast(one, ground) >= 3.0, "{one} on {ground}");
                for other in &colours[..place] {
                    for (reader, matrix) in READERS {
                        let seen = |hex: &str| {
                            oklab(times(matrix, linear(hex)).map(|light| light.clamp(0.0, 1.0)))
                        };
                        let (a, b) = (seen(one), seen(other));
                        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                        let distance = squares.sum::<f64>().sqrt();
                        assert!(distance > APART, "{one} and {other}, {reader}: {distance}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_dark_screen_has_a_rule_for_every_colour() {
        let rules = dark_rules("svg");
        let colours = HUES.iter().map(|hue| hue.0).chain([INK, GRID]);
        for colour in colours {
            assert!(rules.contains(&format!("[stroke=\"{colour}\"]")), "{colour}");
        }
        for colour in HUES.iter().map(|hue| hue.0).chain([HOLLOW]) {
            assert!(rules.contains(&format!("[fill=\"{colour}\"]")), "{colour}");
        }
    }
}
