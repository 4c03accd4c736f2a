//! Values as YAML, in block or in flow style. Texts are quoted unless they are plain words.

use serde_json::{Value, json};

use poolgate_core::manifest;

/// By how many columns a text indents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indentation {
    /// The entries of a mapping below their key.
    pub entries: usize,
    /// The dashes of a list below its key.
    pub items: usize,
}

impl Indentation {
    /// What kubectl writes.
    pub const USUAL: Self = Self { entries: 2, items: 0 };

    /// What a text does first; the usual where it does neither.
    pub fn of(text: &str) -> Self {
        let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let lines: Vec<&str> = text.lines().filter(is_content).collect();
        let (mut entries, mut items) = (None, None);
        for (key, below) in lines.iter().zip(lines.iter().skip(1)) {
            let key = key.split(" #").next().unwrap_or_default().trim_end();
            let inner = key.trim_start_matches([' ', '-']);
            if !inner.ends_with(':') {
                continue;
            }
            let Some(by) = blanks(below).checked_sub(key.len() - inner.len()) else {
                continue;
            };
            if below.trim_start().starts_with("- ") {
                items = items.or(Some(by));
            } else if by > 0 {
                entries = entries.or(Some(by));
            }
        }
        Self {
            entries: entries.unwrap_or(Self::USUAL.entries),
            items: items.unwrap_or(Self::USUAL.items),
        }
    }
}

/// A key with its value.
pub fn entry(key: &str, value: &Value, by: Indentation) -> String {
    let mut lines = Vec::new();
    push_entry(&mut lines, "", key, value, by);
    lines.join("\n")
}

/// A whole document in block style.
pub fn document(value: &Value) -> String {
    let mut lines = Vec::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                push_entry(&mut lines, "", key, value, Indentation::USUAL);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                push_item(&mut lines, "", item, Indentation::USUAL);
            }
        }
        scalar => lines.push(shown(scalar)),
    }
    lines.join("\n") + "\n"
}

/// A value in flow style, on one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let entries = fields.iter().map(|(key, value)| flow_entry(key, value));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        scalar => shown(scalar),
    }
}

/// A key with its value in flow style, on one line.
pub fn flow_entry(key: &str, value: &Value) -> String {
    format!("{}: {}", text(key), flow(value))
}

/// A value in place of a scalar: a text has the quotes of the old one.
pub fn in_quotes_of(old: &str, value: &Value) -> String {
    match (old.bytes().next(), value.as_str()) {
        (Some(b'\''), Some(text)) if !text.contains(|c: char| c == '\'' || c.is_control()) => {
            format!("'{text}'")
        }
        (Some(b'"' | b'\''), Some(text)) => quoted(text),
        _ => flow(value),
    }
}

fn push_entry(lines: &mut Vec<String>, indent: &str, key: &str, value: &Value, by: Indentation) {
    let key = text(key);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            lines.push(format!("{indent}{key}:"));
            let deeper = format!("{indent}{:width$}", "", width = by.entries);
            for (key, value) in fields {
                push_entry(lines, &deeper, key, value, by);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            lines.push(format!("{indent}{key}:"));
            let deeper = format!("{indent}{:width$}", "", width = by.items);
            for item in items {
                push_item(lines, &deeper, item, by);
            }
        }
        Value::String(text) if is_literal(text) => {
            lines.push(format!("{indent}{key}: |-"));
            let deeper = |line: &str| {
                if line.is_empty() {
                    String::new()
                } else {
                    format!("{indent}  {line}")
                }
            };
            lines.extend(text.split('\n').map(deeper));
        }
        scalar => lines.push(format!("{indent}{key}: {}", shown(scalar))),
    }
}

/// Characters that end a line to some readers of YAML, or that are no text to them.
const BREAKS: [char; 4] = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];

/// Whether a text of several lines may be written as it is, as kubectl writes it.
fn is_literal(text: &str) -> bool {
    let is_plain =
        |line: &str| !line.contains(char::is_control) && !line.contains(BREAKS) && line.trim_end() == line;
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with('\n')
        && text.split('\n').all(is_plain)
}

