//! NodeClaims in the index.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::Tries;

use super::{Index, KnownClaim};
use crate::cluster::objects::{ClaimObject, Key};

impl Index {
    /// A claim is new or has changed.
    pub fn put_claim(&mut self, object: ClaimObject, now: Moment) {
        let uid = object.metadata.uid.clone();
        let Some(seen) = object.seen(&mut self.claim_pools) else {
            return self.remove_claim(&uid);
        };
        let uid = Arc::clone(&seen.claim.uid);
        let mut since = now;
        let mut tries = None;
        match self.claims.get(&uid) {
            Some(known) if known.seen == seen => return,
            Some(known) => {
                since = known.since;
                tries.clone_from(&known.tries);
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
        let conditions = seen.claim.conditions;
        if let Some(disruption) = conditions.disruption.filter(|_| !conditions.rebooting) {
            let before = tries.as_deref().copied();
            tries = Some(Box::new(Tries::seen(before, disruption.since, now)));
        }
        self.claims.insert(uid, KnownClaim { seen, since, tries });
        self.changed.insert(pool);
    }

    /// Forgets the tries to disrupt the node on a machine: what decides whether Karpenter repairs it has changed.
    pub fn forget_tries_on(&mut self, machine: Key) {
        let pool = self.pool_of_machine.get(&machine);
        for uid in pool
            .and_then(|pool| self.claims_of.get(pool))
            .into_iter()
            .flatten()
        {
            if let Some(known) = self.claims.get_mut(uid)
                && known.seen.machine == Some(machine)
            {
                known.tries = None;
            }
        }
    }

    /// Forgets all tries: a watch may have missed something.
    pub fn forget_tries(&mut self) {
        for known in self.claims.values_mut() {
            known.tries = None;
        }
    }

    /// A claim is gone.
    pub fn remove_claim(&mut self, uid: &str) {
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
        self.changed.insert(known.pool);
    }

    /// The UIDs of all claims.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<str>> {
        self.claims.keys()
    }
}
