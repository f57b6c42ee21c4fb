//! A policy that is a program: started once, it reads an instance on each line and writes an allocation on each.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyk::core::{Allocation, Allotment, Instance, Outcome, Policy, Status, record_json};
use anyk::exchange::Input;
use anyk::framework::Error;

/// Longest line that is read of a program: an allocation of a million users takes a third of it.
const LONGEST: usize = 1 << 28;
/// Bytes of its messages that are kept, to be shown where it fails.
const KEPT: usize = 2000;
/// Characters of an answer that are shown.
const SHOWN: usize = 200;
/// How often a program that is silent is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A command line, run by the shell.
pub(crate) struct Program {
    command: String,
    timeout: Duration,
    running: Option<Running>,
    /// What it has written unasked.
    surplus: Option<String>,
}

struct Running {
    child: Child,
    questions: Sender<Vec<u8>>,
    /// Shared by nobody: a policy must be able to be.
    answers: Mutex<Receiver<Vec<Vec<u8>>>>,
    /// Lines that arrived with others.
    unread: VecDeque<Vec<u8>>,
    messages: Arc<Mutex<VecDeque<u8>>>,
}

impl Program {
    pub(crate) fn new(command: &str, timeout: Duration) -> Self {
        Self { command: command.to_owned(), timeout, running: None, surplus: None }
    }

    fn start(&self) -> Result<Running, String> {
        let mut command = if cfg!(windows) {
            let mut command = Command::new("cmd");
            command.args(["/C", &self.command]);
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", &self.command]);
            command
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(&mut command)
            .map_err(|error| format!("the program cannot be started: {error}"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (questions, asked) = channel::<Vec<u8>>();
        // No more than a batch is read ahead: a program that floods us waits.
        let (answered, answers) = sync_channel(1);
        let messages = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&messages);
        let answers = Mutex::new(answers);
        let running = Running { child, questions, answers, unread: VecDeque::new(), messages };
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err("the program cannot be spoken to".to_owned());
        };
        let cannot = |error: std::io::Error| format!("no thread can be started for it: {error}");
        // Each pipe has a thread: a program that does not read, or only writes messages, holds nobody up.
        thread::Builder::new()
            .spawn(move || {
                for question in asked {
                    if stdin.write_all(&question).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            })
            .map_err(cannot)?;
        thread::Builder::new().spawn(move || read(stdout, &answered)).map_err(cannot)?;
        thread::Builder::new()
            .spawn(move || {
                let mut part = [0; 512];
                while let Ok(count) = stderr.read(&mut part) {
                    if count == 0 {
                        return;
                    }
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(&part[..count]);
                    let over = kept.len().saturating_sub(KEPT);
                    kept.drain(..over);
                }
            })
            .map_err(cannot)?;
        Ok(running)
    }
}

/// Hands on the lines of a program: those that arrived together are handed on together, so that one too many is seen
/// with the one that it follows. One that is too long is handed on as far as it was read, and is the last.
fn read(stdout: ChildStdout, answered: &SyncSender<Vec<Vec<u8>>>) {
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    let mut line = Vec::new();
    loop {
        let arrived = match reader.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) | Ok([]) => break,
            Ok(arrived) => arrived,
        };
        let mut lines = Vec::new();
        for part in arrived.split_inclusive(|&byte| byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.push(std::mem::take(&mut line));
            }
        }
        let count = arrived.len();
        reader.consume(count);
        let over = line.len() > LONGEST;
        if over {
            lines.push(std::mem::take(&mut line));
        }
        if !lines.is_empty() && answered.send(lines).is_err() || over {
            return;
        }
    }
    if !line.is_empty() {
        let _ = answered.send(vec![line]);
    }
}

/// The process groups of all programs that run, which a signal ends. None is started or ended while it is locked.
static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn groups() -> MutexGuard<'static, BTreeSet<u32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program in its own process group, so that the processes that it starts can be ended with it.
fn spawn(command: &mut Command) -> std::io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut groups = groups();
    let child = command.spawn()?;
    groups.insert(child.id());
    Ok(child)
}

/// Ends all processes of a group.
fn kill_group(group: u32) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(group) {
        use nix::sys::signal::{Signal, killpg};
        let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = group;
}

/// The start of a line, quoted.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN + 4)]);
    let text = text.trim_end();
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}

