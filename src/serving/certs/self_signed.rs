//! A certificate for a laptop: a CA that exists only in this process, and a leaf for this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use poolgate_files::edit::replace;
use rcgen::SanType;
use rustls::pki_types::PrivateKeyDer;

use super::authority::{Authority, AuthorityError};
use super::metrics::CertificateMetrics;
use super::pair::{Current, Pair, PairError};

/// How long CA and leaf are valid: longer than any process runs, so that nothing has to be renewed. A long time is no risk:
/// the keys are never stored and are lost with the process.
const LIFE: Duration = Duration::from_hours(10 * 365 * 24);

/// Why there is no self-signed certificate.
#[derive(Debug, thiserror::Error)]
pub enum SelfSignedError {
    /// It cannot be made.
    #[error("could not create the certificate: {0}")]
    Issue(#[from] AuthorityError),
    /// It cannot be used.
    #[error("the created certificate is unusable: {0}")]
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

/// Makes a CA and a leaf for `localhost`, the loopback addresses and `address`, and writes the CA's certificate, which a
/// client must trust, to `ca_out` as PEM.
pub fn self_signed(
    address: Option<IpAddr>,
    ca_out: Option<&Path>,
    now: SystemTime,
    metrics: &CertificateMetrics,
) -> Result<Arc<Current>, SelfSignedError> {
    let authority = Authority::create("poolgate of this process", now, LIFE)?;
    let mut names = vec![SanType::DnsName("localhost".try_into()?)];
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let address = address.filter(|address| !loopback.contains(address));
    names.extend(loopback.into_iter().chain(address).map(SanType::IpAddress));
    let issued = authority.issue(&names, now, LIFE)?;
    let key = PrivateKeyDer::Pkcs8(issued.key.serialize_der().into());
    let leaf = Pair::from_der(vec![issued.certificate], key)?;
    metrics.times.authority(authority.validity().1);
    metrics.times.leaf(leaf.not_before, leaf.not_after);
    metrics.loads.loaded();
    if let Some(path) = ca_out {
        replace(path, &authority.pem()).map_err(|cause| SelfSignedError::Write {
            path: path.to_owned(),
            cause,
        })?;
    }
    let current = Arc::<Current>::default();
    current.replace(leaf);
    Ok(current)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::serving::certs::pair::unix_seconds;

    #[test]
    fn the_authority_is_written_and_the_leaf_lives_as_long() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ca.crt");
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(20_000 * 24);
        let metrics = CertificateMetrics::default();
        let made = |path: &Path| self_signed(None, Some(path), now, &metrics);
        let current = made(&path).expect("a certificate");
        assert_eq!(current.not_after(), Some(unix_seconds(now + LIFE)));
        let pem = fs::read_to_string(&path).expect("read");
        assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{pem}");
        let error = made(&directory.path().join("no/ca.crt")).expect_err("an error");
        assert!(error.to_string().contains("no/ca.crt"), "{error}");
    }
}
