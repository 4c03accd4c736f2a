//! A certificate for a laptop: a CA that exists only in this process, and a leaf for this machine.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::SanType;
use rustls::pki_types::PrivateKeyDer;
use tokio::time::{MissedTickBehavior, interval};

use super::authority::{Authority, AuthorityError};
use super::metrics::CertificateMetrics;
use super::pair::{Current, Pair, PairError, unix_seconds};

/// How long the CA is valid. It must outlast the process, because a client cannot follow a change. A long time is no risk:
/// the key is never stored and is lost with the process.
const AUTHORITY_LIFE: Duration = Duration::from_hours(10 * 365 * 24);

/// How long a leaf is valid; less than the 398 days that the strictest clients accept.
const LEAF_LIFE: Duration = Duration::from_hours(30 * 24);

/// A leaf is renewed when less than this is left of it.
const RENEW_BEFORE: Duration = Duration::from_hours(10 * 24);

/// How often the wall clock is compared with the end of the leaf. A timer for the end itself would stop while a laptop
/// sleeps.
const CHECK: Duration = Duration::from_mins(1);

/// Why there is no self-signed certificate.
#[derive(Debug, thiserror::Error)]
pub enum SelfSignedError {
    /// It cannot be made.
    #[error("the certificate cannot be made: {0}")]
    Issue(#[from] AuthorityError),
    /// It cannot be used.
    #[error("the certificate that was made cannot be used: {0}")]
    Pair(PairError),
    /// The CA's certificate cannot be written.
    #[error("cannot write the CA certificate to {}: {cause}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl From<rcgen::Error> for SelfSignedError {
    fn from(cause: rcgen::Error) -> Self {
        Self::Issue(cause.into())
    }
}

impl From<PairError> for SelfSignedError {
    fn from(cause: PairError) -> Self {
        Self::Pair(cause)
    }
}

/// The CA and its present leaf.
pub struct SelfSignedSource {
    authority: Authority,
    names: Vec<SanType>,
    current: Arc<Current>,
    metrics: CertificateMetrics,
}

impl SelfSignedSource {
    /// Makes a CA and a leaf for `localhost`, the loopback addresses and `address`.
    pub fn create(
        address: Option<IpAddr>,
        now: SystemTime,
        metrics: CertificateMetrics,
    ) -> Result<Self, SelfSignedError> {
        let authority = Authority::create("poolgate of this process", now, AUTHORITY_LIFE)?;

        let mut names = vec![SanType::DnsName("localhost".try_into()?)];
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        names.extend(loopback.map(SanType::IpAddress));
        names.extend(
            address
                .filter(|address| !loopback.contains(address))
                .map(SanType::IpAddress),
        );

        let source = Self {
            authority,
            names,
            current: Arc::default(),
            metrics,
        };
        let leaf = source.issue(now)?;
        source.metrics.times.authority(source.authority.validity().1);
        source.put_in_force(leaf);
        Ok(source)
    }

    /// The certificate in force, now and after each renewal.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current)
    }

    /// Writes the certificate that a client must trust, as PEM: whole, or not at all.
    pub fn write_authority(&self, path: &Path) -> Result<(), SelfSignedError> {
        write_whole(path, self.authority.pem().as_bytes()).map_err(|cause| SelfSignedError::Write {
            path: path.to_owned(),
            cause,
        })
    }

    /// Renews the leaf before it expires, until the process stops.
    pub async fn watch(self) {
        let mut ticks = interval(CHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.poll(SystemTime::now());
        }
    }

    fn poll(&self, now: SystemTime) {
        let due = unix_seconds(now + RENEW_BEFORE);
        if self.current.not_after().is_some_and(|end| due < end) {
            return;
        }
        match self.issue(now) {
            Ok(leaf) => {
                tracing::info!(serial = leaf.serial, "certificate renewed");
                self.put_in_force(leaf);
            }
            Err(error) => {
                self.metrics.loads.failed();
                tracing::error!(%error, "the certificate cannot be renewed; the previous one stays in force");
            }
        }
    }

    fn issue(&self, now: SystemTime) -> Result<Pair, SelfSignedError> {
        let issued = self.authority.issue(&self.names, now, LEAF_LIFE)?;
        let key = PrivateKeyDer::Pkcs8(issued.key.serialize_der().into());
        Ok(Pair::from_der(vec![issued.certificate], key)?)
    }

    fn put_in_force(&self, leaf: Pair) {
        self.metrics.times.leaf(leaf.not_before, leaf.not_after);
        self.metrics.loads.loaded();
        self.current.replace(leaf);
    }
}

/// Writes a file beside `path` and renames it, so that no reader of `path` sees half of it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    fs::write(&beside, bytes)
        .and_then(|()| fs::rename(&beside, path))
        .inspect_err(|_| {
            // It may not exist; the first error is the one to report.
            let _ = fs::remove_file(&beside);
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn the_leaf_is_renewed_by_the_wall_clock() {
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let metrics = CertificateMetrics::default();
        let source = SelfSignedSource::create(None, now, metrics.clone()).expect("a source");
        let first = source.current.leaf();
        source.poll(now + LEAF_LIFE - RENEW_BEFORE - DAY);
        assert_eq!(source.current.leaf(), first);
        source.poll(now + LEAF_LIFE - RENEW_BEFORE);
        assert_ne!(source.current.leaf(), first);
        assert_eq!(
            source.current.not_after(),
            Some(unix_seconds(now + LEAF_LIFE + LEAF_LIFE - RENEW_BEFORE))
        );
        assert_eq!(metrics.loads.counts(), (2, 0, 0));
    }

    #[test]
    fn the_authority_is_written_whole_or_not_at_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = SelfSignedSource::create(None, SystemTime::now(), CertificateMetrics::default());
        let source = source.expect("a source");
        let path = directory.path().join("ca.crt");
        source.write_authority(&path).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("read"), source.authority.pem());
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1);
        let error = source
            .write_authority(&directory.path().join("no/ca.crt"))
            .expect_err("an error");
        assert!(error.to_string().contains("no/ca.crt"), "{error}");
    }
}
