//! The runbook "A broken node in a full pool", typed at an API server where nothing else changes anything.

use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::readme::block_of;
use crate::support::shell::{shell, workplace};

const OPERATIONS: &str = include_str!("../../../docs/operations.md");
const POOL: &str = "/apis/karpenter.sh/v1/nodepools/general";
const CLAIM: &str = "/apis/karpenter.sh/v1/nodeclaims/general-a";

/// A pool with a node that Karpenter wants to repair.
struct Scene {
    plane: ControlPlane,
    fleet: Fleet,
}

impl Scene {
    fn start() -> Self {
        let plane = ControlPlane::start();
        let mut fleet = Fleet::in_cluster(&plane);
        fleet.pool("general", 5, &json!({"poolgate.dev/at-limit": "Block"}));
        fleet.claim(
            "general",
            "general-a",
            &json!({"finalizers": ["example.com/drain"]}),
        );
        fleet.node("general", "node-a");
        let mut claim = fleet.client().get(CLAIM).expect("a claim");
        claim["status"]["nodeName"] = json!("node-a");
        let conditions = claim["status"]["conditions"].as_array_mut().expect("conditions");
        conditions.push(json!({
            "type": "DisruptionReason", "status": "True", "reason": "Unhealthy", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }));
        fleet.client().replace(&format!("{CLAIM}/status"), &claim);
        let mut scene = Self { plane, fleet };
        scene.mark();
        scene
    }

    /// The marks that poolgate sets.
    fn mark(&mut self) {
        let annotations = json!({"karpenter.sh/do-not-repair": "true", "poolgate.dev/held-for": "repair"});
        let marks =
            json!({"metadata": {"labels": {"poolgate.dev/held": "true"}, "annotations": annotations}});
        self.fleet.change_node("node-a", &marks);
    }

    fn run(&self, lines: &str) -> String {
        shell(workplace().path(), Some(self.plane.kubeconfig()), lines).success()
    }

    /// Types the commands of a row.
    fn type_row(&self, purpose: &str) {
        let row = OPERATIONS
            .lines()
            .find(|line| line.starts_with(&format!("| {purpose} |")));
        let row = row.unwrap_or_else(|| panic!("no row {purpose}"));
        let commands = row.split('`').filter(|text| text.starts_with("kubectl "));
        for command in commands {
            self.run(command);
        }
    }

    fn stored(&self, path: &str) -> Value {
        self.fleet.client().get(path).expect("an object")
    }

    /// Which of the three marks the node has: poolgate's label, why, and Karpenter's.
    fn marks(&mut self) -> [Value; 3] {
        let metadata = &self.fleet.stored_node("node-a")["metadata"];
        let annotation = |key: &str| metadata["annotations"][key].clone();
        [
            metadata["labels"]["poolgate.dev/held"].clone(),
            annotation("poolgate.dev/held-for"),
            annotation("karpenter.sh/do-not-repair"),
        ]
    }
}

#[test]
fn the_runbook_of_a_broken_node_shows_and_does_what_it_says() {
    let mut scene = Scene::start();
    let shown = scene.run(block_of(OPERATIONS, "console", "kubectl get events "));
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for line in [
        ["NODE", "HELD-FOR", "NO-REPAIR"].as_slice(),
        &["node-a", "repair", "true"],
        &["NODECLAIM", "NODE", "WANTED", "DELETED"],
        &["general-a", "node-a", "Unhealthy", "<none>"],
    ] {
        assert!(lines.contains(&line.to_vec()), "{shown}");
    }

    scene.type_row("let Karpenter try again now");
    assert_eq!(scene.marks(), [json!(null), json!(null), json!(null)]);
    scene.mark();
    scene.type_row("keep a node from being repaired");
    assert_eq!(scene.marks(), [json!(null), json!(null), json!("true")]);

    scene.type_row("give the pool room for one more node");
    assert_eq!(scene.stored(POOL)["spec"]["limits"]["nodes"], "6");
    for (purpose, key, value) in [
        ("the same, if the limit is in the annotation", "node-limit", "6"),
        ("give it room only while nodes are replaced", "surge", "1"),
        ("have broken nodes terminated first, or not", "at-limit", "Repair"),
    ] {
        scene.type_row(purpose);
        let annotations = &scene.stored(POOL)["metadata"]["annotations"];
        assert_eq!(annotations[format!("poolgate.dev/{key}")], value, "{purpose}");
    }

    scene.type_row("replace it now, whatever Karpenter wants");
    scene.type_row("end a drain that something holds up");
    let metadata = &scene.stored(CLAIM)["metadata"];
    assert!(metadata["deletionTimestamp"].is_string(), "{metadata}");
    let deadline = &metadata["annotations"]["karpenter.sh/nodeclaim-termination-timestamp"];
    assert_eq!(deadline, "2026-11-25T12:30:00Z");
}
