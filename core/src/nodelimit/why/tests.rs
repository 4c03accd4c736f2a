//! What is known of a pool and of a node, and what follows from it. `poolgate status` has tests of what it says.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::nodelimit::plan::{
    Claim, ClaimState, Condition, Conditions, LedgerIdentity, LedgerState, Marks, Node, Pool,
};
use crate::policy::Policy;

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn claim(name: &str) -> Claim {
    Claim {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        created: now() - SignedDuration::from_hours(2),
        deleted: None,
        is_launched: true,
        expire_after: None,
        has_grace_period: false,
        has_deadline: false,
        drift_hash: None,
        conditions: Conditions {
            initialized: true,
            ..Conditions::default()
        },
    }
}

fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        labels: Arc::default(),
        taints: Arc::default(),
        is_cordoned: false,
        is_ready: true,
        allocatable: Arc::default(),
        marks: Marks::default(),
        conditions: 0,
    }
}

fn state<'s>(claim: &'s Claim, node: Option<&'s Node>) -> ClaimState<'s> {
    ClaimState {
        claim,
        node,
        tries: None,
        pods: Vec::new(),
    }
}

fn pool(spec: &Value) -> Arc<Pool> {
    let object = json!({"metadata": {"name": "general"}, "spec": spec});
    Arc::new(Pool::of(&object, &Policy::default()))
}

fn limited(nodes: u32, mode: &str) -> Arc<Pool> {
    pool(&json!({"limits": {"nodes": nodes.to_string()}, "disruption": {"nodeLimitMode": mode}}))
}

#[test]
fn numbers_of_a_pool_are_known_as_far_as_what_they_are_made_of() {
    let [one, two] = [claim("a"), claim("b")];
    let [first, second] = [node("a"), node("b")];
    let whole = || vec![state(&one, Some(&first)), state(&two, Some(&second))];
    let bare = || vec![state(&one, None), state(&two, None)];
    let ledger = |closed_over| LedgerState {
        identity: Some(LedgerIdentity {
            object: "ledger".into(),
            closed_over,
        }),
        reservations: vec!["uid-a".into(), "uid-new".into()],
        ..LedgerState::default()
    };
    let none = LedgerState::default;
    let cases = [
        ("Hard", Some(whole()), true, Some(none()), Some(0), Some(1)),
        ("Hard", Some(whole()), true, Some(ledger(None)), Some(0), Some(1)),
        ("Hard", Some(bare()), false, Some(none()), Some(0), Some(1)),
        ("Soft", Some(bare()), false, Some(none()), None, None),
        ("Hard", Some(whole()), true, None, None, None),
        ("Soft", Some(whole()), true, None, None, Some(1)),
        ("Hard", Some(whole()), true, Some(ledger(Some(9))), None, Some(1)),
        ("Hard", None, true, Some(none()), None, None),
    ];
    for (mode, claims, knows_nodes, ledger, free, excess) in cases {
        let known = KnownPool::new(limited(1, mode), claims, knows_nodes, ledger, false);
        assert_eq!((known.free(), known.excess()), (free, excess), "{known:?}");
    }
    let known = KnownPool::new(limited(9, "Hard"), Some(whole()), true, Some(ledger(None)), false);
    assert_eq!(
        (known.taken(), known.outstanding(), known.free()),
        (Some(3), Some(1), Some(6))
    );
}

#[test]
fn a_pool_that_says_no_mode_has_the_excess_that_a_plan_terminates() {
    let claims = [claim("a"), claim("b")];
    let mut going = node("b");
    going.taint(crate::pods::NodeTaint {
        key: crate::facts::DISRUPTED_TAINT.to_owned(),
        value: String::new(),
        effect: crate::pods::Effect::NoSchedule,
    });
    let [one, two] = &claims;
    let staying = node("a");
    for (limit, excess) in [
        (limited(1, "Hard"), 1),
        (pool(&json!({"limits": {"nodes": "1"}})), 0),
    ] {
        let claims = vec![state(one, Some(&staying)), state(two, Some(&going))];
        let known = KnownPool::new(limit, Some(claims), true, Some(LedgerState::default()), false);
        assert_eq!(known.excess(), Some(excess));
    }
}

