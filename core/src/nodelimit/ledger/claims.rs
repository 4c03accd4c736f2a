//! The NodeClaims of one pool, as a watch or a list shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use super::state::MAX_RESERVATIONS;
use super::uid::Uid;
use crate::api::ClaimCounts;

/// The fields of a NodeClaim that counting needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CountedClaim {
    /// The `resourceVersion` of the object, to tell older states from newer ones.
    pub version: u64,
    /// True if it has a deletion timestamp.
    pub deleting: bool,
    /// True if Karpenter is disrupting its node, other than by a reboot in place.
    pub disrupted: bool,
    /// True if its node was initialized.
    pub initialized: bool,
}

impl CountedClaim {
    /// True if a Soft limit does not count it.
    const fn is_being_replaced(self) -> bool {
        self.deleting || self.disrupted
    }

    /// True if a replacement may be created while it still exists.
    const fn has_surge(self) -> bool {
        self.initialized && self.disrupted && !self.deleting
    }
}

/// The NodeClaims of one pool and the version up to which they are complete. Counts them in constant time.
///
/// It also remembers of the last claims that they existed and are gone: that settles their reservations, which would
/// otherwise count for one lifetime. It remembers at least [`MAX_RESERVATIONS`] of them until
/// [`forget_departures`](Self::forget_departures), and at most twice as many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ClaimView {
    version: u64,
    claims: BTreeMap<Uid, CountedClaim>,
    deleting: usize,
    being_replaced: usize,
    departed: BTreeSet<Uid>,
    departed_before: BTreeSet<Uid>,
}

impl ClaimView {
    /// What a LIST showed, at its resourceVersion.
    pub fn listed(version: u64, claims: impl IntoIterator<Item = (Uid, CountedClaim)>) -> Self {
        let mut view = Self {
            version,
            ..Self::default()
        };
        for (uid, claim) in claims {
            view.put(uid, claim);
        }
        view
    }

    /// Takes over a LIST that was made beside the watch, unless the watch is ahead of it: what the watch has shown
    /// since would be lost. Claims that the LIST lacks are gone.
    pub fn relist(&mut self, list: Self) {
        if list.version >= self.version {
            self.restart(list);
        }
    }

    /// Takes over the LIST from which the watch starts again, whatever its version. Claims that it lacks are gone,
    /// unless it is older than the view: then they may not have existed yet.
    pub fn restart(&mut self, list: Self) {
        let is_newer = list.version >= self.version;
        let before = std::mem::replace(&mut self.claims, list.claims);
        for uid in before.into_keys().filter(|_| is_newer) {
            if !self.claims.contains_key(&uid) {
                self.depart(uid);
            }
        }
        self.version = list.version;
        self.deleting = list.deleting;
        self.being_replaced = list.being_replaced;
    }

    /// Completes a LIST of metadata, which does not say which nodes are disrupted, from what is known. A claim that
    /// has changed since is not completed, and it counts.
    pub fn keep_disrupted(&mut self, known: &Self) {
        for (uid, before) in known.claims.iter().filter(|(_, claim)| claim.disrupted) {
            if self.has(uid, before.version) {
                self.put(uid.clone(), *before);
            }
        }
    }

    /// Applies a watch event that adds or changes a claim. Events that a LIST has overtaken are ignored, except for
    /// what a LIST of metadata left open.
    pub fn upsert(&mut self, uid: Uid, claim: CountedClaim) {
        if claim.version > self.version {
            self.version = claim.version;
            self.put(uid, claim);
        } else if self.has(&uid, claim.version) {
            self.put(uid, claim);
        }
    }

    /// Applies a watch event that removes a claim; `version` is the resourceVersion in the event.
    ///
    /// If a LIST has overtaken the event, the view lacks the claim already; but that it once existed is new, and
    /// settles its reservation. (A claim that could not be launched may exist for less time than a watch lags.)
    pub fn remove(&mut self, uid: &Uid, version: u64) {
        if version > self.version {
            self.version = version;
            self.take(uid);
            self.depart(uid.clone());
        } else if !self.claims.contains_key(uid) {
            self.depart(uid.clone());
        }
    }

    /// Applies a bookmark, or what a watch over several pools has shown of the others: nothing of this pool has
    /// changed up to this version.
    pub fn advance_to(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// The resourceVersion up to which the view is complete.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The claim with this UID, if it is in view.
    pub fn get(&self, uid: &Uid) -> Option<&CountedClaim> {
        self.claims.get(uid)
    }

    /// True if a claim with this UID existed once and is gone.
    pub fn has_departed(&self, uid: &Uid) -> bool {
        self.departed.contains(uid) || self.departed_before.contains(uid)
    }

    /// Forgets the claims that were gone already when this was last called: their reservations are settled long since.
    pub fn forget_departures(&mut self) {
        self.departed_before = take(&mut self.departed);
    }

    /// How many claims there are, and how many of them stay.
    pub fn counts(&self) -> ClaimCounts {
        ClaimCounts {
            existing: self.claims.len(),
            undeleted: self.claims.len() - self.deleting,
            staying: self.claims.len() - self.being_replaced,
        }
    }

    /// How many claims Karpenter is about to replace: with a surge, each may have its replacement beside it. Only whole
    /// claims show it, and not their metadata.
    pub fn disrupted(&self) -> usize {
        self.claims.values().filter(|claim| claim.has_surge()).count()
    }

    /// How many there are, counted or not.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    fn has(&self, uid: &Uid, version: u64) -> bool {
        self.get(uid).is_some_and(|claim| claim.version == version)
    }

