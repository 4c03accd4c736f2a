//! The kinds beside NodePool and NodeClaim that Karpenter reads: their fields, as the definitions of 1.15 have them. A test
//! creates examples of each constraint on an API server with these definitions.

use super::ConstraintKind::{AtLeast, AtMost, Matches, OneOf, Present, Within};
use super::Shape::{self, Any, Constrained, Integer, IntegerOrText, List, Map, Object, Open, Text};
use super::{Pattern, constraint};
use crate::facts::KarpenterVersion;

// karpenter: pkg/apis/v1alpha1/nodeoverlay.go NodeOverlaySpec.Price
static PRICE: Pattern = Pattern::new(r"^\d+(\.\d+)?$");
// karpenter: pkg/apis/v1alpha1/nodeoverlay.go NodeOverlaySpec.PriceAdjustment
static PRICE_ADJUSTMENT: Pattern =
    Pattern::new(r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$");
static QUANTITY: Pattern = Pattern::new(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
);
static LABEL_KEY: Pattern = Pattern::new(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
);
const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"];
/// The highest number of a field of 32 bits.
const MOST: i64 = i32::MAX as i64;

const METADATA: Shape = Open(&[
    ("name", Text),
    ("labels", Map(&Text)),
    ("annotations", Map(&Text)),
]);
const NAME: Shape = Constrained(&[constraint(Present), constraint(AtLeast(1))], &Text);
const COUNT: Shape = Constrained(&[constraint(Within(0..=MOST))], &Integer);

/// A kind beside NodePool and NodeClaim that Karpenter reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherKind {
    /// Prices and resources that the provider does not know.
    NodeOverlay,
    /// Room for pods to come.
    CapacityBuffer,
}

impl OtherKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::NodeOverlay, Self::CapacityBuffer];

    /// Its group, version and kind.
    pub const fn named(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::NodeOverlay => ("karpenter.sh", "v1alpha1", "NodeOverlay"),
            Self::CapacityBuffer => ("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer"),
        }
    }

    /// The kind of this group, version and name.
    pub fn parse(group: &str, version: &str, kind: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.named() == (group, version, kind))
    }

    /// The first release that reads it.
    pub const fn since(self) -> KarpenterVersion {
        match self {
            Self::NodeOverlay => KarpenterVersion::NODE_OVERLAY,
            Self::CapacityBuffer => KarpenterVersion::CAPACITY_BUFFER,
        }
    }

    pub(crate) const fn shape(self) -> &'static Shape {
        match self {
            Self::NodeOverlay => &NODE_OVERLAY,
            Self::CapacityBuffer => &CAPACITY_BUFFER,
        }
    }
}

// karpenter: pkg/apis/v1alpha1/nodeoverlay.go NodeOverlaySpec
static NODE_OVERLAY: Shape = Object(&[
    ("apiVersion", Text),
    ("kind", Text),
    ("metadata", METADATA),
    (
        "spec",
        Constrained(
            &[constraint(Present)],
            &Object(&[
                (
                    "requirements",
                    Constrained(
                        &[constraint(Present), constraint(AtMost(100))],
                        &List(&Object(&[
                            (
                                "key",
                                Constrained(
                                    &[
                                        constraint(Present),
                                        constraint(AtMost(316)),
                                        constraint(Matches(&LABEL_KEY)),
                                    ],
                                    &Text,
                                ),
                            ),
                            (
                                "operator",
                                Constrained(&[constraint(Present), constraint(OneOf(OPERATORS))], &Text),
                            ),
                            ("values", List(&Text)),
                        ])),
                    ),
                ),
                (
                    "priceAdjustment",
                    Constrained(&[constraint(Matches(&PRICE_ADJUSTMENT))], &Text),
                ),
                ("price", Constrained(&[constraint(Matches(&PRICE))], &Text)),
                (
                    "capacity",
                    Map(&Constrained(&[constraint(Matches(&QUANTITY))], &IntegerOrText)),
                ),
                ("weight", Constrained(&[constraint(Within(1..=10_000))], &Integer)),
            ]),
        ),
    ),
    ("status", Any),
]);

// karpenter: pkg/apis/autoscaling/v1beta1/capacitybuffer.go CapacityBufferSpec
static CAPACITY_BUFFER: Shape = Object(&[
    ("apiVersion", Text),
    ("kind", Text),
    ("metadata", METADATA),
    (
        "spec",
        Constrained(
            &[constraint(Present)],
            &Object(&[
                ("provisioningStrategy", Text),
                ("podTemplateRef", Object(&[("name", NAME)])),
                (
                    "scalableRef",
                    Object(&[("apiGroup", Text), ("kind", NAME), ("name", NAME)]),
                ),
                ("replicas", COUNT),
                ("percentage", COUNT),
                (
                    "limits",
                    Map(&Constrained(&[constraint(Matches(&QUANTITY))], &IntegerOrText)),
                ),
            ]),
        ),
    ),
    ("status", Any),
]);
