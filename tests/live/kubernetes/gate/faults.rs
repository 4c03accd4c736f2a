//! What faults of the API server and of ledgers make of a limit: every fault in every situation, on both paths.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::objects::{CLAIMS, POOLS, of_pool, pool};
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::faults::{Fault, FaultyApiServer};
use crate::support::full::full;
use crate::support::nodeclaim::node_claim;
use crate::support::poolgate::Poolgate;
use crate::support::relay::Relay;
use crate::support::wait::wait_for;

const NAMESPACES: &str = "/api/v1/namespaces";

/// How many creations come at once.
const CROWD: usize = 6;

/// How many troubles are tried side by side.
const AT_ONCE: usize = 3;

/// For how long etcd is stopped.
const OUTAGE: Duration = Duration::from_secs(30);

/// What is wrong: with the API server as the gate sees it, with its store, with a gate, or with the pool's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Server(Fault),
    /// etcd gets a SIGSTOP.
    StoreStopped,
    /// One of two gates gets a SIGSTOP.
    ReplicaStopped,
    LedgerDeleted,
    LedgerCorrupted,
    LedgerFromBackup,
}

const TROUBLES: &[Trouble] = &[
    Trouble::Server(Fault::None),
    Trouble::Server(Fault::Slow(Duration::from_secs(1))),
    Trouble::Server(Fault::Slow(Duration::from_secs(3))),
    Trouble::Server(Fault::SlowLists(Duration::from_secs(8))),
    Trouble::Server(Fault::Rejects(429)),
    Trouble::Server(Fault::Rejects(500)),
    Trouble::Server(Fault::Silent),
    Trouble::Server(Fault::BlackHole),
    Trouble::StoreStopped,
    Trouble::ReplicaStopped,
    Trouble::LedgerDeleted,
    Trouble::LedgerCorrupted,
    Trouble::LedgerFromBackup,
];

/// Those that were seen to break limits.
const BOUNDED: &[Trouble] = &[
    Trouble::Server(Fault::SlowLists(Duration::from_secs(8))),
    Trouble::Server(Fault::Silent),
    Trouble::LedgerCorrupted,
];

/// A pool when the trouble begins: so many claims, its limit before, and its limit since.
#[derive(Debug, Clone, Copy)]
struct Situation {
    name: &'static str,
    claims: usize,
    before: Option<u32>,
    limit: u32,
}

const SITUATIONS: [Situation; 4] = [
    Situation {
        name: "below",
        claims: 2,
        before: Some(5),
        limit: 5,
    },
    Situation {
        name: "full",
        claims: 5,
        before: Some(5),
        limit: 5,
    },
    Situation {
        name: "lowered",
        claims: 3,
        before: Some(5),
        limit: 3,
    },
    Situation {
        name: "limited",
        claims: 3,
        before: None,
        limit: 3,
    },
];

/// What came of it.
struct Outcome {
    /// Claims above the limit.
    over: usize,
    /// Creations that were denied though there was room for them.
    wrongly_denied: usize,
    /// From the end of the fault to the first creation that is admitted where there is room.
    recovery: Duration,
}

/// Gates of its own behind an API server of its own, for one trouble.
struct FaultRun<'a> {
    trouble: Trouble,
    number: usize,
    plane: &'a ControlPlane,
    server: FaultyApiServer,
    client: Client,
    gates: Vec<Poolgate>,
}

