//! A cluster whose node limits poolgate enforces: the gate before every NodeClaim, and the reconciler.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::full::full;
use crate::support::karpenter::{Definition, KarpenterCluster, lock};
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::Reconciler;
use crate::support::recording::{Recording, counts, peak};
use crate::support::wait::wait_for;

/// How long to wait for what Karpenter brings about, perhaps one node after the other, and rarer with every error: far
/// longer than it takes, on however busy a machine. Where Karpenter has found nothing to consolidate, it looks again
/// after 5 minutes.
const DEADLINE: Duration = Duration::from_mins(8);

/// Real Karpenter behind `serve --gate` under failure policy Fail, with `reconcile` beside it. Tests that share one
/// keep to pools and Deployments of their own names.
pub(super) struct Guarded {
    pub(super) cluster: KarpenterCluster,
    reconciler: Option<Mutex<Reconciler>>,
    gate: Option<Mutex<Poolgate>>,
}

impl Guarded {
    /// Starts gate and reconciler, with more arguments for the reconciler.
    pub(super) fn start(args: &[&str]) -> Self {
        let mut guarded = Self::gate_alone();
        guarded.reconcile(args);
        guarded
    }

    /// Starts the gate.
    pub(super) fn gate_alone() -> Self {
        let (cluster, gate) = KarpenterCluster::start(Definition::Patched, start_gate);
        Self {
            cluster,
            reconciler: None,
            gate: Some(Mutex::new(gate)),
        }
    }

    /// Starts neither: Karpenter alone with its own definitions, until [`Self::guard`].
    pub(super) fn unguarded() -> Self {
        Self {
            cluster: KarpenterCluster::start(Definition::Published, |_| ()).0,
            reconciler: None,
            gate: None,
        }
    }

    /// Starts the gate where there was none.
    pub(super) fn guard(&mut self) {
        self.gate = Some(Mutex::new(start_gate(self.cluster.plane())));
    }

    /// Starts the reconciler.
    pub(super) fn reconcile(&mut self, args: &[&str]) {
        let account = self.cluster.plane().kubeconfig_by(Account::Reconciler);
        let reconciler = Reconciler::start(&account, args);
        self.reconciler = Some(Mutex::new(reconciler));
    }

    /// Lets poolgate review NodePools too.
    pub(super) fn review_pools(&self) {
        let server = self.gate();
        self.cluster
            .plane()
            .register_webhooks(&server.base_url(), &server.ca());
    }

    /// How many creations of NodeClaims the gate has denied so far because of limits of this mode.
    pub(super) fn denials(&self, mode: &str) -> usize {
        let labels = format!("{{decision=\"denied\",mode=\"{mode}\",dry_run=\"false\"}}");
        let metric = format!("poolgate_gate_decisions_total{labels}");
        // It begins to be there with the first.
        self.gate().metric(&metric).map_or(0, whole)
    }

    /// What the reconciler shows of a pool.
    pub(super) fn number(&self, name: &str, pool: &str) -> Option<usize> {
        let metric = format!("poolgate_nodepools_{name}{{nodepool=\"{pool}\"}}");
        let reconciler = self.reconciler.as_ref().expect("a reconciler was started");
        lock(reconciler).metric(&metric).map(whole)
    }

    /// The largest number of objects at one time in a recording.
    pub(super) fn most(&self, recording: &Recording) -> usize {
        peak(&counts(&recording.changes(self.cluster.client()), |_| true))
    }

    /// Waits for something that Karpenter and poolgate do; panics with the whole story if it does not happen.
    #[track_caller]
    pub(super) fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&KarpenterCluster) -> Option<T>) -> T {
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
    pub(super) fn wait_until_running(&self, deployment: &str, pods: usize) {
        self.wait_for(&format!("{pods} pods of {deployment} to run"), |cluster| {
            (cluster.pods_in_phase(deployment, "Running") == pods).then_some(())
        });
    }

    /// Waits until poolgate holds so many nodes of a pool.
    #[track_caller]
    pub(super) fn wait_until_held(&self, pool: &str, nodes: usize) {
        self.wait_for(&format!("{nodes} nodes of {pool} to be held"), |cluster| {
            (cluster.held(pool) == nodes).then_some(())
        });
    }

    /// Lets the cluster do what it does for so long.
    #[track_caller]
    pub(super) fn linger(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.pause();
        }
    }

    /// A short pause; panics if a program has stopped. Each look at the cluster is a request or more.
    #[track_caller]
    pub(super) fn pause(&self) {
        self.cluster.assert_alive();
        if let Some(gate) = &self.gate {
            lock(gate).expect_alive();
        }
        if let Some(reconciler) = &self.reconciler {
            lock(reconciler).expect_alive();
        }
        std::thread::sleep(Duration::from_millis(400));
    }

    /// Everything that was said and what is where, for a test that fails.
    pub(super) fn story(&self) -> String {
        let gate = self.gate.as_ref().map(|gate| lock(gate).log());
        let reconciler = self.reconciler.as_ref().map(|reconciler| lock(reconciler).log());
        format!(
            "{}\n== karpenter\n{}\n== gate\n{}\n== reconciler\n{}",
            self.cluster.situation(),
            self.cluster.karpenter_log(),
            gate.unwrap_or_default(),
            reconciler.unwrap_or_default(),
        )
    }

    fn gate(&self) -> MutexGuard<'_, Poolgate> {
        lock(self.gate.as_ref().expect("the gate was started"))
    }
}

/// A metric that counts.
fn whole(metric: f64) -> usize {
    metric.to_string().parse().expect("a whole number")
}

/// A gate that fails closed: what it cannot decide in time, on a busy machine, is not to count against the limit.
fn start_gate(plane: &ControlPlane) -> Poolgate {
    let gate = Poolgate::serve_watching(&plane.kubeconfig_by(Account::Gate), &["--gate"]);
    wait_for("the gate to watch NodeClaims", || {
        let (_, reported) = gate.probe("/readyz");
        reported.contains("NodeClaims: watching\n").then_some(())
    });
    plane.register_gate(&gate.base_url(), &gate.ca(), "Fail");
    gate
}

/// How long to look on where nothing is to happen: long enough for three of Karpenter's looks at what to disrupt, one
/// every ten seconds; five minutes in the full run.
pub(super) fn observation() -> Duration {
    if full() {
        Duration::from_mins(5)
    } else {
        Duration::from_secs(30)
    }
}
