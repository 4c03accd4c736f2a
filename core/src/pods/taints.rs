//! Taints of nodes, and which pods tolerate them.

use std::fmt;

use crate::value::words;

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled there only if no other node fits.
    PreferNoSchedule,
    /// They are not scheduled there, and those that run there are evicted.
    NoExecute,
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTaint {
    /// The key of the taint.
    pub key: String,
    /// Its value; empty if it has none.
    pub value: String,
    /// What it does to pods without a toleration.
    pub effect: Effect,
}

impl fmt::Display for NodeTaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, effect } = self;
        let equals = if value.is_empty() { "" } else { "=" };
        write!(f, "{key}{equals}{value}:{}", effect.as_str())
    }
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key of the taints tolerated; `None`: every key.
    pub key: Option<String>,
    /// The values tolerated.
    pub value: Tolerated,
    /// The effect tolerated; `None`: every effect.
    pub effect: Option<Effect>,
}

/// Which values of a taint are tolerated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tolerated {
    /// Every value (operator `Exists`).
    Any,
    /// This one; empty for a taint without a value.
    Value(String),
    /// Whole numbers below this text, if it is one (operator `Lt`).
    Below(String),
    /// Whole numbers above this text, if it is one (operator `Gt`).
    Above(String),
    /// None: the operator is not known.
    Nothing,
}

words!(Effect {
    NoSchedule = "NoSchedule",
    PreferNoSchedule = "PreferNoSchedule",
    NoExecute = "NoExecute",
});

impl Toleration {
    /// As `ToleratesTaint` of `k8s.io/api/core/v1` does, with comparison operators.
    fn tolerates(&self, taint: &NodeTaint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.includes(&taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

impl Tolerated {
    fn includes(&self, value: &str) -> bool {
        let numbers = |bound: &str| Some((decimal(value)?, decimal(bound)?));
        match self {
            Self::Any => true,
            Self::Value(own) => own == value,
            Self::Below(bound) => numbers(bound).is_some_and(|(value, bound)| value < bound),
            Self::Above(bound) => numbers(bound).is_some_and(|(value, bound)| value > bound),
            Self::Nothing => false,
        }
    }
}

/// A whole number without a sign in front of 0, leading zeros or `+`.
fn decimal(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The first of these taints that no toleration of a pod tolerates.
pub(super) fn untolerated<'t>(
    mut taints: impl Iterator<Item = &'t NodeTaint>,
    tolerations: &[Toleration],
) -> Option<&'t NodeTaint> {
    taints.find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

/// True if a pod with these tolerations may run on a node with these taints.
pub fn tolerated(taints: &[NodeTaint], tolerations: &[Toleration]) -> bool {
    let hard = taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule);
    untolerated(hard, tolerations).is_none()
}
