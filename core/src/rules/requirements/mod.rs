//! Requirements: what a NodePool or NodeClaim demands of its nodes' labels.
//!
//! First each entry is checked by itself. The valid ones are then combined by label, with the labels of the
//! template, because that is how Karpenter reads it. An entry of which a part cannot be read is left out of that.

pub(super) mod absent;
pub(super) mod bounds;
pub(super) mod capacity_type;
pub(super) mod conflicts;
pub(super) mod count;
pub(super) mod custom;
mod groups;
pub(super) mod keys;
pub(super) mod labels;
pub(super) mod min_values;
pub(super) mod min_values_together;
pub(super) mod operators;
pub(super) mod restricted;
pub(super) mod slips;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod twice;
pub(super) mod unused;
pub(super) mod values;

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::{FieldPath, quoted};
use crate::karpenter::{
    EnumValues, LabelKind, Operator, Requirement, Template, TemplateOwner, canonical_label,
};

/// Where a list of requirements is, and what it is checked against.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    /// The template that has the list, and labels, which also become requirements.
    pub(super) template: &'a Template<'a>,
    /// The API group of the node class, which shows the provider.
    pub(super) group: Option<&'a str>,
    /// What the verdict depends on besides the object.
    pub(super) context: Context<'a>,
}

impl<'a> Scope<'a> {
    fn of(template: &'a Template<'a>, context: Context<'a>) -> Self {
        Self {
            template,
            group: template.node_class_group(),
            context,
        }
    }

    /// The words of an enumeration that this release and API version know.
    fn words(&self, vocabulary: EnumValues) -> &'static [&'static str] {
        self.context.karpenter.words(vocabulary, self.template.version)
    }

    /// The path of an entry.
    fn entry(&self, index: usize) -> FieldPath {
        self.template.requirements_path().index(index)
    }

    /// The path of a field of an entry.
    fn field(&self, index: usize, field: &'static str) -> FieldPath {
        self.entry(index).key(field)
    }

    /// The path of one value of an entry.
    fn value(&self, index: usize, position: usize) -> FieldPath {
        self.field(index, "values").index(position)
    }
}

/// A valid requirement: Karpenter would accept every part of it.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// Its index in the list.
    index: usize,
    /// The key of the label, by the name that Karpenter uses.
    key: &'a str,
    /// The kind of the label.
    kind: LabelKind<'a>,
    operator: Operator,
    values: Vec<&'a str>,
    min_values: Option<i64>,
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

/// Checks the requirements of a NodePool or NodeClaim.
pub(super) fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let scope = Scope::of(template, findings.context);
    let entries: Vec<Entry<'_>> = template
        .requirements()
        .iter()
        .filter_map(|requirement| check_entry(requirement, &scope, findings))
        .collect();
    if count::check(&scope, findings) && template.owner == TemplateOwner::Pool {
        check_together(&entries, &scope, findings);
    }
}

/// Checks entries and labels together. In a NodeClaim, Karpenter has already combined them.
fn check_together(entries: &[Entry<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    for group in groups::Group::all(entries, scope) {
        if conflicts::check(&group, scope, findings) {
            min_values_together::check(&group, scope, findings);
            twice::warn_of_entries(&group, scope, findings);
            custom::check(&group, scope, findings);
        }
    }
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
    let min_values =
        least.and_then(|least| min_values::check_count(least, requirement, operator, scope, findings));
    let values = values::check(requirement, operator, scope, findings)?;
    let (key, kind, is_known) = about?;
    let entry = Entry {
        index: requirement.index,
        key: canonical_label(key),
        kind,
        operator,
        values,
        min_values,
    };
    (is_known && check_meaning(&entry, scope, findings)).then_some(entry)
}

/// Checks whether operator and values of an entry make sense for its label.
fn check_meaning(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    if min_values::check_kind(entry, scope, findings) {
        twice::warn_of_values(entry, scope, findings);
    }
    unused::check(entry, scope, findings);
    slips::check(entry, scope, findings)
        && absent::check(entry, scope, findings)
        && operators::check_kind(entry, scope, findings)
        && bounds::check(entry, scope, findings)
        && capacity_type::check(entry, scope, findings)
}
