//! `POOLGATE_PROGRAMS=$(tests/programs/build) cargo bench --bench apiserver`: what poolgate costs a real API server
//! and its clients: creations and denials of NodeClaims at the gate, and dry runs of NodePools.
//!
//! For comparison, there are more cases on the same API server: no webhook, one that always gives the same answer, and
//! for NodePools a `ValidatingAdmissionPolicy`. The prefix of an object's name selects the case. They take turns, and
//! the median is reported. Counts of requests are the API server's own. `--rounds=N` (default 5) sets the number of
//! turns.

// A benchmark prints, and counts of requests are far below what a float holds exactly.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod cost;
mod creations;
mod denials;
mod dry_runs;
mod empty;
mod expressions;
#[path = "../process.rs"]
mod process;
#[allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "made for tests, which use all of it"
)]
#[path = "../../tests/support"]
mod support {
    pub(crate) mod accounts;
    pub(crate) mod assets;
    pub(crate) mod authority;
    pub(crate) mod client;
    pub(crate) mod control_plane;
    pub(crate) mod crds;
    pub(crate) mod etcd;
    pub(crate) mod files;
    pub(crate) mod nodeclaim;
    pub(crate) mod nodepool;
    pub(crate) mod pki;
    pub(crate) mod poolgate;
    pub(crate) mod process;
    pub(crate) mod program;
    pub(crate) mod rendered;
    pub(crate) mod running;
    pub(crate) mod wait;
    pub(crate) mod watching;
    pub(crate) mod webhooks;
}
#[path = "../table.rs"]
mod table;

use anyhow::Result;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::runtime::Runtime;

use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::poolgate::Poolgate;

/// Prefixes of the names of objects for poolgate, for a webhook that always gives the same answer, for CEL in the API
/// server, and for no admission.
const OWN: &str = "own-";
const EMPTY: &str = "empty-";
const CEL: &str = "cel-";
const NONE: &str = "none-";

/// Everything that is measured. Drops in the order of its fields.
struct Bench {
    /// The gate.
    poolgate: Poolgate,
    _reviews: Poolgate,
    plane: ControlPlane,
    client: kube::Client,
    runtime: Runtime,
    rounds: usize,
}

fn main() -> Result<()> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    plane
        .kubectl(&["create", "namespace", "poolgate-ledgers"], "")
        .success();
    let poolgate = Poolgate::replica(plane.kubeconfig(), plane.pki(), &[]);
    let ca = std::fs::read_to_string(&plane.pki().ca)?;
    let empty = runtime.block_on(empty::serve(plane.pki()))?;
    let reviews = Poolgate::start(&[
        &format!("--kubeconfig={}", plane.kubeconfig().display()),
        &format!("--tls-cert={}", plane.pki().server_cert.display()),
        &format!("--tls-key={}", plane.pki().server_key.display()),
        "--shutdown-delay=0s",
    ]);
    for (prefix, gate, pools) in [
        (OWN, poolgate.base_url(), reviews.base_url()),
        (EMPTY, empty.clone(), empty),
    ] {
        plane.register_gate_for(&format!("claim-{prefix}"), &gate, &ca, "Fail");
        plane.register_webhooks_for(&format!("pool-{prefix}"), &pools, &ca);
    }
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig())?;
    let client = runtime.block_on(async {
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        anyhow::Ok(kube::Client::try_from(config)?)
    })?;
    let bench = Bench {
        poolgate,
        _reviews: reviews,
        plane,
        client,
        runtime,
        rounds: table::argument("--rounds", 5),
    };
    let dry_runs = bench.dry_runs()?;
    let creations = bench.creations()?;
    let denials = bench.denials()?;
    table::leave(vec![dry_runs, creations, denials])?;
    Ok(())
}

/// The median of some figures.
fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    percentile(figures, 50)
}

/// The value that this percentage of some figures does not exceed.
fn percentile(figures: impl IntoIterator<Item = f64>, per_cent: usize) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_unstable_by(f64::total_cmp);
    let place = (figures.len() * per_cent / 100).min(figures.len().saturating_sub(1));
    figures.get(place).copied().unwrap_or_default()
}
