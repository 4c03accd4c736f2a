//! Which reconciler leads.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

/// How long a Lease is valid without a renewal, if it does not say so itself.
const DURATION: i32 = 15;

/// The holder of the reconcilers' Lease.
#[derive(Debug)]
pub(super) struct Reconciler {
    pub(super) holder: String,
    /// How long ago it was renewed.
    pub(super) renewed: Option<SignedDuration>,
    pub(super) leads: bool,
}

impl Reconciler {
    /// The holder that the Lease names, at this moment.
    pub(super) fn of(lease: &Lease, now: Timestamp) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        let renewed = spec.renew_time.map(|at| now.duration_since(at.0));
        let duration = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(DURATION).into());
        Self {
            leads: !holder.is_empty() && renewed.is_some_and(|renewed| renewed <= duration),
            holder,
            renewed,
        }
    }
}
