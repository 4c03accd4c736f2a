//! Log lines that any client can cause: one for each reason per interval, with the number of those left out.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a reason is not logged again.
const PAUSE: Duration = Duration::from_secs(10);

/// When each reason was last logged.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<HashMap<&'static str, Logged>>);

#[derive(Debug)]
struct Logged {
    at: Instant,
    left_out: u64,
}

impl LogLimit {
    /// Whether a line for this reason may be written now, and how many were left out since the last one.
    pub fn permit(&self, reason: &'static str) -> Option<u64> {
        self.permit_at(reason, Instant::now())
    }

    fn permit_at(&self, reason: &'static str, now: Instant) -> Option<u64> {
        let mut logged = self.0.lock();
        match logged.get_mut(reason) {
            Some(before) if now.saturating_duration_since(before.at) < PAUSE => {
                before.left_out += 1;
                None
            }
            before => {
                let left_out = before.map_or(0, |before| before.left_out);
                logged.insert(reason, Logged { at: now, left_out: 0 });
                Some(left_out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_logged_once_in_a_while_with_the_number_of_those_left_out() {
        let (limit, began) = (LogLimit::default(), Instant::now());
        assert_eq!(limit.permit_at("path", began), Some(0));
        assert_eq!(limit.permit_at("path", began), None);
        assert_eq!(limit.permit_at("method", began), Some(0));
        assert_eq!(limit.permit_at("path", began + PAUSE / 2), None);
        assert_eq!(limit.permit_at("path", began + PAUSE), Some(2));
        assert_eq!(limit.permit_at("path", began + 2 * PAUSE), Some(0));
    }
}
