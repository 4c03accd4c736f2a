//! How poolgate is taken out, with it and without it.

use serde_json::json;

use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;

const DOCUMENT: &str = include_str!("../../../../docs/operations.md");

/// The lines by which marks are taken off by hand, as they are documented.
fn documented_lines() -> Vec<Vec<&'static str>> {
    let lines = DOCUMENT
        .lines()
        .filter(|line| line.contains("-l poolgate.dev/held "));
    lines
        .map(|line| {
            line.strip_prefix("kubectl ")
                .expect("a kubectl line")
                .split(' ')
                .collect()
        })
        .collect()
}

#[test]
fn marks_are_taken_off_by_hand_or_by_one_command_and_stay_off() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    fleet.pool("general", 3, &json!({}));
    for node in ["node-a", "node-b", "node-c"] {
        fleet.busy("general", node);
    }
    let users = json!({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}});
    fleet.change_node("node-c", &users);
    let hold_all = |fleet: &mut Fleet| {
        let mut reconciler = Reconciler::start(plane.kubeconfig(), &[]);
        fleet.wait_until_held("general", &["node-a", "node-b"]);
        assert!(reconciler.terminate().success(), "{}", reconciler.log());
    };
    hold_all(&mut fleet);
    // Without poolgate nothing changes.
    assert_eq!(fleet.held("general"), ["node-a", "node-b"]);
    let lines = documented_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        plane.kubectl(&line, "").success();
    }
    let expect_only_the_users = |fleet: &mut Fleet| {
        assert!(fleet.held("general").is_empty());
        for (node, mark) in [
            ("node-a", json!(null)),
            ("node-b", json!(null)),
            ("node-c", json!("true")),
        ] {
            let stored = fleet.stored_node(node);
            assert_eq!(
                stored["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"], mark,
                "{node}"
            );
        }
    };
    expect_only_the_users(&mut fleet);

    hold_all(&mut fleet);
    let released = Reconciler::unhold_all(plane.kubeconfig());
    assert!(released.status.success(), "{released:?}");
    assert!(released.stderr.contains("nodes=2"), "{released:?}");
    expect_only_the_users(&mut fleet);
}
