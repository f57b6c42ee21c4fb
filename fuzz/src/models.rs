//! Target that reads and runs models with a valid checksum.

use anyk::Model;
use anyk::exchange::Input;
use anyk::problems::{allocating, read_model};

use crate::{answers, sealed};

const CELLS: &[u8] = b"{\"users\":[{\"id\":\"a\",\"distance_m\":60}]}\n\
    {\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":90},{\"id\":\"c\",\"distance_m\":240}]}";
/// Instance with two users; [`LINKS`] has three links.
pub(crate) const USERS: &[u8] =
    b"{\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":90}]}";
pub(crate) const LINKS: &[u8] = b"[[1,0.1,0.2],[0.2,0.9,0.01],[0,0.3,2]]";

/// Reads the input as a model. If the input is in opened form, this seals it first.
pub(crate) fn model(bytes: &[u8]) {
    let file = sealed(bytes).unwrap_or_else(|| bytes.to_vec());
    let model = match read_model(&file) {
        Ok(model) => model,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = model.bytes().unwrap();
    let again = read_model(&written).expect("what a model writes can be read");
    let stays = again.bytes().unwrap() == written;
    assert!(stays, "a model changes when it is written and read");
    assert!(!model.describe().is_empty());
    let cells = answer(model.as_ref(), CELLS);
    let links = answer(model.as_ref(), LINKS);
    assert!(!(cells && links), "users and links are not the same");
}

/// Runs a model on an input; returns whether it gave an answer.
fn answer(model: &dyn Model, bytes: &[u8]) -> bool {
    let about = model.about();
    let mut answering = allocating(model, &answers::options(about)).unwrap();
    match answering.answer_all(Input::new(bytes, "cells")) {
        Ok(found) => {
            found.iter().for_each(|answer| answers::check(about, answer, bytes, true));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
