//! The table of releases, compared with the NodePool definitions that Karpenter published
//! (`core/tests/data/karpenter-crds.jsonl`).

#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Arc;

use poolgate_core::diagnostic::{Diagnostic, Origin, Severity};
use poolgate_core::facts::{
    ApiVersion, Availability, Installed, KarpenterVersion, ReleaseSource, TargetKarpenter,
    UnreadableDefinition,
};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Limits, parse};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review};
use serde_json::{Value, json};

/// The newest definition of AWS.
const AWS: &str = include_str!("../../tests/data/crds/aws-1.15.1-nodepools.yaml");

const POLICY: &str = "spec.disruption.consolidationPolicy";
const OPERATOR: &str = "spec.template.spec.requirements[].operator";
const REASON: &str = "spec.disruption.budgets[].reasons[]";

/// A published definition, and the releases that ship it.
struct Published {
    releases: Vec<KarpenterVersion>,
    definition: Value,
}

fn published() -> Vec<Published> {
    let lines = include_str!("data/karpenter-crds.jsonl").lines();
    let records = lines.map(|line| serde_json::from_str::<Value>(line).expect("a JSON object"));
    let published: Vec<_> = records
        .map(|mut record| {
            let releases = record["releases"].as_array().expect("releases");
            let releases = releases
                .iter()
                .map(|text| text.as_str().expect("text").parse().expect("a release"));
            Published {
                releases: releases.collect(),
                definition: record["crd"].take(),
            }
        })
        .collect();
    assert_eq!(published.len(), 10);
    published
}

/// Each version of the API that a definition has, and the schema of `spec` there.
fn schemas_of(definition: &Value) -> Vec<(ApiVersion, Value)> {
    let versions = definition["spec"]["versions"]
        .as_array()
        .expect("versions")
        .iter();
    let schema = |element: &Value| {
        let version = ApiVersion::parse(element["name"].as_str().expect("a name")).expect("a known version");
        let spec = element.pointer("/schema/openAPIV3Schema/properties/spec");
        (version, spec.expect("a spec").clone())
    };
    versions.map(schema).collect()
}

/// Each release with each version of the API that its definition has, and the schema of `spec` there.
fn schemas() -> Vec<(KarpenterVersion, ApiVersion, Value)> {
    let mut schemas = Vec::new();
    for Published { releases, definition } in published() {
        for (version, spec) in schemas_of(&definition) {
            schemas.extend(releases.iter().map(|release| (*release, version, spec.clone())));
        }
    }
    schemas
}

/// What the API server makes of a value: nulls are dropped, and a missing field with a default gets it, then the fields inside
/// it, too.
fn defaulted(schema: &Value, value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        let of = |name: &str| {
            schema["properties"]
                .get(name)
                .or(schema.get("additionalProperties"))
        };
        object.retain(|name, value| !value.is_null() || of(name).is_none());
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(default) = schema.get("default") {
                object.entry(name).or_insert_with(|| default.clone());
            }
        }
        for (name, value) in object {
            if let Some(schema) = of(name) {
                defaulted(schema, value);
            }
        }
    }
    for item in value.as_array_mut().into_iter().flatten() {
        defaulted(&schema["items"], item);
    }
}

#[test]
fn every_release_completes_a_pool_as_its_definition_does() {
    for Published { releases, definition } in published() {
        let installed = Arc::new(Installed::parse(&definition).expect("a definition"));
        let by_definition = TargetKarpenter::default().with_definition(installed);
        for (version, schema) in schemas_of(&definition) {
            for spec in [
                json!({}),
                json!({"disruption": {}, "template": {"spec": {}}}),
                json!({"disruption": {"budgets": [{}, {"nodes": "5"}, {"reasons": ["Empty"]}]}}),
                json!({"disruption": {"budgets": null, "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1h"}}),
                json!({"disruption": {"budgets": [], "expireAfter": "1h"}, "template": {"spec": {"expireAfter": "Never"}}}),
                json!({"disruption": 5, "template": []}),
                json!({"disruption": null, "weight": null, "other": null, "limits": {"cpu": null, "memory": "1Gi"}}),
                json!({"disruption": {"budgets": [null, {"nodes": null, "schedule": null, "other": 1}], "limits": null}}),
                json!({"template": {"metadata": null, "spec": {"taints": [{"key": "a", "value": null}], "startupTaints": null,
                    "requirements": [{"key": "a", "values": [null]}], "nodeClassRef": {"group": null, "other": {"a": null}}}}}),
            ] {
                let pool = json!({"spec": spec});
                let mut expected = spec.clone();
                defaulted(&schema, &mut expected);
                let by_releases = releases.iter().map(|release| TargetKarpenter::from(*release));
                for karpenter in by_releases.chain([by_definition.clone()]) {
                    let completed = karpenter.completed(&pool, version);
                    let release = karpenter.release();
                    assert_eq!(completed["spec"], expected, "{release} {version:?} {spec}");
                }
            }
        }
    }
}

