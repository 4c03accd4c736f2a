//! Whether a Lease is still renewed, as seen by a process that never takes it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::sleep;

use super::{Sighting, age, longest_silence, path};
use crate::cluster::api::{ApiError, Deadline};
use crate::cluster::clock::Clock;
use crate::cluster::collection::Collection;

/// The extra wait after a holder should have renewed.
const MOMENT: Duration = Duration::from_millis(1);

/// How long a read may take.
const LOOK: Duration = Duration::from_secs(10);

/// Whether a Lease is gone, or was last renewed this long ago. The clocks alone are not enough, because one of them
/// may be wrong. A Lease that looks old, or renewed in the future, must also stay unchanged for as long as its holder
/// needs to renew it.
pub async fn is_silent(
    client: Client,
    namespace: &str,
    name: &str,
    longest: Duration,
    clock: &Clock,
) -> Result<bool, ApiError> {
    let leases = Collection::<Lease>::new(client, &path(namespace));
    let Some(lease) = leases.get_opt(name, Deadline::within(LOOK)).await? else {
        return Ok(true);
    };
    let spec = lease.spec.unwrap_or_default();
    if is_fresh(&spec, longest, clock.wall()) {
        return Ok(false);
    }
    let mut seen = Sighting::first(spec);
    sleep(longest_silence(&seen.spec) + MOMENT).await;
    let Some(later) = leases.get_opt(name, Deadline::within(LOOK)).await? else {
        return Ok(true);
    };
    seen.again(later.spec.unwrap_or_default());
    Ok(!seen.is_alive())
}

/// Whether it was renewed within this time. A renewal in the future proves nothing: a holder whose clock was hours ahead would
/// count as alive for hours after its death.
fn is_fresh(spec: &LeaseSpec, longest: Duration, now: Timestamp) -> bool {
    age(spec, now).is_some_and(|age| !age.renewed.is_negative() && age.renewed.unsigned_abs() <= longest)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use hyper::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tokio::time::Instant;
    use tower::service_fn;

    use super::*;

    const EXPIRY: Duration = Duration::from_mins(15);

    /// An API server with a Lease of so many seconds that was renewed `minutes` ago, and that is renewed after each read if
    /// `is_alive`.
    fn with_lease(minutes: i64, seconds: Option<i32>, is_alive: bool) -> Client {
        let renewed = Clock::start().wall() - k8s_openapi::jiff::SignedDuration::from_mins(minutes);
        let reads = Arc::new(AtomicU32::new(0));
        let server = service_fn(move |_: Request<Body>| {
            let renewals = reads.fetch_add(u32::from(is_alive), Ordering::Relaxed);
            let renewed = renewed + k8s_openapi::jiff::SignedDuration::from_secs(renewals.into());
            let lease = json!({
                "metadata": {"name": "poolgate-reconciler"},
                "spec": {"holderIdentity": "a", "leaseDurationSeconds": seconds, "renewTime": renewed.to_string()},
            });
            async move { Ok::<_, Infallible>(Response::new(Body::from(lease.to_string().into_bytes()))) }
        });
        Client::new(server, "default")
    }

    async fn silent(minutes: i64, is_alive: bool) -> bool {
        let client = with_lease(minutes, Some(15), is_alive);
        let silent = is_silent(client, "default", "poolgate-reconciler", EXPIRY, &Clock::start()).await;
        silent.expect("a Lease")
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_in_the_future_proves_nothing_and_the_second_look_decides() {
        assert!(silent(-120, false).await, "dead, with a clock that was ahead");
        assert!(!silent(-120, true).await, "alive, with a clock that is ahead");
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_renewal_counts_only_if_no_other_follows() {
        assert!(silent(16, false).await);
        assert!(!silent(16, true).await, "alive, with a clock that is behind");
        assert!(!silent(14, false).await, "not for long enough yet");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_watched_for_a_minute_at_most_whatever_number_it_carries() {
        for (seconds, expected) in [
            (Some(15), 15),
            (Some(240), 60),
            (Some(i32::MAX), 60),
            (Some(0), 3),
            (Some(-1), 60),
            (None, 60),
        ] {
            let begun = Instant::now();
            let client = with_lease(16, seconds, false);
            let silent = is_silent(client, "default", "poolgate-reconciler", EXPIRY, &Clock::start()).await;
            assert!(silent.expect("a Lease"), "{seconds:?}");
            // Paused time moves in steps of a millisecond.
            assert_eq!(begun.elapsed().as_secs(), expected, "{seconds:?}");
        }
    }
}
