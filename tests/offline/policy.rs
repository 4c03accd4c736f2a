//! The policy files of the documentation: each can be read, does what the page says, and matches the JSON Schema.

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::{Draft, Validator};
use poolgate_core::diagnostic::Diagnostic;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::policy_file;
use poolgate_core::review::{Request, Review, Subject, review, review_file};
use serde_json::{Value, json};

use crate::support::nodepool::{merge, node_pool};
use crate::support::program::{self, root};

fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/examples/policy")).expect("examples");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    paths
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn value(yaml: &str) -> Value {
    let mut documents = parse(yaml, &Limits::default());
    documents.next().map(Document::into_value).expect("a document")
}

/// The review of a pool. The page shows its relevant fields only.
fn review_of(
    review: fn(&Request<'_>, &Policy, &TargetKarpenter) -> Review,
    pool: &Value,
    policy: &Policy,
) -> Review {
    let mut whole = node_pool("general", &json!({"template": {"spec": {"requirements": []}}}));
    merge(&mut whole, pool);
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(&whole),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    review(&request, policy, &TargetKarpenter::default())
}

fn line(finding: &Diagnostic) -> String {
    format!("{}: {finding}", finding.severity)
}

/// The effect of a policy on a pool: the findings that it adds, then what is written.
fn verdict(pool: &Value, policy: &Policy) -> String {
    let before = review_of(review_file, pool, &Policy::default()).report;
    let after = review_of(review_file, pool, policy).report;
    let new = after
        .diagnostics()
        .iter()
        .filter(|finding| !before.diagnostics().contains(finding));
    // By a definition that was patched for this policy: Karpenter's own writes budgets before any webhook.
    let written = review_of(review, pool, policy)
        .defaults
        .into_iter()
        .map(|default| format!("written: {} = {}", default.path, default.value));
    let mut lines: Vec<String> = new.map(line).chain(written).collect();
    if lines.is_empty() {
        lines.push("admitted as it is".into());
    }
    lines.join("\n")
}

/// The fenced blocks of a page: the word after the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(word) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((word, inside.join("\n")));
        }
    }
    blocks
}

/// The example file of a block that begins with its path, and what the block has below that.
fn example(block: &str) -> Option<(String, &str)> {
    let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
    let name = first.strip_prefix("# docs/examples/policy/")?;
    Some((text(&root().join("docs/examples/policy").join(name)), rest))
}

#[test]
fn the_page_shows_the_example_files() {
    let page = text(&root().join("docs/policy.md"));
    let blocks = blocks(&page);
    let shown: Vec<_> = blocks.iter().filter_map(|(_, block)| example(block)).collect();
    assert!(shown.len() >= 5, "{shown:?}");
    for (file, shown) in shown {
        let (_, file) = file.split_once('\n').expect("the line for editors");
        assert_eq!(shown, file.trim_end());
    }
}

/// The cases are blocks: the path of a policy, the relevant fields of a pool, and the findings that the policy adds.
#[test]
fn example_policies_have_their_effect() {
    let mut policy: Option<Policy> = None;
    let mut pool = None;
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for (word, block) in blocks(include_str!("policy-effects.txt")) {
        if let Some((file, _)) = example(&block) {
            policy = Some(policy_file::parse(&file).expect("a policy").policy);
        } else if word == "text" {
            let (Some(policy), Some(pool)) = (&policy, pool.take()) else {
                panic!("findings without policy and pool:\n{block}");
            };
            found.push(verdict(&pool, policy));
            expected.push(block);
        } else {
            pool = Some(value(&block));
        }
    }
    assert_eq!(expected, found);
    assert!(expected.len() >= 6, "{expected:?}");
}

fn schema() -> Validator {
    let schema: Value = serde_json::from_str(&text(&root().join("docs/policy.schema.json"))).expect("JSON");
    assert_eq!(schema, policy_file::schema(), "run tests/generated-files --write");
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    compile(&schema).expect("a schema by the meta-schema of draft 7")
}

