//! Where rules put what they find, and the ratchet: an update is not refused for what it does not touch.

use serde_json::Value;

use super::Context;
use crate::diagnostic::{Diagnostic, FieldPath, Report, Segment, Severity};

/// Said of a mistake that is no longer held against the user.
const FORGIVEN: &str = " (stored already and untouched by this update, so not refused)";

/// The findings of one review.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    object: &'a Value,
    old: Option<&'a Value>,
    report: Report,
    /// The unit that was compared last. Findings come in runs on one list, and comparing it again for each of
    /// them would cost the square of its length.
    compared: Option<(FieldPath, bool)>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet in `object`.
    pub(crate) fn new(object: &'a Value, context: &Context<'a>) -> Self {
        Self {
            object,
            old: context.old,
            report: Report::default(),
            compared: None,
        }
    }

    /// Takes a finding in. An error on fields that the update leaves as they were becomes a warning.
    pub(crate) fn push(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error && self.is_untouched(&diagnostic) {
            diagnostic = forgiven(diagnostic);
        }
        self.report.push(diagnostic);
    }

    /// All that was found.
    pub(crate) fn into_report(self) -> Report {
        self.report
    }

    fn is_untouched(&mut self, diagnostic: &Diagnostic) -> bool {
        let Some(old) = self.old else { return false };
        std::iter::once(&diagnostic.path)
            .chain(&diagnostic.related)
            .all(|path| {
                let unit = unit_of(path);
                match &self.compared {
                    Some((compared, untouched)) if *compared == unit => *untouched,
                    _ => {
                        let untouched = is_same(&unit, self.object, old);
                        self.compared = Some((unit, untouched));
                        untouched
                    }
                }
            })
    }
}

/// The finding as a warning, if it is an error.
pub(super) fn forgiven(mut diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.severity == Severity::Error {
        diagnostic.severity = Severity::Warning;
        diagnostic.reason.push_str(FORGIVEN);
    }
    diagnostic
}

/// The value that counts as one when the API server compares old and new: every list of a NodePool is atomic,
/// so it is the outermost list around the path, or else the field itself.
fn unit_of(path: &FieldPath) -> FieldPath {
    path.segments()
        .iter()
        .take_while(|segment| matches!(segment, Segment::Key(_)))
        .cloned()
        .collect()
}

fn is_same(unit: &FieldPath, object: &Value, old: &Value) -> bool {
    match (unit.find(object), unit.find(old)) {
        (Some(new), Some(old)) => new == old,
        // A field that is missing in both was missing before only if there was something to miss it in.
        (None, None) => unit.parent().is_none_or(|parent| parent.find(old).is_some()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::{Problem, RuleId};
    use crate::karpenter::Karpenter;

    fn severity(path: FieldPath, related: &[FieldPath], object: &Value, old: Option<&Value>) -> Severity {
        let karpenter = Karpenter::default();
        let context = Context {
            old,
            karpenter: &karpenter,
            release: karpenter.release(),
        };
        let mut findings = Findings::new(object, &context);
        findings.push(Diagnostic {
            rule: RuleId::new("test"),
            severity: Severity::Error,
            path,
            problem: Problem::Required,
            reason: String::new(),
            mend: None,
            related: related.to_vec(),
        });
        findings.into_report().diagnostics()[0].severity
    }

    #[test]
    fn a_creation_forgives_nothing() {
        let object = json!({"spec": {"limits": {"cpu": "x"}}});
        assert_eq!(
            severity(FieldPath::of(&["spec", "limits", "cpu"]), &[], &object, None),
            Severity::Error
        );
    }

    #[test]
    fn a_list_is_one_value_and_a_map_goes_key_by_key() {
        let old = json!({"spec": {"budgets": [{"nodes": "x"}, {"nodes": "1"}], "limits": {"cpu": "x", "gpu": "1"}}});
        let new = json!({"spec": {"budgets": [{"nodes": "x"}, {"nodes": "2"}], "limits": {"cpu": "x", "gpu": "2"}}});
        let in_list = FieldPath::of(&["spec", "budgets"]).index(0).key("nodes");
        let in_map = FieldPath::of(&["spec", "limits", "cpu"]);
        assert_eq!(severity(in_list.clone(), &[], &new, Some(&old)), Severity::Error);
        assert_eq!(severity(in_list, &[], &old, Some(&old)), Severity::Warning);
        assert_eq!(severity(in_map, &[], &new, Some(&old)), Severity::Warning);
    }

    #[test]
    fn a_finding_on_several_fields_is_forgiven_only_if_all_are_untouched() {
        let old = json!({"a": 1, "b": 1});
        let new = json!({"a": 1, "b": 2});
        let [a, b] = [FieldPath::of(&["a"]), FieldPath::of(&["b"])];
        assert_eq!(
            severity(a.clone(), std::slice::from_ref(&b), &new, Some(&old)),
            Severity::Error
        );
        assert_eq!(severity(a, &[b], &old, Some(&old)), Severity::Warning);
    }

    #[test]
    fn a_missing_field_is_forgiven_only_where_its_parent_lacked_it_before() {
        let path = || FieldPath::of(&["spec", "disruption", "consolidateAfter"]);
        let with = json!({"spec": {"disruption": {}}});
        let without = json!({"spec": {}});
        assert_eq!(severity(path(), &[], &with, Some(&with)), Severity::Warning);
        assert_eq!(severity(path(), &[], &with, Some(&without)), Severity::Error);
    }
}
