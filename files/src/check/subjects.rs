//! Which objects of a document are checked: the document itself, or the elements of a List.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::facts::{ApiVersion, GROUP, ReleaseSource, SERVED_KINDS, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Limits, ManifestObject, each_object};
use poolgate_core::review::Subject;

use super::note::Note;
use super::unserved::{self, Claimed};
use crate::format::finding::Object;
use crate::sources::Whole;

/// An object that is checked.
#[derive(Debug)]
pub struct Checked<'v> {
    pub subject: Subject,
    pub value: &'v Json<'v>,
    /// Where it is in the document.
    pub path: FieldPath,
}

/// The objects of a document.
#[derive(Debug, Default)]
pub struct Subjects<'v> {
    pub checked: Vec<Checked<'v>>,
    /// Notes on objects that the cluster does not accept.
    pub unserved: Vec<Note>,
    /// Objects of other kinds.
    pub others: Vec<Claimed<'v>>,
    /// How many of Karpenter's objects are inside those, as in a template of kro or the values of an Argo CD Application.
    pub inside: usize,
    /// How many patches of Karpenter's objects those hold, such as a kustomization with `patch: |-`.
    pub inline_patches: usize,
}

impl<'v> Subjects<'v> {
    /// The objects of a document under the Karpenter that the cluster runs. An empty one has none. `whole` says whether the
    /// objects are complete.
    pub fn find(document: &'v Json<'v>, whole: Whole, karpenter: &TargetKarpenter) -> Self {
        let mut subjects = Self::default();
        let is_karpenters = |item: &Json<'_>| {
            let mut inner = Self::default();
            inner.add_all(item, whole, karpenter);
            !inner.checked.is_empty() || !inner.unserved.is_empty()
        };
        match unserved::list(document, is_karpenters) {
            Some(list) => subjects.unserved.push(list),
            None => subjects.add_all(document, whole, karpenter),
        }
        subjects
    }

    /// Whether the document has none of Karpenter's objects.
    pub fn is_empty(&self) -> bool {
        self.checked.is_empty() && self.unserved.is_empty()
    }

    fn add_all(&mut self, document: &'v Json<'v>, whole: Whole, karpenter: &TargetKarpenter) {
        each_object(document, &mut |object| self.add(object, whole, karpenter));
    }

    fn add(&mut self, object: ManifestObject<'v>, whole: Whole, karpenter: &TargetKarpenter) {
        let ManifestObject {
            path,
            version,
            kind,
            value,
        } = object;
        let subject = version.zip(kind).and_then(|(version, kind)| {
            let (group, version) = version.split_once('/')?;
            Subject::from_kind(group, version, kind)
        });
        if let Some(subject) = subject.filter(|subject| is_served(*subject, karpenter)) {
            self.checked.push(Checked { subject, value, path });
            return;
        }
        let claimed = Claimed { version, kind, value };
        if let Some(fault) = claimed.fault(whole, karpenter.release()) {
            self.unserved.push(unserved::note(path, fault));
        } else {
            self.inside += inside(value);
            self.inline_patches += inline_patches(value);
            self.others.push(claimed);
        }
    }
}

/// How many of Karpenter's objects are somewhere in a value. The depth of a document is bounded, and so is this.
fn inside(value: &Json<'_>) -> usize {
    match value {
        Json::Array(items) => items.iter().map(inside).sum(),
        Json::Object(fields) => {
            let text = |field| fields.get(field).and_then(Json::as_str).unwrap_or_default();
            let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
            match Subject::from_kind(group, version, text("kind")) {
                Some(Subject::NodePool(_) | Subject::NodeClaim(_)) => 1,
                Some(Subject::Other(_)) => 0,
                None => fields.values().map(inside).sum(),
            }
        }
        _ => 0,
    }
}

/// How many patches of Karpenter's objects are written inside a kustomization, or in what passes them to kustomize, such as
/// Flux' Kustomization. The depth of a document is bounded, and so is this.
fn inline_patches(value: &Json<'_>) -> usize {
    match value {
        Json::Array(items) => items.iter().map(inline_patches).sum(),
        Json::Object(fields) => fields
            .iter()
            .map(|(field, value)| {
                let items = value.as_array().into_iter().flatten();
                match field {
                    "patches" | "patchesJson6902" | "patchesStrategicMerge" => {
                        items.filter(|patch| is_inline_patch(patch)).count()
                    }
                    _ => inline_patches(value),
                }
            })
            .sum(),
        _ => 0,
    }
}

