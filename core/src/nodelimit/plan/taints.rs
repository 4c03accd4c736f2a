//! Taints, and pods that tolerate them.

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
pub struct Taint {
    /// The key of the taint.
    pub key: String,
    /// Its value; empty if it has none.
    pub value: String,
    /// What it does to pods without a toleration.
    pub effect: Effect,
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key of the taints tolerated; `None`: every key.
    pub key: Option<String>,
    /// The value tolerated; `None`: every value (operator `Exists`). An empty text for operator `Equal` without
    /// value.
    pub value: Option<String>,
    /// The effect tolerated; `None`: every effect.
    pub effect: Option<Effect>,
}

words!(Effect {
    NoSchedule = "NoSchedule",
    PreferNoSchedule = "PreferNoSchedule",
    NoExecute = "NoExecute",
});

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// Whether a pod with these tolerations may run on a node with these taints.
pub fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        .all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
