//! The text of a policy file, YAML or JSON, to the policy that everything else checks by, with the position of every
//! mistake.
//!
//! One table (`fields`) says what may be in a file. The checks and the JSON Schema follow it; `consistency` checks fields
//! against each other.

mod check;
mod consistency;
mod decode;
mod fields;
mod grammar;
mod mistakes;
mod policy_test;
mod read;
mod schema;

#[cfg(test)]
mod tests;

pub use mistakes::{Mistake, Mistakes};
pub use policy_test::{Case, CaseObject, Expected, PolicyTest, parse_policy_test};
pub use read::{MAX_BYTES, ReadPolicy, parse};
pub use schema::schema;
