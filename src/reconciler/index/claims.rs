//! NodeClaims in the index.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Moment;

use super::{Index, KnownClaim};
use crate::reconciler::objects::SeenClaim;

impl Index {
    /// A claim is new or has changed.
    pub(in crate::reconciler) fn put_claim(&mut self, seen: SeenClaim, now: Moment) {
        let uid = Arc::clone(&seen.claim.uid);
        let mut since = now;
        match self.claims.get(&uid) {
            Some(known) if known.seen == seen => return,
            Some(known) => {
                since = known.since;
                self.remove_claim(&uid);
            }
            None => {
                let (count, bound) = (self.claims.len(), self.bounds.claims);
                if !self.has_room("nodeclaims", count, bound) {
                    return;
                }
            }
        }
        let pool = Arc::clone(&seen.pool);
        if let Some(machine) = seen.machine {
            self.pool_of_machine.insert(machine, Arc::clone(&pool));
        }
        self.claims_of
            .entry(Arc::clone(&pool))
            .or_default()
            .insert(Arc::clone(&uid));
        self.claims.insert(uid, KnownClaim { seen, since });
        self.note(&pool);
    }

    /// A claim is gone.
    pub(in crate::reconciler) fn remove_claim(&mut self, uid: &str) {
        let Some(KnownClaim { seen: known, .. }) = self.claims.remove(uid) else {
            return;
        };
        if let Some(machine) = known.machine {
            self.pool_of_machine.remove(&machine);
        }
        if let Entry::Occupied(mut uids) = self.claims_of.entry(Arc::clone(&known.pool)) {
            uids.get_mut().remove(uid);
            if uids.get().is_empty() {
                uids.remove();
            }
        }
        self.note(&known.pool);
    }

    /// The UIDs of all claims.
    pub(in crate::reconciler) fn claims(&self) -> impl Iterator<Item = &Arc<str>> {
        self.claims.keys()
    }
}
