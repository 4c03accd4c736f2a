//! How many connections may be open, and which one closes when a port is full.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;
use tokio::time::Instant;

/// An address keeps a sixteenth of the places for connections that were used: they close for nobody while it has no more. Of
/// 512 places that is more than the 25 idle connections that an API server keeps.
const SHARE: usize = 16;

/// The places of one server for connections.
#[derive(Debug)]
pub struct Places {
    limit: usize,
    open: Mutex<Open>,
    gauge: Gauge,
}

/// The open connections, in the order in which they came.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    seats: BTreeMap<u64, Arc<Seat>>,
    by_address: HashMap<IpAddr, usize>,
}

/// The place of an open connection; free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    number: u64,
    pub seat: Arc<Seat>,
    /// Whether another connection closes for it.
    pub displaces: bool,
}

/// An open connection.
#[derive(Debug)]
pub struct Seat {
    pub address: IpAddr,
    state: AtomicU8,
    /// Since when it has idled.
    idle: Mutex<Instant>,
    closing: Notify,
}

/// It has never completed a request.
const NEW: u8 = 0;
/// It has, and idles.
const USED: u8 = 1;
/// A whole request is being answered.
const AT_WORK: u8 = 2;
/// It closes, because another one needs its place.
const CLOSING: u8 = 3;

impl Places {
    /// `open` shows how many are taken.
    pub fn new(limit: usize, open: Gauge) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: Mutex::default(),
            gauge: open,
        })
    }

    /// A place for a connection of this address. If none is free, or the address has half of them, another connection closes;
    /// `None` if none may.
    pub fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut open = self.open.lock();
        let own = open.by_address.get(&address).copied().unwrap_or_default();
        let has_most = own >= self.limit.div_ceil(2);
        let displaces = has_most || open.seats.len() >= self.limit;
        if displaces {
            open.close_one(self.limit / SHARE, |seat| !has_most || seat.address == address)?;
            self.gauge.dec();
        }
        let seat = Arc::new(Seat::new(address));
        let number = open.next;
        open.next += 1;
        open.seats.insert(number, Arc::clone(&seat));
        *open.by_address.entry(address).or_default() += 1;
        self.gauge.inc();
        Some(Place {
            places: Arc::clone(self),
            number,
            seat,
            displaces,
        })
    }
}

impl Open {
    /// Closes one of these connections: of the address with most of them the one that was never used, else the one that has
    /// idled longest. `share` used ones of an address are safe.
    fn close_one(&mut self, share: usize, may: impl Fn(&Seat) -> bool) -> Option<()> {
        loop {
            let rank = |seat: &Seat| {
                let count = self.by_address.get(&seat.address).copied().unwrap_or_default();
                let is_safe = match seat.state.load(Ordering::Relaxed) {
                    NEW => false,
                    USED => count <= share,
                    _ => true,
                };
                (!is_safe && may(seat)).then(|| (count, seat.is_new(), Reverse(*seat.idle.lock())))
            };
            let ranked = self.seats.iter().filter_map(|(number, seat)| {
                let rank = rank(seat)?;
                // Of two that came in the same moment the first one.
                Some((rank, Reverse(*number)))
            });
            let (_, Reverse(number)) = ranked.max()?;
            // If a request has begun meanwhile, another one closes.
            if self.seats.get(&number)?.close() {
                self.remove(number);
                return Some(());
            }
        }
    }

    /// Frees a place. False if it is free already.
    fn remove(&mut self, number: u64) -> bool {
        let Some(seat) = self.seats.remove(&number) else {
            return false;
        };
        if let Some(count) = self.by_address.get_mut(&seat.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&seat.address);
            }
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.places.open.lock().remove(self.number) {
            self.places.gauge.dec();
        }
    }
}

impl Seat {
    pub fn new(address: IpAddr) -> Self {
        Self {
            address,
            state: AtomicU8::new(NEW),
            idle: Mutex::new(Instant::now()),
            closing: Notify::new(),
        }
    }

    /// A whole request is there: the connection stays until it is answered.
    pub fn begin(&self) {
        self.move_to(AT_WORK);
    }

    /// A request is answered.
    pub fn end(&self) {
        *self.idle.lock() = Instant::now();
        self.move_to(USED);
    }

    /// Waits until another connection needs the place.
    pub async fn needed(&self) {
        self.closing.notified().await;
    }

