//! Fields of the wrong JSON type.

use serde_json::Value;

use super::findings::Findings;
use crate::diagnostic::{Edit, ErrorType, FieldPath, Origin, Suggestion};
use crate::json::Json;
use crate::karpenter::shape::Shape;
use crate::rules::rule::Rule;

pub static FIELD_TYPE: Rule = rule!("field-type", Error, Schema);

/// Reports one value of the wrong type.
pub fn report(path: FieldPath, value: &Json<'_>, expected: &Shape, findings: &mut Findings<'_>) {
    if is_wrapper(&path) && value.is_object() {
        let reason = "the limits are written without this field around them since v1beta1";
        let unwrap = Suggestion::from("write its entries directly under limits").with(Edit::Unwrap);
        findings
            .report(&FIELD_TYPE, path, ErrorType::mistyped(value), reason)
            .suggest(unwrap);
        return;
    }
    let reason = format!("must be {expected}");
    let finding = findings.report(&FIELD_TYPE, path, ErrorType::mistyped(value), reason);
    match (value, expected) {
        (Json::Number(_) | Json::Bool(_), Shape::Text | Shape::FormattedText | Shape::IntegerOrText) => {
            finding.suggest(Suggestion::quote(&value.to_string()))
        }
        (Json::String(text), Shape::Integer | Shape::Boolean) => {
            finding.suggest_if_known(unquoted(text.trim(), expected).map(|bare| {
                Suggestion::from(format!("write it without quotes: {bare}")).with(Edit::Set(bare))
            }))
        }
        (Json::Array(_), Shape::FormattedText) => finding.origin(Origin::Silent).consequence(
            "the API server accepts a list, but Karpenter then fails to list every object of this kind",
        ),
        (Json::Object(_), Shape::List(_)) => finding.suggest("begin each element with a dash"),
        (Json::String(text), Shape::List(_)) if is_word(text) => {
            finding.suggest(format!("write [{}]", text.trim()))
        }
        _ => finding,
    };
}

/// Whether a field holds the limits of a Provisioner, the predecessor of the NodePool.
fn is_wrapper(path: &FieldPath) -> bool {
    *path == FieldPath::of(&["spec", "limits", "resources"])
}

/// Whether a string can be in a YAML list without quotes.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    !text.trim().is_empty() && text.trim().bytes().all(is_plain)
}

/// The number or boolean that a string spells; `None` if it is ambiguous, such as `010`.
fn unquoted(text: &str, expected: &Shape) -> Option<Value> {
    let value: Value = match expected {
        Shape::Integer => text.parse::<i64>().ok()?.into(),
        _ => text.parse::<bool>().ok()?.into(),
    };
    let spelled = value.to_string();
    (spelled == text).then_some(value)
}
