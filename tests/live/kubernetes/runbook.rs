//! The runbook's sections about a broken node, typed at an API server where nothing else changes anything.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::readme::block_of;
use crate::support::shell::{shell, workplace};

const RUNBOOK: &str = include_str!("../../../docs/RUNBOOK.md");
const POOL: &str = "/apis/karpenter.sh/v1/nodepools/general";
const CLAIM: &str = "/apis/karpenter.sh/v1/nodeclaims/general-a";

fn text_of(section: &str) -> &'static str {
    let (_, rest) = RUNBOOK
        .split_once(&format!("\n## {section}\n"))
        .unwrap_or_else(|| panic!("no section {section}"));
    rest.split("\n## ").next().unwrap_or_default()
}

/// The first block of kubectl's commands in a section.
pub(super) fn commands(section: &str) -> &'static str {
    block(section, "kubectl ")
}

/// The first block of a section that begins so.
pub(super) fn block(section: &str, start: &str) -> &'static str {
    block_of(text_of(section), "sh", start)
}

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

    /// Types all commands of a section but those of Helm.
    fn follow(&self, section: &str) {
        for block in text_of(section).split("```sh\n").skip(1) {
            let commands = block.split("```").next().unwrap_or_default();
            if commands.starts_with("kubectl ") {
                self.run(commands);
            }
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
    let shown = scene.run(block_of(RUNBOOK, "console", "kubectl get events "));
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

    scene.follow("Let Karpenter try again");
    assert_eq!(scene.marks(), [json!(null), json!(null), json!(null)]);
    scene.mark();
    scene.follow("Keep a node from repair");
    assert_eq!(scene.marks(), [json!(null), json!(null), json!("true")]);

    let present = scene.run(commands("Give a pool room"));
    let present: Vec<_> = present.split_whitespace().collect();
    assert_eq!(present, ["LIMIT", "ANNOTATION", "SURGE", "5", "<none>", "<none>"]);
    scene.follow("Give a pool room");
    scene.follow("Terminate broken nodes first");
    scene.follow("A pool is above its limit");
    let pool = scene.stored(POOL);
    assert_eq!(pool["spec"]["limits"]["nodes"], "6");
    for (key, value) in [
        ("node-limit", "6"),
        ("surge", "1"),
        ("at-limit", "Repair"),
        ("over-limit", "Terminate"),
    ] {
        let annotations = &pool["metadata"]["annotations"];
        assert_eq!(annotations[format!("poolgate.dev/{key}")], value, "{annotations}");
    }

    let shown = scene.run(commands("Replace a node now"));
    assert!(shown.contains("general-a"), "{shown}");
    let before = Timestamp::now();
    scene.follow("End a drain");
    let metadata = &scene.stored(CLAIM)["metadata"];
    assert!(metadata["deletionTimestamp"].is_string(), "{metadata}");
    let deadline = &metadata["annotations"]["karpenter.sh/nodeclaim-termination-timestamp"];
    let deadline: Timestamp = deadline
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a time");
    assert!(deadline > before + SignedDuration::from_mins(9), "{deadline}");
}
