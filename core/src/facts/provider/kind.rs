//! The kinds of node class.

/// A kind of node class.
#[derive(Debug)]
pub struct NodeClassKind {
    /// The API group without version, such as `karpenter.k8s.aws`.
    pub group: &'static str,
    /// The kind, such as `EC2NodeClass`.
    pub kind: &'static str,
    /// Whether only this group has the kind: no fork or second provider uses the name.
    pub(crate) is_sole: bool,
}

pub(super) const fn sole(group: &'static str, kind: &'static str) -> NodeClassKind {
    NodeClassKind {
        group,
        kind,
        is_sole: true,
    }
}

pub(super) const fn shared(group: &'static str, kind: &'static str) -> NodeClassKind {
    NodeClassKind {
        group,
        kind,
        is_sole: false,
    }
}
