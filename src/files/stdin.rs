//! Standard input, which may be somebody who does not know that they are waited for.

use std::io::{self, IsTerminal as _, StdinLock, Write as _};

/// Standard input. A terminal is told what is waited for.
pub(crate) fn stdin(what: &str) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // Where nobody reads it, nobody is left to tell.
        let _ = writeln!(
            io::stderr(),
            "waiting for {what} on standard input: type or paste, then Ctrl-D; --help shows what else there is"
        );
    }
    stdin.lock()
}
