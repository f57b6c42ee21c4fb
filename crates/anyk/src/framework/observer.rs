//! Who watches long work: told how far it is, asked whether it is to go on.

/// Watches long work, from any thread.
pub trait Observer: Send + Sync {
    /// Work of so many equal parts begins, and whatever was begun before has ended. `what` names it with the
    /// unit of its parts: "training, steps".
    fn begin(&self, _what: &str, _parts: u64) {}

    /// So many parts are done.
    fn done(&self, _parts: u64) {}

    /// All work has ended, whether or not every part is done.
    fn end(&self) {}

    /// Something that a person should know: a restart, a run that is finished already.
    fn tell(&self, _message: &str) {}

    /// Whether to stop as soon as nothing is lost by it.
    fn stop(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Passes on the wish to stop and nothing else: for one of many works that run side by side, whose progress is
/// counted as a whole.
pub struct Quietly<'a>(pub &'a dyn Observer);

impl Observer for Quietly<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}

/// Passes on the parts done as well, but not where work begins and ends: for one of many works of equal parts
/// that run side by side and are begun as one.
pub struct Counted<'a>(pub &'a dyn Observer);

impl Observer for Counted<'_> {
    fn done(&self, parts: u64) {
        self.0.done(parts);
    }

    fn tell(&self, message: &str) {
        self.0.tell(message);
    }

    fn stop(&self) -> bool {
        self.0.stop()
    }
}
