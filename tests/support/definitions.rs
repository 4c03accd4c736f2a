//! Definitions of NodePools that providers publish (`tests/data/crds`), labels that they may reject, and what poolgate says of those.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::facts::{ApiVersion, Installed, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::policy_file;
use poolgate_core::review::{Request, Subject, review};
use regex::Regex;
use serde_json::{Value, json};

/// A definition that a provider publishes.
pub(crate) struct Published {
    pub(crate) file: &'static str,
    group: &'static str,
    kind: &'static str,
    /// How a policy declares the release, if poolgate's table has it.
    declared: Option<&'static str>,
}

pub(crate) const PUBLISHED: &[Published] = &[
    Published {
        file: "aws-1.15.1-nodepools.yaml",
        group: "karpenter.k8s.aws",
        kind: "EC2NodeClass",
        declared: Some("{provider: aws, providerVersion: 1.15.1}"),
    },
    Published {
        file: "azure-1.14.2-nodepools.yaml",
        group: "karpenter.azure.com",
        kind: "AKSNodeClass",
        declared: Some("{provider: azure, providerVersion: 1.14.2}"),
    },
    Published {
        file: "aliyun-0.2.4-nodepools.yaml",
        group: "karpenter.alibabacloud.com",
        kind: "ECSNodeClass",
        declared: None,
    },
];

impl Published {
    /// Its text.
    pub(crate) fn text(&self) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/crds")
            .join(self.file);
        fs::read_to_string(path).expect("a definition can be read")
    }

    /// A pool that has a label in its template, and one that requires it.
    pub(crate) fn pools(&self, label: &str) -> [Value; 2] {
        let pool = |labels: Value, requirements: Value| {
            json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "example"},
                "spec": {"disruption": {"consolidateAfter": "1m"}, "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "requirements": requirements,
                        "nodeClassRef": {"group": self.group, "kind": self.kind, "name": "default"},
                    },
                }},
            })
        };
        let requirement = json!({"key": label, "operator": "Exists"});
        [
            pool(json!({label: "a"}), json!([])),
            pool(json!({}), json!([requirement])),
        ]
    }

    /// Whether poolgate says that the API server rejects a pool: with this definition installed, and with the release declared if
    /// the table has it.
    pub(crate) fn rejects(&self, pool: &Value, installed: &TargetKarpenter) -> Vec<bool> {
        let declared = self.declared.map(|cluster| {
            let text = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {cluster}\n");
            let policy = policy_file::parse(&text).expect("a policy").policy;
            is_rejected(pool, &policy, &TargetKarpenter::default())
        });
        [is_rejected(pool, &Policy::default(), installed)]
            .into_iter()
            .chain(declared)
            .collect()
    }
}

/// A Karpenter on a cluster with a definition.
pub(crate) fn with_definition(definition: &Value) -> TargetKarpenter {
    let installed = Installed::parse(definition).expect("a definition of NodePools");
    TargetKarpenter::default().with_definition(Arc::new(installed))
}

/// The labels that the definitions name, and some that are almost these.
pub(crate) fn labels() -> BTreeSet<String> {
    let quoted = Regex::new(r#"["']([a-z0-9][a-zA-Z0-9./_-]*)["']"#).expect("a pattern");
    let texts: Vec<String> = PUBLISHED.iter().map(Published::text).collect();
    let rules = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.contains("rule: self"));
    let named: BTreeSet<&str> = rules
        .flat_map(|rule| quoted.captures_iter(rule))
        .map(|found| found.get(1).expect("a group").as_str())
        .collect();
    assert!(named.len() > 60, "{named:?}");
    let mut labels = BTreeSet::new();
    for label in named {
        labels.extend([
            label.to_owned(),
            format!("my{label}"),
            format!("a.{label}"),
            format!("{label}x"),
            format!("{label}/x"),
            format!("example.com/{label}"),
            label.split('/').next().unwrap_or_default().to_owned(),
        ]);
    }
    labels
}

/// Whether poolgate says that the API server rejects a pool.
fn is_rejected(pool: &Value, policy: &Policy, karpenter: &TargetKarpenter) -> bool {
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(pool),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    let report = review(&request, policy, karpenter).report;
    report
        .with_severity(Severity::Error)
        .any(|finding| finding.origin == Origin::Schema)
}
