//! What Karpenter's definitions require, field by field, and what poolgate reports about it.

use super::demand::{Demand, Legal};
use crate::diagnostic::RuleId;
use crate::karpenter::KarpenterVersion;

/// The longest list of budgets.
pub(crate) const MOST_BUDGETS: usize = 50;

/// The field must be present. The definitions of 0.32 accepted an empty `spec`.
const fn required(reason: &'static str, suggestion: &'static str) -> Demand {
    Demand {
        rule: RuleId::new("field-required"),
        since: KarpenterVersion::new(0, 33, 0),
        legal: Legal::Present,
        reason,
        suggestion: Some(suggestion),
    }
}

/// A constraint of every release.
const fn always(rule: &'static str, legal: Legal, reason: &'static str) -> Demand {
    Demand {
        rule: RuleId::new(rule),
        since: KarpenterVersion::OLDEST,
        legal,
        reason,
        suggestion: None,
    }
}

pub static TEMPLATE: Demand = required(
    "nothing can be launched without it",
    "add it, with nodeClassRef and requirements inside",
);

pub static NODE_CLASS_REF: Demand = required(
    "it names what machines are made of",
    "name the group, kind and name of your node class",
);

const UNFOUND: &str = "the node class cannot be found without it";
pub static GROUP: Demand = required(UNFOUND, "write the group of your node class");
pub static KIND: Demand = required(UNFOUND, "write the kind of your node class");
pub static NAME: Demand = required(UNFOUND, "write the name of your node class");

pub static REQUIREMENTS: Demand = required(
    "the API demands the list, though it may be empty",
    "write requirements: []",
);

pub static TAINT_KEY: Demand = required("a taint needs a key", "write one such as example.com/team");

pub static TAINT_EFFECT: Demand = required(
    "a taint needs an effect",
    "write NoSchedule, PreferNoSchedule or NoExecute",
);

pub static TAINT_EFFECTS: Demand = always(
    "taint-effect",
    Legal::OneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    "Kubernetes knows no other effect",
);

pub static WEIGHT: Demand = always(
    "weight",
    Legal::Within(1..=100, |weight| {
        Some(match weight {
            0 => "leave it out: a pool without weight counts as 0",
            ..0 => "write 1, or leave it out to come last",
            1.. => "write 100, the highest",
        })
    }),
    "a weight goes from 1 to 100",
);

pub static PERCENT: Demand = always(
    "kubelet",
    Legal::Within(0..=100, |_| None),
    "must be from 0 to 100",
);

pub static PODS: Demand = always(
    "kubelet",
    Legal::Within(0..=i32::MAX as i64, |_| None),
    "must be from 0 to 2147483647",
);

pub static LABELS: Demand = Demand {
    suggestion: Some("remove those that no pod selects"),
    ..always("labels-count", Legal::AtMost(100), "must have at most 100 labels")
};

pub static BUDGETS: Demand = Demand {
    suggestion: Some("join windows of one kind in one schedule, such as 0 9 * * mon-fri"),
    ..always(
        "budgets-count",
        Legal::AtMost(MOST_BUDGETS),
        "must have at most 50 items",
    )
};
