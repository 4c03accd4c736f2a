use serde_json::{Value, json};

use super::*;
use crate::facts::{ApiVersion, Operator};
use crate::json::Json;
use crate::pods::{InstanceType, PodSpec};
use crate::policy::Policy;
use crate::pool::NodePool;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn template(spec: &Value) -> NodeTemplate {
    let mut spec = spec.clone();
    spec["nodeClassRef"] = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let labels = spec.as_object_mut().and_then(|spec| spec.remove("labels"));
    let pool = json!({"spec": {"template": {"metadata": {"labels": labels}, "spec": spec}}});
    let pool = Json::from(&pool);
    let pool = NodePool::view(ApiVersion::V1, &pool);
    NodeTemplate::new("general", &pool.template, &Policy::default())
}

fn needs(spec: &Value) -> Needs {
    let spec: PodSpec = serde_json::from_value(spec.clone()).expect("a spec");
    spec.needs(&mut |name| name.into())
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

fn affinity(required: &[Value], preferred: &[Value]) -> Value {
    let required: Vec<_> = required
        .iter()
        .map(|one| json!({"matchExpressions": [one]}))
        .collect();
    let preferred: Vec<_> = preferred
        .iter()
        .map(|one| json!({"weight": 1, "preference": {"matchExpressions": [one]}}))
        .collect();
    let mut nodes = json!({});
    if !required.is_empty() {
        nodes[REQUIRED] = json!({"nodeSelectorTerms": required});
    }
    if !preferred.is_empty() {
        nodes[PREFERRED] = json!(preferred);
    }
    json!({"affinity": {"nodeAffinity": nodes}})
}

/// A word for each answer, with the key of the label that decides.
fn words(comparison: &Comparison) -> String {
    let key = |wanted: &[Wanted]| wanted[0].requirement.key.clone();
    match comparison {
        Comparison::Fits => "fits".to_owned(),
        Comparison::Open(unknown) => format!("open {unknown:?}"),
        Comparison::Conflicts(conflicts) => {
            let word = |conflict: &Conflict| match conflict {
                Conflict::Taint(taint) => format!("taint {}", taint.key),
                Conflict::Missing(wanted) => format!("missing {}", key(wanted)),
                Conflict::Label(wanted, _) => format!("label {}", key(wanted)),
                Conflict::Volume(key, _) => format!("volume {key}"),
                Conflict::Fields(term) => format!("fields {term}"),
                Conflict::Reserved(wanted) => format!("reserved {}", wanted.requirement.key),
                Conflict::Machines(shortfall) => format!("machines {shortfall:?}"),
            };
            conflicts.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    }
}

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

fn compared(pool: &Value, pod: &Value) -> String {
    words(&template(pool).compare(&needs(pod), &Facts::default()))
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
        words(&template(&pool).compare(&pod, &respected)),
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
    let Comparison::Conflicts(conflicts) = pool.compare(&needs(&pod), &Facts::default()) else {
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
        let comparison = template(&pool).compare(&needs(&pod), &facts);
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
        let comparison = pool.compare(&needs(&json!({})), &facts);
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
            words(&template(&json!({})).compare(&pod, &facts))
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
        assert_eq!(words(&pool.compare(&pod, &facts)), expected, "{volumes:?}");
    }
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
