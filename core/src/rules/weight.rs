//! `spec.weight`.

use crate::rule::Rule;

pub static WEIGHT: Rule = rule!("weight", Error, [Schema]);

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
