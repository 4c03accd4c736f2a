//! What cannot be read is not known: no number and no word stands in its place.

use std::sync::Arc;

use poolgate_core::nodelimit::ledger::Ledger;

use super::*;
use crate::cluster::ledgers::StoredLedger;

const FORBIDDEN: &str = "forbidden";

/// A pool with these annotations, two NodeClaims, a node that is held, one that is disrupted, and a reservation. The policy
/// says Soft and `terminate`.
fn used(annotations: &Value) -> Facts {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults:\n  nodeLimitMode: Soft\noverLimit: terminate\n";
    Facts {
        policy: Ok(Some(policy.into())),
        pools: Ok(vec![pool("5", annotations)]),
        claims: Ok(vec![claim("a", None), claim("b", None)]),
        nodes: Ok(vec![node("a", true, false), node("b", false, true)]),
        ledgers: Ok(vec![stored(
            r#"{"version":1,"reservations":{"u-a":1,"u-new":1},"seen":0}"#,
        )]),
        ..well()
    }
}

fn stored(text: &str) -> StoredLedger {
    StoredLedger {
        pool: "general".into(),
        version: 7,
        uid: "ledger-1".into(),
        owner: "u-pool".into(),
        ledger: Arc::new(Ledger::parse(text).expect("a ledger")),
        lost: None,
    }
}

fn hard() -> Value {
    json!({"poolgate.dev/node-limit-mode": "Hard", "poolgate.dev/over-limit": "Report"})
}

/// What is shown of the pool: in JSON, and as a row of the table.
fn shown(facts: &Facts) -> (Value, String) {
    let report = Report::of(facts, None);
    let text = table::render(&report, WIDE);
    let row = text.lines().find(|line| line.starts_with("general "));
    let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
    let json = as_json::from_report(&report);
    let pool = &json["nodePools"][0];
    let known = json!([
        pool["nodeClaims"],
        pool["heldNodes"],
        pool["limit"]["mode"],
        pool["limit"]["taken"],
        pool["limit"]["free"],
        pool["limit"]["overLimit"],
    ]);
    (known, row.join(" "))
}

#[test]
fn where_all_is_read_all_numbers_are_there() {
    let (json, row) = shown(&used(&hard()));
    assert_eq!(json, json!([2, 1, "Hard", 3, 2, "report"]));
    assert_eq!(row, "general 3/5 Hard 0 1 0 now 1 warning ?");
    let (json, _) = shown(&used(&json!({})));
    assert_eq!(json, json!([2, 1, "Hard", 3, 2, "terminate"]));
}

#[test]
fn pools_without_a_mode_are_named_where_the_policy_wants_another() {
    let notes = |facts: &Facts| {
        let report = Report::of(facts, None);
        assert_eq!(as_json::from_report(&report)["notes"], json!(report.notes));
        report.notes
    };
    let mut facts = used(&json!({}));
    let said = notes(&facts);
    assert!(
        said[0].contains("annotate nodepool general poolgate.dev/node-limit-mode=Soft"),
        "{said:?}"
    );
    assert!(table::render(&Report::of(&facts, None), WIDE).contains(&said[0]));
    assert_eq!(notes(&used(&hard())), [""; 0]);
    facts.policy = Ok(None);
    assert_eq!(notes(&facts), [""; 0]);
}

#[test]
fn without_node_claims_neither_they_nor_free_places_are_known() {
    let mut facts = used(&hard());
    facts.claims = Err(FORBIDDEN.into());
    facts.ledgers = Ok(vec![stored(
        r#"{"version":1,"reservations":{"u-a":1},"seen":0,"termination":{"began":1,"victims":["u-b"]}}"#,
    )]);
    let (json, row) = shown(&facts);
    assert_eq!(json, json!([null, 1, "Hard", null, null, "report"]));
    assert_eq!(row, "general -/5 Hard 1 1 warning ?");
    let text = table::render(&Report::of(&facts, None), WIDE);
    assert!(!text.contains("admitted but not created"), "{text}");
    assert!(!text.contains("being terminated"), "{text}");
}

