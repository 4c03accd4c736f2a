//! Notes of lint on an object that is checked, besides the rules: mistakes that no webhook ever sees.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, TargetKarpenter};
use poolgate_core::review::Subject;

use super::note::{Note, Place};
use super::subjects::Checked;
use crate::files::Whole;
use crate::text_rules;

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
        message: format!(
            "karpenter.sh/v1beta1 is checked for Karpenter {release}: 1.0 is the last release line that serves it"
        ),
        suggestion: "set --karpenter-version to what the cluster runs".into(),
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
        message: "Required value: no cluster accepts an object without a name".into(),
        suggestion: "add a name".into(),
    })
}

/// Whether an object is a v1 NodePool that only releases accept in which `consolidateAfter` has a default.
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
        message: format!("Required value: Karpenter {} rejects the NodePool without it", karpenter.release()),
        suggestion: "write it, or let `poolgate default --write` do it; if poolgate's webhook writes it in your cluster, \
                     declare that in the policy: cluster: {webhook: defaults}"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use poolgate_core::karpenter::KarpenterVersion;
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
}
