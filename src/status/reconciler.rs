//! Which reconciler leads.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

use crate::cluster::lease_age;
use crate::cluster::objects::DeploymentObject;

/// The holder of the reconcilers' Lease.
#[derive(Debug, Clone)]
pub struct Reconciler {
    pub holder: String,
    /// How long ago it was renewed, by the clock here, which may be wrong.
    pub renewed: Option<SignedDuration>,
    pub leads: bool,
    /// Whether it is a pod of a Deployment that does not exist (any more).
    pub is_gone: bool,
}

/// The Deployment of the reconciler, and its Lease.
pub const DEPLOYMENT: &str = "poolgate-reconciler";

impl Reconciler {
    /// The holder that the Lease names.
    pub fn of(lease: Lease, now: Timestamp) -> Self {
        let spec = lease.spec.unwrap_or_default();
        let age = lease_age(&spec, now);
        let holder = spec.holder_identity.unwrap_or_default();
        Self {
            leads: !holder.is_empty() && age.is_some_and(|age| age.is_valid),
            renewed: age.map(|age| age.renewed),
            is_gone: false,
            holder,
        }
    }

    /// The same among the Deployments that exist. A Lease is valid for some seconds after its holder has ended.
    #[must_use]
    pub fn among(self, deployments: &[DeploymentObject]) -> Self {
        let pod = self.holder.strip_prefix(DEPLOYMENT);
        let exists = deployments.iter().any(|one| &*one.metadata.name == DEPLOYMENT);
        let is_gone = pod.is_some_and(|pod| pod.starts_with('-')) && !exists;
        Self {
            leads: self.leads && !is_gone,
            is_gone,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(holder: &str, ago: i64, seconds: i32) -> Reconciler {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let renewed = format!("{:.6}", now - SignedDuration::from_secs(ago));
        let spec = json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds});
        let lease = serde_json::from_value(json!({"spec": spec})).expect("a Lease");
        Reconciler::of(lease, now)
    }

    fn named(name: &str) -> DeploymentObject {
        serde_json::from_value(json!({"metadata": {"name": name}})).expect("a Deployment")
    }

    #[test]
    fn a_holder_leads_while_its_renewal_is_no_older_than_the_lease_lasts() {
        for (holder, ago, seconds, leads) in [
            ("one", 0, 15, true),
            ("one", 15, 15, true),
            ("one", -10, 15, true),
            ("one", 16, 15, false),
            ("one", -16, 15, false),
            ("one", 61, i32::MAX, false),
            ("", 0, 15, false),
        ] {
            let found = found(holder, ago, seconds);
            assert_eq!(
                (found.leads, &*found.holder),
                (leads, holder),
                "{ago} of {seconds}"
            );
            assert_eq!(found.renewed, Some(SignedDuration::from_secs(ago)));
        }
        let pod = found("poolgate-reconciler-7d9", 5, 15);
        assert!(pod.clone().among(&[named("poolgate-reconciler")]).leads);
        let gone = pod.among(&[named("poolgate")]);
        assert!(gone.is_gone && !gone.leads);
        assert!(
            found("elsewhere", 5, 15).among(&[]).leads,
            "it runs outside of the cluster"
        );
        let never = Reconciler::of(Lease::default(), Timestamp::UNIX_EPOCH);
        assert_eq!((never.leads, never.renewed, &*never.holder), (false, None, ""));
    }
}
