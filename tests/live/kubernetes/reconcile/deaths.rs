//! A reconciler that dies at any point, and an API server that does: nobody is ended who was not to be, and no mark
//! stays.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::json;

use crate::support::accounts::Account;
use crate::support::chance::random;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::full::full;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

/// How many nodes the pool has at the beginning of a round, and how many it may have then.
const NODES: u32 = 6;
const LIMIT: u32 = 4;

/// Whoever dies is missed soon, and ends pools as fast as it can.
const HASTE: [&str; 3] = [
    "--lease-duration=3s",
    "--settle=1s",
    "--max-terminations-per-minute=1000",
];

/// What a run of rounds has seen.
#[derive(Default)]
struct Seen {
    convergence: Vec<Duration>,
}

impl Seen {
    fn tell(mut self, what: &str) {
        self.convergence.sort();
        let at = |share: usize| self.convergence[(self.convergence.len() - 1) * share / 100];
        println!(
            "{what}: {} rounds, converged after {:?} (median), {:?} (longest)",
            self.convergence.len(),
            at(50),
            at(100)
        );
    }
}

/// One round: a full pool whose limit is lowered, somebody dies at a random moment, and in the end the pool has what
/// it may have, all of it held; then its limit goes, and so do the marks.
fn round(fleet: &mut Fleet, number: u32, dies: impl FnOnce() -> Reconciler) -> (Reconciler, Duration) {
    let pool = format!("round-{number}");
    fleet.pool(&pool, NODES, &json!({"poolgate.dev/over-limit": "Terminate"}));
    let names: Vec<String> = (0..NODES).map(|node| format!("{pool}-{node}")).collect();
    for (node, name) in names.iter().enumerate() {
        let empty = node == 1 || node == 4;
        if empty {
            fleet.empty(&pool, name);
        } else {
            fleet.busy(&pool, name);
        }
    }
    fleet.limit(&pool, LIMIT);
    let reconciler = dies();
    let begun = Instant::now();
    let rest: Vec<&str> = [0, 2, 3, 5].map(|node: usize| names[node].as_str()).to_vec();
    wait_for("the pool to shrink and be held", || {
        let living: BTreeSet<String> = fleet.living_claims(&pool).into_iter().collect();
        // The empty ones go, and never another one.
        for name in &rest {
            assert!(living.contains(*name), "{name} was deleted: {living:?}");
        }
        let held = fleet.held(&pool);
        (living.len() == rest.len() && rest.iter().all(|name| held.iter().any(|held| held == name)))
            .then_some(())
    });
    let took = begun.elapsed();
    fleet.change_pool(&pool, &json!({"spec": {"limits": null}}));
    fleet.wait_until_held(&pool, &[]);
    (reconciler, took)
}

#[test]
fn a_killed_reconciler_leaves_nothing_wrong() {
    let rounds = if full() { 100 } else { 5 };
    let mut random = random();
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    let account = plane.kubeconfig_by(Account::Reconciler);
    let start = || Reconciler::launch(&account, &HASTE);
    let mut reconciler = start();
    let mut seen = Seen::default();
    for number in 0..rounds {
        let wait = Duration::from_millis(random.random_range(0..4_000));
        let (next, took) = round(&mut fleet, number, || {
            std::thread::sleep(wait);
            reconciler.kill();
            start()
        });
        reconciler = next;
        seen.convergence.push(took);
    }
    seen.tell("killed reconcilers");
}

fn wait_until_victims_are_listed(plane: &ControlPlane) {
    let client = Client::of(plane);
    wait_for("victims in a ledger", || {
        let ledgers = client.list("/api/v1/configmaps?labelSelector=poolgate.dev/ledger");
        json!(ledgers).to_string().contains("victims").then_some(())
    });
}

#[test]
fn an_api_server_that_dies_leaves_nothing_wrong() {
    let rounds = if full() { 10 } else { 1 };
    let mut random = random();
    let mut plane = ControlPlane::start();
    drop(Fleet::in_cluster(&plane));
    let account = plane.kubeconfig_by(Account::Reconciler);
    let mut reconciler = Reconciler::start(&account, &HASTE);
    let mut seen = Seen::default();
    for number in 0..=rounds {
        let wait = Duration::from_millis(random.random_range(0..4_000));
        let mut fleet = Fleet::of(&plane);
        let (kept, took) = round(&mut fleet, number, || {
            if number == 0 {
                // The worst moment: who is to go is written down, and nothing changes any more that would tell.
                wait_until_victims_are_listed(&plane);
            } else {
                std::thread::sleep(wait);
            }
            plane.restart_api_server();
            reconciler
        });
        reconciler = kept;
        seen.convergence.push(took);
    }
    seen.tell("killed API servers");
}
