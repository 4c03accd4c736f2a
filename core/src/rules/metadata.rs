//! The name of a NodePool, and the annotations that its template gives the nodes.

use super::findings::Findings;
use crate::diagnostic::{ErrorType, FieldPath, Origin, Suggestion};
use crate::facts::DO_NOT_DISRUPT_ANNOTATION;
use crate::json::Json;
use crate::pool::{Map, NodePool, Template};
use crate::rules::rule::Rule;
use crate::value::label::{
    NO_OBJECT_NAME, corrected_key, corrected_object_name, is_object_name, labelled_name, qualified_name,
};

/// Most bytes that the keys and values of an object's annotations may have together
/// (`TotalAnnotationSizeLimitB` of `k8s.io/apimachinery/pkg/api/validation`).
const MOST_BYTES: usize = 256 * 1024;
/// The bytes of the two annotations that Karpenter adds to every NodeClaim: the pool's hash, of at most 20 digits,
/// and the version of the hash.
const KARPENTERS_OWN: usize =
    "karpenter.sh/nodepool-hash".len() + 20 + "karpenter.sh/nodepool-hash-version".len() + "v3".len();
const MOST_IN_TEMPLATE: usize = MOST_BYTES - KARPENTERS_OWN;

pub static NODEPOOL_NAME: Rule = rule!("nodepool-name", Error, Silent);
pub static TEMPLATE_ANNOTATIONS: Rule = rule!("template-annotations", Error, Silent);
pub static DO_NOT_DISRUPT_TEMPLATE: Rule = rule!("do-not-disrupt-template", Warning, Silent);

/// Checks the name of a pool that is being created. A stored pool cannot be renamed.
pub fn check_name(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    // Kubernetes itself rejects an empty name.
    let Some(text) = pool
        .name
        .present()
        .filter(|text| !text.is_empty() && old.is_none())
    else {
        return;
    };
    let path = || FieldPath::of(&["metadata", "name"]);
    if !is_object_name(text) {
        findings
            .report(&NODEPOOL_NAME, path(), text, NO_OBJECT_NAME)
            .origin(Origin::Schema)
            .suggest_if_known(corrected_object_name(text).map(Suggestion::did_you_mean));
    } else if let Err(error) = labelled_name(text) {
        findings.report(&NODEPOOL_NAME, path(), text, error).consequence(
            "Karpenter writes the name into a label of every NodeClaim, which the API server then rejects",
        );
    }
}

/// Checks the annotations of the template.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(annotations) = template.annotations.present() else {
        return;
    };
    for (key, _) in kept(annotations) {
        check_key(key, findings);
    }
    check_size(annotations, findings);
    if template.protects_nodes() {
        findings
            .report(
                &DO_NOT_DISRUPT_TEMPLATE,
                path().key(DO_NOT_DISRUPT_ANNOTATION),
                "true",
                "every node gets this annotation",
            )
            .consequence("Karpenter neither consolidates the nodes nor replaces drifted ones")
            .suggest("write a disruption budget with nodes: \"0\" instead");
    }
}

/// The annotations that the API server keeps: it drops null values.
fn kept(annotations: Map<'_>) -> impl Iterator<Item = (&str, &Json<'_>)> {
    annotations.iter().filter(|(_, value)| !value.is_null())
}

fn path() -> FieldPath {
    Template::metadata_path("annotations")
}

fn check_key(key: &str, findings: &mut Findings<'_>) {
    // Kubernetes checks an annotation's key in lower case.
    let is_plain = qualified_name(key).is_ok();
    if is_plain {
        return;
    }
    if let Err(error) = qualified_name(&key.to_ascii_lowercase()) {
        findings
            .report(
                &TEMPLATE_ANNOTATIONS,
                path().key(key.to_owned()),
                key,
                error.to_string(),
            )
            .consequence("the API server would reject every NodeClaim of this pool")
            .suggest_if_known(corrected_key(key).map(|key| format!("write {key}")));
    }
}

fn check_size(annotations: Map<'_>, findings: &mut Findings<'_>) {
    let sizes = kept(annotations).map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    let size: usize = sizes.sum();
    if size > MOST_IN_TEMPLATE {
        let title = format!("annotations must have at most {MOST_IN_TEMPLATE} bytes in total, not {size}");
        findings
            .report(&TEMPLATE_ANNOTATIONS, path(), ErrorType::showing("{…}"), title)
            .consequence("the API server would reject every NodeClaim of this pool");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::errors;

    fn annotations(annotations: &Value) -> Value {
        json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})
    }

    #[test]
    fn null_values_are_not_checked() {
        let key = "k".repeat(MOST_IN_TEMPLATE);
        assert_eq!(
            errors(&annotations(&json!({"owned by": null, key: null}))),
            [""; 0]
        );
    }

    #[test]
    fn the_total_size_leaves_room_for_karpenters_annotations() {
        let of = |size: usize| annotations(&json!({"a": "x".repeat(size - 1)}));
        assert_eq!(errors(&of(MOST_IN_TEMPLATE)), [""; 0]);
        assert!(errors(&of(MOST_IN_TEMPLATE + 1))[0].contains("[template-annotations]"));
    }
}
