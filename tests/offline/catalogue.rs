//! Every rule's examples do what the catalogue says: those of a bound under the policy that sets it, which is in
//! `docs/examples/policy` under the rule's name.

use std::fs;
use std::path::Path;

use poolgate_core::diagnostic::{Diagnostic, Origin, Report, Severity};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, KarpenterVersion, NodePool};
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::{Level, Policy};
use poolgate_core::review::{Request, Subject, review};
use poolgate_core::rule::{Evidence, Rule};
use poolgate_core::rules::across::{self, ClassSource, NodeClasses, Together, is_across};
use poolgate_core::rules::{CATALOGUE, find};
use serde_json::{Value, json};

use crate::support::nodepool::merge;

/// Rules that depend on the release, with one that violates them and one that does not.
const BY_RELEASE: &[(&str, KarpenterVersion, KarpenterVersion)] = &[(
    "replicas-release",
    KarpenterVersion::new(1, 7, 0),
    KarpenterVersion::new(1, 8, 0),
)];

/// The object around an example: nothing that any rule would report.
fn around(example: &Value) -> Value {
    let text = |field: &str, otherwise: &str| {
        let named = example.get(field).and_then(Value::as_str);
        named.unwrap_or(otherwise).to_owned()
    };
    let (api_version, kind) = (text("apiVersion", "karpenter.sh/v1"), text("kind", "NodePool"));
    let mut node_class = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    // An example about fields that depend on the lifetime of nodes sets the lifetime itself.
    let mut spec = json!({"requirements": [], "expireAfter": "Never"});
    if api_version == "karpenter.sh/v1beta1" {
        node_class =
            json!({"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "name": "default"});
        spec = json!({"requirements": []});
    }
    spec["nodeClassRef"] = node_class;
    let spec = if kind == "NodePool" {
        json!({"template": {"spec": spec}})
    } else {
        spec
    };
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "example"}, "spec": spec});
    // A node class reference is either complete in the example, or taken from here.
    for place in ["/spec/nodeClassRef", "/spec/template/spec/nodeClassRef"] {
        if let (Some(ours), Some(_)) = (object.pointer_mut(place), example.pointer(place)) {
            *ours = Value::Null;
        }
    }
    merge(&mut object, example);
    object
}

fn subject_of(object: &Value) -> Subject {
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .expect("it is filled in")
    };
    let (group, version) = text("apiVersion").split_once('/').expect("a group and a version");
    Subject::of(group, version, text("kind")).expect("an object that poolgate checks")
}

/// The objects of an example: of two, the first is stored and the second replaces it.
fn objects(example: &str) -> (Option<Value>, Value) {
    let mut objects: Vec<Value> = parse(example, &Limits::default())
        .map(|document| {
            assert_eq!(document.problems(), [], "{example}");
            around(&document.into_value())
        })
        .collect();
    let object = objects.pop().expect("an example is a document or two");
    let old = objects.pop();
    assert!(objects.is_empty(), "{example}");
    (old, object)
}

