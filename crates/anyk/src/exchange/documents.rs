//! JSON documents one after the other in a text, each read by its own rules.

use serde::de::IgnoredAny;
use serde_json::Deserializer;
use serde_json::de::StrRead;

use crate::exchange::{Input, InputError};

/// Calls `read` for every document of a text. Where a document ends is found first, by a parser that keeps nothing:
/// `read` may stop anywhere, and says why in its own words or leaves it to the parser's.
pub(crate) fn each_document<'t>(
    (text, input, format): (&'t str, Input<'_>, &str),
    mut read: impl FnMut(&mut Deserializer<StrRead<'t>>) -> Result<(), Refused>,
) -> Result<(), InputError> {
    let place = |before| (before, input.lines);
    let mut documents = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    loop {
        let start = documents.byte_offset();
        // The first is read before its end is looked for: mostly there is no other, and its text is gone through once.
        if start == 0 {
            let mut first = Deserializer::from_str(text);
            match read(&mut first) {
                Ok(()) if first.end().is_ok() => return Ok(()),
                Ok(()) => {}
                Err(Refused::Json(error)) => {
                    return Err(InputError::json(input.name, place(""), text, &error, format));
                }
                Err(Refused::Input(error)) => return Err(error),
            }
            let skipped = documents.next().transpose();
            skipped
                .map_err(|error| InputError::json(input.name, place(""), text, &error, format))?;
            continue;
        }
        let Some(document) = documents.next() else { return Ok(()) };
        let (before, rest) = text.split_at(start);
        match read(&mut Deserializer::from_str(rest)) {
            Ok(()) => {}
            Err(Refused::Json(error)) => {
                return Err(InputError::json(input.name, place(before), rest, &error, format));
            }
            Err(Refused::Input(error)) => return Err(error),
        }
        document.map_err(|error| InputError::json(input.name, place(""), text, &error, format))?;
    }
}

/// Why a document was refused.
pub(crate) enum Refused {
    /// It is not as JSON would have it, or not of the expected form.
    Json(serde_json::Error),
    /// Something in it is wrong.
    Input(InputError),
}
