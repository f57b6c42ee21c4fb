//! The range of an axis and the labels of its ticks.

use std::sync::Arc;

use kuva::prelude::TickFormat;

/// Numbers beyond this are no measurements; with them, the ticks of a log axis would run together.
const LARGEST: f64 = 1e15;

/// The plotting library's log ticks start here.
const SMALLEST_ON_LOG: f64 = 1e-10;

/// What an axis shows: a range whose ends are round numbers, and how it is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    /// The left or lower end.
    pub min: f64,
    /// The right or upper end.
    pub max: f64,
    /// Whether the axis is logarithmic.
    pub log: bool,
}

/// Whether an axis has a place for this value.
pub(super) fn shows(value: f64, log: bool) -> bool {
    // A comparison with NaN is false.
    value.abs() <= LARGEST && (!log || value >= SMALLEST_ON_LOG)
}

impl Axis {
    /// The axis that holds all values it can show; without any it still has a range.
    pub(super) fn around(values: impl IntoIterator<Item = f64>, log: bool) -> Self {
        let (min, max) = values
            .into_iter()
            .filter(|&value| shows(value, log))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
                (min.min(value), max.max(value))
            });
        match (min > max, log) {
            (true, false) => Self { min: 0.0, max: 1.0, log },
            (true, true) => Self { min: 1.0, max: 10.0, log },
            (false, false) => Self::linear(min, max),
            (false, true) => Self::logarithmic(min, max),
        }
    }

    /// A linear axis from one multiple of its step to another.
    fn linear(mut min: f64, mut max: f64) -> Self {
        // Equal up to rounding: no step between the ticks would differ from nothing.
        let magnitude = min.abs().max(max.abs());
        if max - min <= 1e-12 * magnitude {
            let margin = if magnitude > 0.0 { 0.1 * magnitude } else { 1.0 };
            (min, max) = (min - margin, max + margin);
        }
        // Zero is worth its room when the values fill at least half of what lies above it.
        if min >= 0.0 && min <= 0.5 * max {
            min = 0.0;
        }
        let step = round_up((max - min) / 6.0);
        Self { min: (min / step).floor() * step, max: (max / step).ceil() * step, log: false }
    }

    /// A logarithmic axis from one of 1, 2, 5, 10, … to another.
    fn logarithmic(min: f64, max: f64) -> Self {
        let (mut low, mut high) = (round_down(min), round_up(max));
        // Equal values: a tick on either side puts them in the middle.
        if high <= low * (1.0 + 1e-9) {
            (low, high) = (round_down(0.9 * low), round_up(1.1 * high));
        }
        Self { min: low.max(SMALLEST_ON_LOG), max: high, log: true }
    }

    /// The labels of the ticks: short, and without the dust of binary fractions. Where there is little room, a
    /// logarithmic axis of more than a decade has labels at powers of ten alone.
    pub(super) fn tick_format(self, sparse: bool) -> TickFormat {
        // On a linear axis a tick this close to zero is zero.
        let dust = if self.log { 0.0 } else { 1e-9 * (self.max - self.min) };
        let decades = sparse && self.log && self.max > 15.0 * self.min;
        TickFormat::Custom(Arc::new(move |value| {
            let power = 10f64.powf(value.log10().round());
            if decades && (value / power - 1.0).abs() > 1e-6 {
                return String::new();
            }
            number(if value.abs() <= dust { 0.0 } else { value })
        }))
    }
}

/// The largest of …, 1, 2, 5, 10, … that is not above a positive value.
fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    // A value that is round up to rounding errors stays.
    let mantissa = value / decade * (1.0 + 1e-9);
    decade * [5.0, 2.0].into_iter().find(|&digit| digit <= mantissa).unwrap_or(1.0)
}

/// The smallest of …, 1, 2, 5, 10, … that is not below a positive value.
fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let mantissa = value / decade * (1.0 - 1e-9);
    decade * [1.0, 2.0, 5.0].into_iter().find(|&digit| digit >= mantissa).unwrap_or(10.0)
}

/// A tick's label: ten significant digits at most, and powers of ten where zeros would be counted.
fn number(value: f64) -> String {
    let rounded = format!("{value:.9e}").parse::<f64>().unwrap_or(value);
    if rounded.abs() <= 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&rounded.abs()) {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, number, round_down, round_up};

    #[test]
    fn ends_are_round() {
        assert_eq!(Axis::around([1.0, 200.0], true), Axis { min: 1.0, max: 200.0, log: true });
        assert_eq!(Axis::around([3.0, 44.0], true), Axis { min: 2.0, max: 50.0, log: true });
        assert_eq!(Axis::around([0.3, 5.9], false), Axis { min: 0.0, max: 6.0, log: false });
        assert_eq!(Axis::around([97.0, 100.0], false), Axis { min: 97.0, max: 100.0, log: false });
    }

    #[test]
    fn every_range_has_a_width() {
        let hostile = [0.0, -1.0, 7.0, 1e-320, 1e-10, 1e300, 1e308, f64::NAN, f64::INFINITY];
        for log in [false, true] {
            for a in hostile {
                for b in hostile {
                    let axis = Axis::around([a, b], log);
                    assert!(axis.min < axis.max && axis.max.is_finite(), "{a} {b} {axis:?}");
                    assert!(!log || axis.min > 0.0);
                }
            }
        }
    }

    #[test]
    fn rounding_keeps_round_numbers() {
        for value in [0.001, 0.2, 0.5, 1.0, 2.0, 5.0, 1e3, 2e7] {
            assert!((round_down(value) / value - 1.0).abs() < 1e-9);
            assert!((round_up(value) / value - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.1 + 0.2, 0.0, -2.5, 10_000.0, 2e6, 5e-4, 0.999_999_9].map(number);
        assert_eq!(labels, ["0.3", "0", "-2.5", "10000", "2e6", "5e-4", "0.9999999"]);
    }
}
