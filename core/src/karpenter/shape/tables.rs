//! The tables: every field of a NodePool and a NodeClaim, as Karpenter's definitions have them, and poolgate's own
//! `nodeLimitMode`. A test compares them with the definitions in `tests/data/crds`.

use super::Shape::{
    self, Any, Boolean, Demanding, FormattedText, Integer, IntegerOrText, List, Map, Object, Open, Text,
};
use super::{Demand, Legal};
use crate::karpenter::{ApiVersion, KarpenterVersion};

/// The longest list of budgets.
pub(crate) const MOST_BUDGETS: usize = 50;

/// The shape of a NodePool of this version.
pub const fn nodepool(version: ApiVersion) -> &'static Shape {
    match version {
        ApiVersion::V1 => &NODEPOOL_V1,
        ApiVersion::V1Beta1 => &NODEPOOL_V1BETA1,
    }
}

/// The shape of a NodeClaim of this version.
pub const fn nodeclaim(version: ApiVersion) -> &'static Shape {
    match version {
        ApiVersion::V1 => &NODECLAIM_V1,
        ApiVersion::V1Beta1 => &NODECLAIM_V1BETA1,
    }
}

/// A field that must be present. The definitions of 0.32 accepted an empty `spec`.
const fn required(shape: &'static Shape) -> Shape {
    const PRESENT: Demand = Demand {
        since: KarpenterVersion::new(0, 33, 0),
        legal: Legal::Present,
    };
    Demanding(&PRESENT, shape)
}

/// A constraint of every release.
const fn always(legal: Legal) -> Demand {
    Demand {
        since: KarpenterVersion::OLDEST,
        legal,
    }
}

const TEXTS: Shape = Map(&Text);
const QUANTITIES: Shape = Map(&IntegerOrText);

/// The fields beside `spec`. Kubernetes checks its own metadata; the status is Karpenter's.
const fn root(spec: &'static Shape) -> [(&'static str, Shape); 5] {
    [
        ("apiVersion", Text),
        ("kind", Text),
        (
            "metadata",
            Open(&[("name", Text), ("labels", TEXTS), ("annotations", TEXTS)]),
        ),
        ("spec", required(spec)),
        ("status", Any),
    ]
}

const TEMPLATE_METADATA: Shape = Object(&[
    ("labels", Demanding(&always(Legal::AtMost(100)), &TEXTS)),
    ("annotations", TEXTS),
]);

const REQUIREMENTS: Shape = List(&Object(&[
    ("key", Text),
    ("operator", Text),
    ("values", List(&Text)),
    ("minValues", Integer),
]));

const TAINTS: Shape = List(&Object(&[
    ("key", required(&Text)),
    ("value", Text),
    ("effect", required(&EFFECT)),
    ("timeAdded", FormattedText),
]));

const EFFECT: Shape = Demanding(
    &always(Legal::OneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
    &Text,
);

const RESOURCES: Shape = Object(&[("requests", QUANTITIES)]);

const NODE_CLASS_REF_V1: Shape = Object(&[
    ("group", required(&Text)),
    ("kind", required(&Text)),
    ("name", required(&Text)),
]);

const NODE_CLASS_REF_V1BETA1: Shape =
    Object(&[("apiVersion", Text), ("kind", Text), ("name", required(&Text))]);

const WEIGHT: Shape = Demanding(&always(Legal::Within(1..=100)), &Integer);

static NODEPOOL_V1: Shape = Object(&root(&Object(&[
    ("disruption", DISRUPTION_V1),
    ("limits", QUANTITIES),
    ("weight", WEIGHT),
    ("replicas", Integer),
    ("template", required(&TEMPLATE_V1)),
])));

const DISRUPTION_V1: Shape = Object(&[
    (
        "budgets",
        Demanding(&always(Legal::AtMost(MOST_BUDGETS)), &BUDGETS_V1),
    ),
    ("consolidationPolicy", Text),
    ("consolidateAfter", Text),
    ("nodeLimitMode", Text),
]);

const BUDGETS_V1: Shape = List(&Object(&[
    ("nodes", Text),
    ("reasons", List(&Text)),
    ("schedule", Text),
    ("duration", Text),
]));

const TEMPLATE_V1: Shape = Object(&[
    ("metadata", TEMPLATE_METADATA),
    ("spec", required(&TEMPLATE_SPEC_V1)),
]);

const TEMPLATE_SPEC_V1: Shape = Object(&[
    ("requirements", required(&REQUIREMENTS)),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", required(&NODE_CLASS_REF_V1)),
    ("expireAfter", Text),
    ("terminationGracePeriod", Text),
]);

static NODECLAIM_V1: Shape = Object(&root(&Object(&[
    ("requirements", required(&REQUIREMENTS)),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", required(&NODE_CLASS_REF_V1)),
    ("expireAfter", Text),
    ("terminationGracePeriod", Text),
    ("resources", RESOURCES),
])));

static NODEPOOL_V1BETA1: Shape = Object(&root(&Object(&[
    ("disruption", DISRUPTION_V1BETA1),
    ("limits", QUANTITIES),
    ("weight", WEIGHT),
    ("template", required(&TEMPLATE_V1BETA1)),
])));

const DISRUPTION_V1BETA1: Shape = Object(&[
    (
        "budgets",
        Demanding(&always(Legal::AtMost(MOST_BUDGETS)), &BUDGETS_V1BETA1),
    ),
    ("consolidationPolicy", Text),
    ("consolidateAfter", Text),
    ("expireAfter", Text),
    ("nodeLimitMode", Text),
]);

const BUDGETS_V1BETA1: Shape = List(&Object(&[
    ("nodes", Text),
    ("schedule", Text),
    ("duration", Text),
]));

const TEMPLATE_V1BETA1: Shape = Object(&[
    ("metadata", TEMPLATE_METADATA),
    ("spec", required(&CLAIM_SPEC_V1BETA1)),
]);

static NODECLAIM_V1BETA1: Shape = Object(&root(&CLAIM_SPEC_V1BETA1));

/// In v1beta1 the template of a NodePool has all fields of a NodeClaim.
const CLAIM_SPEC_V1BETA1: Shape = Object(&[
    ("requirements", required(&REQUIREMENTS)),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", required(&NODE_CLASS_REF_V1BETA1)),
    ("resources", RESOURCES),
    ("kubelet", KUBELET),
]);

const KUBELET: Shape = Object(&[
    ("clusterDNS", List(&Text)),
    ("cpuCFSQuota", Boolean),
    ("evictionHard", TEXTS),
    ("evictionMaxPodGracePeriod", Integer),
    ("evictionSoft", TEXTS),
    ("evictionSoftGracePeriod", TEXTS),
    ("imageGCHighThresholdPercent", PERCENT),
    ("imageGCLowThresholdPercent", PERCENT),
    ("kubeReserved", TEXTS),
    ("maxPods", PODS),
    ("podsPerCore", PODS),
    ("systemReserved", TEXTS),
]);

const PERCENT: Shape = Demanding(&always(Legal::Within(0..=100)), &Integer);
const PODS: Shape = Demanding(&always(Legal::Within(0..=i32::MAX as i64)), &Integer);
