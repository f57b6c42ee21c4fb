//! Loop of `solve`, `allocate` and `assess` that formulates records, computes or looks up allocations, and
//! reports on them.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;

use super::answer::{Denied, Served, WARNING, plain_json};
use super::{
    Allocation, Allotment, Allotments, Answer, Fact, Formulating, Instance, Outcome, Policy,
    Problem, Reader, Record, Reference, Report, Reporting, Status, Verdict, record_json,
};
use crate::exchange::{Batch, Documents, Extra, Input, InputError, name_of};
use crate::framework::{Error, Infeasibility, Share, Unjudged};

/// Number of users of the instance that prepares a loop.
const PREPARED: usize = 10;

/// Results for a document: an answer or an error for each of its instances.
pub type Answers = Vec<Result<Answer, Error>>;

/// Loop that answers consecutive documents with a policy or from a file of allocations. Its forks give the same
/// answers in other threads.
pub struct Answering {
    reader: Arc<Reader>,
    formulating: Formulating,
    source: Source,
    /// Best known policy, with which answers are compared.
    best: Box<dyn Policy>,
    buffer: Allocation,
    second: Allocation,
    checks: bool,
    largest: Arc<AtomicUsize>,
}

/// Result of a policy.
enum Found {
    Served(Status, Report),
    Denied(Infeasibility, Option<Box<Served>>),
}

/// Source of allocations.
enum Source {
    Policy(Box<dyn Policy>),
    File(Arc<Given>),
}

/// File of allocations.
struct Given {
    all: Mutex<Allotments>,
    name: String,
}

impl Answering {
    /// Builds a loop that answers with a policy and compares its answers with those of the best known policy.
    /// Without checks, the loop skips slow computations.
    pub fn by_policy(
        reader: Reader,
        problem: &Arc<dyn Problem>,
        policy: Box<dyn Policy>,
        best: Box<dyn Policy>,
        checks: bool,
    ) -> Self {
        Self::new(reader, problem, Source::Policy(policy), best, checks)
    }

    /// Builds a loop that judges the allocations of a file and compares them with those of the best known
    /// policy.
    pub fn by_file(
        reader: Reader,
        problem: &Arc<dyn Problem>,
        allocations: Allotments,
        name: &str,
        best: Box<dyn Policy>,
    ) -> Self {
        let given = Given { all: Mutex::new(allocations), name: name.to_owned() };
        Self::new(reader, problem, Source::File(Arc::new(given)), best, true)
    }

    fn new(
        reader: Reader,
        problem: &Arc<dyn Problem>,
        source: Source,
        best: Box<dyn Policy>,
        checks: bool,
    ) -> Self {
        Self {
            reader: Arc::new(reader),
            formulating: Formulating::new(Arc::clone(problem)),
            source,
            best,
            buffer: Allocation::default(),
            second: Allocation::default(),
            checks,
            largest: Arc::default(),
        }
    }

    /// Returns a copy for another thread.
    pub fn fork(&self) -> Result<Self, Error> {
        let forked = |policy: &dyn Policy| policy.fork().ok_or(Error::OtherProblem);
        Ok(Self {
            reader: Arc::clone(&self.reader),
            formulating: self.formulating.clone(),
            source: match &self.source {
                Source::Policy(policy) => Source::Policy(forked(&**policy)?),
                Source::File(given) => Source::File(Arc::clone(given)),
            },
            best: forked(&*self.best)?,
            buffer: Allocation::default(),
            second: Allocation::default(),
            checks: self.checks,
            largest: Arc::clone(&self.largest),
        })
    }

    /// Answers a random instance and drops the answer, so that tables and threads are ready when the first instance
    /// arrives. Call this method before the first fork. Answers do not depend on it.
    pub fn prepare(&mut self) {
        rayon::broadcast(|_| ());
        let record = self.formulating.problem().draw(0, PREPARED, 0);
        // If the random instance cannot be drawn or answered, nothing is prepared.
        if let Ok(line) = record.and_then(|record| record_json(&record)) {
            for answer in self.answer(Input::new(line.as_bytes(), "")).iter().flatten() {
                let _ = answer.json();
            }
        }
        self.largest = Arc::default();
    }

