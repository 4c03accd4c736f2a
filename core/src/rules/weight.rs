//! Suggests what to write instead of a `spec.weight` outside of 1 to 100.

use crate::json::Json;
use crate::rules::rule::Rule;

pub static WEIGHT: Rule = rule!("weight", Error, Schema);

/// What to write instead of an illegal weight.
pub fn instead_of(weight: &Json<'_>) -> Option<&'static str> {
    Some(match weight.as_f64()? {
        0.0 => "leave it out: a pool without weight counts as 0",
        ..0.0 => "write 1, or leave it out to come last",
        _ => "write 100, the highest",
    })
}
