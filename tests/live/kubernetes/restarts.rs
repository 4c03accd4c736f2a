//! Replicas that are replaced one by one while an API server asks about NodePools, with failure policy Fail: no request
//! is lost. (Endpoints refuse loopback addresses: a relay stands for the Service.)

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::shared::published;
use crate::support::client::Client;
use crate::support::full::full;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::relay::Relay;
use crate::support::wait::wait_for;

const CLIENTS: u64 = 8;

fn replica() -> Poolgate {
    let plane = &published().plane;
    let (kubeconfig, pki) = (plane.kubeconfig(), plane.pki());
    Poolgate::start(&[
        &format!("--kubeconfig={}", kubeconfig.display()),
        &format!("--tls-cert={}", pki.server_cert.display()),
        &format!("--tls-key={}", pki.server_key.display()),
        "--shutdown-delay=4s",
    ])
}

/// Ends the clients, also where the test fails.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn rolling_restarts_lose_no_request() {
    let plane = &published().plane;
    let relay = Relay::start();
    let mut replicas = vec![replica(), replica()];
    let publish =
        |replicas: &[Poolgate]| relay.set_targets(replicas.iter().map(Poolgate::admission).collect());
    publish(&replicas);
    let ca = fs::read_to_string(&plane.pki().ca).expect("the authority");
    plane.register_webhooks_for("rolling-", &format!("https://{}", relay.address()), &ca);

    let restarts = if full() { 20 } else { 2 };
    let (over, asked, lost) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        let _over = SetAtEnd(&over);
        for client in 0..CLIENTS {
            let (over, asked, lost) = (&over, &asked, &lost);
            scope.spawn(move || {
                let api = Client::of(plane);
                let pool = node_pool(&format!("rolling-{client}"), &json!({}));
                // Some ask all the time, some now and then: connections are new, in use, and kept.
                let pause = Duration::from_millis(client * client * 10);
                while !over.load(Ordering::Relaxed) {
                    let path = "/apis/karpenter.sh/v1/nodepools?dryRun=All";
                    match api.try_create(path, &pool) {
                        Ok(_) => asked.fetch_add(1, Ordering::Relaxed),
                        Err(error) => return lost.lock().expect("a lock").push(error.to_string()),
                    };
                    thread::sleep(pause);
                }
            });
        }
        for _ in 0..restarts {
            let before = asked.load(Ordering::Relaxed);
            replicas.push(replica());
            publish(&replicas);
            let mut old = replicas.remove(0);
            old.signal("TERM");
            // The Service learns of it late: connections come until nobody listens any more.
            assert_eq!(old.wait_for_exit().code(), Some(0), "{}", old.log());
            publish(&replicas);
            assert_eq!(old.logged("stopped").len(), 1, "{}", old.log());
            wait_for("requests", || {
                let gone_on = asked.load(Ordering::Relaxed) > before + CLIENTS;
                (gone_on || !lost.lock().expect("a lock").is_empty()).then_some(())
            });
        }
    });
    println!("{restarts} restarts, {} requests", asked.load(Ordering::Relaxed));
    assert_eq!(lost.into_inner().expect("a lock"), Vec::<String>::new());
}
