//! Several gates and several API servers, crowded, and killed: the limit holds at every moment.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config, Error, ResourceExt};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::objects::pool;
use crate::support::control_plane::{ApiServer, ControlPlane};
use crate::support::crds::V1;
use crate::support::nodeclaim::node_claim as claim;
use crate::support::poolgate::Poolgate;
use crate::support::relay::Relay;
use crate::support::wait::wait_for;

const LIMIT: u32 = 10;
const CREATORS: u64 = 64;
const REPLICAS: usize = 3;

/// How long the creators work in each round; in the middle of it a replica is killed.
const ROUND: Duration = Duration::from_secs(3);

/// The lifetime of a ticket, and time for a sweep to come by.
const LIFETIME: Duration = Duration::from_secs(45 + 6);

/// How long anything may take that takes a moment.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the creators have done.
#[derive(Debug, Default)]
struct Tally {
    created: AtomicU64,
    denied: AtomicU64,
    failed: AtomicU64,
    /// What the last failure was.
    failure: Mutex<String>,
}

/// How many claims were stored, at each of their revisions.
#[derive(Debug, Default)]
struct Census {
    now: AtomicU64,
    most: AtomicU64,
}

/// Two API servers on one store, and gates behind a relay. Drops in the order of its fields.
struct Crowd {
    replicas: Vec<Poolgate>,
    relay: Relay,
    second: ApiServer,
    plane: ControlPlane,
    on_error: &'static str,
    apis: [Api<DynamicObject>; 2],
    tally: Arc<Tally>,
    census: Arc<Census>,
    counting: Option<JoinHandle<()>>,
    runtime: Runtime,
}

impl Crowd {
    fn start(failure_policy: &str, on_error: &'static str) -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        plane
            .kubectl(&["apply", "-f", "-"], &pool("general", Some(LIMIT)).to_string())
            .success();
        let second = plane.another_api_server();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let apis =
            [plane.kubeconfig(), second.kubeconfig()].map(|kubeconfig| runtime.block_on(claims(kubeconfig)));
        let mut crowd = Self {
            replicas: Vec::new(),
            relay: Relay::start(),
            second,
            plane,
            on_error,
            apis,
            tally: Arc::default(),
            census: Arc::default(),
            counting: None,
            runtime,
        };
        for number in 0..REPLICAS {
            crowd.replicas.push(crowd.replica(number));
        }
        crowd.publish();
        let ca = fs::read_to_string(&crowd.plane.pki().ca).expect("the authority");
        let base = format!("https://{}", crowd.relay.address());
        crowd.plane.register_gate(&base, &ca, failure_policy);
        let counting = count(crowd.apis[0].clone(), Arc::clone(&crowd.census));
        crowd.counting = Some(crowd.runtime.spawn(counting));
        crowd
    }

    /// Ends the census, which must have gone on until now.
    fn end_census(&mut self) {
        let counting = self.counting.take().expect("a census");
        assert!(!counting.is_finished(), "the census has ended early");
        counting.abort();
    }

    /// A gate; they look at the API servers by turns.
    fn replica(&self, number: usize) -> Poolgate {
        let kubeconfig = [self.plane.kubeconfig(), self.second.kubeconfig()][number % 2];
        Poolgate::replica(kubeconfig, self.plane.pki(), &["--gate-on-error", self.on_error])
    }

    fn publish(&self) {
        self.relay
            .set_targets(self.replicas.iter().map(Poolgate::admission).collect());
    }

    /// Creators crowd in while a replica is killed, which comes back afterwards.
    fn round(&mut self, number: u64) {
        let stop = Arc::new(AtomicBool::new(false));
        let creators: Vec<_> = (0..CREATORS)
            .map(|creator| {
                let api = self.apis[usize::try_from(creator % 2).expect("0 or 1")].clone();
                let (tally, stop) = (Arc::clone(&self.tally), Arc::clone(&stop));
                let chance = StdRng::seed_from_u64(number * CREATORS + creator);
                self.runtime.spawn(create_and_delete(api, tally, stop, chance))
            })
            .collect();
        std::thread::sleep(ROUND / 2);
        let victim = usize::try_from(number).expect("a small number") % REPLICAS;
        drop(self.replicas.remove(victim));
        std::thread::sleep(ROUND / 2);
        stop.store(true, Ordering::Relaxed);
        self.runtime.block_on(async {
            for creator in creators {
                timeout(PATIENCE, creator)
                    .await
                    .expect("a creator stops")
                    .expect("a creator");
            }
        });
        let successor = self.replica(victim);
        self.replicas.insert(victim, successor);
        self.publish();
    }

    /// Deletes all claims and waits until they are gone.
    fn clear(&self) {
        let api = &self.apis[0];
        self.runtime.block_on(async {
            api.delete_collection(&DeleteParams::default(), &ListParams::default())
                .await
                .expect("claims can be deleted");
            assert_eq!(
                api.list(&ListParams::default())
                    .await
                    .expect("a list")
                    .items
                    .len(),
                0
            );
        });
    }

    /// How many claims can be had.
    fn fill(&self) -> u32 {
        self.runtime.block_on(async {
            let (mut had, mut failures) = (0, 0);
            loop {
                match try_create(&self.apis[had as usize % 2]).await {
                    Try::Created(_) if had < 5 * LIMIT => had += 1,
                    Try::Created(_) => panic!("nothing is refused"),
                    Try::Denied => return had,
                    Try::Failed(error) => {
                        failures += 1;
                        assert!(failures < 20, "{error}");
                        sleep(Duration::from_millis(200)).await;
                    }
                }
            }
        })
    }

