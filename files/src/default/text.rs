//! Defaults written into the text of a manifest.

use std::cmp::Reverse;

use poolgate_core::defaults::defaults;
use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Limits, Lines, NodeKind, NodeRef, has_variable};
use poolgate_core::pool::NodePool;
use serde_json::Value;

use super::Defaults;
use crate::edit::{self, Replacement};
use crate::sources::{Class, LeftAlone, SourceText, pools};

/// A text with defaults.
#[derive(Debug, Default)]
pub struct Completed {
    /// The text; unchanged if there is nothing to write.
    pub text: String,
    /// How many NodePools it has.
    pub pools: usize,
    /// Defaults that could not be written: `line:column: why`.
    pub troubles: Vec<String>,
    /// Objects that were not changed on purpose: `line:column: why`.
    pub left: Vec<String>,
}

/// Most rounds: a default reaches the pools that merge what it was written into, and theirs others.
const ROUNDS: usize = 10;

/// Writes the defaults into every NodePool of a text. Not into a part of one, such as a patch: kustomize would
/// replace the values of the whole NodePool with them. A default counts as missing only after the last round: a pool may
/// get its defaults through an alias, with those of another pool.
pub fn complete(source: &SourceText<'_>, defaults: &Defaults<'_>) -> Completed {
    let mut done = complete_once(source, defaults);
    for _ in 1..ROUNDS {
        if done.troubles.is_empty() {
            break;
        }
        let next = SourceText {
            text: done.text.clone(),
            templates: source.templates.clone(),
            ..*source
        };
        let next = complete_once(&next, defaults);
        let is_settled = next.text == done.text;
        done = next;
        if is_settled {
            break;
        }
    }
    done
}

fn complete_once(source: &SourceText<'_>, defaults: &Defaults<'_>) -> Completed {
    let text = &*source.text;
    let lines = Lines::new(text);
    let mut insertions: Vec<Replacement> = Vec::new();
    let mut done = Completed::default();
    let mut is_template = false;
    let at = |offset: usize, why: &str| format!("{}: {why}", lines.position(offset));
    for document in source.documents(&Limits::default()) {
        is_template |= matches!(document.class, Class::Template(_) | Class::HelmTemplate);
        if let Some((offset, why)) = document.unread() {
            if document.class != Class::Unrelated {
                done.troubles.push(at(offset, &why));
            }
            continue;
        }
        for found in document.objects() {
            let Some(version) = found.pool else { continue };
            let (path, object) = (found.object.path, found.object.value);
            done.pools += 1;
            let start = found.span.start();
            let left = document.left(object).map(|reason| reason.to_string());
            let is_part =
                || lacking(object).map(|field| format!("it has no {field}, so it is treated as a patch"));
            if let Some(reason) = left.or_else(is_part) {
                done.left.push(at(start, &format!("not changed: {reason}")));
                continue;
            }
            let object = Value::from(object);
            let wanted = completed(&object, version, defaults);
            match insertions_for(text, &document.document, additions(&object, &wanted, &path)) {
                Some(new) => insertions.extend(new),
                None => done.troubles.push(at(
                    start,
                    "a default cannot be written into an alias, a variable or an unusual layout. Write it by hand",
                )),
            }
        }
    }
    if is_template && !insertions.is_empty() {
        // The documents may be inside a loop or a condition.
        insertions.clear();
        done.left
            .push(format!("1:1: not changed: {}", LeftAlone::Template));
    }
    insertions.sort_by_key(|insertion| insertion.span.start());
    done.text = edit::apply(text, insertions.iter().map(|new| (new.span, &*new.text)));
    if !only_adds_defaults(source, &done.text, defaults) {
        let why = "1:1: the defaults cannot be written without changing something else";
        done.troubles.push(why.into());
        text.clone_into(&mut done.text);
    }
    done
}

