//! The grammars of the texts that are in a NodePool, each with exactly the meaning that Karpenter's own
//! parser gives it. Knows nothing of NodePools: neither where a text stands, nor whether it is wise, only
//! whether it can be read and what it means. Says nothing in full sentences: errors read as clauses for
//! somebody else's sentence, and `suggestion` gives what to write instead where that is certain.

pub mod cron;
pub mod duration;
mod excerpt;
pub mod label;
pub mod nodes;
pub mod quantity;
pub mod timestamp;

use excerpt::{excerpt, is_cut};
