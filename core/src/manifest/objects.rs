//! The objects of a document: the document itself, or the elements of a list.

use crate::diagnostic::FieldPath;
use crate::json::Json;

/// An object of a document, and what it is said to be.
#[derive(Debug, Clone)]
pub struct ManifestObject<'d> {
    /// Its path from the root of the document.
    pub path: FieldPath,
    /// Its `apiVersion`; `None` if that is missing or not a text.
    pub version: Option<&'d str>,
    /// Its `kind`; `None` if that is missing or not a text.
    pub kind: Option<&'d str>,
    /// The object itself, with all its fields.
    pub value: &'d Json<'d>,
}

/// Passes the objects of a document to `take`, in their order. An empty document has none.
pub fn each_object<'d>(document: &'d Json<'d>, take: &mut impl FnMut(ManifestObject<'d>)) {
    if !document.is_null() {
        visit(document, FieldPath::root(), None, take);
    }
}

/// Lists may contain lists; the depth of the document limits the recursion. `listed` has the apiVersion and kind that the
/// enclosing List implies.
fn visit<'d>(
    value: &'d Json<'d>,
    path: FieldPath,
    listed: Option<(&'d str, &'d str)>,
    take: &mut impl FnMut(ManifestObject<'d>),
) {
    // The elements of a NodePoolList need not say what they are.
    let (version, kind) = match (text(value, "apiVersion"), text(value, "kind")) {
        (None, None) => listed.unzip(),
        own => own,
    };
    let items = value.get("items").and_then(Json::as_array);
    let Some((element, items)) = kind.and_then(|kind| kind.strip_suffix("List")).zip(items) else {
        take(ManifestObject {
            path,
            version,
            kind,
            value,
        });
        return;
    };
    let listed = (!element.is_empty()).then_some((version.unwrap_or_default(), element));
    for (index, item) in items.iter().enumerate() {
        let path = path.clone().key("items").index(index);
        visit(item, path, listed, take);
    }
}

fn text<'j>(object: &'j Json<'_>, field: &str) -> Option<&'j str> {
    object.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_found_in_lists_of_lists_and_in_lists_that_say_what_they_hold() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}]},
            {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePoolList", "items": [{"spec": {}}]},
            {"spec": {}},
        ]});
        let list = Json::from(&list);
        let mut found = Vec::new();
        each_object(&list, &mut |object| {
            found.push((object.path.to_string(), object.version, object.kind));
        });
        let expected = [
            ("items[0].items[0]", Some("karpenter.sh/v1"), Some("NodePool")),
            (
                "items[1].items[0]",
                Some("karpenter.sh/v1beta1"),
                Some("NodePool"),
            ),
            ("items[2]", None, None),
        ];
        assert_eq!(
            found,
            expected.map(|(path, version, kind)| (path.to_owned(), version, kind))
        );
        each_object(&Json::Null, &mut |object| panic!("{object:?}"));
    }
}
