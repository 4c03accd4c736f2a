//! What goes wrong beside the calls: with processes, ledgers, limits and pools. And the garbage collector.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::cluster::{self, CLAIMS, LEDGERS, POOLS};
use super::faults::Fault;
use super::store::metadata;
use super::world::{NODE_LIMIT, Scene, World};

/// Starts what goes wrong beside the calls.
pub(super) fn begin(world: &Rc<World>, scene: Scene) {
    type Begin = fn(Rc<World>) -> Disturbance;
    let each: [(Fault, Begin); 9] = [
        (Fault::Crashes, |world| Box::pin(crash(world))),
        (Fault::Pauses, |world| Box::pin(pause(world))),
        (Fault::LedgersDeleted, |world| Box::pin(delete_ledger(world))),
        (Fault::OpenedDeleted, |world| Box::pin(delete_opened(world))),
        (Fault::LedgersSpoilt, |world| Box::pin(spoil_ledger(world))),
        (Fault::OtherLimits, |world| Box::pin(change_limit(world))),
        (Fault::LimitsGo, |world| Box::pin(remove_limit(world))),
        (Fault::PoolsReplaced, |world| Box::pin(replace_pool(world))),
        (Fault::Compaction, |world| Box::pin(compact(world))),
    ];
    for (fault, once) in each {
        let world = Rc::clone(world);
        if world.has(fault) {
            spawn_local(async move {
                while world.is_troubled() {
                    once(Rc::clone(&world)).await;
                }
            });
        }
    }
    let world = Rc::clone(world);
    spawn_local(async move {
        loop {
            collect_garbage(&world, scene).await;
            sleep(Duration::from_secs(3)).await;
        }
    });
}

type Disturbance = std::pin::Pin<Box<dyn Future<Output = ()>>>;

async fn crash(world: Rc<World>) {
    sleep(world.pause_of(3_000, 40_000)).await;
    let (process, is_gate, place) = world.victim();
    world.cluster.note(&format!(
        "crash of {} {place}",
        if is_gate { "gate" } else { "reconciler" }
    ));
    process.kill();
    sleep(world.pause_of(0, 20_000)).await;
    if is_gate {
        let gate = world.start_gate();
        world.gates.borrow_mut()[place] = gate;
    } else {
        let process = world.start_reconciler();
        world.reconcilers.borrow_mut()[place] = process;
    }
}

async fn pause(world: Rc<World>) {
    sleep(world.pause_of(3_000, 40_000)).await;
    let (process, is_gate, place) = world.victim();
    world.cluster.note(&format!(
        "pause of {} {place}",
        if is_gate { "gate" } else { "reconciler" }
    ));
    process.pause(true);
    let is_long = world.pause_of(0, 1) != Duration::ZERO;
    if is_long {
        world
            .cluster
            .lock()
            .checker
            .happens("pause longer than a lifetime");
    }
    sleep(if is_long {
        world.pause_of(60_000, 120_000)
    } else {
        world.pause_of(500, 15_000)
    })
    .await;
    process.pause(false);
}

/// The name of the ledger of the pool that has this name now.
fn ledger(world: &World, pool: &str) -> String {
    let stored = world.cluster.lock().store.get(POOLS, pool);
    let uid = stored.map(|pool| metadata(&pool, "uid").to_owned());
    format!("poolgate-ledger-{}", uid.unwrap_or_default())
}

async fn delete_ledger(world: Rc<World>) {
    sleep(world.pause_of(5_000, 70_000)).await;
    let name = ledger(&world, &world.a_pool());
    world.cluster.change(|store| store.remove(LEDGERS, &name));
    sleep(world.pause_of(100, 8_000)).await;
    world.cluster.change(|store| store.remove(LEDGERS, &name));
}