    /// Returns the largest number of users in a cell that this loop or its forks have read so far.
    pub fn largest(&self) -> usize {
        self.largest.load(Ordering::Relaxed)
    }

    /// Returns the number of allocations that are left in the file after all cells are judged; see
    /// [`Allotments::left`].
    pub fn left(&self, unread: usize) -> Result<usize, Error> {
        let Source::File(given) = &self.source else { return Ok(0) };
        let mut all = given.all.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |source| Error::Read { path: given.name.as_str().into(), source };
        Ok(all.left(unread).map_err(failed)??)
    }

    /// Returns the number of allocations in the file that no cell has taken, after [`left`](Self::left).
    pub fn waiting(&self) -> usize {
        let Source::File(given) = &self.source else { return 0 };
        given.all.lock().unwrap_or_else(PoisonError::into_inner).waiting()
    }

    /// Answers a document.
    pub fn answer(&mut self, input: Input<'_>) -> Answers {
        let records = self.reader.read(input);
        self.answer_records(records, input)
    }

    /// Answers the instances of a document that belong to a share of a run. A document of JSON is one unit of work; in
    /// other documents, each instance is. Also returns the number of the unit after the last.
    pub fn answer_share(&mut self, input: Input<'_>, share: &Share) -> (Vec<(u64, Answers)>, u64) {
        let first = input.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = input.part > 0 || matches!(first, Some(b'{' | b'['));
        if is_json || self.reader.about().is_of_arrays() {
            let unit = input.part as u64;
            if share.is_missing(unit) {
                return (vec![(unit, self.answer(input))], unit + 1);
            }
            self.leave(&self.reader.read(input), input);
            return (Vec::new(), unit + 1);
        }
        let mut answers = Vec::new();
        let mut end = 0;
        for (unit, record) in (0..).zip(self.reader.read(input)) {
            end = unit + 1;
            let at = usize::try_from(unit).unwrap_or(usize::MAX);
            if share.is_missing(unit) {
                answers
                    .push((unit, self.answer_records(vec![record], Input { part: at, ..input })));
            } else {
                self.leave(&[record], Input { part: at, ..input });
            }
        }
        (answers, end)
    }

    /// Drops the allocations of instances that another shard judges.
    fn leave(&self, records: &[Result<Record, InputError>], input: Input<'_>) {
        let Source::File(given) = &self.source else { return };
        for (index, record) in records.iter().enumerate() {
            // If an allocation cannot be read, the other shard reports the error.
            match record {
                Err(_) => given.pass(name_of(input.bytes).map(|name| plain_json(name.get()))),
                Ok(record) if !self.reader.about().is_of_arrays() => {
                    let _ = given.take(input.part + index, record.extra.cell().as_deref());
                }
                Ok(record) if index == 0 => {
                    let _ = given.take(input.part, record.extra.cell().as_deref());
                }
                Ok(_) => {}
            }
        }
    }

    fn answer_records(
        &mut self,
        records: Vec<Result<Record, InputError>>,
        input: Input<'_>,
    ) -> Answers {
        if let Source::File(given) = &self.source {
            let given = Arc::clone(given);
            return self.judge_all(&given, records, input);
        }
        if self.reader.about().is_of_arrays() {
            return vec![self.answer_arrays(records)];
        }
        records.into_iter().map(|record| self.answer_record(record?)).collect()
    }

    /// Answers all instances of an input in order; stops at the first error.
    pub fn answer_all(&mut self, input: Input<'_>) -> Result<Vec<Answer>, Error> {
        let mut documents = Documents::new(input.bytes);
        let mut answers = Vec::new();
        let unread = |source| Error::Read { path: input.name.into(), source };
        while let Some(batch) = documents.next_batch().map_err(unread)? {
            for index in 0..batch.len() {
                let Some(part) = batch.input(index, input.name) else { continue };
                for answer in self.answer(part) {
                    answers.push(answer?);
                }
            }
        }
        if answers.is_empty() {
            // The error for an empty input describes the expected format.
            for answer in self.answer(input) {
                answers.push(answer?);
            }
        }
        Ok(answers)
    }

