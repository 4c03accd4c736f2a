//! The manifests in `manifests/` on a real API server: they apply, their conditions compile, and they send
//! poolgate what it checks and nothing else.

use serde_json::{Value, json};

use super::shared::published;
use crate::support::chart::{charted, container, pod as pod_of};
use crate::support::control_plane::ControlPlane;
use crate::support::nodeclaim::node_claim;
use crate::support::nodepool::node_pool;
use crate::support::rendered::{objects, rendered};
use crate::support::wait::wait_for;
use crate::support::webhooks::named;

/// The registration of `kind` as profile observe has it.
fn registration(kind: &str) -> Value {
    objects(&rendered("observe", &[]))[&format!("{kind}  poolgate")].clone()
}

/// Stores an object, then sends what this registration asks for to a port where nothing listens, for objects whose names
/// begin with `prefix`: what poolgate would be asked is denied, everything else passes. Waits until that shows by `probe`.
fn send_to_nobody(plane: &ControlPlane, prefix: &str, mut registration: Value, probe: &Value) {
    registration["metadata"]["name"] = json!(format!("{prefix}registration"));
    for webhook in registration["webhooks"].as_array_mut().expect("webhooks") {
        webhook["clientConfig"] = json!({"url": "https://127.0.0.1:1/"});
        let conditions = webhook["matchConditions"].as_array_mut();
        conditions.expect("conditions").push(named(prefix));
    }
    plane
        .kubectl(&["create", "-f", "-"], &registration.to_string())
        .success();
    wait_for("the registration to take effect", || {
        is_asked(plane, &DRY, probe).then_some(())
    });
}

/// The shared control plane with this pool, and the registration of `kind`, sent to a port where nothing listens, for names that begin
/// with `prefix`.
fn deaf(kind: &str, prefix: &str, stored: &Value) -> &'static ControlPlane {
    let plane = &published().plane;
    plane
        .kubectl(&["create", "-f", "-"], &stored.to_string())
        .success();
    let mut registration = registration(kind);
    registration["webhooks"][0]["failurePolicy"] = json!("Fail");
    send_to_nobody(plane, prefix, registration, &pool(&format!("{prefix}probe")));
    plane
}

fn pool(name: &str) -> Value {
    let mut pool = node_pool(name, &json!({"limits": {"cpu": "10"}}));
    pool["metadata"]["annotations"] = json!({"poolgate.dev/node-limit-mode": "Soft", "team": "blue"});
    pool
}

/// Whether poolgate was asked about a request. Any other failure is the test's own.
#[track_caller]
fn is_asked(plane: &ControlPlane, args: &[&str], object: &Value) -> bool {
    let answer = plane.kubectl(args, &object.to_string());
    let asked = answer.stderr.contains("failed calling webhook");
    assert!(asked || answer.status.success(), "{args:?}: {answer:?}");
    asked
}

#[test]
fn the_network_policy_applies_once_it_says_where_the_api_servers_are() {
    let plane = &published().plane;
    let policy = |source: &str| {
        let source = format!("--set=networkPolicy.enabled=true,networkPolicy.from[0].ipBlock.cidr={source}");
        let mut policy = charted(&[&source])["NetworkPolicy poolgate-system poolgate"].clone();
        policy["metadata"]["namespace"] = json!("default");
        plane.kubectl(&["apply", "-f", "-"], &policy.to_string())
    };
    let rejected = policy("where-the-api-servers-are");
    assert!(rejected.stderr.contains("ipBlock"), "{rejected:?}");
    policy("10.0.0.0/28").success();
}

