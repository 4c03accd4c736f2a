//! Required fields. Of nested missing fields, only the outermost is reported.

use crate::diagnostic::{FieldPath, Suggestion};
use crate::json::Json;
use crate::rule::Rule;

pub static FIELD_REQUIRED: Rule = rule!("field-required", Error, [Schema]);

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
