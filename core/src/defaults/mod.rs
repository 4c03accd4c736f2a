//! The values that admission writes into a NodePool whose author left fields out.
//!
//! Only `spec.disruption` is ever written, the annotation that keeps the node limit mode, and a `spec.limits.nodes`
//! that is left to poolgate, with its first number if it has a schedule: anything under `spec.template` would change Karpenter's drift hash and so replace
//! every node of the pool. Existing values are never changed, except a node limit mode if an update has made its
//! two places differ, and a `spec.limits.nodes` that poolgate lowered, if an update takes the limit back.
//!
//! An update that does not change `spec` gets no values there, except for a changed annotation. The API server forgives a
//! stored mistake only while the scope of its rule is unchanged, and that scope may be the whole spec.

mod limit;
mod mode;

pub use mode::completed as node_limit_mode;

use std::cell::LazyCell;

use serde_json::{Map, Value};

use crate::diagnostic::FieldPath;
use crate::facts::{ApiVersion, KarpenterVersion, TargetKarpenter};
use crate::json::Json;
use crate::policy::DefaultValues;
use crate::pool::{Disruption, Field, NodePool};

/// `consolidationPolicy` of a v1beta1 NodePool. The policy's value is one of v1, and v1beta1 does not have these
/// names.
const V1BETA1_CONSOLIDATION_POLICY: &str = "WhenUnderutilized";

/// A value to write at a path whose parent exists. The path itself is absent, or an explicit `null`, except for a
/// node limit mode that must agree with the other place, and a node limit that is taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    /// The field to write.
    pub path: FieldPath,
    /// The value that the field gets.
    pub value: Value,
}

/// The values that `pool` lacks. On an update it replaces `stored`, and `old` is the view of that. Empty for an object
/// whose `spec` or `spec.disruption` is of the wrong type.
pub fn defaults(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    stored: Option<&Json<'_>>,
    values: &DefaultValues,
    karpenter: &TargetKarpenter,
) -> Vec<DefaultValue> {
    if pool.spec.present().is_none() {
        return Vec::new();
    }
    let disruption = match &pool.disruption {
        Field::Mistyped | Field::Beyond => return Vec::new(),
        Field::Absent => None,
        Field::Present(disruption) => Some(disruption),
    };
    let leaves_spec = LazyCell::new(|| leaves_spec(pool, stored));
    let mut fields = missing(pool, disruption, old, values, karpenter);
    if !fields.is_empty() && (stays_without_disruption(pool, old, karpenter) || *leaves_spec) {
        fields.clear();
    }
    let agreement = mode::agreement(pool, old, values.node_limit_mode);
    let mut written: Vec<_> = if disruption.is_some() {
        let each = fields.into_iter().map(|(field, value)| DefaultValue {
            path: Disruption::path(field),
            value,
        });
        each.collect()
    } else if fields.is_empty() {
        Vec::new()
    } else {
        let all: Map<String, Value> = fields
            .into_iter()
            .map(|(field, value)| (field.to_owned(), value))
            .collect();
        vec![DefaultValue {
            path: FieldPath::of(&["spec", "disruption"]),
            value: Value::Object(all),
        }]
    };
    written.extend(agreement);
    let first = limit::first(pool, old).filter(|_| limit::is_changed(pool, old) || !*leaves_spec);
    written.extend(first.or_else(|| limit::taken_back(pool, old)));
    written.extend(limit::first_of_schedule(pool, old));
    written
}

/// Whether an update leaves `spec` as it is stored.
fn leaves_spec(pool: &NodePool<'_>, stored: Option<&Json<'_>>) -> bool {
    stored.is_some_and(|stored| stored.get("spec") == pool.object.get("spec"))
}

/// Whether a stored pool has no `disruption` on a release that does not complete it: such a pool is never consolidated, and
/// a change of something else must not begin that.
fn stays_without_disruption(
    pool: &NodePool<'_>,
    old: Option<&NodePool<'_>>,
    karpenter: &TargetKarpenter,
) -> bool {
    pool.version == ApiVersion::V1
        && pool.disruption.is_absent()
        && old.is_some_and(|old| old.disruption.is_absent())
        && !karpenter.release().has(KarpenterVersion::DISRUPTION_DEFAULT)
}

