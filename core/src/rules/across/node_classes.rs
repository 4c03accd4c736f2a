//! The node classes of a cluster, as far as they are known, and references of NodePools to those that do not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::{AcrossFinding, Together};
use crate::diagnostic::{FieldPath, Severity, Suggestion, nearest};
use crate::rules::rule::Rule;

pub static NODE_CLASS_MISSING: Rule = rule!("node-class-missing", Error, Silent).across();

const LAUNCHES_NOTHING: &str = "Karpenter launches nothing for a pool without its node class";

pub(crate) fn check(together: Together<'_>, findings: &mut Vec<AcrossFinding>) {
    let classes = together.classes;
    for (index, pool) in together.pools.iter().enumerate() {
        let Some(class) = pool.template.node_class() else {
            continue;
        };
        let (group, kind, name) = class;
        let Some(names) = classes.names(group, kind) else {
            continue;
        };
        if names.contains(name) || classes.is_created(class) {
            continue;
        }
        let (title, consequence, severity) = match classes.source() {
            ClassSource::Cluster => (
                format!("no {kind} of {group} in the cluster has this name"),
                LAUNCHES_NOTHING,
                Severity::Error,
            ),
            ClassSource::Input if names.is_empty() => (
                format!("the input contains no {kind} of {group} at all"),
                "the node class must already be in the cluster",
                Severity::Note,
            ),
            ClassSource::Input => (
                format!("no {kind} of {group} in the input has this name"),
                LAUNCHES_NOTHING,
                Severity::Error,
            ),
        };
        let path = FieldPath::of(&["spec", "template", "spec", "nodeClassRef", "name"]);
        let likely = nearest(name, names.iter().map(String::as_str));
        findings
            .push_mut(AcrossFinding {
                pool: index,
                diagnostic: NODE_CLASS_MISSING.finding(path, name, title),
                others: Vec::new(),
            })
            .diagnostic
            .consequence(consequence)
            .severity(severity)
            .suggest_if_known(likely.map(Suggestion::did_you_mean));
    }
}

/// Node classes that providers create in each cluster, so that no manifest contains them: group, kind and name.
const CREATED: &[(&str, &str, &str)] = &[
    ("eks.amazonaws.com", "NodeClass", "default"),
    ("karpenter.azure.com", "AKSNodeClass", "default"),
    ("karpenter.azure.com", "AKSNodeClass", "system-surge"),
];

/// Where the node classes were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassSource {
    /// The whole input of the user: if it has no class of a kind, there is none.
    Input,
    /// The cluster, kind by kind: nothing is known about kinds that were not listed.
    Cluster,
}

/// The node classes of a cluster, as far as they are known.
#[derive(Debug)]
pub struct NodeClasses {
    source: ClassSource,
    /// By API group and kind.
    names: BTreeMap<(String, String), BTreeSet<String>>,
    none: BTreeSet<String>,
    /// Group, kind and name of those that select capacity reservations.
    reserving: BTreeSet<[String; 3]>,
    is_complete: bool,
}

impl NodeClasses {
    /// No classes known yet.
    pub const fn new(source: ClassSource) -> Self {
        Self {
            source,
            names: BTreeMap::new(),
            none: BTreeSet::new(),
            reserving: BTreeSet::new(),
            is_complete: true,
        }
    }

    /// Where they were read from.
    pub const fn source(&self) -> ClassSource {
        self.source
    }

    /// Adds the names of a kind.
    pub fn add(&mut self, group: &str, kind: &str, names: impl IntoIterator<Item = String>) {
        let of_kind = self.names.entry((group.to_owned(), kind.to_owned())).or_default();
        of_kind.extend(names);
    }

    /// Marks a class as one that selects capacity reservations.
    pub fn add_reservations(&mut self, group: &str, kind: &str, name: &str) {
        self.reserving.insert([group, kind, name].map(str::to_owned));
    }

    /// Whether a class selects capacity reservations.
    pub(crate) fn is_reserving(&self, (group, kind, name): (&str, &str, &str)) -> bool {
        self.reserving.contains(&[group, kind, name].map(str::to_owned))
    }

