//! The ledgers move to another namespace, as docs/upgrade.md says: gates to zero, one lifetime, and gates that know only the
//! new one.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::sleep;

use super::store::metadata;
use super::world::{LIFETIME, World};

/// Moves them once.
pub(super) async fn move_ledgers(world: Rc<World>) {
    sleep(world.pause_of(20_000, 90_000)).await;
    *world.is_moving.borrow_mut() = true;
    stop_gates(&world);
    sleep(LIFETIME).await;
    start_elsewhere(&world);
    *world.is_moving.borrow_mut() = false;
}

fn stop_gates(world: &World) {
    world.cluster.note("gates to zero");
    for gate in &*world.gates.borrow() {
        gate.process.kill();
    }
}

/// Starts as many gates and reconcilers as there were with ledgers in another namespace, and deletes the old one. The old
/// reconcilers end.
fn start_elsewhere(world: &World) {
    let before = world.ledgers();
    let namespace = world.name("poolgate-ledgers");
    world.cluster.note(&format!("ledgers in {namespace}"));
    {
        let mut inner = world.cluster.lock();
        inner.namespace = namespace;
        inner.checker.ledgers_moved();
    }
    let gates = world.gates.borrow().len();
    *world.gates.borrow_mut() = (0..gates).map(|_| world.start_gate()).collect();
    for (_, reconciler) in &*world.reconcilers.borrow() {
        reconciler.kill();
    }
    let reconcilers = world.reconcilers.borrow().len();
    *world.reconcilers.borrow_mut() = (0..reconcilers).map(|_| world.start_reconciler()).collect();
    world.cluster.change(|store| {
        let ledgers = store.list(&before);
        let names: Vec<_> = ledgers
            .map(|ledger| metadata(ledger, "name").to_owned())
            .collect();
        for name in names {
            store.remove(&before, &name);
        }
    });
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;
    use tokio::task::{LocalSet, spawn_local};
    use tokio::time::Instant;

    use super::super::cluster::Cluster;
    use super::super::faults::{Fault, Faults};
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Way {
        /// As docs/upgrade.md says.
        Waits,
        /// The new gates start immediately.
        DoesNotWait,
        /// The old gates go on beside the new ones, for longer than a lifetime.
        SideBySide,
    }

    /// What is broken if the ledgers of a pool with a limit of one move this way while two creations come, before and after.
    /// What is admitted is stored late.
    async fn moved(seed: u64, way: Way) -> Vec<String> {
        let until = Instant::now() + Duration::from_mins(10);
        let faults = Faults::of(seed, until).of_kinds(&[Fault::LateCommits]);
        let world = World::new(seed, Cluster::new(faults, false));
        world.store_pool("blue", (Some(1), false), "Hard", 0);
        let old = world.start_gate();
        world.gates.borrow_mut().push(old.clone());
        sleep(Duration::from_secs(1)).await;
        let create = |world: &Rc<World>| {
            let world = Rc::clone(world);
            spawn_local(async move { world.create("blue", false).await })
        };
        if way == Way::SideBySide {
            start_elsewhere(&world);
            sleep(2 * LIFETIME).await;
            let new = world.gates.replace(vec![old]);
            create(&world);
            sleep(Duration::from_secs(1)).await;
            *world.gates.borrow_mut() = new;
        } else {
            create(&world);
            sleep(Duration::from_secs(1)).await;
            stop_gates(&world);
            if way == Way::Waits {
                sleep(LIFETIME).await;
            }
            start_elsewhere(&world);
            sleep(Duration::from_secs(1)).await;
        }
        create(&world);
        sleep(Duration::from_mins(1)).await;
        world.cluster.lock().checker.violations.clone()
    }

    #[test]
    fn the_ledgers_move_safely_only_without_gates_for_a_lifetime() {
        let broken = |way: Way| {
            let is_broken = |seed: &u64| {
                let mut runtime = Builder::new_current_thread();
                let runtime = runtime
                    .enable_time()
                    .start_paused(true)
                    .build()
                    .expect("a runtime");
                !LocalSet::new().block_on(&runtime, moved(*seed, way)).is_empty()
            };
            (0..20).filter(is_broken).count()
        };
        assert_eq!(broken(Way::Waits), 0);
        // Some claims are stored immediately after all.
        assert!(broken(Way::DoesNotWait) >= 10);
        assert!(broken(Way::SideBySide) >= 10);
    }
}
