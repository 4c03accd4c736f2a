//! What keeps a node from being drained, compared with draining it.

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::super::*;
use super::world::{self, minutes, noon};
use crate::facts::Operator;
use crate::pods::*;

type Labels = BTreeMap<String, String>;

fn name(namespace: &str, name: &str) -> NamespacedName {
    NamespacedName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn labels(labels: &[(&str, &str)]) -> Labels {
    let labels = labels.iter();
    labels
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

/// A pod of a `Deployment`.
fn pod(pod: &str) -> PodOnNode {
    PodOnNode {
        name: pod.into(),
        pod: Arc::new(Pod {
            namespace: "shop".into(),
            labels: labels(&[("app", "cart")]),
            ..world::pod("1")
        }),
    }
}

fn kept(pod: &mut PodOnNode) -> &mut Pod {
    Arc::make_mut(&mut pod.pod)
}

fn daemon() -> PodOnNode {
    let mut pod = pod("daemon");
    kept(&mut pod).is_daemon = true;
    pod
}

fn everywhere(mut pod: PodOnNode) -> PodOnNode {
    Arc::make_mut(&mut kept(&mut pod).needs).tolerations = vec![Toleration {
        key: None,
        value: Tolerated::Any,
        effect: None,
    }];
    pod
}

fn requirement(key: &str, operator: Operator, values: &[&str]) -> LabelRequirement {
    LabelRequirement {
        key: key.to_owned(),
        operator,
        values: values.iter().map(ToString::to_string).collect(),
    }
}

/// A budget of all pods of the namespace.
fn budget(budget: &str, disruptions_allowed: i64) -> PodDisruptionBudget {
    PodDisruptionBudget {
        name: name("shop", budget),
        selector: Some(Vec::new()),
        generation: 1,
        observed_generation: 1,
        disruptions_allowed,
        current_healthy: 1,
        desired_healthy: 1,
        lets_unready_go: false,
    }
}

#[track_caller]
fn assert_obstacle(pods: &[PodOnNode], budgets: &[PodDisruptionBudget], expected: Option<&str>) {
    let found = DrainObstacle::find(pods, budgets, noon()).map(|obstacle| obstacle.to_string());
    assert_eq!(found.as_deref(), expected, "{pods:#?} {budgets:#?}");
}

#[test]
fn a_bare_pod_that_runs_is_an_obstacle() {
    let mut bare = pod("debug");
    kept(&mut bare).is_bare = true;
    let expected = "no controller owns pod shop/debug, so nothing would start it on another node";
    assert_obstacle(&[pod("a"), bare.clone()], &[], Some(expected));
    assert_obstacle(&[everywhere(bare.clone())], &[], Some(expected));
    for ends in [
        |pod: &mut Pod| pod.is_terminal = true,
        |pod: &mut Pod| (pod.is_leaving, pod.deleted) = (true, Some(noon())),
        |pod: &mut Pod| pod.is_mirror = true,
    ] {
        let mut pod = bare.clone();
        ends(kept(&mut pod));
        assert_obstacle(&[pod], &[], None);
    }
}

#[test]
fn do_not_disrupt_is_an_obstacle_for_as_long_as_it_lasts() {
    let with = |wish, started| {
        let mut pod = pod("a");
        kept(&mut pod).do_not_disrupt = Some(wish);
        kept(&mut pod).started = started;
        pod
    };
    let expected = "pod shop/a has the annotation karpenter.sh/do-not-disrupt";
    let of_an_hour = DoNotDisrupt::For(SignedDuration::from_hours(1));
    for (pod, is_obstacle) in [
        (with(DoNotDisrupt::Always, None), true),
        (with(of_an_hour, None), true),
        (with(of_an_hour, Some(noon() - minutes(59))), true),
        (with(of_an_hour, Some(noon() - minutes(60))), false),
    ] {
        assert_obstacle(slice::from_ref(&pod), &[], is_obstacle.then_some(expected));
        // As in Karpenter.
        let mut of_daemon_set = everywhere(pod.clone());
        kept(&mut of_daemon_set).is_daemon = true;
        assert_obstacle(&[of_daemon_set], &[], is_obstacle.then_some(expected));
        let mut is_done = pod;
        kept(&mut is_done).is_terminal = true;
        assert_obstacle(&[is_done], &[], None);
    }
}

#[test]
fn a_budget_must_allow_all_of_its_pods_that_a_drain_evicts() {
    let tight = |allowed, pods| {
        Some(format!(
            "PodDisruptionBudget shop/cart selects {pods} of the node's pods but allows {allowed} evictions"
        ))
    };
    let mut mirror = pod("mirror");
    kept(&mut mirror).is_mirror = true;
    let mut leaving = pod("leaving");
    kept(&mut leaving).deleted = Some(noon());
    let mut elsewhere = pod("b");
    kept(&mut elsewhere).namespace = "other".into();
    for (pods, allowed, expected) in [
        (vec![pod("a"), pod("b")], 2, None),
        (vec![pod("a"), pod("b")], 1, tight(1, 2)),
        (vec![pod("a")], 0, tight(0, 1)),
        (vec![pod("a")], -1, tight(0, 1)),
        (vec![], 0, None),
        (vec![mirror, leaving, elsewhere], 0, None),
        (vec![everywhere(daemon())], 0, None),
        (vec![daemon()], 0, tight(0, 1)),
        (vec![everywhere(pod("a"))], 0, tight(0, 1)),
    ] {
        assert_obstacle(&pods, &[budget("cart", allowed)], expected.as_deref());
    }
}

#[test]
fn a_budget_whose_status_is_older_than_its_spec_allows_nothing() {
    let mut changed = budget("cart", 9);
    changed.generation = 2;
    let expected = "the status of PodDisruptionBudget shop/cart is not up to date yet";
    assert_obstacle(&[pod("a")], slice::from_ref(&changed), Some(expected));
    assert_obstacle(&[], slice::from_ref(&changed), None);
    changed.observed_generation = 2;
    assert_obstacle(&[pod("a")], &[changed], None);
}

#[test]
fn a_pod_that_is_not_ready_needs_no_eviction_of_a_budget_that_lets_such_pods_go() {
    let mut unready = pod("a");
    kept(&mut unready).is_unready = true;
    let tight = Some("PodDisruptionBudget shop/cart selects 1 of the node's pods but allows 0 evictions");
    let mut cart = budget("cart", 0);
    assert_obstacle(slice::from_ref(&unready), slice::from_ref(&cart), tight);
    cart.lets_unready_go = true;
    assert_obstacle(slice::from_ref(&unready), slice::from_ref(&cart), None);
    assert_obstacle(&[pod("b"), unready.clone()], slice::from_ref(&cart), tight);
    cart.generation = 2;
    assert_obstacle(slice::from_ref(&unready), slice::from_ref(&cart), None);
    let two = "PodDisruptionBudgets shop/cart and shop/z both select pod shop/a, so it cannot be evicted";
    assert_obstacle(&[unready], &[cart, budget("z", 9)], Some(two));
}

#[test]
fn a_pod_with_two_budgets_cannot_be_evicted() {
    let budgets = [budget("z", 9), budget("b", 9), budget("c", 9)];
    let expected = "PodDisruptionBudgets shop/b and shop/c both select pod shop/a, so it cannot be evicted";
    assert_obstacle(&[pod("a")], &budgets, Some(expected));
}

#[test]
fn more_pods_than_are_looked_at_are_an_obstacle() {
    let pods = vec![pod("a"); MOST_PODS_ON_NODE];
    assert_obstacle(&pods, &[], None);
    let pods = vec![pod("a"); MOST_PODS_ON_NODE + 1];
    assert_obstacle(&pods, &[], Some("more than 2000 pods are bound to the node"));
}

type Selects = fn(Option<&str>, Option<&str>) -> bool;

/// Selectors, and by which `app` and `tier` each selects.
fn selectors() -> [(Option<Vec<LabelRequirement>>, Selects); 10] {
    use Operator::{DoesNotExist, Exists, Gt, In, NotIn};
    let of = |requirements: &[LabelRequirement]| Some(requirements.to_vec());
    [
        (None, |_, _| false),
        (of(&[]), |_, _| true),
        (of(&[requirement("app", In, &["cart"])]), |app, _| {
            app == Some("cart")
        }),
        (of(&[requirement("app", In, &["cart", "mail"])]), |app, _| {
            matches!(app, Some("cart" | "mail"))
        }),
        (of(&[requirement("app", In, &[])]), |_, _| false),
        (of(&[requirement("app", NotIn, &["cart"])]), |app, _| {
            app != Some("cart")
        }),
        (of(&[requirement("app", Exists, &[])]), |app, _| app.is_some()),
        (of(&[requirement("tier", DoesNotExist, &[])]), |_, tier| {
            tier.is_none()
        }),
        (
            of(&[
                requirement("app", In, &["cart"]),
                requirement("tier", NotIn, &["web"]),
            ]),
            |app, tier| app == Some("cart") && tier != Some("web"),
        ),
        // There is no such selector.
        (of(&[requirement("app", Gt, &["1"])]), |_, _| true),
    ]
}

prop_compose! {
    fn any_pod()(
        namespace in prop::sample::select(vec!["shop", "other"]),
        app in prop::option::of(prop::sample::select(vec!["cart", "mail"])),
        tier in prop::option::of(prop::sample::select(vec!["web", "db"])),
        kind in 0..24_u8,
        tolerates in any::<bool>(),
        is_unready in any::<bool>(),
    ) -> PodOnNode {
        let mut pod = if tolerates { everywhere(pod("")) } else { pod("") };
        let kept = kept(&mut pod);
        kept.namespace = namespace.into();
        kept.is_unready = is_unready;
        kept.labels = [("app", app), ("tier", tier)]
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
            .collect();
        kept.is_daemon = matches!(kind, 0 | 1);
        kept.is_mirror = matches!(kind, 2);
        kept.is_terminal = matches!(kind, 3..=5);
        kept.is_leaving = matches!(kind, 6..=8);
        kept.deleted = matches!(kind, 6..=8 | 11).then(noon);
        kept.is_bare = matches!(kind, 2 | 3 | 6 | 9);
        kept.do_not_disrupt = matches!(kind, 4 | 7 | 10).then_some(DoNotDisrupt::Always);
        pod
    }
}

prop_compose! {
    fn any_budget()(
        namespace in prop::sample::select(vec!["shop", "other"]),
        selector in 0..selectors().len(),
        disruptions_allowed in -1..4_i64,
        generation in prop::sample::select(vec![1, 1, 1, 2]),
        lets_unready_go in any::<bool>(),
    ) -> (PodDisruptionBudget, Selects) {
        let mut budget = budget("", disruptions_allowed);
        let (requirements, selects) = selectors()[selector].clone();
        budget.name.namespace = namespace.into();
        budget.selector = requirements;
        budget.generation = generation;
        budget.lets_unready_go = lets_unready_go;
        (budget, selects)
    }
}

prop_compose! {
    /// Pods and budgets, each with a name of its own.
    fn any_node()(
        mut pods in prop::collection::vec(any_pod(), 0..6),
        mut budgets in prop::collection::vec(any_budget(), 0..4),
    ) -> (Vec<PodOnNode>, Vec<(PodDisruptionBudget, Selects)>) {
        for (number, pod) in pods.iter_mut().enumerate() {
            pod.name = number.to_string().into();
        }
        for (number, (budget, _)) in budgets.iter_mut().enumerate() {
            budget.name.name = number.to_string().into();
        }
        (pods, budgets)
    }
}

/// The answer of the eviction API.
fn evict(pod: &PodOnNode, budgets: &mut [(PodDisruptionBudget, Selects)]) -> u16 {
    let label = |key: &str| pod.pod.labels.get(key).map(String::as_str);
    let mut selecting = budgets.iter_mut().filter(|(budget, selects)| {
        budget.name.namespace == pod.pod.namespace && selects(label("app"), label("tier"))
    });
    match (selecting.next(), selecting.next()) {
        (None, _) => 201,
        (Some(_), Some(_)) => 500,
        (Some((budget, _)), None) if budget.lets_unready_go && pod.pod.is_unready => 201,
        (Some((budget, _)), None)
            if budget.observed_generation < budget.generation || budget.disruptions_allowed <= 0 =>
        {
            429
        }
        (Some((budget, _)), None) => {
            budget.disruptions_allowed -= 1;
            201
        }
    }
}

/// Drains a node at once, pod by pod, and returns whether nothing comes to harm.
fn drain(pods: &[PodOnNode], mut budgets: Vec<(PodDisruptionBudget, Selects)>) -> bool {
    pods.iter().all(|on_node| {
        let pod = &on_node.pod;
        if pod.is_terminal || pod.deleted.is_some() {
            return true;
        }
        if pod.do_not_disrupt.is_some() {
            return false;
        }
        let stays = pod.is_mirror || pod.is_daemon && !pod.needs.tolerations.is_empty();
        let restarts = pod.is_mirror || pod.is_daemon || !pod.is_bare;
        restarts && (stays || evict(on_node, &mut budgets) == 201)
    })
}

proptest! {
    #[test]
    fn there_is_no_obstacle_exactly_if_each_pod_can_be_evicted_one_by_one(
        ((pods, budgets), order) in any_node().prop_flat_map(|node| {
            let order = Just(node.0.clone()).prop_shuffle();
            (Just(node), order)
        }),
    ) {
        let mut alone: Vec<_> = budgets.iter().map(|(budget, _)| budget.clone()).collect();
        let obstacle = DrainObstacle::find(&pods, &alone, noon());
        prop_assert_eq!(obstacle.is_none(), drain(&pods, budgets.clone()), "{:?}", obstacle);
        prop_assert_eq!(obstacle.is_none(), drain(&order, budgets), "{:?}", obstacle);
        alone.reverse();
        prop_assert_eq!(DrainObstacle::find(&order, &alone, noon()), obstacle.clone(), "another order");
        alone.retain(|budget| pods.iter().any(|pod| budget.covers(pod)));
        prop_assert_eq!(DrainObstacle::find(&pods, &alone, noon()), obstacle, "only those that matter");
    }
}
