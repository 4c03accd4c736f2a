//! `poolgate lint`: manifests judged as the webhook would judge them, each finding at the place in the text where the
//! mistake stands.
//!
//! The verdict is `poolgate_core::review::review`, nothing else. Knows nothing of HTTP and of clusters.

mod args;
mod check;
mod colour;
mod finding;
mod format;
mod inputs;
mod parallel;
mod place;
mod problem_rules;
mod subjects;
mod tally;

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

pub(crate) use args::LintArgs;

use crate::manifest::{self, Limits, ReadError};
use check::{Judge, check};
use format::Printer;
use inputs::{Input, Inputs, Source};
use tally::Tally;

/// What one input came to.
struct Outcome {
    /// Its findings as they are printed.
    printed: String,
    tally: Tally,
    /// What is said beside the findings, a line each.
    remarks: Vec<String>,
}

/// Does what was asked. A reader who has gone is no failure: the exit code still tells the verdict.
pub(crate) fn run(args: &LintArgs) -> anyhow::Result<ExitCode> {
    let judge = Judge {
        policy: args.judged_by.policy()?,
        karpenter: args.judged_by.karpenter(),
    };
    let printer = Printer::new(args.format, colour::is_wanted(args.color));
    let Inputs {
        files,
        template_folders,
        failures,
    } = inputs::find(&args.paths);
    let mut tally = Tally {
        template_folders,
        ..Tally::default()
    };
    for failure in &failures {
        tally.unreadable += 1;
        remark(failure);
    }
    let mut output = Output(Some(io::stdout().lock()));
    output.write(printer.opening())?;
    let mut is_first = true;
    parallel::in_order(
        &files,
        |input| lint(input, &judge, printer),
        |outcome| {
            tally += &outcome.tally;
            outcome.remarks.iter().for_each(|line| remark(line));
            if outcome.printed.is_empty() {
                return Ok(());
            }
            if !is_first {
                output.write(printer.separator())?;
            }
            is_first = false;
            output.write(&outcome.printed)
        },
    )?;
    output.write(&printer.closing(&tally))?;
    if printer.wants_summary() {
        remark(&tally.to_string());
    }
    Ok(tally.exit_code(args).into())
}

fn lint(input: &Input, judge: &Judge, printer: Printer) -> Outcome {
    let mut tally = Tally {
        files: 1,
        ..Tally::default()
    };
    let text = match read(&input.source) {
        Ok(text) => text,
        Err(error) => {
            tally.unreadable = 1;
            return Outcome {
                printed: String::new(),
                tally,
                remarks: vec![format!("error: {} {error}", input.name)],
            };
        }
    };
    let findings = check(&text, judge, &mut tally);
    let remarks = match tally.omitted {
        0 => Vec::new(),
        more => vec![format!("{}: {more} more findings are not shown", input.name)],
    };
    Outcome {
        printed: printer.file(&input.name, &text, &findings),
        tally,
        remarks,
    }
}

fn read(source: &Source) -> Result<String, ReadError> {
    let limits = Limits::default();
    match source {
        Source::Stdin => manifest::read(io::stdin().lock(), &limits),
        Source::File(path) => manifest::read(File::open(path)?, &limits),
    }
}

/// Says something beside the results. Where nobody listens there is nobody left to tell.
fn remark(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Where the results go, until the reader has gone.
struct Output<W>(Option<W>);

impl<W: Write> Output<W> {
    fn write(&mut self, text: &str) -> io::Result<()> {
        let Some(writer) = &mut self.0 else { return Ok(()) };
        match writer.write_all(text.as_bytes()).and_then(|()| writer.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.0 = None;
                Ok(())
            }
            result => result,
        }
    }
}
