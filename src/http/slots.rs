//! Which connections may be open. If another client has an idle connection, that one is closed for a new one. So no
//! client can block a port by opening connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::gauge::Gauge;

use super::progress::{Progress, Stage};

/// The connections of one server.
#[derive(Debug)]
pub struct Slots {
    /// How many may be open, apart from those that are being closed for others.
    limit: usize,
    taken: Mutex<Vec<(IpAddr, Arc<Progress>)>>,
    /// How many are open.
    open: Gauge,
}

/// The slot of an open connection; free again when this is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    progress: Arc<Progress>,
}

impl Slot {
    /// How far the connection is, by which it is chosen or spared when a slot is needed.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

/// How a new connection got a slot.
#[derive(Debug)]
pub enum Grant {
    /// There was room.
    Free(Slot),
    /// Another connection is closed for it.
    Displacing(Slot),
    /// There is no room: every connection that could be closed has a request in work.
    Refused,
}

impl Slots {
    pub fn new(limit: usize, open: Gauge) -> Arc<Self> {
        Arc::new(Self {
            limit,
            taken: Mutex::default(),
            open,
        })
    }

    /// Takes a slot for a connection of `peer`. If there is none, a connection of the client with the most slots, or with
    /// more than its share, is closed.
    pub fn take(self: &Arc<Self>, peer: IpAddr) -> Grant {
        let mut taken = self.taken();
        // Connections that were asked to close do so in a moment, unless a request came first.
        if taken.len() >= self.limit + self.limit / 4 {
            return Grant::Refused;
        }
        let from = self.must_give_way(&taken, peer);
        if let Some(from) = from {
            let theirs =
                staying(&taken).filter(|(peer, progress)| *peer == from && progress.stage() < Stage::Answer);
            let longest_idle =
                theirs.min_by_key(|(_, progress)| (progress.stage().max(Stage::Idle), progress.since()));
            let Some((_, longest_idle)) = longest_idle else {
                return Grant::Refused;
            };
            longest_idle.gives_way.cancel();
        }
        let progress = Arc::<Progress>::default();
        taken.push((peer, Arc::clone(&progress)));
        self.open.inc();
        let slot = Slot {
            slots: Arc::clone(self),
            progress,
        };
        match from {
            Some(_) => Grant::Displacing(slot),
            None => Grant::Free(slot),
        }
    }

    /// The client whose connection must be closed for one more of `peer`, if there is one.
    fn must_give_way(&self, taken: &[(IpAddr, Arc<Progress>)], peer: IpAddr) -> Option<IpAddr> {
        let mut counts = HashMap::<IpAddr, usize>::new();
        for (other, _) in staying(taken) {
            *counts.entry(*other).or_default() += 1;
        }
        let own = counts.get(&peer).copied().unwrap_or_default();
        if own >= self.share() {
            return Some(peer);
        }
        if counts.values().sum::<usize>() < self.limit {
            return None;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(other, count)| if count > own { other } else { peer })
    }

    /// How many connections one address may have, idle or not: the rest is for all others.
    fn share(&self) -> usize {
        (self.limit - self.limit / 4).max(1)
    }

    fn taken(&self) -> MutexGuard<'_, Vec<(IpAddr, Arc<Progress>)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connections that have not been asked to close.
fn staying(taken: &[(IpAddr, Arc<Progress>)]) -> impl Iterator<Item = &(IpAddr, Arc<Progress>)> {
    taken
        .iter()
        .filter(|(_, progress)| !progress.gives_way.is_cancelled())
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        if let Some(at) = taken
            .iter()
            .position(|(_, progress)| Arc::ptr_eq(progress, &self.progress))
        {
            taken.swap_remove(at);
            self.slots.open.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const LIMIT: usize = 8;
    const SHARE: usize = 6;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    /// A connection that was opened a second after the one before it.
    async fn open(slots: &Arc<Slots>, last: u8) -> Option<Slot> {
        advance(Duration::from_secs(1)).await;
        match slots.take(address(last)) {
            Grant::Free(slot) | Grant::Displacing(slot) => Some(slot),
            Grant::Refused => None,
        }
    }

    async fn open_many(slots: &Arc<Slots>, last: u8, count: usize) -> Vec<Slot> {
        let mut opened = Vec::new();
        for _ in 0..count {
            opened.push(open(slots, last).await.expect("a slot"));
        }
        opened
    }

    fn giving_way(opened: &[Slot]) -> Vec<usize> {
        let gives_way = |slot: &Slot| slot.progress.gives_way.is_cancelled();
        (0..opened.len()).filter(|at| gives_way(&opened[*at])).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_its_share_and_then_displaces_itself() {
        let slots = Slots::new(LIMIT, Gauge::default());
        let mut opened = open_many(&slots, 1, SHARE).await;
        assert!(giving_way(&opened).is_empty());
        opened.extend(open_many(&slots, 1, 2).await);
        assert_eq!(giving_way(&opened), [0, 1], "the longest idle ones");
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_with_most_connections_gives_way_to_one_with_fewer() {
        let slots = Slots::new(LIMIT, Gauge::default());
        let most = open_many(&slots, 1, 5).await;
        let few = open_many(&slots, 2, 3).await;
        let third = open(&slots, 3).await;
        assert!(third.is_some());
        assert_eq!(giving_way(&most), [0]);
        assert!(giving_way(&few).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_work_never_gives_way() {
        let slots = Slots::new(LIMIT, Gauge::default());
        let opened = open_many(&slots, 1, SHARE).await;
        for slot in &opened {
            slot.progress.head_came();
        }
        for slot in &opened[1..] {
            slot.progress.body_came();
        }
        let newcomer = open(&slots, 1).await;
        assert!(newcomer.is_some());
        assert_eq!(giving_way(&opened), [0], "its body has not arrived");
        newcomer.as_ref().expect("a slot").progress.body_came();
        assert!(open(&slots, 1).await.is_none());
        assert!(open(&slots, 2).await.is_some(), "others have room");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_gives_way_before_a_head_that_is_older() {
        let slots = Slots::new(LIMIT, Gauge::default());
        let opened = open_many(&slots, 1, SHARE).await;
        opened[0].progress.head_came();
        assert!(open(&slots, 1).await.is_some());
        assert_eq!(giving_way(&opened), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_free_again_when_its_connection_ends() {
        let slots = Slots::new(LIMIT, Gauge::default());
        let mut opened = open_many(&slots, 1, 3).await;
        opened.extend(open_many(&slots, 2, LIMIT - 3).await);
        opened.remove(0);
        assert!(matches!(slots.take(address(3)), Grant::Free(_)));
    }
}
