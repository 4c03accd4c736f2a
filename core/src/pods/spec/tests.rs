use serde_json::{Value, json};

use super::*;

fn needs(spec: Value) -> Needs {
    let spec: PodSpec = serde_json::from_value(spec).expect("a spec");
    spec.needs(&mut |name| name.into())
}

fn container(cpu: &str) -> Value {
    json!({"resources": {"requests": {"cpu": cpu}}})
}

fn sidecar(cpu: &str) -> Value {
    json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
}

#[test]
fn requests_are_computed_as_the_scheduler_does() {
    for (spec, millis) in [
        (json!({"containers": [container("1"), container("500m")]}), 1_500),
        // The init container runs alone, and needs more than all the containers after it.
        (
            json!({"initContainers": [container("4")], "containers": [container("1")]}),
            4_000,
        ),
        // A sidecar runs beside the containers, and beside init containers after it.
        (
            json!({"initContainers": [sidecar("1"), container("4")], "containers": [container("1")]}),
            5_000,
        ),
        (
            json!({"initContainers": [container("4"), sidecar("1")], "containers": [container("2")]}),
            4_000,
        ),
        (
            json!({"initContainers": [sidecar("1")], "containers": [container("2")]}),
            3_000,
        ),
        (
            json!({"containers": [container("1")], "overhead": {"cpu": "250m"}}),
            1_250,
        ),
        (
            json!({"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}}),
            3_000,
        ),
        (json!({"containers": [container("many")]}), 0),
    ] {
        assert_eq!(needs(spec.clone()).requests.amount("cpu"), millis, "{spec}");
    }
}

#[test]
fn what_binds_a_pod_to_a_place_is_seen() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    for (spec, is_bound) in [
        (json!({}), false),
        (json!({"nodeSelector": {"zone": "a"}}), false),
        (
            json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [{"matchFields": [{}]}]}}}}),
            true,
        ),
        (
            json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": []}]}}}}),
            true,
        ),
        (
            json!({"affinity": {"podAntiAffinity": {required: [{"topologyKey": "zone"}]}}}),
            true,
        ),
        (json!({"affinity": {"podAntiAffinity": {required: []}}}), false),
        (
            json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}),
            false,
        ),
        (
            json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}),
            true,
        ),
        (
            json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}),
            false,
        ),
        (json!({"volumes": [{"name": "v", "emptyDir": {}}]}), false),
        (
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
            true,
        ),
        (json!({"volumes": [{"name": "v", "ephemeral": {}}]}), true),
        (json!({"containers": [{"ports": [{"containerPort": 80}]}]}), false),
        (json!({"containers": [{"ports": [{"hostPort": 80}]}]}), true),
        (json!({"resourceClaims": [{"name": "gpu"}]}), true),
    ] {
        assert_eq!(needs(spec.clone()).is_bound(), is_bound, "{spec}");
    }
}

#[test]
fn tolerations_keep_what_they_leave_out() {
    let toleration = |object: Value| needs(json!({"tolerations": [object]})).tolerations.remove(0);
    let all = toleration(json!({"operator": "Exists"}));
    assert_eq!((all.key, all.value, all.effect), (None, Tolerated::Any, None));
    let equal = toleration(json!({"key": "team", "effect": "NoSchedule"}));
    assert_eq!(equal.value, Tolerated::Value(String::new()));
    assert_eq!(equal.effect, Some(Effect::NoSchedule));
}
