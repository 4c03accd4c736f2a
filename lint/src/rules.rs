//! `poolgate rules`: the catalogue, for people and for the documentation.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::rules::rule::{Kind, Page, Rule};

use crate::files;
use crate::text_rules;

/// Longest run of lines that is shown whole, if they differ only in digits. The middle of a longer one is left out.
const LONGEST_RUN: usize = 6;

/// How many lines of a longer run are shown before the gap; one is shown after it.
const SHOWN_OF_RUN: usize = 3;

/// The flags of `rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// The rule to explain, or a word: the rules with it in name or title are listed. Without it, all are
    #[arg(value_name = "RULE", value_parser = text_rules::searched_on_command_line(), hide_possible_values = true)]
    rules: Option<Rules>,

    /// How to print the list
    #[arg(long, value_enum, default_value = "text", conflicts_with = "rules")]
    format: Format,
}

/// The rules that are asked for. Of an `Option<Vec<_>>` clap would take several values.
type Rules = Vec<&'static Rule>;

/// How the catalogue is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line per rule
    Text,
    /// All pages in one document, which is docs/rules.md
    Markdown,
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &RulesArgs) -> anyhow::Result<ExitCode> {
    let mut output = Vec::new();
    match args.rules.as_deref() {
        Some([rule]) => explain(rule, files::line_width(), &mut output)?,
        Some(rules) => list(rules, &mut output)?,
        None => match args.format {
            Format::Text => list(&text_rules::all().collect::<Vec<_>>(), &mut output)?,
            Format::Markdown => page(&mut output)?,
        },
    }
    files::print(output)?;
    Ok(ExitCode::SUCCESS)
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
    let wrapped = |markdown: &str| textwrap::fill(&plain(markdown), width);
    let (title, why) = (wrapped(&format!("{}.", page.title)), wrapped(&page.why));
    writeln!(output, "{id} ({})\n\n{title}\n", severities(rule, &page))?;
    writeln!(output, "{why}\n\n{}", wrapped(&origins(rule, &page)))?;
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
fn named(kind: &Kind) -> String {
    if kind.name.is_empty() {
        return String::new();
    }
    format!(" ({}, {})", kind.name, kind.severity)
}

/// The severities of a rule's findings, each once, as words.
fn severities(rule: &Rule, page: &Page) -> String {
    let Some(usual) = rule.severity else {
        return "off".to_owned();
    };
    let mut words = vec![usual.as_str()];
    for kind in &page.kinds {
        if !words.contains(&kind.severity.as_str()) {
            words.push(kind.severity.as_str());
        }
    }
    words.join(", ")
}

/// The page before the first rule.
const INTRODUCTION: &str = "\
# Rules

Generated from the catalogue by `poolgate rules --format markdown`; not edited by hand.

An **error** denies the object, a **warning** lets it through and says so, an **info** is shown by `poolgate lint` only,
and a rule that is **off** says nothing until a policy gives it a level. On an update, an error in a field that the update
does not touch becomes a warning; a list counts as one field. A policy can give each rule another severity; see
[policy.md](policy.md).

First come the rules for every field, then those for each part of the spec, then the bounds that only a policy sets
(`policy-…`), then what shows only across objects, then what only `poolgate lint` sees: the text, and comments in it.
Examples show only the fields that matter. Where an example has two documents, the first is the stored object and the second
its update; of a rule across objects, both are there at once.

| rule | severity | what it requires |
| --- | --- | --- |";

/// What reports findings that show only across objects.
const ACROSS: &str = "Only `poolgate lint --together` and `poolgate lint --cluster` report this: each object by itself is fine, \
                      and Karpenter's CRD and the webhook see one at a time.";

/// What reports findings of a rule that is not in the catalogue.
const OWN: &str = "Only poolgate lint reports this: no API server and no webhook sees the text.";

fn page(output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{INTRODUCTION}")?;
    for (id, severities, title) in text_rules::all().map(line) {
        writeln!(output, "| [`{id}`](#{id}) | {severities} | {title} |")?;
    }
    for rule in text_rules::all() {
        section(rule, output)?;
    }
    Ok(())
}

fn section(rule: &Rule, output: &mut impl Write) -> io::Result<()> {
    let (id, page) = (rule.id, rule.page());
    writeln!(
        output,
        "\n## {id}\n\n**{}.** ({})\n",
        page.title,
        severities(rule, &page)
    )?;
    writeln!(output, "{}\n\n{}", page.why, origins(rule, &page))?;
    if !page.seen_in.is_empty() {
        let links: Vec<String> = page.seen_in.iter().map(|issue| link(issue)).collect();
        writeln!(output, "\nSeen in {}.", links.join(", "))?;
    }
    for kind in &page.kinds {
        let word = match kind.severity {
            _ if rule.is_across => "Found",
            _ if rule.severity.is_none() => "Noted, once a policy gives the rule a level",
            Severity::Error => "Denied",
            Severity::Warning => "Warned of",
            Severity::Info => "Noted",
        };
        let gap = if kind.name.is_empty() { "" } else { ", " };
        writeln!(
            output,
            "\n{word}{gap}{}:\n\n```yaml\n{}```\n\nFine:\n\n```yaml\n{}```",
            kind.name,
            shortened(kind.bad),
            shortened(kind.good)
        )?;
    }
    Ok(())
}

/// What else rejects objects that break the rule, as a sentence.
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
                "Karpenter's CRD lets this through; Karpenter then marks the NodePool not ready and launches nothing \
                 for it."
            }
            Origin::Silent => "Karpenter's CRD lets this through.",
            Origin::Poolgate => "Only poolgate looks at this.",
        }
        .to_owned();
    }
    let cases: [(&[Origin], &str); 3] = [
        (&[Origin::Schema], "Karpenter's CRD rejects some cases."),
        (
            &[Origin::Runtime],
            "In some, Karpenter marks the NodePool not ready and launches nothing for it.",
        ),
        (
            &[Origin::Silent, Origin::Poolgate],
            "Some are reported by poolgate only.",
        ),
    ];
    let known = cases
        .iter()
        .filter(|(origins, _)| origins.iter().any(|origin| has(*origin)));
    known.map(|(_, sentence)| *sentence).collect::<Vec<_>>().join(" ")
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

fn link(issue: &str) -> String {
    issue.split_once('#').map_or_else(
        || issue.to_owned(),
        |(repository, number)| format!("[{issue}](https://github.com/{repository}/issues/{number})"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut output = Vec::new();
        print(&mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn every_rule_has_a_line_a_section_and_an_explanation() {
        let all: Vec<&Rule> = text_rules::all().collect();
        let text = printed(|output| list(&all, output).unwrap());
        let page = printed(|output| super::page(output).unwrap());
        assert_eq!(text.lines().count(), text_rules::ids().count());
        for rule in all {
            let id = rule.id.as_str();
            assert!(text.lines().any(|line| line.starts_with(id)));
            assert!(page.contains(&format!("\n## {id}\n")));
            let explained = printed(|output| explain(rule, 80, output).unwrap());
            assert!(explained.starts_with(&format!("{id} (")));
            let (text, _) = explained
                .split_once("\nBreaks the rule:")
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
