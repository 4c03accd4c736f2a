//! Findings in a stored NodePool as a policy report of `wgpolicyk8s.io/v1alpha2`, which dashboards of policies read.

use poolgate_core::diagnostic::Severity;
use poolgate_core::sha256::sha256;
use serde_json::{Value, json};

use super::finding::Finding;
use crate::cluster::Cluster;
use crate::files;

/// Where reports are.
const REPORTS: &str = "/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports";

/// The field manager of all reports: an application replaces what the last one wrote.
const MANAGER: &str = "poolgate-lint";

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// A stored NodePool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPool {
    /// Its name.
    pub name: String,
    /// Its UID: its report is deleted with it.
    pub uid: String,
}

/// Writes the report on a NodePool, and returns how many could not be written. It holds no time, so that one that says the
/// same changes nothing.
pub fn write(cluster: &dyn Cluster, pool: &StoredPool, results: &[Value]) -> usize {
    let report = report(pool, results);
    let written = cluster.apply(REPORTS, &name(&pool.name), MANAGER, &report);
    if let Err(error) = &written {
        files::remark(&files::clean(&format!(
            "error: no report on {}: {error}",
            pool.name
        )));
    }
    usize::from(written.is_err())
}

/// The results of a NodePool without its infos, which are no failure of any kind.
pub fn results(findings: &[Finding]) -> Vec<Value> {
    let results: Vec<Value> = findings.iter().filter_map(result).collect();
    if results.is_empty() {
        let passes = json!({"source": "poolgate", "policy": "poolgate", "result": "pass"});
        return vec![passes];
    }
    results
}

fn result(finding: &Finding) -> Option<Value> {
    let (result, severity) = match finding.severity {
        Severity::Error => ("fail", "high"),
        Severity::Warning => ("warn", "medium"),
        Severity::Info => return None,
    };
    let message = match &finding.suggestion {
        Some(suggestion) => format!("{}; {suggestion}", finding.message),
        None => finding.message.clone(),
    };
    let field = finding
        .field
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    Some(json!({
        "source": "poolgate",
        "policy": "poolgate",
        "rule": finding.rule,
        "result": result,
        "severity": severity,
        "message": message,
        "properties": {"field": field},
    }))
}

fn report(pool: &StoredPool, results: &[Value]) -> Value {
    let count = |word: &str| results.iter().filter(|result| result["result"] == word).count();
    json!({
        "apiVersion": "wgpolicyk8s.io/v1alpha2",
        "kind": "ClusterPolicyReport",
        "metadata": {
            "name": name(&pool.name),
            "labels": {"app.kubernetes.io/managed-by": "poolgate"},
            "ownerReferences": [{
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodePool",
                "name": pool.name,
                "uid": pool.uid,
            }],
        },
        "scope": {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "name": pool.name,
            "uid": pool.uid,
        },
        "summary": {"pass": count("pass"), "fail": count("fail"), "warn": count("warn"), "error": 0, "skip": 0},
        "results": results,
    })
}

fn name(pool: &str) -> String {
    let name = format!("poolgate-{pool}");
    if name.len() > LONGEST_NAME {
        return format!("poolgate-{}", sha256(pool.as_bytes()));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::source_range::SourceRange;

    fn pool(name: &str) -> StoredPool {
        StoredPool {
            name: name.into(),
            uid: "7d1c".into(),
        }
    }

    #[test]
    fn errors_fail_warnings_warn_infos_are_left_out_and_a_sound_pool_passes() {
        let finding = |rule, severity, message: &str| Finding {
            message: message.into(),
            suggestion: Some("remove it".into()),
            ..Finding::of_manifest(rule, severity, SourceRange::beginning())
        };
        let findings = [
            finding("weight", Severity::Error, "too large"),
            finding("budget-redundant", Severity::Warning, "never lower"),
            finding("requirement-twice", Severity::Info, "twice"),
        ];
        let report = report(&pool("general"), &results(&findings));
        assert_eq!(
            report["summary"],
            json!({"pass": 0, "fail": 1, "warn": 1, "error": 0, "skip": 0})
        );
        assert_eq!(report["results"][0]["message"], "too large; remove it");
        assert_eq!(report["results"].as_array().map(Vec::len), Some(2));
        let sound = super::report(&pool("general"), &results(&findings[2..]));
        assert_eq!(sound["summary"]["pass"], 1);
    }

    #[test]
    fn a_pool_with_the_longest_name_has_a_report_too() {
        assert_eq!(name("general"), "poolgate-general");
        let (one, other) = ("a".repeat(253), "a".repeat(252) + "b");
        assert!(name(&one).len() <= LONGEST_NAME);
        assert_ne!(name(&one), name(&other));
    }
}
