//! Every rule's examples do what the catalogue says: those of a bound under the policy that sets it, which is in
//! `docs/examples/policy` under the rule's name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use poolgate_core::diagnostic::{Diagnostic, Origin, Report, Severity};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, KarpenterVersion, NodePool};
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use poolgate_core::rules::across::{self, ClassSource, NodeClasses, Together};
use poolgate_core::rules::rule::{Evidence, Rule};
use poolgate_core::rules::{CATALOGUE, find};
use serde_json::{Value, json};

use crate::support::nodepool::merge;

/// Rules that depend on the release, with one that violates them and one that does not.
const BY_RELEASE: &[(&str, KarpenterVersion, KarpenterVersion)] = &[
    (
        "replicas-release",
        KarpenterVersion::new(1, 7, 0),
        KarpenterVersion::new(1, 8, 0),
    ),
    (
        "budgets-release",
        KarpenterVersion::new(0, 33, 0),
        KarpenterVersion::new(0, 34, 0),
    ),
];

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
    Subject::from_kind(group, version, text("kind")).expect("an object that poolgate checks")
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
    if !rule.id.as_str().starts_with("policy-") {
        return Policy::default();
    }
    let path = format!(
        "{}/docs/examples/policy/{}.yaml",
        env!("CARGO_MANIFEST_DIR"),
        rule.id
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let reading = poolgate_core::policy_file::parse(&text);
    reading
        .unwrap_or_else(|mistakes| panic!("{path}: {mistakes:?}"))
        .policy
}

/// The findings for an example: on each object by itself and, for a rule across objects, on all of them.
fn diagnostics(rule: &Rule, example: &str, release: KarpenterVersion) -> Vec<Diagnostic> {
    if rule.is_across {
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
    let policy = Policy::default();
    let labels = vec![&policy.labels; views.len()];
    let found = across::check(Together {
        pools: &views,
        labels: &labels,
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
        at: jiff::Timestamp::default(),
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

/// What users of a provider that runs Karpenter for them cannot do, and defaults that are not theirs.
const NOT_THEIRS: &[&str] = &[
    "feature gate",
    "FEATURE_GATES",
    "start Karpenter",
    "Karpenter's CRD defaults",
    "720h",
];

#[test]
fn no_message_sends_users_of_eks_auto_mode_to_what_they_cannot_set() {
    let examples = CATALOGUE.iter().flat_map(|rule| {
        let page = rule.page();
        [page.bad, page.good].map(|example| (rule, example))
    });
    let mut judged = 0;
    for (rule, example) in examples {
        if rule.is_across {
            continue;
        }
        let (old, mut object) = objects(example);
        let Some(reference) = object.pointer_mut("/spec/template/spec/nodeClassRef") else {
            continue;
        };
        *reference = json!({"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"});
        // What an object writes itself may come back in a message.
        let written = object.to_string();
        for finding in report(rule, old.as_ref(), &object, KarpenterVersion::NEWEST) {
            let text = finding.to_string();
            judged += 1;
            for phrase in NOT_THEIRS.iter().filter(|phrase| !written.contains(**phrase)) {
                assert!(!text.contains(phrase), "{text}");
            }
        }
    }
    assert!(judged > 100, "{judged}");
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
    for rule in CATALOGUE {
        let (release, _) = releases(rule);
        for finding in diagnostics(rule, rule.page().bad, release) {
            let spoken = find(finding.rule.as_str()).expect("a rule");
            assert!(spoken.origins.contains(&finding.origin), "{finding}");
        }
    }
}

#[test]
fn evidence_is_given_for_what_nobody_denies_and_for_nothing_else() {
    for rule in CATALOGUE {
        let is_silent = rule.origins.contains(&Origin::Silent);
        assert_eq!(rule.evidence.is_some(), is_silent, "{}", rule.id);
        let page = rule.page();
        let is_read = rule.evidence == Some(Evidence::Read);
        assert_eq!(page.source.is_some(), is_read, "{}", rule.id);
        if rule.evidence == Some(Evidence::Reported) {
            assert!(!page.seen_in.is_empty(), "{}: who reported it?", rule.id);
        }
    }
}

#[test]
fn a_bad_example_breaks_its_rule_and_no_other() {
    for rule in CATALOGUE {
        let (release, _) = releases(rule);
        let expected = (rule.id.as_str(), rule.severity);
        assert_eq!(spoken(rule, rule.page().bad, release), [expected], "{}", rule.id);
    }
}

#[test]
fn a_good_example_breaks_no_rule() {
    for rule in CATALOGUE {
        let (_, release) = releases(rule);
        assert_eq!(spoken(rule, rule.page().good, release), [], "{}", rule.id);
    }
}

#[test]
fn every_page_is_that_of_a_rule_and_has_all_its_parts() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/rules");
    let pages = fs::read_dir(pages).expect("the pages can be listed");
    let names = pages.map(|page| page.expect("the pages can be listed").file_name());
    let names: BTreeSet<String> = names
        .map(|name| name.into_string().expect("a name in UTF-8"))
        .collect();
    let rules: BTreeSet<String> = CATALOGUE.iter().map(|rule| format!("{}.md", rule.id)).collect();
    let strays: Vec<_> = names.difference(&rules).collect();
    assert_eq!(strays, [""; 0], "pages of rules that are not in the catalogue");
    for rule in CATALOGUE {
        let page = rule.page();
        for part in [&*page.title, &*page.why, page.bad, page.good] {
            assert!(
                !part.is_empty(),
                "{}: a part is missing or badly formed: {page:?}",
                rule.id
            );
        }
    }
}
