//! When this replica first saw each reservation: the minimum age of a reservation.

use std::collections::BTreeMap;
use std::time::Duration;

use super::moment::Moment;
use super::state::Ledger;
use super::uid::Uid;

/// How long after it was first seen a reservation may still become a NodeClaim.
///
/// The API server ends a create after 34 s, however long the caller would wait; a write that it has sent to etcd
/// before may still be carried out within etcd's own request limit (5 s and two election timeouts: 7 s by default).
/// 41 s, and 4 s of slack for clocks that run at different speeds. The create began before its reservation was
/// written, and this replica saw the reservation after that, so the real age is always greater.
pub const RESERVATION_LIFETIME: Duration = Duration::from_secs(45);

/// When one replica first saw each reservation of one pool, and that its ledger is closed, by its own monotonic
/// clock.
///
/// Never stored: a restart begins again, which keeps places longer, never shorter. So no two clocks are compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FirstSeen {
    reservations: BTreeMap<Uid, Moment>,
    closed: Option<Moment>,
}

impl FirstSeen {
    /// Records a ledger that was read. `now` must be after the response (not before the request: the reservation
    /// might be younger than that).
    ///
    /// What the ledger no longer holds is forgotten: there are as many entries as reservations.
    pub fn observe(&mut self, ledger: &Ledger, now: Moment) {
        self.closed = ledger.is_closed().then(|| self.closed.unwrap_or(now));
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
        self.reservations
            .get(uid)
            .map(|first| first.plus(RESERVATION_LIFETIME))
    }

    /// From when on a LIST shows the outcome of all reservations that a closed ledger lost; `None` if it is open.
    pub fn opens_at(&self) -> Option<Moment> {
        self.closed.map(|first| first.plus(RESERVATION_LIFETIME))
    }

    /// From when on a LIST that lacks a claim may remove the first of the reservations, or open a closed ledger;
    /// `None` if there is neither. For the caller's sweep: a LIST begun earlier changes nothing.
    pub fn first_over_at(&self) -> Option<Moment> {
        let seen = self.reservations.values().chain(&self.closed);
        seen.min().map(|first| first.plus(RESERVATION_LIFETIME))
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
        let mut first_seen = FirstSeen::default();
        assert_eq!(first_seen.first_over_at(), None);
        first_seen.observe(&ledger(r#"{"a":1}"#), second(10));
        first_seen.observe(&ledger(r#"{"a":1,"b":1}"#), second(20));
        assert_eq!(first_seen.over_at(&uid("a")), Some(second(55)));
        assert_eq!(first_seen.over_at(&uid("b")), Some(second(65)));
        assert_eq!(first_seen.over_at(&uid("c")), None);
        assert_eq!(first_seen.first_over_at(), Some(second(55)));
        first_seen.observe(&ledger(r#"{"b":1}"#), second(30));
        first_seen.observe(&ledger(r#"{"a":1,"b":1}"#), second(40));
        assert_eq!(first_seen.over_at(&uid("a")), Some(second(85)));
    }

    #[test]
    fn a_closed_ledger_is_as_old_as_its_first_sight_and_opens_again() {
        let open = Ledger::default();
        let mut first_seen = FirstSeen::default();
        first_seen.observe(&Ledger::closed(), second(10));
        first_seen.observe(&Ledger::closed(), second(20));
        assert_eq!(first_seen.opens_at(), Some(second(55)));
        assert_eq!(first_seen.first_over_at(), Some(second(55)));
        first_seen.observe(&open, second(30));
        assert_eq!(first_seen.opens_at(), None);
        first_seen.observe(&Ledger::closed(), second(40));
        assert_eq!(first_seen.opens_at(), Some(second(85)));
    }
}
