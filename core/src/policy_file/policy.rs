//! The fields of a policy file, from the top, and those that name rules.

use serde_json::{Map, Value, json};

use crate::api::{API_VERSION, AtLimit, OverLimit};
use crate::diagnostic::{FieldPath, RuleId, Suggestion};
use crate::facts::{LabelSets, LabelValues};
use crate::policy::kinds::{List, MapOf, Text, Wrong, only, word, wrong};
use crate::policy::record::{Fields, Found, Kind, Record, object, with_description};
use crate::policy::texts::{
    DATE, DOMAIN, FREE_TEXT, LABEL_KEY, LABEL_VALUE, POOL_PATTERN, REPAIR_GRACE_PERIOD,
};
use crate::policy::{Enforcement, Exemption, LevelOfRule, Levels, Policy, names_rule};
use crate::rules::{CATALOGUE, find};

impl Record for Policy {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let called = "The name of this policy. poolgate ignores it.";
        let head = read_head(fields, &["Policy"], called);
        let built_in = Self::default();
        let enforcement = fields.optional(
            "enforcement",
            &word(Enforcement::VALUES, Enforcement::parse),
            "Whether errors deny an object (enforce, the default) or only warn (warn).",
        );
        let levels = fields.optional(
            "rules",
            &RuleLevels,
            "The severity of all findings of a rule. What Karpenter itself rejects stays at least a warning.",
        );
        let about = "The values that are written into NodePools without them.";
        let defaults = fields.optional("defaults", &object(), about);
        let bounds = fields.optional("bounds", &object(), "Bounds for every NodePool.");
        let exemptions = fields.optional(
            "exemptions",
            &List(0, object()),
            "NodePools that are exempt from some rules. Their findings are shown offline only.",
        );
        let about = "Labels that a provider or the organisation uses, in addition to the built-in ones.";
        let labels = fields.optional("labels", &object(), about);
        let about = "Facts about the cluster, so that findings need not guess.";
        let cluster = fields.optional("cluster", &object(), about);
        let about = "Conditions for a change that makes Karpenter replace nodes: the annotation poolgate.dev/acknowledge-drift.";
        let drift = fields.optional("drift", &object(), about);
        let about =
            "Conditions for the deletion of a NodePool with nodes: the annotation poolgate.dev/allow-delete.";
        let deletion = fields.optional("deletion", &object(), about);
        let over_limit = fields.optional(
            "overLimit",
            &word(OverLimit::VALUES, OverLimit::parse),
            "What happens to nodes above a node limit: report (the default) or terminate.",
        );
        let at_limit = fields.optional(
            "atLimit",
            &word(AtLimit::VALUES, AtLimit::parse),
            "Which nodes of a full Hard pool are deleted first and then replaced: none (Block), broken ones (Repair, the \
             default), or drifted ones too (Replace).",
        );
        let repair_grace_period = fields.optional(
            "repairGracePeriod",
            &REPAIR_GRACE_PERIOD,
            "How long the pods of a broken node may take to leave it before it is terminated anyway. Default: 10m.",
        );
        head?;
        Some(Self {
            enforcement: enforcement.unwrap_or_default(),
            levels: levels.unwrap_or_default(),
            defaults: defaults.unwrap_or_default(),
            bounds: bounds.unwrap_or_default(),
            exemptions: exemptions.unwrap_or_default(),
            cluster: cluster.unwrap_or_default(),
            labels: labels.unwrap_or_default(),
            drift: drift.unwrap_or_default(),
            deletion: deletion.unwrap_or_default(),
            over_limit: over_limit.unwrap_or_default(),
            at_limit: at_limit.unwrap_or_default(),
            repair_grace_period: repair_grace_period.unwrap_or(built_in.repair_grace_period),
        })
    }
}

