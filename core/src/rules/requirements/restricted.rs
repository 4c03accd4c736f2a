//! Labels that a requirement may not be about: those of Karpenter itself and, before 1.9, those of Kubernetes.

use super::Scope;
use crate::diagnostic::{Problem, RuleId, Severity, quoted};
use crate::karpenter::{
    ApiVersion, CAPACITY_TYPE_LABEL, GROUP, HOSTNAME_LABEL, NODEPOOL_LABEL, Provider, Release,
    canonical_label, is_well_known, likely_label,
};
use crate::rule::{Origin, Rule};
use crate::rules::findings::Findings;

pub(in crate::rules) static REQUIREMENT_KEY_RESTRICTED: Rule = Rule {
    id: RuleId::new("requirement-key-restricted"),
    title: "The key of a requirement is not a label that Karpenter reserves",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "Of the labels in domains that end in `karpenter.sh`, a NodePool may require only \
          `karpenter.sh/capacity-type`. It may never require `kubernetes.io/hostname`, which is different on \
          each node. Before Karpenter 1.9, and in v1beta1, the domains `kubernetes.io` and `k8s.io` are \
          restricted, too, except `node.kubernetes.io`, `node-restriction.kubernetes.io`, `kops.k8s.io` and \
          the labels that Karpenter knows.",
    seen_in: &["2586"],
    bad: "\
spec:
  template:
    spec:
      requirements:
        - key: karpenter.sh/registered
          operator: Exists
",
    good: "\
spec:
  template:
    spec:
      requirements:
        - key: karpenter.sh/capacity-type
          operator: Exists
",
};

/// Says whether the label may be required at all, and why not.
pub(super) fn check(index: usize, key: &str, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(reason) = restriction(key, scope) else {
        return true;
    };
    let provider = scope.group.and_then(Provider::of_group);
    let meant = likely_label(key, provider).filter(|meant| restriction(meant, scope).is_none());
    let problem = Problem::Invalid { value: quoted(key) };
    findings.push(
        REQUIREMENT_KEY_RESTRICTED
            .finding(scope.field(index, "key"), problem, reason)
            .mend(meant.map_or_else(
                || "remove it".to_owned(),
                |meant| format!("did you mean {meant}?"),
            )),
    );
    false
}

fn restriction(key: &str, scope: &Scope<'_>) -> Option<&'static str> {
    if key == NODEPOOL_LABEL {
        let reason = "Karpenter sets this label itself, to the name of the NodePool";
        return (!scope.may_require_nodepool()).then_some(reason);
    }
    if key == HOSTNAME_LABEL {
        return Some("each node has its own, so no NodePool can require one");
    }
    // The CRD compares the end of the text, so that `mykarpenter.sh` is restricted with `karpenter.sh`.
    let domain = key.split('/').next().unwrap_or(key);
    if key != CAPACITY_TYPE_LABEL && domain.ends_with(GROUP) {
        return Some(
            "domains that end in karpenter.sh are Karpenter's; of their labels only karpenter.sh/capacity-type may \
             be required",
        );
    }
    let is_old =
        scope.version == ApiVersion::V1Beta1 || !scope.context.release.has(Release::KUBERNETES_DOMAINS_FREE);
    (is_old && !is_well_known(canonical_label(key)) && is_kubernetes_own(domain)).then_some(
        "before Karpenter 1.9, and in v1beta1, the domains kubernetes.io and k8s.io are restricted to the labels that \
         Karpenter knows",
    )
}

fn is_kubernetes_own(domain: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| domain.ends_with(ending));
    ends(&["kubernetes.io", "k8s.io"])
        && !ends(&[
            "node.kubernetes.io",
            "node-restriction.kubernetes.io",
            "kops.k8s.io",
        ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::requirements::testing::{errors_in, requirements};

    fn of_key(key: &str, version: ApiVersion, release: Release) -> Vec<String> {
        let object = requirements(&json!([{"key": key, "operator": "Exists"}]));
        errors_in(version, release, &object)
    }

    fn is_restricted(key: &str, version: ApiVersion, release: Release) -> bool {
        !of_key(key, version, release).is_empty()
    }

    #[test]
    fn karpenters_own_labels_are_restricted_as_the_crd_does_it() {
        for key in [
            "karpenter.sh/nodepool",
            "karpenter.sh/initialized",
            "a.karpenter.sh/x",
            "mykarpenter.sh/x",
            "karpenter.sh",
            "kubernetes.io/hostname",
        ] {
            assert!(is_restricted(key, ApiVersion::V1, Release::NEWEST), "{key}");
        }
        for key in [
            "karpenter.sh/capacity-type",
            "karpenter.sh.example.com/x",
            "example.com/karpenter.sh",
        ] {
            assert!(!is_restricted(key, ApiVersion::V1, Release::NEWEST), "{key}");
        }
    }

    #[test]
    fn the_domains_of_kubernetes_are_free_since_1_9_and_never_in_v1beta1() {
        let old = Release::new(1, 8, 2);
        for key in [
            "kubernetes.io/team",
            "node-role.kubernetes.io/worker",
            "k8s.io/x",
            "kubernetes.io",
        ] {
            assert!(
                !is_restricted(key, ApiVersion::V1, Release::new(1, 9, 0)),
                "{key}"
            );
            assert!(is_restricted(key, ApiVersion::V1, old), "{key}");
            assert!(is_restricted(key, ApiVersion::V1Beta1, Release::NEWEST), "{key}");
        }
        for key in [
            "kubernetes.io/arch",
            "beta.kubernetes.io/os",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/anything",
            "node-restriction.kubernetes.io/x",
            "kops.k8s.io/instancegroup",
        ] {
            assert!(!is_restricted(key, ApiVersion::V1, old), "{key}");
        }
    }

    #[test]
    fn a_misspelt_label_gets_its_likely_name() {
        let refused = of_key("karpenter.sh/capacity-typ", ApiVersion::V1, Release::NEWEST);
        assert!(
            refused[0].ends_with("did you mean karpenter.sh/capacity-type? [requirement-key-restricted]"),
            "{refused:?}"
        );
    }
}