const BUDGET: &str = "/properties/disruption/properties/budgets/items/properties";
const REQUIREMENT: &str = "/properties/template/properties/spec/properties/requirements/items/properties";

fn definition_of(release: KarpenterVersion) -> Value {
    let found = published()
        .into_iter()
        .find(|published| published.releases.contains(&release));
    found.expect("a published release").definition
}

fn installed(release: KarpenterVersion) -> Installed {
    Installed::parse(&definition_of(release)).expect("a definition")
}

#[test]
fn every_published_definition_is_recognised() {
    for Published { releases, definition } in published() {
        let range = Installed::parse(&definition).expect("a definition").releases;
        let range = range.expect("a known release");
        assert_eq!(
            (Some(&range.oldest), Some(&range.newest)),
            (releases.first(), releases.last())
        );
    }
}

#[test]
fn a_definition_older_than_the_oldest_known_one_is_checked_as_that_which_is_said() {
    let mut definition = definition_of(KarpenterVersion::OLDEST);
    let versions = definition["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|version| version["name"] == "v1beta1");
    let installed = Installed::parse(&definition).expect("a definition");
    assert_eq!(installed.releases, None);
    let cautioned = |target: TargetKarpenter| {
        let target = target.with_definition(Arc::new(installed.clone()));
        (target.release(), target.caution().is_some())
    };
    assert_eq!(
        cautioned(TargetKarpenter::default()),
        (KarpenterVersion::OLDEST, true)
    );
    assert_eq!(
        cautioned(TargetKarpenter::from(KarpenterVersion::NEWEST)),
        (KarpenterVersion::NEWEST, false)
    );
}

#[test]
fn the_words_of_a_release_are_those_of_its_definition() {
    for (release, version, spec) in schemas() {
        for (path, place) in [
            (
                POLICY,
                "/properties/disruption/properties/consolidationPolicy/enum".to_owned(),
            ),
            (OPERATOR, format!("{REQUIREMENT}/operator/enum")),
            (REASON, format!("{BUDGET}/reasons/items/enum")),
        ] {
            let listed = spec.pointer(&place).and_then(Value::as_array);
            let listed: BTreeSet<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
            let karpenter = TargetKarpenter::from(release);
            let words: BTreeSet<&str> = karpenter.words(path, version).listed().iter().copied().collect();
            assert_eq!(words, listed, "{release} {version:?} {path}");
        }
    }
}

#[test]
fn limits_and_demands_of_a_release_are_those_of_its_definition() {
    for (release, version, _) in schemas() {
        let by_table = TargetKarpenter::from(release);
        let by_definition = TargetKarpenter::default().with_definition(Arc::new(installed(release)));
        for list in [
            "spec.template.spec.requirements",
            "spec.disruption.budgets",
            "spec.disruption.budgets[].reasons",
        ] {
            assert_eq!(
                by_table.most(list, version),
                by_definition.most(list, version),
                "{release} {version:?} {list}"
            );
        }
        let consolidate_after = "spec.disruption.consolidateAfter";
        assert_eq!(
            by_table.requires(consolidate_after, version),
            by_definition.requires(consolidate_after, version),
            "{release} {version:?}"
        );
    }
}

#[test]
fn what_the_installed_definition_lists_is_taken_though_no_release_is_known_for_it() {
    let mut definition = definition_of(KarpenterVersion::new(1, 15, 0));
    let policies = definition
        .pointer_mut(
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/disruption/properties/\
             consolidationPolicy/enum",
        )
        .expect("an enumeration");
    *policies = json!(["WhenEmpty", "WhenCheaper"]);
    let installed = Arc::new(Installed::parse(&definition).expect("a definition"));
    let policy = |karpenter: &TargetKarpenter, word| karpenter.words(POLICY, ApiVersion::V1).knows(word);

    let read = TargetKarpenter::default().with_definition(Arc::clone(&installed));
    assert_eq!(
        (read.release(), read.source()),
        (KarpenterVersion::NEWEST, ReleaseSource::Definition)
    );
    assert_eq!(policy(&read, "WhenCheaper"), Availability::Yes);
    assert_eq!(
        policy(&read, "Balanced"),
        Availability::No,
        "the definition rejects it"
    );

    let reported = TargetKarpenter::from(KarpenterVersion::new(1, 9, 0)).with_definition(installed);
    assert_eq!(
        (reported.release(), reported.source()),
        (KarpenterVersion::new(1, 9, 0), ReleaseSource::User)
    );
    assert_eq!(policy(&reported, "WhenCheaper"), Availability::No);
    assert_eq!(
        policy(&reported, "Balanced"),
        Availability::Since(KarpenterVersion::BALANCED)
    );
    assert_eq!(
        reported.keeps_node_limit_mode(ApiVersion::V1),
        Some(false),
        "pruning is not a matter of opinion"
    );
}

/// A definition that a provider published.
fn of_provider(text: &str) -> Value {
    let document = parse(text, &Limits::default()).next();
    document.expect("a definition is a document").into_value()
}

#[test]
fn the_definitions_of_providers_are_recognised_as_those_of_the_karpenter_that_they_contain() {
    for (text, line) in [
        (AWS, (1, 15)),
        (
            include_str!("../../tests/data/crds/azure-1.14.2-nodepools.yaml"),
            (1, 14),
        ),
        (
            include_str!("../../tests/data/crds/aliyun-0.2.4-nodepools.yaml"),
            (1, 8),
        ),
    ] {
        let installed = Installed::parse(&of_provider(text)).expect("a definition");
        assert_eq!(installed.release().line(), line);
    }
}

/// What is found in a new NodePool under the built-in policy.
fn findings_on(pool: &Value, karpenter: &TargetKarpenter) -> impl Iterator<Item = Diagnostic> + use<> {
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(pool),
        old: None,
        claims: None,
        at: jiff::Timestamp::default(),
    };
    review(&request, &Policy::default(), karpenter).report.into_iter()
}

