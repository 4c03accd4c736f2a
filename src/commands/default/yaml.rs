//! A small value as YAML in block style. Texts stand in quotes unless they are plain words.

use serde_json::Value;

use poolgate_core::manifest;

/// A key with its value.
pub(super) fn entry(key: &str, value: &Value) -> String {
    let mut lines = Vec::new();
    push_entry(&mut lines, "", key, value);
    lines.join("\n")
}

fn push_entry(lines: &mut Vec<String>, indent: &str, key: &str, value: &Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            lines.push(format!("{indent}{key}:"));
            let deeper = format!("{indent}  ");
            for (key, value) in fields {
                push_entry(lines, &deeper, key, value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            lines.push(format!("{indent}{key}:"));
            for item in items {
                push_item(lines, indent, item);
            }
        }
        scalar => lines.push(format!("{indent}{key}: {}", shown(scalar))),
    }
}

fn push_item(lines: &mut Vec<String>, indent: &str, item: &Value) {
    let Some(fields) = item.as_object().filter(|fields| !fields.is_empty()) else {
        lines.push(format!("{indent}- {}", shown(item)));
        return;
    };
    let first = lines.len();
    let deeper = format!("{indent}  ");
    for (key, value) in fields {
        push_entry(lines, &deeper, key, value);
    }
    if let Some(line) = lines.get_mut(first)
        && let Some(rest) = line.strip_prefix(&deeper)
    {
        *line = format!("{indent}- {rest}");
    }
}

fn shown(value: &Value) -> String {
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) && manifest::is_text(text)
    };
    match value.as_str() {
        Some(text) if is_word(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use poolgate_core::manifest::Limits;

    #[test]
    fn values_are_read_back_as_they_were() {
        for value in [
            json!("10%"),
            json!("720h"),
            json!([{"nodes": "10%"}, {"nodes": "5", "schedule": "0 9 * * *", "duration": "8h"}]),
            json!({"budgets": [{"nodes": "1e3"}], "consolidateAfter": "0s", "empty": [], "deep": {"a": {"b": "y"}}}),
            json!(["a", 1, true, null, "1:30", "~", ""]),
        ] {
            let text = entry("key", &value);
            let document = manifest::parse(&text, &Limits::default())
                .next()
                .expect("a document");
            assert_eq!(document.value(), &json!({"key": value}), "{text}");
        }
    }
}
