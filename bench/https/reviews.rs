//! The reviews that are sent: as an API server writes them, with everything that kubectl leaves in an object.

use anyhow::Result;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::largest::largest;

/// A review, its path, and the expected answer.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
    pub(crate) is_allowed: bool,
    /// How many are sent per second; if `None`, one after the other on each connection.
    pub(crate) per_second: Option<u32>,
}

/// Usual objects, and about the largest that Karpenter's definition accepts.
pub(crate) fn usual() -> Result<Vec<Case>> {
    let (small, medium) = (pool(4, 3), pool(20, 5));
    let mut bare = small.clone();
    if let Some(spec) = bare.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.remove("disruption");
    }
    let mut changed = medium.clone();
    if let Some(spec) = changed.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.insert("weight".into(), json!(7));
    }
    let mut four_budgets = small.clone();
    let budgets = json!([
        {"nodes": "20%"},
        {"nodes": "5", "reasons": ["Drifted"]},
        {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h", "reasons": ["Underutilized", "Drifted"]},
        {"nodes": "10%", "schedule": "0 22 * * *", "duration": "6h"},
    ]);
    put(&mut four_budgets, "/spec/disruption/budgets", budgets);
    let (nothing, stored) = (Value::Null, stored(&medium));
    let cases = [
        (
            "nothing to judge: DELETE",
            "/validate",
            &nothing,
            Some(&small),
            true,
        ),
        ("small, created: validate", "/validate", &small, None, true),
        ("small, created: mutate", "/mutate", &bare, None, true),
        (
            "four budgets, two with schedules: validate",
            "/validate",
            &four_budgets,
            None,
            true,
        ),
        ("medium, created: validate", "/validate", &medium, None, true),
        (
            "medium, updated: validate",
            "/validate",
            &changed,
            Some(&stored),
            true,
        ),
        ("five mistakes: validate", "/validate", &mistaken(), None, false),
        (
            "largest legal, 50 budgets with schedules: validate",
            "/validate",
            &largest_legal(),
            None,
            true,
        ),
    ];
    cases
        .into_iter()
        .map(|(name, path, object, old, is_allowed)| case(name, path, object, old, is_allowed))
        .collect()
}

/// Reviews sent at a fixed rate, whether the server keeps up or not.
pub(crate) fn arriving() -> Result<Vec<Case>> {
    let medium = pool(20, 5);
    [500, 1000, 2500]
        .into_iter()
        .map(|per_second| {
            let name = format!("medium, {per_second} a second: validate");
            let case = case(&name, "/validate", &medium, None, true)?;
            let per_second = Some(per_second);
            Ok(Case { per_second, ..case })
        })
        .collect()
}

/// One NodePool with longer and longer lists of values.
pub(crate) fn growing() -> Result<Vec<Case>> {
    [1, 10, 30, 100, 300, 550]
        .into_iter()
        .map(|values| {
            let object = pool(50, values);
            case(
                &format!("50 requirements of {values} values"),
                "/validate",
                &object,
                None,
                true,
            )
        })
        .collect()
}

fn case(
    name: &str,
    path: &'static str,
    object: &Value,
    old: Option<&Value>,
    is_allowed: bool,
) -> Result<Case> {
    let operation = match old {
        None => "CREATE",
        Some(_) if object.is_null() => "DELETE",
        Some(_) => "UPDATE",
    };
    let kind = json!({"group": "karpenter.sh", "version": "v1", "kind": "NodePool"});
    let resource = json!({"group": "karpenter.sh", "version": "v1", "resource": "nodepools"});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": resource,
        "requestKind": kind, "requestResource": resource, "name": "general", "operation": operation,
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "object": object, "oldObject": old, "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply"},
    }});
    Ok(Case {
        name: name.to_owned(),
        path,
        body: Bytes::from(serde_json::to_vec(&review)?),
        is_allowed,
        per_second: None,
    })
}

