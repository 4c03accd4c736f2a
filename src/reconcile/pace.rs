//! How many claims may be deleted in a minute. The caller passes the time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The period in which they are counted.
const WINDOW: Duration = Duration::from_mins(1);

/// The terminations of the last minute.
#[derive(Debug)]
pub struct Pace {
    most: usize,
    deleted: VecDeque<Instant>,
}

impl Pace {
    /// Allows at most this many in any minute.
    pub fn new(most: u32) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            deleted: VecDeque::new(),
        }
    }

    /// How many there may be now.
    pub fn left(&mut self, now: Instant) -> usize {
        while self
            .deleted
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) >= WINDOW)
        {
            self.deleted.pop_front();
        }
        self.most - self.deleted.len().min(self.most)
    }

    /// When one more is allowed; `None` if one is allowed now, or never.
    pub fn next_at(&mut self, now: Instant) -> Option<Instant> {
        if self.left(now) > 0 {
            return None;
        }
        self.deleted.front().map(|at| *at + WINDOW)
    }

    /// Counts one that is about to be deleted; false if there may be no more of them now.
    pub fn take(&mut self, now: Instant) -> bool {
        let may = self.left(now) > 0;
        if may {
            self.deleted.push_back(now);
        }
        may
    }

    /// The one that was counted at this time was not deleted.
    pub fn give_back(&mut self, at: Instant) {
        if let Some(place) = self.deleted.iter().rposition(|deleted| *deleted == at) {
            self.deleted.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_sees_more_than_the_most() {
        let start = Instant::now();
        let mut pace = Pace::new(2);
        assert_eq!(pace.left(start), 2);
        assert!(pace.take(start));
        assert!(pace.take(start + Duration::from_secs(30)));
        assert_eq!(pace.left(start + Duration::from_secs(59)), 0);
        assert!(!pace.take(start + Duration::from_secs(59)));
        assert_eq!(
            pace.next_at(start + Duration::from_secs(59)),
            Some(start + WINDOW)
        );
        assert_eq!(pace.left(start + Duration::from_mins(1)), 1);
        assert_eq!(pace.next_at(start + Duration::from_mins(1)), None);
        assert!(pace.take(start + Duration::from_mins(1)));
        pace.give_back(start + Duration::from_secs(30));
        assert_eq!(
            pace.left(start + Duration::from_secs(100)),
            1,
            "the other one counts"
        );
        assert!(!Pace::new(0).take(start));
    }
}