impl<'a> FaultRun<'a> {
    fn start(plane: &'a ControlPlane, number: usize, trouble: Trouble) -> Self {
        let client = Client::of(plane);
        let namespace = format!("trouble-{number}");
        let server = FaultyApiServer::before(plane);
        plane.create_ledger_namespace(&namespace);
        let gates = if trouble == Trouble::ReplicaStopped { 2 } else { 1 };
        let args = ["--ledger-namespace", &namespace];
        let gates: Vec<_> = (0..gates)
            .map(|_| Poolgate::replica(server.kubeconfig(), plane.pki(), &args))
            .collect();
        let service = Relay::start();
        service.set_targets(gates.iter().map(Poolgate::admission).collect());
        let base = format!("https://{}", service.address());
        let ca = fs::read_to_string(&plane.pki().ca).expect("the authority");
        for (path, failure_policy) in [("strict", "Fail"), ("lenient", "Ignore")] {
            plane.register_prompt_gate_for(&format!("{path}-{number}-"), &base, &ca, failure_policy);
        }
        Self {
            trouble,
            number,
            plane,
            server,
            client,
            gates,
        }
    }

    /// Lets a crowd into a pool in each situation while the trouble lasts. No strict pool may be above its limit.
    fn run(&self, paths: &[&str]) {
        let pools = || {
            paths
                .iter()
                .flat_map(|path| SITUATIONS.map(|situation| (*path, situation)))
        };
        let meet = Barrier::new(pools().count());
        thread::scope(|scope| {
            for (path, situation) in pools() {
                let meet = &meet;
                scope.spawn(move || {
                    let outcome = self.pool(path, situation, meet);
                    assert!(
                        path != "strict" || outcome.over == 0,
                        "{} NodeClaims above the limit: {:?}, {situation:?}",
                        outcome.over,
                        self.trouble
                    );
                });
            }
        });
    }

    fn pool(&self, path: &str, situation: Situation, meet: &Barrier) -> Outcome {
        let Self { number, trouble, .. } = *self;
        let name = &format!("{path}-{number}-{}", situation.name);
        self.client.create(POOLS, &pool(name, situation.before));
        let backup = self.fill(name, situation.claims);
        meet.wait();
        if trouble == Trouble::StoreStopped {
            // It would not store the new limits any more.
            self.set_limit(name, situation);
            meet.wait();
            self.begin(name, &backup);
        } else {
            self.begin(name, &backup);
            self.set_limit(name, situation);
        }
        let created = thread::scope(|scope| {
            if trouble == Trouble::StoreStopped {
                scope.spawn(|| self.let_store_go_on());
            }
            self.crowd(name)
        });
        let total = self.claims(name).len();
        let limit = usize::try_from(situation.limit).expect("a small number");
        let room = limit.saturating_sub(situation.claims);
        meet.wait();
        self.end();
        let ended = Instant::now();
        self.make_room(name, limit);
        wait_for("a creation where there is room", || {
            self.create(name, "after").then_some(())
        });
        let outcome = Outcome {
            over: total.saturating_sub(limit),
            wrongly_denied: room.saturating_sub(created),
            recovery: ended.elapsed(),
        };
        let recovery = outcome.recovery.as_secs_f64();
        println!(
            "| {path} | {trouble:?} | {} | {} | {} of {room} | {recovery:.1} s |",
            situation.name, outcome.over, outcome.wrongly_denied
        );
        outcome
    }

    /// From now on there is trouble.
    fn begin(&self, pool: &str, backup: &str) {
        match self.trouble {
            Trouble::Server(fault) => self.server.set(fault),
            Trouble::StoreStopped => self.plane.signal_store("STOP"),
            Trouble::ReplicaStopped => self.gates[0].signal("STOP"),
            Trouble::LedgerDeleted => self.client.delete(&self.ledger(pool)),
            Trouble::LedgerCorrupted => self.replace_ledger(pool, "no ledger"),
            Trouble::LedgerFromBackup => self.replace_ledger(pool, backup),
        }
    }

    fn end(&self) {
        match self.trouble {
            Trouble::Server(_) => self.server.set(Fault::None),
            Trouble::ReplicaStopped => self.gates[0].signal("CONT"),
            _ => {}
        }
    }

    fn let_store_go_on(&self) {
        thread::sleep(OUTAGE);
        self.plane.signal_store("CONT");
        wait_for("the API server to be ready", || {
            self.client.is_ready().then_some(())
        });
    }

