//! The words of an answer: whether a new node of a pool can take a pod, and why not.

use super::NodeTaint;
use super::needs::{LabelRequirement, Where};
use super::template::Offered;

/// Whether a new node of a pool can take a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// It can.
    Fits,
    /// That depends on these.
    Open(Vec<Unknown>),
    /// It cannot: why, for each required term of the pod's affinity.
    Conflicts(Vec<Conflict>),
}

/// What decides, and is not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// Whether the provider's instance types carry this label.
    Label(String),
    /// Whether Karpenter ignores preferences of pods.
    PreferencePolicy,
    /// Whether Karpenter launches nodes with fewer values than `minValues`.
    MinValuesPolicy,
    /// The affinity has more terms than are tried.
    Terms,
    /// Which instance types there are.
    Machines,
    /// What this label of the instance types is: those that are known do not say it.
    MachineLabel(String),
    /// What instance types leave to the pod: their own overhead, or the pods of `DaemonSets`.
    Overhead,
    /// Where other pods run.
    Pods,
    /// Where the pod's volumes are.
    Volumes,
    /// Which ports of the node are taken.
    Ports,
    /// Which devices there are.
    Claims,
}

/// Why a pod and a node do not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// The pod does not tolerate a taint.
    Taint(NodeTaint),
    /// The pod wants a label that no node of the pool has.
    Missing(Vec<Wanted>),
    /// The pod and the pool want different values of a label.
    Label(Vec<Wanted>, Vec<Offered>),
    /// The pod's volumes and the pool want different values of this label.
    Volume(String, Vec<Offered>),
    /// Karpenter ignores pods with `matchFields`: the index of the term.
    Fields(usize),
    /// Karpenter ignores pods that select by a label which it keeps for itself.
    Reserved(Wanted),
    /// No instance type does it.
    Machines(Shortfall),
}

/// What a pod wants of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Where that stands.
    pub at: Where,
    /// What is required.
    pub requirement: LabelRequirement,
}

/// What the instance types lack: what comes later was found by going further.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortfall {
    /// The limits leave no room for any of them.
    Limits,
    /// None has these labels.
    Labels,
    /// None of those that have them is large enough.
    Size,
    /// None of those that have them and are large enough is available as asked.
    Offering,
    /// Too few values of a label are left: the label, how many, and how many are required.
    MinValues(String, usize, usize),
}
