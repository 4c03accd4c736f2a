//! The standard streams.

use std::io::{self, IsTerminal as _, StdinLock, Write as _};

/// Standard input. It may be a terminal whose user does not know that the program waits: a hint says for what.
pub(crate) fn stdin(what: &str) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        remark(&format!(
            "waiting for {what} on standard input: type or paste, then Ctrl-D; --help shows what else there is"
        ));
    }
    stdin.lock()
}

/// Prints to standard output. A closed pipe is not a failure.
pub(crate) fn print(output: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(output.as_ref());
    match printed.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Prints a line to standard error. If that fails, it is ignored.
pub(crate) fn remark(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
