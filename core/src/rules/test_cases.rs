//! Runs the cases beside the pages of the rules: `core/rules/NAME.yaml` has pools that concern a rule, and all that is found
//! in each.
//!
//! `POOLGATE_WRITE=1` writes what is found now. The words of all findings are pinned in one snapshot, and nowhere else.
//!
//! `update` names the case that shows how the stored object matters, or says `none, because …`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;
use serde_json::{Value, json};

use super::testing::completed;
use crate::diagnostic::{FieldPath, Report, Segment};
use crate::drift::{DriftClaim, HASH_VERSION};
use crate::facts::{
    ApiVersion, KarpenterVersion, NodeClassKind, NodeClassMismatch, OtherKind, PROVIDER_IDS, Provider,
    TargetKarpenter,
};
use crate::json::Json;
use crate::manifest::{Limits, parse};
use crate::policy::Policy;
use crate::review::{Request, Review, Subject, review, review_deletion, review_file};
use crate::rules::{CATALOGUE, find};

/// When pools are reviewed.
const MONDAY: &str = "2026-01-05T08:00:00Z";

/// A file of cases.
#[derive(Deserialize)]
struct Cases {
    /// The case of an update, or why there is none.
    update: String,
    #[serde(flatten)]
    all: BTreeMap<String, Vec<Example>>,
}

/// What `update` begins with if the rule does not read the stored object.
const NO_UPDATE: &str = "none, because ";

/// A `NodePool`, and what is found in it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    /// The version of the API; without it v1.
    version: Option<String>,
    /// The kind; without it NodePool.
    kind: Option<String>,
    /// The release of Karpenter; without it the newest.
    karpenter: Option<String>,
    /// The provider of the pool's node class, by the name that policies have for it; without it kwok.
    provider: Option<String>,
    /// The fields of a policy file.
    policy: Option<Value>,
    /// The pool. Required fields that it leaves out are filled in. Without it the stored pool is deleted.
    pool: Option<Value>,
    /// The stored pool that it replaces.
    old: Option<Value>,
    /// The labels of the NodeClaims that it has; without them they are not listed. Each has the hash of another template.
    claims: Option<Vec<BTreeMap<String, String>>>,
    /// Severity, rule and path of each finding.
    #[serde(default)]
    finds: Vec<String>,
}

/// How a pool is checked: as it is in a file, or as a webhook gets it.
type Reviewing = fn(&Request<'_>, &Policy, &TargetKarpenter) -> Review;

impl Example {
    fn report(&self) -> Report {
        self.report_over(self.old.as_ref())
    }

    /// What is found if the pool replaces this one.
    fn report_over(&self, old: Option<&Value>) -> Report {
        self.report_by(review_file, old)
    }

    fn report_by(&self, review: Reviewing, old: Option<&Value>) -> Report {
        let version = self.version.as_deref().unwrap_or("v1");
        let version = ApiVersion::parse(version).expect("v1 or v1beta1");
        let other = |kind: &&OtherKind| self.kind.as_deref() == Some(kind.named().2);
        let other = OtherKind::ALL.iter().find(other);
        let subject = other.map_or(Subject::NodePool(version), |kind| Subject::Other(*kind));
        let completed = |pool: &Value| completed(subject, &self.with_node_class(pool));
        let [pool, old] = [self.pool.as_ref(), old].map(|pool| pool.map(completed));
        let [pool, old] = [&pool, &old].map(|pool| pool.as_ref().map(Json::from));
        let (policy, at) = (self.policy(), MONDAY.parse().expect("a time"));
        let claim = |labels: &BTreeMap<String, String>| DriftClaim {
            labels: labels.clone(),
            hash: Some("1".into()),
            hash_version: Some(HASH_VERSION.into()),
            ..DriftClaim::default()
        };
        let claims = self.claims.as_ref();
        let claims: Option<Vec<DriftClaim>> = claims.map(|claims| claims.iter().map(claim).collect());
        let release = self.release();
        let Some(pool) = &pool else {
            let stored = old.as_ref().expect("a pool, or one that is deleted");
            return review_deletion(stored, version, at, &policy, &release.into());
        };
        let request = Request {
            subject,
            object: pool,
            old: old.as_ref(),
            claims: claims.as_deref(),
            at,
        };
        review(&request, &policy, &release.into()).report
    }

    fn release(&self) -> KarpenterVersion {
        let named = self.karpenter.as_ref();
        named.map_or(KarpenterVersion::NEWEST, |text| text.parse().expect("a release"))
    }

    fn policy(&self) -> Policy {
        let Some(fields) = &self.policy else {
            return Policy::default();
        };
        let mut file = fields.clone();
        file["apiVersion"] = json!("poolgate.dev/v1alpha1");
        file["kind"] = json!("Policy");
        let read = crate::policy_file::parse(&file.to_string());
        read.unwrap_or_else(|mistakes| panic!("{mistakes:?}")).policy
    }

    /// The pool with a node class of the provider, if it names none.
    fn with_node_class(&self, pool: &Value) -> Value {
        let mut pool = pool.clone();
        if let Some(id) = &self.provider {
            let group = Provider::of_id(id)
                .unwrap_or_else(|| panic!("one of {PROVIDER_IDS:?}"))
                .group;
            let Some(NodeClassMismatch::Slip(class)) = NodeClassKind::mismatch(group, "") else {
                panic!("{group} has a node class");
            };
            let place = &mut pool["spec"]["template"]["spec"]["nodeClassRef"];
            if place.is_null() {
                *place = json!({"group": group, "kind": class.kind, "name": "default"});
            }
        }
        pool
    }
}

/// The files of cases, each with the name of its rule.
fn files() -> Vec<(String, PathBuf)> {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut files: Vec<_> = fs::read_dir(pages)
        .expect("the pages of the rules")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let rule = path.file_stem().and_then(|stem| stem.to_str());
            (rule.expect("a name").to_owned(), path)
        })
        .collect();
    files.sort();
    files
}

