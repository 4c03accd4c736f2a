//! Events that the present contradicts are not reported, and what is so is said in numbers of the present.

use super::*;
use crate::cluster::ledgers::StoredLedger;
use poolgate_core::nodelimit::ledger::Ledger;

/// A pool with this limit, three nodes, and an event.
fn told(limit: &str, reason: &str, message: &str) -> Facts {
    let mut facts = well();
    facts.pools = Ok(vec![pool(limit, &json!({}))]);
    facts.claims = Ok(["a", "b", "c"].map(|name| claim(name, None)).into());
    facts.nodes = Ok(["a", "b", "c"].map(|name| node(name, false, false)).into());
    facts.events = Ok(vec![read(json!({
        "involvedObject": {"uid": "u-pool"}, "reason": reason, "message": message, "reportingComponent": "poolgate",
    }))]);
    facts
}

/// Whether the event is reported.
fn is_reported(facts: &Facts) -> bool {
    let event = facts.events.as_ref().expect("events")[0].clone();
    let reason = event.reason.expect("a reason");
    let pools = Report::of(facts, None).pools.expect("pools");
    pools[0].notes.iter().any(|note| note.starts_with(&reason))
}

#[test]
fn an_event_about_a_limit_is_reported_while_its_numbers_are_those_of_the_present() {
    let exceeded = "2 nodes above the limit of 1; none is terminated (over-limit: report)";
    for (limit, is_so) in [("1", true), ("2", false), ("3", false), ("10", false)] {
        assert_eq!(
            is_reported(&told(limit, "NodeLimitExceeded", exceeded)),
            is_so,
            "{limit}"
        );
    }
    let reached = "Node limit reached: 3 of 3 nodes (mode Hard). Pods that need another node wait";
    for (limit, is_so) in [("3", true), ("10", false), ("2", false)] {
        assert_eq!(
            is_reported(&told(limit, "NodeLimitReached", reached)),
            is_so,
            "{limit}"
        );
    }
    let blocked = "No allowed disruptions for disruption reason Drifted due to node hard limit";
    for (limit, held, is_so) in [("3", true, true), ("3", false, false), ("4", true, false)] {
        let mut facts = told(limit, "DisruptionBlocked", blocked);
        facts.nodes.as_mut().expect("nodes")[0] = node("a", held, false);
        assert_eq!(is_reported(&facts), is_so, "{limit} {held}");
    }
    let mut unlimited = told("3", "NodeLimitReached", reached);
    let pool = json!({"metadata": {"name": "general", "uid": "u-pool"}, "spec": {}});
    unlimited.pools = Ok(vec![read(pool)]);
    assert!(!is_reported(&unlimited));
}

#[test]
fn an_event_about_a_replacement_is_reported_while_there_is_something_to_replace() {
    let blocked = "a drifted node is not replaced: for some reason";
    let mut facts = told("3", "ReplacementBlocked", blocked);
    assert!(!is_reported(&facts));
    facts.claims.as_mut().expect("claims")[0] = claim_with("a", &json!([condition("Drifted")]));
    assert!(is_reported(&facts));

    let started = "node node-a (NodeClaim a) has drifted, and the pool is full";
    let mut facts = told("3", "ReplacementStarted", started);
    assert!(!is_reported(&facts));
    let ledger = json!({"version": 1, "reservations": {}, "seen": 0, "replacement": {
        "uid": "u-a", "claim": "a", "node": "node-a", "reason": "Drifted", "newest": 1,
    }});
    facts.ledgers = Ok(vec![StoredLedger {
        pool: "general".into(),
        version: 7,
        uid: "ledger-1".into(),
        owner: "u-pool".into(),
        ledger: std::sync::Arc::new(Ledger::parse(&ledger.to_string()).expect("a ledger")),
        lost: None,
    }]);
    assert!(is_reported(&facts));

    for (name, is_so) in [("node-a", true), ("node-x", false)] {
        let dropped =
            format!("node {name} is not replaced: Karpenter has not tried to repair it for a minute");
        assert_eq!(
            is_reported(&told("3", "ReplacementDropped", &dropped)),
            is_so,
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_read_contradicts_no_event() {
    let exceeded = "2 nodes above the limit of 1; none is terminated (over-limit: report)";
    for reason in [
        "NodeLimitExceeded",
        "ReplacementBlocked",
        "ReplacementStarted",
        "ReplacementStopped",
        "ReplacementDropped",
    ] {
        let mut facts = told("3", reason, exceeded);
        facts.claims = Err("forbidden".into());
        facts.nodes = Err("forbidden".into());
        facts.ledgers = Err("forbidden".into());
        assert!(is_reported(&facts), "{reason}");
    }
}

#[test]
fn a_pool_above_its_limit_says_by_how_much_and_what_to_type() {
    let above = |annotations: Value| {
        let mut facts = told("1", "", "");
        facts.pools = Ok(vec![pool("1", &annotations)]);
        let report = Report::of(&facts, None);
        let row = table::render(&report, WIDE);
        let row = row.lines().find(|line| line.starts_with("general "));
        let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
        assert_eq!(row.join(" "), "general 3/1 Hard 2 0 0 now ?");
        report.pools.expect("pools")[0].notes[0].clone()
    };
    let raise = r#"To raise the limit: kubectl patch nodepool general --type=merge --patch='{"spec":{"limits":{"nodes":"3"}}}'"#;
    let reported = above(json!({}));
    let begin = format!(
        "2 nodes above the limit of 1, which stay (over-limit is report). {raise}. To terminate them"
    );
    assert!(reported.starts_with(&begin), "{reported}");
    assert!(
        reported.ends_with("kubectl annotate nodepool general --overwrite poolgate.dev/over-limit=Terminate"),
        "{reported}"
    );
    let ends = above(json!({"poolgate.dev/over-limit": "Terminate"}));
    let expected =
        format!("2 nodes above the limit of 1, to be terminated (over-limit is terminate). {raise}");
    assert_eq!(ends, expected);
}

#[test]
fn nodes_of_a_surge_are_not_above_the_limit() {
    let mut facts = told("2", "", "");
    let ledger = json!({"version": 1, "reservations": {}, "seen": 0, "surged": ["u-c"]});
    facts.ledgers = Ok(vec![StoredLedger {
        pool: "general".into(),
        version: 7,
        uid: "ledger-1".into(),
        owner: "u-pool".into(),
        ledger: std::sync::Arc::new(Ledger::parse(&ledger.to_string()).expect("a ledger")),
        lost: None,
    }]);
    let excess = |facts: &Facts| {
        as_json::from_report(&Report::of(facts, None))["nodePools"][0]["limit"]["excess"].clone()
    };
    assert_eq!(excess(&facts), 1, "no node is replaced");
    let conditions = json!([condition("Initialized"), condition("DisruptionReason")]);
    facts.claims.as_mut().expect("claims")[0] = claim_with("a", &conditions);
    assert_eq!(excess(&facts), 0);
}
