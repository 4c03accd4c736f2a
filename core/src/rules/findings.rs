//! Collects the findings of rules and decides their severity: by the policy's level for the rule, then its
//! exemptions, then the ratchet (an update is not denied for what it does not change), then its enforcement.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::context::Context;
use super::ratchet::{Ratchet, forgive};
use crate::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, Report, Severity, Suggestion, quoted};
use crate::json::Json;
use crate::policy::{Enforcement, Exemption, Level, Policy};
use crate::pool::Template;
use crate::rules::rule::Rule;

/// The consequence of a value that Karpenter cannot decode: it reads all objects of a kind together.
pub const UNREADABLE: &str = "Karpenter could no longer read any NodePool";

/// Added to a mistake that is only a warning because the policy is not enforced.
const NOT_ENFORCED: &str = "not enforced yet, so not denied";

/// Added to a mistake that Karpenter rejects anyway, if the policy is not enforced.
const DENIED_UNENFORCED: &str = "not enforced yet, but Karpenter rejects it";

/// Added to a mistake that Karpenter rejects, if the policy gives its rule a lower level.
const DENIED_LOWERED: &str = "lowered by the policy, but Karpenter rejects it";

/// Added to the help for a mistake that the stored object already has, if correcting it makes all its nodes drift.
const REPLACES_NODES: &str = " (this replaces all nodes)";

/// The findings of one review.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    /// Everything besides the object that affects the verdict.
    pub context: Context<'a>,
    severities: Severities<'a>,
    /// The last finding, to which its check may still add.
    last: Option<Diagnostic>,
    report: Report,
}

impl<'a> Findings<'a> {
    /// No findings yet in `object`.
    pub(crate) fn new(object: &'a Json<'a>, old: Option<&'a Json<'a>>, context: Context<'a>) -> Self {
        Self {
            severities: Severities::new(object, old, context.policy, context.at),
            context,
            last: None,
            report: Report::default(),
        }
    }

    /// Reports a finding of a rule, in the words of [`Rule::finding`]. The check may add to it until the next is reported:
    /// only then it is weighed, and dropped if its rule is off.
    pub fn report(
        &mut self,
        rule: &'static Rule,
        path: FieldPath,
        error_type: impl Into<ErrorType>,
        title: impl Into<String>,
    ) -> &mut Diagnostic {
        self.keep_last();
        self.last.insert(rule.finding(path, error_type, title))
    }

    /// Whether a rule has a finding at this field.
    pub fn has(&self, rule: &Rule, path: &FieldPath) -> bool {
        let mut all = self.report.diagnostics().iter().chain(&self.last);
        all.any(|finding| finding.rule == rule.id && finding.path == *path)
    }

    /// Reports a mistake in a string. The API server notices it if the definition of the release rejects the text;
    /// `otherwise` is the origin if it does not.
    pub fn report_text(
        &mut self,
        rule: &'static Rule,
        path: FieldPath,
        text: &str,
        otherwise: Origin,
        title: impl Into<String>,
    ) -> &mut Diagnostic {
        let is_rejected = self.context.crd_rejects(&path, text);
        let origin = if is_rejected { Origin::Schema } else { otherwise };
        self.report(rule, path, text, title).origin(origin)
    }

    /// Reports a value that is not in an enumeration, with the value that was probably intended.
    pub fn unsupported(
        &mut self,
        rule: &'static Rule,
        path: FieldPath,
        text: &str,
        supported: &'static [&'static str],
        title: impl Into<String>,
    ) -> &mut Diagnostic {
        let value = quoted(text);
        self.report(rule, path, ErrorType::Unsupported { value }, title)
            .suggest_if_known(Suggestion::spelling(text, supported))
            .consequence(format!("supported values: {}", supported.join(", ")))
    }

    /// Keeps the last finding, with the severity that policy and ratchet give it, unless its rule is off.
    fn keep_last(&mut self) {
        if let Some(diagnostic) = self.last.take()
            && let Some(diagnostic) = self.severities.apply_policy(diagnostic)
        {
            self.report.push(diagnostic);
        }
    }

    /// The report with all findings, the last one included.
    pub(crate) fn into_report(mut self) -> Report {
        self.keep_last();
        self.report
    }
}

