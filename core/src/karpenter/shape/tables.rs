//! The tables: every field of a NodePool and a NodeClaim, as Karpenter's definitions have them, and poolgate's own
//! `nodeLimitMode`. A test compares them with the definitions in `tests/data/crds`.

use super::{Fields, Shape};
use crate::karpenter::ApiVersion;

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

const TEXTS: Shape = Shape::Map(&Shape::Text);
const QUANTITIES: Shape = Shape::Map(&Shape::IntegerOrText);

/// What is beside `spec`. Kubernetes checks its own metadata; the status is Karpenter's.
const fn root(spec: Fields) -> [(&'static str, Shape); 5] {
    [
        ("apiVersion", Shape::Text),
        ("kind", Shape::Text),
        (
            "metadata",
            Shape::Open(&[("name", Shape::Text), ("labels", TEXTS), ("annotations", TEXTS)]),
        ),
        ("spec", Shape::Object(spec)),
        ("status", Shape::Any),
    ]
}

const TEMPLATE_METADATA: Shape = Shape::Object(&[("labels", TEXTS), ("annotations", TEXTS)]);

const REQUIREMENTS: Shape = Shape::List(&Shape::Object(&[
    ("key", Shape::Text),
    ("operator", Shape::Text),
    ("values", Shape::List(&Shape::Text)),
    ("minValues", Shape::Integer),
]));

const TAINTS: Shape = Shape::List(&Shape::Object(&[
    ("key", Shape::Text),
    ("value", Shape::Text),
    ("effect", Shape::Text),
    ("timeAdded", Shape::FormattedText),
]));

const RESOURCES: Shape = Shape::Object(&[("requests", QUANTITIES)]);

const NODE_CLASS_REF_V1: Shape = Shape::Object(&[
    ("group", Shape::Text),
    ("kind", Shape::Text),
    ("name", Shape::Text),
]);

const NODE_CLASS_REF_V1BETA1: Shape = Shape::Object(&[
    ("apiVersion", Shape::Text),
    ("kind", Shape::Text),
    ("name", Shape::Text),
]);

static NODEPOOL_V1: Shape = Shape::Object(&root(&[
    ("disruption", DISRUPTION_V1),
    ("limits", QUANTITIES),
    ("weight", Shape::Integer),
    ("replicas", Shape::Integer),
    (
        "template",
        Shape::Object(&[("metadata", TEMPLATE_METADATA), ("spec", TEMPLATE_SPEC_V1)]),
    ),
]));

const DISRUPTION_V1: Shape = Shape::Object(&[
    (
        "budgets",
        Shape::List(&Shape::Object(&[
            ("nodes", Shape::Text),
            ("reasons", Shape::List(&Shape::Text)),
            ("schedule", Shape::Text),
            ("duration", Shape::Text),
        ])),
    ),
    ("consolidationPolicy", Shape::Text),
    ("consolidateAfter", Shape::Text),
    ("nodeLimitMode", Shape::Text),
]);

const TEMPLATE_SPEC_V1: Shape = Shape::Object(&[
    ("requirements", REQUIREMENTS),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", NODE_CLASS_REF_V1),
    ("expireAfter", Shape::Text),
    ("terminationGracePeriod", Shape::Text),
]);

static NODECLAIM_V1: Shape = Shape::Object(&root(&[
    ("requirements", REQUIREMENTS),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", NODE_CLASS_REF_V1),
    ("expireAfter", Shape::Text),
    ("terminationGracePeriod", Shape::Text),
    ("resources", RESOURCES),
]));

static NODEPOOL_V1BETA1: Shape = Shape::Object(&root(&[
    ("disruption", DISRUPTION_V1BETA1),
    ("limits", QUANTITIES),
    ("weight", Shape::Integer),
    (
        "template",
        Shape::Object(&[
            ("metadata", TEMPLATE_METADATA),
            ("spec", Shape::Object(CLAIM_SPEC_V1BETA1)),
        ]),
    ),
]));

const DISRUPTION_V1BETA1: Shape = Shape::Object(&[
    (
        "budgets",
        Shape::List(&Shape::Object(&[
            ("nodes", Shape::Text),
            ("schedule", Shape::Text),
            ("duration", Shape::Text),
        ])),
    ),
    ("consolidationPolicy", Shape::Text),
    ("consolidateAfter", Shape::Text),
    ("expireAfter", Shape::Text),
    ("nodeLimitMode", Shape::Text),
]);

static NODECLAIM_V1BETA1: Shape = Shape::Object(&root(CLAIM_SPEC_V1BETA1));

/// In v1beta1 the template of a NodePool has all fields of a NodeClaim.
const CLAIM_SPEC_V1BETA1: Fields = &[
    ("requirements", REQUIREMENTS),
    ("taints", TAINTS),
    ("startupTaints", TAINTS),
    ("nodeClassRef", NODE_CLASS_REF_V1BETA1),
    ("resources", RESOURCES),
    (
        "kubelet",
        Shape::Object(&[
            ("clusterDNS", Shape::List(&Shape::Text)),
            ("cpuCFSQuota", Shape::Boolean),
            ("evictionHard", TEXTS),
            ("evictionMaxPodGracePeriod", Shape::Integer),
            ("evictionSoft", TEXTS),
            ("evictionSoftGracePeriod", TEXTS),
            ("imageGCHighThresholdPercent", Shape::Integer),
            ("imageGCLowThresholdPercent", Shape::Integer),
            ("kubeReserved", TEXTS),
            ("maxPods", Shape::Integer),
            ("podsPerCore", Shape::Integer),
            ("systemReserved", TEXTS),
        ]),
    ),
];
