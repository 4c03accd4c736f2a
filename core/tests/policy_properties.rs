//! What holds for every policy and every object.

#![cfg(test)]

use std::collections::BTreeMap;

use poolgate_core::diagnostic::Severity;
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::policy::{
    Bounds, BudgetBounds, DurationBounds, Enforcement, Exemption, Glob, Level, LimitBounds, NodeClassPattern,
    Policy, TemplateBounds, Written,
};
use poolgate_core::review::{Request, Review, Subject, review};
use poolgate_core::rules::{CATALOGUE, find};
use poolgate_core::value::duration::GoDuration;
use poolgate_core::value::quantity::Quantity;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

fn review_of(object: &Value, old: Option<&Value>, policy: &Policy) -> Review {
    let old = old.map(Json::from);
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at: jiff::Timestamp::default(),
    };
    review(&request, policy, &TargetKarpenter::default())
}

/// NodePools with mistakes of every origin, and without.
fn any_pool() -> impl Strategy<Value = Value> {
    let nodes = prop_oneof![
        Just(json!("10%")),
        Just(json!("101%")),
        Just(json!(5)),
        Just(json!("50")),
        Just(json!("99999999999"))
    ];
    let schedule = prop_oneof![
        Just(json!(null)),
        Just(json!("@daily")),
        Just(json!("0 9 * * sat-sun")),
        Just(json!("0 9 * *"))
    ];
    let duration = prop_oneof![Just(json!(null)), Just(json!("8h")), Just(json!("0m"))];
    let budget = (nodes, schedule, duration).prop_map(
        |(nodes, schedule, duration)| json!({"nodes": nodes, "schedule": schedule, "duration": duration}),
    );
    let limit = prop_oneof![
        Just(json!(null)),
        Just(json!("1000")),
        Just(json!(1000)),
        Just(json!("1e1.5")),
        Just(json!("5 cores"))
    ];
    let mode = prop_oneof![Just(json!(null)), Just(json!("Hard")), Just(json!("hard"))];
    let capacity = prop_oneof![Just("spot"), Just("on-demand"), Just("other")];
    (
        vec(budget, 0..4),
        limit.clone(),
        limit,
        mode,
        vec(capacity, 0..3),
        proptest::sample::select(&["gpu-a", "web", ""][..]),
    )
        .prop_map(|(budgets, nodes, cpu, mode, capacity, name)| {
            json!({
                "metadata": {"name": name, "labels": {"team": "data"}},
                "spec": {
                    "disruption": {"budgets": budgets, "nodeLimitMode": mode},
                    "limits": {"nodes": nodes, "cpu": cpu},
                    "template": {"spec": {"requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": capacity},
                    ]}},
                },
            })
        })
}

/// Levels for some rules, exemptions for some pools; no severity is higher than the catalogue's.
fn any_lenience() -> impl Strategy<Value = Policy> {
    let rule = proptest::sample::select(CATALOGUE);
    let level = prop_oneof![
        Just(Level::Off),
        Just(Level::Severity(Severity::Note)),
        Just(Level::Severity(Severity::Warning)),
    ];
    let pools = vec(prop_oneof![Just("*"), Just("gpu-*"), Just("web")], 0..2);
    let exemption = (vec(rule.clone(), 0..CATALOGUE.len()), pools).prop_map(|(rules, pools)| Exemption {
        until: None,
        pools: pools.into_iter().map(Glob::new).collect(),
        labels: BTreeMap::new(),
        reason: None,
        rules: rules.into_iter().map(|rule| rule.id).collect(),
    });
    (vec((rule, level), 0..CATALOGUE.len()), vec(exemption, 0..3)).prop_map(|(levels, exemptions)| {
        let mut policy = Policy {
            exemptions,
            ..Policy::default()
        };
        for (rule, level) in levels {
            let is_lighter = match level {
                Level::Off => true,
                Level::Severity(severity) => severity <= rule.severity,
            };
            if is_lighter {
                policy.levels.set(rule.id, level);
            }
        }
        policy
    })
}

