//! Reasons for voluntary disruption of nodes by Karpenter.

use crate::json::Json;
use crate::pool::Field;
use crate::value::words;

/// Why Karpenter disrupts a node, in the words of a budget's `reasons`.
// karpenter: pkg/apis/v1/nodepool.go DisruptionReason
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Consolidation of nodes that are not fully used.
    Underutilized,
    /// Removal of nodes without pods.
    Empty,
    /// Replacement of nodes that no longer match the NodePool.
    Drifted,
    /// Repair of nodes, from Karpenter 1.15 on.
    Unhealthy,
}

words!(Reason {
    Underutilized = "Underutilized",
    Empty = "Empty",
    Drifted = "Drifted",
    Unhealthy = "Unhealthy",
});

impl Reason {
    /// Every reason, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Underutilized, Self::Empty, Self::Drifted, Self::Unhealthy];
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons(u8);

impl Reasons {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The set of all four reasons.
    pub const ALL: Self = Self(0b1111);

    /// What every release of v1 knows, in the words of a freeze after which broken nodes are still repaired.
    pub const ALL_BUT_REPAIR: Self = Self::ALL.without(Self::only(Reason::Unhealthy));

    /// The set of this reason alone.
    pub const fn only(reason: Reason) -> Self {
        Self(1 << reason as u8)
    }

    /// The reasons of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The reasons that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The reasons of this set that are not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it has this reason.
    pub const fn has(self, reason: Reason) -> bool {
        self.has_any(Self::only(reason))
    }

    /// Whether it has at least one of these reasons.
    pub(crate) const fn has_any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Its reasons, in the order of [`Reason::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |reason| self.has(*reason))
    }

    /// Its reasons as a list in YAML.
    pub fn written(self) -> String {
        format!("[{}]", self.names(", "))
    }

    /// The names of its reasons, with this between them.
    pub fn names(self, between: &str) -> String {
        self.iter().map(Reason::as_str).collect::<Vec<_>>().join(between)
    }

    /// The reasons that a budget lists; mistyped if one of them is unknown. A budget without `reasons` applies to all of them,
    /// one with an empty list to none.
    pub(super) fn parse(list: Field<&[Json<'_>]>) -> Field<Self> {
        let list = match list {
            Field::Present(list) => list,
            other => return other.map(|_| Self::ALL),
        };
        let reasons = list.iter().try_fold(Self::NONE, |reasons, reason| {
            Some(reasons.with(Self::only(Reason::parse(Json::as_str(reason)?)?)))
        });
        reasons.map_or(Field::Mistyped, Field::Present)
    }
}
