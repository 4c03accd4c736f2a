//! One run: pools, creators and processes of a seed, what goes wrong with them, and what must be true when it has ended.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::cluster::{self, CLAIMS, Cluster, DEPLOYMENTS, POOLS};
use super::faults::{Fault, Faults, LONGEST_CALL};
use super::history::Event;
use super::process::{Gate, Process, reconciler, unhold};
use super::schedules::{self, SCHEDULE};
use super::store::metadata;

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// Gates and creators.
    Gates,
    /// Reconcilers and a small Karpenter, too.
    Reconcilers,
}

/// How long a run has faults.
const FAULTS: Duration = Duration::from_mins(5);

/// How long after the last fault everything must be as it should be: a dead connection, a silent watch and a reservation
/// after another.
const RECOVERY: Duration = Duration::from_mins(6);

/// How long after the last creation no reservation may be left.
const SETTLED: Duration = Duration::from_mins(3);

/// How often the `CronJob` runs.
const CRON_JOB: Duration = Duration::from_mins(5);

/// The annotation by which a pool leaves its limit to poolgate.
pub(super) const NODE_LIMIT: &str = "poolgate.dev/node-limit";

/// How a reservation lives in these worlds.
pub(super) const LIFETIME: Duration = Duration::from_mins(1);

/// What a denial says if a LIST came too late for it.
const LATE: [&str; 2] = ["by the last count", "listing the pool's NodeClaims timed out"];

/// How long before its own deadline a creation may be denied because of that: longer than the gate needs.
const LATE_BEFORE: Duration = Duration::from_millis(200);

/// What came of a run.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) hash: u64,
    pub(super) violations: Vec<String>,
    pub(super) happened: BTreeMap<&'static str, usize>,
}

/// What the parts of a run share.
pub(super) struct World {
    pub(super) cluster: Arc<Cluster>,
    pub(super) pools: Vec<String>,
    random: RefCell<StdRng>,
    pub(super) gates: RefCell<Vec<Gate>>,
    pub(super) reconcilers: RefCell<Vec<(String, Process)>>,
    names: RefCell<usize>,
    calls: RefCell<u64>,
    /// How many claims of a pool Karpenter is creating.
    creating: RefCell<BTreeMap<String, isize>>,
    /// The spec of each pool that Karpenter saw last.
    observed: RefCell<BTreeMap<String, Value>>,
    /// The claims for which Karpenter has created a replacement.
    replaced: RefCell<BTreeSet<String>>,
    /// The claims whose drain has begun.
    draining: RefCell<BTreeSet<String>>,
    /// Whether NodeClaims are still wanted.
    is_wanted: RefCell<bool>,
    /// Whether no gate may be started, because the ledgers move.
    pub(super) is_moving: RefCell<bool>,
}

impl World {
    /// A world of this seed, in which nothing runs yet.
    pub(super) fn new(seed: u64, cluster: Arc<Cluster>) -> Rc<Self> {
        Rc::new(Self {
            pools: vec!["blue".into(), "red".into()],
            random: RefCell::new(StdRng::seed_from_u64(seed)),
            gates: RefCell::default(),
            reconcilers: RefCell::default(),
            names: RefCell::default(),
            calls: RefCell::default(),
            creating: RefCell::default(),
            observed: RefCell::default(),
            replaced: RefCell::default(),
            draining: RefCell::default(),
            is_wanted: RefCell::new(true),
            is_moving: RefCell::default(),
            cluster,
        })
    }

    /// Where the ledgers are.
    pub(super) fn ledgers(&self) -> String {
        cluster::ledgers(&self.cluster.lock().namespace)
    }

    /// Stores a NodePool.
    pub(super) fn store_pool(&self, name: &str, limit: (Option<usize>, bool), mode: &str, surge: usize) {
        let at = self.cluster.text_time();
        let stored = self.cluster.change(|store| {
            let uid = store.uid();
            store.create(POOLS, pool(name, &uid, limit, mode, surge), &at)
        });
        stored.expect("a new pool");
    }

    /// Lets the limit of a NodePool follow the clock, from its lowest number on.
    fn schedule(&self, name: &str) {
        let schedule = schedules::draw(self);
        let lowest = schedules::lowest(&schedule).to_string();
        let change = json!({
            "metadata": {"annotations": {SCHEDULE: schedule, NODE_LIMIT: lowest}},
            "spec": {"limits": {"nodes": lowest}},
        });
        let changed = self.cluster.change(|store| store.merge(POOLS, name, &change));
        changed.expect("a pool");
    }

