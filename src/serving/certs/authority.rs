//! A CA that signs serving certificates: made here, and read from where its key is stored.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, SanType,
};
use rustls::pki_types::CertificateDer;

use super::pair::unix_seconds;
use super::pem::{read_certificates, write_certificates};

/// How long before now a certificate becomes valid: clocks of clients lag.
const BACKDATE: Duration = Duration::from_hours(1);

/// Why a CA cannot sign.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It cannot be made, or does not sign.
    #[error("{0}")]
    Issue(#[from] rcgen::Error),
    /// There is no certificate, or more than one, or one that is damaged.
    #[error("it must contain exactly one certificate (BEGIN CERTIFICATE block)")]
    Certificate,
    #[error("the certificate is not a CA certificate")]
    NotAnAuthority,
    /// The key cannot be read.
    #[error("the key cannot be read: {0}")]
    Key(rcgen::Error),
    /// The key is that of another certificate.
    #[error("certificate and key do not match")]
    Mismatch,
}

/// A CA and its key.
pub struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    not_before: i64,
    not_after: i64,
}

/// A certificate that a CA has signed, and its key.
pub struct Issued {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// Its key.
    pub key: KeyPair,
}

impl Authority {
    /// Makes one that is valid for `life`.
    pub fn create(name: &str, now: SystemTime, life: Duration) -> Result<Self, AuthorityError> {
        let mut params = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let (not_before, not_after) = (now - BACKDATE, now + life);
        params.not_before = not_before.into();
        params.not_after = not_after.into();
        let key = KeyPair::generate()?;
        Ok(Self {
            certificate: params.self_signed(&key)?.der().clone(),
            issuer: Issuer::new(params, key),
            not_before: unix_seconds(not_before),
            not_after: unix_seconds(not_after),
        })
    }

    /// Reads a stored one.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, AuthorityError> {
        let (certificates, is_clean) = read_certificates(certificate);
        let ([certificate], true) = (&certificates[..], is_clean) else {
            return Err(AuthorityError::Certificate);
        };
        let (_, parsed) =
            x509_parser::parse_x509_certificate(certificate).map_err(|_| AuthorityError::Certificate)?;
        if !parsed.is_ca() {
            return Err(AuthorityError::NotAnAuthority);
        }
        let key = KeyPair::from_pem(&String::from_utf8_lossy(key)).map_err(AuthorityError::Key)?;
        if key.subject_public_key_info() != parsed.public_key().raw {
            return Err(AuthorityError::Mismatch);
        }
        Ok(Self {
            not_before: parsed.validity().not_before.timestamp(),
            not_after: parsed.validity().not_after.timestamp(),
            certificate: certificate.clone(),
            issuer: Issuer::from_ca_cert_der(certificate, key)?,
        })
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Its certificate, as PEM.
    pub fn pem(&self) -> String {
        write_certificates([&self.certificate])
    }

    /// Its key, as PEM.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// From when to when it is valid, in seconds since 1970.
    pub fn validity(&self) -> (i64, i64) {
        (self.not_before, self.not_after)
    }

    /// Signs a serving certificate for these names. It is valid for `life`, but no longer than the CA.
    pub fn issue(
        &self,
        names: &[SanType],
        now: SystemTime,
        life: Duration,
    ) -> Result<Issued, AuthorityError> {
        let mut params = named("poolgate");
        params.subject_alt_names = names.to_vec();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = (now - BACKDATE).into();
        let end = Duration::from_secs(u64::try_from(self.not_after).unwrap_or_default());
        params.not_after = (now + life).min(SystemTime::UNIX_EPOCH + end).into();
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.der().clone();
        Ok(Issued { certificate, key })
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;
    use crate::serving::certs::verify;

    const DAY: Duration = Duration::from_hours(24);

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + 20_000 * DAY
    }

    fn authority() -> Authority {
        Authority::create("a test's", now(), 90 * DAY).expect("an authority")
    }

    #[test]
    fn an_authority_that_was_stored_continues_to_sign() {
        let made = authority();
        let read = Authority::from_pem(made.pem().as_bytes(), made.key_pem().as_bytes()).expect("read");
        assert_eq!(
            (read.certificate(), read.validity()),
            (made.certificate(), made.validity())
        );
        let names = vec![SanType::DnsName("a.example".try_into().expect("a name"))];
        for authority in [&made, &read] {
            let issued = authority.issue(&names, now(), 30 * DAY).expect("a certificate");
            let verify = |name: &'static str, after: Duration| {
                verify(
                    std::slice::from_ref(&issued.certificate),
                    &[made.certificate().clone()],
                    &[ServerName::try_from(name).expect("a name")],
                    unix_seconds(now() + after),
                )
            };
            assert_eq!(verify("a.example", DAY), Ok(()));
            assert!(verify("b.example", DAY).is_err(), "another name");
            assert!(verify("a.example", 31 * DAY).is_err(), "after its end");
        }
        let other = authority();
        let issued = other.issue(&names, now(), DAY).expect("a certificate");
        let chain = [issued.certificate];
        assert!(verify(&chain, &[made.certificate().clone()], &[], unix_seconds(now())).is_err());
        let both = [made.certificate().clone(), other.certificate().clone()];
        assert_eq!(verify(&chain, &both, &[], unix_seconds(now())), Ok(()));
    }

    #[test]
    fn a_certificate_ends_with_its_authority_at_the_latest() {
        let authority = authority();
        let issued = authority
            .issue(&[], now() + 80 * DAY, 30 * DAY)
            .expect("a certificate");
        let (_, parsed) = x509_parser::parse_x509_certificate(&issued.certificate).expect("X.509");
        assert_eq!(parsed.validity().not_after.timestamp(), authority.validity().1);
    }

    #[test]
    fn what_cannot_sign_is_rejected_with_its_reason() {
        let (one, other) = (authority(), authority());
        let rejected = |certificate: &str, key: &str| {
            let read = Authority::from_pem(certificate.as_bytes(), key.as_bytes());
            read.err().expect("an error").to_string()
        };
        let (pem, key) = (one.pem(), one.key_pem());
        assert!(rejected("", &key).starts_with("it must contain exactly one certificate"));
        assert!(
            rejected(&(pem.clone() + &other.pem()), &key)
                .starts_with("it must contain exactly one certificate")
        );
        assert!(rejected(&pem, "").starts_with("the key cannot be read"));
        assert!(rejected(&pem, &other.key_pem()).starts_with("certificate and key do not match"));
        let foreign = rcgen::generate_simple_self_signed(["a".to_owned()]).expect("a certificate");
        assert!(
            rejected(&foreign.cert.pem(), &foreign.signing_key.serialize_pem())
                .contains("not a CA certificate")
        );
    }
}
