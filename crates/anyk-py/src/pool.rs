//! Solvers and models at rest, to be used again: what they have built (tables of service classes) is kept.

use std::sync::{Arc, Mutex};

use anyk::framework::{Error, LoadedModel, Options, Responder, Room};
use self_cell::self_cell;

type Borrowed<'a> = Box<dyn Responder + 'a>;

self_cell!(
    /// A model with what answers by it.
    struct OfModel {
        owner: Arc<dyn LoadedModel>,
        #[not_covariant]
        dependent: Borrowed,
    }
);

/// What answers instances, of whatever it is made.
pub(crate) enum Desk {
    Solver(Box<dyn Responder>),
    Model(OfModelDesk),
}

/// Hides the cell.
pub(crate) struct OfModelDesk(OfModel);

impl Desk {
    /// Lets it answer.
    pub(crate) fn with<T>(&mut self, ask: impl FnOnce(&mut dyn Responder) -> T) -> T {
        match self {
            Self::Solver(solver) => ask(&mut **solver),
            Self::Model(model) => model.0.with_dependent_mut(|_, desk| ask(&mut **desk)),
        }
    }
}

/// Where desks come from.
pub(crate) enum Source {
    Room(&'static dyn Room, String, Options),
    Model(Arc<dyn LoadedModel>, Options),
}

/// Desks at rest.
pub(crate) struct Pool {
    source: Source,
    idle: Mutex<Vec<Desk>>,
}

/// Desks that are kept.
const MOST: usize = 64;

impl Pool {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, idle: Mutex::default() }
    }

    /// A desk, and where it goes back to. Another thread may hold the lock, or may have held it when this process was
    /// forked: then a new one is made.
    pub(crate) fn take(&self) -> Result<Desk, Error> {
        let known = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        match known {
            Some(desk) => Ok(desk),
            None => self.make(),
        }
    }

    pub(crate) fn put_back(&self, desk: Desk) {
        if let Ok(mut idle) = self.idle.try_lock()
            && idle.len() < MOST
        {
            idle.push(desk);
        }
    }

    fn make(&self) -> Result<Desk, Error> {
        match &self.source {
            Source::Room(room, name, options) => match room.responder(name, options) {
                Some(responder) => Ok(Desk::Solver(responder?)),
                None => {
                    let names: Vec<&str> = room.baselines().iter().map(|known| known.0).collect();
                    Err(Error::Array(format!(
                        "method is {name}, expected one of {}",
                        names.join(", ")
                    )))
                }
            },
            Source::Model(model, options) => {
                let made = OfModel::try_new(Arc::clone(model), |model| model.responder(options))?;
                Ok(Desk::Model(OfModelDesk(made)))
            }
        }
    }
}
