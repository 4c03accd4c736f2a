//! Several gates before several API servers, and a crowd that asks for places.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hyper::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::census::{Census, follow};
use super::creators::{Tally, Try, create_and_delete, try_create};
use super::objects::{POOLS, of_pool, pool};
use crate::support::accounts::Account;
use crate::support::control_plane::{ApiServer, ControlPlane};
use crate::support::crds::V1;
use crate::support::history::Kind;
use crate::support::poolgate::Poolgate;
use crate::support::relay::Relay;
use crate::support::wait::{PATIENCE, wait_for};

pub const LIMIT: u32 = 10;
const CREATORS: u64 = 64;
const REPLICAS: usize = 3;

/// How many claims are created in each round before a replica is killed, and again after it.
const HALF_A_ROUND: u64 = 20;

/// Two API servers on one store.
pub struct Servers {
    second: ApiServer,
    plane: ControlPlane,
    /// With the rights of the gate, one for each server.
    gate: [PathBuf; 2],
}

static SERVERS: LazyLock<Servers> = LazyLock::new(Servers::start);

impl Servers {
    /// Others than those that tests share.
    fn start() -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        let second = plane.another_api_server();
        Servers {
            gate: [plane.kubeconfig(), second.kubeconfig()]
                .map(|server| plane.kubeconfig_at(server, Account::Gate)),
            second,
            plane,
        }
    }

    /// Sends a signal to the second API server.
    pub fn signal_second(&self, signal: &str) {
        self.second.signal(signal);
    }

    /// Sends a signal to etcd.
    pub fn signal_store(&self, signal: &str) {
        self.plane.signal_store(signal);
    }
}

/// A pool on both servers, with gates behind a relay. Drops in the order of its fields.
pub struct Crowd {
    pub servers: &'static Servers,
    replicas: Vec<Poolgate>,
    relay: Relay,
    pool: &'static str,
    /// The name of the pool's ledger.
    ledger: String,
    apis: [Api<DynamicObject>; 2],
    tally: Arc<Tally>,
    census: Arc<Census>,
    counting: Option<JoinHandle<()>>,
    runtime: Runtime,
}

impl Crowd {
    pub fn start(name: &'static str, failure_policy: &str) -> Self {
        Self::of(&SERVERS, name, failure_policy)
    }

    /// The same on API servers of its own, which may be stopped.
    pub fn alone(name: &'static str) -> Self {
        Self::of(Box::leak(Box::new(Servers::start())), name, "Fail")
    }

    fn of(servers: &'static Servers, name: &'static str, failure_policy: &str) -> Self {
        let Servers { plane, second, .. } = servers;
        let admin = crate::support::client::Client::of(plane);
        admin.create(POOLS, &pool(name, Some(LIMIT)));
        let ledger = admin.ledger_name(name);
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let apis =
            [plane.kubeconfig(), second.kubeconfig()].map(|kubeconfig| runtime.block_on(claims(kubeconfig)));
        let mut crowd = Self {
            servers,
            replicas: Vec::new(),
            relay: Relay::start(),
            pool: name,
            ledger: ledger.clone(),
            apis,
            tally: Arc::default(),
            census: Arc::default(),
            counting: None,
            runtime,
        };
        crowd.replace_all();
        let ca = fs::read_to_string(&plane.pki().ca).expect("the authority");
        let base = format!("https://{}", crowd.relay.address());
        plane.register_gate_for(&format!("{name}-"), &base, &ca, failure_policy);
        let (census, claims) = (Arc::clone(&crowd.census), crowd.apis[0].clone());
        let client = claims.clone().into_client();
        let pools = ApiResource::from_gvk(&GroupVersionKind::gvk("karpenter.sh", "v1", "NodePool"));
        let pools = Api::all_with(client.clone(), &pools);
        let ledgers = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let ledgers = Api::namespaced_with(client, "poolgate-ledgers", &ledgers);
        crowd.counting = Some(crowd.runtime.spawn(async move {
            let named = |name: String| ListParams::default().fields(&format!("metadata.name={name}"));
            tokio::join!(
                follow(pools, named(name.to_owned()), Kind::Pool, &census),
                follow(ledgers, named(ledger), Kind::Ledger, &census),
                follow(
                    claims,
                    ListParams::default().labels(&of_pool(name)),
                    Kind::Claim,
                    &census
                ),
            );
        }));
        crowd
    }

