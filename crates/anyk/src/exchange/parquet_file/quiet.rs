//! Panics that are expected: caught, and without a text on standard error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::thread;

thread_local! {
    /// Whether a panic of this thread is about to be caught by [`catch_quietly`].
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or nothing if it panics.
///
/// Whatever hook the program has set still reports all other panics, those of other threads at the same
/// time included.
pub(super) fn catch_quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    install_hook();
    let before = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    outcome.ok()
}

/// Puts a hook before the one that is there, once in the life of the process: taking it out again after each
/// call would race with other threads. A hook that another thread sets at this very moment may be lost, since the
/// standard library cannot yet exchange one in a single step; one that is set later replaces ours, and then
/// the text appears again, nothing worse.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    // A thread that panics (this may run while it drops something) must not touch the hook.
    if thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            // Without unwinding nothing is caught, and the text is the last that the user sees.
            if cfg!(panic = "abort") || !QUIET.get() {
                report(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_panics_that_are_caught_here_are_silent() {
        let reported = Arc::new(AtomicUsize::new(0));
        let (this_thread, counter) = (thread::current().id(), Arc::clone(&reported));
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // Panics of other tests are reported as before.
            if thread::current().id() == this_thread {
                counter.fetch_add(1, Ordering::Relaxed);
            } else {
                before(panic);
            }
        }));
        let panics = || {
            assert!(catch_unwind(|| panic!("reported")).is_err());
            reported.swap(0, Ordering::Relaxed)
        };
        assert_eq!(catch_quietly(|| 7), Some(7));
        assert_eq!(panics(), 1);
        assert_eq!(catch_quietly(|| -> u32 { panic!("silent") }), None);
        assert_eq!(reported.load(Ordering::Relaxed), 0);
        // One inside the other, and another thread while this one is quiet.
        let inner = || catch_quietly(|| -> u32 { panic!("silent") });
        assert_eq!(catch_quietly(|| (inner(), QUIET.get())), Some((None, true)));
        assert_eq!(catch_quietly(|| thread::spawn(|| QUIET.get()).join().unwrap()), Some(false));
        assert_eq!(panics(), 1);
    }
}
