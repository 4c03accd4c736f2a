//! A line for each finding, as compilers print them.

use std::fmt::Write as _;

use super::{FileReport, whole_sentence};

pub fn file(file: &FileReport<'_>) -> String {
    let mut output = String::new();
    for finding in file.findings {
        let (name, start) = (file.name, finding.place.start);
        let (severity, rule) = (finding.severity, finding.rule);
        let sentence = whole_sentence(finding);
        let _ = writeln!(output, "{name}:{start}: {severity}[{rule}] {sentence}");
    }
    output
}
