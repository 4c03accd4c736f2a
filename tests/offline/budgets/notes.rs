//! What `poolgate budgets` adds to the numbers: what else a budget stops, and what none does.

use super::{MONDAY, budgets, pool};

/// What the command says of a manifest, each run of spaces as one.
fn said(arguments: &[&str], manifest: &str) -> String {
    let (code, said, complaints) = budgets(&[&[MONDAY], arguments].concat(), manifest);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

const NOT_REPAIRED: &str = "budgets[0] names no reasons, so it also applies to Unhealthy: where Karpenter repairs broken \
     nodes (feature gate NodeRepair), those of this pool are";

#[test]
fn a_budget_of_zero_without_reasons_is_said_to_stop_repair_where_that_is_so() {
    let always = pool(r#"[{nodes: "0"}]"#);
    let in_a_window = pool(r#"[{nodes: "0%", schedule: "0 9 * * *", duration: 8h}]"#);
    let named = pool(r#"[{nodes: "0", reasons: [Underutilized, Empty, Drifted]}]"#);
    let advice = "With reasons: [Underutilized, Empty, Drifted] they are.";
    assert!(said(&[], &always).contains(&format!("{NOT_REPAIRED} never repaired. {advice}")));
    assert!(said(&[], &in_a_window).contains(&format!(
        "{NOT_REPAIRED} not repaired while it is active. {advice}"
    )));
    for (arguments, manifest) in [(&[][..], &named), (&["--karpenter-version=1.14.3"], &always)] {
        let said = said(arguments, manifest);
        assert!(!said.contains("NodeRepair"), "{said}");
    }
}

#[test]
fn a_declared_gate_ends_the_conditions_about_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = directory.path().join("policy.yaml");
    let declared = |gates: &str| {
        let text = format!(
            "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ncluster: {{featureGates: {{{gates}}}}}\n"
        );
        std::fs::write(&policy, text).expect("a policy");
        format!("--policy={}", policy.display())
    };
    let frozen = pool(r#"[{nodes: "0"}]"#);
    let on = said(&[&declared("NodeRepair: true")], &frozen);
    assert!(
        on.contains("it also applies to Unhealthy: broken nodes of this pool are never repaired.")
            && !on.contains("NodeRepair"),
        "{on}"
    );
    let off = said(&[&declared("NodeRepair: false")], &frozen);
    assert!(!off.contains("Unhealthy"), "{off}");
    let full = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n\
                spec: {replicas: 3, limits: {nodes: 3}, template: {spec: {}}}\n";
    let undeclared = said(&["--karpenter-version=1.15.0"], full);
    assert!(
        undeclared.contains("Raise limits.nodes, or switch on the feature gate TerminateFirstDrift."),
        "{undeclared}"
    );
    let first = said(&[&declared("TerminateFirstDrift: true")], full);
    assert!(!first.contains("leaves no room"), "{first}");
}

#[test]
fn eks_auto_mode_has_its_own_defaults_and_no_gates() {
    let pool = |spec: &str| {
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{{spec}, disruption: {{budgets: \
             [{{nodes: \"0\"}}]}}, template: {{spec: {{nodeClassRef: {{group: eks.amazonaws.com, kind: NodeClass, name: \
             default}}}}}}}}\n"
        )
    };
    let frozen = said(&[], &pool("weight: 1"));
    for part in [
        "at the age of 336h, EKS Auto Mode's default, even during a freeze.",
        "broken nodes of this pool are never repaired.",
        "EKS Auto Mode ends the drain of a node after 24h if terminationGracePeriod is left out",
    ] {
        assert!(frozen.contains(part), "{part}: {frozen}");
    }
    let full = said(&[], &pool("replicas: 3, limits: {nodes: 3}"));
    assert!(full.contains("Raise limits.nodes."), "{full}");
    for text in [frozen, full] {
        for foreign in ["gate", "Karpenter's default", "Never"] {
            assert!(!text.contains(foreign), "{foreign}: {text}");
        }
    }
}

#[test]
fn whether_a_freeze_stops_expiration_depends_on_the_release() {
    let v1 = |expiry: &str| {
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{template: {{spec: {expiry}}}, \
             disruption: {{budgets: [{{nodes: \"0\", schedule: \"0 9 * * *\", duration: 8h}}]}}}}\n"
        )
    };
    let v1beta1 = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n\
                   spec: {disruption: {expireAfter: 48h, budgets: [{nodes: \"0\"}]}}\n";
    let own = said(&[], &v1("{expireAfter: 48h}"));
    assert!(
        own.contains("does not stop expiration: nodes of this pool are removed at the age of 48h, even"),
        "{own}"
    );
    let default = said(&[], &v1("{}"));
    assert!(
        default.contains("at the age of 720h, Karpenter's default, even"),
        "{default}"
    );
    let before = said(&["--karpenter-version=0.37.0"], v1beta1);
    assert!(
        before.contains(
            "Before Karpenter 1.0 budgets limit expiration, too: while one of 0 is active, no node expires."
        ) && before
            .contains("That changes with 1.0, which removes nodes at the age of 48h, even during a freeze"),
        "{before}"
    );
    assert!(!before.contains("does not stop expiration"), "{before}");
    let upgraded = said(&[], v1beta1);
    assert!(
        upgraded.contains("A budget of 0 does not stop expiration (before 1.0 it does): nodes"),
        "{upgraded}"
    );
    let open = v1beta1.replace("nodes: \"0\"", "nodes: 10%");
    let open = said(&["--karpenter-version=0.37.0"], &open);
    assert!(
        open.contains("Nodes that expire count, too; from Karpenter 1.0 on budgets do not limit expiration."),
        "{open}"
    );
}

#[test]
fn a_budget_for_some_reasons_is_not_said_to_block_all() {
    let said = said(&[], &pool(r#"[{nodes: 50%}, {nodes: "0", reasons: [Drifted]}]"#));
    assert!(
        said.contains("budgets[1] allows no disruption for Drifted and is always active."),
        "{said}"
    );
}

#[test]
fn planned_budgets_name_the_reasons_that_leave_repair_alone_where_there_are_reasons() {
    let plan = |arguments: &[&str]| budgets(&[&["plan", "--freeze=mon"], arguments].concat(), "");
    let named = "    - nodes: \"0\"\n      reasons: [Underutilized, Empty, Drifted]\n";
    let (_, said, _) = plan(&[]);
    assert!(
        said.contains(named) && said.contains("repair of broken nodes"),
        "{said}"
    );
    let (_, said, _) = plan(&["--reason=drifted"]);
    assert!(
        said.contains("reasons: [Drifted]\n") && !said.contains("repair"),
        "{said}"
    );
    let (_, said, _) = plan(&["--karpenter-version=0.37.0"]);
    assert!(
        !said.contains("reasons") && said.contains("Before Karpenter 1.0 they limit expiration"),
        "{said}"
    );
    let (code, _, complaints) = plan(&["--karpenter-version=0.37.0", "--reason=drifted"]);
    assert_eq!(
        (code, complaints.as_str()),
        (
            Some(2),
            "error: --reason: budgets have reasons from Karpenter 1.0 on\n"
        )
    );
}

#[test]
fn what_would_limit_open_hours_leaves_the_other_reasons_as_they_are() {
    let partly = pool(
        r#"[{nodes: 20%, schedule: "0 8 * * *", duration: 10h}, {nodes: 50%, reasons: [Empty, Underutilized]}]"#,
    );
    let partly = said(&[], &partly);
    assert!(
        partly.contains(
            "For Drifted that is so from Mon 2026-01-05 18:00 UTC on. To allow none in those hours, add {nodes: \"0\", \
             reasons: [Drifted], schedule: \"0 18 * * *\", duration: 14h}; with another number, that many."
        ),
        "{partly}"
    );
    let uncovered = said(&[], &pool("[{nodes: 50%, reasons: [Drifted]}]"));
    assert!(
        uncovered.contains(
            "For Underutilized, Empty that is so now. {nodes: 10%, reasons: [Underutilized, Empty]} limits that."
        ),
        "{uncovered}"
    );
    let freeze = said(
        &[],
        &pool(r#"[{nodes: "0", reasons: [Drifted], schedule: "0 9 * * *", duration: 8h}]"#),
    );
    assert!(
        freeze.contains("{nodes: 10%, reasons: [Drifted]} limits that."),
        "a second freeze would never end: {freeze}"
    );
    let none = said(&[], &pool("[]"));
    assert!(
        none.contains("that is so now. {nodes: 10%} limits that."),
        "{none}"
    );
}

#[test]
fn windows_that_join_are_said_to_with_what_to_write_instead() {
    let manifest = |schedule: &str, duration: &str| {
        pool(&format!(
            "[{{nodes: 50%}}, {{nodes: \"0\", schedule: \"{schedule}\", duration: {duration}}}]"
        ))
    };
    let joined = said(&[], &manifest("0 9-16 * * mon-fri", "8h"));
    assert!(
        joined.contains(
            "budgets[1] begins again before its window of 8h has ended, so its windows join: from Mon 09:00 UTC for 15h, and \
             4 more times a week, it is active. For windows of 8h write schedule: \"0 9 * * mon-fri\", duration: 8h; the \
             same as now is schedule: \"0 9 * * mon-fri\", duration: 15h."
        ),
        "{joined}"
    );
    for (schedule, duration) in [
        ("0 9-16 * * mon-fri", "1h"),
        ("0 9 * * *", "8h"),
        ("0 9,17 * * *", "8h"),
        ("@monthly", "8h"),
    ] {
        let said = said(&[], &manifest(schedule, duration));
        assert!(!said.contains("windows join"), "{said}");
    }
}

#[test]
fn a_percentage_of_a_small_pool_that_is_all_of_it_is_said_to_be() {
    let tenth = pool("[{nodes: 10%}]");
    let whole = "A percentage is rounded up: 10% of 1 node is the whole pool.";
    assert!(said(&["--nodes=1"], &tenth).contains(whole));
    assert!(!said(&["--nodes=2"], &tenth).contains("rounded up"));
    assert!(!said(&["--nodes=0"], &tenth).contains("rounded up"));
    assert!(!said(&["--nodes=1"], &pool("[{nodes: 100%}]")).contains("rounded up"));
}

#[test]
fn a_drain_with_an_end_is_said_to_reach_pods_that_must_not_be_evicted() {
    let manifest = |budget: &str| {
        pool(budget).replace(
            "spec: {",
            "spec: {template: {spec: {terminationGracePeriod: 48h}}, ",
        )
    };
    let always = said(&[], &manifest("[{nodes: 10%}]"));
    assert!(
        always.contains("do-not-disrupt or a PodDisruptionBudget that blocks their eviction.")
            && always.contains("takes up to 48h; then"),
        "{always}"
    );
    let window = said(
        &[],
        &manifest(r#"[{nodes: 10%}, {nodes: "0", schedule: "0 6 * * *", duration: 20h}]"#),
    );
    assert!(
        window.contains("takes up to 48h, and it goes on when the hours end in which it began; then"),
        "{window}"
    );
}
