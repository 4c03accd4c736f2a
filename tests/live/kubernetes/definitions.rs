//! The rules about labels in definitions that providers publish: what a real API server with each of them says of a label, and
//! what poolgate says, which reads the definition from that server.

use kube::Error;

use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::definitions::{PUBLISHED, labels, with_definition};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh";
const DRY_RUN: &str = "/apis/karpenter.sh/v1/nodepools?dryRun=All";

#[test]
fn labels_are_rejected_as_an_api_server_with_the_providers_definition_rejects_them() {
    for definition in PUBLISHED {
        let plane = ControlPlane::start();
        plane.install_crd(&definition.text());
        let client = Client::of(&plane);
        let installed = with_definition(&client.get(DEFINITION).expect("it is installed"));
        let mut rejected = 0;
        for pool in labels().iter().flat_map(|label| definition.pools(label)) {
            let is_rejected = match client.try_create(DRY_RUN, &pool) {
                Ok(_) => false,
                Err(Error::Api(_)) => true,
                Err(error) => panic!("{}: {error}", definition.file),
            };
            rejected += usize::from(is_rejected);
            for ours in definition.rejects(&pool, &installed) {
                assert_eq!(ours, is_rejected, "{}: {pool}", definition.file);
            }
        }
        assert!(rejected > 50, "{} rejects {rejected}", definition.file);
    }
}
