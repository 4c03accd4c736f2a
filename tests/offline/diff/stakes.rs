//! Which nodes a change puts at stake, whatever takes them, and when they go.

use super::{STATUS, diff, diff_in, json, labelled};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

const CLASS: &str = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {role: a}
";

fn static_pool(replicas: u32) -> String {
    SOUND
        .replace("  disruption:", &format!("  replicas: {replicas}\n  disruption:"))
        .replace("    cpu: \"100\"\n    memory: 100Gi\n", "    nodes: \"40\"\n")
}

fn with_budgets(budgets: &str) -> String {
    let from = "    budgets:\n    - nodes: 10%\n";
    assert!(SOUND.contains(from), "{SOUND}");
    SOUND.replace(from, &format!("    budgets: {budgets}\n"))
}

fn words(old: &str, new: &str, arguments: &[&str]) -> String {
    let outcome = diff(old, new, arguments);
    let said = outcome.stdout + &outcome.stderr;
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn at_stake(old: &str, new: &str, arguments: &[&str], nodes: Option<u64>) -> String {
    let said = json(old, new, arguments);
    assert_eq!(said["nodesAtStake"].as_u64(), nodes, "{said}");
    let code = |most: u64| {
        let most = format!("--max-drift={most}");
        diff(old, new, &[&[most.as_str()], arguments].concat())
            .status
            .code()
    };
    match nodes {
        None => assert_eq!(code(1000), Some(2)),
        Some(0) => assert_eq!(code(0), Some(0)),
        Some(nodes) => assert_eq!((code(nodes - 1), code(nodes)), (Some(1), Some(0))),
    }
    words(old, new, arguments)
}

#[test]
fn fewer_replicas_put_the_nodes_above_them_at_stake_whatever_the_budgets_allow() {
    let said = at_stake(&static_pool(30), &static_pool(3), &[], Some(27));
    assert!(
        said.contains(
            "this change deletes 27 of 30 nodes: spec.replicas changed; Karpenter drains them immediately"
        ),
        "{said}"
    );
    assert!(!said.contains("without drift"), "{said}");
    at_stake(&static_pool(30), &static_pool(0), &[], Some(30));
    at_stake(&static_pool(30), &static_pool(3), &["--nodes=10"], Some(7));
    at_stake(&static_pool(3), &static_pool(30), &[], Some(0));
    let class = |pool: String| pool.replace("name: default", "name: other");
    at_stake(&static_pool(30), &class(static_pool(3)), &[], Some(30));
}

#[test]
fn a_lower_limit_puts_nodes_at_stake_if_poolgate_may_terminate_them() {
    let pool =
        |limit: &str| SOUND.replace("    cpu: \"100\"\n", &format!("    nodes: \"{limit}\"\n")) + STATUS;
    let terminating = |pool: String| {
        let annotated = "metadata:\n  annotations: {poolgate.dev/over-limit: Terminate}\n";
        pool.replacen("metadata:\n", annotated, 1)
    };
    let said = at_stake(&terminating(pool("50")), &terminating(pool("10")), &[], Some(30));
    assert!(
        said.contains("this change deletes 30 of 40 nodes: spec.limits.nodes changed"),
        "{said}"
    );
    at_stake(&pool("50"), &pool("10"), &[], Some(0));
    at_stake(&pool("10"), &terminating(pool("10")), &[], Some(30));
    let unknown = |limit| terminating(pool(limit)).replace(STATUS, "");
    at_stake(&unknown("50"), &unknown("10"), &[], None);
}

#[test]
fn a_class_that_changes_or_vanishes_puts_the_nodes_of_its_pools_at_stake() {
    let with = |class: &str| format!("{class}---\n{SOUND}{STATUS}");
    let changed = CLASS.replace("role: a", "role: a, metadataOptions: {httpTokens: optional}");
    let said = at_stake(&with(CLASS), &with(&changed), &[], Some(40));
    assert!(
        said.contains("nodes of general may drift (the provider decides)"),
        "{said}"
    );
    let gone = format!("{SOUND}{STATUS}");
    let said = at_stake(&with(CLASS), &gone, &[], Some(40));
    assert!(said.contains("EC2NodeClass default vanishes"), "{said}");
    assert!(said.contains("no node of general is launched any more"), "{said}");
    assert_eq!(diff(&with(CLASS), &gone, &["--exit-code"]).status.code(), Some(1));
    let class = &json(&with(CLASS), &gone, &[])["nodeClasses"][0];
    assert_eq!(
        (&class["change"], &class["nodesAtStake"]),
        (&"vanishes".into(), &40.into())
    );
    let unknown = |class: &str| with(class).replace(STATUS, "");
    let said = at_stake(&unknown(CLASS), &unknown(&changed), &[], None);
    assert!(said.contains("the number of replaced nodes is unknown"), "{said}");
    let said = words(&unknown(CLASS), &unknown(&changed), &["--max-drift=1"]);
    assert!(
        said.contains("the number of nodes of NodePool general is unknown"),
        "{said}"
    );
    // A pool that has changed as well counts once.
    let red = format!("{changed}---\n{}{STATUS}", labelled("red"));
    at_stake(&with(CLASS), &red, &[], Some(40));
    at_stake(&with(CLASS), &with(CLASS), &[], Some(0));
}

#[test]
fn v1beta1_is_compared_as_karpenter_converts_it() {
    let beta = |expiry: &str| {
        format!(
            "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {{name: general}}\nspec:\n  template:\n    spec:\n      \
             nodeClassRef: {{apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: default}}\n      requirements:\n      \
             - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}\n  disruption: {{consolidationPolicy: WhenUnderutilized, \
             expireAfter: {expiry}}}\n"
        )
    };
    let v1 = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec:\n  template:\n    spec:\n      \
              expireAfter: 24h\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      \
              requirements:\n      - {key: kubernetes.io/arch, operator: In, values: [amd64]}\n  disruption: \
              {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s}\n";
    let said = at_stake(&beta("24h"), v1, &[], Some(0));
    assert!(
        said.starts_with("NodePools: 1 unchanged; no node is replaced"),
        "{said}"
    );
    let said = at_stake(&beta("48h"), v1, &["--nodes=30"], Some(30));
    assert!(said.contains("spec.template.spec.expireAfter changed"), "{said}");
    let said = at_stake(&beta("48h"), &beta("24h"), &["--nodes=30"], Some(30));
    assert!(
        said.contains("this change replaces up to 30 nodes: spec.disruption.expireAfter changed"),
        "{said}"
    );
    assert!(!said.contains("without drift"), "{said}");
    let before = ["--nodes=30", "--karpenter-version=0.37.7"];
    let said = at_stake(&beta("48h"), &beta("24h"), &before, Some(30));
    assert!(said.contains("this change may replace all nodes"), "{said}");
    at_stake(&beta("48h"), &beta("48h"), &[], Some(0));
    let kubelet = beta("24h").replace("    spec:\n", "    spec:\n      kubelet: {maxPods: 20}\n");
    let said = at_stake(&beta("24h"), &kubelet, &["--nodes=30"], Some(30));
    assert!(
        said.contains("the provider decides whether another kubelet replaces nodes"),
        "{said}"
    );
}

#[test]
fn a_full_pool_is_not_said_to_keep_its_nodes_unless_poolgate_counts_them() {
    let pool = |team: &str, limit: u32, annotation: &str| {
        labelled(team)
            .replace("    cpu: \"100\"\n", &format!("    nodes: \"{limit}\"\n"))
            .replace(
                "metadata:\n  name",
                &format!("metadata:\n  annotations: {{{annotation}}}\n  name"),
            )
            + STATUS
    };
    let said = |limit, annotation: &str| {
        words(
            &pool("blue", limit, annotation),
            &pool("red", limit, annotation),
            &[],
        )
    };
    let unknown = said(40, "");
    assert!(
        unknown
            .contains("at most 4 at a time (budgets[0]); with poolgate's gate, none while the pool is full"),
        "{unknown}"
    );
    let room = said(42, "");
    assert!(
        room.contains(
            "at most 4 at a time (budgets[0]); with poolgate's gate, at most 2 at a time (limits.nodes)"
        ),
        "{room}"
    );
    let gated = said(40, "poolgate.dev/node-limit-mode: Hard");
    assert!(gated.contains("changed; none while the pool is full"), "{gated}");
    let soft = said(40, "poolgate.dev/node-limit-mode: Soft");
    assert!(
        soft.contains("at most 4 at a time (budgets[0])") && !soft.contains("full"),
        "{soft}"
    );
    let above = said(39, "");
    assert!(
        above.contains("none while the pool has more nodes than its limit"),
        "{above}"
    );
    let wide = said(50, "");
    assert!(!wide.contains("gate"), "{wide}");
}

#[test]
fn the_pace_names_what_outlasts_the_moment() {
    let paced = |budgets: &str, at: &str, arguments: &[&str]| {
        let (old, new) = (with_budgets(budgets), with_budgets(budgets));
        let new = new.replace(
            "  template:\n",
            "  template:\n    metadata: {labels: {team: red}}\n",
        );
        let folder = directory(&[("old.yaml", &*old), ("new.yaml", &*new)]);
        let all = [&["diff", "old.yaml", "new.yaml", at], arguments].concat();
        let said = crate::support::program::run_in(folder.path(), &all, "").success();
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (morning, evening) = ("--at=2026-01-05T10:00:00Z", "--at=2026-01-05T20:00:00Z");
    let nodes = ["--nodes=33"];
    let office = r#"{nodes: "1", schedule: "0 9 * * mon-fri", duration: 8h}"#;
    let rest = format!("[{office}, {{nodes: 50%}}]");
    let alone = format!("[{office}]");
    for (budgets, at, said) in [
        (
            &rest,
            morning,
            "at most 1 at a time now (budgets[0]), at most 17 from Mon 2026-01-05 17:00 UTC (budgets[1])",
        ),
        (
            &rest,
            evening,
            "at most 17 at a time now (budgets[1]), at times at most 1 (budgets[0])",
        ),
        (
            &alone,
            morning,
            "at most 1 at a time now (budgets[0]), all from Mon 2026-01-05 17:00 UTC",
        ),
        (
            &alone,
            evening,
            "no budget limits how many at a time now, at times at most 1 (budgets[0])",
        ),
    ] {
        let paced = paced(budgets, at, &nodes);
        assert!(paced.contains(said), "{said}: {paced}");
    }
    let closed = r#"[{nodes: "0", schedule: "0 0 * * mon-fri", duration: 24h}, {nodes: 50%}]"#;
    let with = paced(closed, morning, &nodes);
    assert!(
        with.contains("at most 17 at a time (budgets[1]), not before Sat 2026-01-10 00:00 UTC"),
        "{with}"
    );
    let without = paced(closed, morning, &[]);
    assert!(
        without.contains("changed; not before Sat 2026-01-10 00:00 UTC"),
        "{without}"
    );
    let unlimited = paced(&alone, morning, &[]);
    assert!(
        unlimited.contains("changed; no budget limits how many at a time from Mon 2026-01-05 17:00 UTC"),
        "{unlimited}"
    );
}

#[test]
fn a_narrower_requirement_says_that_its_number_is_the_worst_case() {
    let narrow = SOUND.replace("values: [amd64, arm64]", "values: [amd64]");
    let narrow = if narrow == SOUND {
        SOUND.replace("[amd64]", "[arm64]")
    } else {
        narrow
    };
    let said = at_stake(&(SOUND.to_owned() + STATUS), &narrow, &[], Some(40));
    assert!(
        said.contains("the nodes whose labels no longer match, at worst all 40"),
        "{said}"
    );
}

#[test]
fn a_field_that_drifts_is_not_called_without_drift_as_well() {
    let class = SOUND.replace("name: default", "name: other");
    let first = labelled("red");
    for new in [&class, &first] {
        let said = words(SOUND, new, &[]);
        assert!(said.contains("this change replaces all nodes"), "{said}");
        assert!(!said.contains("without drift"), "{said}");
    }
}

#[test]
fn a_pool_that_has_used_up_a_limit_says_what_a_replacement_needs() {
    let full = SOUND.to_owned() + "status: {nodes: 40, resources: {cpu: \"100\"}}\n";
    let said = words(&full, &labelled("red"), &[]);
    assert!(
        said.contains(
            "100 of 100 cpu in use: no node is added, and a replacement must fit into what its node leaves"
        ),
        "{said}"
    );
}

#[test]
fn the_value_that_acknowledges_is_that_of_the_stored_template() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\ndrift: {acknowledge: {pools: ['*']}}\n";
    let plain = labelled("red");
    let padded = plain
        .replace(
            "{labels: {team: red}}",
            "{labels: {team: red, none: null}, annotations: null, foo: 1}",
        )
        .replace(
            "    spec:\n",
            "    spec:\n      taints: null\n      expireAfter: 720h\n",
        );
    assert_ne!(plain, padded);
    let digest = |new: &str| {
        let folder = directory(&[("old.yaml", SOUND), ("new.yaml", new), (".poolgate.yaml", policy)]);
        let said = diff_in(folder.path(), &["old.yaml", "new.yaml", "--output=json"]).success();
        let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        said["pools"][0]["drift"]["acknowledge"]
            .as_str()
            .expect("a digest")
            .to_owned()
    };
    assert_eq!(digest(&plain), digest(&padded));
}
