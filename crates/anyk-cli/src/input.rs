//! Files and standard input, read whole and within bounds.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyk::System;
use anyk::channel::FadingLaw;
use anyk::exchange::read_fading_samples;
use anyk::problems::urllc::AnyPolicy;
use anyk::problems::urllc::Judge;
use anyk::problems::urllc::Model;

use crate::failure::Failure;

/// Larger inputs are refused before they fill the memory.
const MOST_BYTES: u64 = 1 << 30;

/// How messages name an input.
pub(crate) fn name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let fail = |error: io::Error| Failure::input(format!("{}: cannot read: {error}", name(path)));
    let mut bytes = Vec::new();
    if path == "-" {
        io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let file = File::open(path).map_err(fail)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{}: larger than 1 GiB, expected less", name(path));
        return Err(Failure::input(message));
    }
    Ok(bytes)
}

/// The fading that a model is to be judged by: a law by its name, or samples from a file.
pub(crate) fn judge(text: &str, system: &System) -> Result<Judge, Failure> {
    match text.parse::<FadingLaw>() {
        Ok(law) => Ok(Judge { name: law.to_string(), rule: system.fading_rule(&law) }),
        Err(_) if Path::new(text).exists() => {
            let samples = read_fading_samples(&read(text)?, name(text))?;
            let name = format!("{} samples", samples.as_slice().len());
            Ok(Judge { name, rule: samples.compressed_rule() })
        }
        Err(error) => Err(Failure::input(format!("--fading: {error}; and there is no such file"))),
    }
}

/// The judge of a policy of any-gnn: needed where it was learned from samples, refused where it was not.
pub(crate) fn judge_of(
    policy: &AnyPolicy,
    fading: Option<&str>,
    model: &str,
    system: &System,
) -> Result<Option<Judge>, Failure> {
    match (policy.bandwidth(), fading) {
        (None, fading) => refuse_fading(fading, model).map(|()| None),
        (Some(_), Some(text)) => judge(text, system).map(Some),
        (Some(_), None) => Err(Failure::input(format!(
            "{model}: it was learned from samples and knows no law of fading; name one to judge it by, or \
             samples held out, with --fading"
        ))),
    }
}

/// Refuses `--fading` for a model that knows its law.
pub(crate) fn refuse_fading(fading: Option<&str>, model: &str) -> Result<(), Failure> {
    match fading {
        None => Ok(()),
        Some(_) => Err(Failure::input(format!(
            "--fading: has no meaning for {model}, which was not learned from samples of fading"
        ))),
    }
}

/// A model from its file.
pub(crate) fn model(path: &str) -> Result<Model, Failure> {
    Model::from_bytes(&read(path)?)
        .map_err(|error| Failure::input(format!("{}: {error}", name(path))))
}