    fn put(&mut self, uid: Uid, claim: CountedClaim) {
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
        self.departed.insert(uid);
        if self.departed.len() >= MAX_RESERVATIONS {
            self.forget_departures();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn uid(number: usize) -> Uid {
        Uid::new(&number.to_string()).unwrap()
    }

    fn claim(version: u64) -> CountedClaim {
        CountedClaim {
            version,
            deleting: false,
            disrupted: false,
            initialized: true,
        }
    }

    #[test]
    fn news_that_a_list_has_overtaken_are_passed_over() {
        let mut view = ClaimView::listed(5, [(uid(1), claim(3))]);
        view.upsert(uid(2), claim(4));
        view.remove(&uid(1), 5);
        assert_eq!((view.len(), view.version()), (1, 5));
        view.relist(ClaimView::listed(4, []));
        assert_eq!((view.len(), view.version()), (1, 5));
        view.upsert(uid(2), claim(6));
        assert_eq!((view.len(), view.version()), (2, 6));
    }

    #[test]
    fn a_claim_that_came_and_went_before_a_list_is_known_to_be_gone() {
        let mut view = ClaimView::listed(5, []);
        view.upsert(uid(1), claim(3));
        view.remove(&uid(1), 4);
        assert!(view.is_empty() && view.has_departed(&uid(1)));
        assert_eq!(view.version(), 5);
    }

    #[test]
    fn what_a_later_list_lacks_is_gone_and_what_an_earlier_one_lacks_is_not() {
        let mut view = ClaimView::listed(5, [(uid(1), claim(3)), (uid(2), claim(5))]);
        view.restart(ClaimView::listed(4, [(uid(1), claim(3))]));
        assert!(view.get(&uid(2)).is_none() && !view.has_departed(&uid(2)));
        view.restart(ClaimView::listed(6, []));
        assert!(view.has_departed(&uid(1)) && !view.has_departed(&uid(2)));
        assert!(view.is_empty());
    }

    #[test]
    fn as_many_departures_are_remembered_as_there_may_be_reservations() {
        let mut view = ClaimView::default();
        let last = 3 * MAX_RESERVATIONS - 1;
        for number in 0..=last {
            let version = 2 * number as u64 + 1;
            view.upsert(uid(number), claim(version));
            view.remove(&uid(number), version + 1);
        }
        let remembered = (0..=last).filter(|number| view.has_departed(&uid(*number)));
        assert!(remembered.eq(last + 1 - MAX_RESERVATIONS..=last));
        view.upsert(uid(0), claim(u64::MAX - 1));
        view.remove(&uid(0), u64::MAX);
        view.forget_departures();
        assert!(view.has_departed(&uid(0)) && !view.has_departed(&uid(last)));
        view.forget_departures();
        assert!(!view.has_departed(&uid(0)));
    }

    #[derive(Debug, Clone)]
    enum News {
        Upsert(usize, CountedClaim),
        Remove(usize),
        Relist(Vec<(usize, CountedClaim)>),
        RelistMetadata,
        Advance,
    }

    fn news() -> impl Strategy<Value = News> {
        let claim = |[deleting, disrupted, initialized]: [bool; 3]| CountedClaim {
            version: 0,
            deleting,
            disrupted,
            initialized,
        };
        let state = move || (0..6_usize, any::<[bool; 3]>().prop_map(claim));
        prop_oneof![
            state().prop_map(|(number, claim)| News::Upsert(number, claim)),
            (0..6_usize).prop_map(News::Remove),
            vec(state(), 0..6).prop_map(News::Relist),
            Just(News::RelistMetadata),
            Just(News::Advance),
        ]
    }

    /// A LIST of metadata that shows the same claims as this view.
    fn metadata_of(view: &ClaimView, version: u64) -> ClaimView {
        let claims = view.claims.iter().map(|(uid, claim)| {
            let claim = CountedClaim {
                disrupted: false,
                initialized: false,
                ..*claim
            };
            (uid.clone(), claim)
        });
        ClaimView::listed(version, claims)
    }

    proptest! {
        #[test]
        fn the_counts_are_those_of_the_claims_after_any_news(all in vec(news(), 0..40)) {
            let mut view = ClaimView::default();
            for (news, version) in all.into_iter().zip(1..) {
                let was_there: Vec<Uid> = view.claims.keys().cloned().collect();
                match news {
                    News::Upsert(number, claim) => {
                        view.upsert(uid(number), CountedClaim { version, ..claim });
                        prop_assert_eq!(view.get(&uid(number)), Some(&CountedClaim { version, ..claim }));
                    }
                    News::Remove(number) => view.remove(&uid(number), version),
                    News::Advance => view.advance_to(version),
                    News::Relist(list) => view.relist(ClaimView::listed(
                        version,
                        list.into_iter().map(|(number, claim)| (uid(number), CountedClaim { version, ..claim })),
                    )),
                    News::RelistMetadata => {
                        let before = (view.counts(), view.disrupted());
                        let mut list = metadata_of(&view, version);
                        list.keep_disrupted(&view);
                        view.relist(list);
                        prop_assert_eq!((view.counts(), view.disrupted()), before);
                    }
                }
                for uid in was_there {
                    prop_assert!(view.get(&uid).is_some() || view.has_departed(&uid));
                }
                let claims = || view.claims.values();
                let counts = ClaimCounts {
                    existing: claims().count(),
                    undeleted: claims().filter(|claim| !claim.deleting).count(),
                    staying: claims().filter(|claim| !claim.deleting && !claim.disrupted).count(),
                };
                prop_assert_eq!(view.counts(), counts);
            }
        }
    }
}
