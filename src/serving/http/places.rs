//! How many connections may be open, and how many of them to one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::gauge::Gauge;

/// The places of one server for connections. One address gets at most half of them, so no client can block a port alone.
#[derive(Debug)]
pub struct Places {
    limit: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
    open: Gauge,
}

/// The place of an open connection; free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    address: IpAddr,
}

impl Places {
    /// `open` shows how many are taken.
    pub fn new(limit: usize, open: Gauge) -> Arc<Self> {
        Arc::new(Self {
            limit,
            taken: Mutex::default(),
            open,
        })
    }

    /// A place for a connection of this address, if there is one.
    pub fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut taken = self.taken();
        let all = taken.values().sum::<usize>();
        let own = taken.get(&address).copied().unwrap_or_default();
        if all >= self.limit || own >= self.limit.div_ceil(2) {
            return None;
        }
        taken.insert(address, own + 1);
        self.open.inc();
        Some(Place {
            places: Arc::clone(self),
            address,
        })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(own) = taken.get_mut(&self.address) {
            *own -= 1;
            self.places.open.dec();
            if *own == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn take(places: &Arc<Places>, last: u8, count: usize) -> Vec<Place> {
        let address = Ipv4Addr::new(10, 0, 0, last).into();
        (0..count).filter_map(|_| places.take(address)).collect()
    }

    #[test]
    fn an_address_gets_half_of_the_places_and_others_get_the_rest() {
        let places = Places::new(8, Gauge::default());
        let _first = take(&places, 1, 8);
        assert_eq!(places.open.get(), 4);
        let _second = take(&places, 2, 3);
        assert_eq!(take(&places, 3, 8).len(), 1, "the last place");
        assert_eq!(places.open.get(), 7);
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_ends() {
        let places = Places::new(8, Gauge::default());
        let mut held = take(&places, 1, 4);
        assert!(take(&places, 1, 1).is_empty());
        held.pop();
        assert_eq!(take(&places, 1, 2).len(), 1);
        drop(held);
        assert!(places.taken().is_empty());
        assert_eq!(places.open.get(), 0);
    }
}
