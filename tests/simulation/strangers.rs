//! Strangers who reach the gates, and choose their deadlines.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

use super::world::{World, admission};

/// How long a stranger waits for an answer, whatever deadline he names.
const PATIENCE: Duration = Duration::from_secs(30);

/// They ask every 10 ms for some seconds, with the shortest and the longest deadline in turn.
pub(super) async fn ask(world: Rc<World>) {
    sleep(world.pause_of(5_000, 40_000)).await;
    let count = 200 + world.cluster.lock().faults.below(400);
    for number in 0..count {
        let pool = world.a_pool();
        let (uid, chosen, path, is_dry_run) = {
            let mut inner = world.cluster.lock();
            let path = ["gate/strict", "gate"][inner.faults.below(2)];
            // Otherwise they would hold all places, as everybody who may create NodeClaims can.
            let is_dry_run = inner.faults.below(50) > 0;
            (inner.store.uid(), inner.faults.below(8), path, is_dry_run)
        };
        let seconds = if number % 2 == 0 { "1ms" } else { "30s" };
        let path = format!("/{path}?timeout={seconds}");
        let claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": format!("stranger-{uid}"), "uid": uid, "labels": {"karpenter.sh/nodepool": pool}},
        });
        let gate = {
            let gates = world.gates.borrow();
            gates.get(chosen % gates.len().max(1)).cloned()
        };
        if let Some(gate) = gate {
            let review = admission(&uid, &claim, is_dry_run);
            spawn_local(async move {
                let _ = timeout(PATIENCE, gate.call(&path, review)).await;
            });
        }
        sleep(Duration::from_millis(10)).await;
    }
}