impl Cases {
    fn read(rule: &str, text: &str) -> Self {
        let document = parse(text, &Limits::default()).next().expect("a document");
        assert!(
            document.problems().is_empty(),
            "{rule}: {:?}",
            document.problems()
        );
        serde_json::from_value(document.into_value()).unwrap_or_else(|error| panic!("{rule}: {error}"))
    }
}

/// The text of a file of cases with what is found now.
fn rewritten(text: &str, found: &BTreeMap<String, Vec<Vec<String>>>) -> String {
    let mut out = String::new();
    let mut rest: Vec<Vec<String>> = Vec::new();
    let mut open: Option<Vec<String>> = None;
    let mut is_old = false;
    let close = |open: &mut Option<Vec<String>>, out: &mut String| {
        if let Some(finds) = open.take().filter(|finds| !finds.is_empty()) {
            out.push_str("    finds:\n");
            for line in finds {
                writeln!(out, "      - {line}").expect("a string takes everything");
            }
        }
    };
    for line in text.lines() {
        let begins = line.starts_with("  - ");
        if begins || !line.starts_with(' ') {
            close(&mut open, &mut out);
            is_old = false;
        }
        if begins {
            open = Some(rest.remove(0));
        } else if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            rest.clone_from(&found[name]);
        }
        is_old |= line == "    finds:";
        if !is_old {
            out.push_str(line);
            out.push('\n');
        }
    }
    close(&mut open, &mut out);
    out
}

/// The most characters of a title. The consequence is separate.
const LONGEST_TITLE: usize = 80;

#[test]
fn rules_find_in_each_case_what_it_says_and_in_these_words() {
    let writes = env::var_os("POOLGATE_WRITE").is_some();
    let mut messages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = String::new();
    for (rule, path) in files() {
        let page = find(&rule)
            .unwrap_or_else(|| panic!("{rule}.yaml: there is no such rule"))
            .page();
        let text = fs::read_to_string(&path).expect("a text");
        let cases = Cases::read(&rule, &text).all;
        let mut found = BTreeMap::new();
        // Without cases, there are tests beside the check.
        let mut is_named = cases.is_empty();
        for (name, examples) in &cases {
            let mut all = Vec::new();
            for (at, example) in examples.iter().enumerate() {
                let report = example.report();
                let mut finds = Vec::new();
                for finding in report.diagnostics() {
                    let length = finding.title.chars().count();
                    assert!(length <= LONGEST_TITLE, "{rule}: {}", finding.title);
                    if finding.rule.as_str() == rule {
                        is_named = true;
                        // A policy with facts about the cluster may make a finding more certain.
                        let is_known = example.policy.is_some() || page.has(finding);
                        assert!(is_known, "{rule}: no kind on its page is {finding:?}");
                    }
                    finds.push(format!("{} {} {}", finding.severity, finding.rule, finding.path));
                    messages
                        .entry(finding.rule.to_string())
                        .or_default()
                        .insert(finding.message());
                }
                if finds != example.finds {
                    let (at, expected) = (at + 1, &example.finds);
                    writeln!(
                        wrong,
                        "{rule}.yaml: {name}: example {at}: expected {expected:#?}, found {finds:#?}"
                    )
                    .expect("a string takes everything");
                }
                all.push(finds);
            }
            found.insert(name.clone(), all);
        }
        assert!(is_named, "{rule}.yaml: none of its cases breaks the rule");
        if writes {
            fs::write(&path, rewritten(&text, &found)).expect("the file can be written");
        }
    }
    let mut snapshot = String::new();
    for (rule, messages) in messages {
        writeln!(snapshot, "{rule}").expect("a string takes everything");
        for message in messages {
            writeln!(snapshot, "  {message}").expect("a string takes everything");
        }
    }
    assert!(writes || wrong.is_empty(), "{wrong}");
    insta::assert_snapshot!("messages", snapshot);
}

