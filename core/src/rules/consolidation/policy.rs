//! Checks the word in `spec.disruption.consolidationPolicy`.

use crate::diagnostic::Suggestion;
use crate::karpenter::{ApiVersion, Availability, Disruption, EnumValues};
use crate::rules::rule::Rule;

use crate::rules::findings::Findings;

const BALANCED: &str = "Balanced";

/// The policy whose name differs between the versions: the name in v1beta1, then the name in v1.
const RENAMED: (&str, &str) = ("WhenUnderutilized", "WhenEmptyOrUnderutilized");

pub static CONSOLIDATION_POLICY: Rule = rule!("consolidation-policy", Error, Schema);

pub fn check(version: ApiVersion, disruption: &Disruption<'_>, findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let Some(policy) = disruption.consolidation_policy.present() else {
        return;
    };
    let vocabulary = EnumValues::ConsolidationPolicy;
    let known = karpenter.knows(vocabulary, version, policy);
    if known == Availability::Yes {
        return;
    }
    let supported = karpenter.words(vocabulary, version);
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
