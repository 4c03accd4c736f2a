//! A NodePool of about the largest size that Karpenter's definition accepts.

use serde_json::{Map, Value, json};

/// Its long lists.
pub(crate) struct Largest {
    pub(crate) requirements: Vec<Value>,
    pub(crate) labels: Map<String, Value>,
    pub(crate) budgets: Vec<Value>,
    pub(crate) taints: Vec<Value>,
}

/// As many labels, budgets and taints as the definition accepts, all of them long, and this many requirements of this many
/// values.
pub(crate) fn largest(requirements: usize, values: usize) -> Largest {
    let text = |letter: &str| letter.repeat(63);
    let requirements: Vec<Value> = (0..requirements)
        .map(|number| {
            let values: Vec<String> = (0..values)
                .map(|value| format!("{}{value:02}", "v".repeat(61)))
                .collect();
            json!({"key": format!("{}.example.com/r{number}", text("d")), "operator": "In", "values": values})
        })
        .collect();
    let labels: Map<String, Value> = (0..35)
        .map(|number| (format!("{}.example.com/l{number}", text("d")), json!(text("v"))))
        .collect();
    let budgets: Vec<Value> = (0..50)
        .map(|number| {
            let schedule = format!("{number} {}-23/2,0 * * sun,mon-fri,sat", number % 20);
            json!({"nodes": format!("{number}%"), "schedule": schedule, "duration": "1h30m", "reasons": ["Empty", "Drifted"]})
        })
        .collect();
    let taints: Vec<Value> = (0..50)
        .map(|number| json!({"key": format!("example.com/t{number}"), "value": text("v"), "effect": "NoSchedule"}))
        .collect();
    Largest {
        requirements,
        labels,
        budgets,
        taints,
    }
}
