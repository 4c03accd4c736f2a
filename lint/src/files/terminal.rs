//! How wide the terminal is, and text that fits into it.

use std::io::{self, IsTerminal as _};

use terminal_size::terminal_size_of;
use textwrap::{Options, WordSplitter, fill};

/// The least number of columns into which a text is wrapped.
const LEAST: usize = 40;

/// A command begins with this word, and ends with the text or before the next sentence.
const COMMAND: &str = "kubectl ";

/// In the place of a space at which a line must not end.
const GLUE: &str = "\u{a0}";

/// The columns of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    let stdout = io::stdout();
    let (width, _) = stdout.is_terminal().then(|| terminal_size_of(stdout)).flatten()?;
    Some(usize::from(width.0))
}

/// A line of text wrapped into this many columns, the first line and the others with these indents. A command of kubectl
/// stays on one line, however long it is: whoever copies it must not run half of it.
pub fn wrapped(text: &str, first: &str, others: &str, width: usize) -> String {
    let options = Options::new(width.max(LEAST))
        .initial_indent(first)
        .subsequent_indent(others)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    fill(&with_whole_commands(text), options).replace(GLUE, " ")
}

fn with_whole_commands(text: &str) -> String {
    let mut parts = text.split(COMMAND);
    let mut glued = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (command, rest) = part.split_at(part.find(". ").unwrap_or(part.len()));
        glued += &format!("{COMMAND}{command}").replace(' ', GLUE);
        glued += rest;
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_broken_and_lines_are_indented() {
        let text =
            "nodepools.karpenter.sh is forbidden: the user may not list resource nodepools in API group";
        assert_eq!(
            wrapped(text, "  ", "    ", 44),
            "  nodepools.karpenter.sh is forbidden: the\n    user may not list resource nodepools in\n    API group"
        );
    }

    #[test]
    fn a_command_is_on_one_line_whatever_stands_around_it() {
        let text = "to give it room: kubectl annotate nodepool general --overwrite poolgate.dev/node-limit=3. Then wait until it is there";
        assert_eq!(
            wrapped(text, "", "  ", 40),
            "to give it room:\n  kubectl annotate nodepool general --overwrite poolgate.dev/node-limit=3.\n  Then wait until it is there"
        );
    }
}
