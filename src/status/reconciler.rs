//! Which reconciler leads.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use tokio::time::{Instant, sleep};

use crate::cluster::lease_duration;

/// How long a Lease is valid without a renewal, if it does not say so itself.
const DURATION: Duration = Duration::from_secs(15);

/// The pause before the Lease is read again.
const PAUSE: Duration = Duration::from_secs(1);

/// The holder of the reconcilers' Lease.
#[derive(Debug, Clone)]
pub struct Reconciler {
    pub holder: String,
    /// How long ago it was renewed.
    pub renewed: Option<SignedDuration>,
    pub leads: bool,
}

impl Reconciler {
    /// The holder that the Lease names. The time of the last renewal is compared with the clock here, which may be wrong:
    /// a holder leads, too, if it renews the Lease within the Lease's duration from now.
    pub async fn look<E>(read: impl AsyncFn() -> Result<Option<Lease>, E>) -> Result<Option<Self>, E> {
        let Some(lease) = read().await? else {
            return Ok(None);
        };
        let spec = lease.spec.unwrap_or_default();
        let first = Self::by_clock(&spec, Timestamp::now());
        if first.leads || first.holder.is_empty() {
            return Ok(Some(first));
        }
        let end = Instant::now() + duration(&spec);
        while Instant::now() < end {
            sleep(PAUSE).await;
            let Some(later) = read().await? else {
                return Ok(None);
            };
            let later = later.spec.unwrap_or_default();
            if later != spec {
                return Ok(Some(Self::just_renewed(later)));
            }
        }
        Ok(Some(first))
    }

    fn by_clock(spec: &LeaseSpec, now: Timestamp) -> Self {
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let renewed = spec.renew_time.as_ref().map(|at| now.duration_since(at.0));
        let is_recent = |renewed: SignedDuration| renewed.unsigned_abs() <= duration(spec);
        Self {
            leads: !holder.is_empty() && renewed.is_some_and(is_recent),
            holder,
            renewed,
        }
    }

    fn just_renewed(spec: LeaseSpec) -> Self {
        let holder = spec.holder_identity.unwrap_or_default();
        let leads = !holder.is_empty();
        Self {
            holder,
            renewed: leads.then_some(SignedDuration::ZERO),
            leads,
        }
    }
}

/// The time within which the holder of a Lease renews it.
fn duration(spec: &LeaseSpec) -> Duration {
    lease_duration(spec).unwrap_or(DURATION)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use serde_json::json;

    use super::*;

    fn lease(holder: &str, renewed: Timestamp, seconds: i32) -> Lease {
        let renewed = format!("{renewed:.6}");
        let spec = json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds});
        serde_json::from_value(json!({"spec": spec})).expect("a Lease")
    }

    /// What is found of a Lease if the clock here is ahead of its holder's, and how long that takes. A holder that is alive
    /// renews it every two seconds.
    async fn look(ahead: SignedDuration, seconds: i32, is_alive: bool) -> (Reconciler, Duration) {
        let begun = Instant::now();
        let first = Timestamp::now() - SignedDuration::from_secs(1) - ahead;
        let found = Reconciler::look(async || {
            let renewals = if is_alive {
                begun.elapsed().as_secs() / 2
            } else {
                0
            };
            let later = Duration::from_secs(2 * renewals);
            Ok::<_, Infallible>(Some(lease("one", first + later, seconds)))
        });
        let found = found.await.unwrap_or_else(|never| match never {});
        (found.expect("a Lease"), begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_was_just_renewed_is_believed_at_once() {
        for ahead in [-10, 0, 10] {
            let (found, took) = look(SignedDuration::from_secs(ahead), 15, true).await;
            assert!(found.leads, "{found:?}");
            assert_eq!(took, Duration::ZERO, "{ahead}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_clock_takes_no_leader_for_dead() {
        for (ahead, seconds) in [(16, 15), (3600, 15), (-3600, 15), (4, 3), (86_400, 600)] {
            let (found, took) = look(SignedDuration::from_secs(ahead), seconds, true).await;
            assert!(found.leads, "{ahead}: {found:?}");
            assert_eq!(found.renewed, Some(SignedDuration::ZERO));
            assert!(took <= Duration::from_secs(3), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_is_dead_is_found_whatever_the_clock_says_and_within_a_bounded_time() {
        for (ahead, seconds, longest) in [
            (3600, 15, 16),
            (-3600, 15, 16),
            (3600, i32::MAX, 61),
            (i64::from(i32::MAX), i32::MAX, 61),
        ] {
            let (found, took) = look(SignedDuration::from_secs(ahead), seconds, false).await;
            assert!(!found.leads, "{ahead}: {found:?}");
            assert_eq!(found.holder, "one");
            assert!(took <= Duration::from_secs(longest), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_missing_or_given_back_is_not_waited_for() {
        let begun = Instant::now();
        let none = Reconciler::look(async || Ok::<_, Infallible>(None)).await;
        assert!(matches!(none, Ok(None)), "{none:?}");
        let given_back = lease("", Timestamp::UNIX_EPOCH, 1);
        let nobody = Reconciler::look(async || Ok::<_, Infallible>(Some(given_back.clone()))).await;
        assert!(
            matches!(nobody, Ok(Some(Reconciler { leads: false, .. }))),
            "{nobody:?}"
        );
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_given_back_while_it_is_watched_has_no_leader() {
        let reads = Cell::new(0);
        let found = Reconciler::look(async || {
            let holder = if reads.replace(reads.get() + 1) == 0 {
                "one"
            } else {
                ""
            };
            Ok::<_, Infallible>(Some(lease(holder, Timestamp::UNIX_EPOCH, 15)))
        });
        let found = found.await.unwrap_or_else(|never| match never {});
        let found = found.expect("a Lease");
        assert_eq!((found.leads, found.renewed, &*found.holder), (false, None, ""));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_cannot_be_read_again_is_unread() {
        let reads = Cell::new(0);
        let found = Reconciler::look(async || {
            let is_first = reads.replace(reads.get() + 1) == 0;
            is_first
                .then(|| Some(lease("one", Timestamp::UNIX_EPOCH, 15)))
                .ok_or("forbidden")
        });
        assert_eq!(found.await.expect_err("an error"), "forbidden");
    }
}
