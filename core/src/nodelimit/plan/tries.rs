//! Karpenter's tries to disrupt a node.

use jiff::Timestamp;

use crate::nodelimit::ledger::Moment;

/// Karpenter's tries to disrupt one node, as an unbroken watch has shown them while no condition of the node changed.
///
/// Karpenter sets `DisruptionReason` before it creates the replacement. If that is denied, it removes the condition and
/// sets it anew at the next try; a command whose replacement was created is not tried again. So a second try shows that
/// the first one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// When the first one was seen.
    pub first: Moment,
    /// When the last one was seen.
    pub last: Moment,
    /// `lastTransitionTime` of the last one.
    since: Timestamp,
    is_repeated: bool,
}

impl Tries {
    /// What is known after a condition `DisruptionReason` with this `lastTransitionTime` was seen. Tries within one
    /// second look like one.
    #[must_use]
    pub fn seen(before: Option<Self>, since: Timestamp, now: Moment) -> Self {
        match before {
            Some(before) if before.since == since => before,
            Some(before) => Self {
                last: now,
                since,
                is_repeated: true,
                ..before
            },
            None => Self {
                first: now,
                last: now,
                since,
                is_repeated: false,
            },
        }
    }

    /// Whether there was more than one, so that at least one has failed.
    pub const fn have_failed(self) -> bool {
        self.is_repeated
    }
}
