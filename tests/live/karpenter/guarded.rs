//! A cluster whose node limits poolgate enforces: the gate before every NodeClaim, and the reconciler.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::full::full;
use crate::support::karpenter::{Definition, KarpenterCluster, NodeRepair, lock};
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::Reconciler;
use crate::support::recording::{Recording, counts, peak};
use crate::support::wait::wait_for;

/// How long to wait for what Karpenter brings about, perhaps one node after the other, and rarer with every error: far
/// longer than it takes, on however busy a machine. Where Karpenter has found nothing to consolidate, it looks again
/// after 5 minutes.
const DEADLINE: Duration = Duration::from_mins(8);

/// Real Karpenter behind `gate` under failure policy Fail, with `reconcile` beside it. Tests that share one
/// keep to pools and Deployments of their own names.
pub struct Guarded {
    pub cluster: KarpenterCluster,
    reconciler: Mutex<Option<Reconciler>>,
    gate: Mutex<Option<Poolgate>>,
    reviews: Mutex<Option<Poolgate>>,
}

impl Guarded {
    /// Starts gate and reconciler, with more arguments for the reconciler.
    pub fn start(args: &[&str]) -> Self {
        Self::start_repairing(NodeRepair::Off, args)
    }

    /// The same where Karpenter repairs nodes.
    pub fn start_repairing(repair: NodeRepair, args: &[&str]) -> Self {
        let (cluster, gate) = KarpenterCluster::start(Definition::Patched, repair, start_gate);
        let guarded = Self {
            cluster,
            reconciler: Mutex::default(),
            gate: Mutex::new(Some(gate)),
            reviews: Mutex::default(),
        };
        guarded.reconcile(args);
        guarded
    }

    /// Starts the gate.
    pub fn gate_alone() -> Self {
        let guarded = Self::unguarded_by(Definition::Patched, NodeRepair::Off);
        guarded.guard();
        guarded
    }

    /// Starts neither: Karpenter alone with its own definitions, until [`Self::guard`].
    pub fn unguarded() -> Self {
        Self::unguarded_by(Definition::Published, NodeRepair::Off)
    }

    /// The same where Karpenter repairs nodes.
    pub fn unguarded_repairing() -> Self {
        Self::unguarded_by(Definition::Published, NodeRepair::On)
    }

    fn unguarded_by(definition: Definition, repair: NodeRepair) -> Self {
        Self {
            cluster: KarpenterCluster::start(definition, repair, |_| ()).0,
            reconciler: Mutex::default(),
            gate: Mutex::default(),
            reviews: Mutex::default(),
        }
    }

    /// Starts the gate where there is none.
    pub fn guard(&self) {
        *lock(&self.gate) = Some(start_gate(self.cluster.plane()));
    }

    /// Kills the gate, which then denies whatever it is asked until [`Self::guard`]: it fails closed.
    pub fn kill_gate(&self) {
        *lock(&self.gate) = None;
    }

    /// Starts the reconciler where there is none.
    pub fn reconcile(&self, args: &[&str]) {
        let account = self.cluster.plane().kubeconfig_by(Account::Reconciler);
        *lock(&self.reconciler) = Some(Reconciler::start(&account, args));
    }

    /// Kills the reconciler, without a signal that it could see.
    pub fn kill_reconciler(&self) {
        *lock(&self.reconciler) = None;
    }

