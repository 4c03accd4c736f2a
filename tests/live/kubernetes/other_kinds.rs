//! The kinds beside NodePool and NodeClaim: what lint says of each case of their rules, and what a real API server with
//! Karpenter's definitions says.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use poolgate_core::diagnostic::Origin;
use poolgate_core::facts::{OtherKind, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Limits};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;

/// The folder of the recorded release of Karpenter, as Go has downloaded it to build the programs of the tests.
fn module() -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let listed = Command::new("go")
        .args(["mod", "download", "-json", "sigs.k8s.io/karpenter"])
        .current_dir(root)
        .envs([("GOWORK", "off"), ("GOTOOLCHAIN", "auto")])
        .output()
        .expect("Go runs");
    let module: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    PathBuf::from(module["Dir"].as_str().expect("a folder"))
}

/// The objects of the cases of a rule.
fn cases(rule: &str) -> Vec<Value> {
    let path = format!("{}/core/rules/{rule}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).expect("the cases");
    let documents = manifest::parse(&text, &Limits::default());
    let file = documents
        .map(manifest::Document::into_value)
        .next()
        .expect("a document");
    let groups = file
        .as_object()
        .expect("groups")
        .values()
        .filter_map(Value::as_array);
    groups.flatten().map(|case| case["pool"].clone()).collect()
}

#[test]
fn other_kinds_are_rejected_by_lint_where_the_api_server_with_their_definitions_does() {
    let plane = ControlPlane::start();
    let definitions = module().join("pkg/apis/crds");
    for file in [
        "karpenter.sh_nodeoverlays.yaml",
        "autoscaling.x-k8s.io_capacitybuffers.yaml",
    ] {
        plane.install_crd(&fs::read_to_string(definitions.join(file)).expect(file));
    }
    let client = Client::of(&plane);
    let mut compared = [0, 0];
    for (kind, rule, plural) in [
        (OtherKind::NodeOverlay, "node-overlay", "nodeoverlays"),
        (
            OtherKind::CapacityBuffer,
            "capacity-buffer",
            "namespaces/default/capacitybuffers",
        ),
    ] {
        let (group, version, name) = kind.named();
        let path = format!("/apis/{group}/{version}/{plural}");
        for mut object in cases(rule) {
            object["apiVersion"] = json!(format!("{group}/{version}"));
            object["kind"] = json!(name);
            object["metadata"] = json!({"name": "example"});
            let strictly = format!("{path}?dryRun=All&fieldValidation=Strict");
            let answer = client.try_create(&strictly, &object);
            let request = Request {
                subject: Subject::Other(kind),
                object: &Json::from(&object),
                old: None,
                claims: None,
                at: Timestamp::UNIX_EPOCH,
            };
            let report = review(&request, &Policy::default(), &TargetKarpenter::default()).report;
            // Karpenter itself, not the definition, wants a buffer to name something.
            let is_rejected = report
                .diagnostics()
                .iter()
                .any(|found| found.origin == Origin::Schema);
            assert_eq!(answer.is_err(), is_rejected, "{object}: {answer:?}: {report:#?}");
            compared[usize::from(is_rejected)] += 1;
        }
    }
    assert!(compared[0] >= 6 && compared[1] >= 20, "{compared:?}");
}
