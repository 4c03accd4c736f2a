//! The policy in force. A request reads it without a lock.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use poolgate_core::policy::Policy;

/// The policy by which the next request is judged; clones share it.
#[derive(Debug, Clone)]
pub struct PolicyInForce(Arc<ArcSwap<Policy>>);

impl PolicyInForce {
    /// The policy as it is now.
    pub fn load(&self) -> Guard<Arc<Policy>> {
        self.0.load()
    }

    pub(super) fn replace(&self, policy: Policy) {
        self.0.store(Arc::new(policy));
    }
}

impl From<Policy> for PolicyInForce {
    fn from(policy: Policy) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(policy)))
    }
}
