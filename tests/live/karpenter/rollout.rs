//! `poolgate rollout --wait` beside real Karpenter: it ends when the last old node is gone, and early where that will not be.

use std::thread;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::look::{claim_names, condition};
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::process::Outcome;
use crate::support::program;
use crate::support::schemas::assert_described;

/// What the command says about a pool or a class, with more arguments.
fn rollout(guarded: &Guarded, subject: &str, more: &[&str]) -> Outcome {
    let kubeconfig = guarded.cluster.plane().kubeconfig().to_str().expect("a path");
    program::run(
        &[
            &["rollout", "--kubeconfig", kubeconfig, "-o", "json", subject],
            more,
        ]
        .concat(),
        "",
    )
}

/// What it says in the end, and its exit code.
fn waited(guarded: &Guarded, subject: &str) -> (Option<i32>, Value) {
    let said = rollout(guarded, subject, &["--wait", "--timeout=2h"]);
    println!("{subject}: {said:?}");
    let last = said.stdout.lines().last().expect("a line");
    let last = serde_json::from_str(last).expect("JSON");
    assert_described(&last);
    (said.status.code(), last)
}

/// A schedule that began an hour ago and lasts for five: what it closes opens later than anybody here waits.
fn closed_now() -> Value {
    let begun = Timestamp::now() - SignedDuration::from_hours(1);
    let schedule = begun
        .to_zoned(TimeZone::UTC)
        .strftime("%-M %-H * * *")
        .to_string();
    json!({"nodes": "0", "schedule": schedule, "duration": "5h", "reasons": ["Drifted"]})
}

/// Fails unless it ended early, because of this cause.
#[track_caller]
fn expect_stuck(guarded: &Guarded, pool: &str, cause: &str) {
    let (code, last) = waited(guarded, &format!("nodepool/{pool}"));
    assert_eq!(code, Some(1), "{last:#}\n{}", guarded.story());
    let said = &last["nodePools"][0];
    assert_eq!(said["state"], "stuck", "{last:#}");
    assert!(said["kept"].to_string().contains(cause), "{last:#}");
    assert_eq!(said["opens"].is_string(), pool == "closed", "{last:#}");
}

#[test]
fn rollout_ends_when_the_last_old_node_is_gone_and_early_where_it_never_will_be() {
    let guarded = Guarded::start(&[]);
    let pools = [
        ("general", 3, json!({"disruption": {"budgets": [{"nodes": "1"}]}})),
        ("pinned", 1, json!({})),
        (
            "closed",
            1,
            json!({"disruption": {"budgets": [{"nodes": "100%"}, closed_now()]}}),
        ),
        (
            "full",
            2,
            json!({"limits": {"nodes": "2"}, "disruption": {"nodeLimitMode": "Hard"}}),
        ),
    ];
    for (name, nodes, spec) in &pools {
        guarded.cluster.create_pool(&node_pool(name, spec));
        let mut deployment = one_pod_a_node(name, name, *nodes);
        if *name == "pinned" {
            let annotations = json!({"karpenter.sh/do-not-disrupt": "true"});
            deployment["spec"]["template"]["metadata"]["annotations"] = annotations;
        }
        guarded.cluster.deploy(&deployment);
    }
    for (name, nodes, _) in &pools {
        guarded.wait_until_running(name, usize::try_from(*nodes).expect("a number"));
    }
    let old = claim_names(&guarded.cluster, "general");
    // A pod may run before Karpenter has seen that its node is initialized.
    guarded.wait_for("the nodes of general to have started", |_| {
        rollout(&guarded, "nodepool/general", &[])
            .status
            .success()
            .then_some(())
    });

    for (name, ..) in &pools {
        guarded.cluster.drift(name, "second");
    }
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| expect_stuck(&guarded, "pinned", "podDoNotDisrupt"));
        scope.spawn(|| expect_stuck(&guarded, "closed", "budgetClosed"));
        scope.spawn(|| expect_stuck(&guarded, "full", "heldByPoolgate"));
        let (code, last) = waited(&guarded, "nodepool/general");
        assert_eq!(code, Some(0), "{last:#}\n{}", guarded.story());
        assert_eq!(last["state"], "done", "{last:#}");
    });
    println!("three nodes rolled out after {:?}", begun.elapsed());
    let now = guarded.cluster.claims("general");
    assert!(
        claim_names(&guarded.cluster, "general").is_disjoint(&old),
        "{}",
        guarded.story()
    );
    assert!(now.iter().all(|claim| condition(claim, "Initialized") == "True"));
    let whole = rollout(&guarded, "kwoknodeclass/default", &[]);
    assert_eq!(whole.status.code(), Some(1), "{whole:?}");

    guarded.cluster.freeze_karpenter();
    guarded.cluster.drift("general", "third");
    let (code, last) = waited(&guarded, "nodepool/general");
    assert_eq!(code, Some(1), "{last:#}");
    assert!(last["why"].to_string().contains("down or behind"), "{last:#}");
    let missing = rollout(&guarded, "nodepool/missing", &[]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}
