//! How long a request may take: the timeout that the API server gives in the query, within bounds.

use std::time::Duration;

use crate::runtime::flags::go_duration;

/// The limit if the caller gives none: the API server's own default.
const DEFAULT: Duration = Duration::from_secs(10);

/// The longest limit: the API server allows a webhook no more.
const LONGEST: Duration = Duration::from_secs(30);

/// How long a request with this query may take.
pub fn from_query(query: Option<&str>) -> Duration {
    query
        .and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("timeout=")))
        .and_then(go_duration)
        .filter(|limit| !limit.is_zero())
        .map_or(DEFAULT, |limit| limit.min(LONGEST))
}

/// How long an answer may take, so that it still arrives before the caller's `limit`.
pub fn before(limit: Duration) -> Duration {
    limit.saturating_sub(limit / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_limit_holds_within_bounds() {
        for (query, seconds) in [
            (None, 10),
            (Some("timeout=3s"), 3),
            (Some("dryRun=All&timeout=30s"), 30),
            (Some("timeout=1m0s"), 30),
            (Some("timeout=0s"), 10),
            (Some("timeout="), 10),
            (Some("timeout=s"), 10),
            (Some("timeout=-1s"), 10),
            (Some("timeout=99999999999999999999s"), 10),
            (Some("timeout=\u{b5}s"), 10),
            (Some("nottimeout=3s"), 10),
        ] {
            assert_eq!(from_query(query), Duration::from_secs(seconds), "{query:?}");
        }
        assert_eq!(from_query(Some("timeout=500ms")), Duration::from_millis(500));
    }
}
