//! The warning about a lowered limit matches what the reconciler will do: once Karpenter's count is up to date, the number
//! in the warning is the number of victims that a plan chooses. Only nodes under disruption, which a Hard limit counts and
//! Karpenter does not, may add to them.

#![cfg(test)]

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use poolgate_core::api::OverLimit;
use poolgate_core::defaults::defaults;
use poolgate_core::diagnostic::FieldPath;
use poolgate_core::facts::ApiVersion::V1;
use poolgate_core::facts::{DISRUPTED_TAINT, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::nodelimit::ledger::Moment;
use poolgate_core::nodelimit::plan::{
    Claim, ClaimState, Conditions, LedgerIdentity, LedgerState, Marks, Memory, Node, Now, Pool, PoolState,
    SETTLE, Settings, plan,
};
use poolgate_core::pods::{Effect, NodeTaint};
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, review};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Whether a NodeClaim is deleted, and whether Karpenter is disrupting its node.
type Going = (bool, bool);

fn pool(nodes: u32, mode: Option<&str>) -> Value {
    json!({
        "metadata": {"name": "general", "uid": "pool"},
        "spec": {
            "limits": {"nodes": nodes.to_string()},
            "disruption": {"consolidateAfter": "1m", "nodeLimitMode": mode},
            "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "requirements": [],
                "expireAfter": "Never",
            }},
        },
    })
}

/// How many victims a plan chooses, given all the time that it needs.
fn victims(before: &Value, pool: &Value, all: &[Going], policy: &Policy) -> usize {
    let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24);
    let claims: Vec<_> = (0..)
        .zip(all)
        .map(|(number, going)| claim(number, *going, now))
        .collect();
    let nodes: Vec<_> = (0..)
        .zip(all)
        .map(|(number, (_, disrupted))| node(number, *disrupted))
        .collect();
    let state = |pool| PoolState {
        pool,
        claims: claims
            .iter()
            .zip(&nodes)
            .map(|(claim, node)| ClaimState {
                tries: None,
                claim,
                node: Some(node),
                pods: Vec::new(),
            })
            .collect(),
        pending: Vec::new(),
        ledger: LedgerState {
            identity: Some(LedgerIdentity {
                object: "ledger".into(),
                closed_over: None,
            }),
            ..LedgerState::default()
        },
        steady_since: Some(Moment::default()),
        denied_at: None,
        denied_anywhere_at: None,
        replaces_elsewhere: false,
        terminations_left: usize::MAX,
        settings: Settings::default(),
    };
    // The reconciler has seen the pool as it was.
    let (before, pool) = (Pool::of(before, policy), Pool::of(pool, policy));
    let at = |settled| Now {
        wall: now,
        clock: Moment::at(SETTLE * settled),
    };
    let seen = plan(&state(&before), &Memory::default(), at(1)).memory;
    let lowered = plan(&state(&pool), &seen, at(2));
    let chosen = plan(&state(&pool), &lowered.memory, at(3)).victims;
    chosen.map_or(0, |victims| victims.len())
}

fn claim(number: usize, (deleted, _): Going, now: Timestamp) -> Claim {
    Claim {
        name: format!("claim-{number}").into(),
        uid: format!("uid-{number}").into(),
        created: now - SignedDuration::from_hours(1),
        deleted: deleted.then_some(now),
        is_launched: true,
        expire_after: None,
        has_grace_period: false,
        has_deadline: false,
        drift_hash: None,
        conditions: Conditions::default(),
    }
}

fn node(number: usize, disrupted: bool) -> Node {
    let taint = NodeTaint {
        key: DISRUPTED_TAINT.to_owned(),
        value: String::new(),
        effect: Effect::NoSchedule,
    };
    Node {
        name: Arc::from(format!("node-{number}")),
        uid: Arc::from(format!("node-uid-{number}")),
        labels: Arc::default(),
        taints: disrupted.then_some(taint).into_iter().collect(),
        is_cordoned: false,
        is_ready: true,
        allocatable: Arc::default(),
        marks: Marks::default(),
        conditions: 0,
    }
}

/// The number of nodes that the reconciler terminates according to the warning.
fn reported(before: &Value, pool: &Value, policy: &Policy) -> usize {
    let request = Request {
        subject: Subject::NodePool(V1),
        object: &Json::from(pool),
        old: Some(&Json::from(before)),
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, policy, &TargetKarpenter::default()).report;
    let mut about = report
        .into_iter()
        .filter(|finding| finding.rule.as_str() == "limit-below-use");
    let message = about.next().map(|finding| finding.message()).unwrap_or_default();
    let (_, rest) = message.split_once("reconciler terminates ").unwrap_or_default();
    let word = rest.split(' ').next().unwrap_or_default();
    word.trim_end_matches([',', '.']).parse().unwrap_or_default()
}

/// The pool with the mode that admission writes.
fn completed(before: &Value, pool: &Value, policy: &Policy) -> Value {
    let (object, old) = (Json::from(pool), Json::from(before));
    let view = NodePool::view(V1, &old);
    let values = &policy.defaults;
    let written = defaults(
        &NodePool::view(V1, &object),
        Some(&view),
        Some(&old),
        values,
        &TargetKarpenter::default(),
    );
    let mode = FieldPath::of(&["spec", "disruption", "nodeLimitMode"]);
    let mut completed = pool.clone();
    for written in written.into_iter().filter(|written| written.path == mode) {
        completed["spec"]["disruption"]["nodeLimitMode"] = written.value;
    }
    completed
}

proptest! {
    #[test]
    fn the_warning_says_how_many_the_reconciler_will_terminate(
        all in vec(any::<Going>(), 0..12),
        limit in 0..12_u32,
        modes in (prop_oneof![Just(None), Just(Some("Hard")), Just(Some("Soft"))],
                  prop_oneof![Just(None), Just(Some("Hard")), Just(Some("Soft"))]),
    ) {
        let policy = Policy { over_limit: OverLimit::Terminate, ..Policy::default() };
        let (mut before, after) = (pool(20, modes.0), pool(limit, modes.1));
        let count = |which: fn(&Going) -> bool| all.iter().filter(|going| which(going)).count();
        // As Karpenter counts nodes.
        before["status"] = json!({"nodes": count(|(deleted, disrupted)| !deleted && !disrupted)});
        let warned = reported(&before, &after, &policy);
        let stored = completed(&before, &after, &policy);
        let victims = victims(&before, &stored, &all, &policy);
        let disrupted = count(|(deleted, disrupted)| !deleted && *disrupted);
        let is_soft = stored["spec"]["disruption"]["nodeLimitMode"] == "Soft";
        let uncounted = if is_soft { 0 } else { disrupted };
        prop_assert!((warned..=warned + uncounted).contains(&victims), "{warned} {victims} {uncounted}");
    }
}
