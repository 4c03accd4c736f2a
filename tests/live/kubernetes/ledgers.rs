//! Where gate and reconciler write, and where they do not.

use serde_json::{Value, json};

use super::shared::published;
use crate::support::accounts::Account;
use crate::support::chart::charted;
use crate::support::client::Client;
use crate::support::wait::wait_for;

const LEDGERS: &str = "/api/v1/namespaces/poolgate-ledgers/configmaps";
const OWN: &str = "/api/v1/namespaces/poolgate-system/configmaps";

#[test]
fn who_writes_ledgers_cannot_write_the_policy() {
    let plane = &published().plane;
    let ledger = json!({"metadata": {"name": "poolgate-ledger-any"}});
    let forbidden = |result: Result<Value, kube::Error>| {
        let denied = result.expect_err("a denial").to_string();
        assert!(denied.contains("forbidden"), "{denied}");
    };
    for account in [Account::Gate, Account::Reconciler] {
        let hand = Client::by(&plane.kubeconfig_by(account));
        hand.create(&format!("{LEDGERS}?dryRun=All"), &ledger);
        forbidden(hand.try_create(OWN, &ledger));
        forbidden(hand.try_create("/api/v1/namespaces/default/configmaps", &ledger));
        forbidden(hand.try_merge(&format!("{OWN}/poolgate-policy"), &json!({"data": {}})));
        let mut policy = ledger.clone();
        policy["metadata"]["name"] = json!("poolgate-policy");
        forbidden(hand.try_replace(&format!("{OWN}/poolgate-policy"), &policy));
    }
}

/// What the fence says of a request; none if it was taken.
#[track_caller]
fn fenced(answer: Result<Value, kube::Error>) -> Option<String> {
    let denied = answer.err()?.to_string();
    assert!(
        denied.contains("ValidatingAdmissionPolicy 'poolgate-ledgers'") && denied.contains("delete it"),
        "denied for another reason: {denied}"
    );
    Some(denied)
}

#[test]
fn only_poolgate_writes_a_ledger_and_anyone_may_delete_it() {
    let plane = &published().plane;
    let [gate, reconciler] =
        [Account::Gate, Account::Reconciler].map(|account| Client::by(&plane.kubeconfig_by(account)));
    let admin = Client::of(plane);
    let path = format!("{LEDGERS}/poolgate-ledger-fenced");
    let tried = format!("{path}?dryRun=All");
    let ledger = json!({
        "metadata": {"name": "poolgate-ledger-fenced", "labels": {"poolgate.dev/ledger": "true"}},
        "data": {"nodepool": "fenced", "ledger.json": "{\"version\":1}"},
    });
    gate.create(LEDGERS, &ledger);
    let older = json!({"data": {"ledger.json": "{}"}});
    wait_for("the fence to stand", || fenced(admin.try_merge(&tried, &older)));
    for change in [
        json!({"data": {"ledger.json": null}}),
        json!({"data": {"more": ""}}),
        json!({"immutable": true}),
        json!({"metadata": {"labels": {"poolgate.dev/ledger": null}}}),
        json!({"metadata": {"labels": {"poolgate.dev/ledger": "false"}}}),
    ] {
        assert!(fenced(admin.try_merge(&tried, &change)).is_some(), "{change}");
    }
    // What a ledger says stays; garbage collection removes owners.
    let owner = json!([{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "fenced", "uid": "1"}]);
    for owners in [owner, json!(null)] {
        let change = json!({"metadata": {"ownerReferences": owners, "annotations": {"a": "b"}}});
        assert_eq!(fenced(admin.try_merge(&path, &change)), None);
    }
    for hand in [&gate, &reconciler] {
        assert_eq!(fenced(hand.try_replace(&path, &ledger)), None);
    }

    // A ledger is one by its name and by its label.
    let create = |metadata: Value| {
        let path = format!("{LEDGERS}?dryRun=All");
        fenced(admin.try_create(&path, &json!({"metadata": metadata})))
    };
    assert!(create(json!({"name": "poolgate-ledger-other"})).is_some());
    assert!(create(json!({"generateName": "poolgate-ledger-"})).is_some());
    assert!(create(json!({"name": "other", "labels": {"poolgate.dev/ledger": "true"}})).is_some());
    assert_eq!(create(json!({"name": "other"})), None);
    // An account of another namespace is not the gate's.
    for (namespace, is_denied) in [("elsewhere", true), ("poolgate-system", false)] {
        let account = format!("--as=system:serviceaccount:{namespace}:poolgate-gate");
        let create = [
            "create",
            "configmap",
            "poolgate-ledger-other",
            "--namespace=poolgate-ledgers",
        ];
        let by = [account.as_str(), "--as-group=system:masters", "--dry-run=server"];
        let said = plane.kubectl(&[&create[..], &by].concat(), "");
        assert_eq!(said.stderr.contains("delete it"), is_denied, "{said:?}");
    }

    // What is deleted cannot be written back by hand.
    let stored = admin.get(&path).expect("a ledger");
    admin.delete(&path);
    let mut back = stored.clone();
    back["metadata"] = ledger["metadata"].clone();
    assert!(fenced(admin.try_create(LEDGERS, &back)).is_some());
}