    pub(super) fn between(&self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.random.borrow_mut().random_range(least..=most))
    }

    pub(super) fn below(&self, number: usize) -> usize {
        self.random.borrow_mut().random_range(0..number.max(1))
    }

    pub(super) fn chance(&self, probability: f64) -> bool {
        self.random.borrow_mut().random_bool(probability)
    }

    pub(super) fn is_wanted(&self) -> bool {
        *self.is_wanted.borrow()
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.cluster.lock().faults.has(fault)
    }

    /// Whether something may still go wrong.
    pub(super) fn is_troubled(&self) -> bool {
        Instant::now() < self.cluster.lock().faults.until()
    }

    pub(super) fn name(&self, of: &str) -> String {
        *self.names.borrow_mut() += 1;
        format!("{of}-{}", self.names.borrow())
    }

    /// Creates a NodeClaim as an API server does: reviewed, and stored some time after that. Returns its name, if it was.
    pub(super) async fn create(&self, pool: &str, is_dry_run: bool) -> Option<String> {
        let began = Instant::now();
        let name = self.name(pool);
        let (uid, owner) = {
            let mut inner = self.cluster.lock();
            let owner = inner
                .store
                .get(POOLS, pool)
                .map(|pool| metadata(&pool, "uid").to_owned());
            (inner.store.uid(), owner)
        };
        // Karpenter creates none for a pool that does not exist.
        let owner = owner?;
        let mut claim = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {
                "name": name, "uid": uid, "labels": {"karpenter.sh/nodepool": pool},
                "ownerReferences": [{"kind": "NodePool", "name": pool, "uid": owner}],
            },
            "spec": {"expireAfter": "Never"},
        });
        let repeats = self.cluster.lock().faults.strikes(Fault::RepeatedCalls, 0.4);
        let mut is_admitted = self.review(pool, &claim, is_dry_run).await;
        if repeats {
            sleep(self.between(0, 3_000)).await;
            is_admitted = self.review(pool, &claim, is_dry_run).await;
        }
        let left = LONGEST_CALL.saturating_sub(began.elapsed());
        if !is_admitted || is_dry_run || left.is_zero() {
            return None;
        }
        if self.cluster.lock().faults.strikes(Fault::OtherWebhook, 0.3) {
            self.cluster.lock().checker.happens("denied by another webhook");
            return None;
        }
        let commit = self.cluster.lock().faults.commit(left);
        sleep(commit).await;
        claim["status"] = json!({});
        let at = self.cluster.text_time();
        let stored = self.cluster.change(|store| store.create(CLAIMS, claim, &at));
        stored.is_ok().then_some(name)
    }

    /// Asks a gate. Without an answer in time the creation is denied: the failure policy is `Fail`.
    async fn review(&self, pool: &str, claim: &Value, is_dry_run: bool) -> bool {
        let call = {
            let mut calls = self.calls.borrow_mut();
            *calls += 1;
            *calls
        };
        let gate = {
            let gates = self.gates.borrow();
            gates.get(self.below(gates.len())).cloned()
        };
        let Some(gate) = gate else { return false };
        let seconds = if self.has(Fault::ShortTimeouts) {
            2
        } else if self.has(Fault::Strangers) {
            3
        } else {
            10
        };
        let review = admission(&format!("review-{call}"), claim, is_dry_run);
        let uid = metadata(claim, "uid").to_owned();
        self.cluster.note(&format!("review {call} of {uid} in {pool}"));
        if is_dry_run {
            // It holds no place, so that nothing is promised of it.
            let path = format!("/gate/strict?timeout={seconds}s");
            let _ = timeout(Duration::from_secs(seconds), gate.call(&path, review)).await;
            return false;
        }
        self.cluster.tell(&Event::Review {
            call,
            claim: uid,
            pool: pool.into(),
        });
        let path = format!("/gate/strict?timeout={seconds}s");
        let (limit, began) = (Duration::from_secs(seconds), Instant::now());
        let Ok(Some(answer)) = timeout(limit, gate.call(&path, review)).await else {
            self.cluster.note(&format!("review {call} gets no answer"));
            self.cluster.tell(&Event::NoAnswer { call });
            let harmless = [Fault::Strangers, Fault::SlowLists];
            if self.cluster.lock().faults.are_only(&harmless) {
                self.fail(format!("review {call} gets no answer, although the gate works"));
            }
            return false;
        };
        let is_allowed = answer["response"]["allowed"] == true;
        let message = answer["response"]["status"]["message"]
            .as_str()
            .unwrap_or_default();
        self.cluster
            .note(&format!("review {call} allowed {is_allowed} {message}"));
        let is_late = LATE.iter().any(|late| message.contains(late));
        if is_late && began.elapsed() + LATE_BEFORE < limit * 4 / 5 {
            self.fail(format!("review {call} had time to wait for a LIST: {message}"));
        }
        self.cluster.tell(&Event::Answer {
            call,
            refusal: (!is_allowed).then(|| message.to_owned()),
        });
        is_allowed
    }

    /// Deletes a NodeClaim: Karpenter removes it when its node has gone.
    pub(super) async fn delete(&self, name: &str) {
        let at = self.cluster.text_time();
        cluster::delete(&self.cluster, CLAIMS, name, &at);
        sleep(self.between(500, 20_000)).await;
        self.cluster.change(|store| store.remove(CLAIMS, name));
    }

    /// So many claims of a pool more are being created. Returns how many are.
    pub(super) fn creating(&self, pool: &str, more: isize) -> usize {
        let mut creating = self.creating.borrow_mut();
        let count = creating.entry(pool.into()).or_default();
        *count += more;
        usize::try_from(*count).unwrap_or(0)
    }

    /// Karpenter has seen this spec of a pool.
    pub(super) fn observes(&self, pool: &str, spec: Option<Value>) {
        self.observed
            .borrow_mut()
            .insert(pool.into(), spec.unwrap_or_default());
    }

    pub(super) fn has_observed(&self, pool: &str, spec: &Value) -> bool {
        self.observed.borrow().get(pool) == Some(spec)
    }

    /// Karpenter has created a replacement for this claim, or has given it up.
    pub(super) fn replaces(&self, claim: &str, has_begun: bool) {
        let mut replaced = self.replaced.borrow_mut();
        if has_begun {
            replaced.insert(claim.into());
        } else {
            replaced.remove(claim);
        }
    }

    pub(super) fn is_replaced(&self, claim: &str) -> bool {
        self.replaced.borrow().contains(claim)
    }

    /// Whether the drain of this claim has not begun before.
    pub(super) fn begins_drain(&self, claim: &str) -> bool {
        self.draining.borrow_mut().insert(claim.into())
    }

    pub(super) fn start_gate(&self) -> Gate {
        Gate::start(&self.cluster, &self.name("gate"), LIFETIME)
    }

    pub(super) fn start_reconciler(&self) -> (String, Process) {
        let name = self.name("reconciler");
        let process = reconciler(&self.cluster, &name);
        (name, process)
    }

    /// Whether a reconciler of this name runs.
    pub(super) fn is_running(&self, name: &str) -> bool {
        self.reconcilers
            .borrow()
            .iter()
            .any(|(running, _)| running == name)
    }

    /// A process at random; with how it is started again.
    pub(super) fn victim(&self) -> (Process, bool, usize) {
        let (gates, reconcilers) = (self.gates.borrow(), self.reconcilers.borrow());
        let place = self.cluster.lock().faults.below(gates.len() + reconcilers.len());
        match gates.get(place) {
            Some(gate) => (gate.process.clone(), true, place),
            None => (
                reconcilers[place - gates.len()].1.clone(),
                false,
                place - gates.len(),
            ),
        }
    }

    pub(super) fn pause_of(&self, least: u64, most: u64) -> Duration {
        self.cluster.lock().faults.between(least, most)
    }

    pub(super) fn a_pool(&self) -> String {
        self.pools[self.cluster.lock().faults.below(self.pools.len())].clone()
    }
}

