//! The path of a field in an object, written as Kubernetes writes it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::json::Json;

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field of an object or a key of a map.
    Key(Cow<'static, str>),
    /// An element of a list, counted from 0.
    Index(usize),
}

/// A path from the object's root to a field, such as `spec.disruption.budgets[1].nodes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Segment>);

impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Room for most paths, in bytes, so that their text is allocated once.
const USUAL_LENGTH: usize = 64;

impl FieldPath {
    /// The path of the object itself, which has no segments.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The path of nested `keys`.
    pub fn of(keys: &[&'static str]) -> Self {
        Self(keys.iter().map(|key| Segment::Key(Cow::Borrowed(key))).collect())
    }

    /// The path of a field or map key below this one.
    #[must_use]
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    /// The path of a list element below this one.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The steps from the root.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The path of the parent of this field; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// The value at this path. An explicit `null` counts as absent, as in the API server.
    pub fn find<'v, 'a>(&self, root: &'v Json<'a>) -> Option<&'v Json<'a>> {
        let value = self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.as_array()?.get(*index),
        })?;
        (!value.is_null()).then_some(value)
    }

    /// Like [`FieldPath::find`], in a value that is not under review.
    pub fn find_value<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        let value = self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.get(&**key),
            Segment::Index(index) => value.get(*index),
        })?;
        (!value.is_null()).then_some(value)
    }

    /// The value at this path, mutable; even an explicit `null`.
    pub fn find_mut<'v, 'a>(&self, root: &'v mut Json<'a>) -> Option<&'v mut Json<'a>> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.get_mut(key),
            Segment::Index(index) => value.at_mut(*index),
        })
    }

    /// The path as it is displayed, but without positions in lists: `spec.disruption.budgets[].nodes`.
    pub(crate) fn without_positions(&self) -> String {
        self.text(|text, _| text.push_str("[]"))
    }

    /// The path as it is displayed: built at once, because a formatter lets a string grow with each step.
    fn text(&self, position: impl Fn(&mut String, usize)) -> String {
        if self.0.is_empty() {
            return "<object>".to_owned();
        }
        let mut text = String::with_capacity(USUAL_LENGTH);
        for segment in &self.0 {
            match segment {
                Segment::Key(key) if is_plain(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
                // A key comes from the manifest: characters that could move the cursor or fake a line are escaped.
                Segment::Key(key) => {
                    text.push('[');
                    text.extend(key.escape_debug());
                    text.push(']');
                }
                Segment::Index(index) => position(&mut text, *index),
            }
        }
        text
    }

    /// The path as a JSON Pointer (RFC 6901), for patches.
    pub fn to_pointer(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.0 {
            pointer.push('/');
            match segment {
                Segment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Segment::Index(index) => {
                    let _ = write!(pointer, "{index}");
                }
            }
        }
        pointer
    }
}

impl FromIterator<Segment> for FieldPath {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

/// A key that can follow a dot without being misread.
fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|text, index| {
            let _ = write!(text, "[{index}]");
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_read_as_kubernetes_writes_them() {
        assert_eq!(FieldPath::root().to_string(), "<object>");
        let path =
            FieldPath::of(&["spec", "template", "metadata", "labels"]).key("example.com/team".to_owned());
        assert_eq!(
            path.to_string(),
            "spec.template.metadata.labels[example.com/team]"
        );
        assert_eq!(
            FieldPath::of(&["spec", "budgets"])
                .index(3)
                .key("nodes")
                .to_string(),
            "spec.budgets[3].nodes"
        );
        assert_eq!(
            FieldPath::of(&["spec", "budgets"])
                .index(3)
                .key("nodes")
                .without_positions(),
            "spec.budgets[].nodes"
        );
    }

    #[test]
    fn control_characters_in_a_key_are_escaped() {
        let path = FieldPath::of(&["spec"]).key("a\u{1b}[2Jb\n".to_owned());
        assert_eq!(path.to_string(), "spec[a\\u{1b}[2Jb\\n]");
    }

    #[test]
    fn pointers_escape_slash_and_tilde() {
        let path = FieldPath::of(&["metadata", "annotations"])
            .key("poolgate.dev/a~b")
            .index(0);
        assert_eq!(path.to_pointer(), "/metadata/annotations/poolgate.dev~1a~0b/0");
    }

    #[test]
    fn find_takes_null_for_absent_and_never_mixes_up_lists_and_maps() {
        let value = json!({"a": {"b": null, "0": 1}, "c": [7]});
        let object = Json::from(&value);
        for nothing in [
            FieldPath::of(&["a", "b"]),
            FieldPath::of(&["a"]).index(0),
            FieldPath::of(&["c", "0"]),
        ] {
            assert_eq!((nothing.find(&object), nothing.find_value(&value)), (None, None));
        }
        let seven = FieldPath::of(&["c"]).index(0);
        assert_eq!(seven.find(&object), Some(&Json::from(7)));
        assert_eq!(seven.find_value(&value), Some(&json!(7)));
    }
}
