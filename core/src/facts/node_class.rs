//! Which group and kind of node class belong together. An unknown kind is not a mistake by itself: anyone can write a
//! provider.

use super::provider::{NODE_CLASSES, NodeClassKind};
use crate::diagnostic::nearest_within;

impl NodeClassKind {
    /// The kinds of a group.
    pub fn of_group(group: &str) -> impl Iterator<Item = &'static Self> {
        NODE_CLASSES.iter().filter(move |known| known.group == group)
    }

    /// What is wrong with a group and a kind that no provider known to poolgate combines; `None` if nothing is, or
    /// if both may belong to a provider that it does not know.
    pub fn mismatch(group: &str, kind: &str) -> Option<NodeClassMismatch> {
        let find = |fits: &dyn Fn(&Self) -> bool| NODE_CLASSES.iter().find(|known| fits(known));
        if find(&|known| known.group == group && known.kind == kind).is_some() {
            return None;
        }
        let slip = find(&|known| known.group == group)
            .or_else(|| find(&|known| known.kind == kind && is_slip(group, known.group)))
            .or_else(|| find(&|known| is_slip(group, known.group) && is_slip(kind, known.kind)))
            .or_else(|| find(&|known| group == "karpenter.sh" && known.kind == kind));
        slip.map(NodeClassMismatch::Slip)
            .or_else(|| find(&|known| known.kind == kind && known.is_sole).map(NodeClassMismatch::Fork))
    }
}

/// Why a group and a kind do not belong together.
#[derive(Debug, Clone, Copy)]
pub enum NodeClassMismatch {
    /// One of them is misspelt, or of another provider: this was probably intended.
    Slip(&'static NodeClassKind),
    /// The kind is this provider's and the group is unknown: a fork, or a mistake.
    Fork(&'static NodeClassKind),
}

/// Whether one text was probably intended as the other: equal except for case and at most two typos.
fn is_slip(written: &str, meant: &str) -> bool {
    nearest_within(2, written, [meant]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likely(group: &str, kind: &str) -> Option<(&'static str, &'static str)> {
        match NodeClassKind::mismatch(group, kind)? {
            NodeClassMismatch::Slip(known) => Some((known.group, known.kind)),
            NodeClassMismatch::Fork(_) => None,
        }
    }

    #[test]
    fn a_kind_of_one_provider_in_a_group_that_is_unknown_may_be_a_fork() {
        for group in ["karpenter.mycorp.io", "example.com"] {
            let mismatch = NodeClassKind::mismatch(group, "EC2NodeClass");
            assert!(
                matches!(mismatch, Some(NodeClassMismatch::Fork(known)) if known.group == "karpenter.k8s.aws")
            );
        }
    }

    #[test]
    fn what_may_be_right_is_left_alone() {
        for known in NODE_CLASSES {
            assert_eq!(likely(known.group, known.kind), None);
        }
        assert_eq!(likely("karpenter.example.com", "ExampleNodeClass"), None);
        assert_eq!(likely("karpenter.example.com", "NodeClass"), None);
        assert_eq!(
            likely("hcloud.example.com", "HCloudNodeClass"),
            None,
            "providers share names"
        );
        assert_eq!(likely(&"k".repeat(1_000_000), "EC2NodeClass"), None);
    }

    #[test]
    fn groups_and_kinds_that_do_not_match_are_reported_with_the_probable_ones() {
        let ec2 = Some(("karpenter.k8s.aws", "EC2NodeClass"));
        for (group, kind) in [
            ("karpenter.k8s.aws", "Ec2NodeClass"),
            ("karpenter.k8s.aws", "AWSNodeTemplate"),
            ("karpenter.k8s.aws", "NodeClass"),
            ("Karpenter.k8s.aws", "EC2NodeClass"),
            ("karpenter.sh", "EC2NodeClass"),
        ] {
            assert_eq!(likely(group, kind), ec2, "{group}/{kind}");
        }
        let auto_mode = Some(("eks.amazonaws.com", "NodeClass"));
        assert_eq!(likely("eks.amazonaws.com", "EC2NodeClass"), auto_mode);
        assert_eq!(likely("eks.amazonaws.co", "nodeclass"), auto_mode);
        assert_eq!(
            likely("karpenter-ibm.sh", "IbmNodeClass"),
            Some(("karpenter-ibm.sh", "IBMNodeClass"))
        );
    }
}
