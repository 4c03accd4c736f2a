//! Which client a certificate names.

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;

/// Why the client with this certificate has none of the `accepted` names; none if it has one, or if any name is accepted.
pub fn objection(accepted: &[String], certificate: &CertificateDer<'_>) -> Option<String> {
    if accepted.is_empty() {
        return None;
    }
    let names = names(certificate);
    if names.iter().any(|name| accepted.contains(name)) {
        return None;
    }
    Some(match &*names {
        [] => "the client certificate has no name, and --client-name requires one".into(),
        names => format!(
            "--client-name matches no name of the client certificate: {}",
            names.join(", ")
        ),
    })
}

/// The common names of the subject, and the DNS names.
fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    // The handshake has parsed it: what cannot be parsed here has no name.
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
        return Vec::new();
    };
    let common = parsed.subject().iter_common_name();
    let common = common.filter_map(|name| name.as_str().ok());
    let alternative = parsed.subject_alternative_name().ok().flatten();
    let alternative = alternative.map_or(&[][..], |extension| &extension.value.general_names);
    let dns = alternative.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(*name),
        _ => None,
    });
    common.chain(dns).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn certificate(common: Option<&str>, alternative: &[&str]) -> CertificateDer<'static> {
        let names = alternative.iter().map(|name| (*name).to_owned());
        let mut params = CertificateParams::new(names.collect::<Vec<_>>()).expect("names");
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(common) = common {
            params.distinguished_name.push(DnType::CommonName, common);
        }
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().clone()
    }

    #[test]
    fn a_client_is_known_by_its_common_name_or_a_dns_name() {
        let accepted = ["kube-apiserver".to_owned(), "api.example".to_owned()];
        let objection =
            |common, alternative: &[&str]| objection(&accepted, &certificate(common, alternative));
        assert_eq!(objection(Some("kube-apiserver"), &[]), None);
        assert_eq!(objection(Some("somebody"), &["else", "api.example"]), None);
        assert_eq!(objection(None, &["kube-apiserver"]), None);
        assert_eq!(
            objection(Some("kube-apiserver.evil"), &["127.0.0.1", "else"]).as_deref(),
            Some("--client-name matches no name of the client certificate: kube-apiserver.evil, else")
        );
        assert!(objection(None, &["127.0.0.1"]).is_some_and(|text| text.contains("no name")));
    }

    #[test]
    fn where_no_names_are_asked_for_any_certificate_will_do() {
        assert_eq!(objection(&[], &certificate(None, &[])), None);
    }
}
