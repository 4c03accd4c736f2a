//! Which pool is reconciled next, and when. The rate is limited for each pool and for all together; failures back
//! off, and no pool is taken again before its last reconciliation has ended. The caller passes the time. Only the
//! names of pools are known here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// The least time between two runs for one pool.
const PER_POOL: Duration = Duration::from_millis(500);

/// How many pools may be reconciled in a second: sustained, and in a burst.
const PER_SECOND: u32 = 100;
const AT_ONCE: u32 = 200;

/// The pauses after failures: doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Pools that wait to be reconciled.
#[derive(Debug)]
pub struct Queue {
    /// When each pool is next reconciled.
    times: BTreeMap<Arc<str>, Instant>,
    by_time: BTreeSet<(Instant, Arc<str>)>,
    /// The pools that are being reconciled, and when they are due again.
    running: BTreeMap<Arc<str>, Option<Instant>>,
    /// When each pool was last reconciled, kept while that delays it, and how often that failed in a row.
    last: BTreeMap<Arc<str>, Last>,
    /// How many pools may be reconciled now, and when that was computed.
    tokens: f64,
    computed: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    at: Instant,
    failures: u32,
}

impl Queue {
    pub fn new(now: Instant) -> Self {
        Self {
            times: BTreeMap::new(),
            by_time: BTreeSet::new(),
            running: BTreeMap::new(),
            last: BTreeMap::new(),
            tokens: AT_ONCE.into(),
            computed: now,
        }
    }

    /// A pool has changed: it is due as soon as its rate limit allows. After a failure, the full pause is waited.
    pub fn push(&mut self, pool: Arc<str>, now: Instant) {
        let at = self
            .last
            .get(&pool)
            .map_or(now, |last| now.max(last.at + pause(last.failures)));
        self.push_at(pool, at);
    }

    /// A pool is due at that time, or earlier if it already was.
    pub fn push_at(&mut self, pool: Arc<str>, at: Instant) {
        if let Some(again_at) = self.running.get_mut(&pool) {
            *again_at = Some(again_at.map_or(at, |known| known.min(at)));
            return;
        }
        match self.times.get(&pool) {
            Some(due) if *due <= at => return,
            Some(due) => drop(self.by_time.remove(&(*due, Arc::clone(&pool)))),
            None => {}
        }
        self.by_time.insert((at, Arc::clone(&pool)));
        self.times.insert(pool, at);
    }

    /// The next pool that is due. The caller says when its reconciliation has ended.
    pub fn pop(&mut self, now: Instant) -> Option<Arc<str>> {
        self.refill(now);
        if self.tokens < 1.0 || self.by_time.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, pool) = self.by_time.pop_first()?;
        self.times.remove(&pool);
        self.tokens -= 1.0;
        let failures = self.last.get(&pool).map_or(0, |last| last.failures);
        self.last.insert(Arc::clone(&pool), Last { at: now, failures });
        self.running.insert(Arc::clone(&pool), None);
        Some(pool)
    }

    /// When the next pool may be taken.
    pub fn next_at(&self) -> Option<Instant> {
        let (due, _) = self.by_time.first()?;
        if self.tokens >= 1.0 {
            return Some(*due);
        }
        let lacking = (1.0 - self.tokens) / f64::from(PER_SECOND);
        Some((*due).max(self.computed + Duration::from_secs_f64(lacking)))
    }

    /// A pool was reconciled successfully.
    pub fn succeeded(&mut self, pool: &str) {
        if let Some(last) = self.last.get_mut(pool) {
            last.failures = 0;
        }
        self.ended(pool);
    }

    /// Reconciling a pool has failed: it is tried again, each time after a longer pause.
    pub fn failed(&mut self, pool: &Arc<str>, now: Instant) {
        let last = self
            .last
            .entry(Arc::clone(pool))
            .or_insert(Last { at: now, failures: 0 });
        self.running.remove(pool);
        last.failures = last.failures.saturating_add(1);
        last.at = now;
        let at = now + pause(last.failures);
        self.push_at(Arc::clone(pool), at);
    }

    /// Nothing is left of a pool.
    pub fn forget(&mut self, pool: &str) {
        self.last.remove(pool);
        self.ended(pool);
    }

    /// A pool may be taken again: when it is due, if that was said meanwhile.
    pub fn ended(&mut self, pool: &str) {
        if let Some((pool, Some(again_at))) = self.running.remove_entry(pool) {
            self.push_at(pool, again_at);
        }
    }

    /// How many pools are due now.
    pub fn due(&self, now: Instant) -> usize {
        self.by_time.iter().take_while(|(at, _)| *at <= now).count()
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.computed).as_secs_f64();
        self.tokens = (self.tokens + elapsed * f64::from(PER_SECOND)).min(AT_ONCE.into());
        self.computed = now;
    }
}

