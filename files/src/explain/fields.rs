//! The fields of a NodePool, explained: the sections of `fields.md`.

use poolgate_core::diagnostic::{FieldPath, Suggestion};

const PAGE: &str = include_str!("../../fields.md");

/// A field, as `fields.md` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its path, with `[]` for the elements of a list.
    pub path: &'static str,
    /// What applies without it.
    pub default: Option<&'static str>,
    /// The first release of Karpenter that has it, or `poolgate`; `None` if all that poolgate knows have it.
    pub since: Option<&'static str>,
    /// What it does: paragraphs.
    pub text: &'static str,
    /// The names of the rules about it.
    pub rules: &'static str,
}

/// All fields, in the order of the page.
pub fn all() -> impl Iterator<Item = Field> {
    PAGE.split("\n## ").skip(1).filter_map(field)
}

fn field(section: &'static str) -> Option<Field> {
    let (path, rest) = section.split_once("\n\n")?;
    let (facts, rest) = rest.split_once("\n\n")?;
    let (text, rules) = rest.rsplit_once("\n\nRules: ")?;
    let (default, since) = facts.split_once(" | ")?;
    let known = |fact: &'static str| (fact != "-").then_some(fact);
    Some(Field {
        path,
        default: known(default),
        since: known(since),
        text,
        rules: rules.trim_end(),
    })
}

/// The field of this path. It may begin with `nodepool.`, as for `kubectl explain`, name an element of a list, or be only
/// the end of a path.
pub fn find(text: &str) -> Option<Field> {
    let wanted = normal(text);
    let exact = all().find(|field| normal(field.path) == wanted);
    exact.or_else(|| {
        let mut ends = all().filter(|field| normal(field.path).ends_with(&format!(".{wanted}")));
        ends.next().filter(|_| ends.next().is_none())
    })
}

/// The field at a path of a NodePool.
pub fn at(path: &FieldPath) -> Option<Field> {
    let path = normal(&path.to_string());
    all().find(|field| normal(field.path) == path)
}

/// The path that a text was probably intended to be.
pub fn likely(text: &str) -> Option<Suggestion> {
    Suggestion::likely_name(
        &normal(text),
        all().map(|field| field.path).collect::<Vec<_>>().into_iter(),
    )
}

/// A path without what people write in different ways.
fn normal(text: &str) -> String {
    let text = text.trim().trim_start_matches('.');
    let without_kind = ["nodepools.", "nodepool."].iter().find_map(|kind| {
        text.get(..kind.len())
            .filter(|start| start.eq_ignore_ascii_case(kind))
            .and(text.get(kind.len()..))
    });
    let mut path = String::new();
    let mut is_inside = false;
    for character in without_kind.unwrap_or(text).chars() {
        match character {
            '[' => is_inside = true,
            ']' => is_inside = false,
            other if !is_inside => path.push(other),
            _ => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_rules;

    #[test]
    fn every_section_is_read_and_names_rules_that_exist() {
        assert_eq!(all().count(), PAGE.matches("\n## ").count());
        for field in all() {
            for rule in field.rules.split(", ") {
                assert!(text_rules::find_any(rule).is_some(), "{}: {rule}", field.path);
            }
        }
    }

    #[test]
    fn a_field_is_found_however_its_path_is_written() {
        for text in [
            "spec.disruption.budgets[].nodes",
            "spec.disruption.budgets[3].nodes",
            "spec.disruption.budgets.nodes",
            "NodePool.spec.disruption.budgets.nodes",
            "budgets.nodes",
        ] {
            let found = find(text).map(|field| field.path);
            assert_eq!(found, Some("spec.disruption.budgets[].nodes"), "{text}");
        }
        assert_eq!(
            find("consolidateAfter").map(|field| field.path),
            Some("spec.disruption.consolidateAfter")
        );
        assert_eq!(find("nodes"), None, "two fields are called so");
        assert_eq!(find("spec.nothing"), None);
    }
}
