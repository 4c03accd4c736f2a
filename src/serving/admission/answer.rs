//! The AdmissionReview that is sent.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poolgate_core::defaults::DefaultValue;
use poolgate_core::diagnostic::{Diagnostic, Report, RuleId, Severity};
use serde::Serialize;
use serde_json::Value;

use super::envelope::{AdmissionRequest, Text, beginning};
use super::warnings::warnings;

/// HTTP status "unprocessable entity", which the API server itself uses for invalid objects.
const UNPROCESSABLE: u16 = 422;
/// HTTP status "forbidden", as of the API server itself for a quota that is exceeded.
const FORBIDDEN: u16 = 403;
/// HTTP status "content too large".
const TOO_LARGE: u16 = 413;
/// HTTP status "bad request", for an object that cannot be read at all.
const BAD_REQUEST: u16 = 400;

/// Room for an answer apart from its texts, in bytes, so that most answers are allocated once.
const USUAL_ANSWER: usize = 512;

/// The most bytes of all causes, as JSON. The message repeats them, and the rest (warnings, names, rules) takes less than
/// 48 KiB, so an answer takes 176 KiB at most, apart from the defaults of the policy.
const CAUSES: usize = 64 * 1024;
/// The longest message, and the longest field of a cause, in bytes: a key of a map may be as long as a body.
const LONGEST_MESSAGE: usize = 4 * 1024;
const LONGEST_FIELD: usize = 1024;

/// A serialised answer, and what logs and metrics need of it.
#[derive(Debug)]
pub struct Answer<'b> {
    /// The AdmissionReview, as JSON.
    pub body: Vec<u8>,
    /// A summary of it.
    pub summary: Summary<'b>,
}

/// The summary of an answer, for logs and metrics.
#[derive(Debug)]
pub struct Summary<'b> {
    /// Whether the object was admitted.
    pub verdict: Verdict,
    /// `CREATE`, `UPDATE`, `DELETE` or `OTHER`.
    pub operation: &'static str,
    /// The request's uid.
    pub uid: Text<'b>,
    /// The object's name; empty while it is to be generated.
    pub name: Text<'b>,
    /// The rules with findings, in the order of these, each once.
    pub rules: Vec<RuleId>,
    /// Whether the answer completes the object.
    pub patched: bool,
    /// Whether this is a dry run.
    pub dry_run: bool,
}

/// The outcome of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The object may be stored.
    Allowed,
    /// The object is denied.
    Denied,
}

impl Verdict {
    /// The word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }
}

/// The object is admitted as it is.
pub fn allowed<'b>(request: &AdmissionRequest<'b>, report: &Report) -> Answer<'b> {
    let mut response = Response::new(request, true);
    response.speak(report);
    response.into_answer(request, rules(report.diagnostics().iter()))
}

/// The object is admitted, with what its author left out.
pub fn completed<'b>(request: &AdmissionRequest<'b>, defaults: &[DefaultValue]) -> Answer<'b> {
    let mut response = Response::new(request, true);
    if !defaults.is_empty() {
        response.patch = Some(patch(defaults));
        response.patch_type = Some("JSONPatch");
    }
    response.into_answer(request, Vec::new())
}

/// The object is denied by the findings of the report.
pub fn denied<'b>(request: &AdmissionRequest<'b>, report: &Report) -> Answer<'b> {
    let mut room = CAUSES;
    let mut causes = Vec::new();
    for cause in report.with_severity(Severity::Error).map(Cause::from) {
        match room.checked_sub(cause.length()) {
            Some(left) => room = left,
            None => break,
        }
        causes.push(cause);
    }
    let omitted = report.count(Severity::Error).saturating_sub(causes.len());
    if omitted > 0 {
        causes.push(Cause {
            reason: "FieldValueInvalid",
            message: format!("{omitted} more mistakes are not shown"),
            field: String::new(),
        });
    }
    let message = format!("{} is invalid: {}", named(request), listed(&causes));
    let mut response = Response::denied(request, UNPROCESSABLE, "Invalid", message, causes);
    response.speak(report);
    response.into_answer(request, rules(report.diagnostics().iter()))
}

