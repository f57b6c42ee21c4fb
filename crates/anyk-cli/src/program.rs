//! Policies that are external programs. A program is started once, reads one instance per line, and prints one
//! allocation per line.

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

/// Maximum length in bytes of a line from a program, three times the length of an allocation of a million users.
const LONGEST: usize = 1 << 28;
/// Number of bytes at the end of standard error that are kept for error messages.
const KEPT: usize = 2000;
/// Number of characters of an answer that error messages show.
const SHOWN: usize = 200;
/// Interval at which a silent program is checked.
const LOOK: Duration = Duration::from_millis(50);

/// Policy that runs a command line in the shell.
pub(crate) struct Program {
    command: String,
    timeout: Duration,
    running: Option<Running>,
    /// Line that the program printed before it received an instance.
    surplus: Option<String>,
}

struct Running {
    child: Child,
    questions: Sender<Vec<u8>>,
    /// Locked only because a policy must be `Sync`; the lock is never contended.
    answers: Mutex<Receiver<Vec<Vec<u8>>>>,
    /// Lines that arrived together with the last one that was used.
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
        let mut child =
            spawn(&mut command).map_err(|error| format!("cannot start the program: {error}"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (questions, asked) = channel::<Vec<u8>>();
        // At most one batch is read ahead, so a program that prints too much must wait.
        let (answered, answers) = sync_channel(1);
        let messages = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&messages);
        let answers = Mutex::new(answers);
        let running = Running { child, questions, answers, unread: VecDeque::new(), messages };
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err("cannot open pipes to the program".to_owned());
        };
        let cannot =
            |error: std::io::Error| format!("cannot start a thread for the program: {error}");
        // Each pipe has its own thread, so that a program that does not read, or only prints messages, cannot block
        // AnyK.
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

/// Passes on the lines of a program. Lines that arrived together are passed on together, so that an extra line is
/// noticed together with the line before it. If a line is too long, this passes on the part that it has read, and then
/// stops.
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

/// Process groups of all running programs, so that a signal can end them. No program starts or ends while this is
/// locked.
static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn groups() -> MutexGuard<'static, BTreeSet<u32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program in its own process group, so that its child processes can be ended with it.
fn spawn(command: &mut Command) -> std::io::Result<Child> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut groups = groups();
    let child = command.spawn()?;
    groups.insert(child.id());
    Ok(child)
}

/// Kills all processes of a group.
fn kill_group(group: u32) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(group) {
        use nix::sys::signal::{Signal, killpg};
        let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = group;
}

/// Quotes the start of a line.
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
    /// Describes how the program ended, with its last messages.
    fn epitaph(mut self) -> String {
        // Its last messages may still be in the pipe.
        thread::sleep(Duration::from_millis(20));
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!("the program ended ({status})"),
            _ => "the program closed its output but is still running".to_owned(),
        };
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let said =
            String::from_utf8_lossy(&messages.into_iter().collect::<Vec<u8>>()).trim().to_owned();
        if said.is_empty() { status } else { format!("{status}; last messages: {said}") }
    }

    /// Waits for lines.
    fn arrived(&mut self, wait: Duration) -> Result<Vec<Vec<u8>>, RecvTimeoutError> {
        self.answers.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait)
    }

    /// Returns the next line, or the reason why there is none.
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
                // A child process may keep the output open after the program has ended.
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
    /// Kills the program and all processes of its group.
    fn drop(&mut self) {
        let mut groups = groups();
        kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        groups.remove(&self.child.id());
    }
}

impl Program {
    /// Looks for a line that the program printed before it received an instance. If there is one, this ends the
    /// program, since its lines no longer match the instances.
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

    /// Sends an instance and returns the line of the answer, or the reason why there is none.
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
        // Later lines may not match their instances, so the program is not kept.
        let holds = |word: &[u8]| answer.windows(word.len()).any(|window| window == word);
        let hint = if !answer.ends_with(b"\n") {
            format!(" ({} bytes without a line break)", answer.len())
        } else if holds(b"NaN") || holds(b"Infinity") {
            " (JSON has no NaN and no infinity)".to_owned()
        } else {
            String::new()
        };
        Err(format!("expected one JSON object on a line, received {}{hint}", shown(&answer)))
    }
}

/// Reads the allocation from a line of JSON.
fn amounts(instance: &Instance, answer: &[u8]) -> Result<Allocation, String> {
    let input = Input::new(answer, "the answer");
    let found = Allotment::of_json(instance.about(), input).map_err(|error| error.to_string())?;
    if let Some(reason) = &found.absent {
        return Err(format!("the answer has no allocation: {reason}"));
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
                // The next line may be the answer to another instance.
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
            "expected one line for each instance, received an extra line, so answers cannot be matched to instances: \
             {surplus}"
        ))
    }
}

/// Installs a handler for SIGINT and SIGTERM that kills all programs and exits with the code of the signal. It is
/// needed because a signal from the terminal does not reach the process groups of the programs.
pub(crate) fn end_with_us() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else {
            return;
        };
        let _ = thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // Stays locked until the exit, so that no other program starts.
                let groups = groups();
                groups.iter().for_each(|&group| kill_group(group));
                std::process::exit(128 + signal);
            }
        });
    }
}
