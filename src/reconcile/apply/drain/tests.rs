use std::convert::Infallible;

use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::cluster::Leadership;
use crate::cluster::clock::Clock;
use crate::reconcile::metrics::ReconcileMetrics;
use crate::runtime::telemetry::{LogOnce, Registry};

/// The writer of a replica whose API server has these pods on the node `a`, and these budgets; each page has one object.
fn writer(pods: Vec<Value>, budgets: Vec<Value>) -> Writer {
    let server = service_fn(move |request: Request<Body>| {
        let uri = request.uri();
        let query = uri.query().unwrap_or_default();
        let (kind, objects) = match uri.path() {
            PODS => {
                let unfinished = "spec.nodeName%3Da%2Cstatus.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
                assert!(query.contains(unfinished), "{query}");
                ("PodList", &pods)
            }
            POD_DISRUPTION_BUDGETS => ("PodDisruptionBudgetList", &budgets),
            path => panic!("{path}"),
        };
        let token = query.split('&').find_map(|part| part.strip_prefix("continue="));
        let page: usize = token.map_or(0, |token| token.parse().expect("a number"));
        let next = (page + 1 < objects.len()).then(|| (page + 1).to_string());
        let list = json!({
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"continue": next.unwrap_or_default()},
            "items": objects.get(page).into_iter().collect::<Vec<_>>(),
        });
        let answer = Response::new(Body::from(list.to_string().into_bytes()));
        async { Ok::<_, Infallible>(answer) }
    });
    Writer {
        client: Client::new(server, "default"),
        leadership: Leadership::always(),
        metrics: ReconcileMetrics::register(&mut Registry::default()),
        clock: Clock::start(),
        observe: false,
        unheld: LogOnce::default(),
    }
}

fn pod(name: &str, app: &str) -> Value {
    let controller = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "controller": true});
    json!({
        "metadata": {
            "namespace": "shop",
            "name": name,
            "labels": {"app": app},
            "ownerReferences": [controller],
        },
        "spec": {"nodeName": "a"},
        "status": {"phase": "Running", "startTime": "2026-01-05T11:00:00Z"},
    })
}

fn budget(name: &str, selector: &Value, allowed: u32) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": name, "generation": 1},
        "spec": {"selector": selector, "maxUnavailable": "10%"},
        "status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 9},
    })
}

/// The obstacle at noon.
async fn obstacle(pods: Vec<Value>, budgets: Vec<Value>) -> Option<String> {
    let noon = "2026-01-05T12:00:00Z".parse().expect("a time");
    let found = writer(pods, budgets).drain_obstacle("a", noon).await;
    found.expect("answers").map(|obstacle| obstacle.to_string())
}

#[tokio::test]
async fn every_page_of_pods_and_budgets_is_read() {
    let pods = || vec![pod("a", "cart"), pod("b", "mail"), pod("c", "cart")];
    let of = |app: &str| json!({"matchLabels": {"app": app}});
    let budgets = |carts| vec![budget("mail", &of("mail"), 1), budget("cart", &of("cart"), carts)];
    assert_eq!(obstacle(pods(), budgets(2)).await, None);
    let expected =
        "PodDisruptionBudget shop/cart selects 2 of the node's pods but allows 1 evictions".to_owned();
    assert_eq!(obstacle(pods(), budgets(1)).await, Some(expected));
    assert_eq!(obstacle(vec![], vec![]).await, None);
}

#[tokio::test]
async fn selectors_mean_what_they_mean_to_the_api_server() {
    let expression = |operator: &str, values: &Value| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    for (selector, covers) in [
        (json!(null), false),
        (json!({}), true),
        (json!({"matchLabels": {"app": "cart"}}), true),
        (json!({"matchLabels": {"app": "cart", "tier": "web"}}), false),
        (expression("In", &json!(["mail", "cart"])), true),
        (expression("NotIn", &json!(["cart"])), false),
        (expression("Exists", &json!(null)), true),
        (expression("DoesNotExist", &json!([])), false),
        // A later version of the API may have more of them.
        (expression("Like", &json!(["mail"])), true),
    ] {
        let found = obstacle(vec![pod("a", "cart")], vec![budget("b", &selector, 0)]).await;
        assert_eq!(found.is_some(), covers, "{selector}");
    }
}

#[tokio::test]
async fn budgets_without_a_status_of_their_spec_allow_nothing() {
    let mut new = budget("new", &json!({}), 1);
    new["status"] = json!({});
    let found = obstacle(vec![pod("a", "cart")], vec![new]).await;
    let expected = "the status of PodDisruptionBudget shop/new is not up to date yet";
    assert_eq!(found.as_deref(), Some(expected));
}

#[tokio::test]
async fn a_pod_that_is_not_ready_goes_if_its_budget_lets_it() {
    let mut unready = pod("a", "cart");
    unready["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
    for (policy, is_obstacle) in [("IfHealthyBudget", true), ("AlwaysAllow", false)] {
        let mut tight = budget("tight", &json!({}), 0);
        tight["spec"]["unhealthyPodEvictionPolicy"] = json!(policy);
        for (pod, is_obstacle) in [(unready.clone(), is_obstacle), (pod("a", "cart"), true)] {
            let found = obstacle(vec![pod], vec![tight.clone()]).await;
            assert_eq!(found.is_some(), is_obstacle, "{policy}");
        }
    }
}

#[tokio::test]
async fn pods_are_read_with_their_owners_and_annotations() {
    let bare = Some("no controller owns pod shop/a, so nothing would start it on another node");
    let wished = Some("pod shop/a has the annotation karpenter.sh/do-not-disrupt");
    let tight = Some("PodDisruptionBudget shop/none selects 1 of the node's pods but allows 0 evictions");
    let annotated = |value: &str| json!({"karpenter.sh/do-not-disrupt": value});
    for (field, value, expected) in [
        ("ownerReferences", json!(null), bare),
        (
            "ownerReferences",
            json!([{"kind": "ReplicaSet", "controller": false}]),
            bare,
        ),
        ("annotations", annotated("true"), wished),
        ("annotations", annotated("2h"), wished),
        ("annotations", annotated("30m"), tight),
        ("deletionTimestamp", json!("2026-01-05T12:00:00Z"), None),
    ] {
        let mut pod = pod("a", "cart");
        pod["metadata"][field] = value;
        let found = obstacle(vec![pod], vec![budget("none", &json!({}), 0)]).await;
        assert_eq!(found.as_deref(), expected, "{field}");
    }
}

#[tokio::test]
async fn no_more_is_read_than_the_result_depends_on() {
    let unreadable = || json!("unreadable");
    let mut pods: Vec<_> = (0..=MOST_PODS_ON_NODE).map(|_| pod("a", "cart")).collect();
    pods.push(unreadable());
    let expected = format!("more than {MOST_PODS_ON_NODE} pods are bound to the node");
    assert_eq!(obstacle(pods, vec![unreadable()]).await, Some(expected));
    let budgets = vec![
        budget("a", &json!({}), 1),
        budget("b", &json!({}), 1),
        unreadable(),
    ];
    let expected = "PodDisruptionBudgets shop/a and shop/b both select pod shop/a, so it cannot be evicted";
    assert_eq!(
        obstacle(vec![pod("a", "cart")], budgets).await.as_deref(),
        Some(expected)
    );
}
