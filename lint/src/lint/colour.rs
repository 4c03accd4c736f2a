//! Whether the output is coloured.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::ValueEnum;

/// The values of the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless the environment says otherwise.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Plain text, even on a terminal.
    Never,
}

/// Whether to colour standard output.
pub fn is_wanted(flag: Colour) -> bool {
    decide(flag, |name| env::var_os(name), || io::stdout().is_terminal())
}

/// The flag counts first, then `NO_COLOR`, then what forces colour, then what turns it off, then the stream.
fn decide(
    flag: Colour,
    variable: impl Fn(&str) -> Option<OsString>,
    is_terminal: impl FnOnce() -> bool,
) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, wanted: &str| variable(name).is_some_and(|value| value == wanted);
    let forces = |name: &str| is_set(name) && !is(name, "0");
    match flag {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if is_set("NO_COLOR") => false,
        Colour::Auto if forces("FORCE_COLOR") || forces("CLICOLOR_FORCE") => true,
        Colour::Auto if is("CLICOLOR", "0") || is("TERM", "dumb") => false,
        Colour::Auto => is_terminal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_beats_the_environment_and_that_beats_the_stream() {
        for (flag, set, is_terminal, expected) in [
            (Colour::Auto, &[][..], true, true),
            (Colour::Auto, &[], false, false),
            (
                Colour::Auto,
                &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")],
                true,
                false,
            ),
            (Colour::Auto, &[("NO_COLOR", "")], true, true),
            (
                Colour::Auto,
                &[("FORCE_COLOR", "1"), ("TERM", "dumb")],
                false,
                true,
            ),
            (Colour::Auto, &[("FORCE_COLOR", "0")], false, false),
            (Colour::Auto, &[("CLICOLOR", "0")], true, false),
            (Colour::Auto, &[("TERM", "dumb")], true, false),
            (Colour::Always, &[("NO_COLOR", "1")], false, true),
            (Colour::Never, &[("FORCE_COLOR", "1")], true, false),
        ] {
            let variable = |name: &str| {
                let found = set.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(
                decide(flag, variable, || is_terminal),
                expected,
                "{flag:?} {set:?}"
            );
        }
    }
}
