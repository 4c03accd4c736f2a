//! `spec.disruption.consolidateAfter`. In v1 a missing one is not reported: if Karpenter requires it, admission
//! writes it.

use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, Disruption, Field, WHEN_EMPTY};
use crate::rules::findings::Findings;
use crate::rules::lifetime;
use crate::rules::rule::Rule;

/// The policy of a v1beta1 NodePool that names none.
const V1BETA1_DEFAULT_POLICY: &str = "WhenUnderutilized";
/// The policy of a v1 NodePool that names none.
const V1_DEFAULT_POLICY: &str = "WhenEmptyOrUnderutilized";

pub static CONSOLIDATE_AFTER: Rule = rule!("consolidate-after", Error, Silent);
pub static CONSOLIDATE_AFTER_PAIR: Rule = rule!("consolidate-after-pair", Error, Schema);
pub static CONSOLIDATE_AFTER_CONVERSION: Rule = rule!("consolidate-after-conversion", Warning, Silent);
pub static CONSOLIDATE_AFTER_NEVER: Rule = rule!("consolidate-after-never", Info, Silent);

pub fn check(version: ApiVersion, disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    if let Some(text) = disruption.consolidate_after.present() {
        let path = || Disruption::path("consolidateAfter");
        lifetime::parse(text, &CONSOLIDATE_AFTER, path, findings);
    }
    match version {
        ApiVersion::V1 => check_never(disruption, findings),
        ApiVersion::V1Beta1 => check_pair(disruption, findings),
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
            "consolidateAfter is Never, so the policy has no effect: not even empty nodes are removed",
        )
        .suggest("write a duration such as 30s if nodes should be removed, or leave the policy out")
        .related(Disruption::path("consolidateAfter"));
}

/// Checks the CEL rules of v1beta1 about policy and duration, and the result of the conversion to v1.
fn check_pair(disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let policy = match disruption.consolidation_policy {
        Field::Present(policy) => policy,
        Field::Absent => V1BETA1_DEFAULT_POLICY,
        Field::Mistyped => return,
    };
    let path = || Disruption::path("consolidateAfter");
    let finding = match (policy, disruption.consolidate_after) {
        (WHEN_EMPTY, Field::Absent) => findings
            .report(
                &CONSOLIDATE_AFTER_PAIR,
                path(),
                ErrorType::Required,
                "v1beta1 requires it with the policy WhenEmpty",
            )
            .suggest("say how long a node stays empty before it is removed, such as consolidateAfter: 30s"),
        (V1BETA1_DEFAULT_POLICY, Field::Present("Never")) => findings
            .report(
                &CONSOLIDATE_AFTER_CONVERSION,
                path(),
                "Never",
                "the conversion to v1 turns it into 0s, which switches consolidation on again",
            )
            .suggest("write the policy WhenEmpty, or move to v1, before Karpenter converts it"),
        (V1BETA1_DEFAULT_POLICY, Field::Present(text)) => findings
            .report(
                &CONSOLIDATE_AFTER_PAIR,
                path(),
                text,
                "v1beta1 does not accept a duration with the policy WhenUnderutilized, which is also the default",
            )
            .suggest("remove it, or write consolidationPolicy: WhenEmpty"),
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
        assert_eq!(
            errors(&after("1hr")),
            [
                "spec.disruption.consolidateAfter: Invalid value: \"1hr\": its units are s, m and h; write 1h \
              [consolidate-after]"
            ]
        );
        for text in [
            "",
            "0",
            "1d",
            "100ms",
            "never",
            "1m | Never",
            "30s\n",
            &"1s".repeat(500_000),
        ] {
            assert_eq!(errors(&after(text)).len(), 1, "{text}");
        }
        for text in ["0s", "720h", "30m1h", "Never"] {
            assert_eq!(errors(&after(text)), [""; 0], "{text}");
        }
    }
}
