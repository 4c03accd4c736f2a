use serde_json::json;

use super::*;
use crate::pods::testing::{REQUIRED, affinity, expression, needs, template, words};

fn compared(pool: &serde_json::Value, pod: &serde_json::Value) -> String {
    words(&template(pool).comparer(Facts::default()).compare(&needs(pod)))
}

#[test]
fn labels_and_taints_of_a_pool_refuse_a_pod_as_karpenter_does() {
    const OPEN: &str = "open [Machines]";
    let zone = "topology.kubernetes.io/zone";
    let in_zone = |zones: &[&str]| json!({"requirements": [expression(zone, "In", zones)]});
    let tainted = |effect: &str| json!({"taints": [{"key": "gpu", "value": "yes", "effect": effect}]});
    let tolerating = |operator: &str, value: &str| json!({"tolerations": [{"key": "gpu", "operator": operator, "value": value, "effect": "NoSchedule"}]});
    for (pool, pod, expected) in [
        (json!({}), json!({}), OPEN),
        (in_zone(&["a"]), json!({"nodeSelector": {zone: "a"}}), OPEN),
        (
            in_zone(&["a"]),
            json!({"nodeSelector": {zone: "b"}}),
            "label topology.kubernetes.io/zone",
        ),
        // By its old name, too.
        (
            in_zone(&["a"]),
            json!({"nodeSelector": {"failure-domain.beta.kubernetes.io/zone": "b"}}),
            "label failure-domain.beta.kubernetes.io/zone",
        ),
        (
            json!({}),
            json!({"nodeSelector": {"team": "red"}}),
            "missing team",
        ),
        (
            json!({"labels": {"team": "red"}}),
            json!({"nodeSelector": {"team": "red"}}),
            OPEN,
        ),
        (
            json!({}),
            affinity(&[expression("team", "NotIn", &["red"])], &[]),
            OPEN,
        ),
        (
            json!({}),
            affinity(&[expression("team", "DoesNotExist", &[])], &[]),
            OPEN,
        ),
        (
            json!({}),
            affinity(&[expression("team", "Exists", &[])], &[]),
            "missing team",
        ),
        (
            json!({}),
            json!({"nodeSelector": {"karpenter.sh/nodepool": "other"}}),
            "label karpenter.sh/nodepool",
        ),
        // Karpenter ignores these pods.
        (
            json!({}),
            json!({"nodeSelector": {"kubernetes.io/hostname": "n"}}),
            "reserved kubernetes.io/hostname",
        ),
        (
            json!({}),
            affinity(&[expression("kubernetes.io/hostname", "NotIn", &["n"])], &[]),
            "reserved kubernetes.io/hostname",
        ),
        (
            json!({}),
            affinity(&[expression("karpenter.sh/nodepool", "DoesNotExist", &[])], &[]),
            "reserved karpenter.sh/nodepool",
        ),
        (
            json!({}),
            json!({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
                {}, {"matchFields": [expression("metadata.name", "In", &["n"])]},
            ]}}}}),
            "fields 1",
        ),
        (tainted("NoSchedule"), json!({}), "taint gpu"),
        (tainted("NoSchedule"), tolerating("Equal", "no"), "taint gpu"),
        (tainted("NoSchedule"), tolerating("", "yes"), OPEN),
        (tainted("NoExecute"), tolerating("Exists", ""), "taint gpu"),
        (tainted("PreferNoSchedule"), json!({}), OPEN),
        (
            json!({"taints": [{"key": "gpu", "value": "4", "effect": "NoSchedule"}]}),
            tolerating("Gt", "3"),
            OPEN,
        ),
        (
            json!({"taints": [{"key": "gpu", "value": "4", "effect": "NoSchedule"}]}),
            tolerating("Lt", "4"),
            "taint gpu",
        ),
    ] {
        assert_eq!(compared(&pool, &pod), expected, "{pool} {pod}");
    }
}

#[test]
fn terms_are_tried_one_by_one_and_preferences_count_until_they_are_dropped() {
    let pool = json!({"labels": {"team": "red", "tier": "web"}});
    let is = |key: &str, value: &str| expression(key, "In", &[value]);
    for (required, preferred, expected) in [
        (
            vec![is("team", "blue"), is("team", "red")],
            vec![],
            "open [Machines]",
        ),
        (
            vec![is("team", "blue"), is("tier", "db")],
            vec![],
            "label team, label tier",
        ),
        (vec![], vec![is("team", "blue")], "open [Machines]"),
        // Karpenter drops the term that fits before the preference that does not.
        (
            vec![is("team", "red"), is("tier", "db")],
            vec![is("team", "blue")],
            "open [PreferencePolicy]",
        ),
        (
            vec![is("tier", "db"), is("team", "red")],
            vec![is("team", "blue")],
            "open [Machines]",
        ),
    ] {
        let pod = affinity(&required, &preferred);
        assert_eq!(compared(&pool, &pod), expected, "{pod}");
    }
    let pod = needs(&affinity(
        &[is("team", "red"), is("tier", "db")],
        &[is("team", "blue")],
    ));
    let respected = Facts {
        ignores_preferences: Some(false),
        ..Facts::default()
    };
    assert_eq!(
        words(&template(&pool).comparer(respected).compare(&pod)),
        "label team, label tier"
    );
}

#[test]
fn a_conflict_names_every_place_that_wants_the_label() {
    let zone = "topology.kubernetes.io/zone";
    let pool = template(&json!({"requirements": [
        expression("kubernetes.io/arch", "In", &["amd64"]), expression(zone, "In", &["a", "b"]),
    ]}));
    let mut pod = affinity(&[expression(zone, "NotIn", &["a", "b"])], &[]);
    pod["nodeSelector"] = json!({zone: "c"});
    let Comparison::Conflicts(conflicts) = pool.comparer(Facts::default()).compare(&needs(&pod)) else {
        panic!("no conflict");
    };
    let [Conflict::Label(wanted, offered)] = &*conflicts else {
        panic!("{conflicts:?}");
    };
    let wanted = wanted
        .iter()
        .map(|one| format!("{}: {}", one.at.path(), one.requirement));
    let offered = offered
        .iter()
        .map(|one| format!("{}: {}", one.at, one.requirement));
    assert_eq!(
        wanted.chain(offered).collect::<Vec<_>>(),
        [
            "spec.nodeSelector[topology.kubernetes.io/zone]: topology.kubernetes.io/zone In [c]",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]\
             .matchExpressions[0]: topology.kubernetes.io/zone NotIn [a, b]",
            "spec.template.spec.requirements[1]: topology.kubernetes.io/zone In [a, b]",
        ]
    );
}

#[test]
fn what_else_decides_is_named() {
    for (pod, expected) in [
        (
            json!({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}),
            "[Machines, Pods]",
        ),
        (
            json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}),
            "[Machines]",
        ),
        (
            json!({"containers": [{"ports": [{"hostPort": 80}]}]}),
            "[Machines, Ports]",
        ),
        (json!({"resourceClaims": [{"name": "gpu"}]}), "[Machines, Claims]"),
        (
            json!({"nodeSelector": {"karpenter.kwok.sh/new": "x"}}),
            r#"[Label("karpenter.kwok.sh/new"), Machines]"#,
        ),
    ] {
        assert_eq!(compared(&json!({}), &pod), format!("open {expected}"), "{pod}");
    }
}
