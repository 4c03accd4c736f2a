//! What the status of a pool says beyond its budgets.

use poolgate_core::api::OVER_LIMIT_ANNOTATION;
use poolgate_core::diagnostic::quoted;
use poolgate_core::karpenter::NodePool;
use poolgate_core::value::quantity::Quantity;
use serde_json::Value;

/// How many nodes the status counts.
pub fn nodes(object: &Value) -> Option<u32> {
    u32::try_from(object.pointer("/status/nodes")?.as_u64()?).ok()
}

/// Why Karpenter launches no nodes for the pool, or no more: sentences.
pub fn notes(object: &Value, pool: &NodePool<'_>) -> Vec<String> {
    [not_ready(object), above_limit(object, pool)]
        .into_iter()
        .flatten()
        .collect()
}

fn above_limit(object: &Value, pool: &NodePool<'_>) -> Option<String> {
    let nodes = nodes(object)?;
    let limit = pool.node_limit()?;
    (limit < Quantity::from(i64::from(nodes))).then(|| {
        format!(
            "The status counts {nodes} nodes, more than limits.nodes allows. The limit was lowered, or Karpenter launched \
             several nodes together: it checks the limit before that, not during it. Karpenter removes none because of the \
             limit: it launches no more until enough nodes are gone for other reasons, and replaces none until it is gone. \
             poolgate's gate prevents the second cause, not the first; its reconciler deletes what is above the limit if \
             the pool has the annotation {OVER_LIMIT_ANNOTATION}: Terminate."
        )
    })
}

fn not_ready(object: &Value) -> Option<String> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let text = |condition: &Value, field: &str| condition.get(field)?.as_str().map(str::to_owned);
    let is_open = |condition: &&Value| text(condition, "status").is_none_or(|status| status != "True");
    let (ready, others): (Vec<_>, Vec<_>) = conditions
        .iter()
        .filter(is_open)
        .partition(|condition| text(condition, "type").is_some_and(|kind| kind == "Ready"));
    let ready = ready.first()?;
    let reported = if others.is_empty() { vec![*ready] } else { others };
    let causes = reported.iter().map(|condition| {
        let of = |field| quoted(&text(condition, field).unwrap_or_default());
        format!("{} is {}: {}", of("type"), of("status"), of("message"))
    });
    Some(format!(
        "The pool is not ready, so Karpenter launches nothing for it; where no other pool is ready, its log says \"no nodepools \
         found\". {}. What its validation rejects, `poolgate lint` shows at its line.",
        causes.collect::<Vec<_>>().join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use poolgate_core::json::Json;
    use poolgate_core::karpenter::ApiVersion;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pool_above_its_limit_is_not_blamed_on_a_batch_alone() {
        let object = json!({"spec": {"limits": {"nodes": "3"}}, "status": {"nodes": 5}});
        let read = Json::from(&object);
        let notes = notes(&object, &NodePool::view(ApiVersion::V1, &read));
        let [note] = notes.as_slice() else {
            panic!("{notes:?}")
        };
        for said in ["The limit was lowered, or", "poolgate.dev/over-limit: Terminate"] {
            assert!(note.contains(said), "{note}");
        }
    }
}
