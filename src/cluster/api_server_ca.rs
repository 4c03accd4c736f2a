//! The CA file by which the API server's certificate is checked.
//!
//! kube reads it again for a new connection, at most once a minute, and keeps the last good one. The file is checked here
//! as well, so that an unusable file is counted, and reported once with its reason.

use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use kube::Config;
use kube::client::ConfigExt as _;
use tokio::time::sleep;

use crate::polled_file::{Load, LoadMetrics, Polled, read_in_time};

/// How often the file is read.
const EVERY: Duration = Duration::from_secs(10);

/// The file.
struct AuthorityFile {
    path: PathBuf,
    /// The configuration from which kube would make a client.
    config: Config,
}

impl AuthorityFile {
    fn new(cluster: &Config, path: PathBuf) -> Self {
        let mut config = Config::new(cluster.cluster_url.clone());
        // Without any, kube would ask the system for its own as well.
        config.root_cert = Some(Vec::new());
        config.root_cert_file = Some(path.clone());
        Self { path, config }
    }
}

impl Load for AuthorityFile {
    type Contents = Vec<u8>;
    type Error = String;

    async fn read(&self) -> Result<Vec<u8>, String> {
        let read = read_in_time(self.path.clone()).await;
        read.map_err(|cause| format!("cannot read {}: {cause}", self.path.display()))
    }

    fn load(&mut self, _: &Vec<u8>) -> Result<(), String> {
        match self.config.rustls_client_config() {
            Ok(_) => Ok(()),
            Err(cause) => Err(format!("{}: {cause}", self.path.display())),
        }
    }

    fn rejected(&self, error: &String) {
        tracing::error!(%error, "the CA file of the API server cannot be used; the previous one stays in force");
    }
}

/// Reads the CA file of this cluster's API server again and again, if there is one.
pub async fn watch(cluster: &Config, metrics: LoadMetrics) {
    let Some(path) = &cluster.root_cert_file else {
        return pending().await;
    };
    loop {
        let file = AuthorityFile::new(cluster, path.clone());
        if let Ok(file) = Polled::open(file, metrics.clone()).await {
            return file.watch(EVERY).await;
        }
        // A client was made of it a moment ago.
        sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn authority() -> String {
        let made = rcgen::generate_simple_self_signed(Vec::new()).expect("a certificate");
        made.cert.pem()
    }

    #[tokio::test]
    async fn an_unusable_file_is_counted_once_and_so_is_a_usable_new_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ca.crt");
        let (first, second) = (authority(), authority());
        fs::write(&path, &first).expect("written");
        let cluster = Config::new("https://127.0.0.1".parse().expect("an address"));
        let metrics = LoadMetrics::default();
        let file = AuthorityFile::new(&cluster, path.clone());
        let mut polled = Polled::open(file, metrics.clone()).await.expect("of use");
        for (errors, (what, bytes)) in (1..).zip([
            ("nothing", &b""[..]),
            ("no certificate", b"no certificate"),
            ("half a certificate", &second.as_bytes()[..second.len() / 2]),
        ]) {
            fs::write(&path, bytes).expect("written");
            polled.poll().await;
            polled.poll().await;
            assert_eq!(metrics.counts(), (1, errors, 1), "{what}");
        }
        for (loads, bytes) in [(2, format!("{first}{second}")), (3, second)] {
            fs::write(&path, bytes).expect("written");
            polled.poll().await;
            assert_eq!(metrics.counts(), (loads, 3, 0));
        }
    }
}
