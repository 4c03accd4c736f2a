//! The JSON Schemas that `poolgate schema` prints for editors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ignore::WalkBuilder;
use poolgate_core::facts::{PROVIDER_IDS, ReleaseRange};
use poolgate_core::manifest::{Document, Limits, parse};
use serde_json::{Value, json};

use crate::support::files::directory;
use crate::support::program::{root, run, run_in};

/// Releases at which the definition changed in what a schema says.
const RELEASES: [&str; 6] = ["0.37", "1.0", "1.4", "1.8", "1.13", "1.15"];

fn schema(arguments: &[&str]) -> Value {
    let outcome = run(&[&["schema"], arguments].concat(), "");
    serde_json::from_str(outcome.success().as_str()).expect("JSON")
}

/// Adds a document, or the elements of a list.
fn add(document: Value, all: &mut Vec<Value>) {
    match document.get("items").and_then(Value::as_array) {
        Some(elements) if document["kind"] == "List" => all.extend(elements.clone()),
        _ => all.push(document),
    }
}

/// The documents of the YAML files below a folder.
fn documents(folder: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for entry in WalkBuilder::new(root().join(folder)).build() {
        let path = entry.expect("an entry").into_path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(&path).expect("a text");
            let read = parse(&text, &Limits::default()).filter(|document| document.unreadable().is_none());
            read.map(Document::into_value)
                .for_each(|document| add(document, &mut all));
        }
    }
    all
}

/// The pools in the cases of all rules, each completed to a whole object.
fn pools_of_rules() -> Vec<Value> {
    fn pools(value: &Value, all: &mut Vec<Value>) {
        match value {
            Value::Object(fields) => {
                all.extend(fields.get("pool").filter(|pool| pool.is_object()).cloned());
                fields.values().for_each(|value| pools(value, all));
            }
            Value::Array(list) => list.iter().for_each(|value| pools(value, all)),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    for document in documents("core/rules") {
        pools(&document, &mut parts);
    }
    let whole = |part: Value| {
        let mut pool = json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "general"},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
        });
        merge(&mut pool, part);
        pool
    };
    parts.into_iter().map(whole).collect()
}

fn merge(into: &mut Value, part: Value) {
    match (into, part) {
        (Value::Object(into), Value::Object(part)) => {
            for (name, value) in part {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, part) => *into = part,
    }
}

/// The documents in a folder, one file each, and the files with something that Karpenter or the policy rejects.
struct Linted<'a> {
    folder: &'a Path,
    documents: &'a [Value],
}

impl Linted<'_> {
    fn rejected(&self, arguments: &[&str]) -> BTreeSet<usize> {
        let outcome = run_in(
            self.folder,
            &[&["lint", "--output=json", "."], arguments].concat(),
            "",
        );
        let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let results = report["results"].as_array().expect("results").iter();
        let rejected = results.filter(|found| found["severity"] == "error" || found["rejected"] == true);
        rejected
            .map(|found| {
                let file = Path::new(found["file"].as_str().expect("a file"));
                let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
                name.parse().expect("a number")
            })
            .collect()
    }

    /// Fails if the schema rejects a document that lint accepts; returns how many it rejects.
    #[track_caller]
    fn assert_as_strict_as(&self, arguments: &[&str]) -> usize {
        let rejected = self.rejected(arguments);
        let schema = jsonschema::validator_for(&schema(arguments)).expect("a schema");
        let mut count = 0;
        for (number, document) in self.documents.iter().enumerate() {
            if let Some(error) = schema.iter_errors(document).next() {
                count += 1;
                let place = error.instance_path();
                assert!(
                    rejected.contains(&number),
                    "{arguments:?}: {place}: {error}\n{document:#}"
                );
            }
        }
        count
    }
}

#[track_caller]
fn assert_accepts_what_lint_accepts(documents: &[Value], settings: &[Vec<&str>]) {
    let texts: Vec<(String, String)> = documents
        .iter()
        .enumerate()
        .map(|(number, document)| (format!("{number}.json"), document.to_string()))
        .collect();
    let files: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let folder = directory(&files);
    let linted = Linted {
        folder: folder.path(),
        documents,
    };
    for arguments in settings {
        let rejected = linted.assert_as_strict_as(arguments);
        assert!(rejected > 20, "{arguments:?}: {rejected} of {}", documents.len());
    }
}

