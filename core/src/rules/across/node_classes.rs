//! The node classes of a cluster, as far as they are known.

use std::collections::{BTreeMap, BTreeSet};

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
    is_complete: bool,
}

impl NodeClasses {
    /// No classes known yet.
    pub const fn new(source: ClassSource) -> Self {
        Self {
            source,
            names: BTreeMap::new(),
            none: BTreeSet::new(),
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
