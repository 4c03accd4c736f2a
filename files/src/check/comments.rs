//! The comment that ignores a finding. Like a fix, it is offered only if it works.

use poolgate_core::manifest::Span;

use super::suppress::ignoring;
use super::{Checker, is_ignorable};
use crate::edit;
use crate::format::finding::Finding;
use crate::sources::Input;

impl Checker<'_> {
    /// The comment that ignores a finding of an input and does nothing else, with the byte at which it is inserted: at the
    /// end of its line, or above it. `all` are the findings of the input.
    pub(crate) fn comment(
        self,
        input: &Input,
        all: &[Finding],
        finding: &Finding,
        why: &str,
    ) -> Option<(usize, String)> {
        if finding.is_rejected || !is_ignorable(finding.rule) {
            return None;
        }
        let text = self.manifests.read(input).ok()?.text;
        let mut comments = places(&text, finding, &ignoring(finding.rule, why)).into_iter();
        comments.find(|(at, comment)| {
            let changed = edit::apply(&text, [(Span::new(*at, *at), &**comment)]);
            let variables = &self.manifests.project(input).variables;
            if !edit::is_as_meant(&text, &changed, variables, |old, new| old == new) {
                return false;
            }
            // A finding is known again by its rule and its place.
            let moved = |found: &Finding| {
                let start = found.place.span.start();
                (
                    found.rule,
                    if start < *at { start } else { start + comment.len() },
                )
            };
            let others = all.iter().map(moved).filter(|other| *other != moved(finding));
            let others: Vec<_> = others.collect();
            let checked = self.check(input, self.manifests.text(input, changed), None);
            let mut after = checked.findings.iter();
            after.all(|found| others.contains(&(found.rule, found.place.span.start())))
        })
    }
}

/// Where a comment about a finding may be, with what separates it from the text.
fn places(text: &str, finding: &Finding, comment: &str) -> [(usize, String); 2] {
    let (before, behind) = text
        .split_at_checked(finding.place.span.start())
        .unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = before.len() + behind.find('\n').unwrap_or(behind.len());
    let line = text.get(start..end).unwrap_or_default();
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (line, newline) = line
        .strip_suffix('\r')
        .map_or((line, "\n"), |line| (line, "\r\n"));
    let above = format!("{:indent$}{comment}{newline}", "");
    [(start + line.len(), format!(" {comment}")), (start, above)]
}
