//! Stored NodePools that would be denied if they were created now: reviewed when they change, counted by rule.

#![expect(
    clippy::disallowed_methods,
    reason = "only `serve` reviews what is stored, and no simulation runs that"
)]

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use poolgate_core::diagnostic::Severity;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, TargetKarpenter};
use poolgate_core::policy::{Exemption, Policy};
use poolgate_core::review::{Request, Subject, review};
use serde_json::Value;
use tokio::time::sleep;

use super::metrics::ClusterMetrics;
use crate::cluster::view::ClusterView;
use crate::runtime::policy_watch::PolicyInForce;

/// How often to look at the clock for the end of an exemption.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(30);

/// The rules that deny a pool, each once.
type Rules = Vec<&'static str>;

/// Which stored NodePools would be denied, and by which rules.
pub struct StoredVerdicts {
    view: Arc<ClusterView>,
    policy: PolicyInForce,
    metrics: ClusterMetrics,
    /// The policy and the Karpenter release that all were reviewed with.
    reviewed_with: (Arc<Policy>, Arc<TargetKarpenter>),
    /// When the review of all of them began.
    reviewed_at: Timestamp,
    denied: BTreeMap<Box<str>, Rules>,
    /// The same for a list that is not complete yet.
    listing: BTreeMap<Box<str>, Rules>,
}

impl StoredVerdicts {
    pub fn new(view: Arc<ClusterView>, policy: PolicyInForce, metrics: ClusterMetrics) -> Self {
        Self {
            reviewed_with: in_force(&policy, &view),
            reviewed_at: Timestamp::now(),
            view,
            policy,
            metrics,
            denied: BTreeMap::new(),
            listing: BTreeMap::new(),
        }
    }

    /// A list begins, which is reviewed with what is in force now.
    pub fn list_begins(&mut self) {
        self.reviewed_with = in_force(&self.policy, &self.view);
        self.reviewed_at = Timestamp::now();
        self.listing.clear();
    }

    /// Reviews a pool of the list.
    pub fn listed(&mut self, name: &str, pool: &Value) {
        let rules = self.denying(pool);
        if !rules.is_empty() {
            self.listing.insert(name.into(), rules);
        }
    }

    /// The list replaces everything that was known.
    pub fn list_ends(&mut self) {
        self.lost();
        self.denied = std::mem::take(&mut self.listing);
        for rule in self.denied.values().flatten() {
            self.metrics.denied_pool(rule, 1);
        }
    }

    /// Nothing is known any more.
    pub fn lost(&mut self) {
        self.denied.clear();
        self.metrics.no_denied_pools();
    }

    /// Reviews a pool that is new or has changed.
    pub fn changed(&mut self, name: &str, pool: &Value) {
        let rules = self.denying(pool);
        self.gone(name);
        if rules.is_empty() {
            return;
        }
        for rule in &rules {
            self.metrics.denied_pool(rule, 1);
        }
        self.denied.insert(name.into(), rules);
    }

    /// A pool is gone.
    pub fn gone(&mut self, name: &str) {
        for rule in self.denied.remove(name).into_iter().flatten() {
            self.metrics.denied_pool(rule, -1);
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

    fn denying(&self, pool: &Value) -> Rules {
        let (policy, karpenter) = &self.reviewed_with;
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &Json::from(pool),
            old: None,
            claims: None,
            at: Timestamp::now(),
        };
        let report = review(&request, policy, karpenter).report;
        let errors = report.diagnostics().iter();
        let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
        let mut rules: Rules = errors.map(|error| error.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

fn in_force(policy: &PolicyInForce, view: &ClusterView) -> (Arc<Policy>, Arc<TargetKarpenter>) {
    (Arc::clone(&policy.load().policy), Arc::clone(&view.karpenter()))
}

/// Waits until the first exemption of a policy ends that had not ended then. The wall clock may be set meanwhile, so it is
/// read now and then.
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

    use super::*;

    #[test]
    fn another_definition_is_a_reason_to_review_everything_again() {
        let view = Arc::new(ClusterView::default());
        let policy = Policy::default().into();
        let mut verdicts = StoredVerdicts::new(Arc::clone(&view), policy, ClusterMetrics::default());
        let poll = |outdated: &mut BoxFuture<'static, ()>| {
            outdated.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        let mut outdated = verdicts.outdated();
        assert_eq!(poll(&mut outdated), Poll::Pending);
        view.set_definition(None);
        assert_eq!(poll(&mut outdated), Poll::Ready(()));
        verdicts.list_begins();
        assert_eq!(poll(&mut verdicts.outdated()), Poll::Pending);
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
            let mut verdicts = StoredVerdicts::new(Arc::default(), policy.into(), ClusterMetrics::default());
            verdicts.reviewed_at = "2026-01-01T00:00:00Z".parse().expect("an instant");
            let is_pending = {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .expect("a runtime");
                let _entered = runtime.enter();
                let mut outdated = verdicts.outdated();
                outdated.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
            };
            !is_pending
        };
        assert!(until("2026-01-31"), "ended since");
        assert!(!until("2025-12-31"), "had ended already");
        assert!(!until("9000-01-01"));
    }
}
