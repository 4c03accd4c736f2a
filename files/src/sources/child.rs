//! Runs another program to its end, without a shell and within limits of time and output.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many bytes of standard error are kept: the last ones say why a program has failed.
const KEPT: usize = 4 << 10;

/// How long an ended program's standard error is awaited. A process that has left its group may hold it open.
const GRACE: Duration = Duration::from_secs(1);

/// How often a program is looked at that has closed its output and still runs.
const PAUSE: Duration = Duration::from_millis(10);

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// The most bytes on its standard output.
    pub bytes: usize,
}

/// Why there is no output. Each is a predicate of the program.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    #[error("cannot be run: {0}")]
    Io(#[from] io::Error),
    #[error("has not finished within {} s and was ended{}", limit.as_secs_f64(), said(stderr))]
    Late { limit: Duration, stderr: String },
    #[error("has printed more than {limit} bytes and was ended")]
    TooLarge { limit: usize },
    #[error("has failed ({status}){}", said(stderr))]
    Failed { status: ExitStatus, stderr: String },
}

/// The standard error of a program as a part of a line.
fn said(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!(": {}", lines.join("; "))
    }
}

/// The standard output of a program that succeeds. Its standard input is empty.
pub fn output(command: &mut Command, limits: Limits) -> Result<Vec<u8>, ChildError> {
    let deadline = Instant::now() + limits.time;
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(command)?;
    let bound = u64::try_from(limits.bytes).unwrap_or(u64::MAX).saturating_add(1);
    let stdout = running.child.stdout.take();
    let stdout = in_background(move || {
        let mut bytes = Vec::new();
        let read = stdout.map(|stream| stream.take(bound).read_to_end(&mut bytes));
        read.transpose().map(|_| bytes)
    });
    let stderr = running.child.stderr.take();
    let stderr = in_background(move || stderr.map(end).unwrap_or_default());
    let late = |mut running: Running, stderr: &Receiver<Vec<u8>>| {
        running.end();
        ChildError::Late {
            limit: limits.time,
            stderr: text(stderr.recv_timeout(GRACE)),
        }
    };
    let Ok(bytes) = stdout.recv_timeout(left(deadline)) else {
        return Err(late(running, &stderr));
    };
    let bytes = bytes?;
    if bytes.len() > limits.bytes {
        return Err(ChildError::TooLarge { limit: limits.bytes });
    }
    let status = loop {
        match running.status()? {
            Some(status) => break status,
            None if left(deadline).is_zero() => return Err(late(running, &stderr)),
            None => thread::sleep(PAUSE.min(left(deadline))),
        }
    };
    if status.success() {
        return Ok(bytes);
    }
    let stderr = text(stderr.recv_timeout(GRACE));
    Err(ChildError::Failed { status, stderr })
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn text(bytes: Result<Vec<u8>, RecvTimeoutError>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// The answer of work that the caller need not wait for: reading may never end.
fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    answer
}

/// Reads a stream to its end, and keeps its last bytes.
fn end(mut stream: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let piece = u64::try_from(KEPT).unwrap_or(u64::MAX);
    while let Ok(1..) = stream.by_ref().take(piece).read_to_end(&mut kept) {
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
    kept
}

/// A program that does not outlive its run.
struct Running {
    child: Child,
    /// Its number may be that of another program by now.
    has_ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        // Its children are in this group, too.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn()?;
        Ok(Self {
            child,
            has_ended: false,
        })
    }

    /// How it ended, if it has.
    fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended = status.is_some();
        Ok(status)
    }

    /// Ends the program and, on Unix, its group. The group outlives a program that nobody has waited for.
    fn end(&mut self) {
        if self.has_ended {
            return;
        }
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.kill();
        self.has_ended = self.child.wait().is_ok();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        time: Duration::from_mins(1),
        bytes: 1 << 20,
    };

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn error(script: &str, limits: Limits) -> String {
        output(&mut sh(script), limits).unwrap_err().to_string()
    }

    #[test]
    fn output_is_that_of_the_program_however_much_it_says_on_the_other_stream() {
        // More than a pipe holds on each: reading one after the other would never end.
        let script = "i=0; while [ $i -lt 3000 ]; do printf %0100d 1 >&2; printf %0100d 2; i=$((i+1)); done";
        let printed = output(&mut sh(script), LIMITS).unwrap();
        assert_eq!(printed.len(), 300_000);
    }

    #[test]
    fn failed_program_is_named_by_its_exit_and_the_end_of_what_it_said() {
        assert_eq!(
            error("echo out; printf 'first\\n\\n second \\n' >&2; exit 7", LIMITS),
            "has failed (exit status: 7): first; second"
        );
        assert_eq!(error("exit 1", LIMITS), "has failed (exit status: 1)");
        assert_eq!(error("kill -9 $$", LIMITS), "has failed (signal: 9 (SIGKILL))");
        let long = error(
            "i=0; while [ $i -lt 3000 ]; do printf %0100d 1 >&2; i=$((i+1)); done; echo why >&2; exit 1",
            LIMITS,
        );
        assert!(long.ends_with("1why") && long.len() < 2 * KEPT, "{}", long.len());
    }

    #[test]
    fn program_that_cannot_be_started_is_an_error() {
        let error = output(&mut Command::new("/nonexistent/program"), LIMITS).unwrap_err();
        assert!(error.to_string().starts_with("cannot be run: "), "{error}");
    }

    #[test]
    fn endless_output_ends_the_program_at_the_limit() {
        let limits = Limits {
            bytes: 1000,
            ..LIMITS
        };
        assert_eq!(
            error("while :; do echo 0123456789; done", limits),
            "has printed more than 1000 bytes and was ended"
        );
        let exactly = output(&mut sh("printf %01000d 0"), limits).unwrap();
        assert_eq!(exactly.len(), 1000);
    }

    /// Whether a process runs. One that nobody has waited for yet is a zombie, and does not.
    #[cfg(target_os = "linux")]
    fn runs(id: &str) -> bool {
        let stat =
            std::fs::read_to_string(std::path::Path::new("/proc").join(id).join("stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        !state.is_empty() && !state.starts_with(['Z', 'X'])
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn deadline_ends_the_program_and_its_children() {
        let directory = tempfile::tempdir().unwrap();
        for (number, (children, rest)) in [
            ("$! $$", "wait"),
            // It has closed its output, and goes on.
            ("$! $$", "exec >&- 2>&-; wait"),
            // Only its child holds the output.
            ("$!", "exit 0"),
        ]
        .into_iter()
        .enumerate()
        {
            let ids = directory.path().join(number.to_string());
            let script = format!(
                "sleep 600 & echo password? >&2; echo {children} >{}; {rest}",
                ids.display()
            );
            // A busy machine may not start it in time.
            let ended = [1, 10, 100].into_iter().find_map(|seconds| {
                let time = Duration::from_secs(seconds);
                let why = error(&script, Limits { time, ..LIMITS });
                let ids = std::fs::read_to_string(&ids).ok()?;
                Some((why.replace(&seconds.to_string(), "N"), ids))
            });
            let (why, ids) = ended.unwrap();
            assert_eq!(
                why, "has not finished within N s and was ended: password?",
                "{script}"
            );
            let begun = Instant::now();
            while ids.split_whitespace().any(runs) {
                assert!(begun.elapsed() < LIMITS.time, "{ids} still run: {script}");
                thread::sleep(PAUSE);
            }
        }
    }

    #[test]
    fn program_has_no_standard_input() {
        assert!(output(&mut sh("cat"), LIMITS).unwrap().is_empty());
    }
}
