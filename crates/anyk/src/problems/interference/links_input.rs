//! Conversion of records of networks, together with flags, into interference problems.

use crate::channel::GainMatrix;
use crate::core::Record;
use crate::exchange::read_file;
use crate::framework::{Error, OptionSpec, OptionValue, Options};
use crate::invalid::Invalid;
use crate::problems::interference::problem::GAINS;
use crate::problems::interference::{Interference, LinkField, LinkValues, read_link_values};

/// Weights, noise and maximum powers of links from flags.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkFlags {
    values: [Option<LinkValues>; LinkField::ALL.len()],
}

/// Returns the flag of a field.
const fn option(field: LinkField) -> &'static str {
    match field {
        LinkField::Weights => "weights",
        LinkField::Noise => "noise",
        LinkField::MaxPower => "p-max",
    }
}

/// Returns the options for maximum power, noise and weights of links.
pub(super) fn link_options() -> [OptionSpec; 3] {
    [
        OptionSpec::new(
            "p-max",
            OptionValue::Numbers("POWER|LIST|FILE"),
            "Maximum power P_max of each transmitter: a number, one for each link (1,2,0.5), or a file of them (CSV, \
             JSON, .npy)",
        )
        .or("1, or max_power of the input"),
        OptionSpec::new(
            "noise",
            OptionValue::Numbers("POWER|LIST|FILE"),
            "Noise power σ_0 at each receiver, in the unit and formats of P_max",
        )
        .or("1, or noise of the input"),
        OptionSpec::new(
            "weights",
            OptionValue::Numbers("WEIGHT|LIST|FILE"),
            "Weight of each link's rate in the objective, in the formats of P_max",
        )
        .or("1, or weights of the input"),
    ]
}

impl LinkFlags {
    /// Reads the flags, and the files that they name.
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let mut flags = Self::default();
        for (slot, field) in flags.values.iter_mut().zip(LinkField::ALL) {
            if let Some(text) = options.text(option(field)) {
                *slot = Some(values(field, text)?);
            }
        }
        Ok(flags)
    }

    /// Builds the network of a record, with values for its links from the record or from flags.
    pub(super) fn problem(&self, record: &Record) -> Result<Interference, Invalid> {
        let (links, place) = (record.size().users, record.place.index);
        let gains = GainMatrix::new(links, record.get(GAINS).unwrap_or_default().to_vec())?;
        let mut found = LinkField::ALL.map(|_| None);
        for ((slot, field), flagged) in found.iter_mut().zip(LinkField::ALL).zip(&self.values) {
            *slot = match (record.get(field.name()), flagged) {
                (Some(_), Some(_)) => {
                    let field = format!("the {} of links", field.name());
                    return Err(Invalid::value(field, "in the file and an option", "one of them"));
                }
                (Some(values), None) => Some(values.to_vec()),
                (None, Some(values)) => Some(values.of_network((place, None), links, field)?),
                (None, None) => None,
            };
        }
        let [weights, noise, max_power] = found;
        let ones = || vec![1.0; links];
        let (max_power, noise) = (max_power.unwrap_or_else(ones), noise.unwrap_or_else(ones));
        let problem = Interference::of_links(gains, max_power, noise)?;
        match weights {
            None => Ok(problem),
            Some(weights) => problem.with_weights(weights),
        }
    }
}

/// Parses a number or a list of numbers; any other text is the name of a file.
fn values(field: LinkField, text: &str) -> Result<LinkValues, Error> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let Some(numbers) = numbers else {
        // A malformed list, or the next flag: file names do not start with a dash.
        if text.starts_with('-') {
            return Err(Invalid::value(
                option(field).replace('-', "_"),
                text,
                "numbers, or a file of them",
            )
            .into());
        }
        let failed = |source| Error::Read { path: text.into(), source };
        let bytes = read_file(text.as_ref()).map_err(failed)?;
        return Ok(read_link_values(&bytes, text)?);
    };
    let expected = match field {
        LinkField::Weights => "numbers from 0 to 1e100, not all 0",
        LinkField::Noise | LinkField::MaxPower if numbers.len() == 1 => "a positive number",
        LinkField::Noise | LinkField::MaxPower => "positive numbers",
    };
    field
        .check(&numbers)
        .map_err(|_| Invalid::value(option(field).replace('-', "_"), text, expected))?;
    Ok(match *numbers {
        [one] => LinkValues::One(one),
        _ => LinkValues::Each(numbers),
    })
}