fn pause(failures: u32) -> Duration {
    match failures {
        0 => PER_POOL,
        more => FIRST_PAUSE
            .saturating_mul(1 << (more - 1).min(10))
            .min(LONGEST_PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn a_pool_that_changes_all_the_time_is_looked_at_now_and_then() {
        let start = Instant::now();
        let mut queue = Queue::new(start);
        let mut looks = 0;
        for millis in 0..10_000 {
            let now = start + Duration::from_millis(millis);
            queue.push(pool("a"), now);
            if let Some(popped) = queue.pop(now) {
                looks += 1;
                queue.succeeded(&popped);
            }
        }
        assert_eq!(looks, 20);
        let due = |millis| queue.due(start + Duration::from_millis(millis));
        assert_eq!((due(9_999), due(10_000)), (0, 1), "it waits for its rate limit");
    }

    #[test]
    fn many_pools_share_the_pace() {
        let now = Instant::now();
        let mut queue = Queue::new(now);
        for number in 0..1_000 {
            queue.push(pool(&format!("pool-{number}")), now);
        }
        let popped = |queue: &mut Queue, now| std::iter::from_fn(|| queue.pop(now)).count();
        assert_eq!(popped(&mut queue, now), 200);
        let next = queue.next_at().expect("more");
        assert!(
            next > now && next <= now + Duration::from_millis(11),
            "{:?}",
            next - now
        );
        assert_eq!(popped(&mut queue, now + Duration::from_secs(1)), 100);
    }

    #[test]
    fn what_fails_is_tried_ever_more_rarely_and_a_change_does_not_hurry_it() {
        let mut now = Instant::now();
        let mut queue = Queue::new(now);
        queue.push(pool("a"), now);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let popped = queue.pop(now).expect("a pool");
            queue.failed(&popped, now);
            queue.push(pool("a"), now);
            assert_eq!(queue.next_at(), Some(now + Duration::from_secs(seconds)));
            now += Duration::from_secs(seconds);
        }
        let popped = queue.pop(now).expect("a pool");
        queue.succeeded(&popped);
        queue.push(popped, now);
        assert_eq!(queue.next_at(), Some(now + PER_POOL));
    }

    #[test]
    fn a_pool_is_taken_again_only_when_its_reconciliation_has_ended() {
        let start = Instant::now();
        let later = start + PER_POOL;
        let mut queue = Queue::new(start);
        queue.push(pool("a"), start);
        let popped = queue.pop(start).expect("a pool");
        queue.push_at(pool("a"), later + PER_POOL);
        queue.push(pool("a"), start);
        assert_eq!((queue.pop(later), queue.next_at()), (None, None));
        queue.ended(&popped);
        assert_eq!(queue.next_at(), Some(later));
        let popped = queue.pop(later).expect("a pool");
        queue.push(pool("a"), later);
        queue.failed(&popped, later);
        assert_eq!(
            queue.next_at(),
            Some(later + FIRST_PAUSE),
            "a change does not hurry it"
        );
    }

    #[test]
    fn the_earlier_of_two_times_counts() {
        let now = Instant::now();
        let later = now + Duration::from_secs(5);
        let mut queue = Queue::new(now);
        queue.push_at(pool("a"), later);
        assert_eq!(queue.pop(now), None);
        queue.push(pool("a"), now);
        queue.push_at(pool("a"), later);
        assert_eq!(queue.pop(now).as_deref(), Some("a"));
        assert_eq!(queue.pop(later), None);
    }
}
