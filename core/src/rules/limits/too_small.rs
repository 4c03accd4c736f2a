//! Limits that leave no room for the smallest machine that the requirements allow.

use super::{Limit, Limits, path};
use crate::karpenter::{NodePool, Requirement, Selection, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, [Silent], Read);

/// The labels with which instance types give their amount of a resource.
struct Size {
    resource: &'static str,
    keys: &'static [&'static str],
    /// The divisor of the label's value that gives what the node certainly has.
    share: i64,
    /// How many units of the resource one unit of the label is.
    unit: i64,
    unit_name: &'static str,
}

const SIZES: [Size; 2] = [
    Size {
        resource: "cpu",
        keys: &[
            "karpenter.k8s.aws/instance-cpu",
            "eks.amazonaws.com/instance-cpu",
            "karpenter.azure.com/sku-cpu",
        ],
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
        keys: &[
            "karpenter.k8s.aws/instance-memory",
            "eks.amazonaws.com/instance-memory",
            "karpenter.azure.com/sku-memory",
        ],
        share: 2,
        unit: 1 << 20,
        unit_name: "MiB",
    },
];

pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    for size in &SIZES {
        if let Some(limit) = limits.get(size.resource) {
            check_size(pool, size, limit, findings);
        }
    }
}

fn check_size(pool: &NodePool<'_>, size: &Size, written: &Limit<'_>, findings: &mut Findings<'_>) {
    for key in size.keys {
        let requirements = pool.template.requirements().iter();
        let mut own = requirements
            .filter(|requirement| requirement.key.present() == Some(*key))
            .peekable();
        let Some(first) = own.peek().map(|requirement| requirement.index) else {
            continue;
        };
        let Some(selections) = own.map(Requirement::selection).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let Some(least) = Selection::all(selections).least() else {
            continue;
        };
        let (Some(needed), Some(limit)) = ((least / size.share).checked_mul(size.unit), written.quantity())
        else {
            continue;
        };
        // A limit of 0 switches the pool off, and another rule reports it.
        if limit.is_zero() || limit.is_negative() || *limit >= Quantity::from(needed) {
            continue;
        }
        let (resource, unit) = (size.resource, size.unit_name);
        let reason = format!(
            "the smallest machine that the requirements allow has {least} {unit}, so no node fits into this limit and the \
             pool never launches one"
        );
        findings
            .report(&LIMIT_TOO_SMALL, path(resource), written.value, reason)
            .suggest("raise the limit to what all nodes together may have, or allow smaller machines")
            .related(Template::requirements_path().index(first));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::warnings;

    const CPU: &str = "karpenter.k8s.aws/instance-cpu";
    const MEMORY: &str = "karpenter.k8s.aws/instance-memory";

    fn warned(limits: &Value, requirements: &[(&str, &str, &[&str])]) -> Vec<String> {
        let requirements: Vec<Value> = requirements
            .iter()
            .map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values}))
            .collect();
        let class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
        let spec = json!({"requirements": requirements, "nodeClassRef": class});
        let mut warnings = warnings(&json!({"spec": {"limits": limits, "template": {"spec": spec}}}));
        warnings.retain(|warning| warning.ends_with("[limit-too-small]"));
        warnings
    }

    #[test]
    fn a_limit_below_the_smallest_machine_gets_a_warning() {
        assert_eq!(
            warned(&json!({"cpu": "15"}), &[(CPU, "In", &["32", "16"])]),
            [
                "spec.limits.cpu: Invalid value: \"15\": the smallest machine that the requirements allow has 16 cores, so no \
                 node fits into this limit and the pool never launches one; raise the limit to what all nodes together may \
                 have, or allow smaller machines [limit-too-small]"
            ]
        );
        assert_eq!(warned(&json!({"cpu": 15}), &[(CPU, "Gt", &["15"])]).len(), 1);
        assert_eq!(warned(&json!({"cpu": "7999m"}), &[(CPU, "Gte", &["8"])]).len(), 1);
        let both: &[(&str, &str, &[&str])] = &[(CPU, "In", &["4", "64"]), (CPU, "Gt", &["4"])];
        assert_eq!(warned(&json!({"cpu": "63"}), both).len(), 1);
        assert_eq!(
            warned(&json!({"memory": "15Gi"}), &[(MEMORY, "Gt", &["32767"])]).len(),
            1
        );
    }

    #[test]
    fn a_limit_with_room_for_some_machine_passes() {
        assert!(warned(&json!({"cpu": "16"}), &[(CPU, "In", &["32", "16"])]).is_empty());
        assert!(warned(&json!({"cpu": "1"}), &[(CPU, "Lt", &["16"])]).is_empty());
        assert!(warned(&json!({"cpu": "1"}), &[(CPU, "NotIn", &["1"])]).is_empty());
        assert!(warned(&json!({"cpu": "0"}), &[(CPU, "Gt", &["16"])]).is_empty());
        assert!(warned(&json!({"cpu": "1"}), &[]).is_empty());
        assert!(warned(&json!({"memory": "16Gi"}), &[(MEMORY, "Gt", &["32767"])]).is_empty());
        assert!(warned(&json!({"memory": "1Gi"}), &[(CPU, "Gt", &["32767"])]).is_empty());
        assert!(warned(&json!({"cpu": "1"}), &[(CPU, "Gt", &["x"])]).is_empty());
    }
}
