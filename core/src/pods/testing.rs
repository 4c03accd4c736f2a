//! Pods and pools of the tests.

use serde_json::{Value, json};

use super::{Comparison, Conflict, Needs, NodeTemplate, PodSpec, Wanted};
use crate::facts::ApiVersion;
use crate::json::Json;
use crate::policy::Policy;
use crate::pool::NodePool;

pub const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub fn template(spec: &Value) -> NodeTemplate {
    let mut spec = spec.clone();
    spec["nodeClassRef"] = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let labels = spec.as_object_mut().and_then(|spec| spec.remove("labels"));
    let pool = json!({"spec": {"template": {"metadata": {"labels": labels}, "spec": spec}}});
    let pool = Json::from(&pool);
    let pool = NodePool::view(ApiVersion::V1, &pool);
    NodeTemplate::new("general", &pool.template, &Policy::default())
}

pub fn needs(spec: &Value) -> Needs {
    let spec: PodSpec = serde_json::from_value(spec.clone()).expect("a spec");
    spec.needs(&mut |name| name.into())
}

pub fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

pub fn affinity(required: &[Value], preferred: &[Value]) -> Value {
    let required: Vec<_> = required
        .iter()
        .map(|one| json!({"matchExpressions": [one]}))
        .collect();
    let preferred: Vec<_> = preferred
        .iter()
        .map(|one| json!({"weight": 1, "preference": {"matchExpressions": [one]}}))
        .collect();
    let mut nodes = json!({});
    if !required.is_empty() {
        nodes[REQUIRED] = json!({"nodeSelectorTerms": required});
    }
    if !preferred.is_empty() {
        nodes[PREFERRED] = json!(preferred);
    }
    json!({"affinity": {"nodeAffinity": nodes}})
}

/// A word for each answer, with the key of the label that decides.
pub fn words(comparison: &Comparison) -> String {
    let key = |wanted: &[Wanted]| wanted[0].requirement.key.clone();
    match comparison {
        Comparison::Fits => "fits".to_owned(),
        Comparison::Open(unknown) => format!("open {unknown:?}"),
        Comparison::Conflicts(conflicts) => {
            let word = |conflict: &Conflict| match conflict {
                Conflict::Taint(taint) => format!("taint {}", taint.key),
                Conflict::Missing(wanted) => format!("missing {}", key(wanted)),
                Conflict::Label(wanted, _) => format!("label {}", key(wanted)),
                Conflict::Volume(key, _) => format!("volume {key}"),
                Conflict::Fields(term) => format!("fields {term}"),
                Conflict::Reserved(wanted) => format!("reserved {}", wanted.requirement.key),
                Conflict::Machines(shortfall) => format!("machines {shortfall:?}"),
            };
            conflicts.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    }
}
