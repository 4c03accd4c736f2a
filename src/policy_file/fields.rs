//! The table of what may stand in a policy file.

use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::policy::{Enforcement, OverLimit};

use super::grammar::{self, Grammar};

/// What a file says of itself.
pub(super) const API_VERSION: &str = "poolgate.dev/v1alpha1";
/// What a file says that it is.
pub(super) const KIND: &str = "Policy";

/// What may stand at a place.
#[derive(Debug)]
pub(super) enum Shape {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text.
    Text(&'static Grammar),
    /// How much a rule weighs. YAML reads the word `off` as false.
    Level,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// A quantity, as a text or as a whole number.
    Quantity,
    /// True or false.
    Switch,
    /// A list with at least so many elements.
    List(usize, &'static Self),
    /// A map from names of the user's choice.
    Map(&'static Grammar, &'static Self),
    /// An object with these fields and no others.
    Object(&'static [Field]),
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is for: a sentence for whoever writes a file.
    pub(super) about: &'static str,
    /// What it holds.
    pub(super) shape: Shape,
    /// Whether it must be there.
    pub(super) required: bool,
}

const fn field(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        about,
        shape,
        required: false,
    }
}

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        about,
        shape,
        required: true,
    }
}

/// A whole policy file.
pub(super) static POLICY: Shape = Shape::Object(&[
    required(
        "apiVersion",
        Shape::Word(&[API_VERSION]),
        "The version of this format.",
    ),
    required("kind", Shape::Word(&[KIND]), "What this file is."),
    field(
        "metadata",
        Shape::Object(&[field(
            "name",
            Shape::Text(&grammar::POOL_PATTERN),
            "A name for the reader.",
        )]),
        "What this policy is called; poolgate does not look at it.",
    ),
    field(
        "enforcement",
        Shape::Word(Enforcement::VALUES),
        "Whether mistakes refuse an object (enforce, the default) or only warn.",
    ),
    field(
        "rules",
        Shape::Map(&grammar::RULE, &Shape::Level),
        "How much single rules weigh. What Karpenter itself refuses stays a warning at least.",
    ),
    field(
        "defaults",
        DEFAULTS,
        "What is written into NodePools that leave it out.",
    ),
    field("bounds", BOUNDS, "What every NodePool must keep to."),
    field(
        "exemptions",
        Shape::List(0, &EXEMPTION),
        "NodePools to which some rules do not apply in full: their findings are kept for offline use only.",
    ),
    field(
        "labels",
        LABELS,
        "Labels that a provider or the organisation brings, beside the built-in ones.",
    ),
    field(
        "overLimit",
        Shape::Word(OverLimit::VALUES),
        "What becomes of nodes above a node limit: report (the default) or terminate.",
    ),
]);

