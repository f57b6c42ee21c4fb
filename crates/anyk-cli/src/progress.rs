//! Progress on standard error: a bar with the remaining time on a terminal, plain lines otherwise. Work that takes less
//! than two seconds prints nothing.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyk::framework::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::INTERRUPTED;
use crate::output;

const QUIET: Duration = Duration::from_secs(2);
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Number of calls after which the clock is read again. Parts may take microseconds, so reading it every time would be
/// slow.
const CALLS_BETWEEN_LOOKS: u64 = 16;

/// Request to stop. The first Ctrl-C sets it if the work can be interrupted; the second ends the program.
static STOP: AtomicBool = AtomicBool::new(false);
static LISTENS: AtomicBool = AtomicBool::new(false);

/// Observer that shows the progress of the library's work.
#[derive(Default)]
pub(crate) struct Watcher {
    work: Mutex<Option<Work>>,
    done: AtomicU64,
    calls: AtomicU64,
}

/// Work in progress.
struct Work {
    what: String,
    parts: u64,
    started: Instant,
    /// Time of the last line that was printed.
    last_line: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Watcher {
    /// Returns an observer that requests a stop on Ctrl-C, so that the work can save its state first.
    pub(crate) fn interruptible() -> Self {
        LISTENS.store(true, Ordering::Relaxed);
        // An error means that a handler exists already; it does the same.
        let _ = ctrlc::set_handler(|| {
            let again = STOP.swap(true, Ordering::Relaxed);
            if again || !LISTENS.load(Ordering::Relaxed) {
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
        Self::default()
    }

    fn look(&self, done: u64) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(work) = work.as_mut() else { return };
        let elapsed = work.started.elapsed();
        if elapsed < QUIET {
            return;
        }
        if let Some(bar) = &work.bar {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(done);
            return;
        }
        if work.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            work.last_line = Some(Instant::now());
            let left = (work.parts - done.min(work.parts)) as f64 / done.max(1) as f64;
            let left = HumanDuration(elapsed.mul_f64(left));
            output::note(&format!("{}: {done}/{}, {left} left", work.what, work.parts));
        }
    }
}

impl Observer for Watcher {
    fn begin(&self, what: &str, parts: u64) {
        self.end();
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(parts), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len}, {eta} left");
            bar.with_message(what.to_owned())
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        self.done.store(0, Ordering::Relaxed);
        self.calls.store(0, Ordering::Relaxed);
        let (what, started) = (what.to_owned(), Instant::now());
        let work = Work { what, parts, started, last_line: None, bar };
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }

    fn done(&self, parts: u64) {
        let done = self.done.fetch_add(parts, Ordering::Relaxed) + parts;
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        // The first calls always read the clock: work with few parts may take minutes for each.
        if calls < CALLS_BETWEEN_LOOKS || calls.is_multiple_of(CALLS_BETWEEN_LOOKS) {
            self.look(done);
        }
    }

    fn end(&self) {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bar) = work.and_then(|work| work.bar) {
            bar.finish_and_clear();
        }
    }

    fn tell(&self, message: &str) {
        output::note(message);
    }

    fn stop(&self) -> bool {
        STOP.load(Ordering::Relaxed)
    }
}