#[test]
fn schema_of_a_release_accepts_every_document_of_the_corpus_that_lint_accepts() {
    let mut documents = documents("tests/corpus");
    documents.extend(self::documents("docs/examples"));
    assert!(documents.len() > 150, "{}", documents.len());
    let mut settings: Vec<Vec<&str>> = RELEASES
        .iter()
        .map(|release| vec!["--karpenter-version", release])
        .collect();
    settings.push(Vec::new());
    let installed = root().join("tests/data/crds/karpenter-1.15.0-nodepools.yaml");
    settings.push(vec!["--crd", installed.to_str().expect("UTF-8")]);
    assert_accepts_what_lint_accepts(&documents, &settings);
}

#[test]
fn schema_with_a_policy_accepts_every_pool_of_the_rules_that_lint_accepts() {
    let mut documents = documents("tests/corpus");
    documents.extend(pools_of_rules());
    assert!(documents.len() > 1_000, "{}", documents.len());
    let head = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
    let providers = PROVIDER_IDS
        .iter()
        .map(|id| format!("{head}cluster: {{provider: {id}, webhook: defaults}}\n"));
    let mut policies: Vec<String> = providers.collect();
    policies.push(format!(
        "{head}cluster: {{provider: azure, providerVersion: 1.14.2}}\n"
    ));
    policies.push(format!(
        "{head}cluster: {{provider: aws, providerVersion: 1.8.0}}\n"
    ));
    policies.push(format!(
        "{head}labels: {{wellKnown: [karpenter.k8s.aws/new]}}\ncluster: {{provider: aws}}\n"
    ));
    policies.push(format!(
        "{head}{}",
        "bounds:
  limits: {required: [cpu, nodes], max: {nodes: 100, memory: 4Ti, cpu: 1500m}}
  budgets: {maxPercent: 20, maxNodes: 3, maxBudgets: 2}
  template:
    requiredLabels: [example.com/team]
    capacityTypes: [on-demand]
    expireAfter: {min: 90m, max: 720h}
    terminationGracePeriod: {min: 1m, max: 100m}
    nodeClasses: [{kind: EC2NodeClass, name: 'prod-*'}]
"
    ));
    // A bound that not every pool must keep is not in the schema.
    policies.push(format!(
        "{head}{}",
        "rules: {policy-limit-max: warning, policy-budget-percent: off}
bounds:
  limits: {max: {nodes: 1}}
  budgets: {maxPercent: 10}
  template: {requiredLabels: [example.com/team], capacityTypes: [spot]}
exemptions:
  - {pools: [general], rules: [policy-template-labels, policy-capacity-type]}
"
    ));
    policies.push(fs::read_to_string(root().join("docs/examples/policy/production.yaml")).expect("a policy"));
    let texts: Vec<(String, &str)> = policies
        .iter()
        .enumerate()
        .map(|(number, text)| (format!("{number}.yaml"), text.as_str()))
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let folder = directory(&files);
    let paths: Vec<String> = files
        .iter()
        .map(|(name, _)| folder.path().join(name).display().to_string())
        .collect();
    let settings: Vec<Vec<&str>> = paths.iter().map(|path| vec!["--policy", path.as_str()]).collect();
    assert_accepts_what_lint_accepts(&documents, &settings);
}

#[test]
fn schema_judges_documents_of_its_kind_alone() {
    let validator = jsonschema::validator_for(&schema(&["--karpenter-version", "1.15"])).expect("a schema");
    for (document, is_valid) in [
        (Value::Null, true),
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "one"}}),
            true,
        ),
        (json!({"apiVersion": "example.com/v1", "kind": "NodePool"}), true),
        (
            json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim"}),
            true,
        ),
        (
            json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}),
            false,
        ),
        (
            json!({"apiVersion": "karpenter.sh/v2", "kind": "NodePool"}),
            false,
        ),
        (
            json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "sops": {}}),
            true,
        ),
    ] {
        assert_eq!(validator.is_valid(&document), is_valid, "{document}");
    }
}

