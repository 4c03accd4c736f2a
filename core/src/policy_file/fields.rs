//! The table of what may be in a policy file.

use crate::api::{AtLimit, NodeLimitMode, OverLimit};
use crate::karpenter::PROVIDER_IDS;
use crate::policy::{Enforcement, WebhookUse};

use self::FieldType::{List, Map, Quantity, Switch, Text, Whole, Word};
use super::grammar::{self, Grammar};

/// What a value may be.
#[derive(Debug)]
pub enum FieldType {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A string that this grammar accepts.
    Text(&'static Grammar),
    /// The severity of a rule, or off. YAML reads the word `off` as false.
    Level,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// A quantity, as a text or as a whole number.
    Quantity,
    /// A boolean: `true` or `false`.
    Switch,
    /// A mapping whose fields are not checked here.
    Anything,
    /// A list with at least so many elements.
    List(usize, &'static Self),
    /// A map from names of the user's choice.
    Map(&'static Grammar, &'static Self),
    /// An object with these fields and no others.
    Object(&'static [Field]),
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// The key of the field in the file.
    pub name: &'static str,
    /// What it is for: a sentence for the author of a file.
    pub about: &'static str,
    /// The shape of its value.
    pub shape: FieldType,
    /// Whether it must be there.
    pub required: bool,
}

/// An object with these fields: name, shape and what it is for.
macro_rules! object {
    (@is_required) => { false };
    (@is_required required) => { true };
    ($($name:literal $($required:ident)?: $shape:expr, $about:literal;)*) => {
        FieldType::Object(&[$(Field {
            name: $name,
            about: $about,
            shape: $shape,
            required: object!(@is_required $($required)?),
        }),*])
    };
}

/// A whole policy file.
pub static POLICY: FieldType = object! {
    "apiVersion" required: Word(&["poolgate.dev/v1alpha1"]), "The version of this format.";
    "kind" required: Word(&["Policy"]), "What this file is.";
    "metadata": METADATA, "What this policy is called; poolgate does not look at it.";
    "enforcement": Word(Enforcement::VALUES),
        "Whether mistakes deny an object (enforce, the default) or only warn.";
    "rules": Map(&grammar::RULE, &FieldType::Level),
        "The severity of all findings of a rule. What Karpenter itself rejects stays at least a warning.";
    "defaults": DEFAULTS, "What is written into NodePools that leave it out.";
    "bounds": BOUNDS, "What every NodePool must comply with.";
    "exemptions": List(0, &EXEMPTION),
        "NodePools to which some rules do not apply in full: their findings are kept for offline use only.";
    "labels": LABELS, "Labels that a provider or the organisation uses, in addition to the built-in ones.";
    "cluster": CLUSTER, "What is known of the cluster, so that findings need not guess.";
    "overLimit": Word(OverLimit::VALUES),
        "What happens to nodes above a node limit: report (the default) or terminate.";
    "atLimit": Word(AtLimit::VALUES),
        "Which nodes of a full Hard pool are deleted first and then replaced: none (Block), broken ones (Repair, \
         the default), or drifted ones too (Replace).";
    "repairGracePeriod": Text(&grammar::REPAIR_GRACE_PERIOD),
        "How long the pods of a broken node may take to leave it before it is terminated anyway; without this 10m.";
};

const METADATA: FieldType = object! {
    "name": Text(&grammar::FREE_TEXT), "A name for the reader.";
};

const DEFAULTS: FieldType = object! {
    "budgets": List(1, &DEFAULT_BUDGET), "spec.disruption.budgets; without this one budget of 10%.";
    "consolidationPolicy": Word(&["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]),
        "spec.disruption.consolidationPolicy of v1; without this WhenEmptyOrUnderutilized.";
    "consolidateAfter": Text(&grammar::DURATION_OR_NEVER),
        "spec.disruption.consolidateAfter of v1; without this 0s.";
    "nodeLimitMode": Word(NodeLimitMode::VALUES), "spec.disruption.nodeLimitMode; without this Hard.";
};

static DEFAULT_BUDGET: FieldType = object! {
    "nodes" required: Text(&grammar::BUDGET_NODES),
        "How many nodes may be disrupted at once: a number or a percentage, as text.";
    "reasons": List(1, &Word(&["Underutilized", "Empty", "Drifted", "Unhealthy"])),
        "What it limits; without this every reason, from Karpenter 1.15 on also the repair of broken nodes. v1beta1 has no \
         reasons: there the budget limits all.";
    "schedule": Text(&grammar::SCHEDULE), "When the budget becomes active, in UTC.";
    "duration": Text(&grammar::BUDGET_DURATION), "How long it then stays active.";
};

const BOUNDS: FieldType = object! {
    "limits": LIMIT_BOUNDS, "On spec.limits.";
    "budgets": BUDGET_BOUNDS, "On spec.disruption.budgets.";
    "template": TEMPLATE, "On spec.template.";
};

const LIMIT_BOUNDS: FieldType = object! {
    "required": List(0, &RESOURCE), "Resources that must have a limit.";
    "max": Map(&grammar::RESOURCE, &Quantity),
        "The largest limit of each resource; a missing limit violates the bound.";
};

const BUDGET_BOUNDS: FieldType = object! {
    "maxPercent": Whole(0, 100), "The largest percentage in a budget.";
    "maxNodes": Whole(0, i32::MAX as i64), "The largest number in a budget that counts nodes.";
    "maxBudgets": Whole(1, 50), "How many budgets a NodePool may have.";
    "requireAlways": Switch, "Whether one budget must always be active, for every reason.";
    "freezeWindows": List(0, &FREEZE_WINDOW), "Times in which every NodePool must block disruption.";
};

static FREEZE_WINDOW: FieldType = object! {
    "schedule" required: Text(&grammar::SCHEDULE), "When the window begins, in UTC.";
    "duration" required: Text(&grammar::BUDGET_DURATION), "How long it is.";
};

const TEMPLATE: FieldType = object! {
    "requiredLabels": List(0, &LABEL_KEY), "Labels that every node must get.";
    "capacityTypes": List(1, &Word(&["on-demand", "spot", "reserved"])),
        "The capacity types that may be used.";
    "nodeClasses": List(1, &NODE_CLASS),
        "The node classes that may be used; a part that is left out may be anything.";
    "expireAfter": DURATION_BOUNDS, "How long nodes may and must live.";
    "terminationGracePeriod": DURATION_BOUNDS, "How long a node may and must be given to drain.";
};

static NODE_CLASS: FieldType = object! {
    "group": Text(&grammar::NAME_PATTERN), "The API group; * stands for any characters.";
    "kind": Text(&grammar::NAME_PATTERN), "The kind; * stands for any characters.";
    "name": Text(&grammar::NAME_PATTERN), "The name; * stands for any characters.";
};

const DURATION_BOUNDS: FieldType = object! {
    "min": Text(&grammar::DURATION), "The shortest.";
    "max": Text(&grammar::DURATION), "The longest. Never, or no value, counts as longer.";
};

static EXEMPTION: FieldType = object! {
    "pools": List(1, &POOL_PATTERN),
        "Names of NodePools, one of which must match; * stands for any characters.";
    "labels": Map(&grammar::LABEL_KEY, &LABEL_VALUE),
        "Labels of the NodePool, all of which it must have.";
    "rules" required: List(1, &RULE_PATTERN),
        "The rules; * stands for any characters, so a star alone for all of them.";
    "reason": Text(&grammar::FREE_TEXT), "The reason, shown with each finding.";
    "until": Text(&grammar::DATE), "The last day on which it applies, in UTC; without this it has no end.";
};

const CLUSTER: FieldType = object! {
    "karpenter": Text(&grammar::RELEASE),
        "The Karpenter release that it runs: lint and default check for it unless --karpenter-version names another.";
    "provider": Word(PROVIDER_IDS), "The provider of the machines.";
    "providerVersion": Text(&grammar::PROVIDER_RELEASE),
        "The release of the provider's controller, such as 1.14.0; it needs provider.";
    "featureGates": Map(&grammar::FEATURE_GATE, &Switch), "Karpenter's feature gates: true if on, false if off.";
    "webhook": Word(WebhookUse::VALUES),
        "Whether poolgate's webhook writes defaults there (defaults) or there is none (none).";
};

const LABELS: FieldType = object! {
    "wellKnown": List(0, &LABEL_KEY), "Label keys that the provider puts on nodes by itself.";
    "restrictedDomains": List(0, &DOMAIN),
        "Domains whose labels a NodePool must not use, nor those of their subdomains.";
};

/// A file of cases for a policy.
pub static POLICY_TEST: FieldType = object! {
    "apiVersion" required: Word(&["poolgate.dev/v1alpha1"]), "The version of this format.";
    "kind" required: Word(&["PolicyTest"]), "What this file is.";
    "metadata": METADATA, "What this file is called; poolgate does not look at it.";
    "policy" required: Text(&grammar::FREE_TEXT), "The file of the policy, seen from the folder of this file.";
    "karpenterVersion": Text(&grammar::RELEASE), "The Karpenter release; without this the newest known.";
    "at": Text(&grammar::DATE), "The day on which the cases are reviewed, in UTC; without this today.";
    "cases" required: List(1, &CASE), "The cases.";
};

static CASE: FieldType = object! {
    "name" required: Text(&grammar::FREE_TEXT), "What the case shows.";
    "object": FieldType::Anything, "The NodePool or NodeClaim, written out here.";
    "file": Text(&grammar::FREE_TEXT),
        "Or a file that holds it alone, seen from the folder of this file.";
    "old": FieldType::Anything, "The stored object that it replaces; without this it is new.";
    "expect" required: List(0, &EXPECTED),
        "What must be found. An error that is not listed here fails the case; an empty list says that it is admitted.";
};

static EXPECTED: FieldType = object! {
    "rule" required: Text(&grammar::RULE), "The rule.";
    "severity": Word(&["error", "warning", "info"]), "Its severity; without this error.";
    "path": Text(&grammar::FREE_TEXT), "The field, as findings name it; without this any.";
};

static RESOURCE: FieldType = Text(&grammar::RESOURCE);
static LABEL_KEY: FieldType = Text(&grammar::LABEL_KEY);
static LABEL_VALUE: FieldType = Text(&grammar::LABEL_VALUE);
static DOMAIN: FieldType = Text(&grammar::DOMAIN);
static POOL_PATTERN: FieldType = Text(&grammar::POOL_PATTERN);
static RULE_PATTERN: FieldType = Text(&grammar::RULE_PATTERN);
