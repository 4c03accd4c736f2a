//! The commands that the pages give an operator of a cluster in trouble, run at an API server with all that is shipped.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::runbook::{block, commands};
use crate::support::control_plane::ControlPlane;
use crate::support::crds::V1;
use crate::support::readme::block_of;
use crate::support::rendered::{objects, rendered};
use crate::support::shell::{shell, workplace};

const CERTIFICATES: &str = include_str!("../../../docs/certificates.md");
const POLICY: &str = include_str!("../../../docs/policy.md");
const UPGRADE: &str = include_str!("../../../docs/upgrade.md");

/// A policy with a default that the definition would otherwise have its own for.
const OURS: &str =
    "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndefaults: {consolidationPolicy: WhenEmpty}\n";

const RUNBOOK: &str = include_str!("../../../docs/RUNBOOK.md");

/// An API server with profile gate; no process runs.
struct Installed(ControlPlane);

/// The one that these tests share: one changes webhook configurations and Deployments, the other Secrets and the CRD.
static INSTALLED: LazyLock<Installed> = LazyLock::new(Installed::start);

impl Installed {
    fn start() -> Self {
        let plane = ControlPlane::start();
        plane.install_karpenter_crds(V1);
        let installed = Self(plane);
        installed.apply();
        installed
    }

    fn apply(&self) {
        self.0
            .kubectl(&["apply", "-f", "-"], &rendered("gate", &[]))
            .success();
    }

    /// Types lines in a clone, beside a policy of the user's. What they print.
    #[track_caller]
    fn run(&self, lines: &str) -> String {
        let clone = workplace();
        std::fs::write(clone.path().join("policy.yaml"), OURS).expect("a file");
        shell(clone.path(), Some(self.0.kubeconfig()), lines).success()
    }

    #[track_caller]
    fn get(&self, what: &str) -> Value {
        let arguments = ["get", "--namespace=poolgate-system"]
            .into_iter()
            .chain(what.split(' '));
        self.0.kubectl_json(&arguments.collect::<Vec<_>>(), "")
    }

    /// When the Deployments of the admission webhook and of the gate were restarted.
    fn restarts(&self) -> [Value; 2] {
        ["poolgate", "poolgate-gate"].map(|name| {
            let deployment = self.get(&format!("deployment {name}"));
            deployment["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]
                .clone()
        })
    }

    fn configurations(&self) -> Vec<Value> {
        let all = self.get("validatingwebhookconfigurations,mutatingwebhookconfigurations");
        let items = all["items"].as_array().expect("a list").iter();
        items.map(|object| object["metadata"]["name"].clone()).collect()
    }
}

#[test]
fn each_command_for_an_emergency_does_what_its_section_says() {
    let installed = &INSTALLED;
    assert_eq!(installed.configurations().len(), 3);
    let namespace = block_of(RUNBOOK, "sh", "kubectl get validatingwebhookconfiguration ");
    assert_eq!(installed.run(namespace), "poolgate-system");
    installed.run(commands("The gate denies nodes"));
    assert_eq!(installed.configurations(), [json!("poolgate"), json!("poolgate")]);
    installed.run(commands("A NodePool is denied"));
    assert_eq!(installed.configurations(), Vec::<Value>::new());

    let restart = "kubectl -n poolgate-system rollout restart ";
    assert_eq!(installed.restarts(), [Value::Null, Value::Null]);
    installed.run(block("context deadline exceeded", restart));
    let restarts = installed.restarts();
    assert!(restarts.iter().all(Value::is_string), "{restarts:?}");
    // The time has whole seconds, and kubectl refuses to restart twice within one.
    installed.run(&format!("sleep 1.1; {}", block_of(UPGRADE, "sh", restart)));
    assert_ne!(installed.restarts(), restarts);
    installed.run(commands("Nodes stay held"));
    assert_eq!(
        installed.get("deployment poolgate-reconciler")["spec"]["replicas"],
        0
    );
    installed.apply();
    assert_eq!(
        installed.configurations().len(),
        3,
        "the profile applied again brings all back"
    );
    installed.run(block_of(UPGRADE, "sh", "gone="));
    let expected = objects(&rendered("enforce", &[]));
    let kinds = "clusterroles,roles,serviceaccounts,validatingadmissionpolicies,flowschemas,services";
    let left = installed.get(&format!(
        "{kinds} --all-namespaces -l app.kubernetes.io/part-of=poolgate"
    ));
    for object in left["items"].as_array().expect("a list") {
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let name = [&object["kind"], &metadata["namespace"], &metadata["name"]].map(text);
        assert!(expected.contains_key(&name.join(" ")), "{name:?} is left");
    }
    assert_eq!(installed.configurations(), [json!("poolgate"), json!("poolgate")]);
    let deployments = installed.get("deployments");
    let names = deployments["items"].as_array().expect("a list").iter();
    let names: Vec<&Value> = names.map(|object| &object["metadata"]["name"]).collect();
    assert_eq!(names, ["poolgate", "poolgate-certificates"]);

    installed.apply();
    installed.run(commands("Switch poolgate off"));
    assert_eq!(installed.configurations(), Vec::<Value>::new());
    assert_eq!(installed.get("deployments")["items"], json!([]));
    installed.apply();
}

#[test]
fn what_the_pages_tell_to_patch_is_patched() {
    let installed = &INSTALLED;
    let filled = r#"{"data":{"ca.key":"YQ==","ca.crt":"YQ==","tls.crt":"YQ==","tls.key":"YQ=="}}"#;
    for name in ["poolgate-certificates", "poolgate-tls"] {
        installed.run(&format!(
            "kubectl -n poolgate-system patch secret {name} -p '{filled}'"
        ));
    }
    installed.run(block_of(
        CERTIFICATES,
        "console",
        "kubectl -n poolgate-system patch secret",
    ));
    let authority = &installed.get("secret poolgate-certificates")["data"];
    assert_eq!(
        (&authority["ca.key"], &authority["ca.crt"]),
        (&Value::Null, &json!("YQ=="))
    );
    assert_eq!(installed.get("secret poolgate-tls")["data"], Value::Null);

    installed.run(block_of(POLICY, "console", "kubectl get crd"));
    let definition = installed.get("crd nodepools.karpenter.sh");
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let disruption = &schema["spec"]["properties"]["disruption"]["properties"];
    assert_eq!(disruption["consolidationPolicy"]["default"], "WhenEmpty");
    assert!(disruption["nodeLimitMode"].is_object(), "{disruption}");
}