    fn most(&self) -> u64 {
        self.census.most.load(Ordering::Relaxed)
    }

    fn report(&self, name: &str, rounds: u64, worked: Duration) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let created = of(&self.tally.created);
        println!(
            "{name}: {rounds} rounds of {CREATORS} creators, limit {LIMIT}: most NodeClaims at a time {}, {created} created \
             ({} a second), {} denied, {} failed",
            self.most(),
            u128::from(created) * 1_000 / worked.as_millis(),
            of(&self.tally.denied),
            of(&self.tally.failed),
        );
        println!(
            "{name}: the last failure: {}",
            self.tally.failure.lock().expect("a lock")
        );
    }
}

/// What became of a creation.
enum Try {
    Created(String),
    Denied,
    Failed(Error),
}

async fn claims(kubeconfig: &Path) -> Api<DynamicObject> {
    // An error says that one is installed already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a config");
    let client = Client::try_from(config).expect("a client");
    let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
    Api::all_with(client, &ApiResource::from_gvk(&kind))
}

async fn try_create(api: &Api<DynamicObject>) -> Try {
    let mut object = claim("", "general");
    object["metadata"]["name"] = json!(null);
    object["metadata"]["generateName"] = json!("general-");
    let object: DynamicObject = serde_json::from_value(object).expect("a claim");
    match api.create(&PostParams::default(), &object).await {
        Ok(claim) => Try::Created(claim.name_any()),
        Err(Error::Api(status)) if status.message.contains("no place is left in NodePool general") => {
            Try::Denied
        }
        Err(error) => Try::Failed(error),
    }
}

/// Creates claims for as long as it may, and deletes each after a while.
async fn create_and_delete(
    api: Api<DynamicObject>,
    tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    mut chance: StdRng,
) {
    while !stop.load(Ordering::Relaxed) {
        let pause = match try_create(&api).await {
            Try::Created(name) => {
                tally.created.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(chance.random_range(0..200))).await;
                // One that is not deleted is one more for the others to count.
                let _ = api.delete(&name, &DeleteParams::default()).await;
                0
            }
            Try::Denied => {
                tally.denied.fetch_add(1, Ordering::Relaxed);
                chance.random_range(5..100)
            }
            Try::Failed(error) => {
                *tally.failure.lock().expect("a lock") = error.to_string();
                tally.failed.fetch_add(1, Ordering::Relaxed);
                20
            }
        };
        sleep(Duration::from_millis(pause)).await;
    }
}

/// Counts by the events of a watch, which misses no revision.
async fn count(api: Api<DynamicObject>, census: Arc<Census>) {
    let list = api.list(&ListParams::default()).await.expect("a list");
    let mut version = list.metadata.resource_version.expect("a version");
    let mut now = list.items.len() as u64;
    loop {
        let params = WatchParams::default().timeout(280);
        let mut events = api.watch(&params, &version).await.expect("a watch").boxed();
        while let Some(event) = events.next().await {
            match event.expect("an event") {
                WatchEvent::Added(claim) => {
                    now += 1;
                    version = claim.resource_version().expect("a version");
                }
                WatchEvent::Deleted(claim) => {
                    now -= 1;
                    version = claim.resource_version().expect("a version");
                }
                WatchEvent::Modified(claim) => version = claim.resource_version().expect("a version"),
                WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) => panic!("the watch ends: {}", status.message),
            }
            census.now.store(now, Ordering::Relaxed);
            census.most.fetch_max(now, Ordering::Relaxed);
        }
    }
}

/// The repetitions of the full tier, or fewer.
fn rounds(full: u64, bounded: u64) -> u64 {
    if env::var_os("POOLGATE_TEST_FULL").is_some() {
        full
    } else {
        bounded
    }
}

#[test]
fn the_limit_holds_at_every_moment_while_replicas_die() {
    let mut crowd = Crowd::start("Fail", "deny");
    let rounds = rounds(50, 3);
    for round in 0..rounds {
        crowd.round(round);
        assert!(
            crowd.most() <= u64::from(LIMIT),
            "{} NodeClaims at a time in round {round}",
            crowd.most()
        );
    }
    let worked = ROUND * u32::try_from(rounds).expect("a small number");
    crowd.report("failure policy Fail", rounds, worked);
    assert!(crowd.tally.created.load(Ordering::Relaxed) > u64::from(LIMIT));

    crowd.clear();
    let cleared = Instant::now();
    let at_once = crowd.fill();
    crowd.clear();
    std::thread::sleep(LIFETIME.saturating_sub(cleared.elapsed()));
    let later = crowd.fill();
    println!("failure policy Fail: {at_once} places could be had at once, {later} one ticket lifetime later");
    assert_eq!(later, LIMIT, "places leaked");
    assert_eq!(crowd.most(), u64::from(LIMIT));
    wait_for("the census to count the last of them", PATIENCE, || {
        (crowd.census.now.load(Ordering::Relaxed) == u64::from(LIMIT)).then_some(())
    });
    crowd.end_census();
}

#[test]
fn a_gate_that_may_be_ignored_is_overrun_only_while_replicas_die() {
    let mut crowd = Crowd::start("Ignore", "allow");
    let rounds = rounds(50, 1);
    for round in 0..rounds {
        crowd.round(round);
    }
    crowd.report(
        "failure policy Ignore",
        rounds,
        ROUND * u32::try_from(rounds).expect("a small number"),
    );
    println!(
        "failure policy Ignore: overrun by {}",
        crowd.most().saturating_sub(u64::from(LIMIT))
    );
    // With all replicas there again the limit holds: it takes no more.
    crowd.fill();
    crowd.end_census();
}
