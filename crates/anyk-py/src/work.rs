//! Long work: on all cores, without the interpreter's lock, and stopped by Ctrl-C.
//!
//! The work runs on a thread of its own; the caller's thread waits for it, shows its progress, looks for signals, and
//! asks functions of the user's when the work wants them: they are called where they were given, and nowhere else.

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

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(20);
/// How often progress is shown.
const SHOWN: Duration = Duration::from_millis(100);
/// How long work that is stopped may take to end; then it is left to itself.
const PATIENCE: Duration = Duration::from_millis(120);

/// The cores of this process, for one work at a time: work that asks for more work, and work that was stopped and has
/// not ended yet, hold theirs. A fork has none of its parent's threads, and gets its own.
struct Cores {
    process: u32,
    pool: Option<ThreadPool>,
}

static IDLE: Mutex<Vec<Cores>> = Mutex::new(Vec::new());

impl Cores {
    fn take() -> Result<Self, rayon::ThreadPoolBuildError> {
        let process = std::process::id();
        // Another thread may have held the lock when this process was forked.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| {
            // The parent's threads are not there any more: nobody may wait for them.
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

/// Does work on all cores, on this thread's time.
pub(crate) fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match Cores::take() {
        Ok(cores) => cores.install(work),
        Err(_) => work(),
    }
}

/// What was locked stays usable, whatever became of a thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function of the user's, asked from a thread of the work.
type Question = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// How work is watched: from its threads by the library, from the caller's thread by Python.
pub(crate) struct Watch {
    stop: AtomicBool,
    done: AtomicU64,
    of: Mutex<(String, u64)>,
    told: Mutex<VecDeque<String>>,
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

    /// Calls a function on the thread of the caller; none where it raised, or nobody listens any more.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        function: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = channel();
        let question: Question = Box::new(move |py| {
            let value = function(py)?;
            // If nobody waits for it, it is not needed.
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

/// Does work on all cores. `progress` is called as `progress(what, done, all, messages)` on this thread every tenth of
/// a second, and ends the work by an exception or by returning `True`.
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
        // Nobody asks any more.
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
            Err(PyRuntimeError::new_err(format!("a defect of anyk, please report it: {text}")))
        }
    }
}

/// Waits for work on the caller's thread.
fn attend<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    progress: Option<&Bound<'_, PyAny>>,
    questions: &mut Receiver<Question>,
    result: &mut Receiver<T>,
) -> PyResult<T> {
    let ended = || PyRuntimeError::new_err("the work ended without a result");
    let mut shown = Instant::now();
    let mut silent = false;
    let failure = loop {
        // A question wakes at once; the end of the work closes the questions, and so wakes as well.
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
    // What was asked meanwhile will not be answered.
    while questions.try_recv().is_ok() {}
    let _ = received(py, result, PATIENCE);
    Err(failure)
}

/// Waits without the interpreter's lock.
fn received<T: Send>(
    py: Python<'_>,
    from: &mut Receiver<T>,
    time: Duration,
) -> Result<T, RecvTimeoutError> {
    py.detach(move || from.recv_timeout(time))
}

/// Shows how far the work is; whether it is to end.
fn report(watch: &Watch, progress: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (what, all) = lock(&watch.of).clone();
    let told: Vec<String> = lock(&watch.told).drain(..).collect();
    let done = watch.done.load(Ordering::Relaxed);
    progress.call1((what, done, all, told))?.is_truthy()
}
