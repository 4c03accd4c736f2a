//! Limits that follow the clock: what the account that is shipped writes, and what stays of it.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Value, json};

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::full::full;
use crate::support::nodepool::node_pool;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";

/// How soon after its time a limit is stored.
const SOON: SignedDuration = SignedDuration::from_secs(5);

/// Applies a pool with a schedule as Argo CD does, again and again the same.
fn apply(fleet: &Fleet, name: &str, schedule: Option<&str>) {
    let mut pool = node_pool(name, &json!({}));
    if let Some(schedule) = schedule {
        pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-schedule": schedule});
    }
    fleet
        .client()
        .apply_by("argocd", &format!("{POOLS}/{name}"), &pool.to_string());
}

/// The number of a pool, and what Karpenter sees.
fn stored(fleet: &Fleet, name: &str) -> [Value; 2] {
    let pool = fleet.client().get(&format!("{POOLS}/{name}")).expect("a pool");
    [
        pool["metadata"]["annotations"]["poolgate.dev/node-limit"].clone(),
        pool["spec"]["limits"]["nodes"].clone(),
    ]
}

#[track_caller]
fn wait_until_stored(fleet: &Fleet, name: &str, limit: &[Value; 2]) {
    wait_for(&format!("{name} to have {limit:?}"), || {
        (stored(fleet, name) == *limit).then_some(())
    });
}

fn both(limit: &str) -> [Value; 2] {
    [json!(limit), json!(limit)]
}

/// The minute that has begun.
fn this_minute() -> Timestamp {
    let now = Timestamp::now().as_second();
    Timestamp::from_second(now - now.rem_euclid(60)).expect("a time")
}

/// Hours from one full minute to another, as many minutes from the present one.
fn hours(minute: Timestamp, from: i64, until: i64) -> String {
    let at = |minutes: i64| {
        let at = minute + SignedDuration::from_mins(minutes);
        at.to_zoned(TimeZone::UTC).strftime("%H:%M").to_string()
    };
    format!("{}-{}", at(from), at(until))
}

#[test]
fn scheduled_limits_are_written_by_the_account_that_is_shipped_and_survive_gitops() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    apply(&fleet, "steady", Some("else 6"));
    let reconciler = Reconciler::start(&plane.kubeconfig_by(Account::Reconciler), &[]);
    wait_until_stored(&fleet, "steady", &both("6"));

    apply(&fleet, "steady", Some("else 9"));
    wait_until_stored(&fleet, "steady", &both("9"));
    apply(&fleet, "steady", Some("else 9"));
    assert_eq!(stored(&fleet, "steady"), both("9"), "a field of another manager");

    let path = format!("{POOLS}/steady");
    let slip = json!({"metadata": {"annotations": {"poolgate.dev/node-limit": "50"}}});
    fleet.client().merge(&path, &slip);
    wait_until_stored(&fleet, "steady", &both("9"));
    let message = "Somebody set the node limit to 50. The schedule says 9, which is written again";
    wait_for("an event", || {
        fleet
            .events("steady")
            .into_iter()
            .find(|(_, text, _)| text == message)
    });

    // `kubectl replace` takes the number away.
    let mut replaced = fleet.client().get(&path).expect("a pool");
    replaced["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-schedule": "else 9"});
    fleet.client().replace(&path, &replaced);
    wait_until_stored(&fleet, "steady", &both("9"));

    // What cannot be read leaves the number, and so does a change to another schedule.
    apply(&fleet, "steady", Some("mon = 3"));
    apply(&fleet, "steady", Some("else 4"));
    wait_until_stored(&fleet, "steady", &both("4"));

    // The number of a schedule that is gone stays in the spec.
    apply(&fleet, "steady", None);
    wait_until_stored(&fleet, "steady", &[Value::Null, json!("4")]);
    assert_eq!(
        reconciler.metric("poolgate_limit_rises_withheld_total"),
        Some(0.0)
    );
    for denial in ["forbidden", "denied request"] {
        assert!(!reconciler.log().contains(denial), "{}", reconciler.log());
    }

    // Uninstalling leaves the highest limit.
    let past = hours(this_minute(), -9, -5);
    apply(&fleet, "left", Some(&format!("{past} = 9; else 3")));
    wait_until_stored(&fleet, "left", &both("3"));
    reconciler.kill();
    let unhold = plane.kubeconfig_by(Account::Unhold);
    let lease = "/apis/coordination.k8s.io/v1/namespaces/poolgate-ledgers/leases/poolgate-reconciler";
    fleet.client().delete(lease);
    let arguments = ["--if-lease-older-than=15m", "--ledger-namespace=poolgate-ledgers"];
    Reconciler::unhold_all(&unhold, &arguments).success();
    assert_eq!(stored(&fleet, "left"), both("9"));
}

#[test]
#[ignore = "long: .ci/nightly"]
fn scheduled_limit_falls_at_its_minute_and_rises_a_minute_later() {
    let plane = ControlPlane::start();
    let fleet = Fleet::in_cluster(&plane);
    let account = plane.kubeconfig_by(Account::Reconciler);
    let _reconciler = Reconciler::start(&account, &[]);
    let minute = this_minute();
    apply(
        &fleet,
        "falls",
        Some(&format!("{} = 9; else 3", hours(minute, -5, 2))),
    );
    apply(
        &fleet,
        "rises",
        Some(&format!("{} = 9; else 3", hours(minute, 1, 30))),
    );
    wait_until_stored(&fleet, "falls", &both("9"));
    wait_until_stored(&fleet, "rises", &both("3"));
    let next = minute + SignedDuration::from_mins(2);
    for (name, limit) in [("falls", "3"), ("rises", "9")] {
        wait_until_stored(&fleet, name, &both(limit));
        // How soon depends on the machine.
        assert!(!full() || Timestamp::now() < next + SOON, "{name} too late");
        assert!(Timestamp::now() >= next, "{name} too early");
    }
}
