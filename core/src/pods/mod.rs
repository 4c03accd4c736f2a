//! What a pod needs of its node, and whether a new node of a NodePool would do: Karpenter's own comparison.

mod compare;
mod labels;
mod machines;
mod needs;
mod resources;
mod selector;
mod spec;
mod taints;
mod template;
#[cfg(test)]
mod testing;
mod verdict;

pub use compare::{Comparer, Facts};
pub use machines::{InstanceType, Left, Machines, left};
pub use needs::{LabelRequirement, Needs, Others, Term, Where};
pub use resources::{PODS, Resources};
pub use selector::{Expression, NodeSelector};
pub use spec::PodSpec;
pub use taints::{Effect, NodeTaint, Tolerated, Toleration, tolerated};
pub use template::{NodeTemplate, Offered};
pub use verdict::{Comparison, Conflict, Shortfall, Unknown, Wanted};
