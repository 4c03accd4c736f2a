//! The defaults of a definition that overrule those of a policy: the API server writes them before it calls any
//! webhook.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::karpenter::ApiVersion;
use poolgate_core::policy::DefaultValues;
use serde_json::Value;

use super::subject;

/// A default of a definition that is not the policy's.
#[derive(Debug)]
pub struct Overruled {
    /// The version of the API, such as `v1`.
    pub version: String,
    /// The field under `defaults` of the policy.
    pub field: &'static str,
    /// Where the definition's default is.
    pub path: FieldPath,
    /// The default that the definition has.
    pub present: Value,
    /// What the policy wants.
    pub wanted: Value,
    /// Whether the definition allows that value.
    pub is_taken: bool,
    /// Whether it only counts if a NodePool leaves out all of `spec.disruption`.
    pub only_if_all_is_absent: bool,
}

impl Overruled {
    /// Whether it only counts if all of `spec.disruption` is left out, and the field has another default that
    /// always counts.
    pub fn is_reported_by_another_of(&self, all: &[Self]) -> bool {
        let same = |other: &Self| other.version == self.version && other.field == self.field;
        self.only_if_all_is_absent
            && all
                .iter()
                .any(|other| same(other) && !other.only_if_all_is_absent)
    }
}

/// The defaults of the definition at `path` that are not the policy's. In v1beta1 only `budgets` can be: the policy
/// has no values for its other fields.
pub fn overruled(document: &Value, path: &FieldPath, defaults: &DefaultValues) -> Vec<Overruled> {
    let mut overruled = Vec::new();
    for (version, disruption) in subject::served(document, path) {
        let api_version = if version == "v1beta1" {
            ApiVersion::V1Beta1
        } else {
            ApiVersion::V1
        };
        let wanted = [
            ("budgets", defaults.budgets_in(api_version)),
            (
                "consolidationPolicy",
                defaults.consolidation_policy.as_str().into(),
            ),
            ("consolidateAfter", defaults.consolidate_after.as_str().into()),
        ];
        let known = if api_version == ApiVersion::V1Beta1 {
            1
        } else {
            wanted.len()
        };
        for (field, wanted) in wanted.into_iter().take(known) {
            let property = disruption.clone().key("properties").key(field);
            let of_all = disruption.clone().key("default").key(field);
            let allowed = property.clone().key("enum");
            let allowed = allowed.find_value(document).and_then(Value::as_array);
            for (path, only_if_all_is_absent) in [(property.key("default"), false), (of_all, true)] {
                let Some(present) = path.find_value(document).filter(|present| **present != wanted) else {
                    continue;
                };
                overruled.push(Overruled {
                    version: version.clone(),
                    field,
                    present: present.clone(),
                    wanted: wanted.clone(),
                    is_taken: allowed.is_none_or(|allowed| allowed.contains(&wanted)),
                    only_if_all_is_absent,
                    path,
                });
            }
        }
    }
    overruled
}
