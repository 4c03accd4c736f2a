//! The label that Karpenter makes from `nodeClassRef` for every NodeClaim.

use super::{group_field, path, text};
use crate::diagnostic::Suggestion;
use crate::json::Object;
use crate::karpenter::{ApiVersion, KarpenterVersion, Template, node_class_label};
use crate::rules::findings::Findings;
use crate::rules::requirements::LONGEST_KEY;
use crate::rules::rule::Rule;
use crate::value::label::{
    NO_OBJECT_NAME, corrected_object_name, is_object_name, label_value, qualified_name,
};

pub static NODE_CLASS_NAME: Rule = rule!("node-class-name", Error, Silent);
pub static NODE_CLASS_OBJECT_NAME: Rule = rule!("node-class-object-name", Error, Silent);

/// Checks the name: as that of an object, and as the value of the label.
pub fn check_name(reference: &Object<'_>, template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(name) = text(reference, "name") else {
        return;
    };
    let (rule, reason, suggestion) = match label_value(name) {
        // The CRD of v1 requires a name, which another rule checks.
        Ok(()) if name.is_empty() && template.version == ApiVersion::V1 => return,
        Ok(()) if name.is_empty() => (&NODE_CLASS_NAME, "no node class has this name".into(), None),
        Ok(()) if is_object_name(name) => return,
        Ok(()) => (
            &NODE_CLASS_OBJECT_NAME,
            NO_OBJECT_NAME.into(),
            corrected_object_name(name).map(Suggestion::did_you_mean),
        ),
        Err(error)
            if findings
                .context
                .release
                .has(KarpenterVersion::NODE_CLASS_LABELLED) =>
        {
            let reason = format!("{error}, because Karpenter writes it into a label of every NodeClaim");
            (&NODE_CLASS_NAME, reason, None)
        }
        Err(_) => return,
    };
    findings
        .report(rule, path("name"), name, reason)
        .suggest_if_known(suggestion);
}

/// Checks group and kind as the key of the label.
pub fn check_key(template: &Template<'_>, findings: &mut Findings<'_>) {
    let Some(label) = node_class_label(template) else {
        return;
    };
    let reason = match qualified_name(&label) {
        Err(error) => {
            format!("{error}, because Karpenter makes group and kind the key of a label on every NodeClaim")
        }
        Ok(()) if label.len() > LONGEST_KEY => format!(
            "group and kind form a label of {} bytes, and the maximum in a NodeClaim is {LONGEST_KEY}",
            label.len()
        ),
        Ok(()) => return,
    };
    let group = template.node_class_group().unwrap_or_default();
    findings
        .report(
            &NODE_CLASS_NAME,
            path(group_field(template.version)),
            group,
            reason,
        )
        .related(path("kind"));
}