    /// Ends the census, which must have gone on until now.
    pub fn end_census(&mut self) {
        let counting = self.counting.take().expect("a census");
        assert!(!counting.is_finished(), "the census has ended early");
        counting.abort();
    }

    /// Judges all that the census has seen. Returns how many claims that were.
    pub fn judge(&self) -> usize {
        self.census.judge(self.pool)
    }

    /// A gate; they look at the API servers by turns.
    fn replica(&self, number: usize) -> Poolgate {
        let Servers { gate, plane, .. } = self.servers;
        Poolgate::replica(&gate[number % 2], plane.pki(), &["--reservation-lifetime", "45s"])
    }

    /// Sends a signal to the first replica.
    pub fn signal_replica(&self, signal: &str) {
        self.replicas[0].signal(signal);
    }

    fn publish(&self) {
        self.relay
            .set_targets(self.replicas.iter().map(Poolgate::admission).collect());
    }

    /// Kills all replicas: no gate answers.
    pub fn kill_all(&mut self) {
        self.replicas.clear();
        self.publish();
    }

    /// Starts as many replicas as there should be.
    pub fn replace_all(&mut self) {
        self.replicas = (0..REPLICAS).map(|number| self.replica(number)).collect();
        self.publish();
    }

    /// Creators crowd in while a replica is killed, which comes back afterwards.
    pub fn round(&mut self, number: u64) {
        let creators = self.creators(number);
        self.wait_until_created(HALF_A_ROUND);
        let victim = usize::try_from(number).expect("a small number") % REPLICAS;
        drop(self.replicas.remove(victim));
        self.wait_until_created(HALF_A_ROUND);
        self.end(creators);
        let successor = self.replica(victim);
        self.replicas.insert(victim, successor);
        self.publish();
    }

    /// Creators crowd in during a trouble, and go on after it.
    pub fn crowd_in_during(&self, number: u64, trouble: impl FnOnce()) {
        let creators = self.creators(number);
        self.wait_until_created(HALF_A_ROUND);
        trouble();
        self.wait_until_created(HALF_A_ROUND);
        self.end(creators);
    }

    fn creators(&self, number: u64) -> (Vec<JoinHandle<()>>, Arc<AtomicBool>) {
        let stop = Arc::new(AtomicBool::new(false));
        let creators = (0..CREATORS).map(|creator| {
            let api = self.api(creator).clone();
            let told = (Arc::clone(&self.tally), Arc::clone(&self.census));
            let chance = StdRng::seed_from_u64(number * CREATORS + creator);
            self.runtime
                .spawn(create_and_delete(api, self.pool, told, Arc::clone(&stop), chance))
        });
        (creators.collect(), stop)
    }

    fn end(&self, (creators, stop): (Vec<JoinHandle<()>>, Arc<AtomicBool>)) {
        stop.store(true, Ordering::Relaxed);
        self.runtime.block_on(async {
            for creator in creators {
                timeout(PATIENCE, creator)
                    .await
                    .expect("a creator stops")
                    .expect("a creator");
            }
        });
    }

    /// How many violations of an invariant the replicas have counted.
    pub fn violations(&self) -> u64 {
        let counted = self.replicas.iter().map(|replica| {
            let (_, text) = replica.probe("/metrics");
            sum(&text, "poolgate_invariant_violations_total{")
        });
        counted.sum()
    }

    fn wait_until_created(&self, more: u64) {
        let created = || self.tally.created.load(Ordering::Relaxed);
        let enough = created() + more;
        wait_for("creators to create", || (created() >= enough).then_some(()));
    }

    /// Deletes all claims and waits until they are gone.
    pub fn clear(&self) {
        let all = ListParams::default().labels(&of_pool(self.pool));
        self.runtime.block_on(async {
            let api = &self.apis[0];
            api.delete_collection(&DeleteParams::default(), &all)
                .await
                .expect("claims can be deleted");
            assert_eq!(api.list(&all).await.expect("a list").items.len(), 0);
        });
    }