#[test]
fn without_nodes_those_held_are_not_known_nor_in_mode_soft_free_places() {
    let unread = |annotations: &Value| {
        let mut facts = used(annotations);
        facts.nodes = Err(FORBIDDEN.into());
        shown(&facts)
    };
    let (json, row) = unread(&hard());
    assert_eq!(json, json!([2, null, "Hard", 3, 2, "report"]));
    assert_eq!(row, "general 3/5 Hard 0 0 now 1 warning ?");
    let (json, row) = unread(&json!({"poolgate.dev/node-limit-mode": "Soft"}));
    assert_eq!(json, json!([2, null, "Soft", null, null, "terminate"]));
    assert_eq!(row, "general -/5 Soft 0 now ?");
}

#[test]
fn without_its_ledger_the_free_places_of_a_pool_are_not_known() {
    let mut facts = used(&hard());
    let closed = r#"{"version":1,"reservations":{},"seen":0,"closed":true}"#;
    for ledgers in [Err(FORBIDDEN.into()), Ok(vec![stored(closed)])] {
        facts.ledgers = ledgers;
        let (json, row) = shown(&facts);
        assert_eq!(json, json!([2, 1, "Hard", null, null, "report"]));
        assert_eq!(row, "general -/5 Hard 0 1 0 now 1 warning ?");
    }
}

#[test]
fn without_a_policy_only_what_the_pool_says_itself_is_known() {
    let unknown: [(Read<Option<String>>, &str); 2] = [
        (
            Err(FORBIDDEN.into()),
            "Policy      not read; a server uses built-in\n",
        ),
        (
            Ok(Some("kind: Policy".into())),
            ", unusable; a server uses built-in\n",
        ),
    ];
    for (policy, line) in unknown {
        let facts = |annotations: &Value| Facts {
            policy: policy.clone(),
            ..used(annotations)
        };
        let (json, row) = shown(&facts(&hard()));
        assert_eq!(json, json!([2, 1, "Hard", 3, 2, "report"]));
        assert_eq!(row, "general 3/5 Hard 0 1 0 now 1 warning ?");
        let (json, row) = shown(&facts(&json!({})));
        assert_eq!(json, json!([2, 1, "Hard", 3, 2, null]));
        assert_eq!(row, "general 3/5 Hard 0 1 0 now ?");
        let report = Report::of(&facts(&hard()), None);
        let text = table::render(&report, WIDE);
        assert!(text.contains(line), "{text}");
        assert_eq!(
            as_json::from_report(&report)["policy"]["enforcement"],
            json!(null)
        );
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_not_compared_with_the_one_in_force() {
    let facts = Facts {
        policy: Err(FORBIDDEN.into()),
        ..well()
    };
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.unread, ["policy: forbidden"]);
    let expected = json!({"stored": null, "enforcement": null, "inForce": ["built-in"]});
    assert_eq!(as_json::from_report(&report)["policy"], expected);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_shown() {
    let facts = Facts {
        ledgers: Err(FORBIDDEN.into()),
        ..well()
    };
    let report = Report::of(&facts, None);
    assert_eq!(report.unread, ["ledgers: forbidden"]);
    let text = table::render(&report, WIDE);
    assert!(
        text.contains("general") && text.contains("Not read:\n  ledgers: forbidden\n"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_read_is_not_taken_for_missing() {
    let facts = Facts {
        webhooks: Err(FORBIDDEN.into()),
        policy: Err(FORBIDDEN.into()),
        reconciler: Err(FORBIDDEN.into()),
        pools: Err(FORBIDDEN.into()),
        ..well()
    };
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    let text = table::render(&report, WIDE);
    for said in [
        "Webhooks were not read.\n",
        "Policy      not read; no server has reported its policy\n",
        "Reconciler  not read\n",
        "NodePools were not read.\n",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let json = as_json::from_report(&report);
    for part in ["webhooks", "reconciler", "nodePools"] {
        assert_eq!(json[part], json!(null), "{part}");
    }
}

#[test]
fn where_the_lease_cannot_be_read_nobody_is_said_to_be_missing() {
    let mut facts = used(&hard());
    facts.policy = Ok(None);
    facts.reconciler = Err(FORBIDDEN.into());
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.unread, ["reconcilers' Lease: forbidden"]);
}