/// The fields of `spec.disruption` that are absent, with their values.
fn missing(
    pool: &NodePool<'_>,
    disruption: Option<&Disruption<'_>>,
    old: Option<&NodePool<'_>>,
    values: &DefaultValues,
    karpenter: &TargetKarpenter,
) -> Vec<(&'static str, Value)> {
    let mut missing = Vec::new();
    if disruption.is_none_or(|disruption| disruption.budgets.is_absent()) {
        missing.push(("budgets", values.budgets_in(pool.version)));
    }
    if disruption.is_none_or(|disruption| disruption.consolidation_policy.is_absent()) {
        let policy = match pool.version {
            ApiVersion::V1 => values.consolidation_policy.as_str(),
            ApiVersion::V1Beta1 => V1BETA1_CONSOLIDATION_POLICY,
        };
        missing.push(("consolidationPolicy", policy.into()));
    }
    if pool.version == ApiVersion::V1
        && disruption.is_none_or(|disruption| disruption.consolidate_after.is_absent())
    {
        missing.push(("consolidateAfter", values.consolidate_after.as_str().into()));
    }
    if let Some(mode) = mode::field(pool, old, values.node_limit_mode, karpenter) {
        missing.push(("nodeLimitMode", mode));
    }
    missing
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    #[test]
    fn default_budgets_name_reasons_only_where_budgets_can() {
        let values = DefaultValues {
            budgets: json!([{"nodes": "0", "reasons": ["Drifted"]}]),
            ..DefaultValues::default()
        };
        let budgets = |version, release| {
            let object = json!({"spec": {"disruption": {}}});
            let written = defaults(
                &NodePool::view(version, &Json::from(&object)),
                None,
                None,
                &values,
                &TargetKarpenter::from(release),
            );
            let path = Disruption::path("budgets");
            let mut budgets = written.into_iter().filter(|written| written.path == path);
            budgets.next().map(|written| written.value)
        };
        assert_eq!(
            budgets(ApiVersion::V1, KarpenterVersion::NEWEST),
            Some(json!([{"nodes": "0", "reasons": ["Drifted"]}]))
        );
        assert_eq!(
            budgets(ApiVersion::V1Beta1, KarpenterVersion::OLDEST),
            Some(json!([{"nodes": "0"}]))
        );
    }

    use serde_json::json;

    use super::*;
    use crate::facts::Installed;
    use crate::json::Json;

    fn written(version: ApiVersion, object: &Value) -> Vec<(String, Value)> {
        written_over(version, object, None)
    }

    fn written_over(version: ApiVersion, object: &Value, old: Option<&Value>) -> Vec<(String, Value)> {
        written_on(&TargetKarpenter::default(), version, object, old)
    }

    fn written_on(
        karpenter: &TargetKarpenter,
        version: ApiVersion,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<(String, Value)> {
        let stored = old.map(Json::from);
        let stored = stored.as_ref();
        let old = stored.map(|old| NodePool::view(version, old));
        defaults(
            &NodePool::view(version, &Json::from(object)),
            old.as_ref(),
            stored,
            &DefaultValues::default(),
            karpenter,
        )
        .into_iter()
        .map(|default| (default.path.to_string(), default.value))
        .collect()
    }

    #[test]
    fn a_pool_without_disruption_gets_all_of_it_in_one_piece() {
        let all = json!({
            "budgets": [{"nodes": "10%"}],
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "0s",
            "nodeLimitMode": "Hard",
        });
        for object in [json!({"spec": {}}), json!({"spec": {"disruption": null}})] {
            assert_eq!(
                written(ApiVersion::V1, &object),
                [("spec.disruption".to_owned(), all.clone())]
            );
        }
    }

    #[test]
    fn a_field_that_is_there_is_left_alone_even_when_it_is_wrong() {
        let object = json!({"spec": {"disruption": {
            "budgets": [], "consolidationPolicy": 5, "consolidateAfter": "30s", "nodeLimitMode": "soft",
        }}});
        assert_eq!(written(ApiVersion::V1, &object), []);
    }

    #[test]
    fn an_explicit_null_counts_as_left_out() {
        let object = json!({"spec": {"disruption": {
            "budgets": null, "consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "nodeLimitMode": "Soft",
        }}});
        assert_eq!(
            written(ApiVersion::V1, &object),
            [("spec.disruption.budgets".to_owned(), json!([{"nodes": "10%"}]))]
        );
    }

    #[test]
    fn a_mode_in_the_annotation_is_not_overruled_by_a_default_in_the_field() {
        let object = json!({
            "metadata": {"annotations": {"poolgate.dev/node-limit-mode": "Soft"}},
            "spec": {"disruption": {"budgets": [], "consolidationPolicy": "WhenEmpty"}},
        });
        assert_eq!(
            written(ApiVersion::V1, &object),
            [("spec.disruption.consolidateAfter".to_owned(), json!("0s"))]
        );
    }

    #[test]
    fn an_update_gets_the_mode_only_where_the_stored_pool_has_it() {
        let disruption = json!({"budgets": [], "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"});
        let without = json!({"spec": {"disruption": disruption}});
        let mut with = without.clone();
        with["spec"]["disruption"]["nodeLimitMode"] = json!("Soft");
        assert_eq!(written_over(ApiVersion::V1, &without, Some(&without)), []);
        assert_eq!(
            written_over(ApiVersion::V1, &without, Some(&with)),
            [("spec.disruption.nodeLimitMode".to_owned(), json!("Hard"))]
        );
    }

    #[test]
    fn a_stored_pool_that_is_never_consolidated_stays_so() {
        let (changed, without) = (json!({"spec": {"weight": 1}}), json!({"spec": {"weight": 2}}));
        let mut with = without.clone();
        with["spec"]["disruption"] = json!({"consolidateAfter": "1m"});
        let on = |release: KarpenterVersion, old: Option<&Value>| {
            written_on(&release.into(), ApiVersion::V1, &changed, old).len()
        };
        let first = KarpenterVersion::new(1, 0, 1);
        assert_eq!(on(first, Some(&without)), 0);
        assert_eq!(on(first, Some(&with)), 1);
        assert_eq!(on(first, None), 1);
        assert_eq!(on(KarpenterVersion::DISRUPTION_DEFAULT, Some(&without)), 1);
    }

    #[test]
    fn a_definition_without_the_field_gets_no_mode_and_one_with_it_does() {
        let object = json!({"spec": {"disruption": {
            "budgets": [], "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m",
        }}});
        let on = |fields: Value| {
            let definition = json!({"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"versions": [{
                "name": "v1",
                "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
                    "disruption": {"properties": fields},
                }}}}},
            }]}});
            let installed = Installed::parse(&definition).expect("a definition");
            TargetKarpenter::default().with_definition(Arc::new(installed))
        };
        let without = on(json!({}));
        assert_eq!(written_on(&without, ApiVersion::V1, &object, None), []);
        let with = on(json!({"nodeLimitMode": {"type": "string"}}));
        assert_eq!(
            written_on(&with, ApiVersion::V1, &object, None),
            [("spec.disruption.nodeLimitMode".to_owned(), json!("Hard"))]
        );
    }

    #[test]
    fn v1beta1_has_its_own_policy_name_and_gets_no_consolidate_after() {
        let object = json!({"spec": {"disruption": {"expireAfter": "Never"}}});
        assert_eq!(
            written(ApiVersion::V1Beta1, &object),
            [
                ("spec.disruption.budgets".to_owned(), json!([{"nodes": "10%"}])),
                (
                    "spec.disruption.consolidationPolicy".to_owned(),
                    json!("WhenUnderutilized")
                ),
                ("spec.disruption.nodeLimitMode".to_owned(), json!("Hard")),
            ]
        );
    }

    #[test]
    fn an_object_of_the_wrong_shape_is_not_written_to() {
        for object in [
            json!(null),
            json!({}),
            json!({"spec": []}),
            json!({"spec": {"disruption": "x"}}),
        ] {
            assert_eq!(written(ApiVersion::V1, &object), []);
        }
    }
}