    /// Whether a class is known to exist.
    pub(crate) fn has(&self, (group, kind, name): (&str, &str, &str)) -> bool {
        let of_kind = self.names.get(&(group.to_owned(), kind.to_owned()));
        of_kind.is_some_and(|names| names.contains(name))
    }

    /// Marks the classes as incomplete: there may be others, of any kind.
    pub fn is_missing_some(&mut self) {
        self.is_complete = false;
    }

    /// The names of a kind; `None` if they are not known.
    pub(crate) fn names(&self, group: &str, kind: &str) -> Option<&BTreeSet<String>> {
        let known = self.names.get(&(group.to_owned(), kind.to_owned()));
        match self.source {
            _ if !self.is_complete => None,
            ClassSource::Input => known.or(Some(&self.none)),
            ClassSource::Cluster => known,
        }
    }

    /// Whether a class needs no manifest.
    pub(crate) fn is_created(&self, class: (&str, &str, &str)) -> bool {
        self.source == ClassSource::Input && CREATED.contains(&class)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::across::testing::found_of;
    use crate::rules::across::{ClassSource, NodeClasses};

    fn pool(group: &str, kind: &str, name: &str) -> Value {
        let class = json!({"group": group, "kind": kind, "name": name});
        json!({"metadata": {"name": "a"}, "spec": {"template": {"spec": {"nodeClassRef": class}}}})
    }

    fn found(classes: &NodeClasses, pool: Value) -> Vec<String> {
        let found = found_of(&[pool], classes, "node-class-missing");
        found.into_iter().map(|(_, message, _)| message).collect()
    }

    #[test]
    fn a_class_of_another_name_kind_or_group_is_another_one() {
        let mut classes = NodeClasses::new(ClassSource::Input);
        classes.add("a.example", "A", ["default".to_owned()]);
        assert_eq!(found(&classes, pool("a.example", "A", "default")), [""; 0]);
        assert_eq!(
            found(&classes, pool("a.example", "A", "defualt")),
            [
                "spec.template.spec.nodeClassRef.name: no A of a.example in the input has this name: \"defualt\" \
                 [node-class-missing]. Did you mean default? Karpenter launches nothing for a pool without its node class."
            ]
        );
        for (group, kind) in [("b.example", "A"), ("a.example", "B")] {
            let found = found(&classes, pool(group, kind, "default"));
            assert!(
                found[0].contains(&format!("the input contains no {kind} of {group} at all")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn nothing_is_reported_if_the_existing_classes_are_not_known() {
        let missing = || pool("a.example", "A", "none");
        let mut cluster = NodeClasses::new(ClassSource::Cluster);
        assert_eq!(found(&cluster, missing()), [""; 0], "the kind was not listed");
        cluster.add("a.example", "A", []);
        assert!(found(&cluster, missing())[0].contains("no A of a.example in the cluster has this name"));
        let mut input = NodeClasses::new(ClassSource::Input);
        assert_eq!(found(&input, missing()).len(), 1);
        input.is_missing_some();
        assert_eq!(found(&input, missing()), [""; 0]);
        let incomplete = json!({"spec": {"template": {"spec": {"nodeClassRef": {"name": "none"}}}}});
        assert_eq!(found(&NodeClasses::new(ClassSource::Input), incomplete), [""; 0]);
    }

    #[test]
    fn a_class_that_the_provider_creates_needs_no_manifest() {
        let input = NodeClasses::new(ClassSource::Input);
        let created = || pool("eks.amazonaws.com", "NodeClass", "default");
        assert_eq!(found(&input, created()), [""; 0]);
        assert_eq!(
            found(&input, pool("eks.amazonaws.com", "NodeClass", "other")).len(),
            1
        );
        let mut cluster = NodeClasses::new(ClassSource::Cluster);
        cluster.add("eks.amazonaws.com", "NodeClass", []);
        assert_eq!(found(&cluster, created()).len(), 1);
    }
}