/// The policy under which a rule has findings.
fn policy(rule: &Rule) -> Policy {
    if rule.severity.is_none() {
        let mut policy = Policy::default();
        policy.levels.set(rule.id, Level::Severity(Severity::Warning));
        return policy;
    }
    if !rule.id.as_str().starts_with("policy-") {
        return Policy::default();
    }
    let path = format!(
        "{}/docs/examples/policy/{}.yaml",
        env!("CARGO_MANIFEST_DIR"),
        rule.id
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let reading = poolgate_core::policy_file::read(&text);
    reading
        .unwrap_or_else(|mistakes| panic!("{path}: {mistakes:?}"))
        .policy
}

/// The findings for an example: on each object by itself and, for a rule across objects, on all of them.
fn diagnostics(rule: &Rule, example: &str, release: KarpenterVersion) -> Vec<Diagnostic> {
    if is_across(rule) {
        return diagnostics_together(rule, example, release);
    }
    let (old, object) = objects(example);
    report(rule, old.as_ref(), &object, release).into_iter().collect()
}

fn diagnostics_together(rule: &Rule, example: &str, release: KarpenterVersion) -> Vec<Diagnostic> {
    let documents: Vec<Value> = parse(example, &Limits::default())
        .map(Document::into_value)
        .collect();
    let (classes, pools): (Vec<Value>, Vec<Value>) = documents
        .into_iter()
        .partition(|document| document.get("kind").is_some());
    let mut known = NodeClasses::new(ClassSource::Input);
    for class in classes {
        let text = |pointer: &str| class.pointer(pointer).and_then(Value::as_str).expect("a text");
        let (group, _) = text("/apiVersion").split_once('/').expect("a group");
        known.add(group, text("/kind"), [text("/metadata/name").to_owned()]);
    }
    let pools: Vec<Value> = pools.iter().map(around).collect();
    let values: Vec<Json<'_>> = pools.iter().map(Json::from).collect();
    let views: Vec<_> = values
        .iter()
        .map(|pool| NodePool::view(ApiVersion::V1, pool))
        .collect();
    let found = across::check(Together {
        pools: &views,
        classes: &known,
        is_complete: true,
    });
    let alone = pools.iter().flat_map(|pool| report(rule, None, pool, release));
    alone
        .chain(found.into_iter().map(|finding| finding.diagnostic))
        .collect()
}

/// The findings of a review of an object that replaces another one.
fn report(rule: &Rule, old: Option<&Value>, object: &Value, release: KarpenterVersion) -> Report {
    let old = old.map(Json::from);
    let request = Request {
        subject: subject_of(object),
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
    };
    review(&request, &policy(rule), &release.into()).report
}

/// The rules with findings on an example, each with its severity. Notes of other rules are ignored: what is worth
/// knowing about every static pool, for example, is not a mistake of an example.
fn spoken(rule: &Rule, example: &str, release: KarpenterVersion) -> Vec<(&'static str, Severity)> {
    diagnostics(rule, example, release)
        .iter()
        .filter(|finding| finding.rule == rule.id || finding.severity != Severity::Info)
        .map(|finding| (finding.rule.as_str(), finding.severity))
        .collect()
}

/// The releases for the bad and the good example of a rule.
fn releases(rule: &Rule) -> (KarpenterVersion, KarpenterVersion) {
    let own = BY_RELEASE.iter().find(|(id, ..)| *id == rule.id.as_str());
    own.map_or(
        (KarpenterVersion::NEWEST, KarpenterVersion::NEWEST),
        |(_, bad, good)| (*bad, *good),
    )
}

#[test]
fn a_finding_is_of_an_origin_that_its_rule_lists() {
    for rule in CATALOGUE.iter() {
        assert!(!rule.origins.is_empty(), "{}", rule.id);
        let (release, _) = releases(rule);
        for finding in diagnostics(rule, rule.bad, release) {
            let spoken = find(finding.rule.as_str()).expect("a rule");
            assert!(spoken.origins.contains(&finding.origin), "{finding}");
        }
    }
}

#[test]
fn evidence_is_given_for_what_nobody_denies_and_for_nothing_else() {
    for rule in CATALOGUE.iter() {
        let is_silent = rule.origins.contains(&Origin::Silent);
        assert_eq!(rule.evidence.is_some(), is_silent, "{}", rule.id);
        if rule.evidence == Some(Evidence::Reported) {
            assert!(!rule.seen_in.is_empty(), "{}: who reported it?", rule.id);
        }
    }
}

#[test]
fn a_bad_example_breaks_its_rule_and_no_other() {
    for rule in CATALOGUE.iter() {
        let (release, _) = releases(rule);
        let expected = (rule.id.as_str(), rule.severity.unwrap_or(Severity::Warning));
        assert_eq!(spoken(rule, rule.bad, release), [expected], "{}", rule.id);
    }
}

#[test]
fn a_rule_that_is_off_is_silent_until_the_policy_gives_it_a_level() {
    let mut off = CATALOGUE.iter().filter(|rule| rule.severity.is_none()).peekable();
    assert!(off.peek().is_some(), "no rule is off, so this test shows nothing");
    for rule in off {
        let (_, object) = objects(rule.bad);
        let request = Request {
            subject: subject_of(&object),
            object: &Json::from(&object),
            old: None,
            claims: None,
        };
        let report = review(&request, &Policy::default(), &KarpenterVersion::NEWEST.into()).report;
        assert_eq!(report.diagnostics(), []);
    }
}

#[test]
fn a_good_example_breaks_no_rule() {
    for rule in CATALOGUE.iter() {
        let (_, release) = releases(rule);
        assert_eq!(spoken(rule, rule.good, release), [], "{}", rule.id);
    }
}

/// The names of the rules that the files below `directory` declare.
fn declared(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the sources can be listed");
    let paths = entries.map(|entry| entry.expect("the sources can be listed").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                return declared(&path);
            }
            let source = fs::read_to_string(&path).expect("a source can be read");
            let rules = source.split(": Rule = Rule {").skip(1);
            let names = rules.filter_map(|rule| rule.split('"').nth(1));
            names.map(str::to_owned).collect()
        })
        .collect()
}

#[test]
fn every_rule_that_is_declared_is_in_the_catalogue() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/src/rules");
    let mut missing = declared(&rules);
    assert!(missing.len() >= CATALOGUE.len());
    missing.retain(|rule| find(rule).is_none());
    assert_eq!(missing, [""; 0], "these are missing in the RULES of their files");
}
