//! The door: how many entries of each list and map of a NodePool are read. What an object has beyond that is counted,
//! and nothing else is read of that list. So the work behind the door has an end, whatever a client sends.
//!
//! The numbers hold for one object. Texts and streams of many objects are limited by their bytes.

use super::Field;
use crate::diagnostic::{FieldPath, Segment};
use crate::json::{Json, Object};

/// A list or map, and how many of its entries are read.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Where the list is, such as `spec.disruption.budgets[].reasons`.
    pub path: &'static str,
    /// The most entries.
    pub most: usize,
    /// Who says so.
    pub source: Source,
}

/// Who says how many entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The definition of the newest release, for the list of v1.
    Definition,
    /// poolgate: Karpenter has none. More than twenty times what is in use.
    Own,
    /// poolgate, for all lists of this path in one object together: twenty times the 1,435 instance types of AWS.
    OwnTogether,
}

const fn at_most(path: &'static str, most: usize, source: Source) -> Entries {
    Entries { path, most, source }
}

pub(crate) static LABELS: Entries = at_most("metadata.labels", 500, Source::Own);
pub(crate) static ANNOTATIONS: Entries = at_most("metadata.annotations", 500, Source::Own);
pub(crate) static LIMITS: Entries = at_most("spec.limits", 100, Source::Own);
pub(crate) static BUDGETS: Entries = at_most("spec.disruption.budgets", 50, Source::Definition);
pub(crate) static REASONS: Entries = at_most("spec.disruption.budgets[].reasons", 50, Source::Definition);
pub(crate) static TEMPLATE_LABELS: Entries =
    at_most("spec.template.metadata.labels", 100, Source::Definition);
pub(crate) static TEMPLATE_ANNOTATIONS: Entries =
    at_most("spec.template.metadata.annotations", 500, Source::Own);
pub(crate) static REQUIREMENTS: Entries = at_most("spec.template.spec.requirements", 100, Source::Definition);
pub(crate) static VALUES: Entries = at_most(
    "spec.template.spec.requirements[].values",
    30_000,
    Source::OwnTogether,
);
pub(crate) static TAINTS: Entries = at_most("spec.template.spec.taints", 100, Source::Own);
pub(crate) static STARTUP_TAINTS: Entries = at_most("spec.template.spec.startupTaints", 100, Source::Own);
/// The map in `spec.template.spec.resources`. Only v1beta1 has it.
pub(crate) static RESOURCES: Entries = at_most("spec.template.spec.resources.requests", 100, Source::Own);
/// The list of `spec.template.spec.kubelet`. Only v1beta1 has it.
pub(crate) static CLUSTER_DNS: Entries = at_most("spec.template.spec.kubelet.clusterDNS", 100, Source::Own);
/// The maps of `spec.template.spec.kubelet`.
pub(crate) static KUBELET: [Entries; 5] = [
    at_most("spec.template.spec.kubelet.evictionHard", 100, Source::Own),
    at_most("spec.template.spec.kubelet.evictionSoft", 100, Source::Own),
    at_most(
        "spec.template.spec.kubelet.evictionSoftGracePeriod",
        100,
        Source::Own,
    ),
    at_most("spec.template.spec.kubelet.kubeReserved", 100, Source::Own),
    at_most("spec.template.spec.kubelet.systemReserved", 100, Source::Own),
];

/// How many unknown fields of one object are named. The API server rejects an object with one as one with many.
pub(crate) const UNKNOWN_FIELDS: usize = 50;

impl Entries {
    /// The path of the list in an object. `index` is that of the element around it, if there is one.
    pub fn path(&self, index: usize) -> FieldPath {
        let steps = self.path.split('.').flat_map(|step| {
            let list = step.strip_suffix("[]");
            let index = list.map(|_| Segment::Index(index));
            std::iter::once(Segment::Key(list.unwrap_or(step).into())).chain(index)
        });
        steps.collect()
    }

