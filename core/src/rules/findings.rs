//! Where rules put what they find, and where it is settled how much that weighs: the policy's level for the rule,
//! then its exemptions, then the ratchet (an update is not refused for what it does not touch), then whether the
//! policy refuses at all.

use std::collections::VecDeque;

use serde_json::Value;

use super::context::Context;
use crate::diagnostic::{Diagnostic, FieldPath, Origin, Report, Segment, Severity};
use crate::policy::{Enforcement, Exemption, Level, Policy};
use crate::rule::Rule;

/// Said of a mistake that is no longer held against the user.
const FORGIVEN: &str = " (stored before, so not refused)";

/// How many compared units are kept; no finding rests on more lists.
const COMPARED: usize = 4;

/// Said of a mistake that the policy only warns of.
const NOT_ENFORCED: &str = " (not enforced yet, so not refused)";

/// The same of one that is refused whatever poolgate says.
const REFUSED_UNENFORCED: &str = " (not enforced yet, but Karpenter refuses it)";

/// Said of such a mistake where the policy gives its rule a lower level.
const REFUSED_LOWERED: &str = " (lowered by the policy, but Karpenter refuses it)";

/// The findings of one review.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    object: &'a Value,
    old: Option<&'a Value>,
    policy: &'a Policy,
    /// The exemptions that cover the object; none while nothing was found, because most objects are fine.
    exemptions: Option<Vec<&'a Exemption>>,
    report: Report,
    /// The units that were compared last. Findings come in runs on one list or two, and comparing those again for
    /// each finding would cost the square of their length.
    compared: VecDeque<(FieldPath, bool)>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet in `object`.
    pub(crate) fn new(object: &'a Value, context: &Context<'a>) -> Self {
        Self {
            object,
            old: context.old,
            policy: context.policy,
            exemptions: None,
            report: Report::default(),
            compared: VecDeque::with_capacity(COMPARED),
        }
    }

    /// Whether anybody wants to hear of a rule: it is on, or the policy switches it on.
    pub(super) fn wants(&self, rule: &Rule) -> bool {
        rule.severity.is_some() || self.policy.levels.of(rule.id, Origin::Silent).is_some()
    }

    /// Takes a finding in, with the weight that policy and ratchet leave it.
    pub(crate) fn push(&mut self, mut diagnostic: Diagnostic) {
        let is_refused = diagnostic.severity == Severity::Error && diagnostic.origin.is_karpenters();
        match self.policy.levels.of(diagnostic.rule, diagnostic.origin) {
            Some(Level::Off) => return,
            Some(Level::Severity(severity)) => diagnostic.severity = severity,
            None => {}
        }
        if is_refused && diagnostic.severity < Severity::Error {
            diagnostic.reason.push_str(REFUSED_LOWERED);
        }
        self.spare(&mut diagnostic);
        if diagnostic.severity == Severity::Error && self.is_untouched(&diagnostic) {
            diagnostic = forgiven(diagnostic);
        }
        if diagnostic.severity == Severity::Error && self.policy.enforcement == Enforcement::Warn {
            diagnostic.severity = Severity::Warning;
            diagnostic.reason.push_str(if is_refused {
                REFUSED_UNENFORCED
            } else {
                NOT_ENFORCED
            });
        }
        self.report.push(diagnostic);
    }

    /// Lowers the severity as far as the first exemption says that covers object and rule.
    fn spare(&mut self, diagnostic: &mut Diagnostic) {
        let (policy, object) = (self.policy, self.object);
        let exemptions = self.exemptions.get_or_insert_with(|| covering(policy, object));
        let weighed = exemptions
            .iter()
            .find_map(|exemption| Some((exemption, exemption.weight(diagnostic.rule, diagnostic.origin)?)));
        let Some((exemption, weight)) = weighed.filter(|(_, weight)| *weight < diagnostic.severity) else {
            return;
        };
        diagnostic.severity = weight;
        diagnostic.reason.push_str(" (exempt by the policy");
        if let Some(reason) = &exemption.reason {
            diagnostic.reason.push_str(": ");
            diagnostic.reason.push_str(reason);
        }
        if weight == Severity::Warning {
            diagnostic.reason.push_str(", but Karpenter refuses it");
        }
        diagnostic.reason.push(')');
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

/// The finding as a warning, if it is an error.
pub(super) fn forgiven(mut diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.severity == Severity::Error {
        diagnostic.severity = Severity::Warning;
        diagnostic.reason.push_str(FORGIVEN);
    }
    diagnostic
}

/// The exemptions that cover an object, by its name and labels.
fn covering<'a>(policy: &'a Policy, object: &Value) -> Vec<&'a Exemption> {
    let exemptions = &policy.exemptions;
    if exemptions.is_empty() {
        return Vec::new();
    }
    let metadata = object.get("metadata");
    let name = metadata
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str);
    let labels = metadata
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_object);
    exemptions
        .iter()
        .filter(|exemption| exemption.covers(name, labels))
        .collect()
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
        (None, None) => was_missing(unit, object, old),
        _ => false,
    }
}

