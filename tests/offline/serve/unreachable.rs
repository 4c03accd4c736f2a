//! A cluster that does not answer: poolgate starts and checks objects all the same, and logs it once.

use poolgate_core::facts::KarpenterVersion;

use super::super::no_cluster::{kubeconfig, port, refusing, silent};
use super::client::{Connection, bad_review, good_review};
use crate::support::poolgate::Poolgate;
use crate::support::program;
use crate::support::wait::wait_for;

#[test]
fn a_cluster_that_does_not_answer_delays_nothing() {
    let listener = silent();
    for port in [refusing(), port(&listener)] {
        let file = kubeconfig(port);
        let path = file.path().to_str().expect("a path");
        let server = Poolgate::start(&["--self-signed", "--kubeconfig", path]);
        let mut connection = Connection::to(&server);
        assert_eq!(connection.post("/mutate", &good_review("a")).status, 200);
        assert_eq!(connection.post("/validate", &bad_review("b")).status, 200);
        assert_eq!(server.probe("/readyz").0, 200);
        // It gives up on the cluster after it has begun to serve: a connection without an answer, after ten
        // seconds.
        server.logged("watch failed, retrying", 1);
        let log = server.log();
        let place = |message: &str| log.find(message).expect("a line of the log");
        assert!(place("listening") < place("watch failed, retrying"), "{log}");
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_reported_once_and_counted() {
    let file = kubeconfig(refusing());
    let server = Poolgate::start(&[
        "--self-signed",
        "--kubeconfig",
        file.path().to_str().expect("a path"),
    ]);
    wait_for("several tries", || {
        (server.metric("poolgate_watch_errors_total{watch=\"definition\"}") >= Some(3.0)).then_some(())
    });
    let (status, reported) = server.probe("/readyz");
    assert_eq!(status, 200);
    assert!(
        reported.starts_with(&format!(
            "ok\nrules for: Karpenter {}; no NodePool definition is known\n",
            KarpenterVersion::NEWEST
        )),
        "{reported}"
    );
    assert!(
        reported.contains("NodePool definition: not watching: "),
        "{reported}"
    );
    let up = "poolgate_watch_up{watch=\"nodepools\"}";
    assert!(server.probe("/metrics").1.contains(&format!("{up} 0\n")));
    // One line for each of the two watches.
    assert_eq!(
        server.logged("watch failed, retrying", 2).len(),
        2,
        "{}",
        server.log()
    );
}

#[test]
fn a_kubeconfig_that_is_named_and_missing_is_an_error() {
    let outcome = program::run(
        &[
            "serve",
            "--self-signed",
            "--listen=127.0.0.1:0",
            "--probe-listen=127.0.0.1:0",
            "--kubeconfig=/no/such/file",
        ],
        "",
    );
    assert_eq!(outcome.status.code(), Some(2));
    let wanted = "error: --kubeconfig /no/such/file cannot be used: ";
    assert!(outcome.stderr.contains(wanted), "{outcome:?}");
}
