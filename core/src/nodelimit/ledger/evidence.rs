//! When a reservation may be removed: only on evidence of the outcome of its create, or once it has reached its minimum
//! age and a LIST lacks its claim.

use std::collections::BTreeMap;
use std::time::Duration;

use super::claims::ClaimView;
use super::moment::{Moment, Observed};
use super::state::Ledger;
use super::uid::Uid;

/// Removes the reservations whose outcome is known, and opens a closed ledger. Returns whether anything changed.
///
/// - **The claim is in view.** It counts by itself from now on, for every replica whose view shows it: `seen` is
///   raised to the claim's resourceVersion, so that no older view is used for counting.
/// - **The claim has been in view and is gone.** It no longer counts. Older views need not be excluded: at worst
///   they still show the claim.
/// - **The create is over and created nothing**: this replica saw the reservation at least one lifetime ago, and a
///   consistent LIST begun after that lacks the claim. A watch does not prove it: it may be silent.
///
/// A closed ledger lacks reservations. It opens as if they were all known: this replica saw it, closed and with a limit,
/// at least one lifetime ago, and a consistent LIST begun after that shows their outcome. `seen` may be lost with them,
/// so no replica may count by a view that is older than that LIST.
pub fn settle(ledger: &mut Ledger, claims: &Observed<&ClaimView>, first_seen: &FirstSeen) -> bool {
    let before = ledger.reservations.len();
    let view = claims.value;
    let opens = first_seen.opens_at(ledger).is_some_and(|at| claims.is_as_of(at));
    if opens {
        ledger.open(view.version());
    }
    let seen = &mut ledger.seen;
    ledger.reservations.retain(|uid, _| {
        if let Some(claim) = view.get(uid) {
            *seen = (*seen).max(claim.version);
            return false;
        }
        let came_to_nothing = || first_seen.over_at(uid).is_some_and(|over| claims.is_as_of(over));
        !view.has_departed(uid) && !came_to_nothing()
    });
    opens || ledger.reservations.len() != before
}

/// Ends surges: forgets the claims admitted above the limit that are gone or came to nothing, and of the others the
/// oldest, until no more are left than count above the limit. Returns whether anything changed.
///
/// Not by a view that may lack claims: it would end surges that are not over.
pub fn end_surges(ledger: &mut Ledger, view: &ClaimView, above: usize) -> bool {
    let Ledger {
        surged, reservations, ..
    } = ledger;
    let before = surged.len();
    surged.retain(|uid| view.get(uid).is_some() || reservations.contains_key(uid));
    surged.drain(..surged.len().saturating_sub(above));
    surged.len() != before
}

/// When one replica first saw each reservation of one pool, and that its ledger is closed, by its own monotonic
/// clock.
///
/// Never stored: a restart begins again, which keeps reservations longer, never shorter. So no two clocks are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FirstSeen {
    lifetime: Duration,
    /// The UID of the object that the ledger is stored in.
    object: Box<str>,
    reservations: BTreeMap<Uid, Moment>,
    /// Which closed ledger, and when it was first seen with a limit.
    closed: Option<(u64, Moment)>,
}

