use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::serving::certs::Authority;
use crate::status::facts::{Kept, KnownClaim, KnownNode};
use crate::status::{json as as_json, table};

mod changed;
mod deployments;
mod events;
mod freeze;
mod glance;
mod hostile;
mod probes;
mod replacements;
mod schedule;
mod unread;
mod waiting;

/// Columns for every line of a report.
const WIDE: usize = 1000;

const HOUR: std::time::Duration = std::time::Duration::from_hours(1);

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

fn self_report(path: &str, policy: &str) -> SelfReport {
    // The gate has no policy.
    let policy = if path.starts_with("/gate") {
        String::new()
    } else {
        format!(" policy={policy}")
    };
    let text = format!(
        "299 - \"poolgate-status path={path} decision=admitted version=0.1.0{policy} certificate-ends=2000000000\""
    );
    SelfReport::parse(&text).expect("words")
}

fn webhook(path: &str, failure_policy: &str, bundle: &str) -> Webhook {
    let (resource, name) = if path.starts_with("/gate") {
        ("nodeclaims", "gate.nodeclaims.poolgate.dev".to_owned())
    } else {
        (
            "nodepools",
            format!("{}.nodepools.poolgate.dev", path.trim_start_matches('/')),
        )
    };
    read(json!({
        "name": name,
        "clientConfig": {"caBundle": bundle, "service": {"name": "poolgate", "namespace": "gates", "path": path}},
        "rules": [{"apiGroups": ["karpenter.sh"], "apiVersions": ["v1"], "resources": [resource],
            "operations": if path == DELETIONS { json!(["DELETE"]) } else { json!(["CREATE", "UPDATE"]) }}],
        "failurePolicy": failure_policy,
    }))
}

fn bundle(life: std::time::Duration) -> String {
    let authority = Authority::create("a test's", now().into(), life).expect("an authority");
    STANDARD.encode(authority.pem())
}

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().expect("a time")
}

/// A cluster without problems: every webhook answers.
fn well() -> Facts {
    let bundle = bundle(24 * 90 * HOUR);
    let answered = |paths: &[&str]| {
        Ok(Asked {
            reports: paths.iter().map(|path| self_report(path, "built-in")).collect(),
            error: None,
        })
    };
    Facts {
        now: now(),
        namespace: "gates".into(),
        webhooks: Ok(vec![
            webhook("/mutate", "Ignore", &bundle),
            webhook("/validate", "Fail", &bundle),
            webhook("/gate", "Ignore", &bundle),
        ]),
        deployments: Ok(vec![deployment("poolgate", 2, 2)]),
        asked: Some(answered(&["/mutate", "/validate"])),
        asked_of_claims: BTreeMap::from([("poolgate-status".into(), answered(&["/gate"]))]),
        policy: Ok(None),
        reconciler: Ok(Some(Reconciler {
            holder: "one".into(),
            renewed: Some(SignedDuration::from_secs(2)),
            leads: true,
            is_gone: false,
        })),
        pools: Ok(vec![pool("5", &json!({}))]),
        claims: Ok(Vec::new()),
        nodes: Ok(Vec::new()),
        waiting: Ok(Vec::new()),
        ledgers: Ok(Vec::new()),
        events: Ok(Vec::new()),
        definition: Ok(None),
    }
}

fn deployment(name: &str, ready: u32, wanted: u32) -> crate::cluster::objects::DeploymentObject {
    read(json!({
        "metadata": {"name": name, "namespace": "gates"},
        "spec": {"replicas": wanted},
        "status": {"readyReplicas": ready},
    }))
}

fn pool(limit: &str, annotations: &Value) -> crate::cluster::objects::PoolObject {
    read(json!({
        "metadata": {"name": "general", "uid": "u-pool", "annotations": annotations},
        "spec": {
            "limits": {"nodes": limit},
            "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
            }},
        },
    }))
}

fn claim_of(object: &Value) -> KnownClaim {
    KnownClaim::of(object).expect("a claim of a pool")
}

fn claim(name: &str, deleted: Option<&str>) -> KnownClaim {
    claim_of(&json!({
        "metadata": {"name": name, "uid": format!("u-{name}"), "deletionTimestamp": deleted,
            "labels": {"karpenter.sh/nodepool": "general"}},
        "status": {"nodeName": format!("node-{name}")},
    }))
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "", "lastTransitionTime": "2026-11-23T11:00:00Z"})
}

fn claim_with(name: &str, conditions: &Value) -> KnownClaim {
    claim_of(&json!({
        "metadata": {"name": name, "uid": format!("u-{name}"), "labels": {"karpenter.sh/nodepool": "general"}},
        "status": {"nodeName": format!("node-{name}"), "conditions": conditions},
    }))
}

