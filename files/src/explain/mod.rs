//! What rules and fields mean: `poolgate explain` prints it, docs/reference/rules.md has it, and editors show it.

pub mod fields;
pub mod windows;

use std::fmt::Write as _;

use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::manifest::{self, Document};
use poolgate_core::rules::rule::{Page, Rule};
use serde_json::{Map, Value};

use fields::Field;

/// Longest run of lines that is shown whole, if they differ only in digits. The middle of a longer one is left out.
const LONGEST_RUN: usize = 6;

/// How many lines of a longer run are shown before the gap; one is shown after it.
const SHOWN_OF_RUN: usize = 3;

/// The page of a rule in Markdown, without its name.
pub fn markdown(rule: &Rule) -> String {
    let page = rule.page();
    let mut output = format!("**{}.** ({})\n\n", page.title, severities(rule, &page));
    let _ = writeln!(output, "{}\n\n{}", page.why, origins(rule, &page));
    if let Some(cost) = cost(&page) {
        let _ = writeln!(output, "\n{cost}");
    }
    if !page.seen_in.is_empty() {
        let links: Vec<String> = page.seen_in.iter().map(|issue| link(issue)).collect();
        let _ = writeln!(output, "\nSeen in {}.", links.join(", "));
    }
    for kind in &page.kinds {
        let word = match kind.severity {
            _ if rule.is_across => "Found",
            Severity::Error => "Denied",
            Severity::Warning => "Warned of",
            Severity::Note => "Noted",
        };
        let gap = if kind.name.is_empty() { "" } else { ", " };
        let _ = writeln!(
            output,
            "\n{word}{gap}{}:\n\n```yaml\n{}```\n\nFine:\n\n```yaml\n{}```",
            kind.name,
            shortened(kind.bad),
            shortened(kind.good)
        );
    }
    output
}

/// A field in Markdown.
pub fn field(field: &Field) -> String {
    let mut output = format!("### {}\n\n{}\n", field.path, field.text);
    if let Some(default) = field.default {
        let _ = writeln!(output, "\nDefault: {default}");
    }
    let _ = match field.since {
        Some("poolgate") => writeln!(output, "\nDefined by poolgate"),
        Some(release) => writeln!(output, "\nSince Karpenter {release}"),
        None => Ok(()),
    };
    let _ = writeln!(output, "\nRules: {}", field.rules);
    output
}

fn link(issue: &str) -> String {
    issue.split_once('#').map_or_else(
        || issue.to_owned(),
        |(repository, number)| format!("[{issue}](https://github.com/{repository}/issues/{number})"),
    )
}

/// The severities of a rule's findings, each once, as words.
pub fn severities(rule: &Rule, page: &Page) -> String {
    let mut words = vec![rule.severity.as_str()];
    for kind in &page.kinds {
        if !words.contains(&kind.severity.as_str()) {
            words.push(kind.severity.as_str());
        }
    }
    words.join(", ")
}

/// What reports findings that show only across objects.
const ACROSS: &str = "Only `poolgate lint --together` and `poolgate lint --cluster` report this. Each object on its own is \
                      valid, and Karpenter's CRD and the webhook see one object at a time.";

/// What reports findings of a rule that is not in the catalogue.
const OWN: &str = "Only `poolgate lint` reports this. The API server and the webhook do not see the text.";

/// The other programs that reject objects that break the rule, as a sentence.
pub fn origins(rule: &Rule, page: &Page) -> String {
    if page.kinds.is_empty() {
        return OWN.to_owned();
    }
    if rule.is_across {
        return ACROSS.to_owned();
    }
    let has = |origin| page.kinds.iter().any(|kind| kind.origin == origin);
    if let Some(only) = page.kinds.first().map(|kind| kind.origin)
        && page.kinds.iter().all(|kind| kind.origin == only)
    {
        return match only {
            Origin::Schema => "Karpenter's CRD rejects this, too.",
            Origin::Runtime => {
                "Karpenter's CRD accepts this. Karpenter then marks the NodePool not ready and launches nothing for it."
            }
            Origin::Silent => "Karpenter's CRD accepts this.",
            Origin::Poolgate => "Only poolgate checks this.",
        }
        .to_owned();
    }
    let cases: [(&[Origin], &str); 3] = [
        (&[Origin::Schema], "Karpenter's CRD rejects some cases."),
        (
            &[Origin::Runtime],
            "In some cases Karpenter marks the NodePool not ready and launches nothing for it.",
        ),
        (
            &[Origin::Silent, Origin::Poolgate],
            "Some cases are reported by poolgate only.",
        ),
    ];
    let known = cases
        .iter()
        .filter(|(origins, _)| origins.iter().any(|origin| has(*origin)));
    known.map(|(_, sentence)| *sentence).collect::<Vec<_>>().join(" ")
}

/// What corrections cost a pool that has nodes.
const REPLACES_NODES: &str = "A correction in `spec.template`, except in its requirements, makes Karpenter replace all nodes \
                              of the pool, as its budgets allow.";

/// The cost of a correction for a pool with nodes, if an example shows one in a field that makes nodes drift.
pub fn cost(page: &Page) -> Option<&'static str> {
    let mut kinds = page.kinds.iter();
    let replaces = kinds.any(|kind| hashed(kind.bad) != hashed(kind.good));
    replaces.then_some(REPLACES_NODES)
}

/// What Karpenter compares nodes with, of the last object of an example: an empty part is as good as none.
fn hashed(example: &str) -> Map<String, Value> {
    let documents = manifest::parse(example, &manifest::Limits::default());
    let object = documents.last().map(Document::into_value).unwrap_or_default();
    let map = |at: &str| object.pointer(at).and_then(Value::as_object).cloned();
    let mut template = map("/spec/template").unwrap_or_default();
    let mut spec = map("/spec/template/spec").unwrap_or_default();
    spec.remove("requirements");
    template.insert("spec".to_owned(), spec.into());
    template
}

/// The example without the middle of long runs of similar lines: a comment says how many are left out.
pub fn shortened(example: &str) -> String {
    let mut text = String::new();
    let mut show = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let lines: Vec<&str> = example.lines().collect();
    for run in lines.chunk_by(|line, next| shape(line).eq(shape(next))) {
        match run {
            [first @ .., last] if run.len() > LONGEST_RUN => {
                first.iter().take(SHOWN_OF_RUN).for_each(|line| show(line));
                let indent = last.len() - last.trim_start().len();
                let hidden = first.len() - SHOWN_OF_RUN;
                show(&format!("{:indent$}# … {hidden} more of these", ""));
                show(last);
            }
            _ => run.iter().for_each(|line| show(line)),
        }
    }
    text
}

/// A line without its numbers.
fn shape(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|c| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_run_is_counted_and_left_out() {
        let run = |count: usize| (1..=count).fold(String::new(), |text, n| text + &format!("  - {n}\n"));
        let short = format!("list:\n{}others: {{}}\n", run(LONGEST_RUN));
        assert_eq!(shortened(&short), short);
        let long = format!("list:\n{}others: {{}}\n", run(100));
        assert_eq!(
            shortened(&long),
            "list:\n  - 1\n  - 2\n  - 3\n  # … 96 more of these\n  - 100\nothers: {}\n"
        );
    }
}
