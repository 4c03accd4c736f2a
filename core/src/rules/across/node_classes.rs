//! The node classes of a cluster, as far as they are known.

use std::collections::{BTreeMap, BTreeSet};

/// Names that providers themselves create in each cluster, so that no manifest holds them.
const CREATED: &[(&str, &str, &str)] = &[
    ("eks.amazonaws.com", "NodeClass", "default"),
    ("karpenter.azure.com", "AKSNodeClass", "default"),
    ("karpenter.azure.com", "AKSNodeClass", "system-surge"),
];

/// Where objects were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassSource {
    /// In what the user gave, all of it: a kind of which it holds nothing does not exist.
    Input,
    /// In the cluster, kind by kind: of others nothing is known.
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
    /// Nothing known yet.
    pub const fn new(source: ClassSource) -> Self {
        Self {
            source,
            names: BTreeMap::new(),
            none: BTreeSet::new(),
            is_complete: true,
        }
    }

    /// Where they were looked for.
    pub const fn source(&self) -> ClassSource {
        self.source
    }

    /// Takes in the names of a kind.
    pub fn add(&mut self, group: &str, kind: &str, names: impl IntoIterator<Item = String>) {
        let of_kind = self.names.entry((group.to_owned(), kind.to_owned())).or_default();
        of_kind.extend(names);
    }

    /// There may be others, of any kind.
    pub fn is_missing_some(&mut self) {
        self.is_complete = false;
    }

    /// The names of a kind; none where it is not known which there are.
    pub(super) fn names(&self, group: &str, kind: &str) -> Option<&BTreeSet<String>> {
        let known = self.names.get(&(group.to_owned(), kind.to_owned()));
        match self.source {
            _ if !self.is_complete => None,
            ClassSource::Input => known.or(Some(&self.none)),
            ClassSource::Cluster => known,
        }
    }

    /// Whether a class needs no manifest.
    pub(super) fn is_created(&self, class: (&str, &str, &str)) -> bool {
        self.source == ClassSource::Input && CREATED.contains(&class)
    }
}
