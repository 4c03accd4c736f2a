use serde_json::{Value, json};

use super::*;

fn suggested(value: &Value, release: &str) -> Option<(&'static str, String)> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let claimed = Claimed {
        version: text("apiVersion"),
        kind: text("kind"),
        value: &Json::from(value),
    };
    let release = release.parse().expect("a release");
    let (field, _, suggestion) = claimed.fault(Whole::Whole, release)?;
    Some((field, suggestion))
}

#[track_caller]
fn assert_suggests(api_version: &str, kind: &str, release: &str, expected: Option<(&'static str, &str)>) {
    let found = suggested(&json!({"apiVersion": api_version, "kind": kind}), release);
    let found = found
        .as_ref()
        .map(|(field, suggestion)| (*field, suggestion.as_str()));
    assert_eq!(found, expected, "{api_version} {kind} in {release}");
}

#[test]
fn what_a_release_serves_is_not_a_mistake() {
    for (api_version, kind, release) in [
        ("karpenter.sh/v1", "NodePool", "1.15"),
        ("karpenter.sh/v1", "NodeClaimList", "1.15"),
        ("karpenter.sh/v1beta1", "NodePool", "1.0.8"),
        ("karpenter.sh/v1alpha1", "NodeOverlay", "1.7"),
        ("karpenter.k8s.aws/v1", "EC2NodeClass", "1.15"),
        ("karpenter.sh/${VERSION}", "NodePool", "1.15"),
        ("karpenter.sh/v1", "{{ kind }}", "1.15"),
        ("hypershift.openshift.io/v1beta1", "NodePool", "1.15"),
    ] {
        assert_suggests(api_version, kind, release, None);
    }
}

#[test]
fn what_was_probably_meant_is_suggested() {
    for (api_version, kind, release, field, suggestion) in [
        ("karpenter.sh/v1", "Nodepool", "1.15", "kind", "write NodePool"),
        (
            "karpenter.sh/v1alpha5",
            "nodepools",
            "1.15",
            "kind",
            "write NodePool and apiVersion: karpenter.sh/v1",
        ),
        (
            "karpenter.sh/v2",
            "NodePool",
            "1.15",
            "apiVersion",
            "write karpenter.sh/v1",
        ),
        (
            "karpenter.sh",
            "NodePool",
            "1.15",
            "apiVersion",
            "write karpenter.sh/v1",
        ),
        (
            "Karpenter.sh/v1",
            "NodePool",
            "1.15",
            "apiVersion",
            "write karpenter.sh/v1",
        ),
        (
            "karpenter.sh/v1",
            "NodeOverlay",
            "1.15",
            "apiVersion",
            "write karpenter.sh/v1alpha1",
        ),
        (
            "karpenter.sh/v1",
            "EC2NodeClass",
            "1.15",
            "apiVersion",
            "write karpenter.k8s.aws/v1",
        ),
        (
            "karpenter.sh/v1beta1",
            "EC2NodeClass",
            "0.37",
            "apiVersion",
            "write karpenter.k8s.aws/v1beta1",
        ),
        (
            "karpenter.sh/v1",
            "Gadget",
            "1.6",
            "kind",
            "use one of NodePool, NodeClaim",
        ),
    ] {
        assert_suggests(api_version, kind, release, Some((field, suggestion)));
    }
    let provisioner = json!({"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner"});
    let (field, suggestion) = suggested(&provisioner, "1.15").expect("a fault");
    assert!(
        field == "kind" && suggestion.starts_with("write a NodePool of karpenter.sh/v1, "),
        "{suggestion}"
    );
}

#[test]
fn what_shows_itself_as_a_nodepool_must_say_so() {
    let spec = json!({"template": {"spec": {"nodeClassRef": {"name": "a"}}}});
    let claim = json!({"nodeClassRef": {"name": "a"}, "requirements": []});
    let named = json!({"name": "a"});
    for (value, field) in [
        (json!({"apiVersion": "karpenter.sh/v1", "spec": {}}), "kind"),
        (json!({"kind": "NodePool", "spec": spec}), "apiVersion"),
        (json!({"kind": "NodeClaim", "spec": claim}), "apiVersion"),
        (json!({"metadata": named, "spec": spec}), "kind"),
        (
            json!({"apiVersion": "v1", "kind": "NodePool", "spec": spec}),
            "apiVersion",
        ),
        (
            json!({"apiVersion": "karpenter.k8s.aws/v1", "kind": "NodePool", "spec": spec}),
            "apiVersion",
        ),
    ] {
        assert_eq!(
            suggested(&value, "1.15").map(|(field, _)| field),
            Some(field),
            "{value}"
        );
    }
    for value in [
        json!({"apiVersion": "karpenter.sh/v1", "nodePools": []}),
        json!({"kind": "NodePool", "spec": {"replicas": 2}}),
        json!({"spec": spec}),
        json!({"metadata": named, "spec": {"template": {"spec": {}}}}),
        json!({"apiVersion": "example.com/v1", "kind": "NodePool", "spec": spec}),
    ] {
        assert_eq!(suggested(&value, "1.15"), None, "{value}");
    }
}

#[test]
fn a_pool_of_v1beta1_is_told_which_of_its_fields_to_convert() {
    let class = json!({"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "a"});
    let template = json!({"spec": {"nodeClassRef": class, "kubelet": {"maxPods": 1}, "requirements": []}});
    let pool = |disruption: Value| {
        json!({
            "apiVersion": "karpenter.sh/v1beta1",
            "kind": "NodePool",
            "spec": {"disruption": disruption, "template": template},
        })
    };
    let old = pool(json!({"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}));
    let (_, advice) = suggested(&old, "1.1").expect("a fault");
    for named in [
        "write karpenter.sh/v1 and convert the fields (",
        "nodeClassRef.group: write group: karpenter.k8s.aws",
        "nodeClassRef.apiVersion: write group instead",
        "kubelet: move it to the node class",
        "expireAfter: move it to spec.template.spec.expireAfter",
        "consolidationPolicy: write WhenEmptyOrUnderutilized",
        "consolidateAfter: write 0s",
        "), or set --karpenter-version to the release of the cluster",
    ] {
        assert!(advice.contains(named), "{named}: {advice}");
    }
    let (_, advice) = suggested(&pool(json!({"consolidateAfter": "1m"})), "1.15").expect("a fault");
    assert!(
        !advice.contains("consolidat") && !advice.contains("expireAfter"),
        "{advice}"
    );
}
