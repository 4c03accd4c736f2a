//! Every rule's examples do what the catalogue says: those of a bound under the policy that sets it, which is in
//! `docs/examples/policy` under the rule's name.

#![cfg(test)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use poolgate_core::diagnostic::{Diagnostic, Origin, Report, Severity};
use poolgate_core::facts::{ApiVersion, KarpenterVersion, OtherKind};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, review_deletion, review_file};
use poolgate_core::rules::CATALOGUE;
use poolgate_core::rules::across::{self, ClassSource, NodeClasses, Together};
use poolgate_core::rules::rule::{Evidence, FindingKind, Rule};
use serde_json::{Value, json};

/// The object around an example: nothing that any rule would report.
fn around(example: &Value) -> Value {
    let api_version = example.get("apiVersion").and_then(Value::as_str);
    let api_version = api_version.unwrap_or("karpenter.sh/v1");
    if OtherKind::ALL
        .iter()
        .any(|kind| example.get("kind").and_then(Value::as_str) == Some(kind.named().2))
    {
        let mut object = json!({"metadata": {"name": "example"}});
        merge(&mut object, example);
        return object;
    }
    let mut node_class = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    // An example about fields that depend on the lifetime of nodes sets the lifetime itself.
    let mut spec = json!({"requirements": [], "expireAfter": "Never"});
    if api_version == "karpenter.sh/v1beta1" {
        node_class =
            json!({"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "name": "default"});
        spec = json!({"requirements": []});
    }
    spec["nodeClassRef"] = node_class;
    let mut object = json!({
        "apiVersion": api_version, "kind": "NodePool", "metadata": {"name": "example"},
        "spec": {"template": {"spec": spec}},
    });
    // A node class reference is either complete in the example, or taken from here.
    let place = "/spec/template/spec/nodeClassRef";
    if let (Some(ours), Some(_)) = (object.pointer_mut(place), example.pointer(place)) {
        *ours = Value::Null;
    }
    merge(&mut object, example);
    object
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
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

/// The objects of an example: of two, the first is stored and the second replaces it, or is null if it is deleted.
fn objects(example: &str) -> (Option<Value>, Value) {
    let mut objects: Vec<Value> = parse(example, &Limits::default())
        .map(|document| {
            assert_eq!(document.problems(), [], "{example}");
            let value = document.into_value();
            if value.is_null() { value } else { around(&value) }
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
        "{}/../docs/examples/policy/{}.yaml",
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
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        known.add(group, kind, [name.to_owned()]);
        if class.pointer("/spec/capacityReservationSelectorTerms").is_some() {
            known.add_reservations(group, kind, name);
        }
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

/// The findings of a review of an object of a file that may replace another one.
fn report(rule: &Rule, old: Option<&Value>, object: &Value, release: KarpenterVersion) -> Report {
    let old = old.map(Json::from);
    let (policy, at) = (policy(rule), jiff::Timestamp::default());
    if let Some(old) = old.as_ref().filter(|_| object.is_null()) {
        return review_deletion(old, ApiVersion::V1, at, &policy, &release.into());
    }
    let request = Request {
        subject: subject_of(object),
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at,
    };
    review_file(&request, &policy, &release.into()).report
}

/// The findings on an example: rule, severity and origin. Notes of other rules are ignored: what is worth
/// knowing about every static pool, for example, is not a mistake of an example.
fn spoken(rule: &Rule, example: &str) -> Vec<(&'static str, Severity, Origin)> {
    diagnostics(rule, example, release(example))
        .iter()
        .filter(|finding| finding.rule == rule.id || finding.severity != Severity::Note)
        .map(|finding| (finding.rule.as_str(), finding.severity, finding.origin))
        .collect()
}

/// What users of a provider that runs Karpenter for them cannot do, and defaults that are not theirs.
const NOT_THEIRS: &[&str] = &[
    "feature gate",
    "FEATURE_GATES",
    "start Karpenter",
    "(Karpenter's CRD)",
    "720h",
];

#[test]
fn no_message_sends_users_of_eks_auto_mode_to_what_they_cannot_set() {
    let examples = CATALOGUE.iter().flat_map(|rule| {
        let kinds = rule.page().kinds.into_iter();
        kinds.flat_map(move |kind| [(rule, kind.bad), (rule, kind.good)])
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

/// The release for which an example is checked: the newest unless a comment names one.
fn release(example: &str) -> KarpenterVersion {
    let named = example
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# checked for Karpenter "));
    named.map_or(KarpenterVersion::NEWEST, |named| {
        named.parse().expect("a release")
    })
}

#[test]
fn kinds_have_evidence_if_nothing_denies_them_and_only_then() {
    for rule in CATALOGUE {
        let (id, page) = (rule.id, rule.page());
        let has = |evidence| page.kinds.iter().any(|kind| kind.evidence == Some(evidence));
        for kind in &page.kinds {
            let is_silent = kind.origin == Origin::Silent;
            assert_eq!(kind.evidence.is_some(), is_silent, "{id}: {}", kind.name);
        }
        assert_eq!(page.source.is_some(), has(Evidence::Read), "{id}");
        assert!(
            !has(Evidence::Reported) || !page.seen_in.is_empty(),
            "{id}: who reported it?"
        );
    }
}

/// Advice can be switched off; what Karpenter rejects stays at least a warning.
#[test]
fn advice_shares_no_rule_with_what_karpenter_rejects() {
    for rule in CATALOGUE {
        let kinds = rule.page().kinds;
        let advises = kinds.iter().any(|kind| kind.severity < Severity::Error);
        let rejects = |kind: &FindingKind| kind.severity == Severity::Error && kind.origin.is_karpenters();
        assert!(!(advises && kinds.iter().any(rejects)), "{}", rule.id);
    }
}

#[test]
fn bad_example_breaks_its_rule_and_no_other() {
    let mut wrong = Vec::new();
    for rule in CATALOGUE {
        for kind in rule.page().kinds {
            let expected = (rule.id.as_str(), kind.severity, kind.origin);
            let found = spoken(rule, kind.bad);
            if found != [expected] {
                wrong.push(format!("{}: {}: {found:?}", rule.id, kind.name));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn good_example_breaks_no_rule() {
    let mut wrong = Vec::new();
    for rule in CATALOGUE {
        for kind in rule.page().kinds {
            let found = spoken(rule, kind.good);
            if !found.is_empty() {
                wrong.push(format!("{}: {}: {found:?}", rule.id, kind.name));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_page_is_that_of_a_rule_and_has_all_its_parts() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let pages = fs::read_dir(pages).expect("the pages can be listed");
    let names = pages.map(|page| page.expect("the pages can be listed").file_name());
    let names: BTreeSet<String> = names
        .map(|name| name.into_string().expect("a name in UTF-8"))
        .filter(|name| {
            Path::new(name)
                .extension()
                .is_some_and(|extension| extension == "md")
        })
        .collect();
    let rules: BTreeSet<String> = CATALOGUE.iter().map(|rule| format!("{}.md", rule.id)).collect();
    let strays: Vec<_> = names.difference(&rules).collect();
    assert_eq!(strays, [""; 0], "pages of rules that are not in the catalogue");
    for rule in CATALOGUE {
        let page = rule.page();
        let sections = rule.text.matches("\n## ").count();
        let is_whole = !page.title.is_empty() && !page.why.is_empty() && !page.kinds.is_empty();
        assert!(
            is_whole && sections == 2 * page.kinds.len(),
            "{}: a part is missing or badly formed: {page:?}",
            rule.id
        );
        let names: BTreeSet<&str> = page.kinds.iter().map(|kind| kind.name).collect();
        assert_eq!(
            names.len(),
            page.kinds.len(),
            "{}: kinds need different names",
            rule.id
        );
        assert!(
            page.kinds.len() == 1 || !names.contains(""),
            "{}: a kind has no name",
            rule.id
        );
    }
}
