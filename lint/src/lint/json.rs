//! Whether a file named `.json` is JSON for other programs than kubectl, which reads what is not JSON as YAML.

use poolgate_core::diagnostic::Severity;
use serde::de::IgnoredAny;

use super::finding::Finding;
use crate::edit::SourceRange;
use crate::files::clean;
use crate::text_rules;

/// The finding on a text that is not JSON.
pub fn finding(why: &str, place: SourceRange) -> Finding {
    Finding {
        title: format!("kubectl reads this as YAML, but it is not JSON: {}", clean(why)),
        suggestion: Some(
            "write JSON: tools that go by the name of the file, such as Argo CD, cannot read this".into(),
        ),
        ..Finding::at(text_rules::JSON, Severity::Warning, place)
    }
}

/// Where a text stops being JSON, and why; `None` if it is objects one after the other.
pub fn mistake(text: &str) -> Option<(usize, String)> {
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let objects = serde_json::Deserializer::from_str(unmarked).into_iter::<IgnoredAny>();
    let error = objects.into_iter().find_map(Result::err)?;
    let line_start: usize = unmarked
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let at = line_start + error.column().saturating_sub(1);
    let offset = text.len() - unmarked.len() + unmarked.floor_char_boundary(at.min(unmarked.len()));
    let (before, behind) = text.split_at_checked(offset).unwrap_or_default();
    if behind.starts_with(['}', ']']) && before.trim_end().ends_with(',') {
        return Some((offset, "there is a comma before the closing bracket".into()));
    }
    let reported = error.to_string();
    let why = reported.split(" at line ").next().unwrap_or_default().to_owned();
    Some((offset, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_json_is_found_where_it_begins() {
        for (text, expected) in [
            ("{\"a\": [1, 2]}\n{\"b\": null}\n", None),
            ("\u{feff}{}", None),
            ("", None),
            (
                "{\n\"é\": 1,\n}",
                Some(("}", "there is a comma before the closing bracket")),
            ),
            (
                "\u{feff}[1,]",
                Some(("]", "there is a comma before the closing bracket")),
            ),
            ("a: 1\n", Some(("a", "expected value"))),
            ("{} # c\n", Some(("#", "expected value"))),
        ] {
            let found = mistake(text);
            let found = found
                .as_ref()
                .map(|(offset, why)| (text.get(*offset..=*offset).unwrap_or_default(), why.as_str()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