/// Bounds of every kind.
fn strict() -> Bounds {
    let duration = |text: &str| {
        Some(Written {
            text: text.into(),
            value: GoDuration::parse(text).expect("a duration"),
        })
    };
    let most = Written {
        text: "500".into(),
        value: Quantity::from(500_i64),
    };
    Bounds {
        limits: LimitBounds {
            required: vec!["cpu".into(), "nodes".into()],
            max: BTreeMap::from([("nodes".into(), most)]),
        },
        budgets: BudgetBounds {
            max_percent: Some(5),
            max_nodes: Some(1),
            max_budgets: Some(1),
            require_always: true,
            freeze_windows: Vec::new(),
        },
        template: TemplateBounds {
            required_labels: vec!["example.com/team".into()],
            capacity_types: Some(vec!["on-demand".into()]),
            node_classes: Some(vec![NodeClassPattern::default()]),
            expire_after: DurationBounds {
                min: None,
                max: duration("24h"),
            },
            termination_grace_period: DurationBounds {
                min: duration("1h"),
                max: duration("2h"),
            },
        },
    }
}

proptest! {
    #[test]
    fn what_karpenter_rejects_itself_never_falls_silent(object in any_pool(), policy in any_lenience()) {
        let heard = review_of(&object, None, &policy).report;
        for finding in review_of(&object, None, &Policy::default()).report.diagnostics() {
            if !finding.origin.is_karpenters() {
                continue;
            }
            let again = heard.diagnostics().iter().find(|again| again.rule == finding.rule && again.path == finding.path);
            prop_assert!(again.is_some_and(|again| again.severity >= Severity::Warning), "{finding}");
        }
    }

    #[test]
    fn where_every_rule_is_off_only_what_karpenter_rejects_itself_is_left(object in any_pool()) {
        let mut policy = Policy::default();
        for rule in CATALOGUE {
            policy.levels.set(rule.id, Level::Off);
        }
        let all = review_of(&object, None, &Policy::default()).report;
        let karpenters = all.diagnostics().iter().filter(|finding| finding.origin.is_karpenters());
        let left = review_of(&object, None, &policy).report;
        prop_assert_eq!(
            left.diagnostics().iter().map(|finding| (finding.rule, &finding.path)).collect::<Vec<_>>(),
            karpenters.map(|finding| (finding.rule, &finding.path)).collect::<Vec<_>>()
        );
        prop_assert!(!left.denies());
    }

    #[test]
    fn finding_is_of_a_kind_on_the_page_of_its_rule(object in any_pool()) {
        for finding in review_of(&object, None, &Policy::default()).report.diagnostics() {
            let rule = find(finding.rule.as_str()).expect("a rule");
            prop_assert!(rule.page().has(finding), "{finding}");
        }
    }

    #[test]
    fn lighter_levels_and_exemptions_never_deny_what_is_admitted_without(object in any_pool(), policy in any_lenience()) {
        let without = review_of(&object, None, &Policy::default()).report;
        let with = review_of(&object, None, &policy).report;
        prop_assert!(with.count(Severity::Error) <= without.count(Severity::Error));
    }

    #[test]
    fn a_policy_that_only_warns_denies_nothing_and_hides_nothing(object in any_pool()) {
        let enforced = Policy { bounds: strict(), ..Policy::default() };
        let warned = Policy { enforcement: Enforcement::Warn, ..enforced.clone() };
        let (enforced, warned) = (review_of(&object, None, &enforced).report, review_of(&object, None, &warned).report);
        prop_assert!(!warned.denies());
        let findings = |report: &poolgate_core::diagnostic::Report| {
            report.count(Severity::Error) + report.count(Severity::Warning)
        };
        prop_assert_eq!(findings(&warned), findings(&enforced));
    }

    #[test]
    fn an_update_that_changes_nothing_is_never_denied_by_a_bound(object in any_pool()) {
        let policy = Policy { bounds: strict(), ..Policy::default() };
        prop_assert!(!review_of(&object, Some(&object), &policy).report.denies());
    }

    #[test]
    fn bounds_remove_no_finding(object in any_pool()) {
        let policy = Policy { bounds: strict(), ..Policy::default() };
        let (with, without) = (review_of(&object, None, &policy).report, review_of(&object, None, &Policy::default()).report);
        for finding in without.diagnostics() {
            prop_assert!(with.diagnostics().contains(finding), "{finding}");
        }
    }
}
