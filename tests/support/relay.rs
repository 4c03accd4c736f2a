//! A TCP relay before several servers, as a Service would be: connections go to them by turns. (Endpoints reject loopback
//! addresses, so that a real Service cannot be in a test.)

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

const CONNECT: Duration = Duration::from_secs(1);

/// More bytes than a client sends that only says that it closes. A request has hundreds.
const FAREWELL: usize = 100;

/// A connection that a server closed while its client sent a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The server.
    pub(crate) server: SocketAddr,
    /// When it closed the connection.
    pub(crate) at: Instant,
}

/// Relays until the test process ends.
pub(crate) struct Relay {
    address: SocketAddr,
    targets: Arc<Mutex<Vec<SocketAddr>>>,
    cuts: Arc<Mutex<Vec<Cut>>>,
}

impl Relay {
    /// A relay with no server behind it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (targets, cuts) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let relay = Self {
            address,
            targets: Arc::clone(&targets),
            cuts: Arc::clone(&cuts),
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
                    let _ = join(&client, &server, Arc::clone(&cuts));
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

    /// The connections that were closed under a request.
    pub(crate) fn cuts(&self) -> Vec<Cut> {
        locked(&self.cuts).clone()
    }
}

/// What is known of a connection by both of its directions.
#[derive(Default)]
struct Seen {
    /// How many bytes the client has sent since the server's last ones.
    unanswered: AtomicUsize,
    client_closed: AtomicBool,
    server_closed: Mutex<Option<Instant>>,
}

fn join(client: &TcpStream, server: &TcpStream, cuts: Arc<Mutex<Vec<Cut>>>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let target = server.peer_addr()?;
    let seen = Arc::new(Seen::default());
    let (from, to, asked) = (client.try_clone()?, server.try_clone()?, Arc::clone(&seen));
    thread::spawn(move || {
        copy(&from, &to, |bytes| {
            asked.unanswered.fetch_add(bytes, Ordering::Relaxed);
        });
        asked.client_closed.store(true, Ordering::Relaxed);
        let closed = *locked(&asked.server_closed);
        if let Some(at) = closed.filter(|_| asked.unanswered.load(Ordering::Relaxed) > FAREWELL) {
            locked(&cuts).push(Cut { server: target, at });
        }
    });
    let (from, to) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        copy(&from, &to, |_| seen.unanswered.store(0, Ordering::Relaxed));
        if !seen.client_closed.load(Ordering::Relaxed) {
            *locked(&seen.server_closed) = Some(Instant::now());
        }
    });
    Ok(())
}

/// Copies one direction to its end, and goes on reading where nobody takes the bytes any more.
fn copy(mut from: &TcpStream, mut to: &TcpStream, came: impl Fn(usize)) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        came(length);
        let _ = to.write_all(&bytes[..length]);
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a lock")
}
