//! Findings, and how they are printed.
//!
//! Each file is printed separately, so that files can be checked in parallel and a run of any length keeps only a
//! few of them in memory.

pub mod finding;
mod gitlab;
mod human;
mod json;
mod junit;
mod line_hash;
mod lines;
pub mod output;
mod sarif;
pub mod summary;
pub mod tally;

use std::fmt::Write as _;

use clap::ValueEnum;
use serde_json::Value;

use crate::edit;
use finding::Finding;
use summary::Summary;

/// The formats that findings are printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with the lines at fault
    Human,
    /// One line per finding: file, line, column, severity, rule, message
    Concise,
    /// One JSON object, for programs
    Json,
    /// Workflow commands, which GitHub Actions shows beside the lines
    Github,
    /// A Code Quality report, which GitLab shows in merge requests
    Gitlab,
    /// `JUnit` XML: a test for each file, a failure for each error
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// What fixes would change
    #[value(skip)]
    Diff,
    /// How many findings each rule has
    #[value(skip)]
    Statistics,
}

/// One file as it is printed.
#[derive(Debug, Clone, Copy)]
pub struct FileReport<'a> {
    /// The name of the file as it is printed.
    pub name: &'a str,
    /// The whole text of the file, to quote from.
    pub text: &'a str,
    /// How many NodePools and NodeClaims it holds.
    pub objects: usize,
    /// In the order of the text.
    pub findings: &'a [Finding],
    /// The text with its fixes, if fixes were requested.
    pub fixed: Option<&'a str>,
}

/// Where the rules are explained, if the user gives a URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct RulePages<'a>(pub Option<&'a str>);

impl RulePages<'_> {
    /// The URL at which a rule is explained.
    pub fn url(self, rule: &str) -> Option<String> {
        self.0.map(|page| format!("{page}#{rule}"))
    }
}

/// How the human format looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    pub coloured: bool,
    /// The columns of the terminal; `None` if it is not a terminal.
    pub width: Option<usize>,
}

/// Prints findings in one format.
#[derive(Debug, Clone, Copy)]
pub struct Printer<'a> {
    pub format: Format,
    pub pages: RulePages<'a>,
    pub look: Look,
}

impl Printer<'_> {
    /// The text before everything else.
    pub fn opening(self) -> &'static str {
        match self.format {
            Format::Json => json::OPENING,
            Format::Gitlab => gitlab::OPENING,
            Format::Junit => junit::OPENING,
            Format::Sarif => sarif::OPENING,
            _ => "",
        }
    }

    /// The text between two files that are printed.
    pub fn separator(self) -> &'static str {
        match self.format {
            Format::Json | Format::Gitlab | Format::Sarif => ",\n",
            _ => "",
        }
    }

    /// The text of one file; empty if there is nothing to report.
    pub fn file(self, file: &FileReport<'_>) -> String {
        match self.format {
            Format::Human => human::file(file, self.look, self.pages),
            Format::Concise => lines::concise(file),
            Format::Json => json::file(file),
            Format::Github => lines::github(file),
            Format::Gitlab => gitlab::file(file),
            Format::Junit => junit::file(file),
            Format::Sarif => sarif::file(file),
            Format::Diff => {
                let diff = |fixed| edit::diff(file.name, "fixes", file.text, fixed);
                file.fixed.map(diff).unwrap_or_default()
            }
            Format::Statistics => String::new(),
        }
    }

    /// The text after everything else.
    pub fn closing(self, summary: Summary<'_>) -> String {
        match self.format {
            Format::Json => json::closing(summary),
            Format::Gitlab => gitlab::CLOSING.into(),
            Format::Junit => junit::closing(summary.tally),
            Format::Sarif => sarif::closing(summary.tally, self.pages),
            Format::Statistics => lines::statistics(summary.tally),
            Format::Human | Format::Concise | Format::Github | Format::Diff => String::new(),
        }
    }

    /// Whether people read it: then a summary is reported beside the results.
    pub fn is_for_people(self) -> bool {
        matches!(
            self.format,
            Format::Human | Format::Concise | Format::Github | Format::Diff | Format::Statistics
        )
    }
}

/// The elements of a JSON list, without its brackets.
fn listed(items: impl Iterator<Item = Value>) -> String {
    let mut output = String::new();
    for item in items {
        let before = if output.is_empty() { "" } else { ",\n" };
        let _ = write!(output, "{before}{item}");
    }
    output
}

/// An object without the fields that are null or an empty list.
pub(crate) fn without_empty(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    }
    object
}

/// A path as part of a URI (RFC 3986): reserved characters are percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_uri_whatever_it_holds() {
        assert_eq!(uri("pools/a-b_1.yaml"), "pools/a-b_1.yaml");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
        assert_eq!(uri("池 #?.yaml"), "%E6%B1%A0%20%23%3F.yaml");
    }
}