fn push_item(lines: &mut Vec<String>, indent: &str, item: &Value, by: Indentation) {
    let Some(fields) = item.as_object().filter(|fields| !fields.is_empty()) else {
        lines.push(format!("{indent}- {}", shown(item)));
        return;
    };
    let first = lines.len();
    let deeper = format!("{indent}  ");
    for (key, value) in fields {
        push_entry(lines, &deeper, key, value, by);
    }
    if let Some(line) = lines.get_mut(first)
        && let Some(rest) = line.strip_prefix(&deeper)
    {
        *line = format!("{indent}- {rest}");
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), text)
}

fn text(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    let is_word = text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_plain)
        && manifest::is_text(text);
    if is_word { text.to_owned() } else { quoted(text) }
}

/// A text in double quotes, which JSON reads as YAML does.
fn quoted(text: &str) -> String {
    let mut quoted = json!(text).to_string();
    for character in BREAKS {
        quoted = quoted.replace(character, &format!("\\u{:04x}", u32::from(character)));
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::values;

    #[test]
    fn values_are_read_back_as_they_were() {
        for value in [
            json!("10%"),
            json!("720h"),
            json!([{"nodes": "10%"}, {"nodes": "5", "schedule": "0 9 * * *", "duration": "8h"}]),
            json!({"budgets": [{"nodes": "1e3"}], "consolidateAfter": "0s", "empty": [], "deep": {"a": {"b": "y"}}}),
            json!([
                "a",
                1,
                true,
                null,
                "1:30",
                "~",
                "",
                "---",
                "-",
                "a/b-c.d_e",
                "1.5",
                "0x1f",
                "a #b",
                "é\u{85}\n"
            ]),
            json!({"text": "- two: [lines\n  # of\n\n\ttext", "more": ["a\nb", " a\nb", "a\nb\n", "a \nb"]}),
            json!({"a": " a\nb", "b": "a\nb\n", "c": "a \nb", "d": "a\u{2028}\nb", "e": "a\nb"}),
            json!({"on": 1, "a: b": {"": [[1, [2]], {}]}, "karpenter.sh/x": "1_000", "7": null}),
        ] {
            let object = json!({"key": value, "and": 7});
            for (text, read) in [
                (entry("key", &value, Indentation::USUAL), json!({"key": value})),
                (
                    entry("key", &value, Indentation { entries: 4, items: 2 }),
                    json!({"key": value}),
                ),
                (document(&object), object.clone()),
                (flow(&object), object.clone()),
                (document(&json!([object, value])), json!([object, value])),
            ] {
                assert_eq!(values(&text).next(), Some(read), "{text}");
            }
        }
    }

    #[test]
    fn a_text_shows_how_it_is_indented() {
        for (text, entries, items) in [
            ("a: 1\n", 2, 0),
            ("a:\n    b: 1\n    c: # why\n      # more\n      - 1\n", 4, 2),
            ("a:\n- b:\n  - 1\n", 2, 0),
            ("- b:\n    - 1\n    - c:\n         d: 1\n", 3, 2),
        ] {
            assert_eq!(Indentation::of(text), Indentation { entries, items }, "{text}");
        }
    }

    #[test]
    fn a_list_in_flow_style_is_written_as_people_write_it() {
        let budgets =
            json!([{"nodes": "10%"}, {"nodes": "0", "reasons": ["Empty", "Drifted"], "duration": "8h"}]);
        assert_eq!(
            flow_entry("budgets", &budgets),
            "budgets: [{nodes: \"10%\"}, {duration: 8h, nodes: \"0\", reasons: [Empty, Drifted]}]"
        );
    }

    #[test]
    fn a_value_has_the_quotes_of_the_old_one() {
        for (old, new, written) in [
            ("1d", json!("24h"), "24h"),
            ("'1d'", json!("24h"), "'24h'"),
            ("\"1d\"", json!("24h"), "\"24h\""),
            ("'1d'", json!("it's"), "\"it's\""),
            // Without quotes it would be a number again.
            ("5", json!("5"), "\"5\""),
            ("0 9 * * 7", json!("0 9 * * 0"), "\"0 9 * * 0\""),
            ("\"7\"", json!(7), "7"),
        ] {
            assert_eq!(in_quotes_of(old, &new), written, "{old}");
        }
    }
}
