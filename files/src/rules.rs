//! `poolgate rules` lists the catalogue, `poolgate explain` explains a rule or a field. docs/reference/rules.md has the same
//! content: the test `page` compares and writes it.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValue;
use poolgate_core::diagnostic::Origin;
use poolgate_core::manifest::{self, Document};
use poolgate_core::rules::rule::{FindingKind, Page, Rule};
use serde_json::{Map, Value};

use crate::fields::{self, Field};
use crate::listed::Listed;
use crate::terminal;
use crate::text_rules;

/// Longest run of lines that is shown whole, if they differ only in digits. The middle of a longer one is left out.
const LONGEST_RUN: usize = 6;

/// How many lines of a longer run are shown before the gap; one is shown after it.
const SHOWN_OF_RUN: usize = 3;

#[derive(Debug, Args)]
pub struct RulesArgs {
    /// List only the rules with this word in their name or title
    #[arg(value_name = "WORD", value_parser = text_rules::searched_on_command_line(), hide_possible_values = true)]
    rules: Option<Rules>,
}

/// The rules to list. clap would take several values for an `Option<Vec<_>>`.
type Rules = Vec<&'static Rule>;

/// Lists the rules. A closed pipe is not a failure.
pub fn run(args: &RulesArgs) -> anyhow::Result<ExitCode> {
    let mut output = Vec::new();
    match args.rules.as_deref() {
        Some(rules) => list(rules, &mut output)?,
        None => list(&text_rules::all().collect::<Vec<_>>(), &mut output)?,
    }
    terminal::print(output)?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A rule such as schedule-syntax, or a field of a NodePool such as spec.disruption.consolidateAfter
    #[arg(value_name = "RULE|FIELD", value_parser = subject_on_command_line(), hide_possible_values = true)]
    subject: Explained,
}

/// What can be explained.
#[derive(Debug, Clone, Copy)]
enum Explained {
    Rule(&'static Rule),
    Field(Field),
}

fn subject_on_command_line() -> Listed<Explained> {
    Listed {
        parse: |text| {
            let rule = text_rules::find_any(text).map(Explained::Rule);
            let found = rule.or_else(|| fields::find(text).map(Explained::Field));
            found.ok_or_else(|| match fields::likely(text) {
                Some(meant) => format!(
                    "there is no such field. {}",
                    terminal::capitalised(&meant.to_string())
                ),
                None if text.contains('.') => {
                    let all: Vec<&str> = fields::all().map(|field| field.path).collect();
                    format!("there is no such field. The fields are {}", all.join(", "))
                }
                None => text_rules::unknown(text).to_string(),
            })
        },
        values: || {
            let fields = fields::all().map(|field| field.path);
            text_rules::ids().chain(fields).map(PossibleValue::new).collect()
        },
    }
}

/// Explains a rule or a field. A closed pipe is not a failure.
pub fn run_explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let mut output = Vec::new();
    match args.subject {
        Explained::Rule(rule) => explain(rule, terminal::line_width(), &mut output)?,
        Explained::Field(field) => explain_field(&field, terminal::line_width(), &mut output)?,
    }
    terminal::print(output)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes what is known of a field, wrapped into this many columns.
fn explain_field(field: &Field, width: usize, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}\n", field.path)?;
    for paragraph in field.text.split("\n\n") {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(output, "{}\n", terminal::prose(&paragraph, width))?;
    }
    if let Some(default) = field.default {
        writeln!(output, "Default:  {default}")?;
    }
    match field.since {
        Some("poolgate") => writeln!(output, "Defined by poolgate")?,
        Some(release) => writeln!(output, "Since:    Karpenter {release}")?,
        None => {}
    }
    let rules = terminal::wrapped(field.rules, "Rules:    ", "          ", width);
    writeln!(output, "{rules}")
}

/// Prints a line for each rule.
fn list(rules: &[&Rule], output: &mut impl Write) -> io::Result<()> {
    let width = rules.iter().map(|rule| rule.id.as_str().len()).max().unwrap_or(0);
    for rule in rules {
        let (id, severities, title) = line(rule);
        writeln!(output, "{id:width$}  {severities:7}  {}", plain(&title))?;
    }
    Ok(())
}

/// Name, severities and title of a rule.
fn line(rule: &Rule) -> (&'static str, String, String) {
    let page = rule.page();
    (rule.id.as_str(), severities(rule, &page), page.title)
}

/// Writes the page of a rule, wrapped into this many columns.
fn explain(rule: &Rule, width: usize, output: &mut impl Write) -> io::Result<()> {
    let (id, page) = (rule.id, rule.page());
    let wrapped = |markdown: &str| terminal::prose(&plain(markdown), width);
    let (title, why) = (wrapped(&format!("{}.", page.title)), wrapped(&page.why));
    writeln!(output, "{id} ({})\n\n{title}\n", severities(rule, &page))?;
    writeln!(output, "{why}\n\n{}", wrapped(&origins(rule, &page)))?;
    if let Some(cost) = cost(&page) {
        writeln!(output, "\n{}", wrapped(cost))?;
    }
    if !page.seen_in.is_empty() {
        let seen_in = format!("Seen in: {}", page.seen_in.join(", "));
        writeln!(output, "\n{}", wrapped(&seen_in))?;
    }
    for kind in &page.kinds {
        let named = named(kind);
        writeln!(
            output,
            "\nBreaks the rule{named}:\n\n{}\nFine:\n\n{}",
            indented(kind.bad),
            indented(kind.good)
        )?;
    }
    Ok(())
}

/// The name of a kind of finding, after a word.
fn named(kind: &FindingKind) -> String {
    if kind.name.is_empty() {
        return String::new();
    }
    format!(" ({}, {})", kind.name, kind.severity)
}

/// The severities of a rule's findings, each once, as words.
fn severities(rule: &Rule, page: &Page) -> String {
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
fn origins(rule: &Rule, page: &Page) -> String {
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
fn cost(page: &Page) -> Option<&'static str> {
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
fn shortened(example: &str) -> String {
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

fn indented(example: &str) -> String {
    shortened(example)
        .lines()
        .flat_map(|line| ["    ", line, "\n"])
        .collect()
}

/// Markdown without its marks.
fn plain(markdown: &str) -> String {
    markdown.replace(['`', '*'], "")
}

#[cfg(test)]
mod page;

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut output = Vec::new();
        print(&mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn every_rule_has_a_line_and_an_explanation() {
        let all: Vec<&Rule> = text_rules::all().collect();
        let text = printed(|output| list(&all, output).unwrap());
        assert_eq!(text.lines().count(), text_rules::ids().count());
        for rule in all {
            let id = rule.id.as_str();
            assert!(text.lines().any(|line| line.starts_with(id)));
            let explained = printed(|output| explain(rule, 80, output).unwrap());
            assert!(explained.starts_with(&format!("{id} (")));
            let (text, _) = explained
                .split_once("\nBreaks the rule")
                .unwrap_or((&explained, ""));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(80), "{text}");
        }
    }

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