/// The insertions for these additions; `None` if one cannot be made.
fn insertions_for(
    text: &str,
    document: &Document<'_>,
    mut additions: Vec<Addition>,
) -> Option<Vec<Replacement>> {
    // The deeper of two insertions at the end of the same line is made first: it belongs to that line.
    additions.sort_by_key(|addition| Reverse(addition.path.segments().len()));
    let mut insertions = Vec::new();
    let mut filled: Vec<FieldPath> = Vec::new();
    for addition in &additions {
        let path = addition.path.parent()?;
        let parent = edit::node_at(document, &path)?;
        let name = key(addition)?;
        if parent.kind() == NodeKind::Scalar && has_variable(parent.span().slice(text)) {
            return None;
        }
        let mut entries = parent.entries();
        if let Some((key, value)) = entries.find(|(written, _)| written.text() == Some(name)) {
            if has_variable(value.span().slice(text)) {
                return None;
            }
            insertions.push(if value.span().is_empty() {
                edit::behind_key(text, key, &addition.value)?
            } else {
                edit::in_place_of(text, value, &addition.value)?
            });
        } else if !filled.contains(&path) {
            let of_parent = additions
                .iter()
                .filter(|other| other.path.parent().as_ref() == Some(&path));
            let fields = of_parent.filter_map(|other| Some((key(other)?.to_owned(), other.value.clone())));
            let is_new = |(name, _): &(String, Value)| parent.get(name).is_none();
            insertions.push(new_entries(
                text,
                parent,
                &fields.filter(is_new).collect::<Vec<_>>(),
            )?);
            filled.push(path);
        }
    }
    Some(insertions)
}

/// The insertion of entries that a mapping lacks.
fn new_entries(text: &str, parent: NodeRef<'_, '_>, fields: &[(String, Value)]) -> Option<Replacement> {
    edit::into_mapping(text, parent, fields).or_else(|| {
        let is_empty = parent.entries().next().is_none();
        let fields = Value::Object(fields.iter().cloned().collect());
        is_empty.then(|| edit::in_place_of(text, parent, &fields))?
    })
}

fn key(addition: &Addition) -> Option<&str> {
    match addition.path.segments().last()? {
        Segment::Key(key) => Some(key.as_ref()),
        Segment::Index(_) => None,
    }
}

/// Whether the new text has the same objects, changed only by the defaults that could be written.
fn only_adds_defaults(source: &SourceText<'_>, after: &str, defaults: &Defaults<'_>) -> bool {
    edit::is_as_meant(&source.text, after, source.variables, |before, after| {
        let mut expected = Value::from(before);
        for (object, version) in pools(before) {
            if object.path.find(after).is_some_and(|is| is != object.value) {
                let before = Value::from(object.value);
                let wanted = completed(&before, version, defaults);
                for addition in additions(&before, &wanted, &object.path) {
                    put(&mut expected, &addition.path, addition.value);
                }
            }
        }
        *after == Json::from(&expected)
    })
}

/// poolgate's own field, which Karpenter's definition does not have.
const NODE_LIMIT_MODE: &str = "nodeLimitMode";

/// A field that a NodePool lacks, in an object or element that it has.
#[derive(Debug, PartialEq)]
struct Addition {
    path: FieldPath,
    value: Value,
}

/// Fields that every NodePool has. An object that lacks one is a part, such as a patch: the rest is elsewhere.
const DEMANDED: [[&str; 4]; 2] = [
    ["spec", "template", "spec", "nodeClassRef"],
    ["spec", "template", "spec", "requirements"],
];

/// The first of these fields that an object lacks: if there is one, it is only a part of a NodePool.
fn lacking(object: &Json<'_>) -> Option<FieldPath> {
    let mut demanded = DEMANDED.iter().map(|path| FieldPath::of(path));
    demanded.find(|path| path.find(object).is_none())
}

