//! An authority of a test's own, and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    /// A new one of this name.
    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, key());
        Self(authority.expect("the authority signs itself"))
    }

    /// Its certificate, as PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Signs a certificate with a key of its own.
    pub(crate) fn issue(&self, params: &CertificateParams) -> Issued {
        let key = key();
        let certificate = params.signed_by(&key, &self.0).expect("the authority signs");
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Signs the certificate of a client with this common name.
    pub(crate) fn client(&self, name: &str) -> Issued {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params)
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a P-256 key can be generated")
}
