//! What goes wrong beside the calls: with processes, ledgers, limits and pools. And the garbage collector.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::cluster::{self, CLAIMS, POOLS};
use super::faults::Fault;
use super::history::Event;
use super::moved::move_ledgers;
use super::store::{Refusal, metadata};
use super::strangers::ask;
use super::world::{NODE_LIMIT, Scene, World};

/// Starts what goes wrong beside the calls.
pub(super) fn begin(world: &Rc<World>, scene: Scene) {
    type Begin = fn(Rc<World>) -> Disturbance;
    let each: [(Fault, Begin); 15] = [
        (Fault::Crashes, |world| Box::pin(crash(world))),
        (Fault::Pauses, |world| Box::pin(pause(world))),
        (Fault::LedgersDeleted, |world| Box::pin(delete_ledger(world))),
        (Fault::OpenedDeleted, |world| Box::pin(delete_opened(world))),
        (Fault::LedgersSpoilt, |world| Box::pin(spoil_ledger(world))),
        (Fault::OtherLimits, |world| Box::pin(change_limit(world))),
        (Fault::LimitsGo, |world| Box::pin(remove_limit(world))),
        (Fault::PoolsReplaced, |world| Box::pin(replace_pool(world))),
        (Fault::Compaction, |world| Box::pin(compact(world))),
        (Fault::Strangers, |world| Box::pin(ask(world))),
        (Fault::OldCaches, |world| Box::pin(hold_cache(world))),
        (Fault::Relabelled, |world| Box::pin(relabel(world))),
        (Fault::LeaseDeleted, |world| Box::pin(delete_lease(world))),
        (Fault::LaterRelease, |world| Box::pin(write_later(world))),
        (Fault::LedgersMoved, |world| Box::pin(move_ledgers(world))),
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
    let namespace = world.ledgers();
    sleep(world.pause_of(0, 20_000)).await;
    while *world.is_moving.borrow() {
        sleep(Duration::from_secs(1)).await;
    }
    if world.ledgers() != namespace {
        // All were started again.
        return;
    }
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

fn remove_ledger(world: &World, name: &str) {
    let ledgers = world.ledgers();
    world.cluster.change(|store| store.remove(&ledgers, name));
}

/// The text of a ledger, if it is there.
fn text(world: &World, name: &str) -> Option<String> {
    let ledgers = world.ledgers();
    let stored = world.cluster.lock().store.get(&ledgers, name)?;
    Some(stored["data"]["ledger.json"].as_str()?.to_owned())
}

/// Somebody who is not this release writes it.
fn write(world: &World, name: &str, text: &str) {
    let ledgers = world.ledgers();
    let patch = json!({"data": {"ledger.json": text}});
    let _ = world.cluster.change(|store| store.merge(&ledgers, name, &patch));
}

async fn delete_ledger(world: Rc<World>) {
    sleep(world.pause_of(5_000, 70_000)).await;
    let name = ledger(&world, &world.a_pool());
    remove_ledger(&world, &name);
    sleep(world.pause_of(100, 8_000)).await;
    remove_ledger(&world, &name);
}

/// Deletes a ledger, and again when it has opened and holds a reservation.
async fn delete_opened(world: Rc<World>) {
    sleep(world.pause_of(1_000, 20_000)).await;
    let name = ledger(&world, &world.a_pool());
    remove_ledger(&world, &name);
    let mut was_closed = false;
    let mut announcements = world.cluster.lock().store.announcements();
    while world.is_troubled() {
        let _ = timeout(Duration::from_secs(5), announcements.changed()).await;
        let text = text(&world, &name).unwrap_or_default();
        let is_closed = text.contains(r#""closed":true"#);
        let is_held = !text.is_empty() && !text.contains(r#""reservations":{}"#);
        if was_closed && !is_closed && is_held {
            world.cluster.note("deletes the ledger that has just opened");
            remove_ledger(&world, &name);
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
    write(&world, &name, text);
}

/// A gate of a later release stores what this one does not know, in the whole and in each part.
async fn write_later(world: Rc<World>) {
    sleep(world.pause_of(200, 8_000)).await;
    let name = ledger(&world, &world.a_pool());
    let text = text(&world, &name).unwrap_or_default();
    let mut read = serde_json::from_str::<Value>(&text).unwrap_or_default();
    if read["seen"].is_null() {
        return;
    }
    let later = json!(world.pause_of(0, 1_000).as_millis());
    for part in ["denied", "limit", "replacement", "stopped", "termination"] {
        if read[part].is_object() {
            read[part]["later"] = later.clone();
        }
    }
    read["later"] = later;
    write(&world, &name, &read.to_string());
    let mut inner = world.cluster.lock();
    inner.checker.happens("ledger of a later release");
}

async fn delete_lease(world: Rc<World>) {
    sleep(world.pause_of(10_000, 50_000)).await;
    let leases = cluster::leases(&world.cluster.lock().namespace);
    world
        .cluster
        .change(|store| store.remove(&leases, "poolgate-reconciler"));
}

/// A user gives a claim to another pool, or to none, in whatever state it is.
async fn relabel(world: Rc<World>) {
    sleep(world.pause_of(200, 8_000)).await;
    let names: Vec<_> = {
        let inner = world.cluster.lock();
        let claims = inner.store.list(CLAIMS);
        claims.map(|claim| metadata(claim, "name").to_owned()).collect()
    };
    let pool = world.a_pool();
    let chosen = world.cluster.lock().faults.below(names.len());
    let Some(name) = names.get(chosen) else { return };
    let is_removed = world.pause_of(0, 1) == Duration::ZERO;
    let pool = if is_removed { json!(null) } else { json!(pool) };
    let patch = json!({"metadata": {"labels": {"karpenter.sh/nodepool": pool}}});
    let changed = world.cluster.change(|store| store.merge(CLAIMS, name, &patch));
    if changed.is_err_and(|refusal| refusal == Refusal::Invalid) {
        world.cluster.lock().checker.happens("relabelling denied");
    }
}

/// The cache of one API server stands still for a while. Only watches are served from it: poolgate gets and lists without
/// a resourceVersion.
async fn hold_cache(world: Rc<World>) {
    sleep(world.pause_of(1_000, 20_000)).await;
    {
        let mut inner = world.cluster.lock();
        inner.cached = Some(inner.store.version);
    }
    sleep(world.pause_of(5_000, 60_000)).await;
    world.cluster.lock().cached = None;
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
pub(super) fn set_limit(world: &World, pool: &str, nodes: &Value) {
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
    let path = world.ledgers();
    let (ledgers, claims) = {
        let inner = world.cluster.lock();
        let uid_of = |pool: &str| {
            let pool = inner.store.get(POOLS, pool);
            pool.map(|pool| metadata(&pool, "uid").to_owned())
        };
        let ledgers = inner.store.list(&path).filter(|ledger| {
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
        let stored = world.cluster.lock().store.get(&path, &name);
        if stored.is_some_and(|stored| metadata(&stored, "uid") == uid) {
            world.cluster.tell(&Event::Collected { ledger: uid });
            world.cluster.change(|store| store.remove(&path, &name));
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
