//! A line for each finding, as compilers print them.

use std::fmt::Write as _;

use super::{FileReport, whole_sentence};

pub(super) fn file(file: &FileReport<'_>) -> String {
    let mut output = String::new();
    for finding in file.findings {
        let start = finding.place.start;
        let _ = writeln!(
            output,
            "{}:{}:{}: {}[{}] {}",
            file.name,
            start.line,
            start.column,
            finding.severity,
            finding.rule,
            whole_sentence(finding)
        );
    }
    output
}
