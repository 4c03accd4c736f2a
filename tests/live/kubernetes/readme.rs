//! The picture in the README is what kubectl prints.

use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::poolgate::Poolgate;
use crate::support::readme;

const COMMAND: &str = "$ kubectl apply -f docs/examples/five-mistakes.yaml\n";
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/five-mistakes.yaml");

#[test]
fn the_readme_shows_what_kubectl_prints() {
    let poolgate = Poolgate::serve();
    let plane = ControlPlane::start();
    plane.install_karpenter_crds(V1);
    plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    let answer = plane.kubectl(&["apply", "-f", FILE], "");
    // kubectl leaves a blank at the end of its headline.
    let printed = answer.stderr.replace(" \n", "\n");
    assert_eq!(readme::block("console", COMMAND), format!("{COMMAND}{printed}"));
}