    /// The name of the field.
    pub fn field(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

/// A list or map with more entries than are read.
#[derive(Debug, Clone)]
pub(crate) struct Beyond<'a> {
    pub entries: &'static Entries,
    /// Where it is.
    pub path: FieldPath,
    /// How many entries it has, or all lists up to it together.
    pub actual: usize,
    /// The list or map itself, to know it again.
    value: &'a Json<'a>,
}

impl Beyond<'_> {
    /// Whether this is the list or map.
    pub fn is(&self, value: &Json<'_>) -> bool {
        std::ptr::eq(self.value, value)
    }
}

/// Lets in the lists and maps of one object.
#[derive(Debug, Default)]
pub(crate) struct Door<'a> {
    /// Those that are not let in.
    pub beyond: Vec<Beyond<'a>>,
    /// The entries of the lists that are counted together.
    together: usize,
}

impl<'a> Door<'a> {
    /// The list of this path, in this object.
    pub fn list(&mut self, of: Option<&'a Object<'a>>, entries: &'static Entries) -> Field<&'a [Json<'a>]> {
        self.list_in(0, of, entries)
    }

    /// The list of this path, in the element with this index.
    pub fn list_in(
        &mut self,
        index: usize,
        of: Option<&'a Object<'a>>,
        entries: &'static Entries,
    ) -> Field<&'a [Json<'a>]> {
        let list = Field::list(of, entries.field());
        match list {
            Field::Present(list) if !self.admits(list.len(), index, of, entries) => Field::Beyond,
            list => list,
        }
    }

    /// The map of this path, in this object.
    pub fn map(&mut self, of: Option<&'a Object<'a>>, entries: &'static Entries) -> Field<Map<'a>> {
        Field::map_in(of, entries.field()).map(|all: &Object<'_>| Map {
            all,
            is_beyond: !self.admits(kept(all, entries.most), 0, of, entries),
        })
    }

    fn admits(
        &mut self,
        count: usize,
        index: usize,
        of: Option<&'a Object<'a>>,
        entries: &'static Entries,
    ) -> bool {
        let before = match entries.source {
            Source::OwnTogether => self.together,
            Source::Definition | Source::Own => 0,
        };
        let actual = before.saturating_add(count);
        if actual <= entries.most {
            if entries.source == Source::OwnTogether {
                self.together = actual;
            }
            return true;
        }
        if let Some(value) = of.and_then(|of| of.get(entries.field())) {
            let path = entries.path(index);
            self.beyond.push(Beyond {
                entries,
                path,
                actual,
                value,
            });
        }
        false
    }
}

/// How many entries a map has that the API server keeps: it drops null values.
fn kept(map: &Object<'_>, most: usize) -> usize {
    if map.len() <= most {
        return map.len();
    }
    map.values().filter(|value| !value.is_null()).count()
}

/// A map of a NodePool. A key is looked up in any, but only the entries of one that the door lets in are walked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Map<'a> {
    all: &'a Object<'a>,
    is_beyond: bool,
}

impl<'a> Map<'a> {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&'a Json<'a>> {
        self.all.get(key)
    }

    /// Keys and values, in the order of the keys; none of a map with too many.
    pub fn iter(self) -> <Self as IntoIterator>::IntoIter {
        self.into_iter()
    }

    /// The entry with a key.
    pub(crate) fn entry(&self, key: &str) -> Option<(&'a str, &'a Json<'a>)> {
        self.all.entry(key)
    }

    /// Whether it has more entries than are read.
    pub const fn is_beyond(&self) -> bool {
        self.is_beyond
    }
}

impl<'a> IntoIterator for Map<'a> {
    type Item = (&'a str, &'a Json<'a>);
    type IntoIter = std::iter::Flatten<std::option::IntoIter<&'a Object<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        let all = (!self.is_beyond).then_some(self.all);
        all.into_iter().flatten()
    }
}

