//! Nodes of a full pool that go while pods wait for it: by expiration, and because their machines are taken away.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::beside::Beside;
use super::guarded::Guarded;
use crate::support::karpenter::look::claim_names;
use crate::support::karpenter::objects::{annotated_pool, disruption_budget, one_pod_a_node};
use crate::support::recording::{Recording, name};

const LIMIT: usize = 5;

/// How many pods want a node of the pool.
const PODS: u32 = 15;

/// How many of them wait while it is full. Karpenter asks for all at once where it sees a single place.
const WAITING: usize = 10;

/// A pool that is full, whose limit is left to poolgate, and for which pods wait.
struct Turnover {
    guarded: Guarded,
    claims: Recording,
}

impl Turnover {
    /// `template` is the pool's.
    fn begin(template: &Value) -> Self {
        let guarded = Guarded::start(&[]);
        guarded.review_pools();
        let cluster = &guarded.cluster;
        let claims = cluster.record_claims("full");
        let spec = json!({"disruption": {"nodeLimitMode": "Hard"}, "template": {"spec": template}});
        cluster.create_pool(&annotated_pool("full", &spec, LIMIT));
        // No pod may be evicted.
        cluster.create_in_default(
            "policy/v1",
            "poddisruptionbudgets",
            &disruption_budget("crowd", 0),
        );
        Self { guarded, claims }
    }

    /// Asks another pool for nodes: before pods wait for the full one, and from `begin` until it is `over`. Returns how
    /// many creations were denied meanwhile.
    fn run(&self, begin: impl Fn(), over: impl Fn() -> bool) -> usize {
        let guarded = &self.guarded;
        let mut beside = Beside::create(guarded);
        let alone = beside.ask_times(4).into_iter().max().expect("four times");
        guarded.cluster.deploy(&one_pod_a_node("crowd", "full", PODS));
        guarded.wait_until_running("crowd", LIMIT);
        let before = guarded.denials("Hard");
        begin();
        let mut times = Vec::new();
        guarded.wait_for("the nodes to be replaced", |_| {
            times.push(beside.ask());
            over().then_some(())
        });
        let denied = guarded.denials("Hard") - before;
        times.sort();
        let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
        println!(
            "another pool is served within {alone:.1?} before, {} times after {median:.1?} (median) and {longest:.1?} \
             (longest) meanwhile; {denied} creations denied",
            times.len()
        );
        assert!(beside.is_served() && median <= 2 * alone, "{}", guarded.story());
        assert_eq!(guarded.most(&self.claims), LIMIT, "{}", guarded.story());
        denied
    }

    /// Whether none of these NodeClaims is left and there are as many others as may be.
    fn is_full_without(&self, old: &BTreeSet<String>) -> bool {
        let cluster = &self.guarded.cluster;
        let now = claim_names(cluster, "full");
        let running = cluster.pods_in_phase("crowd", "Running");
        now.len() == LIMIT && running == LIMIT && now.is_disjoint(old)
    }

    /// How many NodeClaims were ever created.
    fn ever(&self) -> usize {
        let changes = self.claims.so_far();
        let uids = changes
            .iter()
            .map(|change| change.object["metadata"]["uid"].to_string());
        uids.collect::<BTreeSet<_>>().len()
    }
}

/// How many creations may be denied where so many nodes go: once what waits when a node goes, before the reconciler has
/// seen it, and once when its place is free.
const fn at_most(gone: usize) -> usize {
    2 * gone * WAITING
}

#[test]
#[ignore = "long: .ci/nightly"]
fn nodes_of_a_full_pool_whose_pods_wait_expire_and_other_pools_are_served_meanwhile() {
    let turnover = Turnover::begin(&json!({"expireAfter": "40s", "terminationGracePeriod": "20s"}));
    // Successors have expired too.
    let is_over = || turnover.ever() > 2 * LIMIT && turnover.is_full_without(&BTreeSet::new());
    let denied = turnover.run(|| (), is_over);
    let gone = turnover.ever() - LIMIT;
    println!("{gone} nodes expired");
    assert!(denied <= at_most(gone), "{}", turnover.guarded.story());
}

#[test]
#[ignore = "long: .ci/nightly"]
fn machines_of_a_full_pool_whose_pods_wait_are_taken_away_and_other_pools_are_served_meanwhile() {
    let turnover = Turnover::begin(&json!({"terminationGracePeriod": "20s"}));
    let taken = RefCell::default();
    let denied = turnover.run(
        || *taken.borrow_mut() = take_away(&turnover.guarded),
        || turnover.is_full_without(&taken.borrow()),
    );
    let gone = taken.borrow().len();
    assert!(denied <= at_most(gone), "{}", turnover.guarded.story());
}

/// What a cloud provider does that takes machines back, to three of five: it announces it of two, whose NodeClaims are
/// deleted, and the third is gone. Returns the names of their NodeClaims.
fn take_away(guarded: &Guarded) -> BTreeSet<String> {
    let cluster = &guarded.cluster;
    // A pod can run before Karpenter has registered its Node.
    let claims = guarded.wait_for("NodeClaims with Nodes", |cluster| {
        let claims = cluster.claims("full");
        let registered = claims.iter().all(|claim| claim["status"]["nodeName"].is_string());
        registered.then_some(claims)
    });
    let taken = &claims[..3];
    for announced in &taken[..2] {
        cluster.delete_claim(name(announced));
    }
    let gone = taken[2]["status"]["nodeName"].as_str().expect("a Node");
    let gone = format!("/api/v1/nodes/{gone}");
    // With them Karpenter would drain it.
    let finalizers = json!({"metadata": {"finalizers": []}});
    cluster.client().merge(&gone, &finalizers);
    cluster.client().delete(&gone);
    taken.iter().map(|claim| name(claim).to_owned()).collect()
}
