//! The marks on a node that keep Karpenter from disrupting it: poolgate's, and a user's.

use crate::api::{HELD_ANNOTATION, HELD_LABEL, KEEP_MARK};
use crate::facts::{DO_NOT_DISRUPT_ANNOTATION, DO_NOT_REPAIR_ANNOTATION};

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
    // karpenter: pkg/controllers/state/statenode.go StateNode.ValidateNodeDisruptable
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
    pub fn held_for(self) -> HeldFor {
        let unsaid = HeldFor {
            node_limit: self.held_label,
            ..HeldFor::default()
        };
        self.held_annotation.unwrap_or(unsaid)
    }

    /// Whether all marks are there that hold the node for these reasons.
    pub(crate) fn hold_for(self, reasons: HeldFor) -> bool {
        self.held_label
            && self.held_annotation == Some(reasons)
            && (self.do_not_disrupt || !reasons.forbid_disruption())
            && (self.do_not_repair || !reasons.repair)
    }

    /// Whether `karpenter.sh/do-not-disrupt` stays, as a user's, when poolgate unholds the node.
    pub fn hands_over(self) -> bool {
        self.keep && self.do_not_disrupt && self.are_ours()
    }

    /// Whether poolgate keeps Karpenter from disrupting the node.
    pub(crate) fn are_ours(self) -> bool {
        self.held_for().forbid_disruption()
    }

    /// Whether poolgate holds the node because its pool has no room.
    pub(crate) fn are_for_limit(self) -> bool {
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

    /// Whether a user keeps Karpenter from disrupting the node.
    pub(crate) fn protect_for_user(self) -> bool {
        self.are_users() || self.keep_held()
    }

    /// Whether a user asks for the node to stay, even if poolgate does not hold it yet, or no longer does.
    pub(crate) fn ask_to_stay(self) -> bool {
        self.are_users() || self.keep
    }

    /// Whether `karpenter.sh/do-not-disrupt` is a user's.
    pub(crate) fn are_users(self) -> bool {
        self.do_not_disrupt && !self.are_ours()
    }
}

/// Why poolgate holds a node: the value of the annotation [`HELD_ANNOTATION`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeldFor {
    /// The pool has no room for its replacement: `karpenter.sh/do-not-disrupt`.
    pub node_limit: bool,
    /// A user has frozen the pool: `karpenter.sh/do-not-disrupt`.
    pub freeze: bool,
    /// Its repair would need room that is not there: `karpenter.sh/do-not-repair`.
    pub repair: bool,
}

impl HeldFor {
    /// Parses the annotation: words between commas. Anything unknown is for the node limit.
    pub fn parse(text: &str) -> Self {
        let mut held = Self::default();
        for word in text.split(',') {
            match word {
                "freeze" => held.freeze = true,
                "repair" => held.repair = true,
                _ => held.node_limit = true,
            }
        }
        held
    }

    /// The text of the annotation.
    pub fn text(self) -> String {
        let words = [
            (self.node_limit, "node-limit"),
            (self.freeze, "freeze"),
            (self.repair, "repair"),
        ];
        let words: Vec<&str> = words
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, word)| *word)
            .collect();
        words.join(",")
    }

    /// Whether there is a reason at all.
    pub const fn any(self) -> bool {
        self.forbid_disruption() || self.repair
    }

    /// Whether one of the reasons keeps Karpenter from disrupting the node.
    pub const fn forbid_disruption(self) -> bool {
        self.node_limit || self.freeze
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_says_why_a_node_is_held_and_is_read_back() {
        for (node_limit, freeze, repair, text) in [
            (true, false, false, "node-limit"),
            (false, false, true, "repair"),
            (true, false, true, "node-limit,repair"),
            (false, true, false, "freeze"),
            (true, true, true, "node-limit,freeze,repair"),
        ] {
            let held = HeldFor {
                node_limit,
                freeze,
                repair,
            };
            assert_eq!(held.text(), text);
            assert_eq!(HeldFor::parse(text), held);
        }
        for unknown in ["", "a later reason"] {
            assert_eq!(HeldFor::parse(unknown).text(), "node-limit", "{unknown}");
        }
    }
}
