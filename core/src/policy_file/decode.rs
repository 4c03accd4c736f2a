//! A document that the table allows, as a policy. What cannot be read was reported before.

use crate::api::{AtLimit, NodeLimitMode, OverLimit};
use crate::diagnostic::FieldPath;
use crate::karpenter::{LabelSets, LabelValues, Provider, TargetKarpenter};
use crate::policy::{
    Bounds, BudgetBounds, DeclaredCluster, DefaultValues, DurationBounds, Enforcement, Exemption,
    FeatureGate, FreezeWindow, Glob, Level, Levels, LimitBounds, NodeClassPattern, Policy,
    REPAIR_GRACE_PERIOD, TemplateBounds, WebhookUse, Written,
};
use crate::rules::{CATALOGUE, find};
use crate::value::cron::Schedule;
use crate::value::duration::{BudgetDuration, GoDuration};
use crate::value::quantity::Quantity;
use serde_json::Value;

use super::mistakes::{At, Found};

/// A value in the document, which may be absent.
#[derive(Clone, Copy)]
pub struct Cursor<'v>(Option<&'v Value>);

impl<'v> Cursor<'v> {
    pub fn root(document: &'v Value) -> Self {
        Self(Some(document))
    }

    pub fn value(self) -> Option<&'v Value> {
        self.0
    }

    pub fn at(self, key: &str) -> Self {
        let value = self.0.and_then(|value| value.get(key));
        Self(value.filter(|value| !value.is_null()))
    }

    pub fn text(self) -> Option<&'v str> {
        self.0.and_then(Value::as_str)
    }

    fn word<T: Default>(self, parse: impl FnOnce(&str) -> Option<T>) -> T {
        self.text().and_then(parse).unwrap_or_default()
    }

    pub fn owned(self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    fn number<N: TryFrom<i64>>(self) -> Option<N> {
        self.0?.as_i64()?.try_into().ok()
    }

    fn is_true(self) -> bool {
        self.0.and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn elements(self) -> impl Iterator<Item = Self> {
        let list = self.0.and_then(Value::as_array);
        list.into_iter().flatten().map(|value| Self(Some(value)))
    }

    fn entries(self) -> impl Iterator<Item = (&'v String, Self)> {
        let map = self.0.and_then(Value::as_object);
        let entries = map.into_iter().flatten();
        entries.map(|(key, value)| (key, Self(Some(value))))
    }

    fn texts(self) -> Vec<String> {
        self.elements().filter_map(Self::owned).collect()
    }

    fn written<T>(self, parse: impl FnOnce(&str) -> Option<T>) -> Option<Written<T>> {
        let text = self.text()?;
        Some(Written {
            text: text.to_owned(),
            value: parse(text)?,
        })
    }

    fn globs(self) -> Vec<Glob> {
        self.elements().filter_map(Self::text).map(Glob::new).collect()
    }
}

/// The policy of a document. A field without effect is noted.
pub fn decode(document: &Value, notes: &mut Found) -> Policy {
    let root = Cursor(Some(document));
    Policy {
        enforcement: root.at("enforcement").word(Enforcement::parse),
        levels: levels(root.at("rules"), notes),
        defaults: defaults(root.at("defaults")),
        bounds: bounds(root.at("bounds")),
        exemptions: root.at("exemptions").elements().map(exemption).collect(),
        cluster: cluster(root.at("cluster"), notes),
        labels: labels(root.at("labels")),
        over_limit: root.at("overLimit").word(OverLimit::parse),
        at_limit: root.at("atLimit").word(AtLimit::parse),
        repair_grace_period: root
            .at("repairGracePeriod")
            .text()
            .and_then(|text| GoDuration::parse(text).ok()?.as_duration())
            .unwrap_or(REPAIR_GRACE_PERIOD),
    }
}

fn cluster(cluster: Cursor<'_>, notes: &mut Found) -> DeclaredCluster {
    let gates = cluster.at("featureGates").entries();
    let karpenter = cluster.at("karpenter").text().and_then(|text| text.parse().ok());
    if let Some(caution) = karpenter.and_then(|release| TargetKarpenter::from(release).caution()) {
        notes.push(
            &FieldPath::of(&["cluster", "karpenter"]),
            At::Value,
            &caution,
            None,
        );
    }
    DeclaredCluster {
        karpenter,
        provider: cluster.at("provider").text().and_then(Provider::of_id),
        provider_version: cluster
            .at("providerVersion")
            .text()
            .and_then(|text| text.parse().ok()),
        feature_gates: gates
            .filter_map(|(gate, on)| Some((FeatureGate::parse(gate)?, on.is_true())))
            .collect(),
        webhook: cluster.at("webhook").text().and_then(WebhookUse::parse),
    }
}

/// The values of a label that the organisation adds are not known.
fn labels(labels: Cursor<'_>) -> LabelSets {
    let keys = labels.at("wellKnown").texts().into_iter();
    LabelSets::with(
        keys.map(|key| (key, LabelValues::Any)),
        labels.at("restrictedDomains").texts(),
    )
}

fn levels(rules: Cursor<'_>, notes: &mut Found) -> Levels {
    let mut levels = Levels::default();
    for (id, level) in rules.entries() {
        // YAML reads the word `off` as false.
        let level = level.text().map_or(Some(Level::Off), Level::parse);
        let (Some(rule), Some(level)) = (find(id), level) else {
            continue;
        };
        levels.set(rule.id, level);
        let kinds = rule.page().kinds;
        let raised = kinds
            .iter()
            .filter(|kind| levels.get(rule.id, kind.origin) != Some(level));
        let when = match raised.count() {
            0 => continue,
            count if count < kinds.len() => " where",
            _ => ":",
        };
        let path = FieldPath::of(&["rules"]).key(id.clone());
        let wrong = format!("{id} stays a warning{when} Karpenter rejects it anyway, with less explanation");
        notes.push(&path, At::Value, &wrong, None);
    }
    levels
}

fn defaults(value: Cursor<'_>) -> DefaultValues {
    let built_in = DefaultValues::default();
    let text = |field: &str, otherwise: String| value.at(field).owned().unwrap_or(otherwise);
    let budgets = value.at("budgets");
    DefaultValues {
        budgets: budgets.0.map_or(built_in.budgets, |_| {
            budgets.elements().map(default_budget).collect()
        }),
        consolidation_policy: text("consolidationPolicy", built_in.consolidation_policy),
        consolidate_after: text("consolidateAfter", built_in.consolidate_after),
        node_limit_mode: value
            .at("nodeLimitMode")
            .text()
            .and_then(NodeLimitMode::parse)
            .unwrap_or(built_in.node_limit_mode),
    }
}

/// A budget as it is in a NodePool: all its fields are texts, but for the list of reasons.
fn default_budget(budget: Cursor<'_>) -> Value {
    let fields = budget.entries().filter_map(|(field, value)| {
        let value = match field.as_str() {
            "reasons" => value.0.cloned()?,
            _ => value.text()?.into(),
        };
        Some((field.clone(), value))
    });
    Value::Object(fields.collect())
}

fn bounds(value: Cursor<'_>) -> Bounds {
    let limits = value.at("limits");
    let budgets = value.at("budgets");
    Bounds {
        limits: LimitBounds {
            required: limits.at("required").texts(),
            max: limits
                .at("max")
                .entries()
                .filter_map(|(resource, most)| Some((resource.clone(), quantity(most)?)))
                .collect(),
        },
        budgets: BudgetBounds {
            max_percent: budgets.at("maxPercent").number(),
            max_nodes: budgets.at("maxNodes").number(),
            max_budgets: budgets.at("maxBudgets").number(),
            require_always: budgets.at("requireAlways").is_true(),
            freeze_windows: budgets
                .at("freezeWindows")
                .elements()
                .filter_map(freeze_window)
                .collect(),
        },
        template: template_bounds(value.at("template")),
    }
}

fn quantity(value: Cursor<'_>) -> Option<Written<Quantity>> {
    let number = value.0.and_then(Value::as_u64).map(|number| Written {
        text: number.to_string(),
        value: Quantity::from(number),
    });
    number.or_else(|| value.written(|text| Quantity::parse(text).ok()))
}

fn freeze_window(value: Cursor<'_>) -> Option<FreezeWindow> {
    Some(FreezeWindow {
        schedule: value.at("schedule").written(|text| Schedule::parse(text).ok())?,
        duration: value
            .at("duration")
            .written(|text| BudgetDuration::parse(text).ok())?,
    })
}

fn template_bounds(value: Cursor<'_>) -> TemplateBounds {
    let node_classes = value.at("nodeClasses");
    let capacity_types = value.at("capacityTypes");
    TemplateBounds {
        required_labels: value.at("requiredLabels").texts(),
        capacity_types: capacity_types.0.map(|_| capacity_types.texts()),
        node_classes: node_classes
            .0
            .map(|_| node_classes.elements().map(node_class).collect()),
        expire_after: duration_bounds(value.at("expireAfter")),
        termination_grace_period: duration_bounds(value.at("terminationGracePeriod")),
    }
}

fn node_class(value: Cursor<'_>) -> NodeClassPattern {
    let glob = |field: &str| value.at(field).text().map(Glob::new);
    NodeClassPattern {
        group: glob("group"),
        kind: glob("kind"),
        name: glob("name"),
    }
}

fn duration_bounds(value: Cursor<'_>) -> DurationBounds {
    let duration = |field: &str| value.at(field).written(|text| GoDuration::parse(text).ok());
    DurationBounds {
        min: duration("min"),
        max: duration("max"),
    }
}

fn exemption(value: Cursor<'_>) -> Exemption {
    let patterns = value.at("rules").globs();
    let is_named = |id: &str| patterns.iter().any(|pattern| pattern.matches(id));
    let labels = value.at("labels").entries();
    Exemption {
        pools: value.at("pools").globs(),
        labels: labels
            .filter_map(|(key, value)| Some((key.clone(), value.owned()?)))
            .collect(),
        reason: value.at("reason").owned(),
        until: value.at("until").text().and_then(|text| text.parse().ok()),
        rules: CATALOGUE
            .iter()
            .map(|rule| rule.id)
            .filter(|id| is_named(id.as_str()))
            .collect(),
    }
}
