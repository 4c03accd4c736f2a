//! Servers that look at a cluster.

use std::path::Path;

use super::pki::Pki;
use super::poolgate::Poolgate;
use super::wait::wait_for;

impl Poolgate {
    /// Starts one that looks at the cluster of this kubeconfig, and waits until it watches all that it looks at.
    pub(crate) fn serve_watching(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let kubeconfig = flag("kubeconfig", kubeconfig);
        let server = Self::start(&[&["--self-signed", &kubeconfig], arguments].concat());
        server.wait_until_reported("NodePool definition: watching\n");
        server
    }

    /// Starts a gate of this cluster, and waits until it knows which Karpenter is installed.
    pub(crate) fn gate_watching(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let kubeconfig = flag("kubeconfig", kubeconfig);
        let gate = Self::start_gate(&[&["--self-signed", &kubeconfig], arguments].concat());
        gate.wait_until_reported("NodePool definition: watching\n");
        gate
    }

    /// Starts one of several gates that show the same certificate, and waits until it watches all that it decides by.
    pub(crate) fn replica(kubeconfig: &Path, pki: &Pki, arguments: &[&str]) -> Self {
        let own = [
            flag("kubeconfig", kubeconfig),
            flag("tls-cert", &pki.server_cert),
            flag("tls-key", &pki.server_key),
        ];
        let own = own.each_ref().map(String::as_str);
        let server = Self::start_gate(&[&own[..], &["--shutdown-delay=0s"], arguments].concat());
        for line in [
            "NodeClaims: watching\n",
            "node limit ledgers: watching\n",
            "static NodePools: watching\n",
        ] {
            server.wait_until_reported(line);
        }
        server
    }

    /// Waits until its readiness says so.
    pub(crate) fn wait_until_reported(&self, line: &str) {
        wait_for(line, || self.probe("/readyz").1.contains(line).then_some(()));
    }

    /// Where the admission endpoints are, as a webhook configuration names them.
    pub(crate) fn base_url(&self) -> String {
        format!("https://{}", self.admission())
    }
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