/// The findings about labels in a pool on AWS.
fn labels_found(karpenter: &TargetKarpenter, label: &str) -> Vec<(&'static str, Severity, Origin)> {
    let pool = json!({"spec": {"template": {
        "metadata": {"labels": {label: "a"}},
        "spec": {
            "requirements": [{"key": label, "operator": "In", "values": ["a"]}],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        },
    }}});
    findings_on(&pool, karpenter)
        .filter(|finding| {
            finding.path.to_string().contains("labels") || finding.path.to_string().ends_with("key")
        })
        .map(|finding| (finding.rule.as_str(), finding.severity, finding.origin))
        .collect()
}

#[test]
fn the_installed_definition_decides_about_labels_in_both_directions() {
    let ours = "karpenter.k8s.aws/team";
    let taken = AWS.replace("[\"karpenter.k8s.aws/instance-tenancy\"", &format!("[\"{ours}\""));
    assert_ne!(AWS, taken);
    let read = |text: &str| {
        let installed = Installed::parse(&of_provider(text)).expect("a definition");
        TargetKarpenter::default().with_definition(Arc::new(installed))
    };
    let denied = |origin| {
        let rules = ["requirement-key-restricted", "label-restricted"];
        let mut found = rules.map(|rule| (rule, Severity::Error, origin)).to_vec();
        found.sort();
        found
    };
    let found = |karpenter: &TargetKarpenter, label: &str| {
        let mut found = labels_found(karpenter, label);
        found.sort();
        found
    };
    let (published, extended) = (read(AWS), read(&taken));
    let core = TargetKarpenter::default().with_definition(Arc::new(installed(KarpenterVersion::NEWEST)));
    let by_table = TargetKarpenter::default();
    let by_user = TargetKarpenter::from(KarpenterVersion::NEWEST).with_definition(Arc::new(
        Installed::parse(&of_provider(&taken)).expect("a definition"),
    ));

    assert_eq!(found(&by_table, ours), denied(Origin::Schema));
    assert_eq!(found(&published, ours), denied(Origin::Schema));
    assert_eq!(found(&extended, ours), [], "it is listed");
    assert_eq!(
        found(&by_user, ours),
        denied(Origin::Schema),
        "the user names the release"
    );
    let tenancy = "karpenter.k8s.aws/instance-tenancy";
    assert_eq!(found(&published, tenancy), []);
    assert_eq!(
        found(&extended, tenancy),
        denied(Origin::Schema),
        "it is listed no more"
    );
    // With Karpenter's own definition installed, the provider's Karpenter still runs.
    let warned = found(&core, ours)
        .into_iter()
        .all(|(_, severity, origin)| (severity, origin) == (Severity::Warning, Origin::Runtime));
    assert!(warned);
    assert_eq!(found(&core, "mykarpenter.k8s.aws/x"), []);
    for karpenter in [&published, &core, &by_table] {
        assert_eq!(
            found(karpenter, "karpenter.k8s.aws/ec2nodeclass"),
            denied(Origin::Runtime)
        );
    }
}

