//! Whether a Lease is still renewed, as seen by a process that never takes it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::sleep;

use super::{RELEASE, path, theirs};
use crate::cluster::api::ApiError;
use crate::cluster::collection::Collection;

/// How long a read may take.
const LOOK: Duration = Duration::from_secs(10);

/// Whether a Lease is gone, or was renewed so long ago. The clock alone is not enough, because it may be wrong: a Lease that
/// looks old must also stay the same for the time within which its holder would renew it.
pub async fn is_silent(
    client: Client,
    namespace: &str,
    name: &str,
    longest: Duration,
) -> Result<bool, ApiError> {
    let leases = Collection::<Lease>::new(client, &path(namespace));
    let Some(lease) = leases.get_opt(name).within(LOOK).await? else {
        return Ok(true);
    };
    let spec = lease.spec.unwrap_or_default();
    if !is_older(&spec, longest, Timestamp::now()) {
        return Ok(false);
    }
    sleep(theirs(&spec).unwrap_or(RELEASE)).await;
    let later = leases.get_opt(name).within(LOOK).await?;
    Ok(later.is_none_or(|later| later.metadata.resource_version == lease.metadata.resource_version))
}

/// Whether it was renewed longer ago than this, by a wall clock.
fn is_older(spec: &LeaseSpec, longest: Duration, now: Timestamp) -> bool {
    spec.renew_time.as_ref().is_none_or(|renewed| {
        let age = now.duration_since(renewed.0);
        !age.is_negative() && age.unsigned_abs() > longest
    })
}
