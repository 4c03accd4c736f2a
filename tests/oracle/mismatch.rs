//! A difference between poolgate and Karpenter: a mistake of one of the two.

use poolgate_core::diagnostic::Diagnostic;

use super::judgement::Objection;

/// Which side says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The API server rejects by the definition, poolgate accepts.
    MissedSchema,
    /// Karpenter cannot read what is stored, poolgate accepts.
    MissedDecode,
    /// Karpenter ignores the pool, poolgate accepts.
    MissedRuntime,
    /// Karpenter hangs or crashes, poolgate accepts.
    MissedHarm,
    /// Both reject, but poolgate does not report this reason.
    MissedReason,
    /// The API server rejects the NodeClaim that Karpenter makes of the pool, poolgate does not report the cause.
    MissedClaim,
    /// The API server rejects an update because of something that poolgate tolerates as stored already.
    RatchetStricter,
    /// The API server rejects what poolgate's defaults make of an object, and accepts it as the user wrote it.
    DefaultRejected,
    /// A finding claims that the API server or Karpenter rejects it, too, but both accept it.
    Invented,
    /// A finding names the wrong origin: another program rejects it, or none.
    Misclassified,
    /// A finding claims that Karpenter fails later, and it does not.
    Unfounded,
    /// poolgate's verdict on what the user wrote differs from that on what the API server made of it.
    ViewsDiffer,
    /// poolgate's verdict on an object differs once its own defaults are added.
    DefaultsDiffer,
}

/// A difference that is a mistake of one of the two.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mismatch {
    pub(crate) kind: Kind,
    /// poolgate's finding, if it is about one.
    pub(crate) ours: Option<Diagnostic>,
    /// The other side's objection, if it is about one.
    pub(crate) theirs: Option<Objection>,
    /// The full text, for a report.
    pub(crate) what: String,
    /// The same without details that differ from object to object.
    pub(crate) signature: String,
}

impl Mismatch {
    /// A finding that the other side does not confirm.
    pub(crate) fn ours(kind: Kind, finding: &Diagnostic) -> Self {
        Self {
            kind,
            ours: Some(finding.clone()),
            theirs: None,
            what: finding.to_string(),
            signature: format!("{} {:?}", finding.rule, finding.origin),
        }
    }

    /// An objection that only the other side has.
    pub(crate) fn theirs(kind: Kind, objection: &Objection) -> Self {
        Self {
            kind,
            ours: None,
            theirs: Some(objection.clone()),
            what: format!("{}: {}", objection.field, objection.detail),
            signature: general(objection),
        }
    }

    /// What both sides say about the same thing.
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

/// An objection without details that differ from object to object.
fn general(objection: &Objection) -> String {
    format!(
        "{} {}",
        place(&objection.field),
        without_particulars(&objection.detail)
    )
}

/// A field without the keys of maps and the indices of lists.
fn place(field: &str) -> String {
    let map = ["labels.", "annotations.", "limits."]
        .iter()
        .find_map(|map| Some(field.find(map)? + map.len()));
    let general = map.and_then(|end| field.get(..end)).unwrap_or(field);
    general.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The plain words of a text, without anything in quotes; at most a sentence.
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
