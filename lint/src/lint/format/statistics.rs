//! How many findings each rule has: an overview for a repository with many.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::super::tally::Tally;
use crate::text_rules;

/// One line for each rule, the one with the most findings first.
pub fn closing(tally: &Tally) -> String {
    let mut rows: Vec<_> = tally.rules.iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(**count));
    let digits = rows.first().map_or(0, |(_, count)| count.to_string().len());
    let width = rows.iter().map(|(rule, _)| rule.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (rule, count) in rows {
        let title = text_rules::find_any(rule).map(|rule| rule.page().title);
        let title = title.unwrap_or_default().replace('`', "");
        let _ = writeln!(text, "{count:digits$}  {rule:width$}  {title}");
    }
    text
}
