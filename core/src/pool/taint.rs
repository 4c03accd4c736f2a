//! A tolerant, borrowed view of a taint.

use super::field::Field;
use crate::diagnostic::FieldPath;
use crate::json::Object;

/// The two lists of taints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaintList {
    /// Those that stay on the node.
    Taints,
    /// Those that are removed once the node is ready.
    StartupTaints,
}

/// A taint that nodes get from the template.
#[derive(Debug)]
pub struct Taint<'a> {
    /// The list that it is in.
    pub list: TaintList,
    index: usize,
    /// `key`: what tolerations refer to.
    pub key: Field<&'a str>,
    /// `value`; a taint need not have one.
    pub value: Field<&'a str>,
    /// `effect`: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Field<&'a str>,
    /// `timeAdded`: a time by RFC 3339.
    pub time_added: Field<&'a str>,
}

impl TaintList {
    /// The field that holds the list.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Taints => "taints",
            Self::StartupTaints => "startupTaints",
        }
    }
}

impl<'a> Taint<'a> {
    /// The path of the taint itself.
    pub fn here(&self) -> FieldPath {
        FieldPath::of(&["spec", "template", "spec", self.list.field()]).index(self.index)
    }

    /// The path of a field of the taint.
    pub fn path(&self, field: &'static str) -> FieldPath {
        self.here().key(field)
    }

    pub(crate) fn view(list: TaintList, index: usize, taint: &'a Object<'a>) -> Self {
        Self {
            list,
            index,
            key: Field::text(taint, "key"),
            value: Field::text(taint, "value"),
            effect: Field::text(taint, "effect"),
            time_added: Field::text(taint, "timeAdded"),
        }
    }
}
