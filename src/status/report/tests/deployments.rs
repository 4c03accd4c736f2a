//! Whether anything runs.

use super::*;

#[test]
fn a_deployment_without_a_ready_pod_is_wrong_and_its_pods_are_counted() {
    let mut facts = well();
    facts.deployments = Ok(vec![
        deployment("poolgate", 0, 2),
        deployment("poolgate-certificates", 1, 1),
        deployment("poolgate-reconciler", 1, 2),
    ]);
    let report = Report::of(&facts, None);
    assert_eq!(
        report.problems,
        [
            "Deployment poolgate: 0 of 2 pods are ready, so no NodePool is checked. See: kubectl get pods --namespace=gates"
        ]
    );
    let text = table::render(&report, WIDE);
    for row in ["poolgate               0/2\n", "poolgate-reconciler    1/2\n"] {
        assert!(text.contains(row), "{text}");
    }
    let json = as_json::from_report(&report);
    assert_eq!(
        json["deployments"][0],
        json!({"name": "poolgate", "ready": 0, "wanted": 2})
    );
}

#[test]
fn a_deployment_that_is_not_there_is_wrong_if_webhooks_call_its_pods() {
    let mut facts = well();
    facts.deployments = Ok(Vec::new());
    let problems = Report::of(&facts, None).problems;
    assert!(
        matches!(&*problems, [one] if one.starts_with("Deployment poolgate does not exist in namespace gates")),
        "{problems:?}"
    );
    facts.webhooks = Ok(Vec::new());
    let problems = Report::of(&facts, None).problems;
    assert!(
        !problems.iter().any(|one| one.contains("Deployment")),
        "{problems:?}"
    );
}

#[test]
fn deployments_that_cannot_be_read_are_not_taken_for_missing() {
    let facts = Facts {
        deployments: Err("forbidden".into()),
        ..well()
    };
    let report = Report::of(&facts, None);
    assert_eq!(report.problems, [""; 0]);
    assert_eq!(report.unread, ["Deployments: forbidden"]);
    assert_eq!(as_json::from_report(&report)["deployments"], json!(null));
}

#[test]
fn an_empty_ca_bundle_is_reported_after_the_pod_that_fills_it() {
    let mut facts = well();
    facts.webhooks.as_mut().expect("webhooks")[1] = webhook("/validate", "Fail", "");
    let fills = |facts: &Facts| {
        let problems = Report::of(facts, None).problems;
        problems.last().expect("a problem").clone()
    };
    assert!(
        fills(&facts).contains("docs/certificates.md"),
        "cert-manager, or the user"
    );
    let issuer = deployment("poolgate-certificates", 0, 1);
    facts.deployments.as_mut().expect("Deployments").push(issuer);
    let problems = Report::of(&facts, None).problems;
    assert!(
        problems[0].starts_with("Deployment poolgate-certificates: 0 of 1 pods are ready"),
        "{problems:?}"
    );
    let last = fills(&facts);
    assert!(
        last.ends_with("Deployment poolgate-certificates fills it when one of its pods is ready"),
        "{last}"
    );
}
