//! Progress reports and cancellation of long operations.

/// Observer of long operations; its methods may be called from any thread.
pub trait Observer: Send + Sync {
    /// Reports the start of an operation of `parts` equal parts, and the end of the previous operation. `what` names
    /// the operation and the unit of its parts, such as "training, steps".
    fn begin(&self, _what: &str, _parts: u64) {}

    /// Reports that `parts` more parts are done.
    fn done(&self, _parts: u64) {}

    /// Reports the end of all operations, whether or not every part is done.
    fn end(&self) {}

    /// Passes a message to the user, such as a restart or a run that is already finished.
    fn tell(&self, _message: &str) {}

    /// Returns whether the operation should stop at the next point at which it can stop without losing results.
    fn stop(&self) -> bool {
        false
    }
}

/// Observer that ignores all reports and never stops an operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Observer that only forwards cancellation. Use it for one of several parallel operations whose progress is reported
/// as a whole.
pub struct CancelOnly<'a>(pub &'a dyn Observer);

impl Observer for CancelOnly<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}

/// Observer that forwards finished parts, messages and cancellation, but not the start and the end. Use it for one of
/// several parallel operations that are reported as one.
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
