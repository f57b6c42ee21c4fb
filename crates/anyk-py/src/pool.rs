//! Solvers and models at rest, to be used again: what they have built (tables of service classes) is kept.

use std::sync::{Arc, Mutex};

use anyk::framework::{Error, LoadedModel, Options, Responder, Room};

/// Where responders come from.
pub(crate) enum Source {
    Room(&'static dyn Room, String, Options),
    Model(Arc<dyn LoadedModel>, Options),
}

/// Responders at rest.
pub(crate) struct Pool {
    source: Source,
    idle: Mutex<Vec<Box<dyn Responder>>>,
}

/// Responders that are kept.
const MOST: usize = 64;

impl Pool {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, idle: Mutex::default() }
    }

    /// A responder. Another thread may hold the lock, or may have held it when this process was forked: then a new one
    /// is made.
    pub(crate) fn take(&self) -> Result<Box<dyn Responder>, Error> {
        let known = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        match known {
            Some(responder) => Ok(responder),
            None => self.make(),
        }
    }

    pub(crate) fn put_back(&self, responder: Box<dyn Responder>) {
        if let Ok(mut idle) = self.idle.try_lock()
            && idle.len() < MOST
        {
            idle.push(responder);
        }
    }

    fn make(&self) -> Result<Box<dyn Responder>, Error> {
        match &self.source {
            Source::Room(room, name, options) => match room.responder(name, options) {
                Some(responder) => responder,
                None => {
                    let names: Vec<&str> = room.baselines().iter().map(|known| known.0).collect();
                    Err(Error::Array(format!(
                        "method is {name}, expected one of {}",
                        names.join(", ")
                    )))
                }
            },
            Source::Model(model, options) => model.responder(options),
        }
    }
}
