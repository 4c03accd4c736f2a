//! What `/readyz` says of the policy.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::lifecycle::Detail;

/// One line about the policy in force and the file that it comes from.
#[derive(Debug)]
pub(crate) struct PolicyStatus {
    in_force: ArcSwap<String>,
    /// Why the file as it is now is not in force; empty where it is.
    refusal: ArcSwap<String>,
}

impl PolicyStatus {
    pub(super) fn new(in_force: String) -> Arc<Self> {
        Arc::new(Self {
            in_force: ArcSwap::from_pointee(in_force),
            refusal: ArcSwap::default(),
        })
    }

    pub(super) fn in_force(&self, in_force: String) {
        self.in_force.store(Arc::new(in_force));
        self.accepted();
    }

    pub(super) fn refused(&self, refusal: String) {
        self.refusal.store(Arc::new(refusal));
    }

    pub(super) fn accepted(&self) {
        self.refusal.store(Arc::default());
    }
}

impl Detail for PolicyStatus {
    fn line(&self) -> String {
        let (in_force, refusal) = (self.in_force.load(), self.refusal.load());
        if refusal.is_empty() {
            return format!("policy: {in_force} is in force");
        }
        format!("policy: {in_force} stays in force: {refusal}")
    }
}