impl FirstSeen {
    /// Nothing is seen yet. `lifetime` is how long after it was first seen a reservation may still become a NodeClaim:
    /// the longest time that the API server takes for a create and etcd for its write, with slack for clocks that run at
    /// different speeds. (The create began before its reservation was written, and this replica saw the reservation
    /// after that, so the real age is always greater.)
    pub fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            object: Box::default(),
            reservations: BTreeMap::new(),
            closed: None,
        }
    }

    /// Records a ledger that was read from the object with this UID. `now` must be after the response (not before the
    /// request: the reservation might be younger than that).
    ///
    /// What the ledger no longer holds is forgotten: there are as many entries as reservations. So is everything if the
    /// object is another one: the ledger was lost in between.
    ///
    /// A closed ledger without a limit has no age: claims are created without reservations as long as there is none.
    pub fn observe(&mut self, object: &str, ledger: &Ledger, now: Moment) {
        if *self.object != *object {
            *self = Self {
                object: object.into(),
                ..Self::new(self.lifetime)
            };
        }
        let known = self.closed.filter(|(over, _)| *over == ledger.closed_over);
        let ages = ledger.is_closed() && ledger.limit.is_some();
        self.closed = ages.then(|| known.unwrap_or((ledger.closed_over, now)));
        let seen = &mut self.reservations;
        seen.retain(|uid, _| ledger.has_reservation(uid));
        for uid in ledger.reservations() {
            if !seen.contains_key(uid) {
                seen.insert(uid.clone(), now);
            }
        }
    }

    /// When this reservation's create is certainly over; `None` for a reservation never seen.
    pub fn over_at(&self, uid: &Uid) -> Option<Moment> {
        let first = self.reservations.get(uid)?;
        Some(first.plus(self.lifetime))
    }

    /// From when on a LIST shows the outcome of everything that was admitted and is not in this closed ledger; `None` if
    /// it is open, or if this replica has not seen it closed with a limit.
    pub fn opens_at(&self, ledger: &Ledger) -> Option<Moment> {
        let (over, first) = self.closed?;
        let is_it = ledger.is_closed() && ledger.limit.is_some() && ledger.closed_over == over;
        is_it.then(|| first.plus(self.lifetime))
    }

    /// From when on a LIST that lacks a claim may remove the first of the reservations, or open a closed ledger;
    /// `None` if there is neither. For the caller's sweep: a LIST begun earlier changes nothing.
    pub fn first_over_at(&self) -> Option<Moment> {
        let closed = self.closed.as_ref().map(|(_, first)| first);
        let seen = self.reservations.values().chain(closed);
        seen.min().map(|first| first.plus(self.lifetime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Moment {
        Moment::at(Duration::from_secs(second))
    }

    #[test]
    fn the_first_sighting_counts_and_what_the_ledger_no_longer_holds_is_forgotten() {
        let uid = |text| Uid::new(text).unwrap();
        let ledger = |reservations: &str| {
            Ledger::parse(&format!(
                r#"{{"version":1,"seen":0,"reservations":{reservations}}}"#
            ))
            .unwrap()
        };
        let mut first_seen = FirstSeen::new(Duration::from_secs(45));
        assert_eq!(first_seen.first_over_at(), None);
        first_seen.observe("x", &ledger(r#"{"a":1}"#), second(10));
        first_seen.observe("x", &ledger(r#"{"a":1,"b":1}"#), second(20));
        assert_eq!(first_seen.over_at(&uid("a")), Some(second(55)));
        assert_eq!(first_seen.over_at(&uid("b")), Some(second(65)));
        assert_eq!(first_seen.over_at(&uid("c")), None);
        assert_eq!(first_seen.first_over_at(), Some(second(55)));
        first_seen.observe("x", &ledger(r#"{"b":1}"#), second(30));
        first_seen.observe("x", &ledger(r#"{"a":1,"b":1}"#), second(40));
        assert_eq!(first_seen.over_at(&uid("a")), Some(second(85)));
    }

    #[test]
    fn a_closed_ledger_is_as_old_as_its_first_sight_with_a_limit() {
        let closed = |over: u64| {
            let limit = r#"{"nodes":5,"mode":"Hard","poolVersion":1}"#;
            let text = format!(
                r#"{{"version":1,"seen":0,"reservations":{{}},"closed":true,"closedOver":{over},"limit":{limit}}}"#
            );
            Ledger::parse(&text).unwrap()
        };
        let mut first_seen = FirstSeen::new(Duration::from_secs(45));
        first_seen.observe("x", &Ledger::closed(7), second(5));
        assert_eq!(first_seen.opens_at(&Ledger::closed(7)), None, "no limit");
        first_seen.observe("x", &closed(7), second(10));
        first_seen.observe("x", &closed(7), second(20));
        assert_eq!(first_seen.opens_at(&closed(7)), Some(second(55)));
        assert_eq!(first_seen.opens_at(&closed(8)), None);
        assert_eq!(first_seen.first_over_at(), Some(second(55)));
        first_seen.observe("x", &Ledger::default(), second(30));
        assert_eq!(first_seen.first_over_at(), None);
        first_seen.observe("x", &closed(7), second(40));
        assert_eq!(first_seen.opens_at(&closed(7)), Some(second(85)));
    }

    #[test]
    fn two_losses_of_a_ledger_are_told_apart() {
        let closed = |over: u64| {
            let mut ledger = Ledger::closed(over);
            ledger.limit = Ledger::parse(
                r#"{"version":1,"seen":0,"reservations":{},"limit":{"nodes":5,"mode":"Hard","poolVersion":1}}"#,
            )
            .unwrap()
            .limit;
            ledger
        };
        let mut first_seen = FirstSeen::new(Duration::from_secs(45));
        first_seen.observe("x", &closed(7), second(10));
        // Opened and closed again, which this replica did not see.
        first_seen.observe("x", &closed(9), second(50));
        assert_eq!(first_seen.opens_at(&closed(9)), Some(second(95)));
        // Deleted and created again.
        first_seen.observe("y", &closed(9), second(60));
        assert_eq!(first_seen.opens_at(&closed(9)), Some(second(105)));
    }
}
