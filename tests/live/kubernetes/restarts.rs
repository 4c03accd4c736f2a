//! Replicas that are replaced one by one while an API server asks about NodePools, with failure policy Fail: no request
//! is lost but on a connection that was kept and not used for as long as the old replica waits. (Endpoints deny loopback
//! addresses: a relay stands for the Service.)

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::shared::published;
use crate::support::accounts::Account;
use crate::support::full::full;
use crate::support::load::Load;
use crate::support::nodepool::node_pool;
use crate::support::poolgate::Poolgate;
use crate::support::relay::{Cut, Relay};

/// How long connections still come to a replica that stops, and how long it then waits for requests on those that it has.
const SHUTDOWN_DELAY: Duration = Duration::from_secs(4);

fn replica() -> Poolgate {
    let plane = &published().plane;
    let (kubeconfig, pki) = (plane.kubeconfig_by(Account::Server), plane.pki());
    Poolgate::start(&[
        &format!("--kubeconfig={}", kubeconfig.display()),
        &format!("--tls-cert={}", pki.server_cert.display()),
        &format!("--tls-key={}", pki.server_key.display()),
        &format!("--shutdown-delay={}s", SHUTDOWN_DELAY.as_secs()),
    ])
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
    let mut ends = Vec::new();
    let request = |client| {
        let pool = node_pool(&format!("rolling-{client}"), &json!({}));
        ("/apis/karpenter.sh/v1/nodepools?dryRun=All", pool)
    };
    let load = Load::during(plane, request, |load| {
        for _ in 0..restarts {
            replicas.push(replica());
            publish(&replicas);
            let mut old = replicas.remove(0);
            ends.push((old.admission(), Instant::now()));
            old.signal("TERM");
            // The Service learns of it late: connections come until nothing listens any more.
            assert_eq!(old.wait_for_exit().code(), Some(0), "{}", old.log());
            publish(&replicas);
            assert_eq!(old.logged("stopped", 1).len(), 1, "{}", old.log());
            load.wait_for_more();
        }
    });
    // On one processor that is busy for that long, a client may take a kept connection just when its time is over.
    let overdue = |cut: &Cut| {
        let end = ends.iter().find(|(server, _)| *server == cut.server);
        end.is_some_and(|(_, end)| cut.at - *end >= 2 * SHUTDOWN_DELAY)
    };
    let (overdue, early): (Vec<Cut>, Vec<Cut>) = relay.cuts().into_iter().partition(overdue);
    let (asked, lost) = (load.asked(), load.lost());
    println!(
        "{restarts} restarts, {asked} requests, {} on overdue connections",
        overdue.len()
    );
    assert!(early.is_empty(), "{early:?}: {lost:?}");
    assert!(lost.len() <= overdue.len(), "{overdue:?}: {lost:?}");
}
