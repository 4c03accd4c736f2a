//! Texts that must not be edited: what SOPS has encrypted, and templates.

use std::fmt;

use crate::json::Json;

use super::variables::has_variable;
use super::{Document, ProblemKind};

/// The beginning of a value that SOPS has encrypted.
const ENCRYPTED: &str = "ENC[AES256_GCM,";

/// Why a text is not edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftAlone {
    /// SOPS has encrypted the document: its checksum is over every value.
    Encrypted,
    /// It is a template: another program writes what is applied.
    Template,
    /// It contains variables such as `${A}`, which another program fills in.
    Variables,
}

impl LeftAlone {
    /// Why `object`, which is somewhere in `document`, must not be edited, if so.
    pub fn by_edits(document: &Document<'_>, object: &Json<'_>) -> Option<Self> {
        if Self::is_encrypted(document) {
            return Some(Self::Encrypted);
        }
        let is_template = |text: &str| text.contains("{{") && text.contains("}}");
        any_text(object, &is_template).then_some(Self::Template)
    }

    /// Why a program must not add to `object`, if so. Besides the reasons of [`Self::by_edits`], the value of a variable could already contain what it adds.
    pub fn by_additions(document: &Document<'_>, object: &Json<'_>) -> Option<Self> {
        Self::by_edits(document, object)
            .or_else(|| any_text(object, &has_variable).then_some(Self::Variables))
    }

    /// Whether SOPS has encrypted a document: it writes its own data into each document of a file. Walks the document once,
    /// however many of its objects ask.
    pub fn is_encrypted(document: &Document<'_>) -> bool {
        let value = document.value();
        *document.is_encrypted.get_or_init(|| {
            value.get("sops").is_some_and(Json::is_object)
                || any_text(value, &|text: &str| text.starts_with(ENCRYPTED))
        })
    }

    /// Whether a document contains lines of a template, so that the whole file is one.
    pub fn is_template(document: &Document<'_>) -> bool {
        let mut problems = document.problems().iter();
        problems.any(|problem| matches!(problem.kind, ProblemKind::Template { .. }))
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encrypted => "it is encrypted by SOPS",
            Self::Template => "it is a template",
            Self::Variables => "it contains variables that another program fills in",
        })
    }
}

/// Whether `fits` is true for any key or text. The depth of a document is bounded, and so is this.
pub fn any_text(value: &Json<'_>, fits: &impl Fn(&str) -> bool) -> bool {
    match value {
        Json::String(text) => fits(text),
        Json::Array(items) => items.iter().any(|item| any_text(item, fits)),
        Json::Object(fields) => fields
            .iter()
            .any(|(key, value)| fits(key) || any_text(value, fits)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, parse};
    use super::*;
    use crate::test_cost::assert_in_proportion;

    fn document(text: &str) -> Document<'_> {
        parse(text, &Limits::default()).next().expect("a document")
    }

    #[test]
    fn what_sops_and_templates_make_is_known() {
        let of = |text: &str| {
            let document = document(text);
            LeftAlone::by_edits(&document, document.value())
        };
        let by_additions = |text: &str| {
            let document = document(text);
            LeftAlone::by_additions(&document, document.value())
        };
        for encrypted in [
            r#"{"sops": {"mac": "x"}}"#,
            r#"{"spec": {"limits": {"cpu": "ENC[AES256_GCM,data:a,type:str]"}}}"#,
            r#"{"items": [{"a": "ENC[AES256_GCM,data:a,type:str]"}]}"#,
        ] {
            assert_eq!(of(encrypted), Some(LeftAlone::Encrypted), "{encrypted}");
        }
        for template in [r#"{"a": ["{{ .Values.a }}"]}"#, r#"{"{{ .Values.a }}": 1}"#] {
            assert_eq!(of(template), Some(LeftAlone::Template), "{template}");
        }
        let variable = r#"{"a": "${A}", "b": "{x}}"}"#;
        assert_eq!(of(variable), None);
        assert_eq!(by_additions(variable), Some(LeftAlone::Variables));
        for plain in [r#"{"a": "$$A", "b": "{x}}"}"#, r#"{"sops": "x"}"#, r#"["sops"]"#] {
            assert_eq!(by_additions(plain), None, "{plain}");
        }
    }

    #[test]
    fn a_document_is_walked_once_however_many_objects_it_has() {
        let list = |size: usize| format!("[{}]", "{},".repeat(size));
        assert_in_proportion(1 << 14, list, |text| {
            let document = document(text);
            for object in document.value().as_array().expect("a list") {
                assert_eq!(LeftAlone::by_additions(&document, object), None);
            }
        });
    }
}
