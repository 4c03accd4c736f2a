//! What poolgate says about an object: one [`Diagnostic`] per rule and field, collected in a [`Report`].
//!
//! Knows nothing of NodePools, of rules as such, or of how a diagnostic is shown.

mod error_type;
mod origin;
mod path;
mod report;
mod suggestion;

use std::fmt::{self, Write as _};

pub use error_type::{ErrorType, counted, quoted};
pub use origin::Origin;
pub use path::{FieldPath, Segment};
pub use report::{MAX_KEPT, Report};
pub use suggestion::{Edit, Suggestion, nearest, nearest_within};

/// The stable, kebab-case name of a rule, such as `schedule-syntax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// The name of a rule: kebab-case, and different from all others.
    pub const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// The name as text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Room for a value, the name of a rule and full stops, in bytes, so that most messages are allocated once.
const USUAL_PROBLEM: usize = 96;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; shown offline only.
    Note,
    /// Legal, but will probably cause trouble. The object is admitted.
    Warning,
    /// The object is denied.
    Error,
}

impl Severity {
    /// The word in output and policy files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding: what is wrong, where, why it matters and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that reports it.
    pub rule: RuleId,
    /// Its severity: its own, unless policy or ratchet changed it.
    pub severity: Severity,
    /// Its severity before policy and ratchet.
    pub own_severity: Severity,
    /// Which program would notice it without poolgate.
    pub origin: Origin,
    /// The field with the mistake. For a missing field, the path it should have.
    pub path: FieldPath,
    /// What is wrong, in the API server's words.
    pub error_type: ErrorType,
    /// The problem: a clause without a full stop.
    pub title: String,
    /// What follows from it: a clause without a full stop.
    pub consequence: Option<String>,
    /// Why its severity is not its own.
    pub remarks: Vec<String>,
    /// What to write instead.
    pub help: Option<Suggestion>,
    /// Other fields that the finding is based on, such as the labels beside the requirements.
    pub related: Vec<FieldPath>,
    /// True if the stored object has the mistake, too, and the update brings it closer to what is allowed.
    pub is_lessened: bool,
}

