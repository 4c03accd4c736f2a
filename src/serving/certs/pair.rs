//! A certificate chain and its key, as PEM, and the pair in force.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwapOption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// A chain and the key of its leaf.
#[derive(Debug)]
pub struct Pair {
    /// Both, ready to sign handshakes.
    pub key: Arc<CertifiedKey>,
    /// The first second at which the leaf is valid, since 1970.
    pub not_before: i64,
    /// The last one.
    pub not_after: i64,
    /// The serial number of the leaf, for logs.
    pub serial: String,
}

/// Why a chain and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The certificate file is not PEM, or is cut off.
    #[error("the certificate cannot be read: {0}")]
    Certificate(pem::Error),
    /// It holds no certificate.
    #[error("it contains no certificate (BEGIN CERTIFICATE block)")]
    NoCertificate,
    /// The key file holds no key, or is cut off.
    #[error("the key cannot be read: {0}")]
    Key(pem::Error),
    /// The key is of an unknown kind, or belongs to another certificate.
    #[error("certificate and key cannot be used together: {0}")]
    Mismatch(rustls::Error),
    /// The leaf is not an X.509 certificate.
    #[error("the first certificate is damaged: {0}")]
    Leaf(String),
    /// The leaf has expired.
    #[error("the certificate with serial {serial} expired {seconds} s ago")]
    Ended {
        /// Which one.
        serial: String,
        /// How long ago.
        seconds: i64,
    },
}

impl Pair {
    /// Reads a chain (leaf first) and a key in PKCS#8, SEC1 or PKCS#1.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, PairError> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(PairError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(PairError::Key)?;
        Self::from_der(chain, key)
    }

    /// Puts a chain and a key together.
    pub fn from_der(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, PairError> {
        let leaf = chain.first().ok_or(PairError::NoCertificate)?;
        let (_, parsed) =
            x509_parser::parse_x509_certificate(leaf).map_err(|error| PairError::Leaf(error.to_string()))?;
        let validity = parsed.validity();
        let (not_before, not_after) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let serial = parsed.raw_serial_as_string();
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .map_err(PairError::Mismatch)?;
        Ok(Self {
            key: Arc::new(key),
            not_before,
            not_after,
            serial,
        })
    }

    /// Rejects an expired leaf. One that is not valid yet is accepted: the clock of its issuer may be ahead.
    pub fn still_holds(self, now: SystemTime) -> Result<Self, PairError> {
        let seconds = unix_seconds(now).saturating_sub(self.not_after);
        if seconds > 0 {
            return Err(PairError::Ended {
                serial: self.serial,
                seconds,
            });
        }
        Ok(self)
    }
}

/// The certificate of the next handshake, which reads it without a lock.
#[derive(Debug, Default)]
pub struct Current(ArcSwapOption<Pair>);

impl Current {
    pub fn replace(&self, pair: Pair) {
        self.0.store(Some(Arc::new(pair)));
    }

    /// The chain in force, leaf first; empty while there is none.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        let pair = self.0.load();
        pair.as_ref()
            .map(|pair| pair.key.cert.clone())
            .unwrap_or_default()
    }

    /// The last second at which it is valid, since 1970; none while there is no certificate.
    pub fn not_after(&self) -> Option<i64> {
        self.0.load().as_ref().map(|pair| pair.not_after)
    }

    /// Why clients reject the certificate now, if they do.
    pub fn lacks(&self) -> Option<String> {
        self.lacks_at(SystemTime::now())
    }

    fn lacks_at(&self, now: SystemTime) -> Option<String> {
        let now = unix_seconds(now);
        match &*self.0.load() {
            None => Some("there is no certificate".into()),
            Some(pair) if pair.not_after < now => {
                Some(format!("the certificate expired {} s ago", now - pair.not_after))
            }
            Some(pair) if now < pair.not_before => Some(format!(
                "the certificate becomes valid in {} s",
                pair.not_before - now
            )),
            Some(_) => None,
        }
    }

    #[cfg(test)]
    pub fn leaf(&self) -> Vec<u8> {
        let pair = self.0.load_full().expect("a certificate");
        pair.key.end_entity_cert().expect("a leaf").to_vec()
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load().as_ref().map(|pair| Arc::clone(&pair.key))
    }
}

