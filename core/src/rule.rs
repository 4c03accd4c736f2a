//! What a rule is: its name, weight, origin and documentation. The logic is in [`crate::rules`].

use crate::diagnostic::{Diagnostic, FieldPath, Origin, Problem, RuleId, Severity, Suggestion, quoted};

/// How it is known what Karpenter makes of a mistake that nobody rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Karpenter's own code shows it on the bad example, linked into a test (`tests/oracle/symptoms.rs`).
    Shown,
    /// It is in the sources, of Karpenter unless another project is named: where, as Markdown.
    Read(&'static str),
    /// Users met it: [`Rule::seen_in`] says where.
    Reported,
}

/// One rule of the catalogue. Its documentation is part of it, so that the two cannot drift apart.
#[derive(Debug)]
pub struct Rule {
    /// The stable name.
    pub id: RuleId,
    /// What it demands, as one sentence without final stop.
    pub title: &'static str,
    /// How much a finding weighs unless the policy says otherwise. None for a rule that is off until the policy gives
    /// it a level.
    pub severity: Option<Severity>,
    /// Who else would notice: what its findings can say, first what they say unless the check knows better.
    pub origins: &'static [Origin],
    /// How it is known what comes of findings that are [`Origin::Silent`]; none where the rule has no such finding.
    pub evidence: Option<Evidence>,
    /// Why it matters: a paragraph of Markdown.
    pub why: &'static str,
    /// Where users met it: issues of `kubernetes-sigs/karpenter` unless another repository is named.
    pub seen_in: &'static [&'static str],
    /// The fields of a NodePool that matter here, as YAML; they break this rule and no other. In v1 unless an
    /// `apiVersion` says otherwise, and a NodePool unless `kind` does. Of two documents, the first is the stored
    /// object that the second replaces.
    pub bad: &'static str,
    /// The same fields fixed: no rule speaks.
    pub good: &'static str,
}

impl Rule {
    /// A finding of this rule, of its first origin. `reason` is a clause without final stop.
    pub fn finding(&self, path: FieldPath, problem: Problem, reason: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: self.id,
            severity: self.severity.unwrap_or(Severity::Info),
            // No list of origins is empty; a test of the catalogue holds that.
            origin: self.origins.first().copied().unwrap_or(Origin::Poolgate),
            path,
            problem,
            reason: reason.into(),
            suggestion: None,
            related: Vec::new(),
        }
    }

    /// A finding on a word that is none of an enumeration, with the word that it probably was meant to be.
    pub fn unsupported(
        &self,
        path: FieldPath,
        text: &str,
        supported: &'static [&'static str],
        reason: impl Into<String>,
    ) -> Diagnostic {
        let value = quoted(text);
        self.finding(path, Problem::Unsupported { value, supported }, reason)
            .suggest_if_known(Suggestion::spelling(text, supported))
    }
}
