//! A policy that is a program: started once, it reads an instance on each line and writes an allocation on each.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyk::framework::Contestant;

/// Longest line that is read of a program: an allocation of a million users takes a third of it.
const LONGEST: u64 = 1 << 28;
/// Bytes of its messages that are kept, to be shown where it fails.
const KEPT: usize = 2000;
/// Characters of an answer that are shown.
const SHOWN: usize = 200;

/// A command line, run by the shell.
pub(crate) struct Program {
    command: String,
    timeout: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    questions: Sender<Vec<u8>>,
    answers: Receiver<Vec<u8>>,
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
        // A group of its own, so that all that it starts can be ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("the program cannot be started: {error}"))?;
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the program cannot be spoken to".to_owned());
        };
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        let cannot = |error: std::io::Error| format!("no thread can be started for it: {error}");
        // Each pipe has a thread: a program that does not read, or only writes messages, holds nobody up.
        let (questions, asked) = channel::<Vec<u8>>();
        thread::Builder::new()
            .spawn(move || {
                for question in asked {
                    if stdin.write_all(&question).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            })
            .map_err(cannot)?;
        let (answered, answers) = channel();
        thread::Builder::new()
            .spawn(move || {
                let mut reader = BufReader::new(stdout);
                loop {
                    let mut line = Vec::new();
                    let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line);
                    if !matches!(read, Ok(count) if count > 0) || answered.send(line).is_err() {
                        return;
                    }
                }
            })
            .map_err(cannot)?;
        let messages = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&messages);
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
        Ok(Running { child, questions, answers, messages })
    }
}

impl Running {
    /// Ends it, with all that it has started.
    fn end(mut self) {
        kill_group(self.child.id());
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// How it ended, with the last that it said.
    fn epitaph(mut self) -> String {
        // What it said last may still be on its way.
        thread::sleep(Duration::from_millis(20));
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!("the program ended ({status})"),
            _ => "the program closed its output".to_owned(),
        };
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let said =
            String::from_utf8_lossy(&messages.into_iter().collect::<Vec<u8>>()).trim().to_owned();
        self.end();
        if said.is_empty() { status } else { format!("{status}; it said: {said}") }
    }
}

impl Contestant for Program {
    fn restart(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }

    fn answer(&mut self, instance: &[u8]) -> Result<Vec<u8>, String> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // What it said unasked would be taken for the next answer.
        if let Ok(early) = running.answers.try_recv() {
            let shown: String =
                String::from_utf8_lossy(&early).trim_end().chars().take(SHOWN).collect();
            running.end();
            return Err(format!(
                "expected one line for each instance, received another before it was asked: {shown:?}"
            ));
        }
        // On a line of its own: what is inside may be spread over several.
        let mut line: Vec<u8> =
            instance.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
        line.push(b'\n');
        if running.questions.send(line).is_err() {
            return Err(running.epitaph());
        }
        match running.answers.recv_timeout(self.timeout) {
            Ok(answer) => {
                let text = String::from_utf8_lossy(&answer);
                let is_json = text.trim_start().starts_with('{')
                    && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                if !is_json {
                    // It may be out of step from here on.
                    let mut shown: String = text.trim_end().chars().take(SHOWN).collect();
                    if text.trim_end().chars().nth(SHOWN).is_some() {
                        shown.push('…');
                    }
                    running.end();
                    return Err(format!(
                        "expected one JSON object on a line, received {shown:?}{}",
                        if text.contains("NaN") || text.contains("Infinity") {
                            " (JSON has no NaN and no infinity)"
                        } else {
                            ""
                        }
                    ));
                }
                self.running = Some(running);
                Ok(answer)
            }
            Err(RecvTimeoutError::Timeout) => {
                running.end();
                Err(format!("no answer within {} s", self.timeout.as_secs_f64()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(running.epitaph()),
        }
    }
}

/// Groups of the programs that run, to be ended with us.
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends a group of processes.
fn kill_group(group: u32) {
    if cfg!(unix) {
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{group}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

/// Ends all programs when we are interrupted: they have groups of their own, which a terminal does not reach.
pub(crate) fn end_with_us() {
    // A handler that is there already is that of a training, which has no programs.
    let _ = ctrlc::set_handler(|| {
        for group in GROUPS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            kill_group(group);
        }
        std::process::exit(i32::from(crate::failure::INTERRUPTED));
    });
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }
}