/// What an API server asks of a gate.
pub(super) fn admission(uid: &str, claim: &Value, is_dry_run: bool) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": uid, "operation": "CREATE", "name": claim["metadata"]["name"],
            "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodeClaim"},
            "object": claim, "dryRun": is_dry_run,
        },
    })
}

/// A NodePool with this limit, which it may leave to poolgate.
fn pool(name: &str, uid: &str, (limit, is_left): (Option<usize>, bool), mode: &str, surge: usize) -> Value {
    let mut annotations = json!({"poolgate.dev/node-limit-mode": mode});
    if surge > 0 {
        annotations["poolgate.dev/surge"] = surge.to_string().into();
    }
    if let Some(limit) = limit.filter(|_| is_left) {
        annotations[NODE_LIMIT] = limit.to_string().into();
    }
    let limits = limit.map_or(json!(null), |limit| json!({"nodes": limit.to_string()}));
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {"name": name, "uid": uid, "generation": 1, "annotations": annotations},
        "spec": {
            "limits": limits,
            "disruption": {"nodeLimitMode": mode, "consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]},
            "template": {"spec": {"expireAfter": "Never"}},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]},
    })
}

/// Its pods may start at any time, so that only the age of the Lease says that none runs.
fn store_deployment(cluster: &Cluster) {
    let at = cluster.text_time();
    let deployment = json!({
        "metadata": {"name": "poolgate-reconciler"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"args": ["reconcile"]}]}}},
    });
    let created = cluster.change(|store| store.create(DEPLOYMENTS, deployment, &at));
    created.expect("a new Deployment");
}