#[test]
fn schema_names_release_and_provider_and_differs_by_both() {
    let mut names = BTreeSet::new();
    let mut schemas: Vec<Value> = PROVIDER_IDS
        .iter()
        .map(|id| schema(&["--provider", id]))
        .collect();
    schemas.extend(
        RELEASES
            .iter()
            .map(|release| schema(&["--karpenter-version", release])),
    );
    schemas.extend(["EC2NodeClass", "AKSNodeClass"].map(|kind| schema(&["--kind", kind])));
    schemas.push(schema(&[
        "--policy",
        root()
            .join("docs/examples/policy/production.yaml")
            .to_str()
            .expect("UTF-8"),
    ]));
    for schema in &schemas {
        jsonschema::validator_for(schema).expect("a schema");
        let name = schema["$id"].as_str().expect("a name");
        assert!(name.starts_with("https://poolgate.dev/schemas/"), "{name}");
        assert!(names.insert(name.to_owned()), "{name} is twice");
    }
    let newest = ReleaseRange::like("99.0".parse().expect("a release"))
        .newest
        .to_string();
    assert!(names.iter().any(|name| name.contains(&newest)), "{names:?}");
}

#[test]
fn schema_of_a_provider_takes_in_its_domain_the_labels_of_its_definition_alone() {
    let validator = jsonschema::validator_for(&schema(&["--provider", "aws"])).expect("a schema");
    let pool = |group: &str, labels: Value, requirement: Value| {
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "general"},
            "spec": {"template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeClassRef": {"group": group, "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [requirement],
                },
            }},
        })
    };
    let (aws, other) = ("karpenter.k8s.aws", "karpenter.example.com");
    let requirement = |key: &str, values: &[&str]| json!({"key": key, "operator": "In", "values": values});
    let family = requirement("karpenter.k8s.aws/instance-family", &["m5"]);
    let unknown = requirement("karpenter.k8s.aws/instance-famly", &["m5"]);
    for (document, is_valid) in [
        (pool(aws, json!({}), family.clone()), true),
        (pool(aws, json!({}), unknown.clone()), false),
        (pool(other, json!({}), unknown), true),
        (pool(aws, json!({"example.com/a": "b"}), family.clone()), true),
        (pool(aws, json!({"karpenter.k8s.aws/a": "b"}), family), false),
        (
            pool(
                aws,
                json!({}),
                requirement("karpenter.sh/capacity-type", &["on-demand", "on_demand"]),
            ),
            true,
        ),
        (
            pool(
                aws,
                json!({}),
                requirement("karpenter.sh/capacity-type", &["on_demand"]),
            ),
            false,
        ),
    ] {
        assert_eq!(validator.is_valid(&document), is_valid, "{document}");
    }
}

#[test]
fn schema_of_a_node_class_has_the_descriptions_and_the_values_of_its_provider() {
    let schema = schema(&["--kind", "EC2NodeClass"]);
    let field = |path: &str| {
        let path = path.replace('.', "/properties/");
        schema
            .pointer(&format!("/then/properties/{path}"))
            .expect("a field")
    };
    let family = field("spec.amiFamily");
    assert!(
        family["description"]
            .as_str()
            .is_some_and(|text| text.contains("AMI"))
    );
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let class = |fields: Value| {
        let mut class = json!({
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "default"},
            "spec": {
                "role": "nodes",
                "amiSelectorTerms": [{"alias": "al2023@latest"}],
                "subnetSelectorTerms": [{"tags": {"a": "b"}}],
                "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
            },
        });
        merge(&mut class["spec"], fields);
        class
    };
    for (fields, is_valid) in [
        (json!({}), true),
        (json!({"metadataOptions": {"httpTokens": "required"}}), true),
        (json!({"metadataOptions": {"httpTokens": null}}), true),
        (json!({"metadataOptions": {"httpTokens": "needed"}}), false),
        (json!({"amiFamly": "AL2023"}), false),
        (json!({"tags": {"team": "data"}}), true),
        (json!({"tags": {"team": 5}}), false),
    ] {
        assert_eq!(validator.is_valid(&class(fields.clone())), is_valid, "{fields}");
    }
}
