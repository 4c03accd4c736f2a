//! `spec.disruption.consolidateAfter`. In v1 a missing one is not reported: if Karpenter requires it, admission
//! writes it.

use crate::diagnostic::ErrorType;
use crate::karpenter::{ApiVersion, Disruption, Field, TemplateOwner};
use crate::rules::findings::Findings;
use crate::rules::lifetime;
use crate::rules::rule::Rule;

/// The policy of a v1beta1 NodePool that names none.
const V1BETA1_DEFAULT_POLICY: &str = "WhenUnderutilized";
/// The policy of a v1 NodePool that names none.
const V1_DEFAULT_POLICY: &str = "WhenEmptyOrUnderutilized";
const WHEN_EMPTY: &str = "WhenEmpty";

pub static CONSOLIDATE_AFTER: Rule = rule!("consolidate-after", Error, [Silent, Schema], Shown);
pub static CONSOLIDATE_AFTER_PAIR: Rule = rule!("consolidate-after-pair", Error, [Schema]);
pub static CONSOLIDATE_AFTER_CONVERSION: Rule =
    rule!("consolidate-after-conversion", Warning, [Silent], Read);
pub static CONSOLIDATE_AFTER_NEVER: Rule = rule!("consolidate-after-never", Info, [Silent], Read);

pub fn check(version: ApiVersion, disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    if let Some(text) = disruption.consolidate_after.present() {
        let path = || Disruption::path("consolidateAfter");
        lifetime::parse(text, &CONSOLIDATE_AFTER, path, TemplateOwner::Pool, findings);
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

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{errors, errors_for, warnings_for};

    fn after(text: &str) -> Value {
        json!({"spec": {"disruption": {"consolidateAfter": text}}})
    }

    fn policy(policy: &str) -> Value {
        json!({"spec": {"disruption": {"consolidationPolicy": policy}}})
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
        for text in ["", "0", "1d", "100ms", "never", "1m | Never", "30s\n"] {
            assert_eq!(errors(&after(text)).len(), 1, "{text}");
        }
        for text in ["0s", "720h", "30m1h", "Never"] {
            assert_eq!(errors(&after(text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn durations_that_make_every_list_unreadable_are_denied_for_every_release() {
        let releases = [
            (ApiVersion::V1, KarpenterVersion::new(1, 3, 0)),
            (ApiVersion::V1, KarpenterVersion::NEWEST),
        ];
        for (version, release) in releases {
            for text in ["2562048h", "99999999h"] {
                let denied = errors_for(version, release, &after(text), None);
                assert!(denied[0].contains("not read any NodePool"), "{denied:?}");
            }
        }
        let denied = errors_for(
            ApiVersion::V1,
            KarpenterVersion::new(1, 3, 0),
            &after("1hr"),
            None,
        );
        assert!(denied[0].contains("not read any NodePool"), "{denied:?}");
        assert_eq!(
            errors_for(
                ApiVersion::V1,
                KarpenterVersion::new(1, 3, 0),
                &after("100ms"),
                None
            ),
            [""; 0]
        );
    }

    #[test]
    fn a_missing_one_is_not_a_mistake_because_admission_writes_it() {
        let missing = policy("WhenEmpty");
        for release in [KarpenterVersion::new(1, 0, 0), KarpenterVersion::NEWEST] {
            assert_eq!(errors_for(ApiVersion::V1, release, &missing, None), [""; 0]);
        }
    }

    #[test]
    fn v1beta1_ties_it_to_the_policy() {
        let errors = |object: &Value| errors_for(ApiVersion::V1Beta1, KarpenterVersion::NEWEST, object, None);
        assert!(errors(&policy("WhenEmpty"))[0].contains("consolidateAfter: Required value"));
        assert!(errors(&after("30s"))[0].ends_with("[consolidate-after-pair]"));
        assert_eq!(errors(&policy("WhenUnderutilized")), [""; 0]);
        assert_eq!(errors(&after("Never")), [""; 0]);
        let warned = warnings_for(
            ApiVersion::V1Beta1,
            KarpenterVersion::NEWEST,
            &after("Never"),
            None,
        );
        assert!(
            warned[0].ends_with("[consolidate-after-conversion]"),
            "{warned:?}"
        );
    }
}
