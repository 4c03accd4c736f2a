//! Pods and PodDisruptionBudgets, as far as Karpenter minds them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use poolgate_core::karpenter::{DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION};
use poolgate_core::nodelimit::plan::DoNotDisrupt;
use serde::Deserialize;

use crate::cluster::objects::{Conditions, Metadata, Object, Texts, instant};

/// The annotation of a pod that mirrors a static one.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// How long after its end a pod that is still there counts.
const STUCK: SignedDuration = SignedDuration::from_mins(1);

/// A pod.
pub type PodObject = Object<Metadata<Texts, Texts>, PodSpec, PodStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    pub node_name: Option<Box<str>>,
    tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Toleration {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    phase: Option<Box<str>>,
    start_time: Option<Box<str>>,
    conditions: Conditions,
}

/// How long a pod must not be disrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Until it ends.
    WhileItRuns,
    /// Until this time.
    Until(Timestamp),
}

/// A PodDisruptionBudget.
pub type PodBudget = Object<Metadata, PodBudgetSpec, PodBudgetStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodBudgetSpec {
    selector: Option<Selector>,
    unhealthy_pod_eviction_policy: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: Texts,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodBudgetStatus {
    pub disruptions_allowed: i64,
    pub current_healthy: i64,
    pub desired_healthy: i64,
}

impl PodObject {
    /// Its namespace and name.
    pub fn path(&self) -> String {
        format!("{}/{}", self.metadata.namespace, self.metadata.name)
    }

    fn is_terminal(&self) -> bool {
        matches!(self.status.phase.as_deref(), Some("Succeeded" | "Failed"))
    }

    /// Whether it runs, and nobody has asked it to end.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && self.metadata.deletion_timestamp.is_none()
    }

    fn is_mirror(&self) -> bool {
        self.metadata.annotation(MIRROR).is_some()
    }

    /// Whether its node is not empty because of it.
    pub fn is_reschedulable(&self) -> bool {
        let comes_again = !self.is_terminal() && self.metadata.is_owned_by("StatefulSet");
        (self.is_active() || comes_again) && !self.metadata.is_owned_by("DaemonSet") && !self.is_mirror()
    }

    /// Its annotation, if that is one that Karpenter minds.
    fn do_not_disrupt(&self) -> Option<DoNotDisrupt> {
        DoNotDisrupt::parse(self.metadata.annotation(DO_NOT_DISRUPT_ANNOTATION)?)
    }

    /// How long its annotation forbids disruption; `None` if it does not.
    pub fn protection(&self, now: Timestamp) -> Option<Protection> {
        let started = instant(self.status.start_time.as_deref());
        match (self.do_not_disrupt().filter(|_| self.is_active())?, started) {
            (DoNotDisrupt::Always, _) | (DoNotDisrupt::For(_), None) => Some(Protection::WhileItRuns),
            (DoNotDisrupt::For(length), Some(started)) => {
                let end = started.checked_add(length).unwrap_or(Timestamp::MAX);
                (now < end).then_some(Protection::Until(end))
            }
        }
    }

    /// Whether a drain waits until it is gone.
    pub fn is_drained(&self) -> bool {
        !self.is_mirror() && !self.tolerates_disruption()
    }

    /// Whether a drain has to evict it.
    pub fn is_evicted(&self, now: Timestamp) -> bool {
        self.is_active() && self.is_drained() && self.protection(now).is_none()
    }

    /// Until when it has time to end, if a drain waits for that.
    pub fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        let end = self.metadata.deleted().filter(|_| !self.is_terminal())?;
        let is_waited_for = self.is_drained() && now.duration_since(end) <= STUCK;
        is_waited_for.then_some(end)
    }

    fn tolerates_disruption(&self) -> bool {
        self.spec
            .tolerations
            .iter()
            .flatten()
            .any(Toleration::tolerates_disruption)
    }

    fn is_unready(&self) -> bool {
        let ready = self.status.conditions.get("Ready");
        ready.is_some_and(|ready| &*ready.status == "False")
    }
}

impl Toleration {
    fn tolerates_disruption(&self) -> bool {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (key, effect) = (text(&self.key), text(&self.effect));
        let exists = self.operator.as_deref() == Some("Exists");
        let names_it = key == DISRUPTED_TAINT && (exists || text(&self.value).is_empty());
        (names_it || (key.is_empty() && exists)) && (effect.is_empty() || effect == "NoSchedule")
    }
}

impl PodBudget {
    /// Its namespace and name.
    pub fn path(&self) -> String {
        format!("{}/{}", self.metadata.namespace, self.metadata.name)
    }

    /// Whether it selects a pod.
    pub fn covers(&self, pod: &PodObject) -> bool {
        let labels = pod.metadata.labels.as_ref();
        let value = |key: &str| labels.and_then(|labels: &BTreeMap<_, _>| labels.get(key));
        let selects = |selector: &Selector| {
            let mut labels = selector.match_labels.iter().flatten();
            let mut expressions = selector.match_expressions.iter().flatten();
            labels.all(|(key, wanted)| value(key) == Some(wanted))
                && expressions.all(|expression| expression.is_met(value(&expression.key)))
        };
        self.metadata.namespace == pod.metadata.namespace && self.spec.selector.as_ref().is_some_and(selects)
    }

    /// Whether it forbids the eviction of a pod that it covers.
    pub fn forbids(&self, pod: &PodObject) -> bool {
        let lets_unready_go = self.spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow");
        self.status.disruptions_allowed == 0 && !(lets_unready_go && pod.is_unready())
    }
}

impl Expression {
    fn is_met(&self, value: Option<&String>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.iter().flatten().any(|one| one == value));
        match &*self.operator {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}
