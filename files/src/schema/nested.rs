//! Schemas of a value deep in a document, and patterns.

use serde_json::{Value, json};

/// The schema of a document whose value at this path must match, wherever it is present. A path is written as
/// `spec.disruption.budgets[].nodes`.
pub fn below(path: &str, schema: Value) -> Value {
    path.rsplit('.').fold(schema, |schema, step| {
        let name = step.trim_end_matches("[]");
        let inside = if name.len() < step.len() {
            json!({"items": schema})
        } else {
            schema
        };
        json!({"properties": {name: inside}})
    })
}

/// The schema of a document that has a value at this path, and one that matches. Of a list, one element is enough. The message
/// is for a field that is missing.
pub fn has(path: &str, schema: Value, message: Option<&str>) -> Value {
    path.rsplit('.').fold(schema, |schema, step| {
        let name = step.trim_end_matches("[]");
        let inside = if name.len() < step.len() {
            json!({"contains": schema})
        } else {
            schema
        };
        let mut outside = json!({"required": [name], "properties": {name: inside}});
        if let (Some(message), Value::Object(keywords)) = (message, &mut outside) {
            keywords.insert("errorMessage".into(), message.into());
        }
        outside
    })
}

/// A text as a pattern that matches it. A dash stays: with Unicode, JavaScript takes no backslash before it.
pub fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\^$.*+?()[]{}|/".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// A pattern of the whole numbers up to this one, also with zeros before it.
pub fn at_most(most: u64) -> String {
    let digits = most.to_string();
    let mut numbers: Vec<String> = Vec::new();
    if digits.len() > 1 {
        numbers.push(format!("[0-9]{{1,{}}}", digits.len() - 1));
    }
    for (place, digit, rest) in places(&digits) {
        if digit > 0 {
            numbers.push(format!("{place}[0-{}][0-9]{{{rest}}}", digit - 1));
        }
    }
    numbers.push(digits);
    format!("0*(?:{})", numbers.join("|"))
}

/// A pattern of the whole numbers from this one on, also with zeros before it.
pub fn at_least(least: u64) -> String {
    let digits = least.to_string();
    let mut numbers = vec![format!("[1-9][0-9]{{{},}}", digits.len())];
    for (place, digit, rest) in places(&digits) {
        if digit < 9 {
            numbers.push(format!("{place}[{}-9][0-9]{{{rest}}}", digit + 1));
        }
    }
    numbers.push(digits);
    format!("0*(?:{})", numbers.join("|"))
}

/// Each digit, with those before it and how many follow.
fn places(digits: &str) -> impl Iterator<Item = (&str, u32, usize)> {
    digits.char_indices().filter_map(|(at, digit)| {
        let before = digits.get(..at)?;
        Some((before, digit.to_digit(10)?, digits.len() - at - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        let schema = json!({"pattern": format!("^{pattern}$")});
        jsonschema::is_valid(&schema, &json!(text))
    }

    #[test]
    fn numbers_match_the_pattern_of_a_bound_as_they_compare() {
        let mut bounds = vec![0, 1, 5, 9, 10, 19, 20, 99, 100, 101, 500, 720, 1_000, 1_099];
        bounds.push(u64::MAX);
        for bound in bounds {
            let (most, least) = (at_most(bound), at_least(bound));
            let near = bound.saturating_sub(12)..=bound.saturating_add(12);
            for number in near.chain(0..130).chain([u64::MAX, 10_000]) {
                for text in [number.to_string(), format!("00{number}")] {
                    assert_eq!(matches(&most, &text), number <= bound, "{text} at most {bound}");
                    assert_eq!(matches(&least, &text), number >= bound, "{text} at least {bound}");
                }
            }
        }
    }

    #[test]
    fn a_schema_reaches_the_value_at_its_path() {
        let zero = json!({"const": 0});
        assert_eq!(
            below("a[].b", zero.clone()),
            json!({"properties": {"a": {"items": {"properties": {"b": {"const": 0}}}}}})
        );
        assert_eq!(
            has("a[].b", zero, None),
            json!({"required": ["a"], "properties": {"a": {"contains": {
                "required": ["b"], "properties": {"b": {"const": 0}},
            }}}})
        );
    }
}
