//! A cluster that is set back to a backup of etcd: ledgers, NodeClaims, certificates and `caBundle` are those of then, and
//! so are the revisions. (The backup is a copy of etcd's directory, made while etcd was stopped.)

use serde_json::json;

use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::kubelet::Pod;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::rendered::rendered;
use crate::support::services::Services;
use crate::support::shell::{shell, workplace};
use crate::support::wait::wait_for;

const NAMESPACE: &str = "poolgate-system";
const POOLS: &str = "/apis/karpenter.sh/v1/nodepools";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const LEDGERS: &str = "/api/v1/namespaces/poolgate-ledgers/configmaps";

/// The pods of profile gate-strict, as their manifests say, behind their Services.
fn start_pods(plane: &ControlPlane, services: &Services) -> [Pod; 2] {
    ["poolgate", "poolgate-gate"].map(|name| {
        let pod = Pod::start(plane, NAMESPACE, name);
        services.route(plane, NAMESPACE, name, Some(pod.address("admission")));
        pod
    })
}

/// Makes a CA and certificates of it, as the quick start does.
fn certify(plane: &ControlPlane) {
    let clone = workplace();
    shell(clone.path(), Some(plane.kubeconfig()), "certs/dev && certs/apply").success();
}

fn create_claim(client: &Client, name: &str) -> Result<(), String> {
    let created = client.try_create(CLAIMS, &node_claim(name, "licensed"));
    created.map(drop).map_err(|error| error.to_string())
}

/// Creates as many claims as there are places, until the limit denies one more. A gate that does not answer yet is asked
/// again; if its answer came too late, the place is kept for some time although no claim was created.
fn fill(client: &Client, word: &str, places: usize) {
    let mut came = 0;
    wait_for("the pool to be full", || {
        match create_claim(client, &format!("{word}-{came}")) {
            Ok(()) => {
                came += 1;
                assert!(came <= places, "more are admitted than there are places");
                None
            }
            // The answer to the try before was lost.
            Err(error) if error.contains("already exists") => {
                came += 1;
                None
            }
            Err(error) => (came == places && error.contains("is at its node limit of")).then_some(()),
        }
    });
}

fn names(client: &Client) -> Vec<String> {
    let claims = client.list(CLAIMS);
    let mut names: Vec<_> = claims
        .iter()
        .map(|claim| claim["metadata"]["name"].to_string())
        .collect();
    names.sort();
    names
}

/// A strict pool, and certificates that the user provides.
fn manifests() -> String {
    rendered(
        "gate-strict",
        &[
            "--set=gateStrict.pools={licensed}",
            "--set=certificates.from=secret,certificates.caBundleFrom=other",
        ],
    )
}

fn bundle(client: &Client) -> String {
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/poolgate";
    client.get(path).expect("a configuration")["webhooks"][0]["clientConfig"]["caBundle"].to_string()
}

#[test]
fn a_cluster_set_back_to_a_backup_comes_up_and_its_limit_holds() {
    let (mut plane, services) = Services::with_control_plane();
    plane.install_karpenter_crds(V1);
    plane.kubectl(&["apply", "-f", "-"], &manifests()).success();
    certify(&plane);
    let pods = start_pods(&plane, &services);
    let client = Client::of(&plane);
    wait_for("a pool to come in", || {
        let pool = node_pool("licensed", &json!({"limits": {"nodes": 3}}));
        client.try_create(POOLS, &pool).ok()
    });
    fill(&client, "old", 3);
    client.delete(&format!("{CLAIMS}/old-2"));
    let (then, bundle_then) = (names(&client), bundle(&client));
    assert_eq!(then.len(), 2);
    let uid = |client: &Client| {
        let name = client.ledger_name("licensed");
        client.get(&format!("{LEDGERS}/{name}")).expect("a ledger")["metadata"]["uid"].clone()
    };
    let ledger = uid(&client);
    let backup = plane.back_up_store();

    // The time that is lost: other certificates, a higher limit, other claims.
    certify(&plane);
    for pod in &pods {
        pod.sync(&plane);
    }
    wait_for("the limit to be raised", || {
        let higher = json!({"spec": {"limits": {"nodes": 6}}});
        client.try_merge(&format!("{POOLS}/licensed"), &higher).ok()
    });
    client.delete(&format!("{CLAIMS}/old-0"));
    fill(&client, "lost", 5);
    assert_ne!(bundle(&client), bundle_then);

    for name in ["poolgate", "poolgate-gate"] {
        services.route(&plane, NAMESPACE, name, None);
    }
    drop(pods);
    plane.restore_store(&backup);
    let client = Client::of(&plane);
    assert_eq!((names(&client), bundle(&client)), (then, bundle_then));
    assert_eq!(uid(&client), ledger);
    // No webhook answers: under Fail nothing is admitted, and the way out of that exists.
    assert!(create_claim(&client, "early").is_err());
    let _pods = start_pods(&plane, &services);
    wait_for("a pool to be checked", || {
        client.try_create(POOLS, &node_pool("later", &json!({}))).ok()
    });
    fill(&client, "new", 1);
    assert_eq!(names(&client).len(), 3);
}

#[test]
fn gates_that_keep_running_admit_nothing_by_what_they_saw_in_the_time_that_is_lost() {
    let (mut plane, services) = Services::with_control_plane();
    plane.install_karpenter_crds(V1);
    plane.kubectl(&["apply", "-f", "-"], &manifests()).success();
    certify(&plane);
    let _pods = start_pods(&plane, &services);
    let client = Client::of(&plane);
    wait_for("a pool to come in", || {
        let pool = node_pool("licensed", &json!({"limits": {"nodes": 3}}));
        client.try_create(POOLS, &pool).ok()
    });
    fill(&client, "old", 3);
    let then = names(&client);
    let backup = plane.back_up_store();

    // The time that is lost: all claims go, and one comes, so that the gate has seen an almost empty pool.
    let client = Client::of(&plane);
    for number in 0..3 {
        client.delete(&format!("{CLAIMS}/old-{number}"));
    }
    wait_for("a claim to come in", || create_claim(&client, "lost").ok());

    plane.restore_store(&backup);
    let client = Client::of(&plane);
    assert_eq!(names(&client), then);
    fill(&client, "new", 0);
    assert_eq!(names(&client), then);
}
