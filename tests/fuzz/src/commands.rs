//! The commands on files, in this process: their command lines are parsed once, and each run reads the same file again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use poolgate_core::manifest::Lines;
use poolgate_files::cli::FileCommand;
use poolgate_files::sources::cluster::{Cluster, ClusterReadError, KubeArgs};
use serde_json::Value;
use tempfile::TempDir;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: FileCommand,
}

/// The commands, all about one file. What they print is for `-close_fd_mask=3`.
pub struct Commands {
    folder: TempDir,
    file: PathBuf,
    lint: FileCommand,
    fix: FileCommand,
    default: FileCommand,
    budgets: [FileCommand; 2],
}

/// What `lint` found.
pub struct Found {
    pub results: Vec<Value>,
    pub summary: Value,
}

impl Commands {
    /// About a file of this name.
    pub fn about(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            TempDir::new_in(memory)
        } else {
            TempDir::new()
        };
        let folder = folder.expect("a temporary folder");
        let file = folder.path().join(name);
        let output = format!("json={}", folder.path().join("found").display());
        let parse = |arguments: &[&str]| {
            let path = file.to_str().expect("a path in UTF-8");
            let arguments = [&["fuzz"], arguments, &[path]].concat();
            Cli::try_parse_from(arguments)
                .unwrap_or_else(|error| panic!("{error}"))
                .command
        };
        Self {
            lint: parse(&["lint", "--isolated", "-o", &output]),
            fix: parse(&["lint", "--isolated", "-o", &output, "--fix"]),
            default: parse(&["default", "--isolated", "--write"]),
            budgets: [
                parse(&["budgets", "--at", "2026-01-05T10:00:00Z"]),
                parse(&["budgets", "--at", "2026-01-05T10:00:00Z", "-o", "json"]),
            ],
            file,
            folder,
        }
    }

    /// What `lint` finds in a text.
    pub fn lint(&self, text: &str) -> Found {
        self.write(text);
        run(&self.lint);
        self.found()
    }

    /// The text that `lint --fix` leaves.
    pub fn fix(&self, text: &str) -> String {
        self.write(text);
        run(&self.fix);
        self.read()
    }

    /// The text that `default --write` leaves, and whether all of it could be completed.
    pub fn default(&self, text: &str) -> (String, bool) {
        self.write(text);
        let code = run(&self.default);
        (self.read(), code == ExitCode::SUCCESS)
    }

    /// Runs `budgets` on a text.
    pub fn budgets(&self, text: &str) {
        self.write(text);
        for command in &self.budgets {
            run(command);
        }
    }

    fn write(&self, text: &str) {
        fs::write(&self.file, text).expect("the file can be written");
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.file).expect("the file is a text")
    }

    fn found(&self) -> Found {
        let report = fs::read(self.folder.path().join("found")).expect("a report");
        let mut report: Value = serde_json::from_slice(&report).expect("it is JSON");
        let results = report["results"].take();
        Found {
            results: serde_json::from_value(results).expect("a list"),
            summary: report["summary"].take(),
        }
    }
}

fn run(command: &FileCommand) -> ExitCode {
    command
        .run(Cli::command(), no_cluster)
        .unwrap_or(ExitCode::from(2))
}

fn no_cluster(_: &KubeArgs) -> Result<Cluster, ClusterReadError> {
    Err(ClusterReadError("no cluster is read here".into()))
}

/// The text with the edits of findings, as an editor makes them; `None` if there are none.
pub fn edited(text: &str, found: &Found) -> Option<String> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let lines = Lines::new(text);
    let places = text.char_indices().map(|(offset, _)| offset).chain([text.len()]);
    let places: Vec<_> = places
        .map(|offset| (lines.position(offset), offset))
        .filter(|(_, offset)| *offset >= mark)
        .collect();
    let offset = |edit: &Value, line: &str, column: &str| {
        let number = |field: &str| {
            edit[field]
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
        };
        let place = (number(line).expect("a line"), number(column).expect("a column"));
        let at = places.binary_search_by_key(&place, |(position, _)| (position.line, position.column));
        at.map(|at| places[at].1)
            .unwrap_or_else(|_| panic!("{edit} is not in the text"))
    };
    let edits = found
        .results
        .iter()
        .map(|result| &result["edit"])
        .filter(|edit| !edit.is_null());
    let mut edits: Vec<(usize, usize, &str)> = edits
        .map(|edit| {
            let (start, end) = (
                offset(edit, "line", "column"),
                offset(edit, "endLine", "endColumn"),
            );
            (start, end, edit["text"].as_str().expect("a text"))
        })
        .collect();
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    edits.dedup_by(|(next, ..), (_, end, _)| *next < *end);
    let mut edited = text.to_owned();
    for (start, end, new) in edits.iter().rev() {
        edited.replace_range(*start..*end, new);
    }
    (!edits.is_empty()).then_some(edited)
}
