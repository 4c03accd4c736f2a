//! The NodePools of a text, alone, among other documents or in a List.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, GROUP};
use serde_json::Value;

use poolgate_core::manifest::{self, LeftAlone, Limits, Lines};

/// A NodePool as it was found.
#[derive(Debug)]
pub(in crate::commands) struct Found {
    /// The line at which it begins, from 1.
    pub(in crate::commands) line: usize,
    /// Its version.
    pub(in crate::commands) version: ApiVersion,
    /// The object.
    pub(in crate::commands) object: Value,
}

impl Found {
    /// A NodePool as a cluster has stored it.
    pub(in crate::commands) fn stored(object: Value) -> Self {
        Self {
            line: 1,
            version: ApiVersion::V1,
            object,
        }
    }
}

/// The contents of a text.
#[derive(Debug, Default)]
pub(in crate::commands) struct Input {
    /// The NodePools in their order.
    pub(in crate::commands) pools: Vec<Found>,
    /// Documents that could not be read: `line:column: why`.
    pub(in crate::commands) broken: Vec<String>,
    /// NodePools whose budgets are not known before another program has written them: the line, and why.
    pub(in crate::commands) left: Vec<(usize, LeftAlone)>,
    /// How many other objects there are.
    pub(in crate::commands) others: usize,
}

/// Finds the NodePools of a text.
pub(in crate::commands) fn find(text: &str) -> Input {
    let lines = Lines::new(text);
    let mut input = Input::default();
    for document in manifest::parse(text, &Limits::default()) {
        if let Some(problem) = document.unreadable() {
            let position = lines.position(problem.span.start());
            input.broken.push(format!("{position}: {problem}"));
            continue;
        }
        for Item { path, object, pool } in objects(document.value()) {
            let span = document.span_of(&path).unwrap_or(document.span());
            let line = lines.position(span.start()).line;
            let Some(version) = pool else {
                input.others += 1;
                continue;
            };
            let disruption = object.get("spec").and_then(|spec| spec.get("disruption"));
            match LeftAlone::by_additions(document.value(), disruption.unwrap_or(&Json::Null)) {
                Some(reason) => input.left.push((line, reason)),
                None => input.pools.push(Found {
                    line,
                    version,
                    object: object.into(),
                }),
            }
        }
    }
    input
}

/// An object in a document.
#[derive(Debug)]
pub(in crate::commands) struct Item<'d> {
    /// Its path from the root of the document.
    pub(in crate::commands) path: FieldPath,
    /// The object.
    pub(in crate::commands) object: &'d Json<'d>,
    /// Its version if it is a NodePool.
    pub(in crate::commands) pool: Option<ApiVersion>,
}

/// The objects in a document: itself, or the elements of a List. Empty if the document is.
pub(in crate::commands) fn objects<'d>(document: &'d Json<'d>) -> Vec<Item<'d>> {
    let mut objects = Vec::new();
    if !document.is_null() {
        collect(document, FieldPath::root(), (None, None), &mut objects);
    }
    objects
}

/// Lists may contain lists; the depth of the document limits the recursion. `listed` are the version and the kind that a list
/// says its elements have.
fn collect<'d>(
    object: &'d Json<'d>,
    path: FieldPath,
    listed: (Option<&'d str>, Option<&'d str>),
    objects: &mut Vec<Item<'d>>,
) {
    // The elements of a NodePoolList need not say what they are.
    let (version, kind) = match (text(object, "apiVersion"), text(object, "kind")) {
        (None, None) => listed,
        own => own,
    };
    let items = object.get("items").and_then(Json::as_array);
    let Some((element, items)) = kind.and_then(|kind| kind.strip_suffix("List")).zip(items) else {
        let pool = pool_version(version, kind);
        objects.push(Item { path, object, pool });
        return;
    };
    let element = (!element.is_empty()).then_some(element);
    for (index, item) in items.iter().enumerate() {
        let path = path.clone().key("items").index(index);
        collect(
            item,
            path,
            (version.filter(|_| element.is_some()), element),
            objects,
        );
    }
}

/// The version of a NodePool; `None` for any other object.
fn pool_version(version: Option<&str>, kind: Option<&str>) -> Option<ApiVersion> {
    let (group, version) = version?.split_once('/')?;
    let is_pool = group == GROUP && kind == Some("NodePool");
    ApiVersion::parse(version).filter(|_| is_pool)
}

fn text<'j>(object: &'j Json<'_>, field: &str) -> Option<&'j str> {
    object.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodepools_are_found_in_lists_of_lists_and_in_lists_that_say_what_they_hold() {
        let pool = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "List", "items": [pool, {"apiVersion": "v1", "kind": "Service"}]},
            {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePoolList", "items": [{"spec": {}}]},
            {"spec": {}},
        ]});
        let list = Json::from(&list);
        let found: Vec<_> = objects(&list)
            .into_iter()
            .map(|found| (found.path.to_string(), found.pool))
            .collect();
        let expected = [
            ("items[0].items[0]", Some(ApiVersion::V1)),
            ("items[0].items[1]", None),
            ("items[1].items[0]", Some(ApiVersion::V1Beta1)),
            ("items[2]", None),
        ];
        assert_eq!(found, expected.map(|(path, pool)| (path.to_owned(), pool)));
    }

    #[test]
    fn a_nodepool_whose_budgets_another_program_writes_is_left_out() {
        let pool = |disruption: &str| {
            format!(
                "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: \"${{NAME}}\"}}\nspec: {{disruption: {disruption}}}\n"
            )
        };
        let left = |text: &str| find(text).left;
        assert!(left(&pool("{}")).is_empty());
        let variable = pool("{budgets: [{nodes: \"${N:=10%}\"}]}");
        assert_eq!(left(&variable), [(1, LeftAlone::Variables)]);
        let template = pool("{budgets: [{nodes: \"{{ .Values.nodes }}\"}]}");
        assert_eq!(left(&template), [(1, LeftAlone::Template)]);
    }
}