/// The fields with which each file of poolgate's begins.
pub fn read_head(
    fields: &mut Fields<'_>,
    kind: &'static [&'static str; 1],
    called: &'static str,
) -> Option<()> {
    let version = fields.required("apiVersion", &only(&[API_VERSION]), "The version of this format.");
    let kind = fields.required("kind", &only(kind), "The kind of this file.");
    fields.optional("metadata", &object::<Metadata>(), called);
    version.and(kind).map(drop)
}

struct Metadata;

impl Record for Metadata {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.optional("name", &FREE_TEXT, "A name for the reader.");
        Some(Self)
    }
}

/// The values of a label that the organisation adds are not known.
impl Record for LabelSets {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let about = "Label keys that the provider puts on nodes on its own.";
        let keys = fields.optional("wellKnown", &List(0, LABEL_KEY), about);
        let about = "Domains whose labels, and those of their subdomains, a NodePool must not use.";
        let domains = fields.optional("restrictedDomains", &List(0, DOMAIN), about);
        let keys = keys.unwrap_or_default().into_iter();
        Some(Self::with(
            keys.map(|key| (key, LabelValues::Any)),
            domains.unwrap_or_default(),
        ))
    }
}

impl Record for Exemption {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let about = "Names of NodePools, one of which must match. * matches any characters.";
        let pools = fields.optional("pools", &List(1, POOL_PATTERN), about);
        let about = "Labels of the NodePool, all of which it must have.";
        let labels = fields.optional("labels", &MapOf(LABEL_KEY, LABEL_VALUE), about);
        let about = "The names of the rules, or the first words of names. * matches any characters, so * alone matches \
                     every rule.";
        let rules = fields.required("rules", &List(1, RULE_PATTERN), about);
        let reason = fields.optional("reason", &FREE_TEXT, "The reason, shown with each finding.");
        let about = "The last day on which it applies, in UTC. Default: it has no end.";
        let until = fields.optional("until", &DATE, about);
        Some(Self {
            pools: pools.unwrap_or_default(),
            labels: labels.unwrap_or_default(),
            reason,
            until,
            rules: rules?.into_iter().flatten().collect(),
        })
    }
}

/// A rule by its name.
pub const RULE: Text<RuleId> = Text {
    pattern: || None,
    parse: |text| {
        find(text)
            .map(|rule| rule.id)
            .ok_or(())
            .or_else(|()| unknown_rule(text))
    },
};

/// All rules that a text names.
const RULE_PATTERN: Text<Vec<RuleId>> = Text {
    pattern: || Some("^[a-z*-]+$"),
    parse: |text| {
        let rules = CATALOGUE.iter().map(|rule| rule.id);
        let named: Vec<RuleId> = rules.filter(|id| names_rule(text, id.as_str())).collect();
        if named.is_empty() {
            unknown_rule(text)
        } else {
            Ok(named)
        }
    },
};

fn unknown_rule<T>(text: &str) -> Result<T, Wrong> {
    let names = CATALOGUE.iter().map(|rule| rule.id.as_str());
    let suggestion = Suggestion::likely_name(text, names).unwrap_or_else(|| {
        Suggestion::from("run `poolgate rules` for the list. The rules of lint alone have no level")
    });
    wrong("there is no such rule", Some(suggestion))
}

/// The levels of rules. The schema names every rule, so that an editor can offer them.
struct RuleLevels;

impl Kind for RuleLevels {
    type Value = Levels;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Levels> {
        let read = MapOf(RULE, LevelOfRule).read(value, path, found)?;
        let mut levels = Levels::default();
        for (rule, level) in read {
            levels.set(rule, level);
        }
        Some(levels)
    }

    fn schema(&self) -> Value {
        let level = |title: &str| with_description(LevelOfRule.schema(), title);
        let rules: Map<String, Value> = CATALOGUE
            .iter()
            .map(|rule| (rule.id.as_str().to_owned(), level(&rule.page().title)))
            .collect();
        json!({"type": "object", "properties": rules, "additionalProperties": false})
    }
}