/// Whether an element of a kustomization's patches is written there, and patches one of Karpenter's objects.
fn is_inline_patch(patch: &Json<'_>) -> bool {
    let field = |path: &[&'static str]| FieldPath::of(path).find(patch).and_then(Json::as_str);
    let group = field(&["target", "group"]);
    let is_target = matches!(field(&["target", "kind"]), Some("NodePool" | "NodeClaim"))
        && group.is_none_or(|group| group == GROUP);
    match patch.as_str().or_else(|| field(&["patch"])) {
        Some(text) => is_target || has_objects_of_karpenter(text),
        None => false,
    }
}

fn has_objects_of_karpenter(text: &str) -> bool {
    let mut has_some = false;
    if text.contains(GROUP) {
        for document in manifest::parse(text, &Limits::default()) {
            let is_of_group = |version: &str| version.split('/').next() == Some(GROUP);
            each_object(document.value(), &mut |object| {
                has_some |= object.version.is_some_and(is_of_group);
            });
        }
    }
    has_some
}

/// Whether the cluster accepts an object. If the release is not known, any release that serves it will do.
fn is_served(subject: Subject, karpenter: &TargetKarpenter) -> bool {
    let is_in = |kind: &str, version: ApiVersion| {
        SERVED_KINDS.iter().any(|served| {
            let is_it = served.kind == kind && served.version == version.as_str();
            is_it && served.is_in(karpenter.release())
        })
    };
    karpenter.source() == ReleaseSource::Newest
        || match subject {
            Subject::NodePool(version) => is_in("NodePool", version),
            Subject::NodeClaim(version) => is_in("NodeClaim", version),
            Subject::Other(kind) => karpenter.release() >= kind.since(),
        }
}

/// The kind of a subject.
const fn kind_of(subject: Subject) -> &'static str {
    match subject {
        Subject::NodePool(_) => "NodePool",
        Subject::NodeClaim(_) => "NodeClaim",
        Subject::Other(kind) => kind.named().2,
    }
}

impl Checked<'_> {
    /// The path from the root of the document to a field of the object.
    pub fn path_of(&self, field: &FieldPath) -> FieldPath {
        let segments = self.path.segments().iter().chain(field.segments());
        segments.cloned().collect()
    }

    /// The version of its kind; the newest for kinds that have one.
    pub const fn version(&self) -> ApiVersion {
        match self.subject {
            Subject::NodePool(version) | Subject::NodeClaim(version) => version,
            Subject::Other(_) => ApiVersion::V1,
        }
    }

    /// The kind and name of the object.
    pub fn object(&self) -> Object {
        let name = FieldPath::of(&["metadata", "name"]).find(self.value);
        Object {
            kind: kind_of(self.subject),
            name: name.and_then(Json::as_str).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use poolgate_core::facts::KarpenterVersion;
    use serde_json::{Value, json};

    use super::*;

    fn subjects<'v>(value: &'v Json<'v>) -> Subjects<'v> {
        Subjects::find(value, Whole::Whole, &TargetKarpenter::default())
    }

    #[test]
    fn lists_are_opened_and_other_objects_counted() {
        let pool = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"});
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let typed = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "items": [{"spec": {}}]});
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [other, pool, typed, 7]});
        let list = Json::from(&list);
        let subjects = subjects(&list);
        let paths: Vec<String> = subjects
            .checked
            .iter()
            .map(|checked| checked.path.to_string())
            .collect();
        assert_eq!(paths, ["items[1]", "items[2].items[0]"]);
        assert_eq!(subjects.others.len(), 2);
    }

    #[test]
    fn what_karpenter_does_not_care_about_is_another_object() {
        for value in [
            json!({"apiVersion": "example.com/v1", "kind": "NodePool"}),
            json!({"kind": "NodePool"}),
            json!([1]),
            json!([{"op": "replace", "path": "/spec/limits/cpu", "value": "1"}]),
            json!({}),
        ] {
            let read = Json::from(&value);
            let subjects = subjects(&read);
            assert!(subjects.is_empty(), "{value}");
            assert_eq!(subjects.others.len(), 1, "{value}");
        }
        assert_eq!(subjects(&Json::Null).others.len(), 0);
    }

    #[test]
    fn what_no_release_serves_is_reported_wherever_it_stands() {
        let wrong = json!({"apiVersion": "karpenter.sh/v1", "kind": "Nodepool"});
        let pool = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool"});
        let places = |value: &Value| -> Vec<String> {
            let unserved = subjects(&Json::from(value)).unserved;
            unserved.iter().map(Note::field).collect()
        };
        assert_eq!(places(&wrong), ["kind"]);
        let list = json!({"kind": "List", "items": [pool, wrong]});
        assert_eq!(places(&list), ["items[1].kind"]);
        assert_eq!(places(&json!([7, pool])), ["[1]"]);
    }

    #[test]
    fn a_version_is_served_by_some_releases_or_if_nobody_names_one() {
        let beta = json!({"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool"});
        let checked = |karpenter: &TargetKarpenter| {
            Subjects::find(&Json::from(&beta), Whole::Part, karpenter)
                .checked
                .len()
        };
        let release =
            |text: &str| TargetKarpenter::from(text.parse::<KarpenterVersion>().expect("a release"));
        assert_eq!(checked(&TargetKarpenter::default()), 1);
        assert_eq!(checked(&release("1.0")), 1);
        assert_eq!(checked(&release("1.1")), 0);
    }
}
