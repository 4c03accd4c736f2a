//! Required fields. Of nested missing fields, only the outermost is reported.

use crate::diagnostic::{FieldPath, Suggestion};
use crate::json::Json;
use crate::rules::rule::Rule;

pub static FIELD_REQUIRED: Rule = rule!("field-required", Error, Schema);

/// The group to write if it is missing and the manifest has it in `apiVersion`, as in v1beta1.
pub fn group_of_v1beta1(object: &Json<'_>, missed: &FieldPath) -> Option<Suggestion> {
    let api_version = missed
        .parent()
        .filter(|reference| reference.clone().key("group") == *missed)?
        .key("apiVersion");
    let (group, _) = api_version.find(object)?.as_str()?.split_once('/')?;
    let is_group = !group.is_empty() && group.len() <= 253 && !group.contains(char::is_control);
    is_group.then(|| format!("write group: {group}").into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::errors_for;

    #[test]
    fn a_pool_of_v1_is_asked_for_what_v1_requires_even_by_a_release_that_does_not_serve_it() {
        let missing =
            json!({"spec": {"template": {"spec": {"requirements": null, "nodeClassRef": {"name": "a"}}}}});
        for release in [KarpenterVersion::OLDEST, KarpenterVersion::NEWEST] {
            let denied = errors_for(ApiVersion::V1, release, &missing, None);
            let paths: Vec<_> = denied
                .iter()
                .filter_map(|line| line.split_once(": Required"))
                .map(|(path, _)| path)
                .collect();
            assert_eq!(
                paths,
                [
                    "spec.template.spec.requirements",
                    "spec.template.spec.nodeClassRef.group",
                    "spec.template.spec.nodeClassRef.kind"
                ],
                "{release}"
            );
        }
    }

    #[test]
    fn what_must_be_present_is_what_the_definition_of_the_release_requires() {
        let missed = |minor: u16, object: &Value| -> Vec<String> {
            let release = KarpenterVersion::new(0, minor, 0);
            let denied = errors_for(ApiVersion::V1Beta1, release, object, None);
            let required = denied.iter().filter(|line| line.ends_with("[field-required]"));
            required
                .filter_map(|line| Some(line.split_once(": Required")?.0.to_owned()))
                .collect()
        };
        assert_eq!(missed(34, &json!({"spec": null})), [""; 0]);
        assert_eq!(missed(35, &json!({"spec": null})), ["spec"]);
        assert_eq!(missed(32, &json!({"spec": {"template": null}})), [""; 0]);
        assert_eq!(
            missed(33, &json!({"spec": {"template": null}})),
            ["spec.template"]
        );
        assert_eq!(
            missed(
                32,
                &json!({"spec": {"template": {"spec": {"taints": [{}], "requirements": null, "nodeClassRef": null}}}})
            ),
            [
                "spec.template.spec.requirements",
                "spec.template.spec.taints[0].key",
                "spec.template.spec.taints[0].effect",
                "spec.template.spec.nodeClassRef"
            ]
        );
    }
}
