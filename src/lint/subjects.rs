//! Which objects of a document are judged: the document itself, or the elements of a List.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::review::Subject;
use serde_json::Value;

use super::finding::Object;

/// An object that is judged.
#[derive(Debug)]
pub(super) struct Judged<'v> {
    pub(super) subject: Subject,
    pub(super) value: &'v Value,
    /// Where it stands in the document.
    pub(super) path: FieldPath,
}

/// What a document holds.
#[derive(Debug, Default)]
pub(super) struct Subjects<'v> {
    pub(super) judged: Vec<Judged<'v>>,
    /// How many objects of other kinds.
    pub(super) others: usize,
}

impl<'v> Subjects<'v> {
    /// Looks through a document. An empty one holds nothing.
    pub(super) fn of(document: &'v Value) -> Self {
        let mut subjects = Self::default();
        if !document.is_null() {
            subjects.visit(document, FieldPath::root(), None);
        }
        subjects
    }

    /// Lists may hold lists; the depth of the document bounds how deep that goes.
    fn visit(&mut self, value: &'v Value, path: FieldPath, list: Option<(&'v str, &'v str)>) {
        // The elements of a NodePoolList need not say what they are.
        let (version, kind) = match (text(value, "apiVersion"), text(value, "kind")) {
            (None, None) => list.unwrap_or_default(),
            (version, kind) => (version.unwrap_or_default(), kind.unwrap_or_default()),
        };
        let items = value.get("items").and_then(Value::as_array);
        if let (Some(element), Some(items)) = (kind.strip_suffix("List"), items) {
            let element = (!element.is_empty()).then_some((version, element));
            for (index, item) in items.iter().enumerate() {
                self.visit(item, path.clone().key("items").index(index), element);
            }
            return;
        }
        let subject = version
            .split_once('/')
            .and_then(|(group, version)| Subject::of(group, version, kind));
        match subject {
            Some(subject) => self.judged.push(Judged { subject, value, path }),
            None => self.others += 1,
        }
    }
}

impl Judged<'_> {
    /// The path from the root of the document to a field of the object.
    pub(super) fn path_of(&self, field: &FieldPath) -> FieldPath {
        let segments = self.path.segments().iter().chain(field.segments());
        segments.cloned().collect()
    }

    /// What the object is called.
    pub(super) fn object(&self) -> Object {
        let name = FieldPath::of(&["metadata", "name"]).find(self.value);
        Object {
            kind: match self.subject {
                Subject::NodePool(_) => "NodePool",
                Subject::NodeClaim(_) => "NodeClaim",
            },
            name: name.and_then(Value::as_str).map(str::to_owned),
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_opened_and_other_objects_counted() {
        let pool = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"});
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let typed = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "items": [{"spec": {}}]});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [other, pool, typed, 7]});
        let subjects = Subjects::of(&list);
        let paths: Vec<String> = subjects
            .judged
            .iter()
            .map(|judged| judged.path.to_string())
            .collect();
        assert_eq!(paths, ["items[1]", "items[2].items[0]"]);
        assert_eq!(subjects.others, 2);
    }

    #[test]
    fn what_karpenter_does_not_serve_as_a_nodepool_is_another_object() {
        for value in [
            json!({"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner"}),
            json!({"apiVersion": "example.com/v1", "kind": "NodePool"}),
            json!({"kind": "NodePool"}),
            json!([1]),
            json!({}),
        ] {
            let subjects = Subjects::of(&value);
            assert_eq!((subjects.judged.len(), subjects.others), (0, 1), "{value}");
        }
        assert_eq!(Subjects::of(&Value::Null).others, 0);
    }
}