impl Running {
    /// How it ended, with the last that it said.
    fn epitaph(mut self) -> String {
        // What it said last may still be on its way.
        thread::sleep(Duration::from_millis(20));
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!("the program ended ({status})"),
            _ => "the program closed its output and runs on".to_owned(),
        };
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let said =
            String::from_utf8_lossy(&messages.into_iter().collect::<Vec<u8>>()).trim().to_owned();
        if said.is_empty() { status } else { format!("{status}; it said: {said}") }
    }

    /// Lines that arrive within some time.
    fn arrived(&mut self, wait: Duration) -> Result<Vec<Vec<u8>>, RecvTimeoutError> {
        self.answers.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait)
    }

    /// The next line, or why there is none.
    fn line(mut self, timeout: Duration) -> Result<(Self, Vec<u8>), String> {
        let started = Instant::now();
        let mut ended = false;
        loop {
            if let Some(line) = self.unread.pop_front() {
                return Ok((self, line));
            }
            let left = timeout.saturating_sub(started.elapsed());
            match self.arrived(left.min(LOOK)) {
                Ok(lines) => self.unread.extend(lines),
                Err(RecvTimeoutError::Disconnected) => return Err(self.epitaph()),
                // What it has started may hold its output open.
                Err(RecvTimeoutError::Timeout) if ended => return Err(self.epitaph()),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => {
                    return Err(format!("no answer within {} s", timeout.as_secs_f64()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    ended = matches!(self.child.try_wait(), Ok(Some(_)));
                }
            }
        }
    }
}

impl Drop for Running {
    /// Ends it, with all processes of its group.
    fn drop(&mut self) {
        let mut groups = groups();
        kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        groups.remove(&self.child.id());
    }
}

impl Program {
    /// Takes a line that it has written unasked, if there is one; it is then ended, since it may be out of step.
    fn look(&mut self, wait: Duration) {
        let Some(running) = self.running.as_mut() else { return };
        if running.unread.is_empty() {
            let arrived = running.arrived(wait).unwrap_or_default();
            running.unread.extend(arrived);
        }
        if let Some(surplus) = running.unread.pop_front() {
            self.running = None;
            self.surplus = Some(shown(&surplus));
        }
    }

    /// The line that it answers with, or why there is none.
    fn ask(&mut self, question: String) -> Result<Vec<u8>, String> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        if running.questions.send((question + "\n").into_bytes()).is_err() {
            return Err(running.epitaph());
        }
        let (running, answer) = running.line(self.timeout)?;
        let is_json = answer.trim_ascii_start().starts_with(b"{")
            && serde_json::from_slice::<serde::de::IgnoredAny>(&answer).is_ok();
        if is_json {
            self.running = Some(running);
            return Ok(answer);
        }
        // It may be out of step from here on, and is ended.
        let holds = |word: &[u8]| answer.windows(word.len()).any(|window| window == word);
        let hint = if !answer.ends_with(b"\n") {
            format!(" and so on, {} bytes without the end of a line", answer.len())
        } else if holds(b"NaN") || holds(b"Infinity") {
            " (JSON has no NaN and no infinity)".to_owned()
        } else {
            String::new()
        };
        Err(format!("expected one JSON object on a line, received {}{hint}", shown(&answer)))
    }
}

/// The amounts in a line of JSON.
fn amounts(instance: &Instance, answer: &[u8]) -> Result<Allocation, String> {
    let input = Input::new(answer, "the answer");
    let found = Allotment::of_json(instance.about(), input).map_err(|error| error.to_string())?;
    if let Some(reason) = &found.absent {
        return Err(format!("there is no allocation; in its place: {reason}"));
    }
    found.of_instance(instance).map_err(|error| error.to_string())
}

impl Policy for Program {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let question = record_json(&instance.record)?;
        let found = self.ask(question).and_then(|answer| amounts(instance, &answer));
        Ok(match found {
            Ok(found) => {
                *into = found;
                Outcome::Served(Status::Heuristic)
            }
            Err(why) => {
                // What follows may be the answer to another question.
                self.look(Duration::ZERO);
                self.running = None;
                Outcome::Refused(why)
            }
        })
    }

    fn doubt(&mut self, at_rest: bool) -> Option<String> {
        self.look(if at_rest { LOOK } else { Duration::ZERO });
        let surplus = self.surplus.take()?;
        Some(format!(
            "expected one line for each instance, received another before it was asked, so that nobody knows which \
             answer is whose: {surplus}"
        ))
    }
}

/// Ends all programs when we are interrupted or asked to end, since a signal of the terminal does not reach their
/// groups; then ends as the signal would have ended us.
pub(crate) fn end_with_us() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else {
            return;
        };
        let _ = thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // Locked until we have ended, so that no program is started meanwhile.
                let groups = groups();
                groups.iter().for_each(|&group| kill_group(group));
                std::process::exit(128 + signal);
            }
        });
    }
}
