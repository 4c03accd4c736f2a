//! Labels that a requirement may not use: those of Karpenter itself and, before 1.9, those of Kubernetes.

use super::Scope;
use crate::diagnostic::Suggestion;
use crate::karpenter::{Provider, likely_label};
use crate::rules::findings::Findings;
use crate::rules::reserved_labels::Reserved;
use crate::rules::rule::Rule;

pub static REQUIREMENT_KEY_RESTRICTED: Rule = rule!("requirement-key-restricted", Error, Schema);

/// Says whether the label may be required, and if not, why.
pub fn check(index: usize, key: &str, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(reserved) = reserved(key, scope) else {
        return true;
    };
    let provider = scope.group.and_then(Provider::of_group);
    let likely = likely_label(key, provider).filter(|likely| self::reserved(likely, scope).is_none());
    findings
        .report(
            &REQUIREMENT_KEY_RESTRICTED,
            Scope::field(index, "key"),
            key,
            reason(reserved),
        )
        .suggest(likely.map_or_else(|| "remove it".into(), Suggestion::did_you_mean));
    false
}

/// Why the label may not be required; `None` if it may.
pub fn reserved(key: &str, scope: &Scope<'_>) -> Option<Reserved> {
    Reserved::lookup(key, scope.template.version, scope.context.release)
}

const fn reason(reserved: Reserved) -> &'static str {
    match reserved {
        Reserved::NodePool => "Karpenter sets this label itself, to the name of the NodePool",
        Reserved::Hostname => "each node has its own, so no NodePool can require one",
        Reserved::Karpenter => {
            "domains that end in karpenter.sh are Karpenter's; of their labels only karpenter.sh/capacity-type may \
             be required"
        }
        Reserved::Kubernetes => {
            "before Karpenter 1.9, and in v1beta1, the domains kubernetes.io and k8s.io are restricted to the labels \
             that Karpenter knows"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::review::Subject;

    use crate::rules::testing::errors_on;

    #[test]
    fn a_claim_may_require_its_pool_because_karpenter_writes_that() {
        let claim = json!({"spec": {"requirements": [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["default"]},
        ]}});
        let denied = errors_on(
            Subject::NodeClaim(ApiVersion::V1),
            KarpenterVersion::NEWEST,
            &claim,
            None,
        );
        assert!(
            !denied.iter().any(|line| line.contains("restricted")),
            "{denied:?}"
        );
    }
}
