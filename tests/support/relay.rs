//! A TCP relay before several servers, as a Service would be: connections go to them by turns. (Endpoints refuse loopback
//! addresses, so that a real Service cannot stand in a test.)

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(1);

/// Relays until the test process ends.
pub(crate) struct Relay {
    address: SocketAddr,
    targets: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Relay {
    /// A relay with nobody behind it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let targets = Arc::new(Mutex::new(Vec::new()));
        let relay = Self {
            address,
            targets: Arc::clone(&targets),
        };
        thread::spawn(move || {
            let turn = AtomicUsize::new(0);
            for client in listener.incoming().filter_map(Result::ok) {
                let targets = targets.lock().expect("a lock").clone();
                let first = turn.fetch_add(1, Ordering::Relaxed);
                let connected = (0..targets.len())
                    .map(|offset| targets[(first + offset) % targets.len()])
                    .find_map(|target| TcpStream::connect_timeout(&target, CONNECT).ok());
                // Without a server the client is dropped, as by a Service without endpoints.
                if let Some(server) = connected {
                    let _ = join(&client, &server);
                }
            }
        });
        relay
    }

    /// From now on connections go to these.
    pub(crate) fn set_targets(&self, targets: Vec<SocketAddr>) {
        *self.targets.lock().expect("a lock") = targets;
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

fn join(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    for (from, to) in [(client, server), (server, client)] {
        from.set_nodelay(true)?;
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            // However one direction ends, the other has lost its use.
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
