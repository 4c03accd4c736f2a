//! What the gate asks of the API server, counted by the API server itself.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::objects::{CLAIMS, POOLS, pool};
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::faults::{Fault, FaultyApiServer};
use crate::support::nodeclaim::node_claim as claim;
use crate::support::poolgate::Poolgate;
use crate::support::wait::wait_for;

const LEDGERS: &str = "/api/v1/namespaces/poolgate-ledgers/configmaps?labelSelector=poolgate.dev/ledger";

/// How often reservations that are not needed any more are removed.
const SWEEP: u64 = 5;

/// How long a reservation of which no claim has come is kept before the claims are listed for it.
const RESERVATION: u64 = 45;

/// Creations one after the other, and at once.
const CREATIONS: u32 = 30;
const CROWD: u32 = 24;

/// A gate on an API server without other clients, and a pool with a ledger.
struct Counted {
    _gate: Poolgate,
    server: FaultyApiServer,
    client: Client,
    plane: ControlPlane,
}

/// What the API server has answered.
#[derive(Debug, Clone, Copy)]
struct Requests {
    at: Instant,
    pools_read: u64,
    ledgers_read: u64,
    ledgers_written: u64,
    claims_listed: u64,
}

impl Counted {
    fn start(limit: u32) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        let server = FaultyApiServer::before(&plane);
        let gate = Poolgate::replica(server.kubeconfig(), plane.pki(), &[]);
        let ca = fs::read_to_string(&plane.pki().ca).expect("the authority");
        plane.register_gate_for("counted-", &gate.base_url(), &ca, "Fail");
        let client = Client::of(&plane);
        client.create(POOLS, &pool("counted", Some(limit)));
        let counted = Self {
            _gate: gate,
            server,
            client,
            plane,
        };
        // The first claim of a pool finds no ledger, which costs more, once.
        counted.create("first").expect("there is room");
        counted.wait_for_a_sweep();
        counted
    }

    fn create(&self, name: &str) -> Result<Value, kube::Error> {
        let claim = claim(&format!("counted-{name}"), "counted");
        self.client.try_create(CLAIMS, &claim)
    }

    /// How many of a crowd come in that come at the same time, while each answer to the gate takes its time.
    fn crowd_in(&self, name: &str) -> u32 {
        self.server.set(Fault::Slow(Duration::from_millis(500)));
        let together = Barrier::new(usize::try_from(CROWD).expect("a small number"));
        let had = thread::scope(|scope| {
            let creators: Vec<_> = (0..CROWD)
                .map(|number| {
                    let (client, together) = (Client::of(&self.plane), &together);
                    scope.spawn(move || {
                        let claim = claim(&format!("counted-{name}-{number}"), "counted");
                        together.wait();
                        client.try_create(CLAIMS, &claim).is_ok()
                    })
                })
                .collect();
            let had = creators
                .into_iter()
                .map(|creator| creator.join().expect("a creator"));
            had.map(u32::from).sum()
        });
        self.server.set(Fault::None);
        had
    }

    /// Waits until no reservation is left: whatever is counted from then on is not of the past.
    fn wait_for_a_sweep(&self) {
        wait_for("the last reservation to go", || {
            let ledger = self.client.list(LEDGERS).pop().expect("a ledger");
            let text = ledger["data"]["ledger.json"].as_str().expect("a text");
            let ledger: Value = serde_json::from_str(text).expect("JSON");
            (ledger["reservations"] == json!({})).then_some(())
        });
    }

    fn requests(&self) -> Requests {
        let text = self.client.metrics();
        let count = |verb: &str, resource: &str| {
            let (verb, resource) = (format!("verb=\"{verb}\""), format!("resource=\"{resource}\""));
            let lines = text.lines().filter(|line| {
                line.starts_with("apiserver_request_total{")
                    && line.contains(&verb)
                    && line.contains(&resource)
            });
            lines
                .map(|line| {
                    let value = line
                        .rsplit(' ')
                        .next()
                        .and_then(|value| value.parse::<u64>().ok());
                    value.expect("a count")
                })
                .sum()
        };
        Requests {
            at: Instant::now(),
            pools_read: count("GET", "nodepools"),
            ledgers_read: count("GET", "configmaps"),
            ledgers_written: count("PUT", "configmaps"),
            claims_listed: count("LIST", "nodeclaims"),
        }
    }
}

impl Requests {
    fn since(self, before: Self) -> Self {
        Self {
            at: self.at,
            pools_read: self.pools_read - before.pools_read,
            ledgers_read: self.ledgers_read - before.ledgers_read,
            ledgers_written: self.ledgers_written - before.ledgers_written,
            claims_listed: self.claims_listed - before.claims_listed,
        }
    }

    /// How often something happens that does so every so many seconds, at most.
    fn times(self, before: Self, seconds: u64) -> u64 {
        self.at.duration_since(before.at).as_secs() / seconds + 1
    }
}

#[test]
fn a_creation_that_has_room_costs_one_read_and_one_write() {
    let counted = Counted::start(1_000);
    let before = counted.requests();
    for number in 0..CREATIONS {
        counted.create(&number.to_string()).expect("there is room");
    }
    let after = counted.requests();
    let asked = after.since(before);
    assert_eq!(
        (asked.pools_read, asked.ledgers_read),
        (CREATIONS.into(), 0),
        "{asked:?}"
    );
    let sweeps = after.times(before, SWEEP);
    let creations = u64::from(CREATIONS);
    let writes = creations..=creations + sweeps;
    assert!(writes.contains(&asked.ledgers_written), "{asked:?}");
    assert!(
        asked.claims_listed < after.times(before, RESERVATION),
        "{asked:?}"
    );
}

#[test]
fn all_who_wait_share_what_their_creations_cost() {
    let counted = Counted::start(1 + CROWD);
    let few = u64::from(CROWD / 4);
    let before = counted.requests();
    assert_eq!(counted.crowd_in("had"), CROWD);
    let after = counted.requests();
    let asked = after.since(before);
    assert!(asked.pools_read <= few, "{asked:?}");
    assert!(
        asked.ledgers_written <= few + after.times(before, SWEEP),
        "{asked:?}"
    );

    counted.wait_for_a_sweep();
    let before = counted.requests();
    assert_eq!(counted.crowd_in("denied"), 0);
    let after = counted.requests();
    let asked = after.since(before);
    assert!(asked.pools_read <= few && asked.ledgers_read <= few, "{asked:?}");
    assert!((1..=few).contains(&asked.claims_listed), "{asked:?}");
}
