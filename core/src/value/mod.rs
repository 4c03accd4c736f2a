//! The grammars of the texts in a NodePool, each with exactly the meaning that Karpenter's own parser gives it.
//! Knows nothing of NodePools: neither which field a text is in, nor whether it is wise, only whether it can be
//! read and what it means. Errors are clauses that callers put into their own sentences, and `suggestion` gives
//! what to write instead if that is certain.

pub mod cron;
pub mod duration;
pub mod hours;
pub mod label;
mod mistake;
pub mod nodes;
pub mod quantity;
mod words;

pub use mistake::Mistake;
pub(crate) use mistake::excerpt;
use mistake::is_cut;
pub(crate) use words::{in_any_case, words};

/// The digits at the beginning of a text, and what follows them.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Whether a text consists of digits, at least one.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
