//! How pools, pods and nodes are read.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::holds::could_be_disrupted;
use super::super::*;
use super::world::*;
use crate::api::NodeLimitMode;
use crate::facts::DO_NOT_DISRUPT_ANNOTATION;
use crate::pods::*;

#[test]
fn a_pool_is_read_from_what_is_stored() {
    let pool = World::from_object(&json!({
        "metadata": {
            "name": "p", "uid": "u", "deletionTimestamp": "2026-01-05T12:00:00Z",
            "annotations": {"poolgate.dev/node-limit-mode": "Soft"},
        },
        "spec": {
            "replicas": 3,
            "disruption": {"consolidationPolicy": "WhenEmpty"},
            "limits": {"nodes": 5},
        },
    }))
    .pool;
    assert_eq!((&*pool.name, &*pool.uid), ("p", "u"));
    assert!(pool.is_static && pool.is_deleted && pool.mode_is_written && !pool.consolidates_underutilized);
    let other =
        World::from_object(&json!({"spec": {"disruption": {"budgets": [7], "nodeLimitMode": "hard"}}})).pool;
    assert!(!(other.is_static || other.is_deleted || other.mode_is_written));
    assert!(other.budgets.is_err() && other.consolidates_underutilized);
}

#[test]
fn what_a_pool_could_serve_follows_its_template() {
    let mut world = World::from_object(&json!({
        "metadata": {"name": "p"},
        "spec": {"template": {
            "metadata": {"labels": {"team": "red"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "example.com/size", "operator": "Exists"},
                    {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["4"]},
                ],
                "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                           {"key": "slow", "effect": "PreferNoSchedule"}],
            },
        }},
    }));
    let tolerating = |value: Option<&str>| Toleration {
        key: Some("gpu".to_owned()),
        value: value.map_or(Tolerated::Any, |value| Tolerated::Value(value.to_owned())),
        effect: Some(Effect::NoSchedule),
    };
    let mut serves = |selector: &[(&str, &str)], tolerations: Vec<Toleration>| {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let node_selector: BTreeMap<_, _> = selector.iter().map(text).collect();
        let needs = Needs {
            node_selector,
            tolerations,
            ..needs("1")
        };
        world.pending = vec![needs];
        Situation::assess(&world.state(), &mut Memory::default(), both(noon())).is_awaited
    };
    assert!(!serves(&[], vec![]));
    assert!(!serves(&[], vec![tolerating(Some("no"))]));
    assert!(serves(
        &[],
        vec![Toleration {
            key: None,
            value: Tolerated::Any,
            effect: None
        }]
    ));
    for (selector, expected) in [
        (("team", "red"), true),
        (("team", "blue"), false),
        (("karpenter.sh/nodepool", "p"), true),
        (("karpenter.sh/nodepool", "q"), false),
        (("kubernetes.io/arch", "arm64"), false),
        (("kubernetes.io/arch", "amd64"), true),
        (("topology.kubernetes.io/zone", "a"), true),
        (("karpenter.k8s.aws/instance-family", "m5"), true),
        (("karpenter.k8s.aws/instance-cpu", "4"), false),
        (("karpenter.k8s.aws/instance-cpu", "8"), true),
        (("example.com/size", "any"), true),
        (("example.com/colour", "red"), false),
        (("kubernetes.io/hostname", "node-1"), false),
    ] {
        assert_eq!(
            serves(&[selector], vec![tolerating(None)]),
            expected,
            "{selector:?}"
        );
    }
}

