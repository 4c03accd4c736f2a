//! The diagnostics of a review and the problems of a text, as findings of a file: rules, words and fixes.

use poolgate_core::diagnostic::{
    Diagnostic, Edit, ErrorType, FieldPath, Origin, Segment, Severity, Suggestion,
};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, ManifestProblem, ProblemKind};
use serde_json::Value;

use crate::edit::Change;
use crate::format::finding::Finding;
use crate::text_rules::{
    ALIAS, DUPLICATE_KEY, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED, KEY, LIMIT, MERGE, RELEASE, SYNTAX,
    TEMPLATE, UNREADABLE, VALUE,
};

/// What to write instead. For a value that must be quoted, its text as the author wrote it.
pub fn suggestion(diagnostic: &Diagnostic, written: impl FnOnce() -> Option<String>) -> Option<String> {
    let suggestion = diagnostic.help.as_ref()?;
    let Some(Edit::Quote { is_number }) = suggestion.edit else {
        return Some(suggestion.text.clone());
    };
    let text = match written() {
        Some(written) if !has_leading_zero(&written) => Suggestion::quote(&written, is_number).text,
        Some(written) if !is_number => format!("{}, or \"{written}\"", suggestion.text),
        _ => suggestion.text.clone(),
    };
    Some(text)
}

/// Whether YAML reads a whole number otherwise than it is written: as octal, or without its zeros.
fn has_leading_zero(written: &str) -> bool {
    let digits = written.trim_start_matches(['+', '-']);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The suggestion as a change; `None` if there is none, or if the text is ambiguous: to YAML the limit `012` is ten, to its
/// author perhaps twelve.
pub fn change(
    diagnostic: &Diagnostic,
    object: &Json<'_>,
    written: impl Fn(&FieldPath) -> Option<String>,
) -> Option<Change> {
    let path = &diagnostic.path;
    match diagnostic.help.as_ref()?.edit.as_ref()? {
        Edit::Rename(name) => Some(Change::rename(name)),
        Edit::Remove => Some(Change::Remove),
        Edit::Unwrap => Some(Change::Unwrap),
        Edit::Quote { is_number } => {
            let written = written(path)?;
            let text = match (has_leading_zero(&written), is_number) {
                (false, _) => written,
                (true, true) => path.find(object)?.to_string(),
                (true, false) => return None,
            };
            Some(Change::write(Value::String(text)))
        }
        Edit::Set(value) => {
            let is_text = path.find(object)?.as_str().is_some() || !value.is_string();
            (is_text || written(path).as_deref() == value.as_str()).then(|| Change::write(value.clone()))
        }
    }
}

/// Whether Karpenter rejects the object for it: also if a policy has lowered the error.
pub fn is_rejected(diagnostic: &Diagnostic) -> bool {
    diagnostic.origin.is_karpenters() && diagnostic.severity.max(diagnostic.own_severity) == Severity::Error
}

/// Whether the API server may have stored the object with the mistake: an unknown field is dropped then.
pub fn is_storable(diagnostic: &Diagnostic) -> bool {
    diagnostic.origin != Origin::Schema || diagnostic.error_type == ErrorType::Unknown
}

/// The text of a number or boolean as it is in the file; `None` if a tag or an anchor is before it.
pub fn as_written(text: &str, document: &Document<'_>, field: &FieldPath) -> Option<String> {
    let written = document.locate(field)?.value.slice(text);
    (!written.is_empty() && !written.starts_with(['!', '&'])).then(|| written.to_owned())
}

/// Whether a finding makes sense only for a complete object, not for a patch: a field that is missing, or one that
/// is an instruction to kustomize.
pub fn is_about_the_whole(diagnostic: &Diagnostic) -> bool {
    let last = diagnostic.path.segments().last();
    let is_directive = matches!(last, Some(Segment::Key(key)) if key.starts_with('$'));
    match diagnostic.error_type {
        ErrorType::Required => true,
        ErrorType::Unknown => is_directive,
        _ => false,
    }
}

/// The rule of a kind of problem in the text.
pub const fn problem_rule(kind: &ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Syntax(_) => SYNTAX,
        ProblemKind::Template { .. } => TEMPLATE,
        ProblemKind::DuplicateKey { .. } => DUPLICATE_KEY,
        ProblemKind::MergeReplaces { .. } | ProblemKind::MergeOfNoMapping => MERGE,
        ProblemKind::NonTextKey { .. }
        | ProblemKind::NullKey
        | ProblemKind::CompoundKey
        | ProblemKind::HugeKey => KEY,
        ProblemKind::NotFinite | ProblemKind::WrongTag { .. } => VALUE,
        ProblemKind::UnknownAlias { .. } | ProblemKind::RecursiveAlias => ALIAS,
        ProblemKind::TooDeep { .. }
        | ProblemKind::TooManyNodes { .. }
        | ProblemKind::TooManyComments { .. }
        | ProblemKind::TooManyDocuments { .. }
        | ProblemKind::TooMuchAliased
        | ProblemKind::TooLarge { .. } => LIMIT,
    }
}

/// Notes on the release and the feature gates of Karpenter: they are the same for every object.
const ONCE: [&str; 2] = [RELEASE, "replicas-gate"];

/// Whether a finding is reported once in a run. If its rule has a level in the policy, each one is reported.
pub fn is_reported_once(finding: &Finding) -> bool {
    finding.severity == Severity::Note && ONCE.contains(&finding.rule)
}

/// Whether a comment may ignore findings of this name. Mistakes in the comments themselves cannot be ignored.
pub fn is_ignorable(name: &str) -> bool {
    ![UNREADABLE, IGNORE_SYNTAX, IGNORE_UNKNOWN, IGNORE_UNUSED].contains(&name)
}

/// What is wrong with a text, and what to do about it. A text without any line of a manifest is not one: advice on single
/// characters would not help.
pub fn problem_title(problem: &ManifestProblem, text: &str) -> (String, Option<&'static str>) {
    let is_manifest = |line: &str| {
        let line = line.trim_start_matches(['-', ' ', '\t', '{', '"', '\'', '\u{feff}']);
        line.starts_with("apiVersion") || line.starts_with("kind")
    };
    match problem.kind {
        ProblemKind::Syntax(_) if !text.lines().any(is_manifest) => {
            ("the text is not a YAML or JSON manifest".to_owned(), None)
        }
        _ => (problem.kind.title(), problem.kind.help()),
    }
}
