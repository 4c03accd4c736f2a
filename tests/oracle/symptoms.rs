//! How Karpenter fails on what it accepts: a question to its own code for each rule, as far as one question shows
//! it. Asked about everything that only poolgate denies ([`super::compare`]).

mod budgets;
mod launch;

use std::collections::BTreeSet;

use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::rules::CATALOGUE;
use poolgate_core::rules::rule::Evidence;
use poolgate_core::value::label::label_value;
use serde_json::Value;

use super::judgement::{Judgement, fields_behind, is_around, plain};
use super::program::{Answer, Oracle};

/// A stored object that poolgate calls harmful.
pub(crate) struct SuspectPool<'a> {
    pub(crate) oracle: &'a mut Oracle,
    pub(crate) object: &'a Value,
    pub(crate) judgement: &'a Judgement,
}

/// Whether Karpenter fails because of a field; `None` if this object cannot show it.
pub(crate) type Symptom = fn(&mut SuspectPool<'_>, &FieldPath) -> Option<bool>;

/// The rules whose findings can be confirmed, and how.
pub(crate) const SYMPTOMS: &[(&str, Symptom)] = &[
    ("nodepool-name", has_no_claims),
    ("consolidate-after", is_unreadable),
    ("budgets-empty", budgets::limit_nothing),
    ("budget-nodes", budgets::count_otherwise),
    ("budget-reasons-empty", budgets::limits_nothing),
    ("budget-duration", is_unreadable_or_never_active),
    ("budget-windows-join", budgets::is_always_active),
    ("schedule-syntax", budgets::stops_all),
    ("schedule-never-fires", budgets::is_always_active),
    ("schedule-every", budgets::is_constant),
    ("schedule-either-day", budgets::fires_on_other_days),
    ("budget-redundant", budgets::changes_nothing),
    ("budget-allow-window", budgets::leave_hours_without_limit),
    ("budget-uncovered-hours", budgets::leave_hours_without_limit),
    ("budget-uncovered-reason", budgets::leave_a_reason_without_limit),
    ("budget-blocks-drift", budgets::block_drift),
    ("limit-amount", launch::is_no_amount),
    ("limit-zero", launch::has_no_room),
    ("limit-unknown", launch::is_exceeded_by_nothing),
    ("replicas-above-limit", launch::is_granted_fewer),
    ("replicas-at-limit", launch::has_none_to_spare),
    ("nodeclaim-requirements", has_no_claims),
    ("requirement-label-unknown", launch::becomes_a_custom_label),
    ("requirement-redundant", launch::is_redundant),
    ("requirement-no-value", launch::launches_nothing),
    ("requirement-value-slip", launch::launches_nothing_alone),
    (
        "requirement-unsatisfiable",
        launch::launches_nothing_with_the_label,
    ),
    ("requirement-min-values-unmet", launch::launches_nothing),
    ("requirement-min-values-custom", launch::launches_nothing),
    ("requirement-contradiction", launch::contradicts),
    ("requirement-random-label", launch::invents_a_label),
    ("label-key", has_no_claims),
    ("template-annotations", has_no_claims),
    ("do-not-disrupt-template", launch::annotates_all),
    ("node-class-kind", launch::is_ignored),
    ("node-class-fork", launch::is_ignored),
    ("node-class-ref", has_no_claims_of_the_class),
    ("taint-startup", launch::keeps_pods_away),
    ("expire-after", is_unreadable_unless_zero),
    ("termination-grace-period", is_unreadable),
];

/// How to confirm the findings of a rule, if one question shows it.
pub(crate) fn symptom(rule: &str) -> Option<Symptom> {
    let mut symptoms = SYMPTOMS.iter();
    symptoms
        .find(|(known, _)| *known == rule)
        .map(|(_, symptom)| *symptom)
}

impl SuspectPool<'_> {
    fn ask(&mut self, question: Value) -> Answer {
        self.oracle.ask_one(question)
    }

    /// Whether Karpenter can read it, so that more can be asked.
    fn is_read(&self) -> bool {
        self.judgement.followed && self.judgement.decode.is_empty() && self.judgement.harmed.is_none()
    }
}

/// Karpenter cannot decode the field.
fn is_unreadable(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let judgement = suspect.judgement;
    // If an object hangs the decoder, nothing else is known.
    let is_known = judgement.followed && judgement.harmed.is_none();
    let field = plain(path);
    is_known.then(|| {
        let mut unreadable = judgement.decode.iter();
        unreadable.any(|objection| is_around(&field, &objection.field))
    })
}

/// Karpenter cannot decode the field, or hangs on it.
fn hangs_or_is_unreadable(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    if suspect.judgement.harmed.is_some() {
        return Some(true);
    }
    is_unreadable(suspect, path)
}

/// The API server rejects every NodeClaim because of something that comes from the field.
fn has_no_claims(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let judgement = suspect.judgement;
    let is_known = suspect.is_read() && judgement.runtime.is_empty() && judgement.launch.is_none();
    let field = plain(path);
    is_known.then(|| {
        let behind = judgement
            .claim
            .iter()
            .flat_map(|objection| fields_behind(&objection.field));
        behind.into_iter().any(|behind| is_around(&field, &behind))
    })
}

/// The same for a node class whose name makes no label value: of another one, it is known only that no object has it.
fn has_no_claims_of_the_class(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let text = path.find_value(suspect.object).and_then(Value::as_str);
    let is_name = path.segments().last() == Some(&Segment::Key("name".into()));
    let is_label = is_name && text.is_some_and(|text| label_value(text).is_ok());
    has_no_claims(suspect, path).filter(|_| !is_label)
}

/// The same as [`is_unreadable`] for a duration that is longer than zero.
fn is_unreadable_unless_zero(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let is_zero = is_zero(suspect, path);
    is_unreadable(suspect, path).filter(|_| !is_zero)
}

/// Karpenter cannot decode a duration, or it is zero and the budget never active.
fn is_unreadable_or_never_active(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    if is_zero(suspect, path) {
        budgets::is_never_active(suspect, path)
    } else {
        is_unreadable(suspect, path)
    }
}

fn is_zero(suspect: &SuspectPool<'_>, path: &FieldPath) -> bool {
    let text = path.find_value(suspect.object).and_then(Value::as_str);
    text.is_some_and(|text| !text.contains(|digit: char| ('1'..='9').contains(&digit)))
}

/// The list indices in a path.
pub(crate) fn indexes(path: &FieldPath) -> Vec<usize> {
    let indexes = path.segments().iter().filter_map(|segment| match segment {
        Segment::Index(index) => Some(*index),
        Segment::Key(_) => None,
    });
    indexes.collect()
}

#[test]
fn the_rules_that_are_marked_shown_have_a_symptom_and_no_others_have() {
    let shown: BTreeSet<&str> = CATALOGUE
        .iter()
        .filter(|rule| {
            let mut kinds = rule.page().kinds.into_iter();
            kinds.any(|kind| kind.evidence == Some(Evidence::Shown))
        })
        .map(|rule| rule.id.as_str())
        .collect();
    let asked: BTreeSet<&str> = SYMPTOMS.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(shown, asked);
}
