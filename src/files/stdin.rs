//! Standard input. It may be a terminal whose user does not know that the program waits.

use std::io::{self, IsTerminal as _, StdinLock, Write as _};

/// Standard input. On a terminal a hint says what the program waits for.
pub(crate) fn stdin(what: &str) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // A closed pipe is not a failure.
        let _ = writeln!(
            io::stderr(),
            "waiting for {what} on standard input: type or paste, then Ctrl-D; --help shows what else there is"
        );
    }
    stdin.lock()
}
