//! Which reconciler leads.

use jiff::{SignedDuration, Timestamp};

use super::facts::LeaseObject;
use crate::objects::instant;

/// How long a Lease is valid without a renewal, if it does not say so itself.
const DURATION: i64 = 15;

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
    pub(super) fn of(lease: &LeaseObject, now: Timestamp) -> Self {
        let spec = &lease.spec;
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let renewed = instant(spec.renew_time.as_deref()).map(|at| now.duration_since(at));
        let duration = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(DURATION));
        Self {
            leads: !holder.is_empty() && renewed.is_some_and(|renewed| renewed <= duration),
            holder,
            renewed,
        }
    }
}