#[test]
fn each_rule_names_a_case_of_an_update_or_does_not_read_the_stored_object() {
    let mut missing: BTreeSet<&str> = CATALOGUE
        .iter()
        // Those compare the objects of one run with each other.
        .filter(|rule| !rule.is_across)
        .map(|rule| rule.id.as_str())
        .collect();
    for (rule, path) in files() {
        missing.remove(rule.as_str());
        let cases = Cases::read(&rule, &fs::read_to_string(&path).expect("a text"));
        // The ratchet, which all rules share, changes the severity alone.
        let found = |report: Report| -> Vec<(String, String)> {
            let own = report.into_iter().filter(|finding| finding.rule.as_str() == rule);
            own.map(|finding| (finding.path.to_string(), finding.title))
                .collect()
        };
        let Some(reason) = cases.update.strip_prefix(NO_UPDATE) else {
            let named = cases.all.get(&cases.update);
            let named = named.unwrap_or_else(|| panic!("{rule}: there is no case {:?}", cases.update));
            let mut updates = named.iter().filter(|example| example.old.is_some());
            // A stored mistake may not be reported again.
            let shows = updates.any(|example| {
                let created = example.pool.as_ref().map(|_| found(example.report_over(None)));
                !found(example.report()).is_empty() || created.is_some_and(|created| !created.is_empty())
            });
            assert!(
                shows,
                "{rule}: no stored object in {:?}, or no finding",
                cases.update
            );
            continue;
        };
        assert!(!reason.is_empty(), "{rule}");
        let examples = || cases.all.values().flatten();
        let nothing = json!({});
        let mut before = &nothing;
        for example in examples() {
            let Some(pool) = &example.pool else { continue };
            let created = found(example.report_over(None));
            for old in [&nothing, pool, before] {
                assert_eq!(
                    found(example.report_over(Some(old))),
                    created,
                    "{rule}: {pool} over {old}"
                );
            }
            before = pool;
        }
    }
    assert!(
        missing.is_empty(),
        "{missing:?} do not say what an update changes"
    );
}

#[test]
fn a_pool_has_the_same_findings_as_it_is_written_and_as_the_api_server_completes_it() {
    for (rule, path) in files() {
        let cases = Cases::read(&rule, &fs::read_to_string(&path).expect("a text"));
        for example in cases.all.values().flatten() {
            // Only NodePools get defaults.
            let Some(pool) = example.pool.as_ref().filter(|_| example.kind.is_none()) else {
                continue;
            };
            let version = example.version.as_deref().unwrap_or("v1");
            let version = ApiVersion::parse(version).expect("v1 or v1beta1");
            let stored = |pool: &Value| {
                let whole = completed(Subject::NodePool(version), &example.with_node_class(pool));
                let mut stored = TargetKarpenter::from(example.release()).completed(&whole, version);
                // Else the helper of the tests would fill in what a null leaves out.
                if version == ApiVersion::V1
                    && let Some(Value::Object(spec)) = stored.pointer_mut("/spec/template/spec")
                {
                    for field in ["expireAfter", "requirements", "nodeClassRef"] {
                        spec.entry(field).or_insert(Value::Null);
                    }
                }
                stored
            };
            let webhook = Example {
                pool: Some(stored(pool)),
                ..example.clone()
            };
            let rules = |report: Report| -> Vec<String> {
                let found = report.into_iter();
                found
                    .map(|finding| format!("{} {}", finding.severity, finding.rule))
                    .collect()
            };
            let old = example.old.as_ref().map(stored);
            assert_eq!(
                rules(example.report()),
                rules(webhook.report_by(review, old.as_ref())),
                "{rule}: {pool}"
            );
        }
    }
}

#[test]
fn a_finding_on_what_is_not_written_stands_where_its_author_can_write_it_and_has_no_fix() {
    let mut unwritten = 0;
    for (rule, path) in files() {
        let cases = Cases::read(&rule, &fs::read_to_string(&path).expect("a text"));
        for example in cases.all.values().flatten() {
            let Some(pool) = &example.pool else { continue };
            let version = ApiVersion::parse(example.version.as_deref().unwrap_or("v1")).expect("a version");
            let pool = completed(Subject::NodePool(version), &example.with_node_class(pool));
            for finding in example.report().diagnostics() {
                let is_written = |path: &FieldPath| pool.pointer(&path.to_pointer()).is_some();
                if is_written(&finding.path) {
                    continue;
                }
                unwritten += 1;
                let mut place = FieldPath::root();
                for segment in finding.path.segments() {
                    place = match segment {
                        Segment::Key(key) => place.key(key.clone()),
                        Segment::Index(index) => {
                            assert!(is_written(&place), "{rule}: {finding}");
                            place.index(*index)
                        }
                    };
                }
                let edit = finding.help.as_ref().and_then(|help| help.edit.as_ref());
                assert_eq!(edit, None, "{rule}: {finding}");
            }
        }
    }
    assert!(unwritten > 10, "{unwritten}");
}
