//! A rule: its name, severity, origin and page. The logic is in [`crate::rules`].

mod page;

use crate::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, RuleId, Severity};

pub use page::{Evidence, FindingKind, Page};

/// One rule, declared with [`rule!`](crate::rule!) beside its check. Its documentation is on its [`Page`].
#[derive(Debug)]
pub struct Rule {
    /// The name of the rule, which never changes.
    pub id: RuleId,
    /// The severity of a finding that sets no other.
    pub severity: Severity,
    /// The origin of a finding that sets no other.
    pub origin: Origin,
    /// True if it shows only when all objects of a cluster are checked together.
    pub is_across: bool,
    /// The text of its page, see [`Rule::page`].
    pub text: &'static str,
}

/// A [`Rule`]: its name, and the severity and the origin of its findings unless one says otherwise. Its page is
/// `rules/NAME.md` in the package that declares it; without it, this does not compile.
#[macro_export]
macro_rules! rule {
    ($id:literal, $severity:ident, $origin:ident) => {
        $crate::rules::rule::Rule {
            id: $crate::diagnostic::RuleId::new($id),
            severity: $crate::diagnostic::Severity::$severity,
            origin: $crate::diagnostic::Origin::$origin,
            is_across: false,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $id, ".md")),
        }
    };
}

impl Rule {
    /// Marks the rule as one that shows only when all objects of a cluster are checked together.
    #[must_use]
    pub(crate) const fn across(self) -> Self {
        Self {
            is_across: true,
            ..self
        }
    }

    /// Its documentation, parsed on each call, for printing.
    pub fn page(&self) -> Page {
        Page::parse(self.text)
    }

    /// A finding of this rule. `title` is a clause without a full stop.
    pub(crate) fn finding(
        &self,
        path: FieldPath,
        error_type: impl Into<ErrorType>,
        title: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            rule: self.id,
            severity: self.severity,
            own_severity: self.severity,
            origin: self.origin,
            path,
            error_type: error_type.into(),
            title: title.into(),
            consequence: None,
            remarks: Vec::new(),
            help: None,
            related: Vec::new(),
            is_lessened: false,
        }
    }
}
