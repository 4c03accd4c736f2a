//! Whether a client that trusts some CAs accepts a certificate.

use std::time::Duration;

use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{Error, RootCertStore};

/// Why a client that trusts these CAs does not accept this chain, leaf first, for each of these names at that time, in
/// seconds since 1970.
pub fn verify(
    chain: &[CertificateDer<'static>],
    authorities: &[CertificateDer<'static>],
    names: &[ServerName<'_>],
    at: i64,
) -> Result<(), Error> {
    let mut anchors = RootCertStore::empty();
    anchors.add_parsable_certificates(authorities.iter().cloned());
    let (leaf, intermediates) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
    let leaf = ParsedCertificate::try_from(leaf)?;
    let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at).unwrap_or_default()));
    let algorithms = aws_lc_rs::default_provider()
        .signature_verification_algorithms
        .all;
    verify_server_cert_signed_by_trust_anchor(&leaf, &anchors, intermediates, at, algorithms)?;
    names.iter().try_for_each(|name| verify_server_name(&leaf, name))
}
