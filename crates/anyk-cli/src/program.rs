//! A policy that is a program: started once, it reads an instance on each line and writes an allocation on each.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyk::framework::Contestant;
use anyk::memory::MemoryBudget;

/// Longest line that is read of a program: an allocation of a million users takes a third of it.
const LONGEST: u64 = 1 << 28;
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
}

struct Running {
    child: Child,
    /// Dropped after the program is ended.
    _guard: Guard,
    questions: Sender<Vec<u8>>,
    answers: Receiver<Vec<Vec<u8>>>,
    /// Lines that arrived with others.
    unread: VecDeque<Vec<u8>>,
    /// The pipe that they come through, as the system names it.
    output: Option<PathBuf>,
    messages: Arc<Mutex<VecDeque<u8>>>,
}

impl Program {
    pub(crate) fn new(command: &str, timeout: Duration) -> Self {
        Self { command: command.to_owned(), timeout, running: None }
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
        in_own_group(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut guard = Guard::start();
        let mut child =
            command.spawn().map_err(|error| format!("the program cannot be started: {error}"))?;
        guard.watch(child.id());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (questions, asked) = channel::<Vec<u8>>();
        // No more than a batch is read ahead: a program that floods us waits.
        let (answered, answers) = sync_channel(1);
        let messages = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&messages);
        let (unread, output) = (VecDeque::new(), pipes.1.as_ref().and_then(pipe_of));
        let running =
            Running { child, _guard: guard, questions, answers, unread, output, messages };
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
        let longest = LONGEST.min(MemoryBudget::current().get() / 4);
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        thread::Builder::new().spawn(move || read(stdout, longest, &answered)).map_err(cannot)?;
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
fn read(stdout: ChildStdout, longest: usize, answered: &SyncSender<Vec<Vec<u8>>>) {
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
        let over = line.len() > longest;
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

/// Puts a program into its own process group, so that what it starts can be ended with it, unless that starts its own
/// session.
fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// A shell that runs a script. Its own `kill` is there on every system.
fn shell(script: &str, argument: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, argument]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Ends a group of processes.
fn kill_group(group: u32) {
    if cfg!(unix) {
        let _ = shell("kill -s KILL -- \"-$0\"", &group.to_string()).status();
    }
}

/// A process that ends a group when we are gone, whatever ended us: it waits for the end of a pipe that only we hold.
/// It is there before the program, and is told its group as soon as there is one.
struct Guard(Option<Child>);

impl Guard {
    fn start() -> Self {
        if cfg!(windows) {
            return Self(None);
        }
        let script = "read -r group || exit; read -r _; kill -s KILL -- \"-$group\"";
        let mut command = shell(script, "guard");
        in_own_group(&mut command);
        // Without one, a program is ended by all but a signal.
        Self(command.stdin(Stdio::piped()).spawn().ok())
    }

    fn watch(&mut self, group: u32) {
        if let Some(pipe) = self.0.as_mut().and_then(|guard| guard.stdin.as_mut()) {
            let _ = writeln!(pipe, "{group}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.0 {
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

/// What the system calls the pipe of a program's output, where it says so: Linux.
fn pipe_of(output: &ChildStdout) -> Option<PathBuf> {
    #[cfg(unix)]
    let found = {
        use std::os::fd::AsRawFd as _;
        std::fs::read_link(format!("/proc/self/fd/{}", output.as_raw_fd())).ok()
    };
    #[cfg(not(unix))]
    let (_, found) = (output, None);
    found
}

/// Whether a shell is the only one in its group that has a pipe open, and is not alone: what it started has closed it.
fn is_closed(shell: u32, pipe: &Path) -> bool {
    let mut others = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process): Option<u32> =
            entry.file_name().to_str().and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // After the name, which is in brackets: state, parent, group.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let group = after.split_whitespace().nth(2).and_then(|group| group.parse().ok());
        if group != Some(shell) || process == shell {
            continue;
        }
        others += 1;
        let files = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        if targets.any(|target| target == pipe) {
            return false;
        }
    }
    others > 0
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

    /// The next line, or why there is none.
    fn line(mut self, timeout: Duration) -> Result<(Self, Vec<u8>), String> {
        let started = Instant::now();
        let mut ended = false;
        loop {
            if let Some(line) = self.unread.pop_front() {
                return Ok((self, line));
            }
            let left = timeout.saturating_sub(started.elapsed());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(lines) => self.unread.extend(lines),
                Err(RecvTimeoutError::Disconnected) => return Err(self.epitaph()),
                // What it has started may hold its output open.
                Err(RecvTimeoutError::Timeout) if ended => return Err(self.epitaph()),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => {
                    let output = self.output.as_deref();
                    let closed = output.is_some_and(|output| is_closed(self.child.id(), output));
                    let why =
                        if closed { ": the program closed its output and runs on" } else { "" };
                    return Err(format!("no answer within {} s{why}", timeout.as_secs_f64()));
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
        kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Contestant for Program {
    fn restart(&mut self) {
        self.running = None;
    }

    fn surplus(&mut self, at_rest: bool) -> Option<String> {
        let running = self.running.as_mut()?;
        if running.unread.is_empty() {
            let wait = if at_rest { LOOK } else { Duration::ZERO };
            running.unread.extend(running.answers.recv_timeout(wait).unwrap_or_default());
        }
        let surplus = running.unread.pop_front()?;
        self.running = None;
        Some(shown(&surplus))
    }

    fn answer(&mut self, instance: &[u8]) -> Result<Vec<u8>, String> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // On a line of its own: what is inside may be spread over several.
        let mut line: Vec<u8> =
            instance.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
        line.push(b'\n');
        if running.questions.send(line).is_err() {
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

/// Ends when we are interrupted, with the code of that; the guards end the programs, which a terminal does not reach.
pub(crate) fn end_with_us() {
    // A handler that is there already is that of a training, which has no programs.
    let _ = ctrlc::set_handler(|| std::process::exit(i32::from(crate::failure::INTERRUPTED)));
}
