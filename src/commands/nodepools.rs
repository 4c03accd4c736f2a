//! The NodePools of a text, alone, among other documents or in a List.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{ApiVersion, GROUP};
use serde_json::Value;

use poolgate_core::manifest::{self, Limits, Lines};

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
        for (path, object) in objects(document.value()) {
            let span = document.span_of(&path).unwrap_or(document.span());
            match version(object) {
                Some(version) => input.pools.push(Found {
                    line: lines.position(span.start()).line,
                    version,
                    object: object.into(),
                }),
                None => input.others += 1,
            }
        }
    }
    input
}

/// The objects in a document with their paths: itself, or the elements of a List. Empty if the document is.
pub(in crate::commands) fn objects<'d>(document: &'d Json<'d>) -> Vec<(FieldPath, &'d Json<'d>)> {
    if document.is_null() {
        return Vec::new();
    }
    let is_list = kind(document).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").and_then(Json::as_array).filter(|_| is_list) {
        Some(items) => (0..)
            .map(|index| FieldPath::of(&["items"]).index(index))
            .zip(items)
            .collect(),
        None => vec![(FieldPath::root(), document)],
    }
}

/// The version of a NodePool; `None` for any other object.
pub(in crate::commands) fn version(object: &Json<'_>) -> Option<ApiVersion> {
    let (group, version) = object.get("apiVersion")?.as_str()?.split_once('/')?;
    let is_pool = group == GROUP && kind(object) == Some("NodePool");
    ApiVersion::parse(version).filter(|_| is_pool)
}

fn kind<'j>(object: &'j Json<'_>) -> Option<&'j str> {
    object.get("kind")?.as_str()
}
