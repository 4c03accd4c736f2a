//! `poolgate rules` lists the catalogue, `poolgate explain` explains a rule or a field. docs/reference/rules.md has the same
//! content: the test `page` compares and writes it.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValue;
use poolgate_core::rules::rule::{FindingKind, Rule};

use crate::explain::fields::{self, Field};
use crate::explain::{cost, origins, severities, shortened};
use crate::listed::Listed;
use crate::terminal;
use crate::text_rules;

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
}
