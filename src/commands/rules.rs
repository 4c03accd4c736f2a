//! `poolgate rules`: the catalogue, for people and for the documentation.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use poolgate_core::diagnostic::Severity;
use poolgate_core::rule::{Origin, Rule};
use poolgate_core::rules::{CATALOGUE, find};

/// Longest example, in lines, that is shown whole; the rest of a longer one is more of the same.
const LONGEST_EXAMPLE: usize = 12;

/// What the user says about the catalogue.
#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// The rule to explain; all of them are listed where none is named
    rule: Option<String>,

    /// How the list is printed
    #[arg(long, value_enum, default_value = "text", conflicts_with = "rule")]
    format: Format,
}

/// Longest line of a paragraph, in columns.
const LINE: usize = 100;

/// How the catalogue is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line a rule
    Text,
    /// The page docs/rules.md
    Markdown,
}

/// A rule that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no rule `{0}`; `poolgate rules` lists them all")]
struct UnknownRule(String);

/// Prints what was asked for. A reader who has gone is no failure.
pub(crate) fn run(args: &RulesArgs) -> anyhow::Result<ExitCode> {
    let mut output = Vec::new();
    match &args.rule {
        Some(rule) => explain(rule, &mut output)?,
        None => list(args.format, &mut output)?,
    }
    match io::stdout().write_all(&output) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints the whole catalogue.
fn list(format: Format, output: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Text => {
            let width = CATALOGUE
                .iter()
                .map(|rule| rule.id.as_str().len())
                .max()
                .unwrap_or(0);
            for rule in CATALOGUE {
                writeln!(
                    output,
                    "{:width$}  {:7}  {}",
                    rule.id.as_str(),
                    rule.severity.as_str(),
                    plain(rule.title)
                )?;
            }
            Ok(())
        }
        Format::Markdown => page(output),
    }
}

/// Prints one rule with all that is known of it.
fn explain(id: &str, output: &mut impl Write) -> anyhow::Result<()> {
    let rule = find(id).ok_or_else(|| UnknownRule(id.to_owned()))?;
    writeln!(
        output,
        "{} ({})\n\n{}.\n",
        rule.id,
        rule.severity,
        plain(rule.title)
    )?;
    writeln!(output, "{}\n\n{}\n", wrapped(rule.why), origin(rule))?;
    if !rule.seen_in.is_empty() {
        writeln!(
            output,
            "Seen in: {}\n",
            rule.seen_in
                .iter()
                .map(|issue| full_name(issue))
                .collect::<Vec<_>>()
                .join(", ")
        )?;
    }
    writeln!(
        output,
        "Refused or warned of:\n\n{}\nFine:\n\n{}",
        indented(rule.bad),
        indented(rule.good)
    )?;
    Ok(())
}

fn page(output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "# Rules\n")?;
    writeln!(
        output,
        "Generated from the catalogue by `poolgate rules --format markdown`; not edited by hand.\n"
    )?;
    writeln!(
        output,
        "An **error** refuses the object, a **warning** lets it through and says so, an **info** is shown offline"
    )?;
    writeln!(
        output,
        "only. On an update, an error in a field that the update does not touch becomes a warning.\n"
    )?;
    writeln!(
        output,
        "| rule | severity | what it demands |\n| --- | --- | --- |"
    )?;
    for rule in CATALOGUE {
        writeln!(
            output,
            "| [`{id}`](#{id}) | {} | {} |",
            rule.severity,
            rule.title,
            id = rule.id
        )?;
    }
    for rule in CATALOGUE {
        section(rule, output)?;
    }
    Ok(())
}

fn section(rule: &Rule, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "\n## {}\n\n**{}.** ({})\n",
        rule.id, rule.title, rule.severity
    )?;
    writeln!(output, "{}\n\n{}", rule.why, origin(rule))?;
    if !rule.seen_in.is_empty() {
        let links: Vec<String> = rule.seen_in.iter().map(|issue| link(issue)).collect();
        writeln!(output, "\nSeen in {}.", links.join(", "))?;
    }
    let word = if rule.severity == Severity::Error {
        "Refused"
    } else {
        "Warned of"
    };
    writeln!(
        output,
        "\n{word}:\n\n```yaml\n{}```\n\nFine:\n\n```yaml\n{}```",
        shortened(rule.bad),
        shortened(rule.good)
    )
}

const fn origin(rule: &Rule) -> &'static str {
    match rule.origin {
        Origin::Schema => "Karpenter's CRD refuses this, too.",
        Origin::Runtime => {
            "Karpenter's CRD lets this through; Karpenter then marks the NodePool not ready and launches nothing \
             for it."
        }
        Origin::Silent => "Karpenter's CRD lets this through.",
        Origin::Poolgate => "Only poolgate looks at this.",
    }
}

fn shortened(example: &str) -> String {
    let lines: Vec<&str> = example.lines().collect();
    let mut text = String::new();
    for line in lines.iter().take(LONGEST_EXAMPLE) {
        text.push_str(line);
        text.push('\n');
    }
    if lines.len() > LONGEST_EXAMPLE {
        text.push_str("# … and ");
        text.push_str(&(lines.len() - LONGEST_EXAMPLE).to_string());
        text.push_str(" more lines like these\n");
    }
    text
}

fn indented(example: &str) -> String {
    shortened(example)
        .lines()
        .flat_map(|line| ["    ", line, "\n"])
        .collect()
}

/// A paragraph for a terminal.
fn wrapped(markdown: &str) -> String {
    textwrap::fill(&plain(markdown), LINE)
}

/// Markdown without its marks.
fn plain(markdown: &str) -> String {
    markdown.replace(['`', '*'], "")
}

fn full_name(issue: &str) -> String {
    if issue.contains('#') {
        issue.to_owned()
    } else {
        format!("kubernetes-sigs/karpenter#{issue}")
    }
}

fn link(issue: &str) -> String {
    let name = full_name(issue);
    name.split_once('#').map_or_else(
        || name.clone(),
        |(repository, number)| format!("[{name}](https://github.com/{repository}/issues/{number})"),
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
        let text = printed(|output| list(Format::Text, output).unwrap());
        let page = printed(|output| list(Format::Markdown, output).unwrap());
        assert_eq!(text.lines().count(), CATALOGUE.len());
        for rule in CATALOGUE {
            assert!(text.lines().any(|line| line.starts_with(rule.id.as_str())));
            assert!(page.contains(&format!("\n## {}\n", rule.id)));
            assert!(
                printed(|output| explain(rule.id.as_str(), output).unwrap()).starts_with(rule.id.as_str())
            );
        }
    }

    #[test]
    fn an_unknown_rule_is_an_error_that_tells_where_to_look() {
        let error = explain("budget-node", &mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no rule `budget-node`; `poolgate rules` lists them all"
        );
    }
}
