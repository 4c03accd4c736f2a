//! Certificates as PEM.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// How many letters a line has.
const COLUMNS: usize = 64;

/// The certificates in a PEM text that can be trusted, and whether there was nothing else in it.
pub fn read_certificates(pem: &[u8]) -> (Vec<CertificateDer<'static>>, bool) {
    let (mut certificates, mut is_clean) = (Vec::new(), true);
    for certificate in CertificateDer::pem_slice_iter(pem) {
        match certificate {
            Ok(certificate) if RootCertStore::empty().add(certificate.clone()).is_ok() => {
                certificates.push(certificate);
            }
            _ => is_clean = false,
        }
    }
    (certificates, is_clean)
}

/// The certificates as one PEM text.
pub fn write_certificates<'a>(certificates: impl IntoIterator<Item = &'a CertificateDer<'static>>) -> String {
    let mut pem = String::new();
    for certificate in certificates {
        pem.push_str("-----BEGIN CERTIFICATE-----\n");
        let text = STANDARD.encode(certificate);
        for line in text.as_bytes().chunks(COLUMNS) {
            // Writing into a text cannot fail.
            let _ = writeln!(pem, "{}", String::from_utf8_lossy(line));
        }
        pem.push_str("-----END CERTIFICATE-----\n");
    }
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_is_not_a_certificate_is_left_out() {
        let [one, other] = ["one", "other"].map(|name| {
            let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
            made.cert.der().clone()
        });
        let both = write_certificates([&one, &other]);
        assert_eq!(
            read_certificates(both.as_bytes()),
            (vec![one.clone(), other], true)
        );
        assert_eq!(read_certificates(b""), (Vec::new(), true));
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let mixed = format!("{damaged}{}", write_certificates([&one]));
        assert_eq!(read_certificates(mixed.as_bytes()), (vec![one], false));
        let half = &both.as_bytes()[..both.len() / 4];
        assert_eq!(read_certificates(half), (Vec::new(), false));
    }
}
