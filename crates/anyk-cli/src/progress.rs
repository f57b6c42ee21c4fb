//! Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere, and
//! nothing at all for work that is done within two seconds.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

const QUIET: Duration = Duration::from_secs(2);
const LINE_EVERY_SECONDS: u64 = 10;

/// Counts steps of known number, from any thread.
pub(crate) struct Progress {
    what: &'static str,
    total: u64,
    done: AtomicU64,
    started: Instant,
    /// Second (since the start) of the last plain line.
    last_line: AtomicU64,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len}, {eta} left");
            bar.with_message(what)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let (done, last_line) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { what, total, done, started: Instant::now(), last_line, bar }
    }

    /// Steps that an earlier run has done.
    pub(crate) fn skip(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
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
            let left = elapsed.mul_f64((self.total - done.min(self.total)) as f64 / done as f64);
            eprintln!("{}: {done}/{}, {} left", self.what, self.total, HumanDuration(left));
        }
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
