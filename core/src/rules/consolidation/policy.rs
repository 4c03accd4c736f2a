//! Checks the word in `spec.disruption.consolidationPolicy`.

use crate::diagnostic::Suggestion;
use crate::karpenter::{ApiVersion, Availability, Disruption};
use crate::rules::rule::Rule;

use crate::rules::findings::Findings;

const BALANCED: &str = "Balanced";

/// The policy whose name differs between the versions: the name in v1beta1, then the name in v1.
const RENAMED: (&str, &str) = ("WhenUnderutilized", "WhenEmptyOrUnderutilized");

pub static CONSOLIDATION_POLICY: Rule = rule!("consolidation-policy", Error, [Schema]);

pub fn check(version: ApiVersion, disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let Some(policy) = disruption.consolidation_policy.present() else {
        return;
    };
    let path = "spec.disruption.consolidationPolicy";
    let known = karpenter.knows(path, version, policy);
    if known == Availability::Yes {
        return;
    }
    let supported = karpenter.words(path, version);
    let (reason, suggestion) = if let Some((name, version)) = renamed(policy, version) {
        (
            format!("{version} calls it {name}"),
            Some(Suggestion::write(name)),
        )
    } else if let Availability::Since(release) = known {
        (format!("{policy} needs Karpenter {release} or newer"), None)
    } else if policy == BALANCED && version == ApiVersion::V1Beta1 {
        ("v1beta1 has no such policy".into(), None)
    } else if policy.contains('|') {
        let reason = "it lists alternatives, of which only one can be set";
        (reason.into(), Some("choose one".into()))
    } else {
        ("Karpenter has no such policy".into(), None)
    };
    let path = Disruption::path("consolidationPolicy");
    findings
        .unsupported(&CONSOLIDATION_POLICY, path, policy, supported, reason)
        .suggest_if_known(suggestion);
}

/// The policy's name in this version, if its name is the one of the other version; and the name of this version.
fn renamed(policy: &str, version: ApiVersion) -> Option<(&'static str, &'static str)> {
    let (v1beta1, v1) = RENAMED;
    match version {
        ApiVersion::V1 if policy == v1beta1 => Some((v1, "v1")),
        ApiVersion::V1Beta1 if policy == v1 => Some((v1beta1, "v1beta1")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::errors_for;

    fn denied(version: ApiVersion, release: KarpenterVersion, policy: &str) -> Vec<String> {
        let object: Value =
            json!({"spec": {"disruption": {"consolidationPolicy": policy, "consolidateAfter": "1m"}}});
        let mut errors = errors_for(version, release, &object, None);
        errors.retain(|error| error.ends_with("[consolidation-policy]"));
        errors
    }

    #[test]
    fn each_version_and_release_has_its_own_policies() {
        let (old, new) = (KarpenterVersion::new(1, 13, 9), KarpenterVersion::NEWEST);
        for (version, release, policy, legal) in [
            (ApiVersion::V1, new, "WhenEmpty", true),
            (ApiVersion::V1, new, "WhenEmptyOrUnderutilized", true),
            (ApiVersion::V1, new, "Balanced", true),
            (ApiVersion::V1, old, "Balanced", false),
            (ApiVersion::V1, new, "WhenUnderutilized", false),
            (ApiVersion::V1, new, "", false),
            (ApiVersion::V1Beta1, new, "WhenUnderutilized", true),
            (ApiVersion::V1Beta1, new, "WhenEmptyOrUnderutilized", false),
            (ApiVersion::V1Beta1, new, "Balanced", false),
        ] {
            assert_eq!(
                denied(version, release, policy).is_empty(),
                legal,
                "{version:?} {policy}"
            );
        }
    }

    #[test]
    fn a_denial_says_what_to_write_or_which_release_is_needed() {
        for (release, policy, expected) in [
            (
                KarpenterVersion::NEWEST,
                "WhenUnderutilized",
                ": v1 calls it WhenEmptyOrUnderutilized; write WhenEmptyOrUnderutilized [",
            ),
            (
                KarpenterVersion::NEWEST,
                "whenempty",
                ": Karpenter has no such policy; write WhenEmpty [",
            ),
            (KarpenterVersion::NEWEST, "WhenEmpty | Balanced", "; choose one ["),
            (
                KarpenterVersion::new(1, 9, 0),
                "Balanced",
                ": Balanced needs Karpenter 1.14.0 or newer [",
            ),
        ] {
            let denied = denied(ApiVersion::V1, release, policy);
            assert!(denied[0].contains(expected), "{denied:?}");
        }
    }
}
