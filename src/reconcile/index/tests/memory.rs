//! How much memory each object takes, and that nothing is kept twice.

use poolgate_core::nodelimit::plan::{Claim, Node, Pod};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::super::*;
use super::World;

/// How many bytes a node takes in a cluster of 100,000 nodes with three pods each, not counting names and the spare
/// capacity of tables: values that objects share are kept once.
#[test]
fn a_node_with_its_claim_and_pods_takes_no_more_memory_than_this() {
    let counted = 2 * size_of::<usize>();
    let machine = size_of::<(Key, Arc<str>)>();
    let claim = size_of::<(Arc<str>, KnownClaim)>() + counted + size_of::<Claim>() + machine;
    let node = size_of::<(Arc<str>, SeenNode)>() + counted + size_of::<Node>() + machine;
    let pods = size_of::<(Arc<str>, Vec<Arc<Pod>>)>();
    let pod = size_of::<(Key, PodLocation)>() + size_of::<Arc<Pod>>();
    assert!(claim <= 280, "{claim}");
    assert!(
        counted + size_of::<Claim>() <= 160,
        "the allocator's next size is 192"
    );
    assert!(node + pods <= 240, "{node} {pods}");
    assert!(pod <= 48, "{pod}");
}

#[test]
fn nodes_of_one_kind_share_what_they_are_like() {
    let mut world = World::new(BOUNDS);
    let selects = json!({"nodeName": "a", "nodeSelector": {"zone": "a"}});
    world.pod("pod", &selects);
    world.node("general", "a", false);
    world.node("general", "b", false);
    let nodes = ["a", "b"].map(|name| &world.index.nodes[name].node);
    assert_eq!(nodes[0].labels.len(), 1);
    assert!(Arc::ptr_eq(&nodes[0].labels, &nodes[1].labels));
    assert!(Arc::ptr_eq(&nodes[0].allocatable, &nodes[1].allocatable));
    assert!(Arc::ptr_eq(&nodes[0].taints, &nodes[1].taints));
    let names = [&nodes[0].name, world.index.pods_on.keys().next().expect("a pod")];
    assert!(Arc::ptr_eq(names[0], names[1]), "a name is kept once");
}

proptest! {
    #[test]
    fn each_node_has_the_pods_that_are_on_it_whatever_becomes_of_them(
        events in vec((0..6_usize, 0..4_usize, 1..3_i64), 0..40),
    ) {
        let mut world = World::new(BOUNDS);
        world.pool("general", &json!(5));
        let nodes = ["a", "b"];
        for name in nodes {
            world.claim("general", name);
            world.node("general", name, false);
        }
        let mut expected = [(); 6].map(|()| None);
        for (pod, place, cpu) in events {
            let container = json!({"resources": {"requests": {"cpu": cpu.to_string()}}});
            let node = nodes.get(place);
            let name = format!("pod-{pod}");
            if place == 3 {
                world.index.remove_pod(Key::of(&name));
            } else {
                world.pod(&name, &json!({"nodeName": node.unwrap_or(&""), "containers": [container]}));
            }
            expected[pod] = node.map(|node| (*node, cpu * 1_000));
        }
        let snapshot = world.index.snapshot("general");
        for claim in snapshot.state().claims {
            let node = claim.node.expect("a node");
            let mut cpus: Vec<_> = claim.pods.iter().map(|pod| pod.needs.requests.amount("cpu")).collect();
            cpus.sort_unstable();
            let on_it = expected.iter().flatten().filter(|(name, _)| **name == *node.name);
            let mut on_it: Vec<_> = on_it.map(|(_, cpu)| *cpu).collect();
            on_it.sort_unstable();
            prop_assert_eq!(cpus, on_it);
        }
    }
}
