//! A line for each finding, as compilers print them.

use std::fmt::Write as _;

use super::{FileReport, whole_sentence};
use poolgate_core::manifest::Position;

pub(super) fn file(file: &FileReport<'_>) -> String {
    let mut output = String::new();
    for finding in file.findings {
        let Position { line, column } = finding.place.start;
        let (name, severity, rule) = (file.name, finding.severity, finding.rule);
        let sentence = whole_sentence(finding);
        let _ = writeln!(output, "{name}:{line}:{column}: {severity}[{rule}] {sentence}");
    }
    output
}
