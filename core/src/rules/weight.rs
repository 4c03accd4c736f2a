//! Suggests what to write instead of a `spec.weight` outside of 1 to 100.

use crate::json::Json;
use crate::rules::rule::Rule;

pub static WEIGHT: Rule = rule!("weight", Error, [Schema]);

/// What to write instead of an illegal weight.
pub fn instead_of(weight: &Json<'_>) -> Option<&'static str> {
    Some(match weight.as_f64()? {
        0.0 => "leave it out: a pool without weight counts as 0",
        ..0.0 => "write 1, or leave it out to come last",
        _ => "write 100, the highest",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

    fn denied(weight: &Value) -> bool {
        let errors = errors(&json!({"spec": {"weight": weight}}));
        errors.iter().any(|error| error.ends_with("[weight]"))
    }

    #[test]
    fn weights_from_1_to_100_pass_also_as_whole_floats() {
        for weight in [json!(1), json!(100), json!(10.0), json!(null)] {
            assert!(!denied(&weight), "{weight}");
        }
        for weight in [json!(0), json!(-1), json!(101), json!(1e9)] {
            assert!(denied(&weight), "{weight}");
        }
    }
}
