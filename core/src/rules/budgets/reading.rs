//! A budget as Karpenter reads it: what it allows, for which reasons, and when.

use std::time::Duration;

use serde_json::Value;

use crate::karpenter::{ApiVersion, Budget, Field};
use crate::value::cron::Schedule;
use crate::value::nodes::BudgetNodes;

/// Reasons for which Karpenter disrupts a node of its own will, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reasons(u8);

impl Reasons {
    pub(super) const NONE: Self = Self(0);
    pub(super) const UNDERUTILIZED: Self = Self(1);
    pub(super) const EMPTY: Self = Self(1 << 1);
    pub(super) const DRIFTED: Self = Self(1 << 2);
    pub(super) const UNHEALTHY: Self = Self(1 << 3);
    pub(super) const ALL: Self = Self(0b1111);

    /// Each reason by itself, with its name.
    pub(super) const EACH: [(Self, &'static str); 4] = [
        (Self::UNDERUTILIZED, "Underutilized"),
        (Self::EMPTY, "Empty"),
        (Self::DRIFTED, "Drifted"),
        (Self::UNHEALTHY, "Unhealthy"),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        let (reason, _) = Self::EACH.iter().find(|(_, known)| *known == name)?;
        Some(*reason)
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, reason: Self) -> bool {
        self.0 & reason.0 != 0
    }

    /// The reasons that a budget names; none if one of them cannot be read. A budget without `reasons` is for all
    /// of them, one with an empty list for none.
    pub(super) fn of(budget: &Budget<'_>, version: ApiVersion) -> Option<Self> {
        match (version, budget.reasons) {
            (ApiVersion::V1Beta1, _) | (_, Field::Absent) => Some(Self::ALL),
            (_, Field::Mistyped) => None,
            (_, Field::Present(list)) => list.iter().try_fold(Self::NONE, |reasons, reason| {
                Some(reasons.with(Self::named(Value::as_str(reason)?)?))
            }),
        }
    }
}

/// When a budget holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// At any time.
    Always,
    /// For some time after each fire, and not at all times.
    Sometimes {
        /// When the window opens.
        schedule: Schedule,
        /// How long it stays open.
        duration: Duration,
    },
}

/// A budget that can be read.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    /// The budget as it stands in the object.
    pub(super) budget: &'a Budget<'a>,
    /// How many nodes may go.
    pub(super) nodes: BudgetNodes,
    /// For which reasons.
    pub(super) reasons: Reasons,
    /// When it holds.
    pub(super) window: Window,
}

impl Reading<'_> {
    /// Whether it holds at any time.
    pub(super) fn is_always_active(&self) -> bool {
        self.window == Window::Always
    }
}
