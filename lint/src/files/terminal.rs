//! How wide the terminal is, and text that fits into it.

use std::io::{self, IsTerminal};

use terminal_size::terminal_size;
use textwrap::{Options, WordSplitter, fill};

/// The least number of columns into which a text is wrapped.
const LEAST: usize = 40;

/// The longest line of a paragraph, and the length without a terminal, in columns.
const LINE: usize = 100;

/// A command begins with this word, and ends with the text or before the next sentence.
const COMMAND: &str = "kubectl ";

/// In the place of a space at which a line must not end.
const GLUE: &str = "\u{a0}";

/// The columns of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    width_of(io::stdout())
}

/// The columns of the terminal; `None` if standard error is not a terminal.
pub fn error_width() -> Option<usize> {
    width_of(io::stderr())
}

fn width_of(stream: impl IsTerminal) -> Option<usize> {
    let (width, _) = stream.is_terminal().then(terminal_size).flatten()?;
    Some(usize::from(width.0))
}

/// The columns into which paragraphs are wrapped: those of the terminal, if it is not too wide to be read well.
pub fn line_width() -> usize {
    line_in(width())
}

fn line_in(terminal: Option<usize>) -> usize {
    terminal.unwrap_or(LINE).clamp(LEAST, LINE)
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
    fn a_paragraph_is_as_wide_as_the_terminal_and_never_too_wide_to_be_read() {
        for (terminal, line) in [(None, 100), (Some(80), 80), (Some(300), 100), (Some(5), 40)] {
            assert_eq!(line_in(terminal), line, "{terminal:?}");
        }
    }

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
