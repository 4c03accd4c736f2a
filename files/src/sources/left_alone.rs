//! Why a text is not edited: another program writes what is applied.

use std::fmt;

use poolgate_core::diagnostic::{Diagnostic, ErrorType, FieldPath, Segment};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Document, ProblemKind, has_variable};

/// The beginning of a value that SOPS has encrypted.
const ENCRYPTED: &str = "ENC[AES256_GCM,";

/// Why an object is not what will be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftAlone {
    /// SOPS has encrypted the document: its checksum is over every value.
    Encrypted,
    /// It is a template.
    Template,
    /// It is a part of an object, whose rest is in another file.
    Patch,
    /// It contains variables such as `${A}` without a value.
    Variables,
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encrypted => "it is encrypted by SOPS",
            Self::Template => "it is a template",
            Self::Patch => "a kustomization names it as a patch",
            Self::Variables => "it contains variables that another program fills in",
        })
    }
}

/// Whether SOPS has encrypted a document: it writes its own data into each document of a file.
pub fn is_encrypted(document: &Json<'_>) -> bool {
    document.get("sops").is_some_and(Json::is_object)
        || any_text(document, &|text: &str| text.starts_with(ENCRYPTED))
}

/// Whether a document has lines of a Helm template.
pub fn has_template_lines(document: &Document<'_>) -> bool {
    let mut problems = document.problems().iter();
    problems.any(|problem| matches!(problem.kind, ProblemKind::Template { .. }))
}

/// Whether a value has text in the braces of a template.
pub fn has_braces(value: &Json<'_>) -> bool {
    any_text(value, &|text: &str| text.contains("{{") && text.contains("}}"))
}

/// Whether a value has a variable that was not filled in.
pub fn is_open(value: &Json<'_>) -> bool {
    any_text(value, &has_variable)
}

/// Whether a finding depends on a variable that is left in the object: at its field, below it, or beside it.
pub fn depends_on_variable(diagnostic: &Diagnostic, object: &Json<'_>) -> bool {
    let in_path = |path: &FieldPath| {
        let mut segments = path.segments().iter();
        segments.any(|segment| matches!(segment, Segment::Key(key) if has_variable(key)))
    };
    // An unknown field is unknown whatever its value is.
    let is_about_value = diagnostic.error_type != ErrorType::Unknown;
    let below = |path: &FieldPath| {
        let value = path.find(object).filter(|_| is_about_value);
        value.is_some_and(is_open)
    };
    let mut paths = std::iter::once(&diagnostic.path).chain(&diagnostic.related);
    paths.any(|path| in_path(path) || below(path))
}

/// Whether `fits` is true for any key or text. The depth of a document is bounded, and so is this.
fn any_text(value: &Json<'_>, fits: &impl Fn(&str) -> bool) -> bool {
    match value {
        Json::String(text) => fits(text),
        Json::Array(items) => items.iter().any(|item| any_text(item, fits)),
        Json::Object(fields) => fields
            .iter()
            .any(|(key, value)| fits(key) || any_text(value, fits)),
        _ => false,
    }
}
