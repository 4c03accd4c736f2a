//! Metrics of stored NodePools: which would be denied on creation, and how much of their limits is used. Each is
//! reviewed when it changes.

#![expect(
    clippy::disallowed_methods,
    reason = "only `serve` reviews what is stored, and no simulation runs that"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use poolgate_core::diagnostic::Severity;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy::{Enforcement, Exemption, Policy};
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, review};
use serde_json::Value;
use tokio::time::sleep;

use super::metrics::ClusterMetrics;
use crate::cluster::view::ClusterView;
use crate::runtime::policy_watch::PolicyInForce;

/// How often to look at the clock for the end of an exemption.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(30);

/// How many limits of a pool are shown.
const MOST_LIMITS: usize = 16;

/// The metrics of a pool.
#[derive(Debug, Default, PartialEq)]
struct Reviewed {
    /// The rules that would deny it.
    denied_by: BTreeSet<&'static str>,
    /// How much of its limits is used, by resource.
    limits_used: BTreeMap<Box<str>, f64>,
}

/// The stored NodePools: which would be denied, by which rules, and how much of their limits is used.
pub struct StoredPools {
    view: Arc<ClusterView>,
    policy: PolicyInForce,
    metrics: ClusterMetrics,
    /// The policy and the Karpenter release that all were reviewed with.
    reviewed_with: (Arc<Policy>, Arc<TargetKarpenter>),
    /// The same policy as it would be enforced: a week of warnings is there to find what would be denied after it.
    enforced: Policy,
    /// When the review of all of them began.
    reviewed_at: Timestamp,
    known: BTreeMap<Box<str>, Reviewed>,
    /// The same for a list that is not complete yet.
    listing: BTreeMap<Box<str>, Reviewed>,
}

impl StoredPools {
    pub fn new(view: Arc<ClusterView>, policy: PolicyInForce, metrics: ClusterMetrics) -> Self {
        let reviewed_with = in_force(&policy, &view);
        Self {
            enforced: enforced(&reviewed_with.0),
            reviewed_with,
            reviewed_at: Timestamp::now(),
            view,
            policy,
            metrics,
            known: BTreeMap::new(),
            listing: BTreeMap::new(),
        }
    }

    /// A list begins, which is reviewed with what is in force now.
    pub fn list_begins(&mut self) {
        self.reviewed_with = in_force(&self.policy, &self.view);
        self.enforced = enforced(&self.reviewed_with.0);
        self.reviewed_at = Timestamp::now();
        self.listing.clear();
    }

    /// Reviews a pool of the list.
    pub fn listed(&mut self, name: &str, pool: &Value) {
        let next = self.review(pool);
        self.listing.insert(name.into(), next);
    }

    /// The list replaces everything that was known.
    pub fn list_ends(&mut self) {
        self.lost();
        for (name, next) in std::mem::take(&mut self.listing) {
            self.replace(&name, next);
        }
    }

    /// Nothing is known any more.
    pub fn lost(&mut self) {
        self.known.clear();
        self.metrics.no_stored_pools();
    }

    /// Reviews a pool that is new or has changed.
    pub fn changed(&mut self, name: &str, pool: &Value) {
        let next = self.review(pool);
        self.replace(name, next);
    }

    /// A pool is gone.
    pub fn gone(&mut self, name: &str) {
        self.replace(name, Reviewed::default());
    }

    /// New numbers are shown before old ones are removed, so that a lasting number is never missing.
    fn replace(&mut self, name: &str, next: Reviewed) {
        for rule in &next.denied_by {
            self.metrics.denied_pool(name, rule, true);
        }
        for (resource, used) in &next.limits_used {
            self.metrics.limit_used(name, resource, Some(*used));
        }
        let before = self.known.remove(name).unwrap_or_default();
        for rule in before.denied_by.difference(&next.denied_by) {
            self.metrics.denied_pool(name, rule, false);
        }
        for resource in before.limits_used.keys() {
            if !next.limits_used.contains_key(resource) {
                self.metrics.limit_used(name, resource, None);
            }
        }
        if next != Reviewed::default() {
            self.known.insert(name.into(), next);
        }
    }

    /// Waits until the policy or the definition has changed or an exemption has ended, so that all must be reviewed again.
    pub fn outdated(&self) -> BoxFuture<'static, ()> {
        let (view, policy) = (Arc::clone(&self.view), self.policy.clone());
        let (by_policy, by_karpenter) = self.reviewed_with.clone();
        let reviewed_at = self.reviewed_at;
        let (mut policies, mut definitions) = (policy.changes(), view.definition_changes());
        Box::pin(async move {
            loop {
                let (policy, karpenter) = in_force(&policy, &view);
                if !Arc::ptr_eq(&by_policy, &policy) || !Arc::ptr_eq(&by_karpenter, &karpenter) {
                    return;
                }
                tokio::select! {
                    _ = policies.changed() => {}
                    _ = definitions.changed() => {}
                    () = exemption_ends(&by_policy, reviewed_at) => return,
                }
            }
        })
    }

    fn review(&self, pool: &Value) -> Reviewed {
        let (_, karpenter) = &self.reviewed_with;
        let object = &Json::from(pool);
        let view = NodePool::view(ApiVersion::V1, object);
        let limits_used = view.limits_used().take(MOST_LIMITS);
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object,
            old: None,
            claims: None,
            at: Timestamp::now(),
        };
        let report = review(&request, &self.enforced, karpenter).report;
        let errors = report.diagnostics().iter();
        let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
        Reviewed {
            denied_by: errors.map(|error| error.rule.as_str()).collect(),
            limits_used: limits_used
                .map(|(resource, used)| (resource.into(), used))
                .collect(),
        }
    }
}

