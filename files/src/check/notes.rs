//! What lint notes besides the rules: mistakes that no webhook ever sees, variables that were not filled in, and files named
//! `.json` that are not JSON.

use super::note::{Note, Place};
use super::subjects::Checked;
use crate::edit::SourceRange;
use crate::format::finding::Finding;
use crate::sources::Whole;
use crate::terminal::clean;
use crate::text_rules;
use poolgate_core::diagnostic::{FieldPath, Severity, first_few, quoted};
use poolgate_core::facts::{ApiVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, Span, can_be_given, variables_in};
use poolgate_core::review::Subject;
use serde::de::IgnoredAny;

/// The notes on an object that is checked for this Karpenter; `is_completed` says that a webhook writes defaults.
pub fn about(
    checked: &Checked<'_>,
    whole: Whole,
    karpenter: &TargetKarpenter,
    is_completed: bool,
) -> Vec<Note> {
    if whole == Whole::Part {
        return Vec::new();
    }
    let incomplete = || incomplete(checked, karpenter).filter(|_| !is_completed);
    unnamed(checked).into_iter().chain(incomplete()).collect()
}

/// The note on the release that an object is checked for, if the user has not named one.
pub fn guessed(checked: &Checked<'_>, karpenter: &TargetKarpenter) -> Note {
    let release = karpenter.release();
    Note {
        rule: text_rules::RELEASE,
        place: Place::Field(checked.path.clone().key("apiVersion")),
        message: format!("v1beta1 is checked for Karpenter {release} (1.0 is the last to serve it)"),
        suggestion: "set --karpenter-version to the release of the cluster".into(),
    }
}

/// An object without a name.
fn unnamed(checked: &Checked<'_>) -> Option<Note> {
    let metadata = checked.value.get("metadata");
    if metadata.is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
        // `field-type` reports it.
        return None;
    }
    let is_named = |key: &str| match metadata.and_then(|metadata| metadata.get(key)) {
        None | Some(Json::Null) => false,
        Some(name) => name.as_str() != Some(""),
    };
    if is_named("name") || is_named("generateName") {
        return None;
    }
    Some(Note {
        rule: text_rules::NAME,
        place: Place::Field(checked.path_of(&FieldPath::of(&["metadata", "name"]))),
        message: "an object must have a name".into(),
        suggestion: "add a name".into(),
    })
}

/// True if an object is a v1 NodePool that only releases accept in which `consolidateAfter` has a default.
pub fn lacks_consolidate_after(checked: &Checked<'_>) -> bool {
    let Subject::NodePool(ApiVersion::V1) = checked.subject else {
        return false;
    };
    let fields = FieldPath::of(&["spec", "disruption"]).find(checked.value);
    let fields = fields.and_then(Json::as_object);
    fields.is_some_and(|fields| fields.get("consolidateAfter").is_none_or(Json::is_null))
}

/// A NodePool that Karpenter's definition accepts only after a webhook has completed it.
fn incomplete(checked: &Checked<'_>, karpenter: &TargetKarpenter) -> Option<Note> {
    let is_rejected = lacks_consolidate_after(checked)
        && karpenter.requires("spec.disruption.consolidateAfter", checked.version());
    let field = FieldPath::of(&["spec", "disruption", "consolidateAfter"]);
    is_rejected.then(|| Note {
        rule: text_rules::DEFAULT,
        place: Place::Field(checked.path_of(&field)),
        message: format!("Karpenter {} requires consolidateAfter", karpenter.release()),
        suggestion: "write it, or run `poolgate default --write`. If poolgate's webhook writes it in your cluster, set \
                     cluster: {webhook: defaults} in the policy"
            .into(),
    })
}

/// An object that is a text for YAML, because of the text before its first brace: `//` begins no comment.
pub fn text_instead_of_object(document: &Document<'_>, text: &str) -> Option<Note> {
    let value = document.value().as_str()?;
    let is_object = value.contains("karpenter.sh/") && value.contains("apiVersion") && value.contains('{');
    let span = document.root().filter(|_| is_object)?.span();
    // As it is written: quotes and escapes are not in the value.
    let word = span.slice(text).split_whitespace().next()?.len();
    Some(Note {
        rule: text_rules::SYNTAX,
        place: Place::Text(Span::new(span.start(), span.start() + word)),
        message: "this document is a text, not an object".into(),
        suggestion:
            "remove what is before the object. JSON has no comments, and a comment of YAML begins with #"
                .into(),
    })
}

