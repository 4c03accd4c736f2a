//! Formats of one line for each finding or rule: as compilers print them, as workflow commands of GitHub Actions, and how
//! many findings each rule has.

use std::cmp::Reverse;
use std::fmt::Write as _;

use poolgate_core::diagnostic::Severity;

use super::FileReport;
use super::tally::Tally;
use crate::text_rules;

/// `FILE:LINE:COLUMN: severity[rule]: OBJECT: title`.
pub fn concise(file: &FileReport<'_>) -> String {
    let mut output = String::new();
    for finding in file.findings {
        let (name, start) = (file.name, finding.place.start);
        let (severity, rule) = (finding.severity, finding.rule);
        let object = finding.object.as_ref();
        let object = object.map(|object| format!("{object}: ")).unwrap_or_default();
        let title = &finding.title;
        let _ = writeln!(output, "{name}:{start}: {severity}[{rule}]: {object}{title}");
    }
    output
}

/// `::error file=…::message`.
pub fn github(file: &FileReport<'_>) -> String {
    let mut output = String::new();
    for finding in file.findings {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let (start, end) = (finding.place.start, finding.place.end);
        let name = property(finding.file.as_deref().unwrap_or(file.name));
        let _ = write!(output, "::{command} file={name}");
        let has_lines = finding.file.is_none();
        if has_lines {
            let _ = write!(output, ",line={},endLine={}", start.line, end.line);
        }
        // Columns are only legal within one line, and the last one is part of the range.
        if has_lines && start.line == end.line {
            let last = end.column.saturating_sub(1).max(start.column);
            let _ = write!(output, ",col={},endColumn={last}", start.column);
        }
        let message = data(&finding.sentences());
        let _ = writeln!(output, ",title={}::{message}", property(finding.rule));
    }
    output
}

/// Escaped so that it ends neither the message nor the line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escaped so that it does not end the property either.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// One line for each rule, the one with the most findings first.
pub fn statistics(tally: &Tally) -> String {
    let mut rows: Vec<_> = tally.rules.iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(**count));
    let digits = rows.first().map_or(0, |(_, count)| count.to_string().len());
    let width = rows.iter().map(|(rule, _)| rule.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (rule, count) in rows {
        let title = text_rules::find_any(rule).map(|rule| rule.page().title);
        let title = title.unwrap_or_default().replace('`', "");
        let _ = writeln!(text, "{count:digits$}  {rule:width$}  {title}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_or_message_forges_a_command() {
        assert_eq!(property("a,b:c%\nd"), "a%2Cb%3Ac%25%0Ad");
        assert_eq!(data("100%\r\n::error::x"), "100%25%0D%0A::error::x");
    }
}