    /// How many claims can be had, one after the other.
    pub fn fill(&self) -> u32 {
        let begun = Instant::now();
        self.runtime.block_on(async {
            let mut had = 0;
            loop {
                match try_create(self.api(had.into()), self.pool, &self.census).await {
                    Try::Created(_) if had < 5 * LIMIT => had += 1,
                    Try::Created(_) => panic!("nothing is denied"),
                    Try::Denied => return had,
                    Try::Failed(error) => {
                        assert!(begun.elapsed() < PATIENCE, "{error}");
                        sleep(Duration::from_millis(200)).await;
                    }
                }
            }
        })
    }

    /// How many claims can be had if all creators come at once, and every call of theirs is answered by a gate that
    /// knows what it says. Where one is not, all is tried again.
    pub fn crowd_in(&self) -> usize {
        wait_for("a crowd whose every call is answered", || {
            let unanswered = self.unanswered();
            let had = self.try_at_once();
            (self.unanswered() == unanswered).then_some(had)
        })
    }

    /// How many claims can be created at once while no gate answers.
    pub fn crowd_in_unasked(&self) -> usize {
        assert!(self.replicas.is_empty(), "somebody may answer");
        self.try_at_once()
    }

    fn try_at_once(&self) -> usize {
        let tries = (0..CREATORS).map(|creator| try_create(self.api(creator), self.pool, &self.census));
        let tries = self.runtime.block_on(join_all(tries));
        let had = tries.iter().filter(|tried| matches!(tried, Try::Created(_)));
        had.count()
    }

    /// The API server that a creator asks.
    fn api(&self, creator: u64) -> &Api<DynamicObject> {
        &self.apis[usize::from(creator % 2 == 1)]
    }

    /// How many creations came in unanswered: let in by the API servers, or by gates that could not decide.
    fn unanswered(&self) -> u64 {
        let failed_open = self.apis.iter().map(|api| {
            let request = Request::get("/metrics").body(Vec::new()).expect("a request");
            let client = api.clone().into_client();
            let text = self.runtime.block_on(client.request_text(request));
            sum(
                &text.expect("metrics"),
                r#"apiserver_admission_webhook_fail_open_count{name="gate.nodeclaims.poolgate.dev""#,
            )
        });
        let undecided = self.replicas.iter().map(|replica| {
            let (_, text) = replica.probe("/metrics");
            sum(&text, "poolgate_gate_errors_total{")
        });
        failed_open.chain(undecided).sum()
    }

    /// Waits until nothing of the past holds a place: what was admitted and never stored does so for one lifetime.
    pub fn wait_until_no_reservation_is_left(&self) {
        let ledgers: Api<ConfigMap> = Api::namespaced(self.apis[0].clone().into_client(), "poolgate-ledgers");
        wait_for("the last reservation to go", || {
            let object = self
                .runtime
                .block_on(ledgers.get(&self.ledger))
                .expect("a ledger");
            let text = &object.data.expect("data")["ledger.json"];
            let ledger: Value = serde_json::from_str(text).expect("JSON");
            let reservations = ledger["reservations"].as_object().expect("reservations");
            reservations.is_empty().then_some(())
        });
    }

    /// The most claims that ever was at once.
    pub fn most(&self) -> u64 {
        self.census.most.load(Ordering::Relaxed)
    }

    /// Waits until the census has counted so many.
    pub fn wait_until_counted(&self, claims: u32) {
        wait_for("the census to count the last of them", || {
            (self.census.now.load(Ordering::Relaxed) == u64::from(claims)).then_some(())
        });
    }

    /// Prints what was done.
    pub fn report(&self, rounds: u64, worked: Duration) {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (name, created) = (self.pool, of(&self.tally.created));
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

/// The sum of a metric over the labels that follow.
fn sum(metrics: &str, series: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(series));
    lines
        .map(|line| {
            let value = line
                .rsplit(' ')
                .next()
                .and_then(|value| value.parse::<u64>().ok());
            value.expect("a count")
        })
        .sum()
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
