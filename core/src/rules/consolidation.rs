//! Checks `consolidationPolicy` and `consolidateAfter` of `spec.disruption`, alone and together.
//!
//! In v1 a missing `consolidateAfter` is not reported: if Karpenter requires it, admission writes it.

use super::findings::Findings;
use super::lifetime;
use crate::diagnostic::{ErrorType, Origin, Suggestion};
use crate::facts::{ApiVersion, Availability, BALANCED, WHEN_EMPTY};
use crate::pool::{Disruption, Field, NodePool};
use crate::rules::rule::Rule;

pub static CONSOLIDATION_POLICY: Rule = rule!("consolidation-policy", Error, Schema);
pub static CONSOLIDATE_AFTER: Rule = rule!("consolidate-after", Error, Silent);
pub static CONSOLIDATE_AFTER_CONVERSION: Rule = rule!("consolidate-after-conversion", Warning, Silent);
pub static CONSOLIDATE_AFTER_NEVER: Rule = rule!("consolidate-after-never", Note, Silent);

/// The policy of a v1beta1 NodePool that names none.
// karpenter 1.0.8: pkg/apis/v1beta1/nodepool.go Disruption.ConsolidationPolicy
const V1BETA1_DEFAULT_POLICY: &str = "WhenUnderutilized";
/// The policy of a v1 NodePool that names none: the same one under its new name.
// karpenter: pkg/apis/v1/nodepool.go Disruption.ConsolidationPolicy
const V1_DEFAULT_POLICY: &str = "WhenEmptyOrUnderutilized";

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(disruption) = pool.disruption.as_ref().present() else {
        return;
    };
    check_policy(pool.version, disruption, findings);
    if let Some(text) = disruption.consolidate_after.present() {
        let path = || Disruption::path("consolidateAfter");
        lifetime::parse(text, &CONSOLIDATE_AFTER, path, findings);
    }
    match pool.version {
        ApiVersion::V1 => check_never(disruption, findings),
        ApiVersion::V1Beta1 => check_pair(disruption, findings),
    }
}

fn check_policy(version: ApiVersion, disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let Some(policy) = disruption.consolidation_policy.present() else {
        return;
    };
    let words = karpenter.words("spec.disruption.consolidationPolicy", version);
    let known = words.knows(policy);
    if known == Availability::Yes {
        return;
    }
    let supported = words.listed();
    let (title, suggestion) = if let Some((name, version)) = renamed(policy, version) {
        (
            format!("the policy is called {name} in {version}"),
            Some(Suggestion::write(name)),
        )
    } else if let Availability::Since(release) = known {
        (format!("{policy} requires Karpenter {release} or newer"), None)
    } else if policy == BALANCED && version == ApiVersion::V1Beta1 {
        ("v1beta1 has no such policy".into(), None)
    } else if policy.contains('|') {
        let title = "only one policy can be set";
        (title.into(), Some("choose one".into()))
    } else {
        ("Karpenter has no such policy".into(), None)
    };
    let path = Disruption::path("consolidationPolicy");
    findings
        .unsupported(&CONSOLIDATION_POLICY, path, policy, supported, title)
        .suggest_if_known(suggestion);
}

/// The policy's name in this version, if its name is the one of the other version; and the name of this version.
fn renamed(policy: &str, version: ApiVersion) -> Option<(&'static str, &'static str)> {
    let (v1beta1, v1) = (V1BETA1_DEFAULT_POLICY, V1_DEFAULT_POLICY);
    match version {
        ApiVersion::V1 if policy == v1beta1 => Some((v1, "v1")),
        ApiVersion::V1Beta1 if policy == v1 => Some((v1beta1, "v1beta1")),
        _ => None,
    }
}

fn check_never(disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let Some(policy) = disruption.consolidation_policy.present() else {
        return;
    };
    // The default need not come from the user: the CRD writes it.
    if disruption.consolidate_after != Field::Present("Never") || policy == V1_DEFAULT_POLICY {
        return;
    }
    findings
        .report(
            &CONSOLIDATE_AFTER_NEVER,
            Disruption::path("consolidationPolicy"),
            ErrorType::note(&policy.into()),
            "consolidateAfter is Never, so the policy has no effect",
        )
        .consequence("even empty nodes are never removed")
        .suggest("write a duration such as 30s to remove nodes, or leave consolidationPolicy out")
        .related(Disruption::path("consolidateAfter"));
}

/// Checks the CEL rules of v1beta1 about policy and duration, and the result of the conversion to v1.
// karpenter 1.0.8: pkg/apis/v1beta1/nodepool.go NodePoolSpec.Disruption
fn check_pair(disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let policy = match disruption.consolidation_policy {
        Field::Present(policy) => policy,
        Field::Absent => V1BETA1_DEFAULT_POLICY,
        Field::Mistyped | Field::Beyond => return,
    };
    let path = || Disruption::path("consolidateAfter");
    let finding = match (policy, disruption.consolidate_after) {
        (WHEN_EMPTY, Field::Absent) => findings
            .report(
                &CONSOLIDATE_AFTER,
                path(),
                ErrorType::Required,
                "v1beta1 requires consolidateAfter with the policy WhenEmpty",
            )
            .origin(Origin::Schema)
            .suggest("add the time until an empty node is removed, such as consolidateAfter: 30s"),
        (V1BETA1_DEFAULT_POLICY, Field::Present("Never")) => findings
            .report(
                &CONSOLIDATE_AFTER_CONVERSION,
                path(),
                "Never",
                "the conversion to v1 turns Never into 0s",
            )
            .consequence("consolidation is on again")
            .suggest("write the policy WhenEmpty or move to v1 before Karpenter converts the pool"),
        (V1BETA1_DEFAULT_POLICY, Field::Present(text)) => findings
            .report(
                &CONSOLIDATE_AFTER,
                path(),
                text,
                "v1beta1 accepts no duration with WhenUnderutilized, the default policy",
            )
            .origin(Origin::Schema)
            .suggest("remove consolidateAfter, or write consolidationPolicy: WhenEmpty"),
        _ => return,
    };
    finding.related(Disruption::path("consolidationPolicy"));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

    fn after(text: &str) -> Value {
        json!({"spec": {"disruption": {"consolidateAfter": text}}})
    }

    #[test]
    fn durations_that_the_crd_rejects_are_denied() {
        for text in [
            "1hr",
            "",
            "0",
            "1d",
            "100ms",
            "never",
            "1m | Never",
            "30s\n",
            &"1x".repeat(500_000),
        ] {
            assert_eq!(errors(&after(text)).len(), 1, "{text}");
        }
        for text in ["0s", "720h", "30m1h", "Never"] {
            assert_eq!(errors(&after(text)), [""; 0], "{text}");
        }
    }
}