    fn answer_record(&mut self, record: Record) -> Result<Answer, Error> {
        self.largest.fetch_max(record.size().users, Ordering::Relaxed);
        let instance = self.formulating.instance(record)?;
        match self.allocate(&instance) {
            Err(error) => Err(instance.record.locate(error)),
            Ok(Found::Served(status, report)) => {
                let served = Served { status, record: instance.record, report };
                Ok(Answer::Served(Box::new(served)))
            }
            Ok(Found::Denied(why, admissible)) => {
                let (about, budgets) = (instance.about(), instance.budgets());
                let (shortfall, record) = (instance.shortfall(&why), instance.record);
                let admissible = admissible.map(|served| *served);
                let denied = Denied { about, record, budgets, shortfall, why, admissible };
                Ok(Answer::Infeasible(Box::new(denied)))
            }
        }
    }

    fn allocate(&mut self, instance: &Instance) -> Result<Found, Error> {
        let Self { source: Source::Policy(policy), best, buffer, second, checks, .. } = self else {
            return Err(Error::OtherProblem);
        };
        let mut shown =
            |instance: &Instance, status: Status, buffer: &Allocation, best: &mut dyn Policy| {
                report(instance, buffer, (status, *checks), (best, second))
            };
        match instance.allocate(&mut **policy, buffer)? {
            Outcome::Refused(why) => Err(Error::Refused(why)),
            Outcome::Served(status) => {
                Ok(Found::Served(status, shown(instance, status, buffer, &mut **best)?))
            }
            Outcome::Infeasible(why) if why.admissible.is_empty() => Ok(Found::Denied(why, None)),
            Outcome::Infeasible(why) => {
                let part = instance.part(&why.admissible);
                let own: &mut dyn Policy = if why.is_exact { &mut **best } else { &mut **policy };
                let Outcome::Served(status) = part.allocate(own, buffer)? else {
                    return Ok(Found::Denied(why, None));
                };
                let report = shown(&part, status, buffer, &mut **best)?;
                let served = Served { status, record: part.record, report };
                Ok(Found::Denied(why, Some(Box::new(served))))
            }
        }
    }

    /// Answers all instances of a document on all cores and returns one answer for the document.
    fn answer_arrays(&mut self, records: Vec<Result<Record, InputError>>) -> Result<Answer, Error> {
        let mut extra = Extra::default();
        let records = records.into_iter().collect::<Result<Vec<Record>, _>>()?;
        if let Some(first) = records.first() {
            extra = first.extra.clone();
        }
        let this = &*self;
        let one = |worker: &mut Result<Self, Error>, record: Record| {
            let Ok(worker) = worker else { return this.fork().map(|_| None) };
            match worker.answer_record(record)? {
                Answer::Served(served) => Ok(Some(*served)),
                _ => Err(Error::OtherProblem),
            }
        };
        let results: Vec<Result<Option<Served>, Error>> =
            records.into_par_iter().map_init(|| this.fork(), one).collect();
        // Collected in the order of the input, so that the first error is reported regardless of the order of threads.
        let all = results.into_iter().collect::<Result<Vec<Option<Served>>, Error>>()?;
        Ok(Answer::Instances(extra, all.into_iter().flatten().collect()))
    }

