//! `--client-ca`: only clients with a certificate of that CA are answered.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ClientConfig, SupportedProtocolVersion};
use serde_json::Value;

use super::client::{Connection, Response, bad_review, good_review, head, trusting};
use crate::support::authority::{Authority, Issued};
use crate::support::mount::Mount;
use crate::support::poolgate::Poolgate;
use crate::support::running::dial;
use crate::support::wait::wait_for;

/// A server with a mounted client CA.
struct Guarded {
    server: Poolgate,
    mount: Mount,
}

impl Guarded {
    fn serve(authority: &Authority, arguments: &[&str]) -> Self {
        let mut mount = Mount::of(&["ca.crt"]);
        mount.swap(&[("ca.crt", &authority.pem())]);
        let file = mount.path("ca.crt");
        let own = ["--client-ca", &file, "--cert-poll-interval", "100ms"];
        let server = Poolgate::serve_with(&[&own, arguments].concat());
        Self { server, mount }
    }

    /// The configuration of a client with this certificate, or with none.
    fn config(
        &self,
        shown: Option<&Issued>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ClientConfig> {
        let builder = trusting(&self.server.ca(), versions);
        Arc::new(match shown {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = CertificateDer::from_pem_slice(issued.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes());
                builder
                    .with_client_auth_cert(vec![chain.expect("a certificate")], key.expect("a key"))
                    .expect("a pair")
            }
        })
    }

    /// Sends a review on a new connection. With TLS 1.3 a client learns only from the answer that it is denied.
    fn ask(&self, config: &Arc<ClientConfig>) -> io::Result<Response> {
        let socket = dial(self.server.admission())?;
        let mut connection = Connection::as_configured(socket, Arc::clone(config))?;
        let review = good_review("shown");
        connection.send(&[head("/validate", review.len()), review].concat())?;
        connection.response()
    }

    fn answers(&self, shown: &Issued) -> bool {
        self.ask(&self.config(Some(shown), ALL_VERSIONS))
            .is_ok_and(|answer| answer.status == 200)
    }

    /// A client may learn that it is denied before the denial is counted and logged.
    fn expect_denied(&self, reason: &str, times: f64) {
        let name = format!("poolgate_clients_denied_total{{reason=\"{reason}\"}}");
        self.server.wait_for_metric(&name, times);
    }

    /// The log lines about denials; there must be this many.
    fn reported(&self, lines: usize) -> Vec<Value> {
        self.server.logged("denied a client", lines)
    }
}

#[test]
fn who_shows_no_certificate_of_the_authority_gets_no_handshake() {
    let [authority, other] = ["clients", "others"].map(Authority::named);
    let guarded = Guarded::serve(&authority, &[]);
    let stranger = other.client("kube-apiserver");
    for (shown, alert, reason) in [
        (None, "CertificateRequired", "no_certificate"),
        (Some(&stranger), "UnknownCA", "invalid_certificate"),
    ] {
        for (count, version) in [(1.0, &TLS13), (2.0, &TLS12)] {
            let error = guarded
                .ask(&guarded.config(shown, &[version]))
                .expect_err("no answer");
            assert!(error.to_string().contains("received fatal alert"), "{error}");
            if version.version == TLS13.version {
                assert!(error.to_string().contains(alert), "{error}");
            }
            guarded.expect_denied(reason, count);
        }
    }
    // Once for each reason in a while, with the client's address.
    let lines = guarded.reported(2);
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!(line["fields"]["peer"], "127.0.0.1");
    }

    assert!(guarded.answers(&authority.client("anybody")));
    assert_eq!(
        guarded.server.probe("/livez").0,
        200,
        "a kubelet has no certificate"
    );
    assert_eq!(guarded.server.probe("/readyz").0, 200);
}

#[test]
fn who_has_another_name_is_reported_so_and_learns_nothing_else() {
    let authority = Authority::named("clients");
    let guarded = Guarded::serve(
        &authority,
        &["--client-name=kube-apiserver", "--client-name=front"],
    );
    for name in ["kube-apiserver", "front"] {
        assert!(guarded.answers(&authority.client(name)), "{name}");
    }
    let node = authority.client("system:node:a");
    let config = guarded.config(Some(&node), ALL_VERSIONS);
    for path in ["/validate", "/nowhere"] {
        let socket = dial(guarded.server.admission()).expect("a connection");
        let connection = Connection::as_configured(socket, Arc::clone(&config));
        let answer = connection.expect("a handshake").post(path, &bad_review("u"));
        assert_eq!((answer.status, answer.header("connection")), (403, Some("close")));
        assert_eq!(
            answer.body,
            "--client-name matches no name of the client certificate: system:node:a\n"
        );
    }
    guarded.expect_denied("name", 2.0);
    let lines = guarded.reported(1);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0]["fields"]["reason"].to_string().contains("system:node:a"));
}

#[test]
fn a_new_authority_takes_the_place_of_the_old_one_and_a_broken_one_does_not() {
    let [old, new] = ["old", "new"].map(Authority::named);
    let mut guarded = Guarded::serve(&old, &[]);
    let [by_old, by_new] = [&old, &new].map(|authority| authority.client("kube-apiserver"));
    let returning = guarded.config(Some(&by_old), ALL_VERSIONS);
    assert_eq!(guarded.ask(&returning).expect("an answer").status, 200);
    assert!(!guarded.answers(&by_new));

    guarded.mount.swap(&[("ca.crt", "")]);
    guarded
        .server
        .wait_for_metric("poolgate_client_ca_load_failing", 1.0);
    assert!(guarded.answers(&by_old));
    let message = "the new client CA cannot be used; the previous one stays in force";
    assert_eq!(
        guarded.server.logged(message, 1).len(),
        1,
        "{}",
        guarded.server.log()
    );

    guarded.mount.swap(&[("ca.crt", &new.pem())]);
    wait_for("the new authority", || guarded.answers(&by_new).then_some(()));
    // A returning client would resume its session, if it could.
    assert!(guarded.ask(&returning).is_err());
    for (metric, value) in [
        ("loads_total", 2.0),
        ("load_errors_total", 1.0),
        ("load_failing", 0.0),
    ] {
        let name = format!("poolgate_client_ca_{metric}");
        assert_eq!(guarded.server.metric(&name), Some(value), "{name}");
    }
}
