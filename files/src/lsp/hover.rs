//! What is shown of a place: the rules that are broken there, the field, and when its schedule opens.

use poolgate_core::budget::Budgets;
use poolgate_core::diagnostic::{FieldPath, Segment};
use poolgate_core::manifest::{Limits, Span};
use poolgate_core::pool::{Disruption, NodePool};
use poolgate_core::rules::rule::Rule;

use super::args::LspArgs;
use super::documents::Document;
use crate::explain::{self, fields, windows};
use crate::sources::{SourceDocument, SourceObject};
use crate::text_rules;

/// Most rules that are explained at one place.
const MOST_RULES: usize = 3;

/// What is known of the byte at `offset`, in Markdown, the shortest first; `None` if nothing is.
pub fn hover(document: &mut Document<'_>, offset: usize) -> Option<String> {
    let here = document.findings().iter();
    let here = here.filter(|finding| has(finding.place.span, offset));
    let mut rules: Vec<&str> = here.map(|finding| finding.rule).collect();
    rules.dedup();
    let mut parts = Vec::new();
    for source in document.source()?.documents(&Limits::default()) {
        let objects = source.objects();
        let object = objects.iter().find(|object| has(object.span, offset));
        parts.extend(object.map(|object| field(&source, object, offset, document.flags)));
    }
    let mut parts = parts.concat();
    let rules = rules.into_iter().filter_map(text_rules::find_any);
    let page = |rule: &Rule| format!("### {}\n\n{}", rule.id, explain::markdown(rule));
    parts.extend(rules.take(MOST_RULES).map(page));
    (!parts.is_empty()).then(|| parts.join("\n---\n\n"))
}

/// Whether a byte is in a span, or just behind it: there a cursor stands after typing.
fn has(span: Span, offset: usize) -> bool {
    (span.start()..=span.end()).contains(&offset)
}

/// The field of a NodePool whose key is at a byte, and the windows of the schedule there.
fn field(
    source: &SourceDocument<'_>,
    object: &SourceObject<'_>,
    offset: usize,
    flags: &LspArgs,
) -> Vec<String> {
    let path = source.document.path_at(offset);
    let (Some(version), Some(place)) = (object.pool, source.document.locate(&path)) else {
        return Vec::new();
    };
    let own = path.segments().iter().skip(object.object.path.segments().len());
    let own: FieldPath = own.cloned().collect();
    let is_key = place.key.is_some_and(|key| has(key, offset));
    let explained = fields::at(&own)
        .filter(|_| is_key)
        .map(|field| explain::field(&field));
    let budget = own.parent().filter(|_| is_key || has(place.value, offset));
    let index = match budget.as_ref().map(FieldPath::segments) {
        Some([.., Segment::Index(index)]) => *index,
        _ => return Vec::from_iter(explained),
    };
    let is_schedule = own == Disruption::path("budgets").index(index).key("schedule");
    let budgets = Budgets::parse_all(&NodePool::view(version, object.object.value));
    let windows = windows::next(&budgets, index, flags.now()).filter(|_| is_schedule);
    explained.into_iter().chain(windows).collect()
}