/// The object is denied because it cannot be read; in practice because it is nested too deeply.
pub fn unreadable<'b>(request: &AdmissionRequest<'b>, error: &serde_json::Error) -> Answer<'b> {
    let message = cut(
        format!("{} cannot be read: {error}", named(request)),
        LONGEST_MESSAGE,
    );
    Response::denied(request, BAD_REQUEST, "BadRequest", message, Vec::new()).into_answer(request, Vec::new())
}

/// The object is denied because it would take more than `limit` bytes of memory to review it.
pub fn too_large<'b>(request: &AdmissionRequest<'b>, limit: usize) -> Answer<'b> {
    let message = format!(
        "{} is too large: reviewing it together with the stored object would take more than {} MiB of memory",
        named(request),
        limit / (1024 * 1024)
    );
    Response::denied(request, TOO_LARGE, "RequestEntityTooLarge", message, Vec::new())
        .into_answer(request, Vec::new())
}

/// The object is admitted as it is. The audit log names a rule that would have denied it.
pub fn admitted<'b>(request: &AdmissionRequest<'b>, spared: Option<&'static str>) -> Answer<'b> {
    let mut response = Response::new(request, true);
    if let Some(rule) = spared {
        response
            .audit_annotations
            .insert("not-denied-by", rule.to_owned());
    }
    response.into_answer(request, Vec::new())
}

/// The object is admitted, whatever it is, with this warning.
pub fn admitted_with_warning<'b>(request: &AdmissionRequest<'b>, warning: String) -> Answer<'b> {
    let mut response = Response::new(request, true);
    response.warnings.push(warning);
    response.into_answer(request, Vec::new())
}

/// An object that may be right in itself is forbidden, as by a quota.
pub fn forbidden<'b>(request: &AdmissionRequest<'b>, message: String, rule: &'static str) -> Answer<'b> {
    let mut response = Response::denied(
        request,
        FORBIDDEN,
        "Forbidden",
        cut(message, LONGEST_MESSAGE),
        Vec::new(),
    );
    response.audit_annotations.insert("denied-by", rule.to_owned());
    response.into_answer(request, Vec::new())
}

/// The object as the API server names it in its messages.
fn named(request: &AdmissionRequest<'_>) -> String {
    let kind = &request.kind;
    format!("{}.{} \"{}\"", kind.kind, kind.group, request.short_name())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Status<'a> {
    #[serde(rename = "status")]
    outcome: &'static str,
    message: String,
    reason: &'static str,
    details: Details<'a>,
    code: u16,
}

#[derive(Serialize)]
struct Details<'a> {
    name: &'a str,
    group: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
}

#[derive(Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

impl From<&Diagnostic> for Cause {
    fn from(error: &Diagnostic) -> Self {
        Self {
            reason: error.error_type.cause_reason(),
            message: cut(error.message(), LONGEST_MESSAGE),
            field: cut(error.path.to_string(), LONGEST_FIELD),
        }
    }
}

impl Cause {
    /// How many bytes it takes as JSON, and about as many in the message.
    fn length(&self) -> usize {
        USUAL_CAUSE + length_of_json(&self.message) + length_of_json(&self.field)
    }
}

/// The bytes of a cause apart from its texts.
const USUAL_CAUSE: usize = 64;