#[test]
fn each_rendered_profile_applies_and_applies_again() {
    let plane = ControlPlane::start();
    let strict = ["--set=gateStrict.pools={licensed}"];
    for (profile, values) in [
        ("observe", &[][..]),
        ("enforce", &[]),
        ("gate", &[]),
        ("gate-strict", &strict),
    ] {
        let file = rendered(profile, values);
        plane.kubectl(&["apply", "-f", "-"], &file).success();
        let server_side = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        plane.kubectl(&server_side, &file).success();
        let diff = plane.kubectl(&["diff", "-f", "-"], &file);
        assert_eq!(diff.status.code(), Some(0), "{profile}: {diff:?}");
    }
    let rendered = objects(&rendered("gate", &[]));
    let args = container(&rendered, "poolgate-gate")["args"].to_string();
    assert!(args.starts_with("[\"gate\","), "{args}");
    assert_eq!(
        pod_of(&rendered, "poolgate-gate")["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"][0]["matchExpressions"][0],
        json!({"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}),
        "a cold cluster must be able to start"
    );
}

#[test]
fn poolgate_is_asked_about_what_it_checks_and_about_nothing_else() {
    for (kind, prefix) in [
        ("MutatingWebhookConfiguration", "mutated-"),
        ("ValidatingWebhookConfiguration", "validated-"),
    ] {
        let name = &format!("{prefix}pool");
        let plane = deaf(kind, prefix, &pool(name));
        let patch = |patch: Value| {
            let patch = patch.to_string();
            let args = [
                "patch",
                "nodepool",
                name,
                "--dry-run=server",
                "--type=merge",
                "-p",
                &patch,
            ];
            is_asked(plane, &args, &Value::Null)
        };
        let mode = |mode: Value| json!({"metadata": {"annotations": {"poolgate.dev/node-limit-mode": mode}}});

        assert!(
            patch(json!({"spec": {"limits": {"cpu": "20"}}})),
            "{kind}: a limit"
        );
        assert!(patch(json!({"spec": {"limits": null}})), "{kind}: limits removed");
        assert!(
            patch(json!({"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}})),
            "{kind}: a budget"
        );
        assert!(patch(mode(json!("Hard"))), "{kind}: another mode");
        assert!(patch(mode(Value::Null)), "{kind}: the mode removed");
        let limit = json!({"metadata": {"annotations": {"poolgate.dev/node-limit": "5"}}});
        assert!(patch(limit), "{kind}: a limit in the annotation");
        let misspelt = json!({"metadata": {"annotations": {"poolgate.dev/node-limits": "5"}}});
        assert!(patch(misspelt), "{kind}: a limit in a misspelt annotation");
        assert!(
            patch(json!({"metadata": {"annotations": null}})),
            "{kind}: all annotations removed"
        );

        assert!(!patch(mode(json!("Soft"))), "{kind}: the same mode");
        assert!(
            !patch(json!({"metadata": {"labels": {"team": "blue"}}})),
            "{kind}: a label"
        );
        let hash = json!({"metadata": {"annotations": {"karpenter.sh/nodepool-hash": "1"}}});
        assert!(!patch(hash), "{kind}: Karpenter's hash");
        assert!(
            !patch(json!({"metadata": {"finalizers": ["example.com/wait"]}})),
            "{kind}: a finalizer"
        );
        let status = [
            "patch",
            "nodepool",
            name,
            "--dry-run=server",
            "--type=merge",
            "--subresource=status",
        ];
        let status = [&status[..], &["-p", r#"{"status":{"resources":{"cpu":"1"}}}"#]].concat();
        assert!(!is_asked(plane, &status, &Value::Null), "{kind}: the status");
        assert!(
            !is_asked(
                plane,
                &["delete", "nodepool", name, "--dry-run=server"],
                &Value::Null
            ),
            "{kind}: deletion"
        );
    }
}

#[test]
fn a_static_pool_is_not_scaled_without_a_verdict() {
    let mut fixed = pool("fixed-pool");
    fixed["spec"]["replicas"] = json!(2);
    fixed["spec"]["limits"] = json!({"nodes": "5"});
    let plane = deaf("ValidatingWebhookConfiguration", "fixed-", &fixed);
    let scale = ["scale", "nodepool", "fixed-pool", "--replicas=3"];
    assert!(is_asked(plane, &scale, &Value::Null));
}

#[test]
fn a_pool_that_is_being_deleted_can_go_while_no_webhook_answers() {
    let plane = deaf(
        "ValidatingWebhookConfiguration",
        "leaving-",
        &pool("leaving-pool"),
    );
    let patch = |patch: &str| {
        let args = ["patch", "nodepool", "leaving-pool", "--type=merge", "-p", patch];
        is_asked(plane, &args, &Value::Null)
    };
    assert!(!patch(r#"{"metadata":{"finalizers":["example.com/wait"]}}"#));
    plane
        .kubectl(&["delete", "nodepool", "leaving-pool", "--wait=false"], "")
        .success();
    assert!(!patch(r#"{"spec":{"limits":{"cpu":"20"}}}"#));
    assert!(!patch(r#"{"metadata":{"finalizers":null}}"#));
    let left = [
        "get",
        "nodepool",
        "leaving-pool",
        "--ignore-not-found",
        "-o",
        "name",
    ];
    assert_eq!(plane.kubectl(&left, "").success(), "");
}

#[test]
fn both_registrations_have_the_same_conditions_and_the_image_is_this_version() {
    let conditions = |kind| registration(kind)["webhooks"][0]["matchConditions"].clone();
    let [mutating, validating] =
        ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"].map(conditions);
    assert_eq!(mutating, validating);
    assert!(mutating.to_string().contains("poolgate.dev/"));
    let rendered = rendered("observe", &[]);
    assert!(
        rendered.contains(concat!("image: poolgate:", env!("CARGO_PKG_VERSION"))),
        "{rendered}"
    );
}

#[test]
fn neither_registration_asks_about_an_exempt_pool() {
    let plane = &published().plane;
    for (kind, prefix) in [
        ("MutatingWebhookConfiguration", "unmutated-"),
        ("ValidatingWebhookConfiguration", "unvalidated-"),
    ] {
        let exempt = format!("{prefix}system");
        let exempt_pools = format!("--set=exemptPools={{{exempt}}}");
        let mut registration =
            charted(&["--set=profile=enforce", &exempt_pools])[&format!("{kind}  poolgate")].clone();
        registration["webhooks"][0]["failurePolicy"] = json!("Fail");
        send_to_nobody(plane, prefix, registration, &pool(&format!("{prefix}probe")));
        let create = ["create", "-f", "-"];
        assert!(!is_asked(plane, &create, &pool(&exempt)), "{kind}");
        let patch = r#"{"spec":{"limits":{"cpu":"20"}}}"#;
        let change = ["patch", "nodepool", &exempt, "--type=merge", "-p", patch];
        assert!(!is_asked(plane, &change, &Value::Null), "{kind}");
        assert!(is_asked(plane, &create, &pool(&format!("{exempt}-2"))), "{kind}");
    }
}

/// A NodeClaim of a pool, or of none.
fn claim(name: &str, pool: &str) -> Value {
    let mut claim = node_claim(name, pool);
    if pool.is_empty() {
        claim["metadata"]["labels"] = Value::Null;
    }
    claim
}

const DRY: [&str; 4] = ["create", "--dry-run=server", "-f", "-"];

/// The registration of the gate with these strict pools, or of profile gate without.
fn gate_registration(strict: &str) -> Value {
    let objects = if strict.is_empty() {
        charted(&["--set=profile=gate"])
    } else {
        let pools = format!("--set=gateStrict.pools={{{strict}}}");
        charted(&["--set=profile=gate-strict", &pools])
    };
    objects["ValidatingWebhookConfiguration  poolgate-gate"].clone()
}

/// Stores a claim of a pool, `…early`; then sends what this registration asks for to a port where nothing listens.
fn deaf_gate(prefix: &str, registration: Value, asked_pool: &str) -> &'static ControlPlane {
    let plane = &published().plane;
    let stored = claim(&format!("{prefix}early"), "free");
    plane
        .kubectl(&["create", "-f", "-"], &stored.to_string())
        .success();
    let probe = claim(&format!("{prefix}new"), asked_pool);
    send_to_nobody(plane, prefix, registration, &probe);
    plane
}

/// Whether the gate was asked about a patch of a claim.
#[track_caller]
fn is_patch_asked(claim: &str, patch: &Value) -> bool {
    let patch = patch.to_string();
    let args = [
        "patch",
        "nodeclaim",
        claim,
        "--dry-run=server",
        "--type=merge",
        "-p",
        &patch,
    ];
    is_asked(&published().plane, &args, &Value::Null)
}

#[test]
fn a_strict_pool_makes_no_nodes_without_the_gate_and_the_others_do() {
    let strict = "licensed,default";
    // The other webhook is in the same configuration, and fails open.
    let plane = deaf_gate("strict-", gate_registration(strict), "default");
    assert!(is_asked(plane, &DRY, &claim("strict-new", "licensed")));
    assert!(!is_asked(plane, &DRY, &claim("strict-new", "free")));
    assert!(!is_asked(plane, &DRY, &claim("strict-new", "")));
    // What one of both is asked, the other is not.
    let mut others = gate_registration(strict);
    others["webhooks"][0]["failurePolicy"] = json!("Fail");
    others["webhooks"][1]["failurePolicy"] = json!("Ignore");
    let plane = deaf_gate("lenient-", others, "free");
    assert!(!is_asked(plane, &DRY, &claim("lenient-new", "licensed")));
    assert!(!is_asked(plane, &DRY, &claim("lenient-new", "default")));
}

#[test]
fn no_pool_is_strict_where_none_is_named() {
    let mut registration = gate_registration("");
    let strict = registration["webhooks"][1].clone();
    assert_eq!(strict["failurePolicy"], "Fail");
    // A third webhook shows when the configuration takes effect.
    let mut probe = registration["webhooks"][0].clone();
    probe["name"] = json!("probe.poolgate.dev");
    probe["failurePolicy"] = json!("Fail");
    probe["matchConditions"] =
        json!([{"name": "probe", "expression": "object.metadata.name == 'named-probe'"}]);
    registration["webhooks"] = json!([strict, probe]);
    let plane = &published().plane;
    send_to_nobody(plane, "named-", registration, &claim("named-probe", "free"));
    for pool in ["", "free", "licensed"] {
        assert!(!is_asked(plane, &DRY, &claim("named-new", pool)), "{pool}");
    }
}

#[test]
fn the_gate_is_asked_about_places_and_about_nothing_else() {
    let mut registration = gate_registration("");
    let webhook = &mut registration["webhooks"][0];
    assert_eq!(
        (
            &webhook["failurePolicy"],
            &webhook["sideEffects"],
            &webhook["timeoutSeconds"]
        ),
        (&json!("Ignore"), &json!("NoneOnDryRun"), &json!(3))
    );
    webhook["failurePolicy"] = json!("Fail");
    let plane = deaf_gate("gated-", registration, "free");
    assert!(
        !is_asked(plane, &DRY, &claim("gated-new", "")),
        "a claim of no pool"
    );
    let annotated = json!({"metadata": {"annotations": {"team": "blue"}}});
    assert!(!is_patch_asked("gated-early", &annotated));
    let delete = ["delete", "nodeclaim", "gated-early", "--dry-run=server"];
    assert!(!is_asked(plane, &delete, &Value::Null));
}
