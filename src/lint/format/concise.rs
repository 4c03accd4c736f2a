//! A line for each finding, as compilers print them.

use std::fmt::Write as _;

use super::super::finding::Finding;

pub(super) fn file(name: &str, findings: &[Finding]) -> String {
    let mut output = String::new();
    for finding in findings {
        let start = finding.place.start;
        let _ = write!(
            output,
            "{name}:{}:{}: {}[{}] {}",
            start.line,
            start.column,
            finding.severity,
            finding.rule,
            finding.sentence()
        );
        if let Some(mend) = &finding.mend {
            let _ = write!(output, "; {mend}");
        }
        output.push('\n');
    }
    output
}