/// The NodePool as the cluster would store it, except for a node limit that it leaves to poolgate.
fn completed(object: &Value, version: ApiVersion, by: &Defaults<'_>) -> Value {
    let mut completed = by.karpenter.completed(object, version);
    let stored = Json::from(&completed);
    let pool = NodePool::view(version, &stored);
    let written = defaults(&pool, None, None, &by.policy.defaults, by.karpenter);
    let limits = FieldPath::of(&["spec", "limits"]);
    for mut default in written {
        // In the cluster poolgate owns this value; written into a manifest, it would be the user's.
        if default.path.segments().starts_with(limits.segments()) {
            continue;
        }
        if !by.with_mode {
            if default.path == FieldPath::of(&["spec", "disruption", NODE_LIMIT_MODE]) {
                continue;
            }
            if let Some(disruption) = default.value.as_object_mut() {
                disruption.remove(NODE_LIMIT_MODE);
            }
        }
        put(&mut completed, &default.path, default.value);
    }
    completed
}

fn put(object: &mut Value, path: &FieldPath, value: Value) {
    let (Some(parent), Some(Segment::Key(field))) = (path.parent(), path.segments().last()) else {
        return;
    };
    let parent = object.pointer_mut(&parent.to_pointer());
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.insert(field.to_string(), value);
    }
}

/// The fields that `after` has and `before` lacks, in the order of `after`.
fn additions(before: &Value, after: &Value, path: &FieldPath) -> Vec<Addition> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => after
            .iter()
            .flat_map(|(name, value)| {
                let path = path.clone().key(name.clone());
                match before.get(name) {
                    None | Some(Value::Null) if !value.is_null() => vec![Addition {
                        path,
                        value: value.clone(),
                    }],
                    Some(before) => additions(before, value, &path),
                    None => Vec::new(),
                }
            })
            .collect(),
        (Value::Array(before), Value::Array(after)) => before
            .iter()
            .zip(after)
            .enumerate()
            .flat_map(|(index, (before, after))| additions(before, after, &path.clone().index(index)))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poolgate_core::facts::TargetKarpenter;
    use poolgate_core::manifest::Variables;
    use poolgate_core::policy::Policy;

    /// Two pools of a List, the second with what the first one has under an anchor.
    const ALIASED: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: a}
  spec: &spec
    disruption:
      consolidationPolicy: WhenEmpty
    template:
      spec:
        nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
        requirements: []
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: b}
  spec: *spec
";

    fn done(text: &str) -> Completed {
        let (policy, karpenter) = (Policy::default(), TargetKarpenter::default());
        let variables = Variables::default();
        let defaults = Defaults {
            policy: &policy,
            karpenter: &karpenter,
            with_mode: false,
        };
        complete(&SourceText::whole(text, &variables), &defaults)
    }

    #[test]
    fn a_pool_that_another_one_completes_through_an_alias_is_no_trouble() {
        for text in [
            ALIASED.to_owned(),
            ALIASED.replace("spec: *spec", "spec:\n    <<: *spec\n    weight: 1"),
        ] {
            let done = done(&text);
            assert_ne!(done.text, text);
            assert!(done.troubles.is_empty(), "{:?}\n{}", done.troubles, done.text);
        }
    }

    #[test]
    fn what_cannot_be_done_is_reported_at_its_place_in_the_text_that_is_written() {
        let first = ALIASED.replace(
            "- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  metadata: {name: b}\n  spec: *spec\n",
            "",
        );
        let second = "---\nx: &spec\n  template:\n    spec:\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      requirements: []\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: b}\nspec: *spec\n";
        let done = done(&(first + second));
        let begins = done
            .text
            .lines()
            .position(|line| line == "x: &spec")
            .expect("a line")
            + 1;
        assert_eq!(done.troubles.len(), 1, "{:?}", done.troubles);
        assert!(
            done.troubles[0].starts_with(&format!("{begins}:1: ")),
            "{:?}",
            done.troubles
        );
    }
}
