//! Child processes: some run to their end under a deadline, some serve until the test drops them.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::wait::{PATIENCE, wait_for};

/// Puts the program in the shell's place and leaves a watcher beside it, which reads our end of a pipe. The
/// kernel closes that pipe however the test process ends, SIGKILL included; the watcher then kills the
/// program and removes its directory, twice or more where another program still writes into it. A line on
/// the pipe sends the watcher home: the program is gone and its process id may be somebody else's. Signals to the
/// whole process group do not end it: an API server that has lost its etcd outlives them.
pub(crate) const WATCHED: &str = r#"
directory=$1; shift
exec 3<&0 </dev/null
{
    trap '' HUP INT TERM
    read -r _ <&3 || {
        kill -KILL $$
        for _ in 1 2 3 4 5; do rm -rf "$directory" && break; sleep 0.2; done
    }
} >/dev/null 2>&1 &
exec "$@" 3<&-
"#;

/// A program that serves until it is dropped. It does not outlive the test process.
pub(crate) struct Process {
    name: String,
    child: Child,
    lifeline: ChildStdin,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with both output streams in the file `<name>.log` of `directory`, which belongs to
    /// the test: it is removed when the test process dies.
    pub(crate) fn start(name: &str, command: &Command, directory: &Path) -> Self {
        let log = directory.join(format!("{name}.log"));
        let output = File::create(&log).expect("a log file can be created");
        let mut watched = Command::new("sh");
        watched.args(["-c", WATCHED, "sh"]).arg(directory);
        watched.arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => watched.env(key, value),
                None => watched.env_remove(key),
            };
        }
        watched.stdin(Stdio::piped());
        watched.stdout(output.try_clone().expect("a file handle can be cloned"));
        watched.stderr(output);
        let mut child = watched
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let lifeline = child.stdin.take().expect("stdin is a pipe");
        Self {
            name: name.to_owned(),
            child,
            lifeline,
            log,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the program has written so far.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(&self.log).expect("the log file can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The exit status, when the program has stopped by itself.
    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Sends `signal` (a name without SIG).
    pub(crate) fn signal(&self, signal: &str) {
        // The shell's own `kill`: a small image has no program of that name.
        let mut kill = Command::new("sh");
        kill.args(["-c", r#"kill -s "$1" "$2""#, "sh", signal, &self.id().to_string()]);
        let sent = run(&mut kill, "");
        assert!(
            sent.status.success(),
            "no SIG{signal} to {}: {}",
            self.name,
            sent.stderr
        );
    }

    /// Waits until the program has stopped by itself.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let end = format!("{} to end", self.name);
        wait_for(&end, || self.exited())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to report from a drop, and nothing can wait here for long: the signal is SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.lifeline.write_all(b"\n");
    }
}

/// How a program ended that ran to its end, and what it said.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The standard output of a program that has to succeed.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert!(
            self.status.success(),
            "{}\n{}{}",
            self.status,
            self.stdout,
            self.stderr
        );
        self.stdout
    }
}

/// Runs `command` to its end. All three streams are files, so no pipe can fill up and block either side.
pub(crate) fn run(command: &mut Command, stdin: &str) -> Outcome {
    let stream = || tempfile::tempfile().expect("a temporary file can be created");
    let (mut input, mut stdout, mut stderr) = (stream(), stream(), stream());
    input
        .write_all(stdin.as_bytes())
        .expect("a temporary file can be written");
    input.rewind().expect("a file can be rewound");
    let clone = |file: &File| file.try_clone().expect("a file handle can be cloned");
    command.stdin(input).stdout(clone(&stdout)).stderr(clone(&stderr));
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));

    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!(
                "{command:?} took more than {PATIENCE:?}: {}{}",
                text(&mut stdout),
                text(&mut stderr)
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Outcome {
        status,
        stdout: text(&mut stdout),
        stderr: text(&mut stderr),
    }
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