/// Whether a field that neither object has was missed before: not so where only the new one has what it is
/// missed in.
fn was_missing(unit: &FieldPath, object: &Value, old: &Value) -> bool {
    unit.parent().is_none_or(|parent| {
        if parent.find(old).is_some() {
            return true;
        }
        parent.find(object).is_none() && was_missing(&parent, object, old)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::{Problem, RuleId};
    use crate::karpenter::{Karpenter, LabelSets};
    use crate::policy::Policy;

    fn severity(path: FieldPath, related: &[FieldPath], object: &Value, old: Option<&Value>) -> Severity {
        let policy = Policy::default();
        let karpenter = Karpenter::default();
        let context = Context {
            old,
            claims: None,
            policy: &policy,
            karpenter: &karpenter,
            release: karpenter.release(),
            labels: LabelSets::BUILT_IN,
        };
        let mut findings = Findings::new(object, &context);
        findings.push(Diagnostic {
            rule: RuleId::new("test"),
            severity: Severity::Error,
            origin: Origin::Silent,
            path,
            problem: Problem::Required,
            reason: String::new(),
            suggestion: None,
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

    const BOTH_HALVES: RuleId = RuleId::new("budget-schedule-duration");
    const MODE: RuleId = RuleId::new("node-limit-mode");

    /// The findings of one rule of Karpenter's schema and one of poolgate's own, under a policy.
    fn weighed(policy: &Policy, old: Option<&Value>) -> Vec<(&'static str, Severity, String)> {
        let object = json!({
            "metadata": {"name": "gpu-a", "labels": {"team": "data"}},
            "spec": {"disruption": {"budgets": [{"nodes": "1", "schedule": "@daily"}], "nodeLimitMode": "hard"}},
        });
        let request = crate::review::Request {
            subject: crate::review::Subject::NodePool(crate::karpenter::ApiVersion::V1),
            object: &object,
            old,
            claims: None,
        };
        let report = crate::review::review(&request, policy, &Karpenter::default()).report;
        let about = ["budget-schedule-duration", "node-limit-mode"];
        report
            .into_iter()
            .filter(|finding| about.contains(&finding.rule.as_str()))
            .map(|finding| (finding.rule.as_str(), finding.severity, finding.reason))
            .collect()
    }

    fn severities(policy: &Policy) -> Vec<(&'static str, Severity)> {
        let weighed = weighed(policy, None).into_iter();
        weighed.map(|(rule, severity, _)| (rule, severity)).collect()
    }

    #[test]
    fn a_level_replaces_the_severity_but_what_karpenter_refuses_stays_heard() {
        let mut policy = Policy::default();
        let reasons = |policy: &Policy| -> Vec<bool> {
            let weighed = weighed(policy, None).into_iter();
            weighed
                .map(|(_, _, reason)| reason.ends_with(REFUSED_LOWERED))
                .collect()
        };
        assert_eq!(reasons(&policy), [false, false]);
        for level in [Level::Off, Level::Severity(Severity::Info)] {
            policy.levels.set(BOTH_HALVES, level);
            policy.levels.set(MODE, level);
            let heard = severities(&policy);
            assert_eq!(
                heard.first(),
                Some(&("budget-schedule-duration", Severity::Warning))
            );
            assert_eq!(reasons(&policy).first(), Some(&true));
            assert_eq!(
                heard.get(1),
                match level {
                    Level::Off => None,
                    Level::Severity(_) => Some(&("node-limit-mode", Severity::Info)),
                }
            );
        }
    }

    #[test]
    fn of_one_rule_what_karpenter_refuses_stays_heard_and_the_rest_can_be_switched_off() {
        let object =
            json!({"spec": {"disruption": {"budgets": [{"nodes": "101%"}, {"nodes": "99999999999"}]}}});
        let request = crate::review::Request {
            subject: crate::review::Subject::NodePool(crate::karpenter::ApiVersion::V1),
            object: &object,
            old: None,
            claims: None,
        };
        let heard = |policy: &Policy| -> Vec<(String, Severity)> {
            let report = crate::review::review(&request, policy, &Karpenter::default()).report;
            let of_rule = |finding: &Diagnostic| finding.rule.as_str() == "budget-nodes";
            let findings = report.into_iter().filter(of_rule);
            findings
                .map(|finding| (finding.path.to_string(), finding.severity))
                .collect()
        };
        let [refused, taken] = [0, 1].map(|index| format!("spec.disruption.budgets[{index}].nodes"));
        let mut policy = Policy::default();
        assert_eq!(
            heard(&policy),
            [(refused.clone(), Severity::Error), (taken, Severity::Error)]
        );
        policy.levels.set(RuleId::new("budget-nodes"), Level::Off);
        assert_eq!(heard(&policy), [(refused, Severity::Warning)]);
    }

    #[test]
    fn an_exemption_makes_findings_quiet_and_gives_its_reason() {
        let exemption = Exemption {
            pools: vec![crate::policy::Glob::new("gpu-*")],
            reason: Some("old cluster".into()),
            labels: std::collections::BTreeMap::new(),
            rules: [BOTH_HALVES, MODE].into(),
        };
        let mut policy = Policy {
            exemptions: vec![exemption],
            ..Policy::default()
        };
        let found = weighed(&policy, None);
        assert_eq!(
            severities(&policy),
            [
                ("budget-schedule-duration", Severity::Warning),
                ("node-limit-mode", Severity::Info)
            ]
        );
        for (rule, _, reason) in found {
            let expected = match rule {
                "budget-schedule-duration" => {
                    " (exempt by the policy: old cluster, but Karpenter refuses it)"
                }
                _ => " (exempt by the policy: old cluster)",
            };
            assert!(reason.ends_with(expected), "{reason}");
        }
        policy.exemptions[0].pools = vec![crate::policy::Glob::new("web-*")];
        assert_eq!(
            severities(&policy),
            [
                ("budget-schedule-duration", Severity::Error),
                ("node-limit-mode", Severity::Error)
            ]
        );
    }

    #[test]
    fn where_nothing_is_enforced_errors_become_warnings_that_say_who_refuses_all_the_same() {
        let policy = Policy {
            enforcement: Enforcement::Warn,
            ..Policy::default()
        };
        for (rule, severity, reason) in weighed(&policy, None) {
            assert_eq!(severity, Severity::Warning, "{rule}");
            let expected = match rule {
                "budget-schedule-duration" => REFUSED_UNENFORCED,
                _ => NOT_ENFORCED,
            };
            assert!(reason.ends_with(expected), "{reason}");
        }
    }

    #[test]
    fn a_raised_level_obeys_the_ratchet() {
        let object = json!({"spec": {"limits": {"cpu": 1000}}});
        let mut policy = Policy::default();
        policy
            .levels
            .set(RuleId::new("limit-unquoted"), Level::Severity(Severity::Error));
        let refuses = |old: Option<&Value>| {
            let request = crate::review::Request {
                subject: crate::review::Subject::NodePool(crate::karpenter::ApiVersion::V1),
                object: &object,
                old,
                claims: None,
            };
            let report = crate::review::review(&request, &policy, &Karpenter::default()).report;
            report
                .with_severity(Severity::Error)
                .any(|finding| finding.rule.as_str() == "limit-unquoted")
        };
        assert!(refuses(None));
        assert!(!refuses(Some(&object)));
    }
}
