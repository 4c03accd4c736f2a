//! A rule: its name, severity, origin and page. The logic is in [`crate::rules`].

mod page;

use crate::diagnostic::{Diagnostic, ErrorType, FieldPath, Origin, RuleId, Severity};

pub use page::Page;

/// How it is known what a mistake does to Karpenter if nothing rejects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Karpenter's own code shows it on the bad example, linked into a test (`tests/oracle/symptoms.rs`).
    Shown,
    /// The sources that its page names.
    Read,
    /// Users reported it: their issues are on its page.
    Reported,
}

/// One rule, declared with [`rule!`](crate::rule!) beside its check. Its documentation is on its [`Page`].
#[derive(Debug)]
pub struct Rule {
    /// The name of the rule, which never changes.
    pub id: RuleId,
    /// The severity of its findings unless the policy changes it.
    pub severity: Severity,
    /// Which program would notice without poolgate: all origins of its findings, the default first.
    pub origins: &'static [Origin],
    /// How it is known what follows from findings that are [`Origin::Silent`]; `None` if the rule has no such
    /// finding.
    pub evidence: Option<Evidence>,
    /// Whether it shows only when all objects of a cluster are checked together.
    pub is_across: bool,
    /// The text of its page, see [`Rule::page`].
    pub text: &'static str,
}

/// A [`Rule`]: its name, its severity, its origins and, if one of them is `Silent`, the
/// evidence. Its page is `rules/NAME.md` in the package that declares it; without it, this does not compile.
#[macro_export]
macro_rules! rule {
    ($id:literal, $severity:ident, [$($origin:ident),+] $(, $evidence:ident)?) => {
        $crate::rules::rule::Rule {
            id: $crate::diagnostic::RuleId::new($id),
            severity: $crate::diagnostic::Severity::$severity,
            origins: &[$($crate::diagnostic::Origin::$origin),+],
            evidence: $crate::rule!(@evidence $($evidence)?),
            is_across: false,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $id, ".md")),
        }
    };
    (@evidence) => { None };
    (@evidence $evidence:ident) => { Some($crate::rules::rule::Evidence::$evidence) };
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

    /// Its documentation, parsed on each call: for what prints it.
    pub fn page(&self) -> Page {
        Page::parse(self.text)
    }

    /// A finding of this rule, of its first origin. An illegal value is a problem by itself; `title` is a clause without a full
    /// stop.
    pub(crate) fn finding(
        &self,
        path: FieldPath,
        error_type: impl Into<ErrorType>,
        title: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            rule: self.id,
            severity: self.severity,
            // `rule!` takes no empty list.
            origin: self.origins.first().copied().unwrap_or(Origin::Poolgate),
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
