//! The flags that select which findings are reported.

use clap::Args;
use poolgate_core::policy::names_rule;

use crate::text_rules::{self, LIMIT, SYNTAX, TEMPLATE, UNREADABLE};

/// These names mean that something was not checked, so they cannot be turned off.
const ALWAYS: [&str; 4] = [UNREADABLE, LIMIT, SYNTAX, TEMPLATE];

/// The flags that select rules.
#[derive(Debug, Args)]
pub struct Selection {
    /// Report only these rules, by name, by the first words of a name (budget selects budget-nodes), or with *
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = text_rules::some_on_command_line(),
        hide_possible_values = true)]
    select: Vec<String>,

    /// Do not report these rules, named as for --select. If both match, the longer name wins
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = text_rules::some_on_command_line(),
        hide_possible_values = true)]
    ignore: Vec<String>,
}

impl Selection {
    /// Whether findings of a rule are reported.
    pub fn has(&self, rule: &str) -> bool {
        let longest = |names: &[String]| {
            let named = names.iter().filter(|name| names_rule(name, rule));
            named.map(String::len).max()
        };
        let selected = match longest(&self.select) {
            None if self.select.is_empty() => Some(0),
            longest => longest,
        };
        // `None` is less than any length.
        ALWAYS.contains(&rule) || selected > longest(&self.ignore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_name_wins_and_what_was_not_checked_is_always_reported() {
        let has = |select: &[&str], ignore: &[&str], rule: &str| {
            let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let (select, ignore) = (names(select), names(ignore));
            Selection { select, ignore }.has(rule)
        };
        assert!(has(&[], &[], "limit-zero"));
        assert!(has(&["limit"], &[], "limit-zero"));
        assert!(!has(&["limit"], &[], "weight"));
        assert!(!has(&[], &["limit"], "limit-zero"));
        assert!(has(&[], &["limi"], "limit-zero"), "a word is whole");
        assert!(has(&["limit-zero"], &["limit"], "limit-zero"));
        assert!(!has(&["limit-zero"], &["limit"], "limit-unit"));
        assert!(!has(&["limit"], &["limit-zero"], "limit-zero"));
        assert!(!has(&["weight"], &["weight"], "weight"));
        assert!(has(&["*-zero"], &[], "limit-zero"));
        for rule in ALWAYS {
            assert!(has(&["weight"], &["manifest", "file"], rule), "{rule}");
        }
    }
}
