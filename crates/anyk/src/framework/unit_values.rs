//! Values of options with a unit: `20MHz` for a flag in Hz.

use crate::units::{Dbm, Watt};

/// Unit of options: its name in help, the accepted values for messages, and the units in which a value may be given,
/// each with its conversion.
type Accepted = (&'static str, &'static str, &'static [(&'static str, Scale)]);

/// Conversion of a value to the unit of the option.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// Power of ten.
    Ten(i32),
    /// Power of ten, times 8.
    Byte(i32),
    /// Power of ten that makes watts, which are converted to dBm.
    ToDbm(i32),
    /// Conversion of dBm to watts.
    ToWatt,
}

use Scale::{Byte, Ten, ToDbm, ToWatt};

static UNITS: &[Accepted] = &[
    (
        "HZ",
        "a frequency such as 20000000, 20e6Hz or 20MHz",
        &[("Hz", Ten(0)), ("kHz", Ten(3)), ("MHz", Ten(6)), ("GHz", Ten(9))],
    ),
    (
        "GHZ",
        "a frequency such as 3.5, 3.5GHz or 3500MHz",
        &[("Hz", Ten(-9)), ("kHz", Ten(-6)), ("MHz", Ten(-3)), ("GHz", Ten(0))],
    ),
    (
        "MS",
        "a time such as 1, 1ms or 1000us",
        // The two characters for micro look the same.
        &[
            ("s", Ten(3)),
            ("ms", Ten(0)),
            ("us", Ten(-3)),
            ("\u{b5}s", Ten(-3)),
            ("\u{3bc}s", Ten(-3)),
        ],
    ),
    ("M", "a length such as 250, 250m or 0.25km", &[("m", Ten(0)), ("km", Ten(3))]),
    (
        "BITS",
        "a size such as 160, 160bit, 20B or 1.5kB",
        &[
            ("bit", Ten(0)),
            ("kbit", Ten(3)),
            ("Mbit", Ten(6)),
            ("B", Byte(0)),
            ("byte", Byte(0)),
            ("kB", Byte(3)),
            ("MB", Byte(6)),
        ],
    ),
    (
        "BIT/S",
        "a data rate such as 1000000, 1000kbit/s or 1Mbit/s",
        &[
            ("bit/s", Ten(0)),
            ("kbit/s", Ten(3)),
            ("Mbit/s", Ten(6)),
            ("Gbit/s", Ten(9)),
            ("bps", Ten(0)),
            ("kbps", Ten(3)),
            ("Mbps", Ten(6)),
            ("Gbps", Ten(9)),
        ],
    ),
    (
        "DBM",
        "a power such as 43, 43dBm, 20W or 500mW",
        &[("dBm", Ten(0)), ("W", ToDbm(0)), ("mW", ToDbm(-3))],
    ),
    (
        "W",
        "a power such as 20, 20W, 500mW or 43dBm",
        &[("W", Ten(0)), ("mW", Ten(-3)), ("dBm", ToWatt)],
    ),
    ("DB", "a number of dB such as 8 or 8dB", &[("dB", Ten(0))]),
    ("DBM/HZ", "a noise density such as -173 or -173dBm/Hz", &[("dBm/Hz", Ten(0))]),
    (
        "BIT/S/HZ",
        "a spectral efficiency such as 7.4 or 7.4bit/s/Hz",
        &[("bit/s/Hz", Ten(0)), ("bps/Hz", Ten(0))],
    ),
];

/// Converts a value with a unit to the unit of an option. Returns `None` if the text is not a number followed by a
/// unit, or if the option has no unit. Otherwise returns the value, or the accepted values as an error.
pub(super) fn convert(text: &str, unit: &str) -> Option<Result<f64, &'static str>> {
    let (_, expected, units) = UNITS.iter().find(|accepted| accepted.0 == unit)?;
    let text = text.trim();
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let (number, unit) = text.split_at(text.find(|c| !is_of_number(c))?);
    number.parse::<f64>().ok()?;
    let scale = units.iter().find(|(name, _)| *name == unit.trim_start());
    let value = scale.and_then(|(_, scale)| scale.apply(number)).filter(|value| value.is_finite());
    Some(value.ok_or(expected))
}

impl Scale {
    fn apply(self, number: &str) -> Option<f64> {
        Some(match self {
            Ten(power) => shifted(number, power)?,
            Byte(power) => 8.0 * shifted(number, power)?,
            ToDbm(power) => Dbm::from(Watt(shifted(number, power)?)).0,
            ToWatt => Watt::from(Dbm(shifted(number, 0)?)).0,
        })
    }
}

/// Multiplies a number in decimal notation by a power of ten, rounded once, so that 0.1MHz equals 1e5.
fn shifted(number: &str, power: i32) -> Option<f64> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent = exponent.parse::<i32>().ok()?.checked_add(power)?;
    format!("{digits}e{exponent}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{UNITS, convert};

    #[test]
    fn units_are_converted_exactly() {
        let value = |text: &str, unit: &str| convert(text, unit).unwrap().unwrap();
        for (text, unit, expected) in [
            ("20MHz", "HZ", 20e6),
            ("0.1 MHz", "HZ", 1e5),
            ("20e3kHz", "HZ", 20e6),
            ("3500MHz", "GHZ", 3.5),
            ("0.1s", "MS", 100.0),
            ("800us", "MS", 0.8),
            ("800µs", "MS", 0.8),
            ("0.25km", "M", 250.0),
            ("20B", "BITS", 160.0),
            ("1.5kB", "BITS", 12_000.0),
            ("1Mbit/s", "BIT/S", 1e6),
            ("-3dBm", "DBM", -3.0),
            ("1W", "DBM", 30.0),
            ("30dBm", "W", 1.0),
            ("-173dBm/Hz", "DBM/HZ", -173.0),
        ] {
            assert_eq!(value(text, unit).to_bits(), f64::to_bits(expected), "{text}");
        }
        assert!((value("20W", "DBM") - 43.0103).abs() < 1e-5);
    }

    #[test]
    fn other_units_are_rejected_and_other_texts_are_left() {
        for (text, unit) in [
            ("20MW", "HZ"),
            ("20mhz", "HZ"),
            ("0W", "DBM"),
            ("-1mW", "DBM"),
            ("1e400Hz", "HZ"),
            ("1e99999999999Hz", "HZ"),
        ] {
            assert!(matches!(convert(text, unit), Some(Err(_))), "{text}");
        }
        for text in ["20", "1e400", "abc", "", "inf", "1e", "1.2.3m"] {
            assert_eq!(convert(text, "M"), None, "{text}");
        }
        assert_eq!(convert("3 of 4", "SHARE"), None);
        // Each example in the messages is accepted.
        for (unit, expected, _) in UNITS {
            let examples = expected.split_once("such as ").unwrap().1.replace(" or ", ", ");
            for example in examples.split(", ") {
                let read = example.parse().ok().or_else(|| convert(example, unit)?.ok());
                assert!(read.is_some_and(f64::is_finite), "{example}");
            }
        }
    }
}
