//! New certificates for a running server, as a Secret volume delivers them.

use std::time::{Duration, SystemTime};

use rcgen::CertificateParams;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::client::{Connection, good_review};
use crate::support::authority::Authority;
use crate::support::mount::Mount;
use crate::support::poolgate::Poolgate;
use crate::support::wait::wait_for;

/// A mounted Secret.
struct Secret {
    mount: Mount,
    authority: Authority,
}

struct Pair {
    certificate: String,
    key: String,
    leaf: Vec<u8>,
}

impl Secret {
    fn mount() -> Self {
        Self {
            mount: Mount::of(&["tls.crt", "tls.key"]),
            authority: Authority::named("serving"),
        }
    }

    fn issue(&self) -> Pair {
        self.issue_for(Duration::from_hours(1))
    }

    /// A pair that is valid for this long from now on.
    fn issue_for(&self, life: Duration) -> Pair {
        let mut params = CertificateParams::new(vec!["127.0.0.1".into()]).expect("a name");
        params.not_after = (SystemTime::now() + life).into();
        let issued = self.authority.issue(&params);
        let leaf = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("a certificate");
        Pair {
            certificate: issued.certificate,
            key: issued.key,
            leaf: leaf.to_vec(),
        }
    }

    fn swap(&mut self, certificate: &str, key: &str) {
        self.mount.swap(&[("tls.crt", certificate), ("tls.key", key)]);
    }
}

/// A server with a mounted Secret, and its first leaf.
fn serve() -> (Poolgate, Secret, Vec<u8>) {
    let mut secret = Secret::mount();
    let first = secret.issue();
    secret.swap(&first.certificate, &first.key);
    let arguments = [
        "--no-cluster",
        "--tls-cert",
        &secret.mount.path("tls.crt"),
        "--tls-key",
        &secret.mount.path("tls.key"),
        "--cert-poll-interval",
        "100ms",
    ];
    let server = Poolgate::start(&arguments);
    (server, secret, first.leaf)
}

#[test]
fn every_rotation_of_a_secret_is_picked_up_and_no_connection_is_lost() {
    let (server, mut secret, first) = serve();
    let ca = secret.authority.pem();
    assert_eq!(Connection::trusting(&server, &ca).leaf(), first);
    let mut kept = Connection::trusting(&server, &ca);
    for rotation in 1..=3 {
        let pair = secret.issue();
        secret.swap(&pair.certificate, &pair.key);
        wait_for("the new certificate", || {
            (Connection::trusting(&server, &ca).leaf() == pair.leaf).then_some(())
        });
        assert_eq!(
            server.metric("poolgate_certificate_loads_total"),
            Some(1.0 + f64::from(rotation))
        );
        assert_eq!(kept.post("/validate", &good_review("kept")).status, 200);
    }
    assert_eq!(server.metric("poolgate_certificate_load_errors_total"), Some(0.0));
}

#[test]
fn a_broken_pair_leaves_the_old_one_in_force_until_it_is_fixed() {
    let (server, mut secret, first) = serve();
    let ca = secret.authority.pem();
    let failed = |times| {
        server.wait_for_metric("poolgate_certificate_load_errors_total", times);
        assert_eq!(server.metric("poolgate_certificate_load_failing"), Some(1.0));
        assert_eq!(Connection::trusting(&server, &ca).leaf(), first);
    };
    let (pair, other) = (secret.issue(), secret.issue());
    secret.swap(&pair.certificate, &other.key);
    failed(1.0);
    let (half, _) = pair.certificate.split_at(pair.certificate.len() / 2);
    secret.swap(half, &pair.key);
    failed(2.0);
    secret.swap("", "");
    failed(3.0);
    let message = "the new certificate cannot be used; the previous one stays in force";
    assert_eq!(server.logged(message, 3).len(), 3, "{}", server.log());

    secret.swap(&pair.certificate, &pair.key);
    wait_for("the fixed pair", || {
        (Connection::trusting(&server, &ca).leaf() == pair.leaf).then_some(())
    });
    assert_eq!(server.metric("poolgate_certificate_load_failing"), Some(0.0));
    assert_eq!(server.metric("poolgate_certificate_loads_total"), Some(2.0));
}

#[test]
fn a_certificate_that_ends_in_force_makes_the_server_unready_until_there_is_another() {
    let (server, mut secret, _) = serve();
    let ca = secret.authority.pem();
    let brief = secret.issue_for(Duration::from_secs(15));
    secret.swap(&brief.certificate, &brief.key);
    wait_for("the brief certificate", || {
        (Connection::trusting(&server, &ca).leaf() == brief.leaf).then_some(())
    });
    wait_for("the server to be unready", || {
        let (status, why) = server.probe("/readyz");
        (status == 503 && why.starts_with("the certificate expired ")).then_some(())
    });
    assert_eq!(server.probe("/livez").0, 200);
    let ends = server.metric("poolgate_certificate_not_after_timestamp_seconds{certificate=\"leaf\"}");
    let now = SystemTime::UNIX_EPOCH
        .elapsed()
        .expect("a time after 1970")
        .as_secs_f64();
    assert!(ends < Some(now), "{ends:?}");

    let next = secret.issue();
    secret.swap(&next.certificate, &next.key);
    wait_for("the server to be ready", || {
        (server.probe("/readyz").0 == 200).then_some(())
    });
}