#[test]
fn the_fence_of_the_ledgers_names_the_accounts_and_the_namespace_that_are_chosen() {
    let chosen = [
        "--set=profile=gate",
        "--set=ledgers.namespace=state",
        "--set=gate.serviceAccount.name=own",
        "--set=reconciler.serviceAccount.name=other",
    ];
    let mut fenced = charted(&chosen);
    let policy = fenced["ValidatingAdmissionPolicy  poolgate-ledgers"].to_string();
    for word in [
        "{\"kubernetes.io/metadata.name\":\"state\"}",
        "'system:serviceaccount:poolgate-system:own'",
        "'system:serviceaccount:poolgate-system:other'",
    ] {
        assert!(policy.contains(word), "{word}: {policy}");
    }
    let open = charted(&[&chosen[..], &["--set=ledgers.fence=false"]].concat());
    fenced.retain(|name, _| !name.ends_with(" poolgate-ledgers") || name.starts_with("Namespace"));
    assert_eq!(fenced, open);
}

/// What lies in a namespace of this name, or is it.
fn in_namespace(values: &[&str], name: &str) -> Vec<String> {
    let all = charted(&[&["--set=profile=gate"], values].concat()).into_keys();
    all.filter(|object| {
        let words: Vec<&str> = object.split(' ').collect();
        words[1] == name || words[0] == "Namespace" && words[2] == name
    })
    .collect()
}

#[test]
fn their_namespace_has_the_name_that_is_chosen_and_is_made_where_that_is_wanted() {
    let rights = |namespace: &str| -> Vec<String> {
        [
            "Role poolgate-gate",
            "Role poolgate-reconciler",
            "Role poolgate-unhold",
            "RoleBinding poolgate-gate",
            "RoleBinding poolgate-reconciler",
            "RoleBinding poolgate-unhold",
        ]
        .map(|object| object.replace(' ', &format!(" {namespace} ")))
        .into()
    };
    let made = [vec!["Namespace  state".to_owned()], rights("state")].concat();
    assert_eq!(in_namespace(&["--set=ledgers.namespace=state"], "state"), made);
    let unmade = [
        "--set=ledgers.namespace=state",
        "--set=ledgers.createNamespace=false",
    ];
    assert_eq!(in_namespace(&unmade, "state"), rights("state"));
    // Who has but one namespace: it is there.
    let own = in_namespace(&["--set=ledgers.namespace=poolgate-system"], "poolgate-system");
    assert!(!own.contains(&"Namespace  poolgate-system".to_owned()), "{own:?}");
    for values in [&["--set=ledgers.namespace=state"][..], &unmade] {
        let all = charted(&[&["--set=profile=gate"], values].concat());
        let flags = all.values().map(Value::to_string);
        let reported: usize = flags
            .map(|object| object.matches("\"--ledger-namespace=state\"").count())
            .sum();
        assert_eq!(reported, 3, "gate, reconciler, and the Job that takes marks off");
    }
}
