//! The grammars of the texts in a NodePool, each with exactly the meaning that Karpenter's own parser gives it.
//! Knows nothing of NodePools: neither which field a text is in, nor whether it is wise, only whether it can be
//! read and what it means. Errors are clauses that callers put into their own sentences, and `suggestion` gives
//! what to write instead if that is certain.

pub mod cron;
mod digits;
pub mod duration;
mod excerpt;
pub mod label;
mod mistake;
pub mod nodes;
pub mod quantity;
mod words;

use digits::{digits, is_number};
use excerpt::{excerpt, is_cut};
pub use mistake::Mistake;
pub(crate) use words::words;
