//! Each fact touches one pool and not a similar one, and is reported only for a step over its release.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// Specs that each fact touches, and similar ones that it does not.
fn examples() -> Vec<(&'static str, Value, Value)> {
    let disruption = |disruption: Value| json!({"disruption": disruption});
    let budgets = |reasons: Value| json!({"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "0", "reasons": reasons}]}});
    let requires = |requirements: Value| json!({"template": {"spec": {"requirements": requirements}}});
    let bound = |operator: &str| json!({"key": "example.com/cpu", "operator": operator, "values": ["4"]});
    // Its provider repairs nodes.
    let repaired = |mut spec: Value, taints: Value| {
        spec["template"] = json!({"spec": {"nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}, "startupTaints": taints}});
        spec
    };
    let class = |value: &str| {
        requires(
            json!([{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand", value]}]),
        )
    };
    let expires = |after: &str| json!({"template": {"spec": {"expireAfter": after}}});
    let with_min_values = json!([{"key": "zone", "operator": "Exists", "minValues": 2}]);
    let taint = json!([{"key": "example.com/agent", "effect": "NoSchedule"}]);
    vec![
        ("expiration-ignores-budgets", expires("720h"), expires("Never")),
        (
            "empty-before-drifted",
            budgets(json!(["Drifted"])),
            budgets(json!(["Drifted", "Empty"])),
        ),
        (
            "drifted-empty-nodes-stay",
            disruption(json!({"consolidateAfter": "Never"})),
            disruption(json!({"consolidateAfter": "1h"})),
        ),
        ("reserved-capacity-on", class("reserved"), class("spot")),
        (
            "min-values-policy",
            requires(with_min_values.clone()),
            requires(json!([bound("Gt")])),
        ),
        (
            "both-bounds",
            requires(json!([bound("Gt"), bound("Lt")])),
            requires(json!([bound("Gt"), bound("Gt")])),
        ),
        (
            "bounds-with-equal",
            requires(json!([bound("Lt")])),
            requires(json!([bound("Gte")])),
        ),
        (
            "node-limit-early",
            json!({"limits": {"nodes": 5}}),
            json!({"limits": {"nodes": 5}, "replicas": 3}),
        ),
        (
            "receiving-nodes-protected",
            disruption(json!({"consolidateAfter": "30s"})),
            disruption(json!({"consolidateAfter": "0s"})),
        ),
        (
            "empty-is-not-underutilized",
            budgets(json!(["Empty"])),
            budgets(json!(["Empty", "Underutilized"])),
        ),
        (
            "balanced",
            disruption(json!({"consolidateAfter": "0s"})),
            disruption(json!({"consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty"})),
        ),
        (
            "min-values-of-pods",
            requires(with_min_values),
            requires(json!([bound("Gt")])),
        ),
        (
            "repair-within-budgets",
            repaired(disruption(json!({"budgets": [{"nodes": "1"}]})), json!([])),
            disruption(json!({"budgets": [{"nodes": "1"}]})),
        ),
        (
            "reason-unhealthy",
            repaired(budgets(json!(["Drifted"])), json!([])),
            repaired(disruption(json!({"budgets": [{"nodes": "1"}]})), json!([])),
        ),
        (
            "uninitialized-nodes-repaired",
            repaired(json!({}), taint),
            repaired(json!({}), json!([])),
        ),
        ("terminate-first-drift", json!({"replicas": 3}), json!({})),
    ]
}

fn told(spec: &Value, releases: (KarpenterVersion, KarpenterVersion)) -> BTreeSet<&'static str> {
    let object = json!({"metadata": {"name": "general"}, "spec": spec});
    let object = Json::from(&object);
    let view = NodePool::view(ApiVersion::V1, &object);
    let policy = Policy::default();
    between(&view, &policy, releases)
        .map(|(change, _)| change.id)
        .collect()
}

/// The releases around the beginning of a fact.
fn step(change: &Change) -> (KarpenterVersion, KarpenterVersion) {
    let known = [
        (0, 37, 1),
        (1, 4, 0),
        (1, 5, 0),
        (1, 8, 2),
        (1, 10, 0),
        (1, 13, 0),
        (1, 14, 1),
        (1, 14, 3),
    ];
    let before = known
        .into_iter()
        .map(|(major, minor, patch)| release(major, minor, patch));
    let before = before.filter(|before| *before < change.since).max();
    (before.unwrap(), change.since)
}

#[test]
fn a_fact_touches_the_pools_that_it_is_about_and_no_similar_one() {
    let examples = examples();
    for change in &CHANGES {
        let (_, touched, similar) = examples
            .iter()
            .find(|(id, ..)| *id == change.id)
            .expect(change.id);
        let releases = step(change);
        assert!(told(touched, releases).contains(change.id), "{}", change.id);
        assert!(!told(similar, releases).contains(change.id), "{}", change.id);
    }
    assert_eq!(examples.len(), CHANGES.len());
}

#[test]
fn a_fact_is_told_if_it_begins_to_hold_within_the_step_and_still_does_after_it() {
    let never = json!({"disruption": {"consolidateAfter": "Never"}});
    let is_told = |from: (u16, u16), to: (u16, u16)| {
        let at = |(major, minor): (u16, u16)| release(major, minor, 0);
        told(&never, (at(from), at(to))).contains("drifted-empty-nodes-stay")
    };
    assert!(is_told((1, 4), (1, 5)) && is_told((1, 1), (1, 6)));
    assert!(!is_told((1, 4), (1, 7)) && !is_told((1, 5), (1, 6)) && !is_told((1, 4), (1, 15)));
}

#[test]
fn facts_have_names_of_their_own_and_are_in_the_order_of_their_releases() {
    let ids: BTreeSet<&str> = CHANGES.iter().map(|change| change.id).collect();
    assert_eq!(ids.len(), CHANGES.len());
    assert!(CHANGES.is_sorted_by_key(|change| change.since));
    for change in &CHANGES {
        assert!(!change.text.ends_with('.'), "{}", change.id);
        assert!(
            change.since <= KarpenterVersion::NEWEST && change.until.is_none_or(|until| until > change.since)
        );
    }
}

#[test]
fn nothing_is_told_of_an_empty_pool_or_of_one_release() {
    assert_eq!(
        told(&json!({}), (release(1, 4, 0), release(1, 8, 0))),
        BTreeSet::new()
    );
    for (_, touched, _) in examples() {
        assert_eq!(
            told(&touched, (release(1, 14, 1), release(1, 14, 1))),
            BTreeSet::new()
        );
    }
}
