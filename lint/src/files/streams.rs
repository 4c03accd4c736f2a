//! The standard streams, and how an error is printed.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, StdinLock, Write as _};

use super::terminal;

/// Standard input. It may be a terminal whose user does not know that the program waits: a hint says for what.
pub fn stdin(what: &str) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        remark(&format!(
            "waiting for {what} on standard input: type or paste, then Ctrl-D; --help shows the other ways"
        ));
    }
    stdin.lock()
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
    let line = match terminal::error_width() {
        Some(width) => Cow::Owned(terminal::wrapped(line, "", "  ", width)),
        None => Cow::Borrowed(line),
    };
    let _ = writeln!(io::stderr(), "{line}");
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

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_added_unless_the_message_contains_it() {
        let error = anyhow!("no such file").context("a cannot be read: no such file; name another");
        assert_eq!(
            with_causes(&error.context("--policy")),
            "--policy: a cannot be read: no such file; name another"
        );
    }
}