/// Decides the severity of the findings in one object.
#[derive(Debug)]
pub struct Severities<'a> {
    object: &'a Json<'a>,
    policy: &'a Policy,
    /// When the object is reviewed: exemptions may have ended before.
    at: Timestamp,
    ratchet: Ratchet<'a>,
    /// The exemptions that cover the object; `None` until the first finding, because most objects have none.
    exemptions: Option<Vec<&'a Exemption>>,
}

impl<'a> Severities<'a> {
    /// Of findings in `object`, which replaces `old`, at this time.
    pub fn new(object: &'a Json<'a>, old: Option<&'a Json<'a>>, policy: &'a Policy, at: Timestamp) -> Self {
        Self {
            object,
            policy,
            at,
            ratchet: Ratchet::new(object, old),
            exemptions: None,
        }
    }

    /// The finding with the severity that policy and ratchet give it; `None` if its rule is off.
    pub fn apply_policy(&mut self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        let is_denied = diagnostic.severity == Severity::Error && diagnostic.origin.is_karpenters();
        match self.policy.levels.get(diagnostic.rule, diagnostic.origin) {
            Some(Level::Off) => return None,
            Some(Level::Severity(severity)) => diagnostic.severity = severity,
            None => {}
        }
        if is_denied && diagnostic.severity < Severity::Error {
            diagnostic.remark(DENIED_LOWERED);
        }
        self.spare(&mut diagnostic);
        if Template::is_hashed(&diagnostic.path)
            && diagnostic.help.is_some()
            && self.ratchet.is_stored(&diagnostic)
            && let Some(help) = &mut diagnostic.help
        {
            help.text.push_str(REPLACES_NODES);
        }
        if diagnostic.severity == Severity::Error && self.ratchet.forgives(&diagnostic) {
            forgive(&mut diagnostic);
        }
        if diagnostic.severity == Severity::Error && self.policy.enforcement == Enforcement::Warn {
            diagnostic.severity = Severity::Warning;
            diagnostic.remark(if is_denied {
                DENIED_UNENFORCED
            } else {
                NOT_ENFORCED
            });
        }
        Some(diagnostic)
    }

    /// Lowers the severity to that of the first exemption that covers object and rule.
    fn spare(&mut self, diagnostic: &mut Diagnostic) {
        let (policy, object, at) = (self.policy, self.object, self.at);
        let exemptions = self
            .exemptions
            .get_or_insert_with(|| covering(policy, object, at));
        let covering = exemptions
            .iter()
            .find_map(|exemption| Some((exemption, exemption.severity(diagnostic.rule, diagnostic.origin)?)));
        let Some((exemption, severity)) = covering.filter(|(_, severity)| *severity < diagnostic.severity)
        else {
            return;
        };
        diagnostic.severity = severity;
        let mut remark = "exempt by the policy".to_owned();
        if let Some(until) = exemption.until {
            let _ = write!(remark, " until {until}");
        }
        if let Some(end) = exemption.near_end(at) {
            let _ = write!(remark, ", {end}");
        }
        if let Some(reason) = &exemption.reason {
            remark.push_str(": ");
            remark.push_str(reason);
        }
        if severity == Severity::Warning {
            remark.push_str(", but Karpenter rejects it");
        }
        diagnostic.remark(remark);
    }
}

