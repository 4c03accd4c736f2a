//! A rule: its name, severity, origin and documentation. The logic is in [`crate::rules`].

use crate::diagnostic::{Diagnostic, FieldPath, Origin, Problem, RuleId, Severity, Suggestion, quoted};

/// How it is known what a mistake does to Karpenter if nothing rejects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Karpenter's own code shows it on the bad example, linked into a test (`tests/oracle/symptoms.rs`).
    Shown,
    /// From the sources, of Karpenter unless another project is named: where, as Markdown.
    Read(&'static str),
    /// Users reported it: see [`Rule::seen_in`].
    Reported,
}

/// One rule of the catalogue. Its documentation is part of it, so that the two cannot drift apart.
#[derive(Debug)]
pub struct Rule {
    /// The stable name.
    pub id: RuleId,
    /// What it requires, as one sentence without a full stop.
    pub title: &'static str,
    /// The severity of its findings unless the policy changes it. `None` for a rule that is off until the policy
    /// gives it a level.
    pub severity: Option<Severity>,
    /// Which program would notice without poolgate: all origins of its findings, the default first.
    pub origins: &'static [Origin],
    /// How it is known what follows from findings that are [`Origin::Silent`]; `None` if the rule has no such
    /// finding.
    pub evidence: Option<Evidence>,
    /// Why it matters: a paragraph of Markdown.
    pub why: &'static str,
    /// Where users reported it: issues of `kubernetes-sigs/karpenter` unless another repository is named.
    pub seen_in: &'static [&'static str],
    /// The relevant fields of a NodePool, as YAML; they violate this rule and no other. In v1 unless an
    /// `apiVersion` says otherwise, and a NodePool unless `kind` does. Of two documents, the first is the stored
    /// object that the second replaces.
    pub bad: &'static str,
    /// The same fields fixed: no rule has findings.
    pub good: &'static str,
}

impl Rule {
    /// A finding of this rule, of its first origin. An illegal value is a problem by itself; `reason` is a clause
    /// without a full stop.
    pub fn finding(
        &self,
        path: FieldPath,
        problem: impl Into<Problem>,
        reason: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            rule: self.id,
            severity: self.severity.unwrap_or(Severity::Info),
            // No list of origins is empty; a test of the catalogue checks that.
            origin: self.origins.first().copied().unwrap_or(Origin::Poolgate),
            path,
            problem: problem.into(),
            reason: reason.into(),
            suggestion: None,
            related: Vec::new(),
        }
    }

    /// A finding on a word that is not in an enumeration, with the word that was probably intended.
    pub(crate) fn unsupported(
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
