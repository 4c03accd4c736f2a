//! What an author can do about a finding: write its fix, or ignore it here with a reason.

use lsp_types::{Range, TextEdit};
use poolgate_core::diagnostic::sentences;
use poolgate_core::manifest::Span;
use poolgate_core::pool::Template;
use serde_json::{Value, json};

use super::documents::Document;
use super::findings::diagnostic;
use crate::check::may_be_stored;
use crate::edit::Positions;
use crate::format::finding::Finding;
use crate::terminal;

/// Most findings for which a comment is tried: each costs a check of the text.
const MOST_IGNORED: usize = 5;

/// What the author replaces.
const REASON: &str = "REASON";

/// What can be done about the findings on the lines of a range.
pub fn actions(document: &mut Document<'_>, range: Range) -> Vec<Value> {
    let findings = document.findings().to_vec();
    let positions = Positions::new(&document.text);
    let is_here = |finding: &&Finding| {
        let lines = positions.range(finding.place.span);
        lines.start.line <= range.end.line && range.start.line <= lines.end.line
    };
    let mut actions = Vec::new();
    let mut tried = 0;
    for finding in findings.iter().filter(is_here) {
        let mut add = |title: String, is_preferred: bool, span: Span, text: &str| {
            let edit = TextEdit::new(positions.range(span), text.to_owned());
            actions.push(json!({
                "title": title,
                "kind": "quickfix",
                "diagnostics": [diagnostic(finding, &positions, &document.uri, document.flags)],
                "isPreferred": is_preferred,
                "edit": { "changes": { (&document.uri): [edit] } },
            }));
        };
        if let Some(edit) = finding.edit() {
            let what = finding.suggestion.as_deref().unwrap_or(&finding.title);
            let is_costly = may_be_stored(finding) && Template::is_hashed(&edit.field);
            let cost = is_costly.then_some("Karpenter then replaces the nodes of the pool");
            let what = terminal::capitalised(what);
            let title = cost.map_or(what.clone(), |cost| sentences(what, [Some(cost)]));
            add(title, !is_costly, edit.place.span, &edit.text);
        }
        if tried < MOST_IGNORED && !finding.is_rejected {
            tried += 1;
            if let Some((at, comment)) = document.comment(finding, REASON) {
                let title = format!("Ignore {} here, with a reason", finding.rule);
                add(title, false, Span::new(at, at), &comment);
            }
        }
    }
    actions
}