#[test]
fn the_installed_definition_says_how_many_budgets_a_pool_may_have() {
    let budgets = vec![json!({"nodes": "1"}); 55];
    let pool = json!({"spec": {"disruption": {"budgets": budgets}}});
    let is_denied = |most: Value| {
        let mut definition = definition_of(KarpenterVersion::NEWEST);
        let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/disruption/properties/budgets/maxItems";
        *definition.pointer_mut(place).expect("a bound") = most;
        let installed = Installed::parse(&definition).expect("a definition");
        let karpenter = TargetKarpenter::default().with_definition(Arc::new(installed));
        findings_on(&pool, &karpenter).any(|finding| finding.rule.as_str() == "budgets-count")
    };
    assert!(is_denied(json!(50)));
    assert!(!is_denied(json!(60)));
}

#[test]
fn a_word_of_a_later_release_says_which() {
    let karpenter =
        TargetKarpenter::default().with_definition(Arc::new(installed(KarpenterVersion::new(1, 8, 0))));
    let knows = |path, word| karpenter.words(path, ApiVersion::V1).knows(word);
    assert_eq!(
        knows(OPERATOR, "Gte"),
        Availability::Since(KarpenterVersion::GTE_LTE)
    );
    assert_eq!(knows(OPERATOR, "Gt"), Availability::Yes);
    assert_eq!(
        knows(REASON, "Unhealthy"),
        Availability::Since(KarpenterVersion::UNHEALTHY)
    );
}

#[test]
fn a_definition_tells_whether_it_keeps_the_node_limit_mode() {
    let mut definition = definition_of(KarpenterVersion::new(1, 14, 1));
    let keeps = |definition: &Value| {
        let installed = Installed::parse(definition).expect("a definition");
        let karpenter = TargetKarpenter::default().with_definition(Arc::new(installed));
        karpenter.keeps_node_limit_mode(ApiVersion::V1).expect("v1")
    };
    assert!(!keeps(&definition));

    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["disruption"]
        ["properties"]["nodeLimitMode"] = json!({"type": "string", "enum": ["Hard", "Soft"]});
    assert!(keeps(&definition));
}

#[test]
fn anything_but_a_definition_of_nodepools_is_denied_and_never_panics() {
    let other = json!({"metadata": {"name": "nodeclaims.karpenter.sh"}});
    assert_eq!(
        Installed::parse(&other).map_err(|error| error.to_string()),
        Err("it defines `nodeclaims.karpenter.sh`, not nodepools.karpenter.sh".to_owned())
    );
    let named = |versions: Value| json!({"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"versions": versions}});
    for versions in [
        json!(null),
        json!(5),
        json!([]),
        json!([5]),
        json!([{"name": "v2"}]),
        json!([{"name": "v1"}]),
        json!([{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": []}}}}}]),
    ] {
        assert_eq!(
            Installed::parse(&named(versions)),
            Err(UnreadableDefinition::NoVersion)
        );
    }
    let odd = json!([{"name": "v1", "served": "yes", "schema": {"openAPIV3Schema": {"properties": {"spec":
        {"required": 3, "properties": {"disruption": {"required": "all", "properties":
            {"consolidationPolicy": {"enum": [1, null, "A"]}, "budgets": {"items": 7}}}}}}}}}]);
    let installed = Installed::parse(&named(odd)).expect("enough to read");
    let releases = installed.releases.expect("a known release");
    assert_eq!(releases.oldest, KarpenterVersion::V1_ALONE);
}
