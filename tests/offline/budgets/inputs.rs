//! Which NodePools `poolgate budgets` explains, and what it says of those that it cannot.

use super::{MONDAY, budgets, pool};
use crate::support::files::directory;

#[test]
fn several_files_are_read_and_pools_picked_by_name() {
    let [ours, others] = ["docs/examples/budgets", "tests/data/budgets"];
    let (code, said, complaints) = budgets(&[MONDAY, ours, others], "");
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    assert!(
        said.contains("NodePool general (docs/examples/budgets/business-hours.yaml), 10 nodes"),
        "{said}"
    );
    assert!(
        said.contains("NodePool stopped (tests/data/budgets/misunderstood.yaml), 10 nodes"),
        "{said}"
    );
    let (code, said, _) = budgets(&[MONDAY, "--pool=closed", "--pool=general", ours, others], "");
    assert_eq!((code, said.matches("NodePool ").count()), (Some(0), 2), "{said}");
    let (code, said, complaints) = budgets(&[MONDAY, "--pool=close", ours, others], "");
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert_eq!(
        complaints,
        "there is no NodePool close. Found: general, window, closed, stopped\n"
    );
    let (code, said, complaints) = budgets(&[MONDAY, "--pool=closed", others, "missing.yaml"], "");
    assert_eq!(code, Some(2), "{complaints}");
    assert!(said.contains("NodePool closed"), "{said}");
}

#[test]
fn lists_and_json_are_read_and_other_objects_passed_over() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "kept"}, "status": {"nodes": 40}}
    ]}"#;
    let (code, said, complaints) = budgets(&[MONDAY, "-"], list);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    assert!(said.starts_with("NodePool kept, 40 nodes\n"), "{said}");
    assert!(
        said.contains("4 nodes may be disrupted at a time (the default)"),
        "{said}"
    );
    let (code, said, complaints) = budgets(&[MONDAY], "kind: Pod\n");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(complaints, "no NodePool found among 1 objects\n");
}

#[test]
fn what_cannot_be_explained_is_named_with_its_place_beside_what_can() {
    let text = [pool("[{nodes: 5}]"), "a: [\n".to_owned(), pool("[]")].join("---\n");
    let (code, said, complaints) = budgets(&[MONDAY], &text);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("all nodes may be disrupted simultaneously (no budget is active)"),
        "{said}"
    );
    let complaints: Vec<_> = complaints.lines().collect();
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].starts_with("<stdin>:6:"), "{complaints:?}");
    assert_eq!(
        complaints[1],
        "<stdin>:1: NodePool a: spec.disruption.budgets[0].nodes: it is of the wrong type"
    );
}

#[test]
fn a_run_that_cannot_be_done_says_why() {
    for (arguments, wanted) in [
        (&["missing.yaml"][..], "error: missing.yaml: cannot be read: "),
        (
            &["--tz=Mars/Base"],
            "error: --tz: unknown time zone Mars/Base (use a name such as",
        ),
        (
            &["--at=2200-01-01T00:00:00Z"],
            "error: --at 2200-01-01T00:00:00Z: budgets can be computed",
        ),
        (
            &["--at=tomorrow"],
            "error: invalid value 'tomorrow' for '--at <TIME>'",
        ),
    ] {
        let (code, said, complaints) = budgets(arguments, "");
        assert_eq!((code, said.as_str()), (Some(2), ""), "{complaints}");
        assert!(complaints.starts_with(wanted), "{complaints}");
    }
}

#[test]
fn a_patch_that_a_kustomization_names_is_left_out() {
    let kustomization = "resources: [pool.yaml]\npatches: [{path: patch.yaml}]\n";
    let (whole, patch) = (pool("[{nodes: '3'}]"), pool("[{nodes: '5'}]"));
    let directory = directory(&[
        ("kustomization.yaml", kustomization),
        ("pool.yaml", &whole),
        ("patch.yaml", &patch),
    ]);
    let folder = directory.path().to_str().expect("a path of text");
    let (code, said, complaints) = budgets(&[MONDAY, folder], "");
    assert_eq!((code, said.matches("NodePool ").count()), (Some(0), 1), "{said}");
    assert!(said.contains("nodes 3"), "{said}");
    assert!(
        complaints.contains("patch.yaml: skipped, because a kustomization names it as a patch"),
        "{complaints}"
    );
}