/// How many variables a note names.
const NAMED: usize = 3;

/// The note on variables that are left in a document; `None` if there are none.
pub fn variables(document: &Document<'_>, text: &str) -> Option<Note> {
    let first = document.variables().first()?;
    let places = document.variables().iter();
    let mut names: Vec<&str> = places.flat_map(|span| variables_in(span.slice(text))).collect();
    names.sort_unstable();
    names.dedup();
    let listed = first_few(names.iter().map(|name| quoted(name)), NAMED);
    Some(Note {
        rule: text_rules::VARIABLE,
        place: Place::Field(document.path_at(first.start())),
        message: format!("values that depend on {listed} are not checked"),
        suggestion: if names.iter().all(|name| can_be_given(name)) {
            "set these variables with --envsubst FILE, or check the output of the program that fills them in"
                .into()
        } else {
            "check the output of the program that fills them in".into()
        },
    })
}

/// The finding on a text that is not JSON.
pub fn not_json(why: &str, place: SourceRange) -> Finding {
    Finding {
        title: format!("the file is YAML, not JSON: {}", clean(why)),
        consequence: Some(
            "tools that go by the name of the file, such as Argo CD, reject it, although kubectl reads it"
                .into(),
        ),
        suggestion: Some("write JSON, or rename the file".into()),
        ..Finding::at(text_rules::JSON, Severity::Warning, place)
    }
}

/// Where a text stops being JSON, and why; `None` if it is objects one after the other.
pub fn json_mistake(text: &str) -> Option<(usize, String)> {
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
    use poolgate_core::facts::KarpenterVersion;
    use serde_json::{Value, json};

    use super::*;

    fn reported(value: &Value, whole: Whole, release: &str) -> Vec<(&'static str, String)> {
        let checked = Checked {
            subject: Subject::NodePool(ApiVersion::V1),
            value: &Json::from(value),
            path: FieldPath::root(),
        };
        let release: KarpenterVersion = release.parse().expect("a release");
        let notes = about(&checked, whole, &release.into(), false).into_iter();
        notes.map(|note| (note.rule, note.field())).collect()
    }

    #[test]
    fn a_whole_object_needs_a_name() {
        for metadata in [json!({}), json!(null), json!({"name": null}), json!({"name": ""})] {
            let value = json!({"metadata": metadata});
            let expected = [("manifest-name", "metadata.name".to_owned())];
            assert_eq!(reported(&value, Whole::Whole, "1.15"), expected, "{value}");
            assert_eq!(reported(&value, Whole::Part, "1.15"), []);
        }
        for metadata in [json!({"name": "a"}), json!({"generateName": "a-"}), json!("a")] {
            let value = json!({"metadata": metadata});
            assert_eq!(reported(&value, Whole::Whole, "1.15"), [], "{value}");
        }
    }

    #[test]
    fn what_only_the_webhook_completes_is_a_note_where_the_definition_demands_it() {
        let pool = |disruption: Value| json!({"metadata": {"name": "a"}, "spec": {"disruption": disruption}});
        let expected = [("manifest-default", "spec.disruption.consolidateAfter".to_owned())];
        let bare = pool(json!({"consolidationPolicy": "WhenEmpty"}));
        assert_eq!(reported(&bare, Whole::Whole, "1.14.3"), expected);
        assert_eq!(reported(&bare, Whole::Part, "1.14.3"), []);
        assert_eq!(reported(&bare, Whole::Whole, "1.15"), []);
        assert_eq!(
            reported(&pool(json!({"consolidateAfter": null})), Whole::Whole, "1.8"),
            expected
        );
        for complete in [json!({"consolidateAfter": "1m"}), json!(null)] {
            assert_eq!(reported(&pool(complete), Whole::Whole, "1.14.3"), []);
        }
    }

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
            let found = json_mistake(text);
            let found = found
                .as_ref()
                .map(|(offset, why)| (text.get(*offset..=*offset).unwrap_or_default(), why.as_str()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
