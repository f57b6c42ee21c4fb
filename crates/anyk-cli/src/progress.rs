//! Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere, and
//! nothing at all for work that is done within two seconds.

use std::io::{self, IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyk::framework::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

const QUIET: Duration = Duration::from_secs(2);
const LINE_EVERY_SECONDS: u64 = 10;

/// A line on standard error. Who has closed it does not want to know, and that is no reason to stop.
pub(crate) fn tell(message: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Counts steps of known number, from any thread.
pub(crate) struct Progress {
    what: String,
    total: u64,
    done: AtomicU64,
    started: Instant,
    /// Second (since the start) of the last plain line.
    last_line: AtomicU64,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(what: &str, total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len}, {eta} left");
            bar.with_message(what.to_owned())
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let (done, last_line) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { what: what.to_owned(), total, done, started: Instant::now(), last_line, bar }
    }

    /// Steps that an earlier run has done.
    pub(crate) fn skip(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        self.advance(1);
    }

    /// So many more steps are done.
    fn advance(&self, steps: u64) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        let elapsed = self.started.elapsed();
        if elapsed < QUIET {
            return;
        }
        if let Some(bar) = &self.bar {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(done);
            return;
        }
        let second = elapsed.as_secs();
        let last = self.last_line.load(Ordering::Relaxed);
        let due = last == 0 || second >= last + LINE_EVERY_SECONDS;
        let mine =
            || self.last_line.compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed);
        if due && mine().is_ok() {
            let left =
                elapsed.mul_f64((self.total - done.min(self.total)) as f64 / done.max(1) as f64);
            tell(format_args!(
                "{}: {done}/{}, {} left",
                self.what,
                self.total,
                HumanDuration(left)
            ));
        }
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows the progress of the library's work.
#[derive(Default)]
pub(crate) struct Watch {
    current: RwLock<Option<Progress>>,
}

impl Watch {
    /// Ends what is under way, and begins something else or nothing.
    fn replace(&self, next: Option<Progress>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(progress) = std::mem::replace(&mut *current, next) {
            progress.finish();
        }
    }
}

impl Observer for Watch {
    fn begin(&self, what: &str, parts: u64) {
        self.replace(Some(Progress::new(what, parts)));
    }

    fn done(&self, parts: u64) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(progress) = &*current {
            progress.advance(parts);
        }
    }

    fn end(&self) {
        self.replace(None);
    }

    fn tell(&self, message: &str) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        match current.as_ref().and_then(|progress| progress.bar.as_ref()) {
            // Otherwise the line would be drawn into the bar.
            Some(bar) => bar.suspend(|| tell(message)),
            None => tell(message),
        }
    }
}
