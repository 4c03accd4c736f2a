//! The rules about labels in definitions that providers publish: what the API server says of a label, and what poolgate says
//! with that definition installed, and with the release declared.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, Installed, TargetKarpenter};
use poolgate_core::manifest::{Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::policy_file;
use poolgate_core::review::{Request, Subject, review};
use regex::Regex;
use serde_json::{Value, json};

use super::program::{Definition, Oracle, published, question};

/// A definition that a provider publishes.
struct Published {
    file: &'static str,
    group: &'static str,
    kind: &'static str,
    /// How a policy declares the release, if poolgate's table has it.
    declared: Option<&'static str>,
}

const PUBLISHED: &[Published] = &[
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
    fn text(&self) -> String {
        fs::read_to_string(published(self.file)).expect("a definition can be read")
    }

    fn installed(&self) -> TargetKarpenter {
        let text = self.text();
        let document = parse(&text, &Limits::default()).next();
        let definition = document.expect("a definition is a document").into_value();
        let installed = Installed::parse(&definition).expect("a definition of NodePools");
        TargetKarpenter::default().with_definition(Arc::new(installed))
    }

    /// A pool that has a label in its template, and one that requires it.
    fn pools(&self, label: &str) -> [Value; 2] {
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
}

/// The labels that the definitions name, and some that are almost these.
fn labels() -> BTreeSet<String> {
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

#[test]
fn labels_are_rejected_as_the_definitions_of_providers_reject_them() {
    for definition in PUBLISHED {
        let pools: Vec<Value> = labels()
            .iter()
            .flat_map(|label| definition.pools(label))
            .collect();
        let questions: Vec<Value> = pools.iter().map(|pool| question("judge", pool, None)).collect();
        let answers = Oracle::with(Definition::Provider(definition.file)).ask(&questions);
        let installed = definition.installed();
        let declared = definition.declared.map(|cluster| {
            let text = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {cluster}\n");
            policy_file::parse(&text).expect("a policy").policy
        });
        let mut rejected = 0;
        for (pool, answer) in pools.iter().zip(answers) {
            let schema = answer.given()["schema"].clone();
            let objections = schema.as_array().expect("the oracle judges");
            rejected += usize::from(!objections.is_empty());
            let ways = [
                Some(is_rejected(pool, &Policy::default(), &installed)),
                declared
                    .as_ref()
                    .map(|policy| is_rejected(pool, policy, &TargetKarpenter::default())),
            ];
            for ours in ways.into_iter().flatten() {
                assert_eq!(
                    ours,
                    !objections.is_empty(),
                    "{}: {pool}\n{schema}",
                    definition.file
                );
            }
        }
        assert!(
            rejected > 50,
            "{} rejects {rejected} of {}",
            definition.file,
            pools.len()
        );
    }
}
