//! The known claims of each pool.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use poolgate_core::nodelimit::ledger::{ClaimView, CountedClaim, Moment, ReadSpan, Uid};

use crate::runtime::telemetry::Invariants;

/// How many ended reservations are remembered before the oldest are forgotten.
const MOST_ENDED: usize = 1_000;

/// The claims of all pools. Bounded by the size of the cluster: less than 200 bytes are kept of a claim, and for a few minutes
/// of one that is gone.
#[derive(Debug)]
pub struct ClaimViews {
    by_pool: BTreeMap<Box<str>, PoolClaims>,
    /// Reservations that have ended without a claim: none may appear any more. The latest thousand or two.
    ended: [BTreeSet<Uid>; 2],
    invariants: Invariants,
    /// Up to which resourceVersion the watch is complete.
    version: u64,
    /// Whether the watch runs.
    watched: bool,
}

/// The claims of one pool.
#[derive(Debug, Default)]
struct PoolClaims {
    view: ClaimView,
    /// The newest LIST of this pool alone that is in the view.
    listed: Option<Listed>,
    /// Whether the watch was lost since the view came in: the cluster may have been set back to a backup since, and the view may
    /// be of the time that is lost.
    is_suspect: bool,
}

/// A consistent LIST of one pool.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// When it was made.
    pub span: ReadSpan,
    /// Whether it showed whole claims, and with them which are being disrupted.
    pub whole: bool,
}

/// Claims of one list, by pool.
pub type Listing = BTreeMap<Box<str>, Vec<(Uid, CountedClaim)>>;

impl ClaimViews {
    /// No views yet.
    pub fn new(invariants: Invariants) -> Self {
        Self {
            by_pool: BTreeMap::new(),
            ended: Default::default(),
            invariants,
            version: 0,
            watched: false,
        }
    }

    /// The claims of a pool as far as they are known, and when they were last listed for it alone. While the watch is down,
    /// those of the last list; none if there was no list.
    pub fn current(&mut self, pool: &str) -> Option<(&ClaimView, Option<Listed>)> {
        let (watched, version) = (self.watched, self.version);
        let known = self.known(pool);
        if watched {
            known.view.advance_to(version);
        } else if known.listed.is_none() {
            return None;
        }
        let listed = known.listed.filter(|_| !known.is_suspect);
        Some((&known.view, listed))
    }