const DEFAULTS: Shape = Shape::Object(&[
    field(
        "budgets",
        Shape::List(1, &Shape::Object(DEFAULT_BUDGET)),
        "spec.disruption.budgets; without this one budget of 10%.",
    ),
    field(
        "consolidationPolicy",
        Shape::Word(&["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]),
        "spec.disruption.consolidationPolicy of v1; without this WhenEmptyOrUnderutilized.",
    ),
    field(
        "consolidateAfter",
        Shape::Text(&grammar::DURATION_OR_NEVER),
        "spec.disruption.consolidateAfter of v1; without this 0s.",
    ),
    field(
        "nodeLimitMode",
        Shape::Word(NodeLimitMode::VALUES),
        "spec.disruption.nodeLimitMode; without this Hard.",
    ),
]);

const DEFAULT_BUDGET: &[Field] = &[
    required(
        "nodes",
        Shape::Text(&grammar::BUDGET_NODES),
        "How many nodes may be disrupted at once: a number or a percentage, as text.",
    ),
    field(
        "schedule",
        Shape::Text(&grammar::SCHEDULE),
        "When the budget begins to hold, in UTC.",
    ),
    field(
        "duration",
        Shape::Text(&grammar::BUDGET_DURATION),
        "How long it then holds.",
    ),
];

const BOUNDS: Shape = Shape::Object(&[
    field("limits", Shape::Object(LIMIT_BOUNDS), "On spec.limits."),
    field(
        "budgets",
        Shape::Object(BUDGET_BOUNDS),
        "On spec.disruption.budgets.",
    ),
    field("template", TEMPLATE, "On spec.template."),
]);

const LIMIT_BOUNDS: &[Field] = &[
    field(
        "required",
        Shape::List(0, &RESOURCE),
        "Resources that must have a limit.",
    ),
    field(
        "max",
        Shape::Map(&grammar::RESOURCE, &Shape::Quantity),
        "The largest limit of each resource; having none breaks the bound.",
    ),
];

const BUDGET_BOUNDS: &[Field] = &[
    field(
        "maxPercent",
        Shape::Whole(0, 100),
        "The largest percentage in a budget.",
    ),
    field(
        "maxNodes",
        Shape::Whole(0, i32::MAX as i64),
        "The largest number in a budget that counts nodes.",
    ),
    field(
        "maxBudgets",
        Shape::Whole(1, 50),
        "How many budgets a NodePool may have.",
    ),
    field(
        "requireAlways",
        Shape::Switch,
        "Whether one budget must hold always and for every reason.",
    ),
    field(
        "freezeWindows",
        Shape::List(0, &Shape::Object(FREEZE_WINDOW)),
        "Times in which no NodePool lets a node be disrupted.",
    ),
];

const FREEZE_WINDOW: &[Field] = &[
    required(
        "schedule",
        Shape::Text(&grammar::SCHEDULE),
        "When the window begins, in UTC.",
    ),
    required(
        "duration",
        Shape::Text(&grammar::BUDGET_DURATION),
        "How long it is.",
    ),
];

const TEMPLATE: Shape = Shape::Object(&[
    field(
        "requiredLabels",
        Shape::List(0, &LABEL_KEY),
        "Labels that every node must get.",
    ),
    field(
        "capacityTypes",
        Shape::List(1, &Shape::Word(&["on-demand", "spot", "reserved"])),
        "The capacity types that may be used.",
    ),
    field(
        "nodeClasses",
        Shape::List(1, &Shape::Object(NODE_CLASS)),
        "The node classes that may be used; a part that is left out may be anything.",
    ),
    field(
        "expireAfter",
        Shape::Object(DURATION_BOUNDS),
        "How long nodes may and must live.",
    ),
    field(
        "terminationGracePeriod",
        Shape::Object(DURATION_BOUNDS),
        "How long a node may and must be given to drain.",
    ),
]);

const NODE_CLASS: &[Field] = &[
    field(
        "group",
        Shape::Text(&grammar::NAME_PATTERN),
        "The API group; * stands for any characters.",
    ),
    field(
        "kind",
        Shape::Text(&grammar::NAME_PATTERN),
        "The kind; * stands for any characters.",
    ),
    field(
        "name",
        Shape::Text(&grammar::NAME_PATTERN),
        "The name; * stands for any characters.",
    ),
];

const DURATION_BOUNDS: &[Field] = &[
    field("min", Shape::Text(&grammar::DURATION), "The shortest."),
    field(
        "max",
        Shape::Text(&grammar::DURATION),
        "The longest. Never, or nothing, is longer.",
    ),
];

static EXEMPTION: Shape = Shape::Object(&[
    field(
        "pools",
        Shape::List(1, &POOL_PATTERN),
        "Names of NodePools, any of which will do; * stands for any characters.",
    ),
    field(
        "labels",
        Shape::Map(&grammar::LABEL_KEY, &LABEL_VALUE),
        "Labels of the NodePool, all of which it must have.",
    ),
    required(
        "rules",
        Shape::List(1, &RULE_PATTERN),
        "The rules; * stands for any characters, so a star alone for all of them.",
    ),
    field(
        "reason",
        Shape::Text(&grammar::FREE_TEXT),
        "Why; it is shown with each finding.",
    ),
]);

const LABELS: Shape = Shape::Object(&[
    field(
        "wellKnown",
        Shape::List(0, &LABEL_KEY),
        "Label keys that the provider puts on nodes by itself.",
    ),
    field(
        "restrictedDomains",
        Shape::List(0, &DOMAIN),
        "Domains whose labels a NodePool must not use; those below them are meant, too.",
    ),
]);

static RESOURCE: Shape = Shape::Text(&grammar::RESOURCE);
static LABEL_KEY: Shape = Shape::Text(&grammar::LABEL_KEY);
static LABEL_VALUE: Shape = Shape::Text(&grammar::LABEL_VALUE);
static DOMAIN: Shape = Shape::Text(&grammar::DOMAIN);
static POOL_PATTERN: Shape = Shape::Text(&grammar::POOL_PATTERN);
static RULE_PATTERN: Shape = Shape::Text(&grammar::RULE_PATTERN);