/// Deletes a ledger, and again when it has opened and holds a reservation.
async fn delete_opened(world: Rc<World>) {
    sleep(world.pause_of(1_000, 20_000)).await;
    let name = ledger(&world, &world.a_pool());
    world.cluster.change(|store| store.remove(LEDGERS, &name));
    let mut was_closed = false;
    let mut announcements = world.cluster.lock().store.announcements();
    while world.is_troubled() {
        let _ = timeout(Duration::from_secs(5), announcements.changed()).await;
        let stored = world.cluster.lock().store.get(LEDGERS, &name);
        let text = stored
            .as_ref()
            .and_then(|stored| stored["data"]["ledger.json"].as_str());
        let text = text.unwrap_or_default();
        let is_closed = text.contains(r#""closed":true"#);
        let is_held = !text.is_empty() && !text.contains(r#""reservations":{}"#);
        if was_closed && !is_closed && is_held {
            world.cluster.note("deletes the ledger that has just opened");
            world.cluster.change(|store| store.remove(LEDGERS, &name));
            return;
        }
        was_closed |= is_closed;
    }
}

async fn spoil_ledger(world: Rc<World>) {
    sleep(world.pause_of(5_000, 60_000)).await;
    let name = ledger(&world, &world.a_pool());
    let text = if world.pause_of(0, 1) == Duration::ZERO {
        "{"
    } else {
        r#"{"version":1}"#
    };
    let patch = json!({"data": {"ledger.json": text}});
    let _ = world.cluster.change(|store| store.merge(LEDGERS, &name, &patch));
}

async fn change_limit(world: Rc<World>) {
    sleep(world.pause_of(2_000, 40_000)).await;
    let nodes = world.cluster.lock().faults.below(7);
    set_limit(&world, &world.a_pool(), &json!(nodes.to_string()));
}

async fn remove_limit(world: Rc<World>) {
    sleep(world.pause_of(2_000, 40_000)).await;
    let pool = world.a_pool();
    let is_left = is_left(&world, &pool);
    set_limit(&world, &pool, &json!(null));
    sleep(world.pause_of(500, 30_000)).await;
    let nodes = json!((1 + world.cluster.lock().faults.below(5)).to_string());
    if is_left {
        let annotation = json!({"metadata": {"annotations": {NODE_LIMIT: nodes}}});
        let _ = world
            .cluster
            .change(|store| store.merge(POOLS, &pool, &annotation));
    } else {
        set_limit(&world, &pool, &nodes);
    }
}

/// Whether the pool leaves its limit to poolgate.
fn is_left(world: &World, pool: &str) -> bool {
    let stored = world.cluster.lock().store.get(POOLS, pool);
    stored.is_some_and(|stored| !stored["metadata"]["annotations"][NODE_LIMIT].is_null())
}

/// A user writes a limit where the pool has it, or removes it there and in the spec.
fn set_limit(world: &World, pool: &str, nodes: &Value) {
    let annotation = json!({"metadata": {"annotations": {NODE_LIMIT: nodes}}});
    if is_left(world, pool) {
        let _ = world
            .cluster
            .change(|store| store.merge(POOLS, pool, &annotation));
        if !nodes.is_null() {
            return;
        }
    }
    let spec = json!({"spec": {"limits": {"nodes": nodes}}});
    let _ = world.cluster.change(|store| store.merge(POOLS, pool, &spec));
}

async fn replace_pool(world: Rc<World>) {
    sleep(world.pause_of(5_000, 70_000)).await;
    let name = world.a_pool();
    let Some(stored) = world.cluster.lock().store.get(POOLS, &name) else {
        return;
    };
    world.cluster.change(|store| store.remove(POOLS, &name));
    sleep(world.pause_of(0, 15_000)).await;
    let mut pool = (*stored).clone();
    let at = world.cluster.text_time();
    let _ = world.cluster.change(|store| {
        pool["metadata"]["uid"] = store.uid().into();
        store.create(POOLS, pool, &at)
    });
}

async fn compact(world: Rc<World>) {
    sleep(world.pause_of(1_000, 20_000)).await;
    let mut inner = world.cluster.lock();
    inner.store.compacted = inner.store.version;
}

/// Deletes the ledgers and the claims of a NodePool that is gone. It reads first, and deletes what still has its UID a
/// moment later, as the garbage collector of Kubernetes 1.30 does.
async fn collect_garbage(world: &Rc<World>, scene: Scene) {
    let (ledgers, claims) = {
        let inner = world.cluster.lock();
        let uid_of = |pool: &str| {
            let pool = inner.store.get(POOLS, pool);
            pool.map(|pool| metadata(&pool, "uid").to_owned())
        };
        let ledgers = inner.store.list(LEDGERS).filter(|ledger| {
            let owner = ledger["metadata"]["ownerReferences"][0]["uid"].as_str();
            owner.is_some_and(|owner| {
                uid_of(ledger["data"]["nodepool"].as_str().unwrap_or_default()).as_deref() != Some(owner)
            })
        });
        let ledgers: Vec<_> = ledgers
            .map(|ledger| {
                (
                    metadata(ledger, "name").to_owned(),
                    metadata(ledger, "uid").to_owned(),
                )
            })
            .collect();
        let claims = inner.store.list(CLAIMS).filter(|claim| {
            let pool = claim["metadata"]["labels"]["karpenter.sh/nodepool"]
                .as_str()
                .unwrap_or_default();
            let owner = claim["metadata"]["ownerReferences"][0]["uid"].as_str();
            uid_of(pool).as_deref() != owner && claim["metadata"]["deletionTimestamp"].is_null()
        });
        let claims: Vec<_> = claims.map(|claim| metadata(claim, "name").to_owned()).collect();
        (ledgers, claims)
    };
    if !ledgers.is_empty() {
        sleep(world.between(0, 3_000)).await;
    }
    for (name, uid) in ledgers {
        let stored = world.cluster.lock().store.get(LEDGERS, &name);
        if stored.is_some_and(|stored| metadata(&stored, "uid") == uid) {
            world.cluster.change(|store| store.remove(LEDGERS, &name));
        }
    }
    for name in claims {
        if scene == Scene::Reconcilers {
            let at = world.cluster.text_time();
            cluster::delete(&world.cluster, CLAIMS, &name, &at);
        } else {
            let world = Rc::clone(world);
            spawn_local(async move { world.delete(&name).await });
        }
    }
}