fn node(name: &str, held: bool, disrupted: bool) -> KnownNode {
    let mut labels = json!({"karpenter.sh/nodepool": "general"});
    if held {
        labels["poolgate.dev/held"] = json!("true");
    }
    let taints = if disrupted {
        json!([{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])
    } else {
        json!([])
    };
    let object =
        json!({"metadata": {"name": format!("node-{name}"), "labels": labels}, "spec": {"taints": taints}});
    KnownNode::of(read(object)).expect("a node of a pool")
}

#[test]
fn where_all_is_well_nothing_is_wrong() {
    let report = Report::of(&well(), None);
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.unread, [""; 0]);
    let webhooks = report.webhooks.as_ref().expect("webhooks");
    assert!(webhooks.iter().all(|webhook| webhook.answers == Answers::Yes));
    let text = table::render(&report, WIDE);
    assert!(
        text.contains(
            "validate.nodepools.poolgate.dev  /validate  Fail            2027-02-21  yes      2033-05-18"
        ),
        "{text}"
    );
    assert!(
        text.contains("Reconciler  one leads, renewed 2 s ago\n"),
        "{text}"
    );
    assert!(!text.contains("Problems"), "{text}");
}

#[test]
fn a_webhook_that_reports_nothing_does_not_answer_and_says_why_where_that_is_known() {
    let expect = |asked: Option<Read<Asked>>, expected: [&str; 2]| {
        let facts = Facts { asked, ..well() };
        let report = Report::of(&facts, None);
        for (webhook, expected) in report.webhooks.iter().flatten().zip(expected) {
            let found = match &webhook.answers {
                Answers::Yes => "yes".to_owned(),
                Answers::No(why) => format!("no: {why}"),
                Answers::Unknown(why) => format!("unknown: {why}"),
                Answers::Unasked(why) => format!("unasked: {why}"),
            };
            assert_eq!(found, expected, "{}", webhook.path);
        }
        let wrong = expected
            .iter()
            .filter(|expected| expected.starts_with("no:"))
            .count();
        assert_eq!(report.problems.len(), wrong, "{:?}", report.problems);
    };
    let silent = "no: the API server does not call it";
    expect(None, ["unasked: not called: --probe calls it"; 2]);
    expect(Some(Ok(Asked::default())), [silent, silent]);
    let one = Asked {
        reports: vec![self_report("/mutate", "built-in")],
        error: Some(
            "Internal error occurred: failed calling webhook \"validate.nodepools.poolgate.dev\": denied"
                .into(),
        ),
    };
    expect(Some(Ok(one)), ["yes", "no: denied"]);
    let forbidden = "nodepools.karpenter.sh is forbidden";
    expect(
        Some(Err(forbidden.into())),
        ["unknown: nodepools.karpenter.sh is forbidden"; 2],
    );
}

#[test]
fn the_webhook_of_deletions_is_not_asked_and_not_taken_for_a_dead_one() {
    for asked in [None, well().asked] {
        let mut facts = Facts { asked, ..well() };
        let deletions = webhook(DELETIONS, "Ignore", &bundle(24 * 90 * HOUR));
        facts.webhooks.as_mut().expect("webhooks").push(deletions);
        let report = Report::of(&facts, None);
        assert_eq!(report.problems, [""; 0]);
        assert_eq!(
            report.webhooks.expect("webhooks")[3].answers,
            Answers::Unasked("not called: only a deletion calls it")
        );
    }
}

#[test]
fn a_strict_gate_that_names_pools_which_are_not_there_is_not_taken_for_a_dead_one() {
    let mut facts = well();
    let mut strict = webhook("/gate/strict", "Fail", &bundle(24 * 90 * HOUR));
    strict.name = "strict.nodeclaims.poolgate.dev".into();
    facts.webhooks.as_mut().expect("webhooks").push(strict);
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(
        report.webhooks.expect("webhooks")[3].answers,
        Answers::Unasked("not called: no pool uses it")
    );
}

#[test]
fn what_is_registered_wrongly_and_what_ends_soon_is_wrong() {
    let mut facts = well();
    let webhooks = facts.webhooks.as_mut().expect("webhooks");
    webhooks[1] = webhook("/validate", "Fail", "");
    webhooks[2] = webhook("/gate", "Ignore", &bundle(24 * HOUR));
    let problems = Report::of(&facts, None).problems;
    assert!(
        problems[0].starts_with("validate.nodepools.poolgate.dev: caBundle is empty"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("gate.nodeclaims.poolgate.dev: the CA in caBundle expires at 2026-11-24"),
        "{problems:?}"
    );
    assert_eq!(problems.len(), 2);
}

#[test]
fn a_policy_that_is_stored_and_not_in_force_is_wrong() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: warn\n";
    let mut facts = Facts {
        policy: Ok(Some(policy.into())),
        ..well()
    };
    let report = Report::of(&facts, None);
    let stored = report.policy.stored.as_ref().expect("a policy");
    assert_eq!(stored.enforcement, Some("warn"));
    assert!(
        report.problems[0].starts_with("a server uses policy "),
        "{:?}",
        report.problems
    );
    let in_force = sha256(policy.as_bytes());
    let asked = facts.asked.as_mut().expect("an answer");
    for report in &mut asked.as_mut().expect("an answer").reports {
        *report = super::tests::self_report(report.get("path").expect("a path"), &in_force);
    }
    assert_eq!(Report::of(&facts, None).problems, [""; 0]);
    facts.policy = Ok(Some("kind: Policy".into()));
    assert!(Report::of(&facts, None).problems[0].starts_with("the stored policy is unusable"));
}