#[test]
fn what_keeps_a_node_is_a_users_or_poolgates_by_whom_its_mark_is_for() {
    let known = KnownPool::new(limited(1, "Hard"), Some(Vec::new()), true, None, false);
    let claim = Claim {
        conditions: Conditions {
            initialized: true,
            drifted: true,
            ..Conditions::default()
        },
        ..claim("a")
    };
    let details = Details {
        drifted: Some(Condition {
            status: "True".into(),
            reason: "NodePoolDrifted".into(),
            since: None,
        }),
        ..Details::default()
    };
    for (held_for, is_called_broken, kinds) in [
        (None, false, vec![CauseKind::NodeDoNotDisrupt]),
        (Some("node-limit"), false, vec![CauseKind::HeldByPoolgate]),
        (
            Some("repair"),
            false,
            vec![CauseKind::HeldByPoolgate, CauseKind::NodeDoNotDisrupt],
        ),
        (
            Some("node-limit"),
            true,
            vec![CauseKind::HeldByPoolgate, CauseKind::NodeDoNotRepair],
        ),
        (Some("node-limit,repair"), true, vec![CauseKind::HeldByPoolgate]),
        (Some("freeze"), false, vec![CauseKind::Frozen]),
        (
            Some("node-limit,freeze"),
            false,
            vec![CauseKind::Frozen, CauseKind::HeldByPoolgate],
        ),
    ] {
        let annotation = |key: &str| match key {
            crate::api::HELD_ANNOTATION => held_for,
            crate::facts::DO_NOT_DISRUPT_ANNOTATION | crate::facts::DO_NOT_REPAIR_ANNOTATION => Some("true"),
            _ => None,
        };
        let node = Node {
            marks: Marks::from_lookups(|_| None, annotation),
            ..node("a")
        };
        let seen = Seen {
            now: now(),
            state: &state(&claim, Some(&node)),
            details: &details,
            ready: None,
            pool: Some(&known),
            pods: None,
            budgets: None,
            is_called_broken,
        };
        let found: Vec<CauseKind> = explain(&seen).causes.iter().map(|cause| cause.kind).collect();
        assert_eq!(found, kinds, "{held_for:?} {is_called_broken}");
    }
}

#[test]
fn a_node_of_a_frozen_pool_is_kept_until_the_freeze_ends_or_by_what_is_left_of_it() {
    let claim = Claim {
        conditions: Conditions {
            initialized: true,
            drifted: true,
            ..Conditions::default()
        },
        ..claim("a")
    };
    let node = Node {
        marks: Marks::from_lookups(
            |_| None,
            |key| match key {
                crate::api::HELD_ANNOTATION => Some("freeze"),
                crate::facts::DO_NOT_DISRUPT_ANNOTATION => Some("true"),
                _ => None,
            },
        ),
        ..node("a")
    };
    for (freeze, line) in [
        (
            "until=2026-11-24T00:00:00Z by=alice reason=why",
            "poolgate holds the node, because NodePool general is frozen, it says by alice: why, until \
             2026-11-24T00:00:00Z. To end that: poolgate unfreeze general",
        ),
        (
            "until=2026-11-23T00:00:00Z",
            "poolgate holds the node, because its NodePool was frozen. That is over, so the reconciler should unhold it. To \
             unhold all nodes while no reconciler runs: poolgate reconcile --unhold-all",
        ),
    ] {
        let annotations = json!({"poolgate.dev/freeze": freeze});
        let object = json!({"metadata": {"name": "general", "annotations": annotations}, "spec": {}});
        let pool = Arc::new(Pool::of(&object, &Policy::default()));
        let known = KnownPool::new(pool, Some(Vec::new()), true, None, false);
        let seen = Seen {
            now: now(),
            state: &state(&claim, Some(&node)),
            details: &Details::default(),
            ready: None,
            pool: Some(&known),
            pods: None,
            budgets: None,
            is_called_broken: false,
        };
        let explanation = explain(&seen);
        let causes = &explanation.causes;
        let lines: Vec<String> = causes
            .iter()
            .filter(|cause| cause.kind == CauseKind::Frozen)
            .map(Cause::line)
            .collect();
        assert_eq!(lines, [line]);
        let blocked = explanation.blocked(&seen).map(|blocked| blocked.by);
        assert_eq!(blocked, Some(Blocked::Frozen));
    }
}

#[test]
fn budgets_say_nothing_about_a_pool_whose_nodes_are_starting() {
    let spec = json!({"disruption": {"budgets": [{"nodes": "100%"}]}});
    for (initialized, closed) in [(true, false), (false, false)] {
        let starting = Claim {
            conditions: Conditions {
                initialized,
                ..Conditions::default()
            },
            ..claim("a")
        };
        let node = node("a");
        let claims = Some(vec![state(&starting, Some(&node))]);
        let known = KnownPool::new(pool(&spec), claims, true, None, false);
        let seen = Seen {
            now: now(),
            state: &state(&starting, Some(&node)),
            details: &Details::default(),
            ready: None,
            pool: Some(&known),
            pods: None,
            budgets: None,
            is_called_broken: false,
        };
        let causes = explain(&seen).causes;
        let is_closed = causes.iter().any(|cause| cause.kind == CauseKind::BudgetClosed);
        assert_eq!(is_closed, closed, "{causes:?}");
    }
}
