//! The annotations and labels, and the words in them.

use serde::{Deserialize, Serialize};

use crate::diagnostic::FieldPath;
use crate::value::words;

/// `apiVersion` of poolgate's own files.
pub const API_VERSION: &str = "poolgate.dev/v1alpha1";

/// The annotation with which a NodePool leaves its node limit to poolgate: poolgate then keeps `spec.limits.nodes`
/// at the limit less the nodes that are going but still count.
pub const NODE_LIMIT_ANNOTATION: &str = "poolgate.dev/node-limit";

/// The annotation that says which node limit holds when. The leader keeps [`NODE_LIMIT_ANNOTATION`] at the number in force.
pub const NODE_LIMIT_SCHEDULE_ANNOTATION: &str = "poolgate.dev/node-limit-schedule";

/// The annotation that holds the mode on a NodePool whose CRD lacks `spec.disruption.nodeLimitMode`.
pub const NODE_LIMIT_MODE_ANNOTATION: &str = "poolgate.dev/node-limit-mode";

/// The annotation that says how many nodes more than its limit a Hard pool may have while it replaces nodes.
pub const SURGE_ANNOTATION: &str = "poolgate.dev/surge";

/// The annotation by which a NodePool chooses what happens to its nodes above the limit.
pub const OVER_LIMIT_ANNOTATION: &str = "poolgate.dev/over-limit";

/// The annotation by which a NodePool chooses which of its nodes are replaced at the limit.
pub const AT_LIMIT_ANNOTATION: &str = "poolgate.dev/at-limit";

/// The annotation by which a user freezes a NodePool: Karpenter begins to disrupt none of its nodes, and poolgate deletes none.
pub const FREEZE_ANNOTATION: &str = "poolgate.dev/freeze";

/// The annotation by which a user acknowledges that a change of the template replaces nodes. Its value is a digest of the new
/// template.
pub const ACKNOWLEDGE_DRIFT_ANNOTATION: &str = "poolgate.dev/acknowledge-drift";

/// The annotation by which a user allows the deletion of a NodePool that has nodes. Its value is the name of the pool, so
/// that it allows nothing in a copy of the manifest.
pub const ALLOW_DELETE_ANNOTATION: &str = "poolgate.dev/allow-delete";

/// The label of every node that poolgate holds.
pub const HELD_LABEL: &str = "poolgate.dev/held";

/// The annotation that distinguishes poolgate's own `karpenter.sh/do-not-disrupt` and `karpenter.sh/do-not-repair` from a
/// user's. Its value says what the node is held for.
pub const HELD_ANNOTATION: &str = "poolgate.dev/held-for";

/// The label or annotation by which a user keeps poolgate from unholding a node that it holds.
pub const KEEP_MARK: &str = "poolgate.dev/keep";

/// The annotation of a webhook configuration with the failure policy that was installed. Somebody may have changed it since,
/// to let `NodePools` pass.
pub const FAILURE_POLICY_ANNOTATION: &str = "poolgate.dev/failure-policy";

/// The label of the `ConfigMap` that holds a pool's ledger.
pub const LEDGER_LABEL: &str = "poolgate.dev/ledger";

/// What every key begins with.
pub(crate) const KEY_PREFIX: &str = "poolgate.dev/";

/// The annotations that are read of a NodePool itself.
pub(crate) const OF_POOLS: [&str; 9] = [
    NODE_LIMIT_ANNOTATION,
    NODE_LIMIT_SCHEDULE_ANNOTATION,
    NODE_LIMIT_MODE_ANNOTATION,
    SURGE_ANNOTATION,
    OVER_LIMIT_ANNOTATION,
    AT_LIMIT_ANNOTATION,
    FREEZE_ANNOTATION,
    ACKNOWLEDGE_DRIFT_ANNOTATION,
    ALLOW_DELETE_ANNOTATION,
];

/// The labels and annotations that are read of nodes.
pub(crate) const OF_NODES: [&str; 3] = [HELD_LABEL, HELD_ANNOTATION, KEEP_MARK];

/// The meaning of `spec.limits.nodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeLimitMode {
    /// Never more NodeClaims than the limit, terminating ones included.
    Hard,
    /// Provisioning is limited; replacements may exceed the limit for a while.
    Soft,
}

words!(NodeLimitMode { Hard = "Hard", Soft = "Soft" });

impl NodeLimitMode {
    /// The mode of a NodePool that says none. No policy decides it: replicas may have different ones for minutes.
    pub(crate) const UNWRITTEN: Self = Self::Hard;

    /// The mode by which claims above the limit of such a NodePool are counted: Soft may have been pruned from it, and no
    /// node may be lost because of that.
    pub const UNWRITTEN_ABOVE_LIMIT: Self = Self::Soft;
}

/// The handling of nodes above `limits.nodes`, in the words of a policy file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverLimit {
    /// They are reported, and stay.
    #[default]
    Report,
    /// They are terminated, the cheapest first.
    Terminate,
}

words!(OverLimit { Report = "report", Terminate = "terminate" });

impl OverLimit {
    /// The words as they are written in the annotation, in the order in which messages name them.
    pub(crate) const ANNOTATED: &'static [&'static str] = &["Terminate", "Report"];
}

/// Which nodes of a Hard pool at its limit are terminated first and then replaced, because there is no place for the
/// replacement beside them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtLimit {
    /// None: they stay until there is room.
    Block,
    /// Those that Karpenter wants to repair.
    #[default]
    Repair,
    /// Drifted ones, too, where the pool leaves `spec.limits.nodes` to poolgate.
    Replace,
}

words!(AtLimit { Block = "Block", Repair = "Repair", Replace = "Replace" });

/// The path of an annotation of an object.
pub(crate) fn annotation_path(key: &'static str) -> FieldPath {
    FieldPath::of(&["metadata", "annotations", key])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_lists_every_key_with_its_words() {
        let page = include_str!("../../../docs/reference/annotations.md");
        let rows = page.lines().filter(|line| line.starts_with("| `poolgate.dev/"));
        let listed: Vec<[&str; 2]> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split(" | ").collect();
                [cells[0].trim_matches(['|', ' ', '`']), cells[2]]
            })
            .collect();
        let constants = include_str!("keys.rs")
            .lines()
            .filter(|line| line.starts_with("pub const"));
        let keys: Vec<&str> = constants
            .filter(|line| !line.starts_with("pub const API_VERSION"))
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        assert_eq!(listed.iter().map(|[key, _]| *key).collect::<Vec<_>>(), keys);
        for (key, words) in [
            (NODE_LIMIT_MODE_ANNOTATION, NodeLimitMode::VALUES),
            (OVER_LIMIT_ANNOTATION, OverLimit::ANNOTATED),
            (AT_LIMIT_ANNOTATION, AtLimit::VALUES),
        ] {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            assert!(listed.contains(&[key, &words.join(", ")]), "{key}: {listed:?}");
        }
    }

    #[test]
    fn over_limit_has_the_same_words_in_annotation_and_policy_file() {
        let mut annotated: Vec<String> = OverLimit::ANNOTATED
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        annotated.reverse();
        assert_eq!(annotated, OverLimit::VALUES);
    }
}
