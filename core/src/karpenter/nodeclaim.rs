//! A tolerant, borrowed view of a NodeClaim: v1 and v1beta1 in one model.

use super::field::child;
use super::{ApiVersion, Field, Template, TemplateOwner};
use crate::diagnostic::FieldPath;
use crate::json::{Json, Object};

/// A NodeClaim as far as rules read it, borrowed from the JSON.
#[derive(Debug)]
pub struct NodeClaim<'a> {
    /// The object itself, for code that compares or walks all of it.
    pub(crate) object: &'a Json<'a>,
    /// The version it is written in.
    pub version: ApiVersion,
    /// `spec` as it is in the object.
    pub spec: Field<&'a Object<'a>>,
    /// `spec.expireAfter`. Only v1 knows it.
    pub expire_after: Field<&'a str>,
    /// What a NodeClaim shares with the template of a NodePool.
    pub template: Template<'a>,
}

impl<'a> NodeClaim<'a> {
    /// Views any object as a NodeClaim.
    pub fn view(version: ApiVersion, object: &'a Json<'a>) -> Self {
        let spec = child(object.as_object(), "spec");
        Self {
            object,
            version,
            spec: Field::map_in(object.as_object(), "spec"),
            expire_after: Field::text(spec, "expireAfter"),
            template: Template::view(TemplateOwner::Claim, version, object.as_object()),
        }
    }

    /// The path of a resource that the node must have.
    pub(crate) fn request_path(resource: &str) -> FieldPath {
        FieldPath::of(&["spec", "resources", "requests"]).key(resource.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_seen_like_the_template_of_a_pool_with_paths_of_its_own() {
        let object = json!({
            "metadata": {"labels": {"karpenter.sh/nodepool": "default"}},
            "spec": {"startupTaints": [7, {"key": "a"}], "expireAfter": "1h"},
        });
        let object = Json::from(&object);
        let claim = NodeClaim::view(ApiVersion::V1, &object);
        let taints = claim.template.startup_taints.present().unwrap();
        assert_eq!(taints[0].path("key").to_string(), "spec.startupTaints[1].key");
        assert_eq!(claim.template.labels.present().unwrap().len(), 1);
        assert_eq!(claim.expire_after, Field::Present("1h"));
    }
}
