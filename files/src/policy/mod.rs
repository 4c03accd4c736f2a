//! `poolgate policy`: checks policy files before they are mounted, and prints their JSON Schema.

mod test;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use poolgate_core::diagnostic::counted;
use poolgate_core::policy::Policy;
use poolgate_core::policy_file::{ReadPolicy, schema};
use serde_json::Value;

use crate::crd::definition::{self, Overruled};
use crate::input::InputArgs;
use crate::policy_file::{self, LoadError, placed};
use crate::review_args::{CrdArg, instant};
use crate::terminal;

/// A file has a mistake.
const FOUND: u8 = 1;
/// A file could not be read.
const UNREADABLE: u8 = 2;

#[derive(Debug, Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Check policy files, and list every mistake with its line and column
    ///
    /// Exit codes: 0 no mistakes (notes allowed), 1 mistakes, 2 could not read a file.
    #[command(
        after_help = "Examples:\n  poolgate policy check policy.yaml\n  poolgate policy check --crd crd.yaml policy.yaml",
        mut_arg("crd", |arg| arg.help(
            "The installed NodePool CRD, to report defaults that have no effect with it \
             (`kubectl get crd nodepools.karpenter.sh -o yaml`)"
        ))
    )]
    Check {
        /// The policy files to check
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,

        #[command(flatten)]
        crd: CrdArg,

        /// Report exemptions that have ended by this time, or end within 14 days [default: now]
        #[arg(long, value_name = "TIME", value_parser = instant)]
        at: Option<Timestamp>,
    },
    /// Test a policy with cases: objects and their expected findings
    ///
    /// Exit codes: 0 all cases pass, 1 a case fails, 2 could not read a file, or found no case.
    #[command(
        after_help = "Examples:\n  poolgate policy test cases.yaml",
        mut_arg("policy", |arg| arg.help("The policy of all cases [default: the one that each file names]")),
        mut_arg("karpenter_version", |arg| arg.help(
            "The Karpenter release of all cases, such as 1.14.1 [default: the one that each file names, else that of its \
             policy, else the newest known]"
        ))
    )]
    Test {
        /// Files of kind PolicyTest, or folders that contain them
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,

        #[command(flatten, next_help_heading = "Read")]
        input: InputArgs,
    },
    /// Print the JSON Schema of a policy file, for editors
    #[command(after_help = "Examples:\n  poolgate policy schema >policy.schema.json")]
    Schema,
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &PolicyArgs) -> anyhow::Result<ExitCode> {
    let (output, code) = match &args.command {
        PolicyCommand::Check { files, crd, at } => {
            check(files, crd.definition(), at.unwrap_or_else(Timestamp::now))
        }
        PolicyCommand::Test { paths, input } => {
            let results = test::run(paths, input)?;
            let code = results.code();
            (results.output, code)
        }
        PolicyCommand::Schema => {
            let schema = serde_json::to_string_pretty(&schema())?;
            (schema + "\n", 0)
        }
    };
    terminal::print(output)?;
    if let (PolicyCommand::Check { files, .. }, 0) = (&args.command, code) {
        let checked = counted(files.len(), "policy file");
        terminal::remark(&format!("{checked} checked, no mistakes found"));
    }
    Ok(code.into())
}

/// The output about all files, and the exit code.
fn check(files: &[PathBuf], definition: Option<&Value>, at: Timestamp) -> (String, u8) {
    let mut output = String::new();
    let mut code = 0;
    for path in files {
        match policy_file::load(path) {
            Ok(read) => {
                notes(path, &read, definition, &mut output);
                ends(path, &read.policy, at, &mut output);
            }
            Err(LoadError::Wrong { path, mistakes }) => {
                code = code.max(FOUND);
                for mistake in &mistakes.shown {
                    let _ = writeln!(output, "{}", placed(&path, mistake));
                }
                if mistakes.omitted > 0 {
                    let _ = writeln!(output, "{}: {} more mistakes", path.display(), mistakes.omitted);
                }
            }
            Err(error) => {
                code = code.max(UNREADABLE);
                terminal::remark(&format!("error: {error}"));
            }
        }
    }
    (output, code)
}

/// Writes which settings of a valid file have no effect.
fn notes(path: &Path, read: &ReadPolicy, definition: Option<&Value>, output: &mut String) {
    let name = path.display();
    for note in &read.notes {
        let _ = writeln!(output, "{name}:{}: note: {}", note.position, note.message);
    }
    for line in definition
        .into_iter()
        .flat_map(|definition| without_effect(read, definition))
    {
        let _ = writeln!(output, "{name}: note: {line}");
    }
}

/// Writes which exemptions have ended, and which end soon.
fn ends(path: &Path, policy: &Policy, at: Timestamp, output: &mut String) {
    for (number, exemption) in policy.exemptions.iter().enumerate() {
        let (Some(until), Some(ends)) = (exemption.until, exemption.ends()) else {
            continue;
        };
        let what = match exemption.near_end(at) {
            _ if ends <= at => format!("this exemption ended after {until} and has no effect. Remove it"),
            Some(end) => format!("this exemption ends after {until}, {end}"),
            None => continue,
        };
        let _ = writeln!(output, "{}: note: exemptions[{number}]: {what}", path.display());
    }
}

/// One line for each default of the file that has no effect with a definition.
fn without_effect(reading: &ReadPolicy, definition: &Value) -> Vec<String> {
    let is_set = |field: &str| reading.defaults_set.contains(&field);
    let all = definition::overruled(definition, &reading.policy.defaults);
    let reported =
        |overruled: &&Overruled| is_set(overruled.field) && !overruled.is_reported_by_another_of(&all);
    let lines = all.iter().filter(reported).map(|overruled| {
        let when = if overruled.only_if_all_is_absent {
            " where a NodePool leaves out all of spec.disruption"
        } else {
            ""
        };
        format!(
            "defaults.{} has no effect on {}{when}. The installed CRD writes {} before poolgate is called. \
             `poolgate crd patch --policy FILE` changes it to {}",
            overruled.field, overruled.version, overruled.present, overruled.wanted
        )
    });
    lines.collect()
}