/// Runs a seed.
pub(super) async fn run(seed: u64, is_shown: bool) -> Outcome {
    let scene = if seed % 4 == 3 {
        Scene::Reconcilers
    } else {
        Scene::Gates
    };
    let faults = Faults::of(seed, Instant::now() + FAULTS);
    let cluster = Cluster::new(faults, is_shown);
    cluster.note(&format!(
        "seed {seed}, {scene:?}, {:?}",
        cluster.lock().faults.kinds
    ));
    let world = World::new(seed, cluster);
    for name in &world.pools {
        let limit = (!world.chance(0.1)).then(|| 1 + world.below(5));
        let mode = if scene == Scene::Gates && world.chance(0.25) {
            "Soft"
        } else {
            "Hard"
        };
        let surge = if mode == "Hard" && world.chance(0.4) {
            1 + world.below(2)
        } else {
            0
        };
        let is_left = scene == Scene::Reconcilers && world.chance(0.5);
        world.store_pool(name, (limit, is_left), mode, surge);
        if is_left && limit.is_some() && world.chance(0.6) {
            world.schedule(name);
        }
    }
    let gates = 2 + world.below(2);
    for _ in 0..gates {
        let gate = world.start_gate();
        world.gates.borrow_mut().push(gate);
    }
    sleep(Duration::from_secs(1)).await;
    match scene {
        Scene::Gates => super::creators::start(&world),
        Scene::Reconcilers => {
            for _ in 0..2 {
                let process = world.start_reconciler();
                world.reconcilers.borrow_mut().push(process);
            }
            store_deployment(&world.cluster);
            super::karpenter::start(&world);
            super::schedules::watch(&world);
            if super::freezes::are_in(seed) {
                spawn_local(super::freezes::begin(Rc::clone(&world), seed));
            }
            let world = Rc::clone(&world);
            spawn_local(async move {
                loop {
                    sleep(CRON_JOB).await;
                    unhold(&world.cluster, &world.name("cronjob"));
                }
            });
        }
    }
    super::trouble::begin(&world, scene);
    let until = world.cluster.lock().faults.until();
    sleep_until(until).await;
    world.cluster.note("the faults end");
    sleep(match scene {
        Scene::Gates => RECOVERY,
        Scene::Reconcilers => 3 * RECOVERY,
    })
    .await;
    super::expect::filled(&world, scene);
    if super::freezes::are_in(seed) {
        super::freezes::check(&world).await;
    }
    *world.is_wanted.borrow_mut() = false;
    sleep(SETTLED).await;
    super::expect::settled(&world);
    let hash = world.cluster.hash();
    let inner = world.cluster.lock();
    Outcome {
        hash,
        violations: inner.checker.violations.clone(),
        happened: inner.checker.happened.clone(),
    }
}

impl World {
    /// What was promised does not hold.
    pub(super) fn fail(&self, violation: String) {
        self.cluster.note(&format!("VIOLATION {violation}"));
        self.cluster.lock().checker.violations.push(violation);
    }
}
