//! What the API server itself writes into a NodePool, by the definition of each release, before it calls any
//! webhook.

use serde_json::{Map, Value, json};

use super::{ApiVersion, KarpenterVersion};

/// The NodePool as the API server would complete it by the definition of this release. A field is written if it is
/// absent or null and its parent is an object; existing values are never changed.
pub fn schema_defaults(object: &Value, version: ApiVersion, release: KarpenterVersion) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        match version {
            ApiVersion::V1 => complete_v1(spec, release),
            ApiVersion::V1Beta1 => complete_v1beta1(spec, release),
        }
    }
    object
}

fn complete_v1(spec: &mut Map<String, Value>, release: KarpenterVersion) {
    if release.has(KarpenterVersion::DISRUPTION_DEFAULT) {
        write(spec, "disruption", || json!({"consolidateAfter": "0s"}));
    }
    if let Some(disruption) = spec.get_mut("disruption").and_then(Value::as_object_mut) {
        write(disruption, "consolidationPolicy", || {
            "WhenEmptyOrUnderutilized".into()
        });
        if release.has(KarpenterVersion::CONSOLIDATE_AFTER_OPTIONAL) {
            write(disruption, "consolidateAfter", || "0s".into());
        }
        complete_budgets(disruption);
    }
    let template = spec
        .get_mut("template")
        .and_then(|template| template.get_mut("spec"));
    if let Some(template) = template.and_then(Value::as_object_mut) {
        write(template, "expireAfter", || "720h".into());
    }
}

fn complete_v1beta1(spec: &mut Map<String, Value>, release: KarpenterVersion) {
    write(spec, "disruption", || json!({}));
    if let Some(disruption) = spec.get_mut("disruption").and_then(Value::as_object_mut) {
        write(disruption, "consolidationPolicy", || "WhenUnderutilized".into());
        write(disruption, "expireAfter", || "720h".into());
        if release.has(KarpenterVersion::BUDGETS) {
            complete_budgets(disruption);
        }
    }
}

fn complete_budgets(disruption: &mut Map<String, Value>) {
    write(disruption, "budgets", || json!([{"nodes": "10%"}]));
    let budgets = disruption.get_mut("budgets").and_then(Value::as_array_mut);
    for budget in budgets.into_iter().flatten().filter_map(Value::as_object_mut) {
        write(budget, "nodes", || "10%".into());
    }
}

fn write(holder: &mut Map<String, Value>, field: &str, value: impl FnOnce() -> Value) {
    if holder.get(field).is_none_or(Value::is_null) {
        holder.insert(field.to_owned(), value());
    }
}
