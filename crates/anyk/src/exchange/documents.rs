//! Reader of consecutive JSON documents in a text.

use serde::de::IgnoredAny;
use serde_json::Deserializer;
use serde_json::de::StrRead;

use crate::exchange::{Input, InputError};

/// Calls `read` for every document of a text. A parser that stores nothing finds the end of each document first.
/// `read` may therefore stop anywhere, with an error of its own or of the JSON parser.
pub(crate) fn each_document<'t>(
    (text, input, format): (&'t str, Input<'_>, &str),
    mut read: impl FnMut(&mut Deserializer<StrRead<'t>>) -> Result<(), Refused>,
) -> Result<(), InputError> {
    let place = |before| (before, input.lines);
    let mut documents = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    loop {
        let start = documents.byte_offset();
        // Read the first document before its end is known. Most texts contain a single document, which is then
        // parsed only once.
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

/// Reason why a document was rejected.
pub(crate) enum Refused {
    /// Invalid JSON, or JSON of another form.
    Json(serde_json::Error),
    /// Invalid content.
    Input(InputError),
}
