//! A cluster whose node limits poolgate holds: the gate before every NodeClaim, and the reconciler.

use std::time::{Duration, Instant};

use crate::support::control_plane::ControlPlane;
use crate::support::full::full;
use crate::support::karpenter::{Definition, KarpenterCluster};
use crate::support::poolgate::Poolgate;
use crate::support::reconciler::Reconciler;

/// How long nodes may take to come, on a machine with other work.
pub(super) const PROVISION: Duration = Duration::from_mins(3);

/// Real Karpenter behind `serve --gate` under failure policy Fail, with `reconcile` beside it.
pub(super) struct Guarded {
    pub(super) cluster: KarpenterCluster,
    reconciler: Option<Reconciler>,
    gate: Option<Poolgate>,
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
            gate: Some(gate),
        }
    }

    /// Starts neither: Karpenter alone, until [`Self::guard`].
    pub(super) fn unguarded() -> Self {
        Self {
            cluster: KarpenterCluster::start(Definition::Patched, |_| ()).0,
            reconciler: None,
            gate: None,
        }
    }

    /// Starts the gate where there was none.
    pub(super) fn guard(&mut self) {
        self.gate = Some(start_gate(self.cluster.plane()));
    }

    /// Starts the reconciler.
    pub(super) fn reconcile(&mut self, args: &[&str]) {
        self.reconciler = Some(Reconciler::start(self.cluster.plane().kubeconfig(), args));
    }

    pub(super) fn reconciler(&self) -> &Reconciler {
        self.reconciler.as_ref().expect("a reconciler was started")
    }

    /// Lets poolgate judge NodePools too.
    pub(super) fn judge_pools(&self) {
        let server = self.gate.as_ref().expect("the gate was started");
        self.cluster
            .plane()
            .register_webhooks(&server.base_url(), &server.ca());
    }

    /// How many creations of NodeClaims were refused so far, as Karpenter tells it.
    pub(super) fn refusals(&self) -> usize {
        self.cluster.karpenter_log().matches("denied the request").count()
    }

    /// Waits for something that Karpenter and poolgate bring about. Panics with the whole story if it takes longer
    /// than `deadline`.
    #[track_caller]
    pub(super) fn wait_for<T>(
        &mut self,
        what: &str,
        deadline: Duration,
        look: impl FnMut(&KarpenterCluster) -> Option<T>,
    ) -> T {
        self.cluster
            .comes(deadline, look)
            .unwrap_or_else(|| panic!("waited {deadline:?} for {what}, in vain\n{}", self.story()))
    }

    /// Lets the cluster do what it does for so long.
    #[track_caller]
    pub(super) fn linger(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.cluster.assert_alive();
            if let Some(reconciler) = &mut self.reconciler {
                reconciler.expect_alive();
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Everything that was said and what stands where, for a test that fails.
    pub(super) fn story(&self) -> String {
        let gate = self.gate.as_ref().map(|gate| gate.log()).unwrap_or_default();
        let reconciler = self
            .reconciler
            .as_ref()
            .map(|reconciler| reconciler.log())
            .unwrap_or_default();
        format!(
            "{}\n== karpenter\n{}\n== gate\n{gate}\n== reconciler\n{reconciler}",
            self.cluster.situation(),
            self.cluster.karpenter_log(),
        )
    }
}

fn start_gate(plane: &ControlPlane) -> Poolgate {
    let gate = Poolgate::serve_watching(plane.kubeconfig(), &["--gate"]);
    plane.register_gate(&gate.base_url(), &gate.ca(), "Fail");
    gate
}

/// A minute in the usual run, five in the full one.
pub(super) fn observation() -> Duration {
    Duration::from_mins(if full() { 5 } else { 1 })
}
