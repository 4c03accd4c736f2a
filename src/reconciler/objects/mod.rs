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

pub use claim::{ClaimObject, SeenClaim};
pub use interned::Interned;
pub use key::Key;
pub use node::{NodeKinds, NodeObject, SeenNode};
pub use pod::{PodKinds, PodLocation, PodObject};
pub use pod_disruption_budget::BudgetObject;
