//! Rules that apply only to NodeClaims.

use super::findings::Findings;
use super::origins::by_quantity;
use crate::diagnostic::{ErrorType, FieldPath};
use crate::json::Json;
use crate::karpenter::{ApiVersion, Field, NodeClaim};
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static NODECLAIM_IMMUTABLE: Rule = rule!("nodeclaim-immutable", Error, [Schema]);
pub static NODECLAIM_REQUEST: Rule = rule!("nodeclaim-request", Error, [Schema, Silent, Poolgate], Shown);

pub fn check(claim: &NodeClaim<'_>, old: Option<&NodeClaim<'_>>, findings: &mut Findings<'_>) {
    if claim.version == ApiVersion::V1 {
        check_immutable(claim, old, findings);
    }
    check_requests(claim, findings);
}

fn check_immutable(claim: &NodeClaim<'_>, old: Option<&NodeClaim<'_>>, findings: &mut Findings<'_>) {
    let (Field::Present(spec), Some(Field::Present(before))) = (claim.spec, old.map(|old| old.spec)) else {
        return;
    };
    let removed = before.keys().filter(|field| !spec.contains_key(field));
    for field in spec.keys().chain(removed) {
        let value = spec.get(field);
        if is_same(value, before.get(field)) {
            continue;
        }
        let error_type = value.map_or(ErrorType::Required, ErrorType::from);
        findings
            .report(
                &NODECLAIM_IMMUTABLE,
                FieldPath::of(&["spec"]).key(field.to_owned()),
                error_type,
                "the spec of a NodeClaim cannot be changed",
            )
            .suggest("change the NodePool, and Karpenter replaces the node");
    }
}

/// An explicit `null` is the same as a missing field.
fn is_same(one: Option<&Json<'_>>, other: Option<&Json<'_>>) -> bool {
    one.filter(|value| !value.is_null()) == other.filter(|value| !value.is_null())
}

fn check_requests(claim: &NodeClaim<'_>, findings: &mut Findings<'_>) {
    let requests = claim
        .template
        .resources
        .present()
        .and_then(|resources| resources.get("requests"))
        .and_then(Json::as_object);
    for (resource, value) in requests.into_iter().flatten() {
        let Some(text) = value.as_str() else { continue };
        if let Err(error) = Quantity::parse(text) {
            let path = NodeClaim::request_path(resource);
            findings
                .report(&NODECLAIM_REQUEST, path, value, error.to_string())
                .origin(by_quantity(&error))
                .suggest_if_known(error.suggestion());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::karpenter::KarpenterVersion;
    use crate::review::Subject;
    use crate::rules::testing::errors_on;

    fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
        errors_on(
            Subject::NodeClaim(ApiVersion::V1),
            KarpenterVersion::NEWEST,
            object,
            old,
        )
    }

    #[test]
    fn an_unchanged_spec_may_be_written_again() {
        let claim = json!({"spec": {"expireAfter": "720h", "taints": null}});
        let labelled = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"expireAfter": "720h"}});
        assert_eq!(errors(&labelled, Some(&claim)), [""; 0]);
    }

    #[test]
    fn every_field_that_changes_is_reported() {
        let old = json!({"spec": {"expireAfter": "720h", "terminationGracePeriod": "1h"}});
        let new = json!({"spec": {"expireAfter": "24h", "taints": []}});
        assert_eq!(
            errors(&new, Some(&old)),
            [
                "spec.expireAfter: Invalid value: \"24h\": the spec of a NodeClaim cannot be changed; change the \
                 NodePool, and Karpenter replaces the node [nodeclaim-immutable]",
                "spec.taints: Invalid value: […]: the spec of a NodeClaim cannot be changed; change the NodePool, \
                 and Karpenter replaces the node [nodeclaim-immutable]",
                "spec.terminationGracePeriod: Required value: the spec of a NodeClaim cannot be changed; change the \
                 NodePool, and Karpenter replaces the node [nodeclaim-immutable]",
            ]
        );
    }

    #[test]
    fn requests_are_quantities() {
        let claim = |cpu: &str| json!({"spec": {"resources": {"requests": {"cpu": cpu, "pods": 8}}}});
        assert_eq!(errors(&claim("5150m"), None), [""; 0]);
        for cpu in ["1e1.5", "1e2147483648", "four"] {
            let denied = errors(&claim(cpu), None);
            assert_eq!(denied.len(), 1, "{cpu}");
            assert!(
                denied[0].starts_with("spec.resources.requests.cpu: "),
                "{denied:?}"
            );
        }
    }

    #[test]
    fn a_claim_requires_the_fields_of_a_template() {
        let claim = json!({"spec": {"nodeClassRef": null}});
        let denied = errors(&claim, None);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].starts_with("spec.nodeClassRef: Required value"),
            "{denied:?}"
        );
    }
}
