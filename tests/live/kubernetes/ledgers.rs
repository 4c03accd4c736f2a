//! Where gate and reconciler write, and where they do not.

use serde_json::{Value, json};

use super::shared::published;
use crate::support::accounts::Account;
use crate::support::chart::charted;
use crate::support::client::Client;

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
            .map(|object| object.matches("\"--namespace=state\"").count())
            .sum();
        assert_eq!(reported, 3, "gate, reconciler, and the Job that takes marks off");
    }
}