/// Seconds since 1970, as certificates count.
pub fn unix_seconds(time: SystemTime) -> i64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    fn self_signed() -> (String, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(vec!["localhost".into()])
            .and_then(|params| params.self_signed(&key))
            .expect("a certificate");
        (certificate.pem(), key)
    }

    #[test]
    fn a_chain_is_kept_whole_and_leaf_first() {
        let ca_key = KeyPair::generate().expect("a key");
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_certificate = ca.self_signed(&ca_key).expect("a certificate");
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(vec!["localhost".into()])
            .and_then(|params| params.signed_by(&key, &Issuer::new(ca, &ca_key)))
            .expect("a certificate");
        let chain = format!("a comment\n{}{}", leaf.pem(), ca_certificate.pem());
        let pair = Pair::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes()).expect("a pair");
        assert_eq!(pair.key.cert, [leaf.der().clone(), ca_certificate.der().clone()]);

        let reversed = format!("{}{}", ca_certificate.pem(), leaf.pem());
        let error =
            Pair::from_pem(reversed.as_bytes(), key.serialize_pem().as_bytes()).expect_err("an error");
        assert!(matches!(error, PairError::Mismatch(_)), "{error}");
    }

    #[test]
    fn what_cannot_serve_is_rejected_with_its_reason() {
        let (chain, key) = self_signed();
        let (_, other) = self_signed();
        let (chain, key, other) = (chain.as_bytes(), key.serialize_pem(), other.serialize_pem());
        let rejected =
            |chain: &[u8], key: &[u8]| Pair::from_pem(chain, key).expect_err("an error").to_string();
        let half = &chain[..chain.len() / 2];
        assert!(rejected(half, key.as_bytes()).starts_with("the certificate cannot be read"));
        assert!(rejected(b"", key.as_bytes()).starts_with("it contains no certificate"));
        assert!(rejected(chain, b"").starts_with("the key cannot be read"));
        assert!(rejected(chain, &key.as_bytes()[..60]).starts_with("the key cannot be read"));
        assert!(rejected(chain, other.as_bytes()).starts_with("certificate and key cannot be used together"));
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(rejected(damaged.as_bytes(), key.as_bytes()).starts_with("the first certificate is damaged"));
    }

    #[test]
    fn a_leaf_that_has_ended_is_rejected() {
        let (chain, key) = self_signed();
        let pair = || Pair::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes()).expect("a pair");
        let end = u64::try_from(pair().not_after).expect("a time after 1970");
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(pair().still_holds(at(end)).is_ok());
        let error = pair().still_holds(at(end + 7)).expect_err("an error").to_string();
        assert!(error.ends_with("expired 7 s ago"), "{error}");
        assert!(
            pair().still_holds(at(0)).is_ok(),
            "a leaf from a clock that is ahead"
        );
    }

    #[test]
    fn a_certificate_in_force_is_needed_while_it_holds() {
        let (chain, key) = self_signed();
        let pair = Pair::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes()).expect("a pair");
        let [begin, end] =
            [pair.not_before, pair.not_after].map(|at| u64::try_from(at).expect("a time after 1970"));
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let current = Current::default();
        assert_eq!(
            current.lacks_at(at(begin)).as_deref(),
            Some("there is no certificate")
        );
        current.replace(pair);
        for holds in [begin, end] {
            assert_eq!(current.lacks_at(at(holds)), None);
        }
        let early = current.lacks_at(at(begin - 5));
        assert_eq!(early.as_deref(), Some("the certificate becomes valid in 5 s"));
        let late = current.lacks_at(at(end + 7));
        assert_eq!(late.as_deref(), Some("the certificate expired 7 s ago"));
    }

    /// The key inside a PKCS#8 wrapper, as a PEM block of the older form that `label` names.
    fn unwrapped(pkcs8: &[u8], label: &str) -> String {
        let (_, wrapper) = x509_parser::der_parser::parse_der(pkcs8).expect("DER");
        let inner = wrapper.as_sequence().expect("a sequence")[2]
            .as_slice()
            .expect("octets");
        let text = base64::engine::general_purpose::STANDARD.encode(inner);
        let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        format!(
            "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
            lines.join("\n")
        )
    }

    #[test]
    fn keys_are_read_in_all_three_forms() {
        for (algorithm, label) in [
            (&rcgen::PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY"),
            (&rcgen::PKCS_RSA_SHA256, "RSA PRIVATE KEY"),
        ] {
            let key = KeyPair::generate_for(algorithm).expect("a key");
            let leaf = CertificateParams::new(vec!["localhost".into()])
                .and_then(|params| params.self_signed(&key))
                .expect("a certificate");
            for key in [key.serialize_pem(), unwrapped(key.serialized_der(), label)] {
                let pair = Pair::from_pem(leaf.pem().as_bytes(), key.as_bytes());
                assert!(pair.is_ok(), "{label}: {pair:?}");
            }
        }
    }
}
