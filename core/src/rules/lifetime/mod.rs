//! How long nodes live, and how long they may take to terminate: `expireAfter` and `terminationGracePeriod`.

pub mod combinations;
pub mod expiry;
pub mod grace;

use super::findings::Findings;
use super::limits::Limits;
use crate::diagnostic::{FieldPath, Origin};
use crate::karpenter::{ApiVersion, NodeClaim, NodePool, TemplateOwner};
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;

/// Checks the lifetime of a pool's nodes.
pub fn check_pool(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let expire_after = expiry::check(pool.expire_after, &pool.template, findings);
    let grace = grace::check(&pool.template, findings);
    combinations::check(pool, limits, expire_after, grace, findings);
}

/// Checks the lifetime of one node.
pub fn check_claim(claim: &NodeClaim<'_>, findings: &mut Findings<'_>) {
    if claim.version == ApiVersion::V1 {
        expiry::check(claim.expire_after, &claim.template, findings);
    }
    grace::check(&claim.template, findings);
}

/// Returns a duration that may be `Never`; reports one that the CRD or Karpenter cannot read.
pub fn parse(
    text: &str,
    rule: &'static Rule,
    path: impl FnOnce() -> FieldPath,
    owner: TemplateOwner,
    findings: &mut Findings<'_>,
) -> Option<NillableDuration> {
    if let Ok(duration) = NillableDuration::parse(text) {
        return Some(duration);
    }
    let path = path();
    // The CRDs of older releases accept more, of which Karpenter can decode some.
    let (parsed, consequence) = if findings.context.crd_rejects(&path, text) {
        (NillableDuration::parse(text), "")
    } else {
        (NillableDuration::decode(text), consequence(owner))
    };
    match parsed {
        Ok(duration) => Some(duration),
        Err(error) => {
            let reason = format!("{error}{consequence}");
            findings
                .report_text(rule, path, text, Origin::Silent, reason)
                .suggest_if_known(error.suggestion());
            None
        }
    }
}

/// The consequence of a value that Karpenter cannot decode: it reads all objects of a kind at once.
const fn consequence(owner: TemplateOwner) -> &'static str {
    match owner {
        TemplateOwner::Pool => ", and Karpenter could then not read any NodePool",
        TemplateOwner::Claim => ", and Karpenter could then not read any NodeClaim",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::review::Subject;
    use crate::rules::testing::{errors, errors_on, warnings};

    #[test]
    fn usual_lifetimes_pass() {
        let pool =
            |field: &str, text: &str| -> Value { json!({"spec": {"template": {"spec": {field: text}}}}) };
        for text in ["720h", "Never", "1h30m", "15m", "30m1h", "2562047h"] {
            assert_eq!(errors(&pool("expireAfter", text)), [""; 0], "{text}");
            assert_eq!(warnings(&pool("expireAfter", text)), [""; 0], "{text}");
        }
        assert_eq!(errors(&pool("terminationGracePeriod", "48h")), [""; 0]);
    }

    #[test]
    fn a_claim_has_both_fields_below_its_spec_and_spoils_the_list_of_claims() {
        let claim = |expiry: &str, grace: &str| {
            let object = json!({"spec": {"expireAfter": expiry, "terminationGracePeriod": grace}});
            errors_on(
                Subject::NodeClaim(ApiVersion::V1),
                KarpenterVersion::NEWEST,
                &object,
                None,
            )
        };
        let denied = claim("2562048h", "2562048h");
        assert_eq!(denied.len(), 2);
        for (line, path) in denied
            .iter()
            .zip(["spec.expireAfter: ", "spec.terminationGracePeriod: "])
        {
            assert!(line.starts_with(path), "{line}");
            assert!(line.contains("could then not read any NodeClaim"), "{line}");
        }
        let at_once = claim("0s", "1h");
        assert!(
            at_once[0].contains("the node would expire as soon as it is created;"),
            "{at_once:?}"
        );
    }
}
