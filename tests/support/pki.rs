//! The keys and certificates of one control plane.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, SanType};

use super::authority::{Authority, Issued};

/// Where the files lie.
pub(crate) struct Pki {
    pub(crate) ca: PathBuf,
    pub(crate) server_cert: PathBuf,
    pub(crate) server_key: PathBuf,
    pub(crate) admin_cert: PathBuf,
    pub(crate) admin_key: PathBuf,
    pub(crate) service_account_key: PathBuf,
    pub(crate) service_account_public_key: PathBuf,
}

impl Pki {
    /// Writes a fresh set into `directory`: an authority, the server's certificate for the loopback address,
    /// and that of a user who may do everything. An own authority for each control plane means that a client
    /// of one cannot be answered by another that has taken over its port.
    pub(crate) fn create(directory: &Path) -> Self {
        let authority = authority();
        let server = server(&authority);

        let mut admin = CertificateParams::default();
        admin.distinguished_name.push(DnType::CommonName, "admin");
        admin
            .distinguished_name
            .push(DnType::OrganizationName, "system:masters");
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let admin = authority.issue(&admin);

        let service_account = KeyPair::generate().expect("a P-256 key can be generated");
        let write = |name: &str, pem: &str| {
            let path = directory.join(name);
            fs::write(&path, pem).expect("a PEM file can be written");
            path
        };
        Self {
            ca: write("ca.crt", &authority.pem()),
            server_cert: write("server.crt", &server.certificate),
            server_key: write("server.key", &server.key),
            admin_cert: write("admin.crt", &admin.certificate),
            admin_key: write("admin.key", &admin.key),
            service_account_key: write("service-account.key", &service_account.serialize_pem()),
            service_account_public_key: write("service-account.pub", &service_account.public_key_pem()),
        }
    }

    /// Has a new authority issue the server's certificate, which a server shows after its next start. Clients that read `ca`
    /// anew trust both authorities, and so does the server. The new authority's certificate.
    pub(crate) fn replace_authority(&self) -> String {
        let authority = authority();
        let server = server(&authority);
        let before = fs::read_to_string(&self.ca).expect("the authority can be read");
        for (path, pem) in [
            (&self.server_cert, server.certificate),
            (&self.server_key, server.key),
            (&self.ca, format!("{before}{}", authority.pem())),
        ] {
            fs::write(path, pem).expect("a PEM file can be written");
        }
        authority.pem()
    }
}

fn authority() -> Authority {
    Authority::named("control-plane-ca")
}

fn server(authority: &Authority) -> Issued {
    let mut server = CertificateParams::default();
    server
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    server.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    authority.issue(&server)
}