impl Diagnostic {
    /// Sets its own severity, if that is not the usual one of its rule.
    pub fn severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = severity;
        self.own_severity = severity;
        self
    }

    /// Sets its origin, if that is not the usual one of its rule.
    pub fn origin(&mut self, origin: Origin) -> &mut Self {
        self.origin = origin;
        self
    }

    /// Adds what to write instead.
    pub fn suggest(&mut self, suggestion: impl Into<Suggestion>) -> &mut Self {
        self.suggest_if_known(Some(suggestion))
    }

    /// Adds what to write instead, if that is known.
    pub(crate) fn suggest_if_known(&mut self, suggestion: Option<impl Into<Suggestion>>) -> &mut Self {
        if let Some(suggestion) = suggestion {
            self.help = Some(suggestion.into());
        }
        self
    }

    /// Says what follows from the mistake.
    pub fn consequence(&mut self, consequence: impl Into<String>) -> &mut Self {
        self.consequence = Some(consequence.into());
        self
    }

    /// Says why its severity is not its own.
    pub(crate) fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// Adds another field that the finding is based on.
    pub fn related(&mut self, path: FieldPath) -> &mut Self {
        self.related.push(path);
        self
    }

    /// Says whether the stored object has the mistake, too, and the update makes it smaller.
    pub(crate) fn lessened(&mut self, is_lessened: bool) -> &mut Self {
        self.is_lessened = is_lessened;
        self
    }

    /// What is wrong, with the value: a clause without a full stop.
    pub fn statement(&self) -> String {
        statement(&self.title, self.error_type.value().as_deref())
    }

    /// What kubectl shows after the field: on one line what is wrong and the rule, what to write instead, what follows.
    pub fn message(&self) -> String {
        let others = [
            self.help.as_ref().map(|help| help.text.as_str()),
            self.consequence.as_deref(),
        ];
        let length: usize = others.iter().flatten().map(|other| other.len()).sum();
        let mut first = String::with_capacity(self.title.len() + length + USUAL_PROBLEM);
        state(&mut first, &self.title, self.error_type.value().as_deref());
        first.push_str(" [");
        first.push_str(self.rule.as_str());
        first.push(']');
        for remark in &self.remarks {
            let _ = write!(first, " ({remark})");
        }
        sentences(first, others)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// A title with the value that it is about, unless it names that itself.
pub fn statement(title: &str, value: Option<&str>) -> String {
    let mut text = String::new();
    state(&mut text, title, value);
    text
}

fn state(text: &mut String, title: &str, value: Option<&str>) {
    text.push_str(title);
    if let Some(value) = value.filter(|value| !names(title, value.trim_matches('"'))) {
        text.push_str(": ");
        text.push_str(value);
    }
}

/// True if a title has this value, as a word or words of its own.
fn names(title: &str, value: &str) -> bool {
    let is_part = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    !value.is_empty()
        && title.match_indices(value).any(|(start, found)| {
            let before = title.get(..start).and_then(|before| before.chars().next_back());
            let after = title
                .get(start + found.len()..)
                .and_then(|after| after.chars().next());
            !is_part(before) && !is_part(after)
        })
}

/// The first few of some names, and how many more there are: `a, b and 3 more`.
pub fn first_few(names: impl IntoIterator<Item = impl fmt::Display>, most: usize) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(most).map(|name| name.to_string()).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// A first clause, and what is there of the others, each as a sentence.
pub fn sentences<'t>(first: String, others: impl IntoIterator<Item = Option<&'t str>>) -> String {
    let mut text = first;
    for other in others.into_iter().flatten() {
        stop(&mut text);
        text.push(' ');
        let mut characters = other.chars();
        match characters.next() {
            // The name of a field keeps its spelling.
            Some(initial) if begins_with_word(other) => text.extend(initial.to_uppercase()),
            initial => text.extend(initial),
        }
        text.push_str(characters.as_str());
    }
    stop(&mut text);
    text
}

fn stop(text: &mut String) {
    if !text.ends_with(['.', '?', '!']) {
        text.push('.');
    }
}

fn begins_with_word(text: &str) -> bool {
    let word = text.split([' ', ',']).next().unwrap_or_default();
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_title_value_rule_help_and_consequence_in_that_order() {
        let mut diagnostic = Diagnostic {
            rule: RuleId::new("budget-nodes"),
            severity: Severity::Error,
            own_severity: Severity::Error,
            origin: Origin::Schema,
            path: FieldPath::root().key("spec").key("budgets").index(1).key("nodes"),
            error_type: ErrorType::from("101%"),
            title: "a percentage must be from 0% to 100%".into(),
            consequence: Some("no node is disrupted".into()),
            remarks: Vec::new(),
            help: Some("write 100%".into()),
            related: Vec::new(),
            is_lessened: false,
        };
        assert_eq!(
            diagnostic.to_string(),
            r#"spec.budgets[1].nodes: a percentage must be from 0% to 100%: "101%" [budget-nodes]. Write 100%. No node is disrupted."#
        );
        diagnostic.error_type = ErrorType::from("1");
        assert!(
            diagnostic
                .message()
                .starts_with("a percentage must be from 0% to 100%: \"1\" [")
        );
        diagnostic.error_type = ErrorType::from("101%");
        diagnostic.title = "101% is more than 100%".into();
        diagnostic.remark("not enforced");
        diagnostic.help = Some("did you mean 10%?".into());
        diagnostic.consequence = Some("consolidateAfter has no effect".into());
        assert_eq!(
            diagnostic.message(),
            "101% is more than 100% [budget-nodes] (not enforced). Did you mean 10%? consolidateAfter has no effect."
        );
    }
}
