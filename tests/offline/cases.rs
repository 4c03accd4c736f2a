//! Cases of commands: a folder of `tests/cases/COMMAND` has input files and a transcript, `case.txt`. tests/README.md says
//! how to write one. `POOLGATE_WRITE=1` writes what the commands print now.

mod runner;
mod scene;
mod transcript;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use crate::support::program::root;

fn folder() -> PathBuf {
    root().join("tests/cases")
}

fn check(command: &str) {
    let writes = env::var_os("POOLGATE_WRITE").is_some();
    match runner::check(&folder(), command, writes) {
        // Not by a macro: a test that passes hides what those print.
        Ok(summary) => std::io::stderr().write_all(summary.as_bytes()).expect("a stream"),
        Err(report) => panic!("{report}"),
    }
}

/// One test for each folder: a command, or what several read alike.
macro_rules! commands {
    ($($command:ident)*) => {
        const COMMANDS: &[&str] = &[$(stringify!($command)),*];
        $(
            #[test]
            fn $command() {
                check(stringify!($command));
            }
        )*
    };
}

commands! { admit budgets default diff lint policy reading schema upgrade why }

#[test]
fn each_folder_of_cases_is_run() {
    let entries = fs::read_dir(folder())
        .expect("the cases")
        .map(|entry| entry.expect("a file"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let folders: BTreeSet<String> = folders
        .map(|entry| entry.file_name().into_string().expect("UTF-8"))
        .collect();
    let commands: BTreeSet<String> = COMMANDS.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(folders, commands);
}
