//! Taints, and pods that tolerate them.

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// They are not put there.
    NoSchedule,
    /// They are put there only if need be.
    PreferNoSchedule,
    /// They are driven out.
    NoExecute,
}

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value; empty where it has none.
    pub value: String,
    /// What it does.
    pub effect: Effect,
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key of the taints tolerated; every key where there is none.
    pub key: Option<String>,
    /// The value tolerated; every value where there is none (operator `Exists`). An empty text for operator `Equal`
    /// without value.
    pub value: Option<String>,
    /// The effect tolerated; every effect where there is none.
    pub effect: Option<Effect>,
}

impl Effect {
    /// The effect of exactly this name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "NoSchedule" => Some(Self::NoSchedule),
            "PreferNoSchedule" => Some(Self::PreferNoSchedule),
            "NoExecute" => Some(Self::NoExecute),
            _ => None,
        }
    }
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// Whether these tolerations let a pod be put where these taints are.
pub(super) fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        .all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}
