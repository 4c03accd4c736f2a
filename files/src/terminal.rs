//! The standard streams, and what is printed to people: how wide the terminal is, text that fits into it, rows in columns,
//! errors with their causes, and the user's text made safe.

use std::borrow::Cow;
use std::io::{self, IsTerminal, StdinLock, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::ensure;
use clap::ValueEnum;
use poolgate_core::diagnostic::quoted;
use terminal_size::terminal_size;
use textwrap::{Options, WordSplitter, fill};

/// How a command prints that has one text for people and one for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Human,
    /// For programs
    Json,
}

/// What follows a release that is assumed because none is known.
pub const ASSUMED_RELEASE: &str = "(assumed; set with --karpenter-version)";

/// The least number of columns into which a text is wrapped.
pub const LEAST: usize = 40;

/// The longest line of a paragraph on a terminal, in columns.
const LINE: usize = 100;

/// Columns enough for any paragraph.
const UNWRAPPED: usize = usize::MAX;

/// A command begins with this word, and ends with the text or before the next sentence.
const COMMAND: &str = "kubectl ";

/// How long nothing is said of what takes its time.
const UNSAID: Duration = Duration::from_secs(1);

/// Moves to the beginning of the line, and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// In the place of a space at which a line must not end.
const GLUE: &str = "\u{a0}";

/// The columns of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    width_of(&io::stdout())
}

/// The columns of the terminal; `None` if standard error is not a terminal.
fn error_width() -> Option<usize> {
    width_of(&io::stderr())
}

fn width_of(stream: &impl IsTerminal) -> Option<usize> {
    let (width, _) = stream.is_terminal().then(terminal_size).flatten()?;
    Some(usize::from(width.0))
}

/// The columns into which paragraphs are wrapped: those of the terminal, if it is not too wide to be read well. Without a
/// terminal nothing is wrapped.
pub(crate) fn line_width() -> usize {
    line_in(width())
}

fn line_in(terminal: Option<usize>) -> usize {
    terminal.map_or(UNWRAPPED, |columns| columns.clamp(LEAST, LINE))
}

/// A line of text wrapped into this many columns, the first line and the others with these indents. A command of kubectl
/// stays on one line, however long it is: half a copied command must not run.
pub fn wrapped(text: &str, first: &str, others: &str, width: usize) -> String {
    let options = options(width).initial_indent(first).subsequent_indent(others);
    fill(&with_whole_commands(text), options).replace(GLUE, " ")
}

/// Text wrapped into this many columns. Its sentences may name commands, and nobody copies them.
pub fn prose(text: &str, width: usize) -> String {
    fill(text, options(width))
}

/// Half a label key, half a flag or half the name of an issue cannot be read.
fn options<'t>(width: usize) -> Options<'t> {
    Options::new(width.max(LEAST))
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
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

/// Rows with their cells aligned in columns, each on a line that begins with an indent.
pub fn columns<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths);
        let line = cells.fold(indent.to_owned(), |line, (cell, width)| {
            format!("{line}{cell:width$}  ")
        });
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// Standard input. It may be a terminal whose user does not know that the program waits: a hint says for what.
pub fn stdin(what: &str) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        remark(&format!(
            "waiting for {what} on standard input. Type or paste, then press Ctrl-D. See --help for other ways"
        ));
    }
    stdin.lock()
}

/// Fails if standard input is named and is a terminal: a command that has nothing else to read would seem to hang.
pub fn refuse_typed(paths: &[PathBuf]) -> anyhow::Result<()> {
    ensure!(
        !(names_stdin(paths) && io::stdin().is_terminal()),
        "standard input is a terminal. Name files or directories, or pipe manifests into the command"
    );
    Ok(())
}

/// Whether one of these paths is standard input.
pub fn names_stdin(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| path.as_os_str() == "-")
}

/// Prints to standard output. A closed pipe is not a failure.
pub fn print(output: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(output.as_ref());
    match printed.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Prints a line to standard error, on a terminal as wide as that. If that fails, it is ignored.
pub fn remark(line: &str) {
    let line = match error_width() {
        Some(width) => Cow::Owned(wrapped(line, "", "  ", width)),
        None => Cow::Borrowed(line),
    };
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says on a terminal what a run waits for, from a second on and until it is dropped.
#[derive(Debug)]
pub struct Progress {
    end: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Progress {
    /// Nothing is said where standard error is not a terminal.
    pub fn of(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self {
                end: None,
                shown: None,
            };
        }
        let (end, ended) = mpsc::channel();
        let shown = thread::spawn(move || {
            if ended.recv_timeout(UNSAID) == Err(RecvTimeoutError::Timeout) {
                let _ = write!(io::stderr(), "{what} …");
                let _ = ended.recv();
                let _ = write!(io::stderr(), "{CLEAR_LINE}");
            }
        });
        Self {
            end: Some(end),
            shown: Some(shown),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(shown) = self.shown.take() {
            let _ = shown.join();
        }
    }
}

/// A clause with the capital letter of a sentence.
pub(crate) fn capitalised(clause: &str) -> String {
    let mut characters = clause.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// An error with its causes. Many messages contain their cause: it is not repeated.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Longest name that Kubernetes gives an object, in bytes.
const LONGEST_NAME: usize = 253;

/// A text with everything that could move the cursor, forge a line or turn the reading direction escaped.
pub fn clean(text: &str) -> String {
    let is_safe = |character: char| {
        !character.is_control() && !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        if is_safe(character) {
            cleaned.push(character);
        } else {
            cleaned.extend(character.escape_default());
        }
    }
    cleaned
}

/// A text for XML 1.0, which forbids some characters even if they are escaped. Quotes stay as they are.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The name of an object: as it is, or in quotes and shortened where Kubernetes takes no such name.
pub(crate) fn name(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_paragraph_is_as_wide_as_the_terminal_and_never_too_wide_to_be_read() {
        for (terminal, line) in [(None, UNWRAPPED), (Some(80), 80), (Some(300), 100), (Some(5), 40)] {
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

    #[test]
    fn a_cause_is_added_unless_the_message_contains_it() {
        let error = anyhow!("no such file").context("a cannot be read: no such file; name another");
        assert_eq!(
            with_causes(&error.context("--policy")),
            "--policy: a cannot be read: no such file; name another"
        );
    }
}