/// A NodePool with this many requirements of this many values, as kubectl creates it.
fn pool(requirements: usize, values: usize) -> Value {
    let known = [
        json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]}),
        json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}),
        json!({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}),
    ];
    let more = (known.len()..requirements).map(|number| {
        let values: Vec<String> = (0..values)
            .map(|value| format!("value-{number}-{value}"))
            .collect();
        json!({"key": format!("example.com/property-{number}"), "operator": "In", "values": values})
    });
    let requirements: Vec<Value> = known.into_iter().chain(more).collect();
    let spec = json!({
        "disruption": {
            "budgets": [
                {"nodes": "10%"},
                {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h", "reasons": ["Drifted"]},
            ],
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "1m",
        },
        "limits": {"cpu": "1000", "memory": "1000Gi"},
        "template": {
            "metadata": {"labels": {"example.com/team": "blue"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "expireAfter": "720h",
                "terminationGracePeriod": "24h",
                "taints": [{"key": "example.com/dedicated", "value": "blue", "effect": "NoSchedule"}],
                "requirements": requirements,
            },
        },
        "weight": 5,
    });
    let manifest = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}, "spec": spec});
    let fields = owned(&spec);
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": {
            "name": "general", "uid": "5dbd1df7-a6b9-4f4e-a5c8-3c1d7b0a2f11", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": manifest.to_string()},
            "managedFields": [{
                "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "karpenter.sh/v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields},
            }],
        },
        "spec": spec,
    })
}

/// The fields of an object as `managedFields` lists them.
fn owned(value: &Value) -> Value {
    let Value::Object(fields) = value else {
        return json!({});
    };
    let below = fields
        .iter()
        .map(|(name, value)| (format!("f:{name}"), owned(value)));
    Value::Object([(".".to_owned(), json!({}))].into_iter().chain(below).collect())
}

/// The same object as stored, with what Karpenter writes.
fn stored(pool: &Value) -> Value {
    let mut stored = pool.clone();
    let conditions: Vec<Value> = ["NodeClassReady", "ValidationSucceeded", "Ready"]
        .map(|condition| {
            json!({"type": condition, "status": "True", "reason": condition, "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        })
        .to_vec();
    let status = json!({"conditions": conditions, "nodes": 3, "resources": {"cpu": "12", "memory": "48Gi", "nodes": "3"}});
    if let Some(fields) = stored.as_object_mut() {
        fields.insert("status".into(), status);
    }
    stored
}

/// Five mistakes that Karpenter's own validation reports, too.
fn mistaken() -> Value {
    let mut pool = pool(4, 3);
    let mistakes = json!([
        {"key": "karpenter.sh/nodepool", "operator": "Exists"},
        {"key": "kubernetes.io/hostname", "operator": "Exists"},
        {"key": "example.com/empty", "operator": "In", "values": []},
        {"key": "example.com/size", "operator": "Gt", "values": ["large"]},
        {"key": "example.com/key!", "operator": "Exists"},
    ]);
    if let Some(requirements) = pool.pointer_mut("/spec/template/spec/requirements") {
        *requirements = mistakes;
    }
    pool
}

/// About the largest that the definition accepts, as kubectl creates it.
fn largest_legal() -> Value {
    // Karpenter adds four requirements of its own to these and to those of labels, and takes 100.
    let largest = largest(61, 20);
    let mut pool = pool(0, 0);
    for (pointer, value) in [
        ("/spec/template/spec/requirements", json!(largest.requirements)),
        ("/spec/template/metadata/labels", json!(largest.labels)),
        ("/spec/disruption/budgets", json!(largest.budgets)),
        ("/spec/template/spec/taints", json!(largest.taints)),
    ] {
        put(&mut pool, pointer, value);
    }
    pool
}

fn put(pool: &mut Value, pointer: &str, value: Value) {
    if let Some(field) = pool.pointer_mut(pointer) {
        *field = value;
    }
}
