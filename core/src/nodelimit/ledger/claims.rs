//! The NodeClaims of one pool, as a watch or a list shows them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::state::MAX_TICKETS;
use super::uid::Uid;
use crate::karpenter::NodeLimitMode;

/// What counting needs of a NodeClaim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The object's resourceVersion.
    pub version: u64,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// Whether its node carries the taint `karpenter.sh/disrupted`.
    pub disrupted: bool,
}

impl Claim {
    /// Whether a Soft limit leaves it out.
    const fn is_being_replaced(self) -> bool {
        self.deleting || self.disrupted
    }
}

/// The NodeClaims of one pool and the version up to which that is complete. Counts without walking.
///
/// It also remembers, of the last [`MAX_TICKETS`] claims, that they were there and are gone: that settles their
/// tickets, which would otherwise hold a place for one lifetime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ClaimView {
    version: u64,
    claims: BTreeMap<Uid, Claim>,
    deleting: usize,
    being_replaced: usize,
    departed: BTreeSet<Uid>,
    departures: VecDeque<Uid>,
}

impl ClaimView {
    /// What a LIST showed, at its resourceVersion.
    pub fn listed(version: u64, claims: impl IntoIterator<Item = (Uid, Claim)>) -> Self {
        let mut view = Self {
            version,
            ..Self::default()
        };
        for (uid, claim) in claims {
            view.put(uid, claim);
        }
        view
    }

    /// Takes over a LIST, unless it is older than what is known. Claims that it lacks are gone.
    pub fn relist(&mut self, list: Self) {
        if list.version < self.version {
            return;
        }
        let before = std::mem::replace(&mut self.claims, list.claims);
        for uid in before.into_keys() {
            if !self.claims.contains_key(&uid) {
                self.depart(uid);
            }
        }
        self.version = list.version;
        self.deleting = list.deleting;
        self.being_replaced = list.being_replaced;
    }

    /// Takes a watch event that adds or changes a claim. News that a LIST has overtaken are passed over.
    pub fn upsert(&mut self, uid: Uid, claim: Claim) {
        if claim.version > self.version {
            self.version = claim.version;
            self.put(uid, claim);
        }
    }

    /// Takes a watch event that removes a claim; `version` is the resourceVersion in the event.
    pub fn remove(&mut self, uid: &Uid, version: u64) {
        if version > self.version {
            self.version = version;
            self.take(uid);
            self.depart(uid.clone());
        }
    }

    /// Takes a bookmark, or what a watch over several pools has shown of the others: nothing of this pool has
    /// changed up to this version.
    pub fn advance_to(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Takes what the claim's node shows. A claim that is not in view is passed over.
    pub fn set_disrupted(&mut self, uid: &Uid, disrupted: bool) {
        if let Some(claim) = self.claims.get(uid).copied() {
            self.put(uid.clone(), Claim { disrupted, ..claim });
        }
    }

    /// The resourceVersion up to which this is all there is.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The claim with this UID, if it is there.
    pub fn get(&self, uid: &Uid) -> Option<&Claim> {
        self.claims.get(uid)
    }

    /// Whether a claim with this UID was there once and is no more.
    pub fn has_departed(&self, uid: &Uid) -> bool {
        self.departed.contains(uid)
    }

    /// How many claims a limit of this mode counts.
    pub fn counted(&self, mode: NodeLimitMode) -> usize {
        match mode {
            NodeLimitMode::Hard => self.claims.len(),
            NodeLimitMode::Soft => self.claims.len() - self.being_replaced,
        }
    }

    /// How many have a deletion timestamp.
    pub const fn deleting(&self) -> usize {
        self.deleting
    }

    /// How many there are, counted or not.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    fn put(&mut self, uid: Uid, claim: Claim) {
        self.take(&uid);
        self.deleting += usize::from(claim.deleting);
        self.being_replaced += usize::from(claim.is_being_replaced());
        self.claims.insert(uid, claim);
    }

    fn take(&mut self, uid: &Uid) {
        if let Some(claim) = self.claims.remove(uid) {
            self.deleting -= usize::from(claim.deleting);
            self.being_replaced -= usize::from(claim.is_being_replaced());
        }
    }

    fn depart(&mut self, uid: Uid) {
        if !self.departed.insert(uid.clone()) {
            return;
        }
        self.departures.push_back(uid);
        if self.departures.len() > MAX_TICKETS
            && let Some(oldest) = self.departures.pop_front()
        {
            self.departed.remove(&oldest);
        }
    }
}
