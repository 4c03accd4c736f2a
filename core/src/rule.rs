//! What a rule is: its name, weight, origin and documentation. The logic stands in [`crate::rules`].

use crate::diagnostic::{Diagnostic, FieldPath, Problem, RuleId, Severity};

/// Who would notice the mistake if poolgate did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The API server refuses it by the schema or the CEL rules of Karpenter's CRD, with less explanation.
    Schema,
    /// Karpenter itself, once the object is stored: it marks the NodePool not ready and passes it over.
    Runtime,
    /// Nobody at apply time: Karpenter takes it and suffers later.
    Silent,
    /// Nobody: it concerns a field that poolgate itself defines, or a bound of the organisation's policy.
    Poolgate,
}

/// One rule of the catalogue. Its documentation is part of it, so that the two cannot drift apart.
#[derive(Debug)]
pub struct Rule {
    /// The stable name.
    pub id: RuleId,
    /// What it demands, as one sentence without final stop.
    pub title: &'static str,
    /// How much a finding weighs unless the policy says otherwise.
    pub severity: Severity,
    /// Who else would notice.
    pub origin: Origin,
    /// Why it matters: a paragraph of Markdown.
    pub why: &'static str,
    /// Where users met it: issues of `kubernetes-sigs/karpenter` unless another repository is named.
    pub seen_in: &'static [&'static str],
    /// The fields of a NodePool that matter here, as YAML; they break this rule and no other. In v1 unless an
    /// `apiVersion` says otherwise, and a NodePool unless `kind` does. Of two documents, the first is the stored
    /// object that the second replaces.
    pub bad: &'static str,
    /// The same fields mended: no rule speaks.
    pub good: &'static str,
}

impl Rule {
    /// A finding of this rule. `reason` is a clause without final stop.
    pub fn finding(&self, path: FieldPath, problem: Problem, reason: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: self.id,
            severity: self.severity,
            path,
            problem,
            reason: reason.into(),
            mend: None,
            fix: None,
            related: Vec::new(),
        }
    }
}
