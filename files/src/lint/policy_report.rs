//! Findings in a stored NodePool as a report of `openreports.io`, which dashboards of policies read; of
//! `wgpolicyk8s.io`, its predecessor, where the cluster does not serve that.

use poolgate_core::diagnostic::Severity;
use poolgate_core::sha256::sha256;
use serde_json::{Value, json};

use crate::format::finding::Finding;
use crate::sources::cluster::{Cluster, ClusterReadError, Request};
use crate::terminal;

/// An API of reports. Both have the same fields.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportApi {
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
}

const OPEN_REPORTS: ReportApi = ReportApi {
    version: "openreports.io/v1alpha1",
    kind: "ClusterReport",
    resource: "clusterreports",
};

const POLICY_REPORTS: ReportApi = ReportApi {
    version: "wgpolicyk8s.io/v1alpha2",
    kind: "ClusterPolicyReport",
    resource: "clusterpolicyreports",
};

impl ReportApi {
    /// The API that reports are written in.
    pub fn of(cluster: &Cluster) -> Result<Self, ClusterReadError> {
        let group = OPEN_REPORTS.version.split('/').next().unwrap_or_default();
        let group = cluster.one(Request::Group(group))?;
        let versions = group.as_ref().and_then(|group| group.get("versions")?.as_array());
        let mut versions = versions.into_iter().flatten();
        let is_served = versions.any(|version| version["groupVersion"] == OPEN_REPORTS.version);
        Ok(if is_served { OPEN_REPORTS } else { POLICY_REPORTS })
    }
}

/// The field manager of all reports: an application replaces what the last one wrote.
const MANAGER: &str = "poolgate-lint";

/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// A stored NodePool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPool {
    pub name: String,
    /// Its UID: its report is deleted with it.
    pub uid: String,
}

/// Writes the report on a NodePool, and returns how many could not be written. It holds no time, so that one that says the
/// same changes nothing.
pub fn write(cluster: &Cluster, api: &ReportApi, pool: &StoredPool, results: &[Value]) -> usize {
    let request = Request::Apply {
        resource: api.resource,
        manager: MANAGER,
        object: &report(api, pool, results),
    };
    let written = (cluster.answer)(request, &mut |_| Ok(()));
    if let Err(error) = &written {
        terminal::remark(&terminal::clean(&format!(
            "error: the report on NodePool {} was not written: {error}",
            pool.name
        )));
    }
    usize::from(written.is_err())
}

/// The results of a NodePool without its notes, which are not failures.
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
        Severity::Note => return None,
    };
    let message = finding.sentences();
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

fn report(api: &ReportApi, pool: &StoredPool, results: &[Value]) -> Value {
    let count = |word: &str| results.iter().filter(|result| result["result"] == word).count();
    json!({
        "apiVersion": api.version,
        "kind": api.kind,
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
    use crate::edit::SourceRange;

    fn pool(name: &str) -> StoredPool {
        StoredPool {
            name: name.into(),
            uid: "7d1c".into(),
        }
    }

    #[test]
    fn errors_fail_warnings_warn_infos_are_left_out_and_a_sound_pool_passes() {
        let finding = |rule, severity, message: &str| Finding {
            title: message.into(),
            suggestion: Some("remove it".into()),
            ..Finding::at(rule, severity, SourceRange::beginning())
        };
        let findings = [
            finding("weight", Severity::Error, "too large"),
            finding("budget-redundant", Severity::Warning, "never lower"),
            finding("requirement-redundant", Severity::Note, "twice"),
        ];
        let report = report(&POLICY_REPORTS, &pool("general"), &results(&findings));
        assert_eq!(
            report["summary"],
            json!({"pass": 0, "fail": 1, "warn": 1, "error": 0, "skip": 0})
        );
        assert_eq!(report["results"][0]["message"], "too large. Remove it.");
        assert_eq!(report["results"].as_array().map(Vec::len), Some(2));
        let sound = super::report(&OPEN_REPORTS, &pool("general"), &results(&findings[2..]));
        assert_eq!(sound["summary"]["pass"], 1);
    }

    #[test]
    fn api_of_reports_is_the_one_that_the_cluster_serves() {
        let api = |group: Option<Value>| {
            let cluster = Cluster {
                server: String::new(),
                answer: Box::new(move |request, take| {
                    assert!(matches!(request, Request::Group("openreports.io")));
                    if let Some(group) = &group {
                        take(&serde_json::value::to_raw_value(group).unwrap()).unwrap();
                    }
                    Ok(())
                }),
            };
            ReportApi::of(&cluster).unwrap()
        };
        let serving = |version: &str| Some(json!({"versions": [{"groupVersion": version}]}));
        assert_eq!(api(None), POLICY_REPORTS);
        assert_eq!(api(serving("openreports.io/v2")), POLICY_REPORTS);
        assert_eq!(api(serving("openreports.io/v1alpha1")), OPEN_REPORTS);
    }

    #[test]
    fn a_pool_with_the_longest_name_has_a_report_too() {
        assert_eq!(name("general"), "poolgate-general");
        let (one, other) = ("a".repeat(253), "a".repeat(252) + "b");
        assert!(name(&one).len() <= LONGEST_NAME);
        assert_ne!(name(&one), name(&other));
    }
}