    fn judge_all(
        &mut self,
        given: &Given,
        records: Vec<Result<Record, InputError>>,
        input: Input<'_>,
    ) -> Answers {
        let count = records.len();
        let is_of_arrays = self.reader.about().is_of_arrays();
        // In a document of arrays, one allocation contains those of all instances.
        let mut current: Option<Result<Allotment, String>> = None;
        let mut judged = Vec::with_capacity(count);
        for (index, record) in records.into_iter().enumerate() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    given.pass(name_of(input.bytes).map(|name| plain_json(name.get())));
                    judged.push(Err(error.into()));
                    continue;
                }
            };
            self.largest.fetch_max(record.size().users, Ordering::Relaxed);
            let place = if is_of_arrays { input.part } else { input.part + index };
            let name = record.extra.cell();
            let named = match (is_of_arrays, &name) {
                (true, _) => format!("instance {}", if count > 1 { index } else { place }),
                (false, Some(name)) => format!("cell {name}"),
                (false, None) => format!("cell {}", place + 1),
            };
            let extra = record.extra.clone().apart_from(&Verdict::FIELDS);
            if !is_of_arrays {
                current = None;
            }
            let verdict = match self.formulating.instance(record) {
                Err(error) => {
                    // The other networks of a document still request their allocations.
                    given.pass(name.filter(|_| !is_of_arrays));
                    Err(error)
                }
                Ok(instance) => {
                    let found = match &mut current {
                        Some(Ok(found)) => Ok(found),
                        Some(Err(why)) => Err(Error::Allocation(why.clone())),
                        None => match given.take(place, name.as_deref()) {
                            Ok(found) => {
                                let found = current.insert(Ok(found)).as_mut();
                                found.map_err(|why| Error::Allocation(why.clone()))
                            }
                            Err(error) => {
                                current = Some(Err(error.to_string()));
                                Err(error)
                            }
                        },
                    };
                    self.judge(&instance, found, ((index, count), &named))
                }
            };
            judged.push(verdict.map(|mut verdict| {
                verdict.extra = extra;
                Answer::Judged(Box::new(verdict))
            }));
        }
        judged
    }

    fn judge(
        &mut self,
        instance: &Instance,
        given: Result<&mut Allotment, Error>,
        (at, named): ((usize, usize), &str),
    ) -> Result<Verdict, Error> {
        let reference = instance.reference(&mut *self.best, &mut self.buffer)?;
        let reference = reference.map(|reference: Reference| reference.value);
        let verdict = match given {
            Ok(Allotment { absent: Some(reason), .. }) => {
                Ok(Verdict::absent(instance, reference, reason.clone()))
            }
            Ok(given) => given
                .take(instance, at)
                .and_then(|allocation| instance.judge(&allocation, reference))
                .map_err(|error| error.in_file(named)),
            Err(error) => Err(error),
        };
        // The cell can be judged, so it counts; the error lies in the allocation.
        verdict.map_err(|source| {
            let (k, feasible) = (instance.size().users, reference.is_some());
            Error::Unjudged(Box::new(Unjudged { k, feasible, source }))
        })
    }
}

impl Given {
    /// Records a cell that cannot be read; see [`Allotments::pass`].
    fn pass(&self, cell: Option<String>) {
        if let Some(cell) = cell {
            self.all.lock().unwrap_or_else(PoisonError::into_inner).pass(&cell);
        }
    }

    /// Returns the allocation of an instance, by its index and its name.
    fn take(&self, place: usize, cell: Option<&str>) -> Result<Allotment, Error> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = |source| Error::Read { path: self.name.as_str().into(), source };
        match all.take(place, cell).map_err(unread)? {
            Some(found) => Ok(found?),
            None => Err(Error::NoAllocation {
                cell: cell.map_or_else(|| (place + 1).to_string(), str::to_owned),
                file: self.name.clone(),
            }),
        }
    }
}

/// Returns the report on an allocation.
fn report(
    instance: &Instance,
    allocation: &Allocation,
    (status, checks): (Status, bool),
    (best, buffer): (&mut dyn Policy, &mut Allocation),
) -> Result<Report, Error> {
    let judges = instance.problem.judges();
    let mut reference = || instance.reference(best, buffer);
    let amounts = instance.about().amounts;
    let mut how = Reporting { amounts, status, checks, judges, reference: &mut reference };
    let mut report = instance.report(allocation, &mut how)?;
    report.check()?;
    if let Some(warning) = instance.warning(allocation) {
        let json = serde_json::value::to_raw_value(&warning).map_err(Error::other)?;
        report.facts.push(WARNING, Fact::Json(json, warning));
    }
    Ok(report)
}

/// Processes the documents of a stream while it arrives, on all cores, and passes on the results in order. A
/// single document is processed as soon as it arrives. `make` creates the worker of a thread. `hand_on` receives
/// the results for documents that arrived together, and returns whether to continue.
///
/// A thread reads ahead. If `hand_on` stops early, this thread may remain blocked on input that never arrives.
pub fn in_order<W: Send, O: Send>(
    documents: Documents<impl Read + Send + 'static>,
    name: &str,
    make: impl Fn() -> Result<W, Error> + Sync,
    work: impl Fn(&mut W, Input<'_>) -> O + Sync,
    mut hand_on: impl FnMut(Vec<O>) -> Result<bool, Error>,
) -> Result<(), Error> {
    // Shared, so that it remains available if no thread can be started; otherwise the lock is never contended.
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
        // Parts are small enough that no thread waits long at the end, and large enough to be worth the overhead.
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
