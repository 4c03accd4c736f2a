//! A difference between poolgate and Karpenter that one of the two has to answer for.

use poolgate_core::diagnostic::Diagnostic;

use super::judgement::Objection;

/// Who says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The API server rejects by the definition, poolgate accepts.
    MissedSchema,
    /// Karpenter cannot read what is stored, poolgate accepts.
    MissedDecode,
    /// Karpenter sets the pool aside, poolgate accepts.
    MissedRuntime,
    /// Karpenter hangs or dies, poolgate accepts.
    MissedHarm,
    /// Both reject, but of this reason poolgate says nothing.
    MissedReason,
    /// The API server rejects the NodeClaim that Karpenter makes of the pool, poolgate says nothing of what it is for.
    MissedClaim,
    /// The API server holds against an update what poolgate forgives it as stored already.
    RatchetStricter,
    /// A finding claims to repeat the API server or Karpenter, and what it rejects both take.
    Invented,
    /// A finding claims that somebody else rejects, or nobody, and it is somebody else.
    Misclassified,
    /// A finding claims that Karpenter suffers, and it does not.
    Unfounded,
    /// poolgate judges what the user wrote and what the API server made of it differently.
    ViewsDiffer,
    /// poolgate judges an object with its own defaults differently.
    DefaultsDiffer,
}

/// A difference that one of the two has to answer for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mismatch {
    pub(crate) kind: Kind,
    /// poolgate's finding, where it is about one.
    pub(crate) ours: Option<Diagnostic>,
    /// What the others say, where it is about that.
    pub(crate) theirs: Option<Objection>,
    /// The whole of it, for a report.
    pub(crate) what: String,
    /// The same without what differs from object to object.
    pub(crate) signature: String,
}

impl Mismatch {
    /// A finding that is alone with its opinion.
    pub(crate) fn ours(kind: Kind, finding: &Diagnostic) -> Self {
        Self {
            kind,
            ours: Some(finding.clone()),
            theirs: None,
            what: finding.to_string(),
            signature: format!("{} {:?}", finding.rule, finding.origin),
        }
    }

    /// What only the others say.
    pub(crate) fn theirs(kind: Kind, objection: &Objection) -> Self {
        Self {
            kind,
            ours: None,
            theirs: Some(objection.clone()),
            what: format!("{}: {}", objection.field, objection.detail),
            signature: general(objection),
        }
    }

    /// What both say, each in its way.
    pub(crate) fn both(kind: Kind, finding: &Diagnostic, objection: &Objection) -> Self {
        Self {
            ours: Some(finding.clone()),
            what: format!("{finding}\n{}: {}", objection.field, objection.detail),
            signature: format!("{} {:?}, {}", finding.rule, finding.origin, general(objection)),
            ..Self::theirs(kind, objection)
        }
    }

    /// The rule whose finding it is about.
    pub(crate) fn rule(&self) -> &str {
        self.ours.as_ref().map_or("", |finding| finding.rule.as_str())
    }
}

/// An objection without what differs from object to object.
fn general(objection: &Objection) -> String {
    format!(
        "{} {}",
        place(&objection.field),
        without_particulars(&objection.detail)
    )
}

/// A field without the keys of maps and the places in lists.
fn place(field: &str) -> String {
    let map = ["labels.", "annotations.", "limits."]
        .iter()
        .find_map(|map| Some(field.find(map)? + map.len()));
    let general = map.and_then(|end| field.get(..end)).unwrap_or(field);
    general.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The words of a text that are words, without what is in quotes; as much as a sentence.
fn without_particulars(text: &str) -> String {
    let mut kept = String::new();
    let unquoted = text
        .split(['"', '\''])
        .step_by(2)
        .flat_map(|part| part.split([' ', ',']));
    for word in unquoted {
        let is_word = word
            .chars()
            .all(|c| c.is_ascii_alphabetic() || ".:[]()'=".contains(c));
        if is_word && !word.is_empty() && kept.len() < 80 {
            kept.push_str(word);
            kept.push(' ');
        }
    }
    kept
}
