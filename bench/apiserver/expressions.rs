//! Ten of poolgate's rules as a `ValidatingAdmissionPolicy`: those that CEL says most directly.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::support::nodepool::merge;
use crate::support::process::Outcome;
use crate::support::wait::wait_for;
use crate::{Bench, CEL};

/// A rule, its expression, and a spec that it denies.
const RULES: [(&str, &str, &str); 10] = [
    (
        "nodepool-name",
        "object.metadata.name.size() <= 63",
        r#"{"weight": 1}"#,
    ),
    (
        "limit-amount",
        "!has(object.spec.limits) || object.spec.limits.all(k, isQuantity(string(object.spec.limits[k])) && quantity(string(object.spec.limits[k])).compareTo(quantity('0')) >= 0)",
        r#"{"limits": {"cpu": "-1"}}"#,
    ),
    (
        "limit-zero",
        "!has(object.spec.limits) || object.spec.limits.all(k, !isQuantity(string(object.spec.limits[k])) || quantity(string(object.spec.limits[k])).compareTo(quantity('0')) != 0)",
        r#"{"limits": {"cpu": "0"}}"#,
    ),
    (
        "policy-limit-required",
        "has(object.spec.limits) && ('cpu' in object.spec.limits || 'nodes' in object.spec.limits)",
        r#"{"limits": {"cpu": null, "nodes": null}}"#,
    ),
    (
        "policy-limit-max",
        "!has(object.spec.limits) || !('nodes' in object.spec.limits) || !isQuantity(string(object.spec.limits.nodes)) || quantity(string(object.spec.limits.nodes)).compareTo(quantity('500')) <= 0",
        r#"{"limits": {"nodes": "501"}}"#,
    ),
    (
        "replicas-above-limit",
        "!has(object.spec.replicas) || !has(object.spec.limits) || !('nodes' in object.spec.limits) || !isQuantity(string(object.spec.limits.nodes)) || quantity(string(object.spec.limits.nodes)).compareTo(quantity(string(object.spec.replicas))) >= 0",
        r#"{"replicas": 7, "limits": {"nodes": "5", "cpu": null, "memory": null}}"#,
    ),
    (
        "schedule-syntax",
        r"!has(object.spec.disruption) || !has(object.spec.disruption.budgets) || object.spec.disruption.budgets.all(b, !has(b.schedule) || b.schedule.matches('^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|([0-9*,/-]+ ){2}[0-9*,/?-]+ [0-9a-zA-Z*,/-]+ ([0-6*,/?-]|sun|mon|tue|wed|thu|fri|sat|SUN|MON|TUE|WED|THU|FRI|SAT)+)$'))",
        r#"{"disruption": {"budgets": [{"nodes": "1", "schedule": "0 9 * * 7", "duration": "8h"}]}}"#,
    ),
    (
        "budget-blocks-drift",
        "!has(object.spec.disruption) || !has(object.spec.disruption.budgets) || !object.spec.disruption.budgets.exists(b, b.nodes in ['0', '0%'] && !has(b.schedule) && (!has(b.reasons) || 'Drifted' in b.reasons))",
        r#"{"disruption": {"budgets": [{"nodes": "0"}]}}"#,
    ),
    (
        "expire-after-short",
        "!has(object.spec.template.spec.expireAfter) || object.spec.template.spec.expireAfter == 'Never' || duration(object.spec.template.spec.expireAfter) >= duration('10m')",
        r#"{"template": {"spec": {"expireAfter": "1m"}}}"#,
    ),
    (
        "do-not-disrupt-template",
        "!has(object.spec.template.metadata) || !has(object.spec.template.metadata.annotations) || !('karpenter.sh/do-not-disrupt' in object.spec.template.metadata.annotations)",
        r#"{"template": {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}}"#,
    ),
];

impl Bench {
    /// Registers them for pools with this prefix, and waits until each denies its mistake. `sound` is a pool without one.
    pub(crate) fn register_expressions(&self, sound: &Value) -> Result<()> {
        let name = "poolgate-bench";
        let validations =
            RULES.map(|(rule, expression, _)| json!({"expression": expression, "message": rule}));
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["karpenter.sh"], "apiVersions": ["v1"], "resources": ["nodepools"],
                    "operations": ["CREATE", "UPDATE"],
                }]},
                "matchConditions": [{
                    "name": "prefix",
                    "expression": format!("object.metadata.name.startsWith('pool-{CEL}')"),
                }],
                "validations": validations,
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        for object in [policy, binding] {
            self.plane
                .kubectl(&["apply", "-f", "-"], &object.to_string())
                .success();
        }
        for (rule, _, mistake) in RULES {
            let mut pool = sound.clone();
            merge(
                &mut pool,
                &json!({"spec": serde_json::from_str::<Value>(mistake)?}),
            );
            if rule == "nodepool-name" {
                let name = format!("pool-{CEL}{}", "a".repeat(64));
                merge(&mut pool, &json!({"metadata": {"name": name}}));
            }
            if let Some(limits) = pool.pointer_mut("/spec/limits").and_then(Value::as_object_mut) {
                limits.retain(|_, amount| !amount.is_null());
            }
            let denied = format!("denied request: {rule}");
            wait_for(rule, || self.create(&pool).stderr.contains(&denied).then_some(()));
        }
        let answer = self.create(sound);
        ensure!(answer.status.success(), "{}", answer.stderr);
        Ok(())
    }

    fn create(&self, pool: &Value) -> Outcome {
        let arguments = ["create", "--dry-run=server", "-f", "-"];
        self.plane.kubectl(&arguments, &pool.to_string())
    }
}
