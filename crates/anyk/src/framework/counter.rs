//! Where instances are answered: one document at a time, by a counter for each thread.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;

use crate::exchange::{Batch, Documents, Input};
use crate::framework::{Answer, Error};

/// What came of a document: an answer for each of its instances, or why there is none.
pub type Answers = Vec<Result<Box<dyn Answer>, Error>>;

/// What answers documents, one after the other: a solver or a model, as options have made it ready, with its buffers.
pub trait Counter: Send + Sync {
    /// Answers a document.
    fn answer(&mut self, input: Input<'_>) -> Answers;

    /// Another one that answers the same, for another thread.
    fn fork(&self) -> Box<dyn Counter>;

    /// The most users of a cell that this one or its forks have read so far; 0 if that is not counted.
    fn largest(&self) -> usize;
}

impl dyn Counter + '_ {
    /// Answers all instances of an input, in their order; the first that is refused ends it.
    pub fn answer_all(&self, input: Input<'_>) -> Result<Vec<Box<dyn Answer>>, Error> {
        let mut documents = Documents::new(input.bytes);
        let mut counter = self.fork();
        let mut answers = Vec::new();
        let unread = |source| Error::Read { path: input.name.into(), source };
        while let Some(batch) = documents.next_batch().map_err(unread)? {
            for index in 0..batch.len() {
                let Some(part) = batch.input(index, input.name) else { continue };
                for answer in counter.answer(part) {
                    answers.push(answer?);
                }
            }
        }
        if answers.is_empty() {
            // What says how an input with nothing in it is to look.
            for answer in counter.answer(input) {
                answers.push(answer?);
            }
        }
        Ok(answers)
    }
}

/// Works on the documents of a stream while it arrives, on all cores, and hands on what comes of them in their order:
/// a document that comes alone is worked on at once. `make` makes what a thread needs; `hand_on` gets what came of the
/// documents that arrived together, and says whether to go on.
///
/// A thread reads ahead, and may be left waiting for input that never comes when `hand_on` has had enough.
pub fn in_order<W: Send, O: Send>(
    documents: Documents<impl Read + Send + 'static>,
    name: &str,
    make: impl Fn() -> Result<W, Error> + Sync,
    work: impl Fn(&mut W, Input<'_>) -> O + Sync,
    mut hand_on: impl FnMut(Vec<O>) -> Result<bool, Error>,
) -> Result<(), Error> {
    // Shared, so that it is still there where no thread can be started; else nobody waits for the lock.
    let documents = Arc::new(Mutex::new(documents));
    let next = |documents: &Mutex<Documents<_>>| {
        documents.lock().unwrap_or_else(PoisonError::into_inner).next_batch().transpose()
    };
    let (sender, batches) = sync_channel(2);
    let ahead = Arc::clone(&documents);
    let reader = thread::Builder::new().spawn(move || {
        while let Some(batch) = next(&ahead) {
            let failed = batch.is_err();
            if sender.send(batch).is_err() || failed {
                return;
            }
        }
    });
    let mut batches = batches.into_iter();
    let mut arriving = || if reader.is_ok() { batches.next() } else { next(&documents) };
    let idle: Mutex<Vec<W>> = Mutex::default();
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let part = |batch: &Batch, from: usize, to: usize| -> Result<Vec<O>, Error> {
        let known = lock().pop();
        let mut worker = match known {
            Some(worker) => worker,
            None => make()?,
        };
        let inputs = (from..to).filter_map(|index| batch.input(index, name));
        let done = inputs.map(|input| work(&mut worker, input)).collect();
        lock().push(worker);
        Ok(done)
    };
    while let Some(batch) = arriving() {
        let batch = batch.map_err(|source| Error::Read { path: name.into(), source })?;
        // Small enough that no thread waits long for another at the end, large enough to be worth handing over.
        let size = batch.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let starts: Vec<usize> = (0..batch.len()).step_by(size).collect();
        let parts: Vec<Result<Vec<O>, Error>> = starts
            .par_iter()
            .map(|&from| part(&batch, from, (from + size).min(batch.len())))
            .collect();
        let mut done = Vec::with_capacity(batch.len());
        for part in parts {
            done.extend(part?);
        }
        if !hand_on(done)? {
            return Ok(());
        }
    }
    Ok(())
}

/// A counter made of a state, which each thread has a clone of, and a function that answers with it and keeps `largest`.
pub(crate) fn counter<S: Clone + Send + Sync + 'static>(
    largest: Arc<AtomicUsize>,
    state: S,
    answer: impl Fn(&mut S, Input<'_>) -> Answers + Send + Sync + 'static,
) -> Box<dyn Counter> {
    Box::new(OfFunction { largest, state, answer: Arc::new(answer) })
}

struct OfFunction<S, A> {
    largest: Arc<AtomicUsize>,
    state: S,
    answer: Arc<A>,
}

impl<S, A> Counter for OfFunction<S, A>
where
    S: Clone + Send + Sync + 'static,
    A: Fn(&mut S, Input<'_>) -> Answers + Send + Sync + 'static,
{
    fn answer(&mut self, input: Input<'_>) -> Answers {
        (self.answer)(&mut self.state, input)
    }

    fn fork(&self) -> Box<dyn Counter> {
        let (largest, answer) = (Arc::clone(&self.largest), Arc::clone(&self.answer));
        Box::new(Self { largest, state: self.state.clone(), answer })
    }

    fn largest(&self) -> usize {
        self.largest.load(Ordering::Relaxed)
    }
}