#[test]
fn labels_have_the_names_that_the_pools_provider_knows() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let could_serve = |group: &str, (key, value): (&str, &str), (asked, wanted): (&str, &str)| {
        let pool = World::from_object(&json!({
            "metadata": {"name": "p"},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": group, "kind": "NodeClass", "name": "default"},
                "requirements": [{"key": key, "operator": "In", "values": [value]}],
            }}},
        }))
        .pool;
        let needs = Needs {
            node_selector: [(asked.to_owned(), wanted.to_owned())].into(),
            ..needs("1")
        };
        pool.could_serve(&needs)
    };
    let (aws, azure) = ("karpenter.k8s.aws", "karpenter.azure.com");
    let (ebs, disk) = (
        "topology.ebs.csi.aws.com/zone",
        "topology.disk.csi.azure.com/zone",
    );
    for (group, required, asked, expected) in [
        (
            aws,
            ("beta.kubernetes.io/arch", "arm64"),
            ("kubernetes.io/arch", "amd64"),
            false,
        ),
        (
            aws,
            ("kubernetes.io/arch", "arm64"),
            ("beta.kubernetes.io/arch", "arm64"),
            true,
        ),
        (aws, (ZONE, "us-east-1a"), (ebs, "us-east-1b"), false),
        (aws, (ZONE, "us-east-1a"), (ebs, "us-east-1a"), true),
        // Another provider's name for the zone is no label of these nodes.
        (aws, (ZONE, "us-east-1a"), (disk, "us-east-1a"), false),
        // Nobody knows what it is there.
        ("karpenter.example.com", (ZONE, "a"), (ebs, "b"), true),
        (azure, (ZONE, "0"), (disk, ""), true),
        (azure, (ZONE, "eastus-1"), (disk, ""), false),
    ] {
        assert_eq!(
            could_serve(group, required, asked),
            expected,
            "{group} {required:?} {asked:?}"
        );
    }
}

#[test]
fn annotations_are_read_as_karpenter_reads_them() {
    assert_eq!(DoNotDisrupt::parse("true"), Some(DoNotDisrupt::Always));
    assert_eq!(DoNotDisrupt::parse("1h"), Some(DoNotDisrupt::For(minutes(60))));
    for ignored in ["", "false", "True", "-1h", "0s", "1"] {
        assert_eq!(DoNotDisrupt::parse(ignored), None, "{ignored}");
    }
    for (text, cost) in [("-5", -5), ("+05", 5), ("2147483647", i32::MAX)] {
        assert_eq!(written_cost(text), Some(cost), "{text}");
    }
    for ignored in ["", "NaN", "dear", "1.0", " 1", "2147483648"] {
        assert_eq!(written_cost(ignored), None, "{ignored}");
    }
    let marks = |annotation: &'static str| {
        Marks::from_lookups(
            |_| None,
            move |key| (key == DO_NOT_DISRUPT_ANNOTATION).then_some(annotation),
        )
    };
    assert!(marks("true").do_not_disrupt);
    assert!(!marks("1h").do_not_disrupt, "on a node only `true` counts");
}

#[test]
fn amounts_are_rounded_against_the_pod() {
    let asked = Resources::asked([
        ("cpu", "1n"),
        ("memory", "1Ki"),
        ("cpu", "5m"),
        ("gpu", "many"),
        ("x", "-1"),
    ]);
    assert_eq!((asked.amount("cpu"), asked.amount("memory")), (6, 1_024_000));
    assert_eq!(
        (asked.amount("gpu"), asked.amount("x"), asked.amount("none")),
        (0, 0, 0)
    );
    let given = Resources::given([("cpu", "1999999n")]);
    assert_eq!(given.amount("cpu"), 1);
    let mut both = asked.clone();
    both.raise(&Resources::asked([("cpu", "5m"), ("memory", "2Ki")]));
    assert_eq!((both.amount("cpu"), both.amount("memory")), (6, 2_048_000));
}

#[test]
fn a_pool_without_a_mode_is_hard_whatever_the_policy_says() {
    let object = json!({"metadata": {"name": "general"}, "spec": {"limits": {"nodes": "5"}}});
    let mut policy = crate::policy::Policy::default();
    for mode in [NodeLimitMode::Hard, NodeLimitMode::Soft] {
        policy.defaults.node_limit_mode = mode;
        let limit = Pool::of(&object, &policy).limit.unwrap();
        assert_eq!(limit.mode, NodeLimitMode::Hard, "under {mode:?}");
    }
}

#[test]
fn a_pod_that_has_ended_or_was_asked_to_does_not_keep_its_node() {
    let ends: [fn(&mut Pod); 2] = [|pod| pod.is_terminal = true, |pod| pod.deleted = Some(noon())];
    for ends in ends {
        let mut machine = Machine::new(0).drifted().with_pod("1");
        machine.pods[0].do_not_disrupt = Some(DoNotDisrupt::Always);
        assert!(!could_be_disrupted(&machine.state(), true, noon()));
        ends(&mut machine.pods[0]);
        assert!(could_be_disrupted(&machine.state(), true, noon()));
    }
}
