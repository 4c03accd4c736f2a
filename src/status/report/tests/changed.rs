//! What the installed release of Karpenter does differently.

use super::*;
use poolgate_core::facts::Installed;

/// The facts on a cluster with this definition of NodePools, whose one pool is consolidated after this time.
fn cluster(definition: &Value, after: &str) -> Facts {
    let mut pool = pool("5", &json!({}));
    pool.spec["disruption"] = json!({"consolidateAfter": after});
    Facts {
        pools: Ok(vec![pool]),
        definition: Ok(Some(Installed::parse(definition).expect("a definition"))),
        ..well()
    }
}

/// The published definition of a release.
fn definition_of(release: &str) -> Value {
    let published = include_str!("../../../../core/tests/data/karpenter-crds.jsonl").lines();
    let mut published = published.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let found = published.find(|one| {
        one["releases"]
            .as_array()
            .expect("releases")
            .contains(&json!(release))
    });
    found.expect(release)["crd"].clone()
}

#[test]
fn a_step_of_karpenter_is_a_note_with_the_command_that_explains_it_and_no_problem() {
    let notes = |release: &str, after: &str| {
        let report = Report::of(&cluster(&definition_of(release), after), None);
        assert_eq!(report.problems, [""; 0]);
        report.notes
    };
    assert_eq!(
        notes("1.14.1", "5m"),
        [
            "Karpenter 1.14 treats 1 NodePool differently than 1.13: poolgate upgrade --cluster --from 1.13 --to 1.14"
        ]
    );
    assert_eq!(notes("1.14.1", "0s"), [""; 0]);
    assert_eq!(notes("1.15.0", "5m"), [""; 0], "1.14 does the same");
}

#[test]
fn of_a_definition_that_is_not_recognised_no_step_is_told() {
    let schema = json!({"openAPIV3Schema": {"properties": {"spec": {"properties": {"disruption": {"properties": {}}}}}}});
    let versions = json!([{"name": "v1", "schema": schema}]);
    let definition = json!({"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {"versions": versions}});
    assert_eq!(Report::of(&cluster(&definition, "5m"), None).notes, [""; 0]);
}
