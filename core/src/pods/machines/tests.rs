use serde_json::json;

use super::*;
use crate::pods::Facts;
use crate::pods::testing::{expression, needs, template, words};

/// Of what kwok's provider offers, one small and one large machine.
fn machines() -> Vec<InstanceType> {
    let one = |name: &str, zone: &str, cpu: &str| {
        json!({
            "name": name, "architecture": "amd64", "operatingSystems": ["linux"],
            "resources": {"cpu": cpu, "memory": "8Gi"}, "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
            "offerings": [{"Available": true, "Requirements": [
                expression("topology.kubernetes.io/zone", "In", &[zone]),
                expression("karpenter.sh/capacity-type", "In", &["spot"]),
            ]}],
        })
    };
    let list = json!([one("small", "a", "2"), one("large", "b", "16")]);
    InstanceType::parse(&list.to_string()).expect("instance types")
}

#[test]
fn instance_types_decide_if_they_are_known() {
    let types = machines();
    let asks = |cpu: &str| json!({"containers": [{"resources": {"requests": {"cpu": cpu}}}]});
    let daemon = |cpu: &str| vec![needs(&asks(cpu))];
    let least = json!({"requirements": [
        {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2},
    ]});
    let zone = |zone: &str, cpu: &str| {
        let mut pod = asks(cpu);
        pod["nodeSelector"] = json!({"topology.kubernetes.io/zone": zone});
        pod
    };
    for (pool, pod, daemons, expected) in [
        (json!({}), asks("16"), Some(vec![]), "fits"),
        (json!({}), asks("17"), Some(vec![]), "machines Size"),
        (json!({}), asks("16"), None, "open [Overhead]"),
        (json!({}), asks("16"), Some(daemon("100m")), "machines Size"),
        (json!({}), asks("15"), Some(daemon("100m")), "fits"),
        (json!({}), zone("a", "3"), Some(vec![]), "machines Size"),
        (json!({}), zone("c", "1"), Some(vec![]), "machines Labels"),
        (
            json!({"requirements": [expression("karpenter.sh/capacity-type", "In", &["on-demand"])]}),
            asks("1"),
            Some(vec![]),
            "machines Labels",
        ),
        (least.clone(), asks("1"), Some(vec![]), "fits"),
        (
            least,
            asks("3"),
            Some(vec![]),
            r#"machines MinValues("node.kubernetes.io/instance-type", 1, 2)"#,
        ),
    ] {
        let facts = Facts {
            machines: Machines {
                types: Some(&types),
                daemons: daemons.as_deref(),
                relaxes_min_values: Some(false),
                left: None,
            },
            ..Facts::default()
        };
        let comparison = template(&pool).comparer(facts).compare(&needs(&pod));
        assert_eq!(words(&comparison), expected, "{pool} {pod} {daemons:?}");
    }
}

#[test]
fn too_few_values_refuse_a_pod_only_if_karpenter_is_known_to_be_strict() {
    let types = machines();
    let pool = template(&json!({"requirements": [
        {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 3},
    ]}));
    for (relaxes_min_values, expected) in [
        (
            Some(false),
            r#"machines MinValues("node.kubernetes.io/instance-type", 2, 3)"#,
        ),
        (Some(true), "fits"),
        (None, "open [MinValuesPolicy]"),
    ] {
        let machines = Machines {
            types: Some(&types),
            daemons: Some(&[]),
            left: None,
            relaxes_min_values,
        };
        let facts = Facts {
            machines,
            ..Facts::default()
        };
        let comparison = pool.comparer(facts).compare(&needs(&json!({})));
        assert_eq!(words(&comparison), expected, "{relaxes_min_values:?}");
    }
}

#[test]
fn limits_leave_room_for_small_machines_or_for_none() {
    let types = machines();
    let pod = needs(&json!({"containers": [{"resources": {"requests": {"cpu": "4"}}}]}));
    for (left, known, unknown) in [
        (16_000, "fits", "open [Machines]"),
        (15_999, "machines Size", "open [Machines]"),
        (1_999, "machines Limits", "open [Machines]"),
        (0, "machines Limits", "machines Limits"),
    ] {
        let left = [("cpu".to_owned(), left)].into();
        let with = |types| {
            let machines = Machines {
                types,
                daemons: Some(&[]),
                left: Some(&left),
                relaxes_min_values: None,
            };
            let facts = Facts {
                machines,
                ..Facts::default()
            };
            words(&template(&json!({})).comparer(facts).compare(&pod))
        };
        assert_eq!(
            (with(Some(&types)).as_str(), with(None).as_str()),
            (known, unknown),
            "{left:?}"
        );
    }
}

#[test]
fn the_places_of_volumes_are_alternatives() {
    let types = machines();
    let zone = |zone: &str| LabelRequirement {
        key: "topology.kubernetes.io/zone".to_owned(),
        operator: Operator::In,
        values: vec![zone.to_owned()],
    };
    let pool =
        template(&json!({"requirements": [expression("topology.kubernetes.io/zone", "In", &["a", "c"])]}));
    let pod = needs(&json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}));
    for (volumes, expected) in [
        (None, "open [Volumes]"),
        (Some(vec![]), "fits"),
        (Some(vec![vec![zone("a")]]), "fits"),
        (Some(vec![vec![zone("b")]]), "volume topology.kubernetes.io/zone"),
        (Some(vec![vec![zone("b")], vec![zone("a")]]), "fits"),
        (Some(vec![vec![zone("c")]]), "machines Labels"),
    ] {
        let facts = Facts {
            volumes: volumes.as_deref(),
            machines: Machines {
                types: Some(&types),
                daemons: Some(&[]),
                ..Machines::default()
            },
            ..Facts::default()
        };
        assert_eq!(
            words(&pool.comparer(facts).compare(&pod)),
            expected,
            "{volumes:?}"
        );
    }
}

#[test]
fn a_label_that_the_instance_types_do_not_say_is_unknown() {
    let types = machines();
    let machines = Machines {
        types: Some(&types),
        daemons: Some(&[]),
        ..Machines::default()
    };
    let facts = Facts {
        machines,
        ..Facts::default()
    };
    let family = json!({"requirements": [expression("karpenter.kwok.sh/instance-family", "In", &["c"])]});
    let comparison = template(&family).comparer(facts).compare(&needs(&json!({})));
    assert_eq!(
        words(&comparison),
        r#"open [MachineLabel("karpenter.kwok.sh/instance-family")]"#
    );
}