    /// Lets poolgate review NodePools too.
    pub fn review_pools(&self) {
        let plane = self.cluster.plane();
        let server = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Server), &[]);
        plane.register_webhooks(&server.base_url(), &server.ca());
        *lock(&self.reviews) = Some(server);
    }

    /// How many creations of NodeClaims the gate has denied so far because of limits of this mode.
    pub fn denials(&self, mode: &str) -> usize {
        let labels = format!("{{decision=\"denied\",mode=\"{mode}\",dry_run=\"false\"}}");
        let metric = format!("poolgate_gate_decisions_total{labels}");
        // It begins to be there with the first.
        self.with_gate(|gate| gate.metric(&metric).map_or(0, whole))
    }

    /// What the reconciler shows of a pool.
    pub fn number(&self, name: &str, pool: &str) -> Option<usize> {
        let metric = format!("poolgate_nodepool_{name}{{nodepool=\"{pool}\"}}");
        self.reconciler_metric(&metric).map(whole)
    }

    /// One of the reconciler's metrics, named with its labels.
    pub fn reconciler_metric(&self, metric: &str) -> Option<f64> {
        let reconciler = lock(&self.reconciler);
        reconciler.as_ref().expect("a reconciler runs").metric(metric)
    }

    /// The largest number of objects at one time in a recording.
    pub fn most(&self, recording: &Recording) -> usize {
        peak(&counts(&recording.changes(self.cluster.client()), |_| true))
    }

    /// Waits for something that Karpenter and poolgate do; panics with the whole story if it does not happen.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&KarpenterCluster) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look(&self.cluster) {
                return found;
            }
            assert!(
                begun.elapsed() < DEADLINE,
                "waited {DEADLINE:?} for {what}, in vain\n{}",
                self.story()
            );
            self.pause();
        }
    }

    /// Waits until so many pods of a Deployment run.
    #[track_caller]
    pub fn wait_until_running(&self, deployment: &str, pods: usize) {
        self.wait_for(&format!("{pods} pods of {deployment} to run"), |cluster| {
            (cluster.pods_in_phase(deployment, "Running") == pods).then_some(())
        });
    }

    /// Waits until poolgate holds so many nodes of a pool.
    #[track_caller]
    pub fn wait_until_held(&self, pool: &str, nodes: usize) {
        self.wait_for(&format!("{nodes} nodes of {pool} to be held"), |cluster| {
            (cluster.held(pool) == nodes).then_some(())
        });
    }

    /// Lets the cluster do what it does for so long.
    #[track_caller]
    pub fn linger(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.pause();
        }
    }

    /// A short pause; panics if a program has stopped. Each look at the cluster is a request or more.
    #[track_caller]
    pub fn pause(&self) {
        self.cluster.assert_alive();
        for server in [&self.gate, &self.reviews] {
            if let Some(server) = &mut *lock(server) {
                server.expect_alive();
            }
        }
        if let Some(reconciler) = &mut *lock(&self.reconciler) {
            reconciler.expect_alive();
        }
        std::thread::sleep(Duration::from_millis(400));
    }

    /// Everything that was said and what is where, for a test that fails.
    pub fn story(&self) -> String {
        let gate = lock(&self.gate).as_ref().map(|gate| gate.log());
        let reconciler = lock(&self.reconciler).as_ref().map(|reconciler| reconciler.log());
        format!(
            "{}\n== karpenter\n{}\n== gate\n{}\n== reconciler\n{}",
            self.cluster.situation(),
            self.cluster.karpenter_log(),
            gate.unwrap_or_default(),
            reconciler.unwrap_or_default(),
        )
    }

    fn with_gate<T>(&self, ask: impl FnOnce(&Poolgate) -> T) -> T {
        ask(lock(&self.gate).as_ref().expect("a gate runs"))
    }
}

/// A metric that counts.
fn whole(metric: f64) -> usize {
    metric.to_string().parse().expect("a whole number")
}

/// A gate that fails closed: what it cannot decide in time, on a busy machine, is not to count against the limit.
fn start_gate(plane: &ControlPlane) -> Poolgate {
    let gate = Poolgate::gate_watching(&plane.kubeconfig_by(Account::Gate), &[]);
    wait_for("the gate to watch NodeClaims", || {
        let (_, reported) = gate.probe("/readyz");
        reported.contains("NodeClaims: watching\n").then_some(())
    });
    plane.register_gate(&gate.base_url(), &gate.ca(), "Fail");
    gate
}

/// How long to look on where nothing is to happen: long enough for three of Karpenter's looks at what to disrupt, one
/// every ten seconds; five minutes in the full run.
pub fn observation() -> Duration {
    if full() {
        Duration::from_mins(5)
    } else {
        Duration::from_secs(30)
    }
}
