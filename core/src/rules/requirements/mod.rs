//! Requirements: what a NodePool demands of its nodes' labels.
//!
//! First each entry is checked by itself. The valid ones are then combined by label, with the labels of the
//! template, because that is how Karpenter reads it. An entry of which a part cannot be read is left out of that.

pub mod auto_mode;
pub mod capacity_type;
pub mod closed_set;
pub mod conflicts;
pub mod count;
pub mod custom_labels;
pub mod derived;
pub mod does_not_exist;
mod groups;
pub mod ignored_values;
pub mod keys;
pub mod labels;
pub mod min_values;
pub mod min_values_together;
pub mod misspelt_values;
pub mod operators;
pub mod ranges;
pub mod repeated;
pub mod restricted;
#[cfg(test)]
pub mod testing;
pub mod units;
pub mod unknown_values;
pub mod values;
pub mod zone_region;

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::{FieldPath, quoted};
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::karpenter::{LabelKind, Naming, Operator, Part, Provider, Requirement, Template, canonical_label};
use crate::value::label::label_value;

/// Where a list of requirements is, and what it is checked against.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The template that has the list, and labels, which also become requirements.
    pub template: &'a Template<'a>,
    /// The API group of the node class, which shows the provider; without one, that of the provider that the policy declares.
    pub group: Option<&'a str>,
    /// The provider, if there is data on it.
    pub provider: Option<&'static Provider>,
    /// How it derives labels from the names of its instance types, if that is known.
    pub naming: Option<&'static Naming>,
    /// What the verdict depends on besides the object.
    pub context: Context<'a>,
}

impl<'a> Scope<'a> {
    fn new(template: &'a Template<'a>, context: Context<'a>) -> Self {
        let declared = || Some(context.policy.cluster.provider?.group);
        let group = template.node_class_group().or_else(declared);
        let provider = group.and_then(Provider::of_group);
        Self {
            template,
            group,
            provider,
            naming: provider.and_then(Naming::of),
            context,
        }
    }

    /// The capacity types that this release knows.
    fn capacity_types(&self) -> &'static [&'static str] {
        CAPACITY_TYPES.words(self.context.release)
    }

    /// The part of an instance type's name that the provider makes a label of, by the label's current name.
    fn part(&self, key: &str) -> Option<Part> {
        self.naming?.part(key, self.provider?)
    }

    /// The path of an entry.
    fn entry(index: usize) -> FieldPath {
        Template::requirements_path().index(index)
    }

    /// The path of a field of an entry.
    fn field(index: usize, field: &'static str) -> FieldPath {
        Self::entry(index).key(field)
    }

    /// The path of one value of an entry.
    fn value(index: usize, position: usize) -> FieldPath {
        Self::field(index, "values").index(position)
    }
}

/// A valid requirement: Karpenter would accept every part of it.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its index in the list.
    index: usize,
    /// The template label that it is instead, as it is written; it has no index then.
    label: Option<&'a str>,
    /// The key of the label, by the name that Karpenter uses.
    key: &'a str,
    /// The kind of the label.
    kind: LabelKind<'a>,
    /// The part of an instance type's name that the label is made of, if it is.
    part: Option<Part>,
    operator: Operator,
    values: Vec<&'a str>,
    min_values: Option<i64>,
}

impl Entry<'_> {
    /// The path of one of its values.
    fn value_path(&self, position: usize) -> FieldPath {
        match self.label {
            Some(written) => Template::labels_path().key(written.to_owned()),
            None => Scope::value(self.index, position),
        }
    }
}

/// Names the other values with the same mistake, after the reason for the first: one finding reports all.
fn so_others<'v>(others: impl Iterator<Item = &'v str>) -> String {
    const NAMED: usize = 2;
    let others: Vec<&str> = others.collect();
    let named: Vec<String> = others.iter().take(NAMED).map(|value| quoted(value)).collect();
    match others.len().saturating_sub(NAMED) {
        _ if others.is_empty() => String::new(),
        0 => format!(", nor {}", named.join(", ")),
        more => format!(", nor {} and {more} more", named.join(", ")),
    }
}