    /// How many pools have a view.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_pool.len()
    }

    /// The newest LIST of this pool alone that is in its view, if the watch was not lost since.
    pub fn listed(&self, pool: &str) -> Option<Listed> {
        let known = self.by_pool.get(pool)?;
        known.listed.filter(|_| !known.is_suspect)
    }

    /// Whether the view is followed by the watch, or was listed at or after that moment.
    pub fn is_known_since(&self, pool: &str, moment: Moment) -> bool {
        let listed = self.by_pool.get(pool).and_then(|known| known.listed);
        self.watched || listed.is_some_and(|listed| listed.span.done >= moment)
    }

    /// Whether the watch was lost since the view of this pool came in, so that nothing may be admitted by it.
    pub fn is_suspect(&self, pool: &str) -> bool {
        self.by_pool.get(pool).is_some_and(|known| known.is_suspect)
    }

    /// Takes a consistent list of one pool.
    pub fn relist(&mut self, pool: &str, mut list: ClaimView, listed: Listed) {
        for ended in &mut self.ended {
            ended.retain(|uid| {
                let appeared = list.get(uid).is_some();
                if appeared {
                    self.invariants
                        .violated("claim_after_its_reservation", pool, uid.as_str());
                }
                !appeared
            });
        }
        let watched = self.watched;
        self.change(pool, |known| {
            if !listed.whole {
                list.keep_disrupted(&known.view);
            }
            if watched {
                known.view.relist(list);
            } else {
                known.view.restart(list);
            }
            known.listed = Some(listed);
            known.is_suspect = false;
        });
    }

    /// Takes a list of all pools, complete up to this version. A list that is older than what is known is taken too: the
    /// cluster was restored from a backup.
    pub fn relist_all(&mut self, mut listing: Listing, version: u64) {
        for (pool, known) in &mut self.by_pool {
            known.view.restart(ClaimView::listed(
                version,
                listing.remove(pool).unwrap_or_default(),
            ));
            // It may be newer than what the watch begins with.
            known.listed = None;
            known.is_suspect = false;
        }
        for (pool, claims) in listing {
            let known = PoolClaims {
                view: ClaimView::listed(version, claims),
                ..PoolClaims::default()
            };
            self.by_pool.insert(pool, known);
        }
        self.by_pool.retain(|_, known| !known.view.is_empty());
        self.version = version;
        self.watched = true;
    }

    /// Takes a claim that is new or has changed.
    pub fn upsert(&mut self, pool: &str, uid: Uid, claim: CountedClaim) {
        if self.ended.iter_mut().any(|ended| ended.remove(&uid)) {
            self.invariants
                .violated("claim_after_its_reservation", pool, uid.as_str());
        }
        self.change(pool, |known| known.view.upsert(uid, claim));
    }

    /// Removes a claim that is gone.
    pub fn remove(&mut self, pool: &str, uid: &Uid, version: u64) {
        self.change(pool, |known| known.view.remove(uid, version));
    }

    /// These reservations have ended, and their claims were never seen.
    pub fn ended(&mut self, uids: &[Uid]) {
        let [latest, before] = &mut self.ended;
        if latest.len() >= MOST_ENDED {
            *before = take(latest);
        }
        latest.extend(uids.iter().cloned());
    }

    /// The watch is complete up to this version.
    pub fn advance_to(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// The watch is down.
    pub fn lost(&mut self) {
        self.watched = false;
        for known in self.by_pool.values_mut() {
            known.is_suspect = true;
        }
    }

    /// Forgets which claims were gone already when this was last called.
    pub fn forget_departures(&mut self) {
        for known in self.by_pool.values_mut() {
            known.view.forget_departures();
        }
    }

    fn change(&mut self, pool: &str, change: impl FnOnce(&mut PoolClaims)) {
        change(self.known(pool));
    }

    fn known(&mut self, pool: &str) -> &mut PoolClaims {
        self.by_pool.entry(pool.into()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runtime::telemetry::Registry;

    const LISTED: Listed = Listed {
        span: ReadSpan {
            begun: Moment::at(Duration::ZERO),
            done: Moment::at(Duration::ZERO),
        },
        whole: true,
    };

    fn claim(version: u64) -> CountedClaim {
        CountedClaim {
            version,
            deleting: false,
            disrupted: false,
            initialized: true,
        }
    }

    fn uid(text: &str) -> Uid {
        Uid::new(text).expect("a uid")
    }

    fn count(views: &mut ClaimViews, pool: &str) -> Option<(usize, u64)> {
        let (view, _) = views.current(pool)?;
        Some((view.counts().existing, view.version()))
    }

    #[test]
    fn each_pool_is_complete_up_to_what_the_watch_over_all_has_reported() {
        let mut views = ClaimViews::new(Invariants::default());
        assert_eq!(
            count(&mut views, "a"),
            None,
            "nothing is known before the first list"
        );
        let listing = Listing::from([("a".into(), vec![(uid("1"), claim(3))])]);
        views.relist_all(listing, 10);
        views.upsert("b", uid("2"), claim(12));
        views.advance_to(12);
        assert_eq!(count(&mut views, "a"), Some((1, 12)));
        assert_eq!(count(&mut views, "b"), Some((1, 12)));
        views.remove("a", &uid("1"), 13);
        views.advance_to(13);
        assert_eq!(count(&mut views, "a"), Some((0, 13)));
        views.lost();
        assert_eq!(count(&mut views, "b"), None);
    }

    #[test]
    fn claims_that_appear_after_their_reservations_have_ended_are_counted() {
        let mut registry = Registry::default();
        let mut views = ClaimViews::new(Invariants::register(&mut registry));
        views.relist_all(Listing::new(), 10);
        views.ended(&[uid("1"), uid("2")]);
        views.upsert("a", uid("1"), claim(12));
        views.upsert("a", uid("1"), claim(13));
        views.upsert("a", uid("3"), claim(14));
        views.relist("a", ClaimView::listed(15, [(uid("2"), claim(15))]), LISTED);
        let text = registry.encode().expect("metrics");
        let line = r#"invariant_violations_total{invariant="claim_after_its_reservation"} 2"#;
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn news_that_a_list_has_overtaken_change_nothing() {
        let mut views = ClaimViews::new(Invariants::default());
        views.relist_all(Listing::new(), 10);
        let list = ClaimView::listed(20, [(uid("1"), claim(15))]);
        views.relist("a", list, LISTED);
        views.remove("a", &uid("1"), 14);
        assert_eq!(count(&mut views, "a"), Some((1, 20)));
        views.relist("a", ClaimView::listed(18, []), LISTED);
        assert_eq!(
            count(&mut views, "a"),
            Some((1, 20)),
            "the view is the newer of the two"
        );
    }

    #[test]
    fn a_list_of_metadata_leaves_open_what_the_watch_says_of_disruption() {
        let disrupted = |version, disrupted| CountedClaim {
            disrupted,
            ..claim(version)
        };
        let metadata = Listed {
            whole: false,
            ..LISTED
        };
        let mut views = ClaimViews::new(Invariants::default());
        let claims = vec![(uid("1"), disrupted(3, true)), (uid("2"), disrupted(4, true))];
        views.relist_all(Listing::from([("a".into(), claims)]), 10);
        let list = ClaimView::listed(20, [(uid("1"), claim(3)), (uid("2"), claim(15))]);
        views.relist("a", list, metadata);
        let staying = |views: &mut ClaimViews| views.current("a").expect("a view").0.counts().staying;
        assert_eq!(
            staying(&mut views),
            1,
            "what has changed counts until it is known how"
        );
        views.upsert("a", uid("2"), disrupted(15, true));
        assert_eq!(staying(&mut views), 0, "the watch comes up to the list");
    }

    #[test]
    fn a_view_is_suspect_from_the_loss_of_the_watch_to_the_next_list() {
        let mut views = ClaimViews::new(Invariants::default());
        views.relist_all(Listing::from([("a".into(), vec![(uid("1"), claim(3))])]), 10);
        let list = || ClaimView::listed(20, [(uid("1"), claim(3))]);
        views.relist("a", list(), LISTED);
        assert!(!views.is_suspect("a"));
        views.lost();
        assert!(views.is_suspect("a") && views.listed("a").is_none());
        assert_eq!(count(&mut views, "a"), Some((1, 20)), "it may still deny");
        // The cluster was set back.
        views.relist(
            "a",
            ClaimView::listed(5, [(uid("1"), claim(3)), (uid("2"), claim(4))]),
            LISTED,
        );
        assert!(!views.is_suspect("a") && views.listed("a").is_some());
        assert_eq!(count(&mut views, "a"), Some((2, 5)));
        views.lost();
        views.relist_all(Listing::from([("a".into(), vec![(uid("1"), claim(3))])]), 6);
        assert!(!views.is_suspect("a"));
    }

    #[test]
    fn a_view_is_as_old_as_its_last_list_while_nobody_watches() {
        let mut views = ClaimViews::new(Invariants::default());
        let at = |second| Moment::at(Duration::from_secs(second));
        let listed = Listed {
            span: ReadSpan {
                begun: at(3),
                done: at(5),
            },
            whole: true,
        };
        views.relist("a", ClaimView::listed(7, [(uid("1"), claim(3))]), listed);
        assert_eq!(count(&mut views, "a"), Some((1, 7)));
        assert!(views.is_known_since("a", at(5)) && !views.is_known_since("a", at(6)));
        views.relist_all(Listing::from([("a".into(), vec![(uid("1"), claim(3))])]), 10);
        assert!(views.is_known_since("a", at(6)), "it is watched");
        assert!(
            views.listed("a").is_none(),
            "the watch may begin with less than the list showed"
        );
    }

    #[test]
    fn a_list_of_another_history_is_believed() {
        let mut views = ClaimViews::new(Invariants::default());
        views.relist_all(Listing::from([("a".into(), vec![(uid("1"), claim(900))])]), 1_000);
        views.relist_all(Listing::from([("a".into(), vec![(uid("2"), claim(5))])]), 10);
        assert_eq!(count(&mut views, "a"), Some((1, 10)));
    }
}
