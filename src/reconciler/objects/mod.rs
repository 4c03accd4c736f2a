//! Objects of the cluster, as far as a plan depends on them: each is read into a struct of the few fields needed,
//! and turned at once into the plan's own type. Fields of a type that the API server would not store count as
//! missing. Does not know which watch delivers the objects.

mod claim;
mod interned;
mod key;
mod node;
mod pod;
mod pod_disruption_budget;
mod pod_needs;

pub(super) use claim::{ClaimObject, SeenClaim};
pub(super) use interned::Interned;
pub(super) use key::Key;
pub(super) use node::{NodeKinds, NodeObject, SeenNode};
pub(super) use pod::{PodKinds, PodLocation, PodObject, SeenPod};
pub(super) use pod_disruption_budget::BudgetObject;
