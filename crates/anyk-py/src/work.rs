//! Runs long work in parallel and without the interpreter's lock, until the work ends or Ctrl-C stops it.
//!
//! The work runs on a separate thread. Meanwhile, the caller's thread shows progress, checks for signals, and calls the
//! user's Python functions when the work needs them. It is the only thread that calls them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyk::framework::Observer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Interval between checks for signals.
const TICK: Duration = Duration::from_millis(20);
/// Interval between progress reports.
const SHOWN: Duration = Duration::from_millis(100);
/// Maximum time for which the caller waits until stopped work has ended.
const PATIENCE: Duration = Duration::from_millis(120);

/// Thread pool for one task at a time. A task that starts another task keeps its pool, and so does a stopped task that
/// still runs. A forked process does not have the threads of its parent, so it builds its own pools.
struct Cores {
    process: u32,
    pool: Option<ThreadPool>,
}

/// Idle pools.
static IDLE: Mutex<Vec<Cores>> = Mutex::new(Vec::new());

impl Cores {
    /// Returns an idle pool of this process, or a new one.
    fn take() -> Result<Self, rayon::ThreadPoolBuildError> {
        let process = std::process::id();
        // Another thread may have held the lock when this process was forked.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| {
            // Pools of the parent process have no threads here. Dropping one would wait for them forever.
            while idle.last().is_some_and(|last| last.process != process) {
                std::mem::forget(idle.pop());
            }
            idle.pop()
        });
        if let Some(idle) = idle {
            return Ok(idle);
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Self { process, pool: Some(pool) })
    }

    fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        let pool = self.pool.take();
        if pool.is_some()
            && let Ok(mut idle) = IDLE.try_lock()
            && idle.len() < 8
        {
            idle.push(Self { process: self.process, pool });
        }
    }
}

/// Runs work in parallel and blocks this thread until it ends.
pub(crate) fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match Cores::take() {
        Ok(cores) => cores.install(work),
        Err(_) => work(),
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Call of a Python function, requested by a thread of the work and executed on the caller's thread.
type Question = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// Link between the threads of the work and the caller's thread: progress, messages, requested calls and the stop flag.
pub(crate) struct Watch {
    stop: AtomicBool,
    done: AtomicU64,
    /// Name and number of parts of the current stage.
    of: Mutex<(String, u64)>,
    /// Messages that have not been shown.
    told: Mutex<VecDeque<String>>,
    /// Channel to the caller's thread; `None` once the caller accepts no more calls.
    questions: Mutex<Option<Sender<Question>>>,
}

impl Watch {
    fn new(questions: Sender<Question>) -> Self {
        Self {
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            of: Mutex::default(),
            told: Mutex::default(),
            questions: Mutex::new(Some(questions)),
        }
    }

    /// Calls a function on the caller's thread. Returns `None` if it raised, or if the caller accepts no more calls.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        function: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = channel();
        let question: Question = Box::new(move |py| {
            let value = function(py)?;
            // An error only means that the thread that requested the call has ended.
            let _ = sender.send(value);
            Ok(())
        });
        let asked = lock(&self.questions).as_ref().is_some_and(|all| all.send(question).is_ok());
        if asked { answer.recv().ok() } else { None }
    }
}

impl Observer for Watch {
    fn begin(&self, what: &str, parts: u64) {
        *lock(&self.of) = (what.to_owned(), parts);
        self.done.store(0, Ordering::Relaxed);
    }

    fn done(&self, parts: u64) {
        self.done.fetch_add(parts, Ordering::Relaxed);
    }

    fn tell(&self, message: &str) {
        lock(&self.told).push_back(message.to_owned());
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs work in parallel. Calls `progress(what, done, all, messages)` on this thread ten times a second. The work stops
/// if `progress` raises or returns `True`.
pub(crate) fn long<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Watch>) -> T + Send + 'static,
) -> PyResult<T> {
    let (asks, mut questions) = channel();
    let watch = Arc::new(Watch::new(asks));
    let (sender, mut result) = channel();
    let seen = Arc::clone(&watch);
    let cores = Cores::take()
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?;
    let start = thread::Builder::new().name("anyk".to_owned()).spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| cores.install(|| work(&seen))));
        drop(cores);
        // Closing the channel wakes the caller.
        lock(&seen.questions).take();
        let _ = sender.send(done);
    });
    start.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
    let outcome = attend(py, &watch, progress, &mut questions, &mut result);
    if let Some(progress) = progress
        && outcome.is_ok()
    {
        report(&watch, progress)?;
    }
    match outcome? {
        Ok(value) => Ok(value),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            let text = text.unwrap_or("no message");
            Err(PyRuntimeError::new_err(format!(
                "internal error in anyk, please report it: {text}"
            )))
        }
    }
}

/// Waits on the caller's thread until the work ends. Meanwhile, executes requested calls, reports progress and checks
/// for signals.
fn attend<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    progress: Option<&Bound<'_, PyAny>>,
    questions: &mut Receiver<Question>,
    result: &mut Receiver<T>,
) -> PyResult<T> {
    let ended = || PyRuntimeError::new_err("the computation ended without a result");
    let mut shown = Instant::now();
    let mut silent = false;
    let failure = loop {
        // A requested call ends the wait. So does the end of the work, because it closes the channel.
        let question = if silent {
            Err(RecvTimeoutError::Disconnected)
        } else {
            received(py, questions, TICK)
        };
        match question {
            Ok(question) => {
                if let Err(error) = question(py) {
                    break error;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                silent = true;
                match received(py, result, TICK) {
                    Ok(value) => return Ok(value),
                    Err(RecvTimeoutError::Disconnected) => return Err(ended()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        }
        if let Err(error) = py.check_signals() {
            break error;
        }
        if let Some(progress) = progress
            && shown.elapsed() >= SHOWN
        {
            shown = Instant::now();
            match report(watch, progress) {
                Ok(false) => {}
                Ok(true) => watch.stop.store(true, Ordering::Relaxed),
                Err(error) => break error,
            }
        }
    };
    watch.stop.store(true, Ordering::Relaxed);
    lock(&watch.questions).take();
    // Discard calls that were requested in the meantime.
    while questions.try_recv().is_ok() {}
    let _ = received(py, result, PATIENCE);
    Err(failure)
}

/// Receives from a channel without holding the interpreter's lock.
fn received<T: Send>(
    py: Python<'_>,
    from: &mut Receiver<T>,
    time: Duration,
) -> Result<T, RecvTimeoutError> {
    py.detach(move || from.recv_timeout(time))
}

/// Calls `progress` and returns whether the user's function requested a stop.
fn report(watch: &Watch, progress: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (what, all) = lock(&watch.of).clone();
    let told: Vec<String> = lock(&watch.told).drain(..).collect();
    let done = watch.done.load(Ordering::Relaxed);
    progress.call1((what, done, all, told))?.is_truthy()
}
