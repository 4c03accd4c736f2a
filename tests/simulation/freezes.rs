//! Users freeze pools and end that: while something goes wrong, and when nothing does but the death of the leader.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use jiff::SignedDuration;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::cluster::{CLAIMS, NODES, POOLS};
use super::karpenter::is_true;
use super::store::metadata;
use super::trouble::set_limit;
use super::world::World;

const FREEZE: &str = "poolgate.dev/freeze";

/// Within this time a node that is initialised is marked, and one of a pool that is no longer frozen is not.
const IN_TIME: Duration = Duration::from_secs(10);

/// How long a Lease may stay after the death of its holder, and how long the next one takes to begin.
const UNTIL_ANOTHER_LEADS: Duration = Duration::from_secs(40);

/// How far ahead the clock of a reconciler may be.
const CLOCKS: SignedDuration = SignedDuration::from_mins(2);

/// Whether pools are frozen in the runs of this seed.
pub(super) const fn are_in(seed: u64) -> bool {
    seed % 8 == 7
}

fn annotate(world: &World, pool: &str, text: Option<&str>) {
    let patch = json!({"metadata": {"annotations": {FREEZE: text}}});
    // The pool may be gone.
    let _ = world.cluster.change(|store| store.merge(POOLS, pool, &patch));
}

/// Freezes pools while there are faults, and often lowers their limit at the same time.
pub(super) async fn begin(world: Rc<World>, seed: u64) {
    // Its own random numbers: other runs go on as they were.
    let mut random = StdRng::seed_from_u64(!seed);
    while world.is_troubled() {
        sleep(Duration::from_secs(random.random_range(2..40))).await;
        let pool = world.pools[random.random_range(0..world.pools.len())].clone();
        let texts = [
            "forever",
            "until=9999-01-01T00:00:00Z by=alice reason=why",
            "never",
            "",
        ];
        annotate(&world, &pool, Some(texts[random.random_range(0..texts.len())]));
        if random.random_bool(0.6) {
            set_limit(&world, &pool, &json!("1"));
        }
        sleep(Duration::from_secs(random.random_range(30..200))).await;
        annotate(&world, &pool, None);
        set_limit(&world, &pool, &json!(random.random_range(2..6).to_string()));
    }
}

/// One pool is frozen until somebody ends that, and the other for some minutes. The leader dies meanwhile.
pub(super) async fn check(world: &Rc<World>) {
    let [blue, red] = [&world.pools[0], &world.pools[1]];
    annotate(world, blue, Some("forever by=alice"));
    let until = world.cluster.wall(0) + SignedDuration::from_mins(3) + CLOCKS;
    annotate(world, red, Some(&format!("until={until}")));
    sleep(world.between(0, 9_000)).await;
    let leader = world.cluster.lock().checker.leader().to_owned();
    world.cluster.note(&format!("the leader {leader} dies"));
    for (name, process) in world
        .reconcilers
        .borrow_mut()
        .iter_mut()
        .filter(|(name, _)| *name == leader)
    {
        process.kill();
        (*name, *process) = world.start_reconciler();
    }
    sleep(UNTIL_ANOTHER_LEADS).await;
    stay_marked(world, blue, Duration::from_mins(2)).await;
    annotate(world, blue, None);
    sleep(IN_TIME).await;
    expect_no_marks(world, blue);
    let ends = (until + CLOCKS).duration_since(world.cluster.wall(0));
    sleep(Duration::try_from(ends).unwrap_or_default() + IN_TIME).await;
    expect_no_marks(world, red);
}

fn nodes(world: &World, pool: &str) -> Vec<Value> {
    let inner = world.cluster.lock();
    let nodes = inner.store.list(NODES);
    let its = nodes.filter(|node| node["metadata"]["labels"]["karpenter.sh/nodepool"] == *pool);
    its.map(|node| (**node).clone()).collect()
}

fn is_marked(node: &Value) -> bool {
    let annotations = &node["metadata"]["annotations"];
    let held_for = annotations["poolgate.dev/held-for"].as_str().unwrap_or_default();
    held_for.split(',').any(|word| word == "freeze") && annotations["karpenter.sh/do-not-disrupt"] == "true"
}

/// No node stays unmarked for longer than it may, while it is as it was.
async fn stay_marked(world: &World, pool: &str, time: Duration) {
    let until = Instant::now() + time;
    let mut unmarked: BTreeMap<String, Instant> = BTreeMap::new();
    while Instant::now() < until {
        let mut now = BTreeMap::new();
        for node in nodes(world, pool) {
            let name = metadata(&node, "name").to_owned();
            let Some(claim) = world.cluster.lock().store.get(CLAIMS, &name) else {
                continue;
            };
            let is_going =
                !claim["metadata"]["deletionTimestamp"].is_null() || !node["spec"]["taints"].is_null();
            let is_users = node["metadata"]["annotations"]["example.com/users"] == "true";
            if is_true(&claim, "Initialized") && !is_going && !is_users && !is_marked(&node) {
                let since = unmarked.get(&name).copied().unwrap_or_else(Instant::now);
                if since.elapsed() > IN_TIME {
                    world.fail(format!("{pool} is frozen, and {name} is not marked in time"));
                    return;
                }
                now.insert(name, since);
            }
        }
        unmarked = now;
        sleep(Duration::from_secs(1)).await;
    }
    let marked = nodes(world, pool).iter().filter(|node| is_marked(node)).count();
    if marked > 0 {
        world.cluster.lock().checker.happens("marked for a freeze");
    }
}

pub(super) fn expect_no_marks(world: &World, pool: &str) {
    for node in nodes(world, pool) {
        if is_marked(&node) {
            let name = metadata(&node, "name");
            world.fail(format!("{pool} is no longer frozen, and {name} is still marked"));
        }
    }
}
