//! An HTTPS client under full control, in pieces and slowly if need be. It reads even if it can no longer write, as
//! a client must to learn why.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, SupportedProtocolVersion,
};
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::running::{dial, patient, status};

/// The most bytes in one TLS record.
const RECORD_BYTES: usize = 16 * 1024;

pub struct Connection {
    tls: ClientConnection,
    socket: TcpStream,
    received: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .into_iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON answer")
    }
}

impl Connection {
    /// Connects to a server with its own certificate, and does the handshake.
    pub fn to(server: &Poolgate) -> Self {
        Self::trusting(server, &server.ca())
    }

    /// Connects and does the handshake, trusting only `ca`.
    pub fn trusting(server: &Poolgate, ca: &str) -> Self {
        Self::negotiate(server.admission(), ca, &["http/1.1"]).expect("a handshake")
    }

    /// The same, offering these protocols.
    pub fn negotiate(address: SocketAddr, ca: &str, protocols: &[&str]) -> io::Result<Self> {
        Self::shake_hands(dial(address)?, ca, protocols)
    }

    /// Connects to a server from another address of this machine, and does the handshake.
    pub fn from(source: Ipv4Addr, server: &Poolgate, ca: &str) -> io::Result<Self> {
        Self::shake_hands(dial_from(source, server.admission())?, ca, &["http/1.1"])
    }

    /// Does the handshake on an existing connection.
    pub fn shake_hands(socket: TcpStream, ca: &str, protocols: &[&str]) -> io::Result<Self> {
        let mut config = trusting(ca, ALL_VERSIONS).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self::as_configured(socket, Arc::new(config))
    }

    /// The same with `config`.
    pub fn as_configured(mut socket: TcpStream, config: Arc<ClientConfig>) -> io::Result<Self> {
        let name = ServerName::from(socket.peer_addr()?.ip());
        let mut tls = ClientConnection::new(config, name).expect("a client");
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(Self {
            tls,
            socket,
            received: Vec::new(),
        })
    }

    pub fn protocol(&self) -> Option<&[u8]> {
        self.tls.alpn_protocol()
    }

    pub fn leaf(&self) -> Vec<u8> {
        self.tls.peer_certificates().expect("certificates")[0].to_vec()
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for record in bytes.chunks(RECORD_BYTES) {
            self.tls.writer().write_all(record)?;
            while self.tls.wants_write() {
                uninterrupted(|| self.tls.write_tls(&mut self.socket))?;
            }
        }
        Ok(())
    }

    /// Posts a whole JSON body and reads the answer.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Response {
        self.send(&head(path, body.len())).expect("the head is sent");
        self.send(body).expect("the body is sent");
        self.response().expect("an answer")
    }

    /// Reads one answer.
    pub fn response(&mut self) -> io::Result<Response> {
        let end = loop {
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break end;
            }
            self.receive()?;
        };
        let head = String::from_utf8(self.received[..end].to_vec()).expect("a head");
        let mut response = Response {
            status: status(&head).expect("a status"),
            head,
            body: String::new(),
        };
        let length = response
            .header("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        while self.received.len() < end + 4 + length {
            self.receive()?;
        }
        let body = self.received.drain(..end + 4 + length).skip(end + 4).collect();
        response.body = String::from_utf8(body).expect("a body");
        Ok(response)
    }

    /// Waits until the server closes the connection, which it must do without sending anything more.
    pub fn wait_for_end(&mut self) {
        match self.receive() {
            Err(error) if is_end(&error) => {}
            other => panic!(
                "not an end: {other:?} {:?}",
                String::from_utf8_lossy(&self.received)
            ),
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        loop {
            match self.tls.reader().read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.received.extend_from_slice(&bytes[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if uninterrupted(|| self.tls.read_tls(&mut self.socket))? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

/// Tries again while the call is interrupted: where a socket has a deadline, the kernel does not do so itself.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// The configuration of a client that trusts only `ca`, except for the certificate that it shows.
pub fn trusting(
    ca: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("a certificate"))
        .expect("a root");
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_webpki_verifier(verifier.build().expect("a verifier"))
}

/// A TCP connection from another address of this machine, such as 127.0.0.2.
pub fn dial_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<TcpStream> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(source.into(), 0))?;
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    patient(stream)
}

/// The head of a POST of JSON.
pub fn head(path: &str, length: usize) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: poolgate\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}

/// Whether the other side has closed the connection, cleanly or not.
pub fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A review of a NodePool without mistakes.
pub fn good_review(uid: &str) -> Vec<u8> {
    review(uid, &json!({}))
}

/// A review of a NodePool that every release rejects.
pub fn bad_review(uid: &str) -> Vec<u8> {
    review(uid, &json!({"disruption": {"budgets": [{"nodes": "deny"}]}}))
}

/// A review of a NodePool with this in its spec.
pub fn review(uid: &str, spec: &Value) -> Vec<u8> {
    review_of(uid, &node_pool("general", spec).to_string())
}

/// A review of this JSON text.
pub fn review_of(uid: &str, object: &str) -> Vec<u8> {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"{uid}",
        "kind":{{"group":"karpenter.sh","version":"v1","kind":"NodePool"}},
        "resource":{{"group":"karpenter.sh","version":"v1","resource":"nodepools"}},
        "name":"general","operation":"CREATE","userInfo":{{"username":"somebody"}},
        "object":{object},"oldObject":null,"dryRun":false,"options":null}}}}"#
    )
    .into_bytes()
}

/// Asserts that the server still works.
pub fn assert_works(server: &Poolgate) {
    let answer = Connection::to(server).post("/validate", &good_review("still-here"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["response"]["uid"], "still-here");
    assert_eq!(server.metric("poolgate_panics_total"), Some(0.0));
}
