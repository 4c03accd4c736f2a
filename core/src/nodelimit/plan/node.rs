//! A node, and the marks on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::held_for::HeldFor;
use super::resources::Resources;
use super::taints::Taint;
use crate::api::{HELD_ANNOTATION, HELD_LABEL, KEEP_MARK};
use crate::karpenter::{DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION, DO_NOT_REPAIR_ANNOTATION};

/// A node, as far as the plan depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `metadata.name`, by which events and the log name it.
    pub name: Arc<str>,
    /// `metadata.uid`, for the precondition of a write.
    pub uid: Arc<str>,
    /// `metadata.labels`, or at least those that pods select by. Nodes of one kind may share them.
    pub labels: Arc<BTreeMap<String, String>>,
    /// `spec.taints`. Nodes may share them.
    pub taints: Arc<[Taint]>,
    /// `spec.unschedulable`: no new pods are scheduled here.
    pub is_cordoned: bool,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
    /// `status.allocatable`. Nodes of one kind may share it.
    pub allocatable: Arc<Resources>,
    /// What keeps Karpenter from disrupting it.
    pub marks: Marks,
    /// A hash of its conditions, without heartbeats and messages.
    pub conditions: u64,
}

/// What keeps Karpenter from disrupting a node, and who put it there.
#[allow(clippy::struct_excessive_bools, reason = "each is a mark of its own")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether it has the annotation `karpenter.sh/do-not-disrupt: "true"`, whoever set it.
    pub do_not_disrupt: bool,
    /// Whether it has the label [`HELD_LABEL`].
    pub(crate) held_label: bool,
    /// Whether it has the annotation `karpenter.sh/do-not-repair: "true"`, whoever set it.
    pub do_not_repair: bool,
    /// What the annotation [`HELD_ANNOTATION`] says; `None` if it is missing.
    pub(crate) held_annotation: Option<HeldFor>,
    /// A label or annotation [`KEEP_MARK`].
    pub keep: bool,
}

impl Marks {
    /// The marks on a node, read from its labels and annotations.
    pub fn from_lookups<'t>(
        label: impl Fn(&str) -> Option<&'t str>,
        annotation: impl Fn(&str) -> Option<&'t str>,
    ) -> Self {
        Self {
            // On a node, Karpenter ignores every other value.
            do_not_disrupt: annotation(DO_NOT_DISRUPT_ANNOTATION) == Some("true"),
            held_label: label(HELD_LABEL).is_some(),
            do_not_repair: annotation(DO_NOT_REPAIR_ANNOTATION) == Some("true"),
            held_annotation: annotation(HELD_ANNOTATION).map(HeldFor::parse),
            keep: label(KEEP_MARK).or_else(|| annotation(KEEP_MARK)).is_some(),
        }
    }

    /// Whether any of poolgate's marks is there.
    pub const fn any_is_ours(self) -> bool {
        self.held_label || self.held_annotation.is_some()
    }

    /// Why poolgate holds the node, if it does.
    pub(crate) fn held_for(self) -> HeldFor {
        let unsaid = HeldFor {
            node_limit: self.held_label,
            repair: false,
        };
        self.held_annotation.unwrap_or(unsaid)
    }

    /// Whether all marks are there that hold the node for these reasons.
    pub(crate) fn hold_for(self, reasons: HeldFor) -> bool {
        self.held_label
            && self.held_annotation == Some(reasons)
            && (self.do_not_disrupt || !reasons.node_limit)
            && (self.do_not_repair || !reasons.repair)
    }

    /// Whether `karpenter.sh/do-not-disrupt` stays, as a user's, when poolgate unholds the node.
    pub fn hands_over(self) -> bool {
        self.keep && self.do_not_disrupt && self.are_ours()
    }

    /// Whether poolgate keeps Karpenter from disrupting the node.
    pub(crate) fn are_ours(self) -> bool {
        self.held_for().node_limit
    }

    /// Whether a user keeps Karpenter from repairing the node.
    pub(crate) fn forbid_repair(self) -> bool {
        self.do_not_repair && !self.held_for().repair
    }

    /// Whether poolgate holds the node and a user wants it to stay held.
    pub(crate) fn keep_held(self) -> bool {
        self.keep && self.are_ours()
    }

    /// Whether a user wants the node to stay, by any of the marks.
    pub(crate) fn are_a_wish(self) -> bool {
        self.are_users() || self.keep_held()
    }

    /// Whether the marks are a user's wish whatever poolgate writes: even if it does not hold the node yet, or no longer does.
    pub(crate) fn are_a_lasting_wish(self) -> bool {
        self.are_users() || self.keep
    }

    /// Whether a user has closed the node.
    pub(crate) fn are_users(self) -> bool {
        self.do_not_disrupt && !self.are_ours()
    }
}

impl Node {
    /// Whether Karpenter is disrupting the node or about to.
    pub(crate) fn is_being_disrupted(&self) -> bool {
        self.taints.iter().any(|taint| taint.key == DISRUPTED_TAINT)
    }
}
