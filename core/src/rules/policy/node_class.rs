//! The node classes that a pool may use.

use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::{ApiVersion, NodePool};
use crate::policy::{Glob, NodeClassPattern};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS: Rule = rule!("policy-node-class", Error, Poolgate);

pub fn check(pool: &NodePool<'_>, allowed: &[NodeClassPattern], findings: &mut Findings<'_>) {
    let Some(reference) = pool.template.node_class_ref.present() else {
        return;
    };
    let text = |field: &str| reference.get(field).and_then(Json::as_str).unwrap_or_default();
    let group = match pool.version {
        ApiVersion::V1 => text("group"),
        ApiVersion::V1Beta1 => text("apiVersion").split('/').next().unwrap_or_default(),
    };
    let (kind, name) = (text("kind"), text("name"));
    let fits =
        |pattern: &Option<Glob>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(text));
    let is_allowed = allowed
        .iter()
        .any(|pattern| fits(&pattern.group, group) && fits(&pattern.kind, kind) && fits(&pattern.name, name));
    if is_allowed {
        return;
    }
    let described: Vec<String> = allowed.iter().map(described).collect();
    let class = format!("{kind}.{group}/{name}");
    let reason = format!("the policy allows only {}", described.join(", "));
    findings.report(
        &NODE_CLASS,
        FieldPath::of(&["spec", "template", "spec", "nodeClassRef"]),
        class.as_str(),
        reason,
    );
}

/// A pattern as messages show it, in kubectl's form for objects: `KIND.GROUP/NAME`.
fn described(pattern: &NodeClassPattern) -> String {
    let part = |part: &Option<Glob>| part.as_ref().map_or("*", Glob::as_str).to_owned();
    format!(
        "{}.{}/{}",
        part(&pattern.kind),
        part(&pattern.group),
        part(&pattern.name)
    )
}
