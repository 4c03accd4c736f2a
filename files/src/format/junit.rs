//! XML as `JUnit` writes it: a suite for each file with a NodePool, in it a test for each finding. Findings that
//! count as errors for the exit code are failures; other warnings and notes pass with an output.

use std::fmt::Write as _;

use poolgate_core::diagnostic::counted;

use super::FileReport;
use super::finding::Finding;
use super::tally::{Count, Tally};
use crate::terminal;

pub const OPENING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"poolgate lint\">\n";

/// The end. A run that reports on no file has a suite that says so: some readers take a list without a suite for a mistake.
pub fn closing(tally: &Tally) -> String {
    let found = [Count::Objects, Count::Errors, Count::Warnings, Count::Notes];
    let empty = if found.iter().all(|what| tally.of(*what) == 0) {
        "  <testsuite name=\"poolgate lint\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">
    <testcase name=\"no NodePool found\" classname=\"poolgate lint\"/>
  </testsuite>\n"
    } else {
        ""
    };
    format!("{empty}</testsuites>\n")
}

pub fn file(file: &FileReport<'_>) -> String {
    if file.objects == 0 && file.findings.is_empty() {
        return String::new();
    }
    let failures = file.findings.iter().filter(|finding| finding.is_failure());
    let failures = failures.count();
    let name = escaped(file.name);
    let mut output = String::new();
    let _ = writeln!(
        output,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">",
        file.findings.len().max(1)
    );
    if file.findings.is_empty() {
        let _ = writeln!(
            output,
            "    <testcase name=\"{}\" classname=\"{name}\" file=\"{name}\"/>",
            counted(file.objects, "object")
        );
    }
    for finding in file.findings {
        test(&mut output, &name, finding);
    }
    output.push_str("  </testsuite>\n");
    output
}

fn test(output: &mut String, file: &str, finding: &Finding) {
    let start = finding.place.start;
    let object = finding.object.as_ref().map(|object| format!(" {object}"));
    let field = finding.field.as_ref().map(|field| format!(" {field}"));
    let name = [Some(finding.rule.to_owned()), object, field];
    let name: String = name.into_iter().flatten().collect();
    let at = match &finding.file {
        Some(rendered_from) => format!("file=\"{}\"", escaped(rendered_from)),
        None => format!("file=\"{file}\" line=\"{}\"", start.line),
    };
    let name = escaped(&name);
    let _ = writeln!(output, "    <testcase name=\"{name}\" classname=\"{file}\" {at}>");
    let place = format!("line {}, column {}", start.line, start.column);
    let sentence = escaped(&finding.sentences());
    let _ = if finding.is_failure() {
        writeln!(
            output,
            "      <failure message=\"{sentence}\" type=\"{}\">{place}: {sentence}</failure>",
            finding.rule
        )
    } else {
        let severity = finding.severity;
        writeln!(
            output,
            "      <system-out>{severity}, {place}: {sentence}</system-out>"
        )
    };
    output.push_str("    </testcase>\n");
}

/// A text for the value of an attribute.
fn escaped(text: &str) -> String {
    terminal::xml(text).replace('"', "&quot;").replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_attribute_or_breaks_the_document() {
        assert_eq!(
            escaped("a<b>&\"'\u{1b}\u{ffff}池"),
            "a&lt;b&gt;&amp;&quot;&apos;\u{fffd}\u{fffd}池"
        );
    }
}
