//! What is remembered of a pool from one plan to the next: nothing that must survive a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

/// What is remembered from one plan of a pool to the next. Begin with [`Memory::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// In which turn each claim last had an open place, by UID.
    pub(super) turns: BTreeMap<Arc<str>, i64>,
    /// Since when there have been places enough to hold no node.
    pub(super) roomy_since: Option<Timestamp>,
}