/// How many bytes a text takes as JSON.
fn length_of_json(text: &str) -> usize {
    let of_byte = |byte| match byte {
        b'"' | b'\\' => 2,
        // Most of them have a longer form than these.
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(of_byte).sum()
}

/// The text, without its end if it is longer than this.
fn cut(text: String, longest: usize) -> String {
    if text.len() <= longest {
        return text;
    }
    beginning(&text, longest).to_owned() + "…"
}

impl<'a> Response<'a> {
    fn new(request: &'a AdmissionRequest<'_>, allowed: bool) -> Self {
        Self {
            uid: &request.uid,
            allowed,
            status: None,
            patch: None,
            patch_type: None,
            audit_annotations: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    fn denied(
        request: &'a AdmissionRequest<'_>,
        code: u16,
        reason: &'static str,
        message: String,
        causes: Vec<Cause>,
    ) -> Self {
        let status = Status {
            outcome: "Failure",
            message,
            reason,
            details: Details {
                name: request.short_name(),
                group: &request.kind.group,
                kind: &request.kind.kind,
                causes,
            },
            code,
        };
        Self {
            status: Some(status),
            ..Self::new(request, false)
        }
    }

    /// Adds the warnings, and the names of the rules for the audit log. The API server puts the webhook's name
    /// before each key.
    fn speak(&mut self, report: &Report) {
        self.warnings = warnings(report);
        for (key, severity) in [("denied-by", Severity::Error), ("warned-by", Severity::Warning)] {
            let names: Vec<_> = rules(report.with_severity(severity))
                .into_iter()
                .map(RuleId::as_str)
                .collect();
            if !names.is_empty() {
                self.audit_annotations.insert(key, names.join(","));
            }
        }
    }

    /// About how many bytes its texts take; each of several causes is in the message as well.
    fn length_of_texts(&self) -> usize {
        let message = self.status.as_ref().map_or(0, |status| 2 * status.message.len());
        let patch = self.patch.as_ref().map_or(0, String::len);
        message + patch + self.warnings.iter().map(String::len).sum::<usize>()
    }

    fn into_answer<'b>(self, request: &AdmissionRequest<'b>, rules: Vec<RuleId>) -> Answer<'b> {
        let summary = Summary {
            verdict: if self.allowed {
                Verdict::Allowed
            } else {
                Verdict::Denied
            },
            operation: request.operation.as_str(),
            uid: request.uid.clone(),
            name: request.kept_name(),
            rules,
            patched: self.patch.is_some(),
            dry_run: request.dry_run,
        };
        let envelope = Envelope {
            api_version: "admission.k8s.io/v1",
            kind: "AdmissionReview",
            response: self,
        };
        let mut body = Vec::with_capacity(USUAL_ANSWER + envelope.response.length_of_texts());
        // Strings and string maps always have a JSON form: this cannot fail, and an empty body would be a
        // webhook failure, which the failure policy decides.
        if serde_json::to_writer(&mut body, &envelope).is_err() {
            body.clear();
        }
        Answer { body, summary }
    }
}

/// Several errors as the API server lists them in one message.
fn listed(causes: &[Cause]) -> String {
    let length = causes
        .iter()
        .map(|cause| cause.field.len() + cause.message.len() + 4)
        .sum();
    let mut text = String::with_capacity(length);
    let (open, close) = if causes.len() == 1 { ("", "") } else { ("[", "]") };
    text.push_str(open);
    for (position, cause) in causes.iter().enumerate() {
        if position > 0 {
            text.push(' ');
        }
        if !cause.field.is_empty() {
            text.push_str(&cause.field);
            text.push_str(": ");
        }
        text.push_str(&cause.message);
    }
    text.push_str(close);
    text
}

fn rules<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) -> Vec<RuleId> {
    let mut rules = Vec::new();
    for diagnostic in diagnostics {
        if !rules.contains(&diagnostic.rule) {
            rules.push(diagnostic.rule);
        }
    }
    rules
}

/// A JSON Patch (RFC 6902) of `add` operations, which replace a value that is there, in base64 as the API wants it.
fn patch(defaults: &[DefaultValue]) -> String {
    #[derive(Serialize)]
    struct Add<'a> {
        op: &'static str,
        path: String,
        value: &'a Value,
    }
    let operations: Vec<Add<'_>> = defaults
        .iter()
        .map(|default| Add {
            op: "add",
            path: default.path.to_pointer(),
            value: &default.value,
        })
        .collect();
    STANDARD.encode(serde_json::to_vec(&operations).unwrap_or_default())
}