/// All of them.
#[cfg(test)]
pub(crate) fn lists_and_maps() -> impl Iterator<Item = &'static Entries> {
    let single = [
        &LABELS,
        &ANNOTATIONS,
        &LIMITS,
        &BUDGETS,
        &REASONS,
        &TEMPLATE_LABELS,
        &TEMPLATE_ANNOTATIONS,
        &REQUIREMENTS,
        &VALUES,
        &TAINTS,
        &STARTUP_TAINTS,
        &RESOURCES,
        &CLUSTER_DNS,
    ];
    single.into_iter().chain(&KUBELET)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::NodePool;
    use super::*;
    use crate::facts::shape::{Shape, nodepool};
    use crate::facts::{ApiVersion, KarpenterVersion};

    /// The paths of the lists and maps of a shape.
    fn lists(shape: &Shape, path: &str, found: &mut Vec<String>) {
        match shape {
            Shape::Constrained(_, shape) => lists(shape, path, found),
            Shape::List(element) | Shape::Map(element) => {
                found.push(path.to_owned());
                lists(element, &format!("{path}[]"), found);
            }
            Shape::Object(fields) | Shape::Open(fields) => {
                for (name, shape) in *fields {
                    let path = format!("{path}.{name}");
                    lists(shape, path.trim_start_matches('.'), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn each_list_and_map_has_one_number_and_karpenters_is_that_of_the_newest_definition() {
        let mut found = Vec::new();
        for version in [ApiVersion::V1, ApiVersion::V1Beta1] {
            lists(nodepool(version), "", &mut found);
        }
        found.sort();
        found.dedup();
        let mut known: Vec<&str> = lists_and_maps().map(|entries| entries.path).collect();
        known.sort_unstable();
        assert_eq!(found, known);
        for entries in lists_and_maps() {
            let defined = nodepool(ApiVersion::V1)
                .at(entries.path)
                .most(KarpenterVersion::NEWEST);
            let of_definition = (entries.source == Source::Definition).then_some(entries.most);
            assert_eq!(of_definition, defined, "{}", entries.path);
        }
    }

    /// An object with `count` entries in this list or map.
    fn with(entries: &Entries, count: usize) -> Value {
        let map = || -> BTreeMap<String, &str> { (0..count).map(|at| (format!("k{at}"), "1")).collect() };
        let strings = || vec!["1"; count];
        let mut value = match entries.field() {
            "values" | "reasons" | "clusterDNS" => json!(strings()),
            "budgets" | "requirements" | "taints" | "startupTaints" => json!(vec![json!({}); count]),
            _ => json!(map()),
        };
        for step in entries.path.rsplit('.') {
            value = match step.strip_suffix("[]") {
                Some(list) => json!({list: [value]}),
                None => json!({step: value}),
            };
        }
        value
    }

    #[test]
    fn a_list_at_the_most_is_let_in_and_a_longer_one_is_counted() {
        for entries in lists_and_maps() {
            for (count, beyond) in [(entries.most, None), (entries.most + 1, Some(entries.most + 1))] {
                let object = with(entries, count);
                let object = Json::from(&object);
                let pool = NodePool::view(ApiVersion::V1Beta1, &object);
                let found: Vec<_> = pool
                    .beyond
                    .iter()
                    .map(|one| (one.path.to_string(), one.actual))
                    .collect();
                let path = entries.path(0).to_string();
                assert_eq!(
                    found,
                    Vec::from_iter(beyond.map(|actual| (path, actual))),
                    "{count}"
                );
            }
        }
    }

    #[test]
    fn a_map_beyond_the_door_is_looked_up_and_not_walked() {
        let object = with(&LIMITS, LIMITS.most + 1);
        let object = Json::from(&object);
        let pool = NodePool::view(ApiVersion::V1, &object);
        let limits = pool.limits.present().expect("a map");
        assert_eq!(limits.get("k7").and_then(Json::as_str), Some("1"));
        assert_eq!(limits.iter().count(), 0);
    }
}