#[test]
fn a_pool_that_has_used_up_another_limit_says_so_and_is_no_problem() {
    let full = json!({
        "metadata": {"name": "general", "uid": "u-pool"},
        "spec": {"limits": {"cpu": "48"}},
        "status": {"resources": {"cpu": "48", "nodes": "3"}},
    });
    let report = Report::of(
        &Facts {
            pools: Ok(vec![read(full)]),
            ..well()
        },
        None,
    );
    assert_eq!(report.problems, [""; 0]);
    let text = table::render(&report, WIDE);
    assert!(
        text.contains("general: 48 of 48 cpu in use: no node is added"),
        "{text}"
    );
}

#[test]
fn a_pool_is_counted_in_its_mode_and_says_what_waits() {
    for (mode, taken) in [("Hard", 3), ("Soft", 1)] {
        let mut facts = well();
        let annotations =
            json!({"poolgate.dev/node-limit-mode": mode, "poolgate.dev/over-limit": "Terminate"});
        facts.pools = Ok(vec![pool("3", &annotations)]);
        facts.claims = Ok(vec![
            claim("a", None),
            claim("b", Some("2026-11-23T11:00:00Z")),
            claim("c", None),
        ]);
        facts.nodes = Ok(vec![
            node("a", true, false),
            node("b", false, false),
            node("c", false, true),
        ]);
        let event = |reason: &str, at: &str, by: &str| {
            read(
                json!({"involvedObject": {"uid": "u-pool"}, "reason": reason, "lastTimestamp": at,
                "message": format!("of 3 nodes (mode {mode})"), "reportingComponent": by}),
            )
        };
        facts.events = Ok(vec![
            event("NodeLimitReached", "2026-11-23T10:00:00Z", "poolgate"),
            event("NodeLimitReached", "2026-11-23T11:00:00Z", "poolgate"),
            event("Unhealthy", "2026-11-23T11:00:00Z", "karpenter"),
        ]);
        facts.asked_of_claims.insert(
            "general".into(),
            Ok(Asked {
                reports: vec![self_report("/gate", "built-in")],
                error: None,
            }),
        );
        let report = Report::of(&facts, None);
        let json = as_json::from_report(&report);
        assert_eq!(
            json["nodePools"][0]["limit"],
            json!({
                "nodes": 3, "mode": mode, "modeIsWritten": true, "taken": taken, "free": 3 - taken, "excess": 0,
                "overLimit": "terminate", "scheduled": null,
            })
        );
        let pool = &report.pools.expect("pools")[0];
        assert_eq!(
            (pool.node_claims, pool.held_nodes, pool.next.as_deref()),
            (Some(3), Some(1), Some("admitted"))
        );
        let is_hard = mode == "Hard";
        assert_eq!(pool.notes.len(), if is_hard { 2 } else { 1 }, "{:?}", pool.notes);
        let drain = "1 terminating, oldest node-b since 2026-11-23T11:00:00Z";
        assert_eq!(
            pool.notes[0].strip_prefix(drain).map(|rest| !rest.is_empty()),
            Some(is_hard)
        );
        if is_hard {
            assert_eq!(
                pool.notes[1],
                "NodeLimitReached 60 min ago: of 3 nodes (mode Hard)"
            );
        }
    }
}

#[test]
fn a_node_that_reboots_stays_and_counts_in_a_soft_pool() {
    let rebooting = claim_with(
        "a",
        &json!([condition("Rebooting"), condition("DisruptionReason")]),
    );
    let mut facts = well();
    facts.pools = Ok(vec![pool("3", &json!({"poolgate.dev/node-limit-mode": "Soft"}))]);
    facts.nodes = Ok(vec![node("a", false, true)]);
    for (claim, taken) in [(rebooting, 1), (claim("a", None), 0)] {
        facts.claims = Ok(vec![claim]);
        let report = Report::of(&facts, None).pools.expect("pools").remove(0);
        assert_eq!(report.limit.expect("a limit").taken, Some(taken));
    }
}

#[test]
fn nodes_that_nobody_would_let_go_are_wrong() {
    let mut facts = well();
    facts.nodes = Ok(vec![node("a", true, false)]);
    assert_eq!(Report::of(&facts, None).problems, [""; 0]);
    let dead = Reconciler {
        holder: "one".into(),
        renewed: Some(SignedDuration::from_mins(1)),
        leads: false,
        is_gone: false,
    };
    for reconciler in [None, Some(dead)] {
        facts.reconciler = Ok(reconciler);
        let problems = Report::of(&facts, None).problems;
        assert_eq!(
            problems,
            ["NodePool general: nodes are held (1), but no reconciler is leading"]
        );
    }
}
