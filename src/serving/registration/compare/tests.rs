use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::serving::certs::{Authority, unix_seconds};

struct Setting {
    authority: Authority,
    serves: Vec<Serves>,
    shown: Shown,
}

impl Setting {
    fn new() -> Self {
        let now = SystemTime::now();
        let day = Duration::from_hours(24);
        let authority = Authority::create("a test's", now, 90 * day).expect("an authority");
        let names = ["poolgate.system.svc", "poolgate-gate.system.svc"]
            .map(|name| rcgen::SanType::DnsName(name.try_into().expect("a name")));
        let issued = authority.issue(&names, now, day).expect("a leaf");
        Self {
            authority,
            serves: vec![Serves::Reviews, Serves::Gate],
            shown: Shown {
                chain: vec![issued.certificate],
                now: unix_seconds(now),
            },
        }
    }

    fn webhook(&self, path: &str) -> Value {
        let (service, resource) = if path.starts_with("/gate") {
            ("poolgate-gate", "nodeclaims")
        } else {
            ("poolgate", "nodepools")
        };
        let operations = if path == DELETIONS {
            json!(["DELETE"])
        } else {
            json!(STORES)
        };
        json!({
            "name": path,
            "clientConfig": {
                "caBundle": STANDARD.encode(self.authority.pem()),
                "service": {"name": service, "namespace": "system", "path": path, "port": 443},
            },
            "rules": [{
                "apiGroups": ["karpenter.sh"],
                "apiVersions": ["v1", "v1beta1"],
                "resources": [resource],
                "operations": operations,
                "scope": "Cluster",
            }],
            "failurePolicy": if path == "/gate/strict" { "Fail" } else { "Ignore" },
        })
    }

    fn all(&self) -> Vec<Value> {
        [
            "/mutate",
            "/validate",
            "/gate",
            "/gate/strict",
            "/validate/delete",
        ]
        .iter()
        .map(|path| self.webhook(path))
        .collect()
    }

    fn compare(&self, webhooks: &[Value]) -> Comparison {
        let webhooks: Vec<Webhook> = webhooks
            .iter()
            .map(|webhook| serde_json::from_value(webhook.clone()).expect("a webhook"))
            .collect();
        compare(&webhooks, &self.serves, Some(&self.shown))
    }
}

#[test]
fn a_registration_as_shipped_is_reported_as_right() {
    let setting = Setting::new();
    let comparison = setting.compare(&setting.all());
    assert_eq!(comparison.problems, []);
    let paths = comparison
        .registered
        .iter()
        .map(|one| (one.path.as_str(), one.failure_policy.as_str()));
    assert_eq!(
        paths.collect::<Vec<_>>(),
        [
            ("/mutate", "Ignore"),
            ("/validate", "Ignore"),
            ("/gate", "Ignore"),
            ("/gate/strict", "Fail"),
            ("/validate/delete", "Ignore")
        ]
    );
}

#[test]
fn each_mistake_is_found_where_it_is() {
    let setting = Setting::new();
    let foreign =
        Authority::create("another", SystemTime::now(), Duration::from_hours(24)).expect("an authority");
    let both = STANDARD.encode(foreign.pem() + &setting.authority.pem());
    for (pointer, value, expected) in [
        ("/clientConfig/caBundle", Value::Null, Some(Problem::NoCaBundle)),
        ("/clientConfig/caBundle", json!(""), Some(Problem::NoCaBundle)),
        (
            "/clientConfig/caBundle",
            json!(STANDARD.encode(foreign.pem())),
            Some(Problem::Untrusted),
        ),
        ("/clientConfig/caBundle", json!(both), None),
        (
            "/clientConfig/service/name",
            json!("other"),
            Some(Problem::Untrusted),
        ),
        ("/clientConfig/service/path", json!("/gates"), Some(Problem::Path)),
        ("/rules/0/operations", json!(["UPDATE"]), Some(Problem::Rules)),
        ("/rules/0/operations", json!(["*"]), None),
        (
            "/rules/0/resources",
            json!(["nodepools/status"]),
            Some(Problem::Rules),
        ),
        ("/rules/0/apiVersions", json!(["v1beta1"]), Some(Problem::Rules)),
        ("/failurePolicy", json!("Ignore"), Some(Problem::FailurePolicy)),
    ] {
        let mut webhooks = setting.all();
        *webhooks[3].pointer_mut(pointer).expect(pointer) = value.clone();
        let problems = setting.compare(&webhooks).problems;
        let found: Vec<Problem> = problems.iter().map(|(problem, _)| *problem).collect();
        assert_eq!(found, Vec::from_iter(expected), "{pointer} {value}: {problems:?}");
        assert!(
            problems
                .iter()
                .all(|(_, text)| text.starts_with("/gate/strict: "))
        );
    }
}

#[test]
fn a_webhook_that_was_installed_to_fail_closed_is_reported_while_it_fails_open() {
    let setting = Setting::new();
    for (policy, is_to_fail_closed, expected) in [
        ("Ignore", true, 1),
        ("Fail", true, 0),
        ("Ignore", false, 0),
        ("Fail", false, 0),
    ] {
        let mut webhooks: Vec<Webhook> = setting
            .all()
            .into_iter()
            .map(|webhook| serde_json::from_value(webhook).expect("a webhook"))
            .collect();
        let review = &mut webhooks[1];
        review.failure_policy = policy.to_owned();
        review.is_to_fail_closed = is_to_fail_closed;
        let problems = compare(&webhooks, &setting.serves, Some(&setting.shown)).problems;
        let of_policy = problems
            .iter()
            .filter(|(problem, _)| *problem == Problem::FailurePolicy);
        assert_eq!(
            of_policy.count(),
            expected,
            "{policy} {is_to_fail_closed}: {problems:?}"
        );
    }
}

#[test]
fn a_path_at_which_nobody_asks_is_reported() {
    let mut setting = Setting::new();
    let all = setting.all();
    let missing = |setting: &Setting, webhooks: &[Value]| -> Vec<String> {
        let problems = setting.compare(webhooks).problems.into_iter();
        problems
            .map(|(problem, text)| {
                assert_eq!(problem, Problem::NotRegistered);
                text.split(' ').nth(3).expect("a path").to_owned()
            })
            .collect()
    };
    assert_eq!(missing(&setting, &[]), ["/mutate,", "/validate,", "/gate,"]);
    assert_eq!(missing(&setting, &all[..2]), ["/gate,"]);
    assert_eq!(
        missing(&setting, &[&all[..2], &all[3..4]].concat()),
        [""; 0],
        "all are strict"
    );
    setting.serves = vec![Serves::Reviews];
    assert_eq!(missing(&setting, &all[..1]), ["/validate,"]);
    setting.serves = vec![Serves::Gate];
    assert_eq!(missing(&setting, &all[2..3]), [""; 0]);
}

#[test]
fn a_webhook_with_a_url_is_checked_by_its_host() {
    let setting = Setting::new();
    let mut webhooks = setting.all();
    let host_and_path = |host: &str| json!({"url": format!("https://{host}/mutate"), "caBundle": STANDARD.encode(setting.authority.pem())});
    webhooks[0]["clientConfig"] = host_and_path("poolgate.system.svc:443");
    assert_eq!(setting.compare(&webhooks).problems, []);
    for other in ["127.0.0.1:8443", "[::1]:8443", "example.com"] {
        webhooks[0]["clientConfig"] = host_and_path(other);
        let problems = setting.compare(&webhooks).problems;
        assert!(
            matches!(problems[..], [(Problem::Untrusted, _)]),
            "{other}: {problems:?}"
        );
    }
}
