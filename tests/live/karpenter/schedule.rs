//! A limit that follows the clock, beside real Karpenter: pods wait for its rise, and its fall holds.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::objects::{node_pool, one_pod_a_node};
use crate::support::recording::{counts, is_going, peak};

/// Longer than the settle time here, and enough for Karpenter to try for the pods that wait.
const STEADY: Duration = Duration::from_secs(15);

/// A minute that has begun, with some seconds left.
fn this_minute(guarded: &Guarded) -> Timestamp {
    guarded.wait_for("a minute to begin", |_| {
        let now = Timestamp::now();
        let second = now.as_second().rem_euclid(60);
        (second < 20).then(|| Timestamp::from_second(now.as_second() - second).expect("a time"))
    })
}

/// The minute of the day so many minutes later.
fn clock(minute: Timestamp, later: i64) -> String {
    let at = minute + SignedDuration::from_mins(later);
    at.to_zoned(TimeZone::UTC).strftime("%H:%M").to_string()
}

/// A pool of ten nodes that may have four in three minutes of the near future, and ten again after that.
fn pool(name: &str, minute: Timestamp, over_limit: &str) -> Value {
    let (falls, rises) = (clock(minute, 4), clock(minute, 7));
    let schedule = format!("{falls}-{rises} = 4; else 10");
    // Empty nodes stay, so that only the limit decides.
    let mut pool = node_pool(name, &json!({"disruption": {"consolidateAfter": "Never"}}));
    pool["metadata"]["annotations"] =
        json!({"poolgate.dev/node-limit-schedule": schedule, "poolgate.dev/over-limit": over_limit});
    pool
}

fn limit(guarded: &Guarded, pool: &str) -> Option<String> {
    let stored = guarded
        .cluster
        .plane()
        .kubectl_json(&["get", "nodepool", pool], "");
    let limit = &stored["metadata"]["annotations"]["poolgate.dev/node-limit"];
    limit.as_str().map(str::to_owned)
}

#[test]
#[ignore = "long: .ci/nightly"]
fn scheduled_limit_goes_down_and_up_again_under_pods_that_wait() {
    let guarded = Guarded::start(&["--settle=5s", "--max-terminations-per-minute=100"]);
    let minute = this_minute(&guarded);
    let names = ["report", "terminate"];
    let claims = names.map(|name| guarded.cluster.record_claims(name));
    for (name, over_limit) in names.into_iter().zip(["Report", "Terminate"]) {
        // Argo CD applies the same manifest again and again.
        apply(&guarded, name, minute, over_limit);
        guarded.cluster.deploy(&one_pod_a_node(name, name, 15));
    }
    for name in names {
        guarded.wait_until_running(name, 10);
        assert_eq!(limit(&guarded, name).as_deref(), Some("10"));
        assert_eq!(
            guarded.cluster.pods_in_phase(name, "Pending"),
            5,
            "{}",
            guarded.story()
        );
    }

    guarded.wait_for("the limits to fall", |_| {
        names
            .iter()
            .all(|name| limit(&guarded, name).as_deref() == Some("4"))
            .then_some(())
    });
    guarded.wait_for("what is above the limit to go where it is wanted", |cluster| {
        let living = cluster
            .claims("terminate")
            .into_iter()
            .filter(|claim| !is_going(claim));
        (living.count() == 4).then_some(())
    });
    assert_eq!(guarded.cluster.claims("report").len(), 10, "{}", guarded.story());
    for (name, over_limit) in names.into_iter().zip(["Report", "Terminate"]) {
        apply(&guarded, name, minute, over_limit);
        assert_eq!(limit(&guarded, name).as_deref(), Some("4"), "GitOps leaves it");
    }
    // A node that goes gets no replacement at the lower limit.
    let going = guarded.cluster.claims("report");
    let going = going[0]["metadata"]["name"].as_str().expect("a name");
    guarded
        .cluster
        .plane()
        .kubectl(&["delete", "nodeclaim", going, "--wait=false"], "")
        .success();
    guarded.linger(STEADY);
    assert_eq!(guarded.cluster.claims("report").len(), 9, "{}", guarded.story());

    let rises = minute + SignedDuration::from_mins(8);
    for name in names {
        guarded.wait_until_running(name, 10);
        assert!(Timestamp::now() > rises, "{name}: before its time");
        assert_eq!(limit(&guarded, name).as_deref(), Some("10"));
    }
    for recording in &claims {
        assert_eq!(
            peak(&counts(&recording.changes(guarded.cluster.client()), |_| true)),
            10
        );
    }
}

fn apply(guarded: &Guarded, name: &str, minute: Timestamp, over_limit: &str) {
    let path = format!("/apis/karpenter.sh/v1/nodepools/{name}");
    let manifest = pool(name, minute, over_limit).to_string();
    guarded.cluster.client().apply_by("argocd", &path, &manifest);
}
