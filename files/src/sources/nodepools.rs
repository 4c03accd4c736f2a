//! The NodePools of a text, alone, among other documents or in a List.

use poolgate_core::facts::{ApiVersion, GROUP};
use poolgate_core::json::Json;
use serde_json::Value;

use poolgate_core::manifest::{self, LeftAlone, Limits, Lines, ManifestObject};

use super::Templates;
use super::mention::names_karpenter;

/// A NodePool as it was found.
#[derive(Debug)]
pub struct Found {
    /// The line at which it begins, from 1.
    pub line: usize,
    /// The version of the API that it is written in.
    pub version: ApiVersion,
    /// The NodePool itself.
    pub object: Value,
}

impl Found {
    /// A NodePool as a cluster has stored it.
    pub fn stored(object: Value) -> Self {
        Self {
            line: 1,
            version: ApiVersion::V1,
            object,
        }
    }
}

/// The contents of a text.
#[derive(Debug, Default)]
pub struct Input {
    /// The NodePools in their order.
    pub pools: Vec<Found>,
    /// Documents that could not be read: `line:column: why`.
    pub broken: Vec<String>,
    /// Documents that are templates, and not read: `line:column: why`.
    pub templates: Vec<String>,
    /// NodePools whose budgets are not known before another program has written them: the line, and why.
    pub left: Vec<(usize, LeftAlone)>,
    /// How many other objects there are.
    pub others: usize,
}

/// Finds the NodePools of a text with these templates. What cannot be read matters only if it names Karpenter.
pub fn find(text: &str, templates: &Templates) -> Input {
    let lines = Lines::new(text);
    let is_related = names_karpenter(text);
    let mut input = Input::default();
    for (number, document) in manifest::parse(text, &Limits::default()).enumerate() {
        if let Some(template) = templates.get(&number) {
            let position = lines.position(template.mark.start());
            input.templates.push(format!("{position}: {template}"));
            continue;
        }
        if let Some(problem) = document.unreadable() {
            if is_related {
                let position = lines.position(problem.span.start());
                input.broken.push(format!("{position}: {problem}"));
            }
            continue;
        }
        for (object, version) in objects(document.value()) {
            let span = document.span_of(&object.path).unwrap_or(document.span());
            let line = lines.position(span.start()).line;
            let Some(version) = version else {
                input.others += 1;
                continue;
            };
            let disruption = object.value.get("spec").and_then(|spec| spec.get("disruption"));
            match LeftAlone::by_additions(&document, disruption.unwrap_or(&Json::Null)) {
                Some(reason) => input.left.push((line, reason)),
                None => input.pools.push(Found {
                    line,
                    version,
                    object: object.value.into(),
                }),
            }
        }
    }
    input
}

/// The objects of a document, each with its version if it is a NodePool.
pub fn objects<'d>(document: &'d Json<'d>) -> Vec<(ManifestObject<'d>, Option<ApiVersion>)> {
    let mut objects = Vec::new();
    manifest::each_object(document, &mut |object| {
        let version = pool_version(&object);
        objects.push((object, version));
    });
    objects
}

fn pool_version(object: &ManifestObject<'_>) -> Option<ApiVersion> {
    let (group, version) = object.version?.split_once('/')?;
    let is_pool = group == GROUP && object.kind == Some("NodePool");
    ApiVersion::parse(version).filter(|_| is_pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodepool_whose_budgets_another_program_writes_is_left_out() {
        let pool = |disruption: &str| {
            format!(
                "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: \"${{NAME}}\"}}\nspec: {{disruption: {disruption}}}\n"
            )
        };
        let left = |text: &str| find(text, &Templates::new()).left;
        assert!(left(&pool("{}")).is_empty());
        let variable = pool("{budgets: [{nodes: \"${N:=10%}\"}]}");
        assert_eq!(left(&variable), [(1, LeftAlone::Variables)]);
        let template = pool("{budgets: [{nodes: \"{{ .Values.nodes }}\"}]}");
        assert_eq!(left(&template), [(1, LeftAlone::Template)]);
    }
}