fn enforced(policy: &Policy) -> Policy {
    Policy {
        enforcement: Enforcement::Enforce,
        ..policy.clone()
    }
}

fn in_force(policy: &PolicyInForce, view: &ClusterView) -> (Arc<Policy>, Arc<TargetKarpenter>) {
    (Arc::clone(&policy.load().policy), Arc::clone(&view.karpenter()))
}

/// Waits for the next end of an exemption of a policy. The wall clock may be set meanwhile, so it is read
/// periodically.
async fn exemption_ends(policy: &Policy, then: Timestamp) {
    let ends = policy.exemptions.iter().filter_map(Exemption::ends);
    let Some(next) = ends.filter(|ends| *ends > then).min() else {
        return pending().await;
    };
    while Timestamp::now() < next {
        sleep(LOOK_AT_CLOCK).await;
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use poolgate_core::policy::Policy;
    use serde_json::json;

    use super::*;
    use crate::runtime::telemetry::Registry;

    #[test]
    fn the_used_part_of_each_limit_is_shown_while_pool_and_limit_are_there() {
        let mut registry = Registry::default();
        let metrics = ClusterMetrics::register(&mut registry);
        let mut stored = StoredPools::new(Arc::default(), Policy::default().into(), metrics);
        let shown = || {
            let text = registry.encode().expect("text");
            let prefix = "nodepool_limit_used_ratio{nodepool=";
            let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
            let mut lines: Vec<_> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let pool = |limits: &Value| {
            let used = json!({"cpu": "36500m", "memory": "48Gi", "nodes": "3", "nvidia.com/gpu": "8", "ephemeral-storage": "1"});
            json!({"spec": {"limits": limits}, "status": {"resources": used}})
        };
        let limits = json!({"cpu": 73, "memory": "32Gi", "nodes": "0", "nvidia.com/gpu": "8", "CPU": "1", "pods": {}, "ephemeral-storage": "-1"});
        stored.list_begins();
        stored.listed("general", &pool(&limits));
        stored.listed("new", &json!({"spec": {"limits": {"cpu": "1"}}}));
        stored.list_ends();
        let general = |resource: &str, used: &str| format!(r#""general",resource="{resource}"}} {used}"#);
        let [cpu, memory, gpu] = [("cpu", "0.5"), ("memory", "1.5"), ("nvidia.com/gpu", "1.0")]
            .map(|(resource, used)| general(resource, used));
        assert_eq!(
            shown(),
            [cpu, memory.clone(), gpu],
            "of no limit there is no part"
        );
        stored.changed("general", &pool(&json!({"memory": "32Gi", "nodes": 6})));
        assert_eq!(shown(), [memory.clone(), general("nodes", "0.5")]);
        stored.changed("general", &pool(&json!({"memory": "32Gi"})));
        stored.gone("other");
        assert_eq!(shown(), [memory]);
        stored.gone("general");
        assert_eq!(shown(), [""; 0]);
        stored.changed("general", &pool(&limits));
        stored.lost();
        assert_eq!(shown(), [""; 0]);
    }

    #[test]
    fn a_pool_of_very_many_limits_shows_some_of_them() {
        let metrics = ClusterMetrics::default();
        let stored = StoredPools::new(Arc::default(), Policy::default().into(), metrics);
        let many: Value = (0..100)
            .map(|number| (format!("example.com/r{number}"), json!(1)))
            .collect();
        let pool = json!({"spec": {"limits": many}, "status": {"resources": many}});
        assert_eq!(stored.review(&pool).limits_used.len(), MOST_LIMITS);
    }

    #[test]
    fn another_definition_is_a_reason_to_review_everything_again() {
        let view = Arc::new(ClusterView::default());
        let policy = Policy::default().into();
        let mut stored = StoredPools::new(Arc::clone(&view), policy, ClusterMetrics::default());
        let poll = |outdated: &mut BoxFuture<'static, ()>| {
            outdated.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        let mut outdated = stored.outdated();
        assert_eq!(poll(&mut outdated), Poll::Pending);
        view.set_definition(None);
        assert_eq!(poll(&mut outdated), Poll::Ready(()));
        stored.list_begins();
        assert_eq!(poll(&mut stored.outdated()), Poll::Pending);
    }
    #[test]
    fn an_exemption_that_has_ended_is_a_reason_too_and_one_that_lasts_is_none() {
        let until = |until: &str| {
            let exemption = Exemption {
                pools: Vec::new(),
                labels: std::collections::BTreeMap::new(),
                reason: None,
                until: Some(until.parse().expect("a date")),
                rules: std::iter::empty().collect(),
            };
            let policy = Policy {
                exemptions: vec![exemption],
                ..Policy::default()
            };
            let mut stored = StoredPools::new(Arc::default(), policy.into(), ClusterMetrics::default());
            stored.reviewed_at = "2026-01-01T00:00:00Z".parse().expect("an instant");
            let is_pending = {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .expect("a runtime");
                let _entered = runtime.enter();
                let mut outdated = stored.outdated();
                outdated.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
            };
            !is_pending
        };
        assert!(until("2026-01-31"), "ended since");
        assert!(!until("2025-12-31"), "had ended already");
        assert!(!until("9000-01-01"));
    }
}
