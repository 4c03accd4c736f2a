//! Pools that are frozen, and marks that are left of a freeze.

use super::*;

fn frozen(text: &str) -> Facts {
    let mut facts = well();
    facts.pools = Ok(vec![pool("5", &json!({"poolgate.dev/freeze": text}))]);
    facts.claims = Ok(vec![claim("a", None)]);
    facts.nodes = Ok(vec![marked_node("a")]);
    facts
}

fn marked_node(name: &str) -> KnownNode {
    let labels = json!({"karpenter.sh/nodepool": "general", "poolgate.dev/held": "true"});
    let annotations = json!({"poolgate.dev/held-for": "freeze", "karpenter.sh/do-not-disrupt": "true"});
    let metadata = json!({"name": format!("node-{name}"), "labels": labels, "annotations": annotations});
    KnownNode::of(read(json!({ "metadata": metadata }))).expect("a node of a pool")
}

#[test]
fn a_frozen_pool_is_named_before_all_else_and_is_no_problem() {
    let report = Report::of(
        &frozen("until=2026-11-24T00:00:00Z by=alice reason=why not"),
        None,
    );
    assert_eq!(report.problems, [""; 0]);
    let text = table::render(&report, WIDE);
    let said =
        "\nFrozen:\n  NodePool general is frozen until 2026-11-24T00:00:00Z, it says by alice: why not\n";
    assert!(text.contains(said), "{text}");
    assert_eq!(text.lines().nth(2), Some("Frozen:"), "{text}");
    let json = as_json::from_report(&report);
    let expected =
        json!({"until": "2026-11-24T00:00:00Z", "by": "alice", "reason": "why not", "mistake": null});
    assert_eq!(json["nodePools"][0]["frozen"], expected);
}

#[test]
fn a_freeze_that_nobody_carries_out_or_that_cannot_be_read_or_has_left_marks_is_a_problem() {
    let problems = |facts: &Facts| Report::of(facts, None).problems;
    let expect = |facts: &Facts, words: &str| {
        let problems = problems(facts);
        assert!(
            problems.iter().any(|problem| problem.contains(words)),
            "{words}: {problems:?}"
        );
    };
    expect(
        &frozen("tomorrow"),
        "is frozen until its annotation poolgate.dev/freeze is corrected",
    );
    expect(
        &frozen("until=2026-11-23T11:59:59Z"),
        "a freeze is over, and 1 node is still held for it. The leading reconciler",
    );
    let mut facts = frozen("forever");
    facts.reconciler = Ok(None);
    expect(&facts, "NodePool general is frozen, but no reconciler is leading");
    facts.pools = Ok(vec![pool("5", &json!({}))]);
    expect(&facts, "a freeze is over, and 1 node is still held for it");
    facts.nodes = Ok(Vec::new());
    assert_eq!(problems(&facts), [""; 0]);
}
