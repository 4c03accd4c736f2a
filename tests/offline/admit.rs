//! `poolgate admit`, the real program: one review in, one answer out.

use serde_json::{Value, json};

use crate::support::process::Outcome;
use crate::support::program;

const REVIEW: &str = include_str!("../../docs/examples/five-mistakes.review.json");

fn admit(arguments: &[&str], review: &str) -> Outcome {
    program::run(&[&["admit"], arguments].concat(), review)
}

fn answer(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

/// The review with a NodePool that has no budget, and nothing wrong.
fn sound() -> Value {
    let mut review: Value = serde_json::from_str(REVIEW).expect("JSON");
    let spec = &mut review["request"]["object"]["spec"];
    spec["disruption"] = json!({"consolidateAfter": "1m"});
    spec["limits"] = json!({"cpu": "100", "memory": "100Gi"});
    review
}

#[test]
fn five_mistakes_are_denied_by_either_endpoint_with_five_causes() {
    for arguments in [&[][..], &["--validate"], &["--mutate"]] {
        let outcome = admit(arguments, REVIEW);
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        let answer = answer(&outcome);
        assert_eq!(answer["response"]["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
        assert_eq!(answer["response"]["allowed"], false);
        let causes = answer["response"]["status"]["details"]["causes"].as_array();
        assert_eq!(causes.map(Vec::len), Some(5), "{answer}");
        assert!(outcome.stdout.ends_with("}\n") && outcome.stderr.is_empty());
    }
}

#[test]
fn only_mutate_completes_a_sound_object() {
    let review = sound().to_string();
    let mutated = admit(&["--mutate"], &review);
    assert_eq!(mutated.status.code(), Some(0), "{mutated:?}");
    assert_eq!(answer(&mutated)["response"]["patchType"], "JSONPatch");
    let validated = admit(&["--validate"], &review);
    assert_eq!(validated.status.code(), Some(0), "{validated:?}");
    assert_eq!(answer(&validated)["response"]["allowed"], true);
    assert_eq!(answer(&validated)["response"].get("patch"), None);
}

#[test]
fn the_policy_and_the_release_that_are_named_decide() {
    let policy = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/examples/policy/policy-limit-max.yaml"
    );
    let mut large = sound();
    large["request"]["object"]["spec"]["limits"] = json!({"nodes": "501"});
    let denied = admit(&["--policy", policy], &large.to_string());
    assert_eq!(denied.status.code(), Some(1), "{denied:?}");
    let mut fixed = sound();
    let spec = &mut fixed["request"]["object"]["spec"];
    spec["replicas"] = json!(3);
    spec["limits"] = json!({"nodes": "5"});
    spec["disruption"] = json!({"budgets": [{"nodes": "1"}], "consolidateAfter": "1m"});
    let fixed = fixed.to_string();
    let new = admit(&["--karpenter-version", "1.8"], &fixed);
    assert_eq!(new.status.code(), Some(0), "{new:?}");
    let old = admit(&["--karpenter-version", "1.7"], &fixed);
    assert_eq!(old.status.code(), Some(1), "{old:?}");
    assert!(old.stdout.contains("[replicas]"), "{old:?}");
}

#[test]
fn anything_but_a_review_is_an_error_with_a_sentence() {
    for (arguments, input, said) in [
        (&[][..], "", "not an AdmissionReview"),
        (&[], "{}", "Send an AdmissionReview of admission.k8s.io/v1"),
        (
            &["--policy", "/missing.yaml"],
            REVIEW,
            "policy file /missing.yaml does not exist",
        ),
        (&["--mutate", "--validate"], REVIEW, "cannot be used with"),
        (&["--karpenter-version", "7x"], REVIEW, "write it as 1.14"),
    ] {
        let outcome = admit(arguments, input);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(
            outcome.stderr.contains(said) && outcome.stdout.is_empty(),
            "{outcome:?}"
        );
    }
    let endless = admit(&[], &" ".repeat((7 << 20) + 1));
    assert!(endless.stderr.contains("exceeds 7340032 bytes"), "{endless:?}");
}
