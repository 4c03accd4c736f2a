//! A NodePool as it is written: tolerant, borrowed views of its JSON.
//!
//! Any object can be viewed; a field of the wrong type is reported once, by [`violations()`], and ignored by all other code.

mod disruption;
pub(crate) mod door;
mod field;
mod nodepool;
mod taint;
mod template;
mod violations;

pub use disruption::Disruption;
pub use door::Map;
pub use field::Field;
pub use nodepool::NodePool;
pub use taint::{Taint, TaintList};
pub use template::{Requirement, Template};
pub(crate) use violations::{SchemaViolation, violations};
