//! Warnings as kubectl can show them.

use poolgate_core::diagnostic::{Diagnostic, Report, Severity};

/// Longest warning, in characters; the API server cuts longer ones if there are several.
const LONGEST: usize = 256;

/// Longest sum of all warnings of one answer, in characters; the API server drops the rest.
const LONGEST_SUM: usize = 4096;

/// The warnings of a report, each on one line, as many as fit.
pub fn warnings(report: &Report) -> Vec<String> {
    let mut shown = Vec::new();
    let mut room = LONGEST_SUM - LONGEST;
    for diagnostic in report.with_severity(Severity::Warning) {
        let line = one_line(diagnostic);
        let length = line.chars().count();
        if length > room {
            break;
        }
        room -= length;
        shown.push(line);
    }
    let hidden = report.count(Severity::Warning) - shown.len();
    if hidden > 0 {
        shown.push(format!("poolgate has {hidden} more warnings"));
    }
    shown
}

/// A finding on one line. A long one is cut at the end: what is wrong, the rule and the help come before the consequence.
fn one_line(diagnostic: &Diagnostic) -> String {
    let text = diagnostic.to_string();
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= LONGEST {
        return text.chars().map(plain).collect();
    }
    let kept = text.chars().map(plain).take(LONGEST - 1);
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use poolgate_core::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, RuleId};

    use super::*;

    fn report(reasons: &[&str]) -> Report {
        let mut report = Report::default();
        for reason in reasons {
            report.push(Diagnostic {
                rule: RuleId::new("test"),
                severity: Severity::Warning,
                own_severity: Severity::Warning,
                origin: Origin::Silent,
                path: FieldPath::of(&["spec"]),
                error_type: ErrorType::Required,
                title: (*reason).into(),
                consequence: None,
                remarks: Vec::new(),
                help: None,
                related: Vec::new(),
                is_lessened: false,
            });
        }
        report
    }

    #[test]
    fn a_warning_is_one_line_of_bearable_length() {
        let long = "ä".repeat(1000);
        let shown = warnings(&report(&["a\nb\u{1b}c", &long]));
        assert_eq!(shown[0], "spec: a b c [test].");
        assert_eq!(shown[1].chars().count(), LONGEST);
        assert!(shown[1].ends_with("ä…"), "{}", shown[1]);
    }

    #[test]
    fn a_long_consequence_is_cut_and_what_stands_before_it_is_not() {
        let finding = Diagnostic {
            rule: RuleId::new("test"),
            severity: Severity::Warning,
            own_severity: Severity::Warning,
            origin: Origin::Silent,
            path: FieldPath::of(&["spec"]),
            error_type: ErrorType::Required,
            title: "a field is missing".into(),
            consequence: Some("x".repeat(1000)),
            remarks: Vec::new(),
            help: Some("write 5".into()),
            related: Vec::new(),
            is_lessened: false,
        };
        let line = one_line(&finding);
        assert_eq!(line.chars().count(), LONGEST);
        assert!(
            line.starts_with("spec: a field is missing [test]. Write 5. "),
            "{line}"
        );
        assert!(line.ends_with("x…"), "{line}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let long = "x".repeat(1000);
        let shown = warnings(&report(&[long.as_str(); 40]));
        assert!(shown.iter().map(|line| line.chars().count()).sum::<usize>() <= LONGEST_SUM);
        assert_eq!(
            shown.last().map(String::as_str),
            Some("poolgate has 25 more warnings")
        );
        assert_eq!(shown.len(), 16);
    }
}