/// Checks the requirements of a NodePool.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let scope = Scope::new(template, findings.context);
    let entries: Vec<Entry<'_>> = template
        .requirements()
        .iter()
        .filter_map(|requirement| check_entry(requirement, &scope, findings))
        .collect();
    if count::check(&scope, findings) {
        check_together(&entries, &scope, findings);
    }
}

/// Checks entries and labels together.
fn check_together(entries: &[Entry<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let labels = check_labels(scope, findings);
    zone_region::check(entries, &labels, scope, findings);
    for group in groups::Group::all(entries, &labels, scope) {
        if conflicts::check(&group, scope, findings) {
            min_values_together::check(&group, scope, findings);
            repeated::warn_of_entries(&group, findings);
            auto_mode::check(&group, scope, findings);
            custom_labels::check(&group, scope, findings);
        }
    }
    derived::check(entries, &labels, scope, findings);
}

/// Checks the values of template labels; returns the labels whose values are legal and possible, as they are written.
fn check_labels<'a>(scope: &Scope<'a>, findings: &mut Findings<'_>) -> Vec<(&'a str, &'a str)> {
    let labels = scope.template.labels.present().into_iter().flatten();
    labels
        .filter_map(|(written, value)| {
            let value = value.as_str().filter(|value| label_value(value).is_ok())?;
            check_label(written, value, scope, findings).then_some((written, value))
        })
        .collect()
}

/// Whether nodes can have this value of a label; reports it if they cannot. To Karpenter, the label is a requirement.
fn check_label<'a>(written: &'a str, value: &'a str, scope: &Scope<'a>, findings: &mut Findings<'_>) -> bool {
    let kind = scope.context.labels.kind_of(written, scope.group);
    if !kind.is_well_known() {
        return true;
    }
    let key = canonical_label(written, scope.provider);
    let entry = Entry {
        index: 0,
        label: Some(written),
        key,
        kind,
        part: scope.part(key),
        operator: Operator::In,
        values: vec![value],
        min_values: None,
    };
    units::check(&entry, scope, findings);
    unknown_values::check(&entry, scope, findings);
    misspelt_values::check(&entry, scope, findings) && capacity_type::check(&entry, scope, findings)
}

/// Checks one entry by itself; returns it if it is valid.
fn check_entry<'a>(
    requirement: &Requirement<'a>,
    scope: &Scope<'a>,
    findings: &mut Findings<'_>,
) -> Option<Entry<'a>> {
    let least = min_values::check_range(requirement, scope, findings);
    let key = keys::check(requirement, scope, findings);
    let operator = operators::check(requirement, scope, findings);
    let about = key.map(|key| {
        let kind = scope.context.labels.kind_of(key, scope.group);
        let is_known = restricted::check(requirement.index, key, scope, findings)
            && labels::check(requirement.index, key, &kind, scope, findings);
        (key, kind, is_known)
    });
    let operator = operator?;
    let min_values = least.and_then(|least| min_values::check_count(least, requirement, operator, findings));
    let values = values::check(requirement, operator, scope, findings)?;
    let (written, kind, is_known) = about?;
    let key = canonical_label(written, scope.provider);
    let entry = Entry {
        index: requirement.index,
        label: None,
        key,
        kind,
        part: scope.part(key),
        operator,
        values,
        min_values,
    };
    (is_known && check_meaning(&entry, scope, findings)).then_some(entry)
}

/// Checks whether operator and values of an entry make sense for its label.
fn check_meaning(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    if min_values::check_kind(entry, findings) {
        repeated::warn_of_values(entry, findings);
    }
    ignored_values::check(entry, findings);
    units::check(entry, scope, findings);
    unknown_values::check(entry, scope, findings);
    closed_set::check(entry, scope, findings)
        .unwrap_or_else(|| misspelt_values::check(entry, scope, findings))
        && does_not_exist::check(entry, scope, findings)
        && operators::check_kind(entry, scope, findings)
        && ranges::check(entry, scope, findings)
        && capacity_type::check(entry, scope, findings)
}
