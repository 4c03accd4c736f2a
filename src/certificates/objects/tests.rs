use std::time::{Duration, SystemTime};

use super::*;

const DAY: Duration = Duration::from_hours(24);

fn secret(data: &[(&str, &str)]) -> Secret {
    let data: BTreeMap<_, _> = data
        .iter()
        .map(|(key, text)| (*key, STANDARD.encode(text)))
        .collect();
    let object = json!({"metadata": {"resourceVersion": "7"}, "data": data});
    serde_json::from_value(object).expect("a Secret")
}

/// What a patch makes of a Secret.
fn patched(secret: &Secret, patch: &Value) -> Secret {
    assert_eq!(patch["metadata"]["resourceVersion"], "7", "guarded");
    let mut data = secret.data.clone().unwrap_or_default();
    for (key, value) in patch["data"].as_object().expect("data") {
        match value.as_str() {
            Some(text) => drop(data.insert(key.clone(), text.to_owned())),
            None => drop(data.remove(key)),
        }
    }
    Secret {
        metadata: secret.metadata.clone(),
        data: Some(data),
    }
}

fn configuration(bundles: &[Option<&str>]) -> WebhookConfiguration {
    let webhooks = bundles.iter().enumerate().map(|(number, bundle)| {
        json!({"name": format!("webhook-{number}"), "clientConfig": {"caBundle": bundle}, "sideEffects": "None"})
    });
    let webhooks: Vec<_> = webhooks.collect();
    let object = json!({"metadata": {"name": "poolgate", "resourceVersion": "7"}, "webhooks": webhooks});
    serde_json::from_value(object).expect("a configuration")
}

fn authority() -> Authority {
    Authority::create("a test's", SystemTime::now(), 90 * DAY).expect("an authority")
}

fn names(more: &[&str]) -> Names {
    let more: Vec<_> = more.iter().map(|&name| name.to_owned()).collect();
    Names::new("system", &more).expect("names")
}

fn found(authority: Secret, leaf: Secret) -> ReadObjects {
    ReadObjects {
        configurations: Vec::new(),
        leaf,
        authority,
    }
}

#[test]
fn what_is_stored_is_understood_again() {
    let (authority, names) = (authority(), names(&["127.0.0.1"]));
    let empty = secret(&[]);
    let nothing = found(empty.clone(), empty.clone()).interpret(&names);
    assert!(nothing.seen.authority.is_none() && nothing.seen.leaf.is_none() && nothing.authority.is_err());

    let (old, older) = (self::authority(), self::authority());
    let previous = [old.certificate().clone(), older.certificate().clone()];
    let stored = patched(&empty, &empty.with_authority(&authority, &previous));
    let issued = authority
        .issue(&names.signed, SystemTime::now(), 30 * DAY)
        .expect("a leaf");
    let leaf = patched(&empty, &empty.with_leaf(&issued, &authority));
    let both = found(stored.clone(), leaf.clone()).interpret(&names);
    assert_eq!(both.seen.previous, previous);
    assert_eq!(
        both.seen
            .authority
            .map(|authority| authority.certificate)
            .as_ref(),
        Some(authority.certificate())
    );
    assert_eq!(
        both.seen.leaf.map(|leaf| leaf.certificate),
        Some(issued.certificate)
    );
    let alone = patched(&stored, &stored.without_previous());
    assert_eq!(found(alone, leaf).interpret(&names).seen.previous, Vec::new());
}

#[test]
fn a_leaf_that_no_api_server_would_accept_does_not_count() {
    let (authority, other) = (authority(), authority());
    let (empty, all) = (secret(&[]), names(&["10.0.0.1"]));
    let stored = patched(&empty, &empty.with_authority(&authority, &[]));
    let fault = |leaf: &Secret| {
        let meaning = found(stored.clone(), leaf.clone()).interpret(&all);
        assert!(meaning.seen.leaf.is_none());
        meaning.leaf_fault.expect("a fault").to_string()
    };
    let issue = |by: &Authority, names: &Names| {
        let issued = by
            .issue(&names.signed, SystemTime::now(), 30 * DAY)
            .expect("a leaf");
        patched(&empty, &empty.with_leaf(&issued, by))
    };
    let good = issue(&authority, &all);
    assert!(
        found(stored.clone(), good.clone())
            .interpret(&all)
            .leaf_fault
            .is_none()
    );
    assert_eq!(fault(&empty), "there was no serving certificate");
    let foreign = fault(&issue(&other, &all));
    assert!(
        foreign.starts_with("the CA did not sign the certificate"),
        "{foreign}"
    );
    let lacks = fault(&issue(&authority, &names(&[])));
    assert!(
        lacks.starts_with("the CA did not sign the certificate, or the certificate lacks a name"),
        "{lacks}"
    );
    let mut torn = good.clone();
    let key = issue(&authority, &all).data.expect("data")[LEAF_KEY].clone();
    torn.data.as_mut().expect("data").insert(LEAF_KEY.into(), key);
    assert!(fault(&torn).contains("cannot be used together"));
}

#[test]
fn an_authority_without_its_key_is_one_of_those_before() {
    let authority = authority();
    let broken = secret(&[("ca.crt", &authority.pem()), ("ca.key", "no key")]);
    let meaning = found(broken, secret(&[])).interpret(&names(&[]));
    assert!(meaning.seen.authority.is_none());
    assert_eq!(meaning.seen.previous, [authority.certificate().clone()]);
}

#[test]
fn the_authority_of_a_leaf_of_somebody_else_is_one_of_those_before() {
    let (authority, other, names, empty) = (authority(), authority(), names(&[]), secret(&[]));
    let issued = other
        .issue(&names.signed, SystemTime::now(), DAY)
        .expect("a leaf");
    let leaf = patched(&empty, &empty.with_leaf(&issued, &other));
    let stored = patched(&empty, &empty.with_authority(&authority, &[]));
    let meaning = found(stored, leaf).interpret(&names);
    assert_eq!(meaning.seen.previous, [other.certificate().clone()]);
}

#[test]
fn a_patch_names_every_webhook_and_nothing_but_its_bundle() {
    let (one, other) = (authority(), authority());
    let wanted = [one.certificate().clone(), other.certificate().clone()];
    let patch = trusting(&configuration(&[None, Some("")]), &wanted).expect("a patch");
    assert_eq!(patch["metadata"], json!({"resourceVersion": "7"}));
    let bundle = STANDARD.encode(one.pem() + &other.pem());
    let webhook = |number| json!({"name": format!("webhook-{number}"), "clientConfig": {"caBundle": bundle}});
    assert_eq!(patch["webhooks"], json!([webhook(0), webhook(1)]));

    let turned = STANDARD.encode(other.pem() + &one.pem());
    assert_eq!(
        trusting(&configuration(&[Some(&bundle), Some(&turned)]), &wanted),
        None
    );
    for wrong in [
        "no base64",
        &STANDARD.encode(one.pem()),
        &STANDARD.encode("no PEM"),
    ] {
        let patch = trusting(&configuration(&[Some(&bundle), Some(wrong)]), &wanted);
        assert!(patch.is_some(), "{wrong}");
    }
}

#[test]
fn a_name_that_no_certificate_can_have_is_rejected() {
    let rejected = |name: &str| Names::new("system", &[name.to_owned()]).err();
    assert!(rejected("a b").is_some_and(|error| error.to_string().contains("a b")));
    assert!(rejected("a.example").is_none() && rejected("::1").is_none());
}
