//! The oracle as a process: questions in, answers out, a deadline for each, and a new process after a question that
//! crashes it. The protocol is at the top of `tests/programs/oracle/main.go`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use poolgate_core::facts::ApiVersion;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::case::Case;
use super::effort::{is_full, is_set};

use crate::assets;

/// The version of the protocol that this module speaks.
const PROTOCOL: u64 = 5;

/// How long an answer may take. The oracle itself gives up after a second of processor time; this is for an oracle
/// that cannot even do that, on a busy machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// The exit code for an unreadable question, which is our mistake.
const UNREADABLE: i32 = 4;

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The answer, as in the protocol.
    Given(Value),
    /// No answer: Karpenter's code hangs or crashes on the question. The reason, as far as known.
    Harmed(String),
}

/// The definition that an oracle serves.
#[derive(Clone, Copy)]
pub(crate) enum Definition {
    /// That of the linked Karpenter.
    Linked,
    /// That of Karpenter 1.14, which requires `consolidateAfter` and has no default for it.
    Behind,
    /// That of a provider: a file in `tests/data/crds`.
    Provider(&'static str),
}

/// A running oracle.
pub(crate) struct Oracle {
    /// Its name.
    name: &'static str,
    definition: Definition,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// An oracle for each version of the API.
pub(crate) struct Oracles {
    newest: Oracle,
    /// The newest Karpenter behind the definition of 1.14.
    behind: Oracle,
    /// Karpenter 1.0.8, the last with types for v1beta1. Without it, only the definition of v1beta1 is known.
    before: Option<Oracle>,
}

impl Oracles {
    /// Starts them: the one for v1beta1 in a full run, or if `POOLGATE_ORACLE_V1BETA1` is `1`.
    pub(crate) fn start() -> Self {
        let is_wanted = is_full() || is_set("POOLGATE_ORACLE_V1BETA1");
        Self {
            newest: Oracle::start(),
            behind: Oracle::run("oracle-1.15.0", Definition::Behind),
            before: is_wanted.then(|| Oracle::run("oracle-1.0.8", Definition::Linked)),
        }
    }

    /// The oracle for a case.
    pub(crate) fn of(&mut self, case: &Case) -> &mut Oracle {
        match (case.version, &mut self.before) {
            (ApiVersion::V1, _) if case.is_behind => &mut self.behind,
            (ApiVersion::V1Beta1, Some(before)) => before,
            _ => &mut self.newest,
        }
    }
}

/// A question about an object, and on an update about the stored one.
pub(crate) fn question(kind: &str, object: &Value, old: Option<&Value>) -> Value {
    let mut question = json!({"kind": kind, "object": object});
    if let Some(old) = old {
        question["old"] = old.clone();
    }
    question
}

/// The definition of Karpenter 1.14.
fn definition_behind() -> NamedTempFile {
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/core/tests/data/karpenter-crds.jsonl"
    );
    let record = std::fs::read_to_string(record).expect("the record can be read");
    let mut lines = record
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the record is JSON"));
    let is_meant = |line: &Value| {
        let releases = line["releases"].as_array();
        line["crd"]["spec"]["names"]["kind"] == "NodePool"
            && releases.is_some_and(|releases| releases.iter().any(|release| release == "1.14.3"))
    };
    let found = lines.find(is_meant).expect("the record has the release");
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(found["crd"].to_string().as_bytes())
        .expect("a definition can be written");
    file
}

/// A definition that was published.
fn published(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/crds")
        .join(file)
}

impl Oracle {
    /// Starts the one that links the newest Karpenter.
    pub(crate) fn start() -> Self {
        Self::with(Definition::Linked)
    }

    /// The same with another definition.
    pub(crate) fn with(definition: Definition) -> Self {
        Self::run("oracle-1.15.0", definition)
    }

    fn run(name: &'static str, definition: Definition) -> Self {
        let program = assets::program(name);
        // It is read before the greeting is written.
        let behind = matches!(definition, Definition::Behind).then(definition_behind);
        let instead = match definition {
            Definition::Linked => None,
            Definition::Behind => behind.as_ref().map(|file| file.path().to_owned()),
            Definition::Provider(file) => Some(published(file)),
        };
        let older = published("karpenter-1.0.8-nodepools.yaml");
        let instead = instead
            .as_ref()
            .map(|file| ["-instead".as_ref(), file.as_os_str()]);
        let mut child = Command::new(&program)
            .args(instead.into_iter().flatten())
            .arg(older)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, lines) = channel();
        // Ends with the process, whose stdout it reads, or with the receiver.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let greeting = lines.recv_timeout(DEADLINE).expect("the oracle greets");
        let greeting: Value = serde_json::from_str(&greeting).expect("the greeting is JSON");
        assert_eq!(greeting["protocol"], PROTOCOL, "{greeting}");
        Self {
            name,
            definition,
            stdin: child.stdin.take(),
            child,
            lines,
        }
    }

    /// Asks all questions and returns an answer for each.
    pub(crate) fn ask(&mut self, questions: &[Value]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(questions.len());
        while let Some(rest) = questions.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            self.ask_until_harmed(rest, &mut answers);
        }
        answers
    }

    /// Asks the one question.
    pub(crate) fn ask_one(&mut self, question: Value) -> Answer {
        self.ask(&[question]).remove(0)
    }

    /// Asks questions up to and including the first that crashes the oracle.
    fn ask_until_harmed(&mut self, questions: &[Value], answers: &mut Vec<Answer>) {
        let mut written = String::new();
        for question in questions {
            written.push_str(&question.to_string());
            written.push('\n');
        }
        let mut stdin = self.stdin.take().expect("a running oracle has a stdin");
        // A separate writer thread: the oracle answers while it reads, and pipes hold little. It ends when
        // everything is written or the oracle has ended.
        let writer = thread::spawn(move || {
            let _ = stdin.write_all(written.as_bytes());
            stdin
        });
        let harmed = questions.iter().find_map(|question| match self.answer(question) {
            Answer::Harmed(why) => Some(why),
            given @ Answer::Given(_) => {
                answers.push(given);
                None
            }
        });
        if let Some(why) = harmed {
            answers.push(Answer::Harmed(why));
            *self = Self::run(self.name, self.definition);
        } else {
            self.stdin = writer.join().ok();
        }
    }

    /// The next answer. After [`Answer::Harmed`] the process is gone.
    fn answer(&mut self, question: &Value) -> Answer {
        let line = match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return self.end("no answer within the deadline"),
            Err(RecvTimeoutError::Disconnected) => return self.end("the process died"),
        };
        let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
        match answer["harmed"].as_str() {
            Some(why) => self.end(why),
            None => Answer::Given(answer).checked(question),
        }
    }

    fn end(&mut self, why: &str) -> Answer {
        if why != "the process died" {
            let _ = self.child.kill();
        }
        let status = self.child.wait().expect("a child can be waited for");
        assert_ne!(
            status.code(),
            Some(UNREADABLE),
            "the oracle could not read a question"
        );
        Answer::Harmed(format!("{why} ({status})"))
    }
}

impl Answer {
    fn checked(self, question: &Value) -> Self {
        if let Self::Given(answer) = &self {
            assert!(answer.is_object(), "{answer} is no answer to {question}");
        }
        self
    }

    /// The answer to a question that cannot harm the oracle.
    pub(crate) fn given(self) -> Value {
        match self {
            Self::Given(answer) => answer,
            Self::Harmed(why) => panic!("the oracle did not survive a harmless question: {why}"),
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Nothing to report from a drop: the process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
