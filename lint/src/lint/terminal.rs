//! How wide the terminal is.

use std::io::{self, IsTerminal as _};

use terminal_size::terminal_size_of;

/// The columns of the terminal; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    let stdout = io::stdout();
    let (width, _) = stdout.is_terminal().then(|| terminal_size_of(stdout)).flatten()?;
    Some(usize::from(width.0))
}
