//! Compares Karpenter's and poolgate's verdicts on NodePools.

use poolgate_core::facts::ApiVersion;
use serde_json::{Value, json};

use super::case::Case;
use super::compare::{Comparison, compare};
use super::effort::{Effort, tell};
use super::explained::EXPLAINED;
use super::mismatch::Mismatch;
use super::program::Oracles;
use super::run::run;
use super::seeds::corpus;

#[test]
fn poolgate_denies_what_karpenter_rejects_and_says_whose_rule_it_is() {
    let effort = Effort::wanted(20_000, 1_000_000);
    let outcome = run(effort, &corpus());
    tell(&outcome.summary());
    assert!(
        outcome.unjudged * 10 <= outcome.judged,
        "too few cases were judged: {} of {}",
        outcome.judged,
        effort.cases
    );
    assert!(
        outcome.unexplained() == 0,
        "{} differences in {} cases (POOLGATE_ORACLE_SEED={}, one of them: POOLGATE_ORACLE_CASE=number; \
         POOLGATE_ORACLE_RECORD=1 keeps them as regressions):\n{}",
        outcome.unexplained(),
        outcome.judged,
        effort.seed,
        outcome.report(effort.seed)
    );
}

/// The differences in one case; `None` if it cannot be checked.
fn mismatches(oracles: &mut Oracles, case: &Case) -> Option<Vec<Mismatch>> {
    match compare(oracles, std::slice::from_ref(case)).remove(0) {
        Comparison::Unjudged => None,
        Comparison::Judged { mismatches, .. } => Some(mismatches),
    }
}

#[test]
fn every_explained_difference_is_still_there() {
    let mut oracles = Oracles::start();
    for explained in EXPLAINED {
        let case = (explained.example)();
        let found = mismatches(&mut oracles, &case).expect("an example can be decoded");
        assert!(
            found.iter().any(|mismatch| (explained.covers)(&case, mismatch)),
            "{} is no longer needed: {}\nfound: {found:?}",
            explained.name,
            explained.why
        );
    }
}

/// A static NodePool with one requirement.
fn pool(replicas: &Value, values: &Value, reference: &Value) -> Value {
    let requirement = json!({"key": "example.com/team", "operator": "In", "values": values});
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "example"},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"requirements": [requirement], "nodeClassRef": reference}},
        },
    })
}

fn differences_of_update(old: Value, new: Value) -> Option<Vec<Mismatch>> {
    let case = Case {
        version: ApiVersion::V1,
        is_behind: false,
        object: new,
        old: Some(old),
    };
    mismatches(&mut Oracles::start(), &case)
}

#[test]
fn only_what_an_api_server_could_have_stored_is_judged() {
    let reference = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let of = |replicas, reference: &_| pool(&replicas, &json!(["a"]), reference);
    let sound = of(json!(1), &reference);
    for unstorable in [
        of(json!("1"), &reference),
        of(json!(1), &json!({"name": "default"})),
    ] {
        assert_eq!(
            differences_of_update(unstorable.clone(), sound.clone()),
            None,
            "{unstorable}"
        );
    }
    let mut of_newer = sound.clone();
    of_newer["spec"]["disruption"] = json!({"consolidationPolicy": "WhenEmpty"});
    for storable in [of(json!(-1), &reference), of_newer] {
        assert_eq!(differences_of_update(storable, sound.clone()), Some(Vec::new()));
    }
}

#[test]
fn what_karpenter_suffers_from_already_is_forgiven_though_the_definition_rejects_it_today() {
    let reference = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    // The replicas make any update of the stored object fail; the value is what Karpenter fails on.
    let stored = pool(&json!(2_147_483_648_u32), &json!(["a b"]), &reference);
    let sent = pool(&json!(9), &json!(["a b"]), &reference);
    assert_eq!(differences_of_update(stored, sent), Some(Vec::new()));
}