    fn set_limit(&self, pool: &str, situation: Situation) {
        if situation.before != Some(situation.limit) {
            let limit = json!({"spec": {"limits": {"nodes": situation.limit.to_string()}}});
            self.client.merge(&format!("{POOLS}/{pool}"), &limit);
        }
    }

    /// Makes so many claims, and waits until the gate has counted the last of them. The ledger before the last one.
    fn fill(&self, pool: &str, claims: usize) -> String {
        let mut backup = String::new();
        for number in 0..claims {
            backup = self.ledger_text(pool).unwrap_or_default();
            wait_for("a claim to be admitted", || {
                self.create(pool, &format!("before-{number}")).then_some(())
            });
        }
        wait_for("the reservations to go", || {
            let Some(text) = self.ledger_text(pool) else {
                return Some(());
            };
            let ledger: Value = serde_json::from_str(&text).expect("JSON");
            ledger["reservations"]
                .as_object()
                .expect("reservations")
                .is_empty()
                .then_some(())
        });
        backup
    }

    /// How many of a crowd come in.
    fn crowd(&self, pool: &str) -> usize {
        thread::scope(|scope| {
            let creators: Vec<_> = (0..CROWD)
                .map(|number| scope.spawn(move || self.create(pool, &format!("crowd-{number}"))))
                .collect();
            let came_in = creators
                .into_iter()
                .filter_map(|creator| creator.join().ok().filter(|came_in| *came_in));
            came_in.count()
        })
    }

    fn create(&self, pool: &str, name: &str) -> bool {
        let claim = node_claim(&format!("{pool}-{name}"), pool);
        self.client.try_create(CLAIMS, &claim).is_ok()
    }

    /// Deletes claims until one more has room.
    fn make_room(&self, pool: &str, limit: usize) {
        let claims = self.claims(pool);
        let too_many = (claims.len() + 1).saturating_sub(limit);
        for claim in claims.iter().take(too_many) {
            let name = claim["metadata"]["name"].as_str().expect("a name");
            self.client.delete(&format!("{CLAIMS}/{name}"));
        }
    }

    fn claims(&self, pool: &str) -> Vec<Value> {
        self.client.list(&format!(
            "{CLAIMS}?labelSelector={}",
            of_pool(pool).replace('=', "%3D")
        ))
    }

    fn ledger_text(&self, pool: &str) -> Option<String> {
        let object = self.client.get(&self.ledger(pool))?;
        Some(
            object["data"]["ledger.json"]
                .as_str()
                .expect("a ledger")
                .to_owned(),
        )
    }

    fn replace_ledger(&self, pool: &str, text: &str) {
        if self.ledger_text(pool).is_some() {
            self.client
                .merge(&self.ledger(pool), &json!({"data": {"ledger.json": text}}));
        }
    }

    fn ledger(&self, pool: &str) -> String {
        let name = self.client.ledger_name(pool);
        format!("{NAMESPACES}/trouble-{}/configmaps/{name}", self.number)
    }
}

#[test]
fn no_fault_of_the_api_server_or_of_a_ledger_takes_a_strict_pool_above_its_limit() {
    let start_plane = || {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        plane
    };
    let plane = &start_plane();
    let (troubles, paths): (_, &[&str]) = if full() {
        (TROUBLES, &["strict", "lenient"])
    } else {
        (BOUNDED, &["strict"])
    };
    println!("| path | trouble | pool | above the limit | wrongly denied | recovery |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let numbered: Vec<(usize, Trouble)> = troubles.iter().copied().enumerate().collect();
    for some in numbered.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for (number, trouble) in some {
                scope.spawn(move || {
                    let own = (*trouble == Trouble::StoreStopped).then(start_plane);
                    FaultRun::start(own.as_ref().unwrap_or(plane), *number, *trouble).run(paths);
                });
            }
        });
    }
}
