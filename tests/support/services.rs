//! Services: an API server that reaches webhooks by the Services that their registrations name, as in a cluster. It asks a
//! proxy for the Service's address (an egress selector, as where nodes are behind a tunnel), and the proxy goes to whoever
//! stands for the Service's pods.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use super::client::Client;
use super::control_plane::ControlPlane;
use super::files::directory;

/// Who answers behind which `address:port` of a Service.
type Routes = Arc<Mutex<BTreeMap<String, SocketAddr>>>;

/// The proxy. Whoever is connected stays so until one of both sides ends.
pub(crate) struct Services {
    routes: Routes,
    directory: TempDir,
}

impl Services {
    /// A control plane whose API server reaches Services by a proxy, and the proxy.
    pub(crate) fn with_control_plane() -> (ControlPlane, Self) {
        let services = Self {
            routes: Routes::default(),
            directory: directory(&[]),
        };
        let socket = services.directory.path().join("proxy");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let routes = Arc::clone(&services.routes);
        thread::spawn(move || {
            for client in listener.incoming() {
                let routes = Arc::clone(&routes);
                thread::spawn(move || serve(client, &routes));
            }
        });
        let selector = json!({
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{
                "name": "cluster",
                "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": socket}}},
            }],
        });
        let file: PathBuf = services.directory.path().join("egress.json");
        std::fs::write(&file, selector.to_string()).expect("a file");
        let plane = ControlPlane::start_with(&[&format!("--egress-selector-config-file={}", file.display())]);
        (plane, services)
    }

    /// Lets a pod answer for a Service from now on, and nobody if there is none.
    pub(crate) fn route(
        &self,
        plane: &ControlPlane,
        namespace: &str,
        service: &str,
        pod: Option<SocketAddr>,
    ) {
        let path = format!("/api/v1/namespaces/{namespace}/services/{service}");
        let stored = Client::of(plane).get(&path).expect("a Service");
        let address = stored["spec"]["clusterIP"].as_str().expect("an address");
        let port = &stored["spec"]["ports"][0]["port"];
        let mut routes = self.routes.lock().expect("routes");
        match pod {
            Some(pod) => routes.insert(format!("{address}:{port}"), pod),
            None => routes.remove(&format!("{address}:{port}")),
        };
    }
}

/// Answers one client: `CONNECT address:port HTTP/1.1`, then bytes both ways. A client that goes away has no answer.
fn serve(client: io::Result<UnixStream>, routes: &Routes) -> Option<()> {
    let mut client = client.ok()?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let wanted = head.split(' ').nth(1)?;
    let pod = routes.lock().expect("routes").get(wanted).copied();
    let Some(pod) = pod.and_then(|pod| TcpStream::connect(pod).ok()) else {
        client
            .write_all(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
            .ok()?;
        return None;
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let (mut from_pod, mut to_client) = (pod.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_pod, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut to_pod = pod;
    let _ = io::copy(&mut client, &mut to_pod);
    let _ = to_pod.shutdown(Shutdown::Both);
    Some(())
}
