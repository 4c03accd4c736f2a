//! The ratchet: an update is not denied for a mistake that the stored object already has and the update leaves
//! unchanged, or makes smaller.

use std::collections::VecDeque;

use crate::diagnostic::{Diagnostic, FieldPath, Segment, Severity};
use crate::json::Json;

/// Added to a mistake that the ratchet forgives.
const FORGIVEN: &str = "stored before, so not denied";

/// How many compared units are kept; no finding depends on more lists.
const COMPARED: usize = 4;

/// Compares the old and new object of an update.
#[derive(Debug)]
pub struct Ratchet<'a> {
    object: &'a Json<'a>,
    /// The stored object; `None` for a new one.
    old: Option<&'a Json<'a>>,
    /// The units that were compared last. Consecutive findings are often about the same list or two, and comparing
    /// those again for each finding would take quadratic time.
    compared: VecDeque<(FieldPath, bool)>,
}

impl<'a> Ratchet<'a> {
    pub fn new(object: &'a Json<'a>, old: Option<&'a Json<'a>>) -> Self {
        Self {
            object,
            old,
            compared: VecDeque::with_capacity(COMPARED),
        }
    }

    /// Whether the update changes no field that a finding is about, or makes the mistake smaller.
    pub fn forgives(&mut self, diagnostic: &Diagnostic) -> bool {
        self.old.is_some() && (diagnostic.is_lessened || self.is_stored(diagnostic))
    }

    /// Whether this is an update that leaves the fields of a finding as they are stored.
    pub fn is_stored(&mut self, diagnostic: &Diagnostic) -> bool {
        let Some(old) = self.old else { return false };
        std::iter::once(&diagnostic.path)
            .chain(&diagnostic.related)
            .all(|path| {
                let unit = unit_of(path);
                if let Some((_, untouched)) = self.compared.iter().find(|(compared, _)| *compared == unit) {
                    return *untouched;
                }
                let untouched = is_same(&unit, self.object, old);
                self.compared.truncate(COMPARED - 1);
                self.compared.push_front((unit, untouched));
                untouched
            })
    }
}

/// Lowers a mistake that the ratchet forgives to a warning.
pub fn forgive(mistake: &mut Diagnostic) {
    mistake.severity = Severity::Warning;
    mistake.remark(FORGIVEN);
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

fn is_same(unit: &FieldPath, object: &Json<'_>, old: &Json<'_>) -> bool {
    match (unit.find(object), unit.find(old)) {
        (Some(new), Some(old)) => new == old,
        (None, None) => was_missing(unit, object, old),
        _ => false,
    }
}

/// Whether a field that neither object has was already missing in the old one: not if only the new object has the
/// parent that requires it.
fn was_missing(unit: &FieldPath, object: &Json<'_>, old: &Json<'_>) -> bool {
    unit.parent().is_none_or(|parent| {
        if parent.find(old).is_some() {
            return true;
        }
        parent.find(object).is_none() && was_missing(&parent, object, old)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnostic::ErrorType;
    use crate::facts::shape::nodepool;
    use crate::facts::{ApiVersion, TargetKarpenter};
    use crate::policy::Policy;
    use crate::rules::context::Context;
    use crate::rules::fields::FIELD_TYPE;
    use crate::rules::findings::Findings;

    fn severity(path: FieldPath, related: &[FieldPath], object: &Value, old: Option<&Value>) -> Severity {
        let policy = Policy::default();
        let karpenter = TargetKarpenter::default();
        let now = jiff::Timestamp::default();
        let context = Context::new(nodepool(ApiVersion::V1), None, now, &policy, &karpenter);
        let (object, old) = (Json::from(object), old.map(Json::from));
        let mut findings = Findings::new(&object, old.as_ref(), context);
        findings
            .report(&FIELD_TYPE, path, ErrorType::Required, "")
            .related = related.to_vec();
        findings.into_report().diagnostics()[0].severity
    }

    #[test]
    fn nothing_is_forgiven_on_create() {
        let object = json!({"spec": {"limits": {"cpu": "x"}}});
        assert_eq!(
            severity(FieldPath::of(&["spec", "limits", "cpu"]), &[], &object, None),
            Severity::Error
        );
    }

    #[test]
    fn a_list_is_compared_as_a_whole_and_a_map_key_by_key() {
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
    fn a_missing_field_is_forgiven_only_if_its_parent_lacked_it_before() {
        let path = || FieldPath::of(&["spec", "disruption", "consolidateAfter"]);
        let with = json!({"spec": {"disruption": {}}});
        let without = json!({"spec": {}});
        assert_eq!(severity(path(), &[], &with, Some(&with)), Severity::Warning);
        assert_eq!(severity(path(), &[], &with, Some(&without)), Severity::Error);
    }
}