/// Fails if it is not a schema.
fn compile(schema: &Value) -> Option<Validator> {
    jsonschema::options().with_draft(Draft::Draft7).build(schema).ok()
}

#[test]
fn anything_but_a_schema_is_noticed() {
    assert!(compile(&serde_json::json!({"properties": {"a": {"minItems": "two"}}})).is_none());
}

#[test]
fn the_schema_accepts_every_example() {
    let schema = schema();
    for path in examples() {
        let text = text(&path);
        policy_file::parse(&text).unwrap_or_else(|mistakes| panic!("{}: {mistakes:?}", path.display()));
        let value = value(&text);
        let errors: Vec<String> = schema
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [""; 0], "{}", path.display());
    }
}

#[test]
fn schema_and_poolgate_deny_the_same_mistakes() {
    let schema = schema();
    let head = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
    for body in [
        "bound: {}",
        "enforcement: warns",
        "rules: {schedule-sintax: off}",
        "rules: {field-type: loud}",
        "rules: {field-type: true}",
        "defaults: {consolidateAfter: 5}",
        "defaults: {consolidateAfter: 5 minutes}",
        "defaults: {budgets: []}",
        "defaults: {budgets: [{nodes: 110%}]}",
        "defaults: {budgets: [{schedule: '@daily', duration: 8h}]}",
        "bounds: {limits: {max: {node: 5}}}",
        "bounds: {limits: {max: {cpu: -1}}}",
        "bounds: {limits: {required: nodes}}",
        "bounds: {budgets: {maxPercent: 101}}",
        "bounds: {budgets: {maxPercent: 20%}}",
        "bounds: {budgets: {freezeWindows: [{schedule: '@daily'}]}}",
        "bounds: {template: {capacityTypes: [cheap]}}",
        "bounds: {template: {expireAfter: {max: Never}}}",
        "bounds: {template: {nodeClasses: []}}",
        "exemptions: [{pools: [a]}]",
        "exemptions: [{pools: [A], rules: ['*']}]",
        "exemptions: [{pools: [a], rules: ['*'], until: June}]",
        "labels: {restrictedDomains: [example.com/x]}",
        "overLimit: delete",
        "atLimit: repairs",
        "repairGracePeriod: 10 minutes",
        "spec: {}",
    ] {
        let text = format!("{head}{body}\n");
        assert!(policy_file::parse(&text).is_err(), "{body}");
        assert!(!schema.is_valid(&value(&text)), "{body}");
    }
    assert!(!schema.is_valid(&value("kind: Policy\n")));
    assert!(!schema.is_valid(&value("apiVersion: v1\nkind: ConfigMap\n")));
}

/// Runs `poolgate policy check`: the exit code, and its output.
fn check(arguments: &[&str]) -> (Option<i32>, String) {
    let outcome = program::run(&[&["policy", "check"], arguments].concat(), "");
    (outcome.status.code(), outcome.stdout)
}

#[test]
fn a_check_names_the_defaults_that_the_installed_definition_overrules() {
    let crd = ["--crd", "tests/data/crds/karpenter-1.15.0-nodepools.yaml"];
    let (code, reported) = check(&[crd[0], crd[1], "docs/examples/policy/defaults.yaml"]);
    assert_eq!(code, Some(0));
    for field in ["budgets", "consolidationPolicy", "consolidateAfter"] {
        let said = format!("note: defaults.{field} has no effect on v1");
        assert_eq!(reported.matches(&said).count(), 1, "{reported}");
    }
    assert!(
        !reported.contains("nodeLimitMode"),
        "its annotation has an effect: {reported}"
    );
    let silent = check(&[crd[0], crd[1], "docs/examples/policy/levels.yaml"]);
    assert_eq!(
        silent,
        (Some(0), String::new()),
        "what the file does not set is not its business"
    );
}