/// The exemptions that cover an object, by its name and labels, and have not ended.
fn covering<'a>(policy: &'a Policy, object: &Json<'_>, at: Timestamp) -> Vec<&'a Exemption> {
    let exemptions = &policy.exemptions;
    if exemptions.is_empty() {
        return Vec::new();
    }
    let metadata = object.get("metadata");
    let name = metadata
        .and_then(|metadata| metadata.get("name"))
        .and_then(Json::as_str);
    let labels = metadata
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Json::as_object);
    exemptions
        .iter()
        .filter(|exemption| exemption.covers(name, labels))
        .filter(|exemption| exemption.ends().is_none_or(|ends| at < ends))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnostic::RuleId;
    use crate::facts::TargetKarpenter;
    use crate::policy::Policy;
    use crate::rules::limits::amount::LIMIT_ZERO;

    const BOTH_HALVES: RuleId = RuleId::new("budget-duration");
    const MODE: RuleId = RuleId::new("poolgate-annotation");

    /// The findings of one rule of Karpenter's schema and one of poolgate's, under a policy.
    fn weighed(policy: &Policy, old: Option<&Value>) -> Vec<(&'static str, Severity, String)> {
        weighed_at(policy, old, Timestamp::default())
    }

    fn weighed_at(
        policy: &Policy,
        old: Option<&Value>,
        at: Timestamp,
    ) -> Vec<(&'static str, Severity, String)> {
        let object = json!({
            "metadata": {"name": "gpu-a", "labels": {"team": "data"}},
            "spec": {"disruption": {"budgets": [{"nodes": "1", "schedule": "@daily"}], "nodeLimitMode": "hard"}},
        });
        let old = old.map(Json::from);
        let request = crate::review::Request {
            subject: crate::review::Subject::NodePool(crate::facts::ApiVersion::V1),
            object: &Json::from(&object),
            old: old.as_ref(),
            claims: None,
            at,
        };
        let report = crate::review::review(&request, policy, &TargetKarpenter::default()).report;
        let about = ["budget-duration", "poolgate-annotation"];
        report
            .into_iter()
            .filter(|finding| about.contains(&finding.rule.as_str()))
            .map(|finding| (finding.rule.as_str(), finding.severity, finding.message()))
            .collect()
    }

    fn severities(policy: &Policy) -> Vec<(&'static str, Severity)> {
        let weighed = weighed(policy, None).into_iter();
        weighed.map(|(rule, severity, _)| (rule, severity)).collect()
    }

    #[test]
    fn a_level_replaces_the_severity_but_what_karpenter_rejects_is_still_reported() {
        let mut policy = Policy::default();
        let reasons = |policy: &Policy| -> Vec<bool> {
            let weighed = weighed(policy, None).into_iter();
            weighed
                .map(|(_, _, reason)| reason.contains(&format!("({DENIED_LOWERED})")))
                .collect()
        };
        assert_eq!(reasons(&policy), [false, false]);
        for level in [Level::Off, Level::Severity(Severity::Note)] {
            policy.levels.set(BOTH_HALVES, level);
            policy.levels.set(MODE, level);
            let heard = severities(&policy);
            assert_eq!(heard.first(), Some(&("budget-duration", Severity::Warning)));
            assert_eq!(reasons(&policy).first(), Some(&true));
            assert_eq!(
                heard.get(1),
                match level {
                    Level::Off => None,
                    Level::Severity(_) => Some(&("poolgate-annotation", Severity::Note)),
                }
            );
        }
    }

    #[test]
    fn a_rule_that_is_off_still_reports_what_karpenter_rejects() {
        let object =
            json!({"spec": {"disruption": {"budgets": [{"nodes": "101%"}, {"nodes": "99999999999"}]}}});
        let request = crate::review::Request {
            subject: crate::review::Subject::NodePool(crate::facts::ApiVersion::V1),
            object: &Json::from(&object),
            old: None,
            claims: None,
            at: jiff::Timestamp::default(),
        };
        let heard = |policy: &Policy| -> Vec<(String, Severity)> {
            let report = crate::review::review(&request, policy, &TargetKarpenter::default()).report;
            let of_rule = |finding: &Diagnostic| finding.rule.as_str() == "budget-nodes";
            let findings = report.into_iter().filter(of_rule);
            findings
                .map(|finding| (finding.path.to_string(), finding.severity))
                .collect()
        };
        let [denied, taken] = [0, 1].map(|index| format!("spec.disruption.budgets[{index}].nodes"));
        let mut policy = Policy::default();
        assert_eq!(
            heard(&policy),
            [(denied.clone(), Severity::Error), (taken, Severity::Error)]
        );
        policy.levels.set(RuleId::new("budget-nodes"), Level::Off);
        assert_eq!(heard(&policy), [(denied, Severity::Warning)]);
    }

    #[test]
    fn an_exemption_ends_after_its_last_day_and_says_when_that_is_near() {
        let exemption = Exemption {
            pools: vec![crate::policy::Glob::new("gpu-*")],
            reason: Some("old cluster".into()),
            until: Some("2027-06-30".parse().expect("a date")),
            labels: std::collections::BTreeMap::new(),
            rules: [MODE].into(),
        };
        let policy = Policy {
            exemptions: vec![exemption],
            ..Policy::default()
        };
        let of_mode = |at: &str| {
            let weighed = weighed_at(&policy, None, at.parse().expect("an instant"));
            let of_mode = weighed.into_iter().find(|(rule, ..)| *rule == MODE.as_str());
            let (_, severity, reason) = of_mode.expect("a finding");
            let remark = reason.split_inclusive(')').next().unwrap_or_default();
            let exempt = remark.split_once(" (exempt by the policy ");
            (severity, exempt.map(|(_, exempt)| exempt.to_owned()))
        };
        let exempt = |words: &str| (Severity::Note, Some(words.to_owned()));
        assert_eq!(
            of_mode("2027-01-01T00:00:00Z"),
            exempt("until 2027-06-30: old cluster)")
        );
        assert_eq!(
            of_mode("2027-06-21T12:00:00Z"),
            exempt("until 2027-06-30, in 9 days: old cluster)")
        );
        assert_eq!(
            of_mode("2027-06-30T23:59:59Z"),
            exempt("until 2027-06-30, the end of today: old cluster)")
        );
        assert_eq!(of_mode("2027-07-01T00:00:00Z"), (Severity::Error, None));
    }

    #[test]
    fn an_exemption_makes_findings_quiet_and_gives_its_reason() {
        let exemption = Exemption {
            pools: vec![crate::policy::Glob::new("gpu-*")],
            reason: Some("old cluster".into()),
            until: None,
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
                ("budget-duration", Severity::Warning),
                ("poolgate-annotation", Severity::Note)
            ]
        );
        for (rule, _, reason) in found {
            let expected = match rule {
                "budget-duration" => "exempt by the policy: old cluster, but Karpenter rejects it",
                _ => "exempt by the policy: old cluster",
            };
            assert!(reason.contains(&format!("({expected})")), "{reason}");
        }
        policy.exemptions[0].pools = vec![crate::policy::Glob::new("web-*")];
        assert_eq!(
            severities(&policy),
            [
                ("budget-duration", Severity::Error),
                ("poolgate-annotation", Severity::Error)
            ]
        );
    }

    #[test]
    fn without_enforcement_errors_become_warnings_that_say_whether_karpenter_rejects() {
        let policy = Policy {
            enforcement: Enforcement::Warn,
            ..Policy::default()
        };
        for (rule, severity, reason) in weighed(&policy, None) {
            assert_eq!(severity, Severity::Warning, "{rule}");
            let expected = match rule {
                "budget-duration" => DENIED_UNENFORCED,
                _ => NOT_ENFORCED,
            };
            assert!(reason.contains(&format!("({expected})")), "{reason}");
        }
    }

    #[test]
    fn a_raised_level_obeys_the_ratchet() {
        let object = json!({"spec": {"limits": {"cpu": "0"}}});
        let mut policy = Policy::default();
        policy.levels.set(LIMIT_ZERO.id, Level::Severity(Severity::Error));
        let denies = |old: Option<&Value>| {
            let old = old.map(Json::from);
            let request = crate::review::Request {
                subject: crate::review::Subject::NodePool(crate::facts::ApiVersion::V1),
                object: &Json::from(&object),
                old: old.as_ref(),
                claims: None,
                at: jiff::Timestamp::default(),
            };
            let report = crate::review::review(&request, &policy, &TargetKarpenter::default()).report;
            report
                .with_severity(Severity::Error)
                .any(|finding| finding.rule == LIMIT_ZERO.id)
        };
        assert!(denies(None));
        assert!(!denies(Some(&object)));
    }
}