    fn is_new(&self) -> bool {
        self.state.load(Ordering::Relaxed) == NEW
    }

    fn close(&self) -> bool {
        let closes = self.change(|state| state != AT_WORK, CLOSING);
        if closes {
            self.closing.notify_one();
        }
        closes
    }

    fn move_to(&self, next: u8) {
        self.change(|state| state != CLOSING, next);
    }

    fn change(&self, may: impl Fn(u8) -> bool, next: u8) -> bool {
        let (relaxed, change) = (Ordering::Relaxed, |state| may(state).then_some(next));
        self.state.fetch_update(relaxed, relaxed, change).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;

    fn places(limit: usize) -> Arc<Places> {
        Places::new(limit, Gauge::default())
    }

    fn take(places: &Arc<Places>, last: u8, count: usize) -> Vec<Place> {
        let address = Ipv4Addr::new(10, 0, 0, last).into();
        (0..count).filter_map(|_| places.take(address)).collect()
    }

    fn use_once(place: &Place) {
        place.seat.begin();
        place.seat.end();
    }

    /// Which of these close for others.
    fn closing(held: &[Place]) -> Vec<bool> {
        let is_needed = |place: &Place| place.seat.needed().now_or_never().is_some();
        held.iter().map(is_needed).collect()
    }

    #[tokio::test]
    async fn the_address_with_most_connections_makes_room() {
        let places = places(10);
        let (many, few) = (take(&places, 1, 4), take(&places, 2, 3));
        let _others = (take(&places, 3, 2), take(&places, 4, 1));
        let _new = take(&places, 5, 2);
        assert_eq!(closing(&many), [true, true, false, false], "the oldest first");
        assert_eq!(closing(&few), [false; 3]);
        assert_eq!(places.gauge.get(), 10);
    }

    #[tokio::test]
    async fn an_address_gets_half_of_the_places_whatever_it_does_with_them() {
        let places = places(8);
        let held = take(&places, 1, 4);
        let more = take(&places, 1, 2);
        assert_eq!((more.len(), closing(&held)), (2, vec![true, true, false, false]));
        held[2..].iter().chain(&more).for_each(|place| place.seat.begin());
        assert!(take(&places, 1, 1).is_empty(), "all of its own are at work");
        assert_eq!((take(&places, 2, 4).len(), places.gauge.get()), (4, 8));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_used_goes_first_then_what_has_idled_longest() {
        let places = places(8);
        let held = take(&places, 1, 4);
        let _at_work: Vec<_> = (5..9)
            .flat_map(|last| take(&places, last, 1))
            .inspect(|place| place.seat.begin())
            .collect();
        for used in [3, 1] {
            tokio::time::advance(Duration::from_secs(1)).await;
            use_once(&held[used]);
        }
        let mut new = take(&places, 2, 1);
        assert_eq!(closing(&held), [true, false, false, false]);
        new.extend(take(&places, 3, 1));
        assert_eq!(closing(&held), [false, false, true, false], "each is told once");
        new.extend(take(&places, 4, 1));
        assert_eq!(closing(&held), [false, false, false, true]);
        assert_eq!(places.gauge.get(), 8);
    }

    #[tokio::test]
    async fn a_used_connection_of_an_address_with_few_stays_and_a_request_at_work_too() {
        let places = places(32);
        let kept = take(&places, 1, 2);
        kept.iter().for_each(use_once);
        let _others: Vec<_> = (2..60).map(|last| take(&places, last, 1)).collect();
        assert_eq!(closing(&kept), [false, false]);

        let places = self::places(4);
        let working: Vec<_> = [1, 3]
            .into_iter()
            .flat_map(|last| take(&places, last, 2))
            .collect();
        for place in &working {
            place.seat.begin();
        }
        assert!(take(&places, 2, 1).is_empty(), "all are at work");
        working[2].seat.end();
        assert_eq!(take(&places, 2, 1).len(), 1);
        assert_eq!(closing(&working), [false, false, true, false]);
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_ends() {
        let places = places(8);
        let mut held = take(&places, 1, 5);
        held.extend(take(&places, 2, 5));
        assert_eq!(places.gauge.get(), 8);
        held.pop();
        assert_eq!(places.gauge.get(), 7);
        drop(held);
        let open = places.open.lock();
        assert!(open.seats.is_empty() && open.by_address.is_empty());
        assert_eq!(places.gauge.get(), 0);
    }
}
