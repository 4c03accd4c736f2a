//! The text of a key: kubectl converts everything to text that it can.

use std::borrow::Cow;

use super::scalar::{self, Notation, Scalar, Tag};
use super::tree::{Content, NodeId, Tree};
use super::{ProblemKind, float};

/// A key as the API server sees it.
pub enum Key<'a> {
    /// Text, which kubectl does not convert.
    Text(Cow<'a, str>),
    /// Converted to text by kubectl.
    Other(String),
}

/// The key that a scalar becomes.
pub fn key_of<'t>(text: &Cow<'t, str>, notation: Notation, tag: Tag) -> Result<Key<'t>, ProblemKind> {
    let scalar = scalar::resolve(text.clone(), notation, tag).map_err(|_| ProblemKind::WrongTag {
        tag: tag.as_str(),
        text: text.clone().into_owned(),
    })?;
    Ok(match scalar {
        Scalar::Text(text) => Key::Text(text),
        Scalar::Bool(value) => Key::Other(value.to_string()),
        Scalar::Int(value) => Key::Other(value.to_string()),
        Scalar::Float(value) => Key::Other(float::key(value)),
        Scalar::Big(_) => return Err(ProblemKind::HugeKey),
        Scalar::Null => return Err(ProblemKind::NullKey),
    })
}

/// The name that a key has for the API server; `None` if it is not a valid key.
pub fn key_name<'d>(tree: &'d Tree<'_>, id: NodeId) -> Option<Cow<'d, str>> {
    match &tree.get(tree.follow(id)?)?.content {
        Content::Scalar { text, notation, tag } => {
            match key_of(&Cow::Borrowed(text), *notation, *tag).ok()? {
                Key::Text(name) => Some(name),
                Key::Other(name) => Some(name.into()),
            }
        }
        _ => None,
    }
}
