//! How findings are printed.
//!
//! Each file is printed on its own, so that files can be worked on at once and a run of any length holds only a
//! few of them.

mod concise;
mod github;
mod human;
mod json;

use clap::ValueEnum;

use super::finding::Finding;
use super::tally::Tally;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// With the lines at fault, for people
    Human,
    /// A line each: file, line, column, severity, rule, message
    Concise,
    /// One JSON object, for programs
    Json,
    /// Workflow commands, which GitHub Actions shows beside the lines
    Github,
}

/// Prints findings in one format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer {
    format: Format,
    coloured: bool,
}

impl Printer {
    pub(super) fn new(format: Format, coloured: bool) -> Self {
        Self { format, coloured }
    }

    /// What stands before everything else.
    pub(super) fn opening(self) -> &'static str {
        match self.format {
            Format::Json => json::OPENING,
            Format::Human | Format::Concise | Format::Github => "",
        }
    }

    /// What stands between two files with findings.
    pub(super) fn separator(self) -> &'static str {
        match self.format {
            Format::Json => json::SEPARATOR,
            Format::Human | Format::Concise | Format::Github => "",
        }
    }

    /// The findings of one file; empty where there are none.
    pub(super) fn file(self, name: &str, text: &str, findings: &[Finding]) -> String {
        match self.format {
            Format::Human => human::file(name, text, findings, self.coloured),
            Format::Concise => concise::file(name, findings),
            Format::Json => json::file(name, findings),
            Format::Github => github::file(name, findings),
        }
    }

    /// What stands behind everything else.
    pub(super) fn closing(self, tally: &Tally) -> String {
        match self.format {
            Format::Json => json::closing(tally),
            Format::Human | Format::Concise | Format::Github => String::new(),
        }
    }

    /// Whether the summary is told beside the results; where it is not, it stands in them.
    pub(super) fn wants_summary(self) -> bool {
        self.format != Format::Json
    }
}
