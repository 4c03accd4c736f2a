//! The rules of lint alone: mistakes in the text itself, objects that no cluster accepts, comments without effect, files
//! that cannot be read. Their names are listed with those of the catalogue.

use clap::builder::PossibleValue;
use poolgate_core::diagnostic::Suggestion;
use poolgate_core::policy::names_rule;
use poolgate_core::rule;
use poolgate_core::rules::CATALOGUE;
use poolgate_core::rules::rule::Rule;

use crate::listed::Listed;
use crate::terminal;

/// Declares a constant for the name of each rule, and the list of them.
macro_rules! text_rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $severity:ident;)+) => {
        $($(#[$doc])* pub const $name: &str = $id;)+

        /// All of them, in the order of the documentation.
        pub static RULES: &[Rule] = &[$(rule!($id, $severity, Poolgate)),+];
    };
}

text_rules! {
    /// The text is not YAML.
    SYNTAX = "manifest-syntax", Error;
    /// A template that was not rendered.
    TEMPLATE = "manifest-template", Error;
    /// A key that is written twice.
    DUPLICATE_KEY = "manifest-duplicate-key", Error;
    /// A key that is not a string.
    KEY = "manifest-key", Error;
    /// A value that JSON does not have.
    VALUE = "manifest-value", Error;
    /// A merge of something other than mappings, or after what it replaces.
    MERGE = "manifest-merge", Error;
    /// An alias without its anchor.
    ALIAS = "manifest-alias", Error;
    /// A bound of the parser was exceeded.
    LIMIT = "manifest-limit", Error;
    /// An object that the cluster does not serve.
    KIND = "manifest-kind", Error;
    /// An object without a name.
    NAME = "manifest-name", Error;
    /// A missing field that only a webhook would add: without it the cluster rejects the object.
    DEFAULT = "manifest-default", Error;
    /// A file named as JSON that is only YAML.
    JSON = "manifest-json", Warning;
    /// Values that are variables, to be filled in by another program.
    VARIABLE = "manifest-variable", Note;
    /// A version whose release is not known.
    RELEASE = "manifest-release", Note;
    /// A file that could not be read, or not be written.
    UNREADABLE = "file-unreadable", Error;
    /// A comment for poolgate that cannot be read, or gives no reason.
    IGNORE_SYNTAX = "ignore-syntax", Warning;
    /// A comment that names no rule that exists.
    IGNORE_UNKNOWN = "ignore-unknown", Error;
    /// A comment that ignores nothing.
    IGNORE_UNUSED = "ignore-unused", Warning;
}

pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.as_str() == id)
}

/// Every rule that lint can report: those of the catalogue, then those above.
pub fn all() -> impl Iterator<Item = &'static Rule> + Clone {
    CATALOGUE.iter().copied().chain(RULES)
}

/// The rule of this name, whichever it is.
pub fn find_any(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id.as_str() == id)
}

/// The names of all of them.
pub fn ids() -> impl Iterator<Item = &'static str> + Clone {
    all().map(|rule| rule.id.as_str())
}

/// The name in the list of rules; the error suggests a similar one.
pub fn known(id: &str) -> Result<&'static str, UnknownRule> {
    ids().find(|listed| *listed == id).ok_or_else(|| unknown(id))
}

/// The error for a name that no rule has.
pub fn unknown(id: &str) -> UnknownRule {
    let is_part = id.len() > 1 && ids().any(|listed| listed.contains(id));
    let listed = || {
        is_part.then(|| Suggestion::from(format!("run `poolgate rules {id}` for the rules that contain it")))
    };
    UnknownRule {
        id: id.escape_debug().to_string(),
        meant: Suggestion::likely_name(id, ids()).or_else(listed),
    }
}

/// The rules to show for a text: the one of this name, or those whose name or title contains it.
pub fn search(text: &str) -> Result<Vec<&'static Rule>, UnknownRule> {
    if let Some(rule) = find_any(text) {
        return Ok(vec![rule]);
    }
    let word = text.trim().to_lowercase();
    let has = |rule: &&Rule| {
        let title = || rule.page().title.replace('`', "").to_lowercase();
        rule.id.as_str().contains(&word) || title().contains(&word)
    };
    let found: Vec<&'static Rule> = all().filter(has).collect();
    if word.is_empty() || found.is_empty() {
        return Err(unknown(text));
    }
    Ok(found)
}

/// Reads the words for [`search`] on the command line.
pub fn searched_on_command_line() -> Listed<Vec<&'static Rule>> {
    Listed {
        parse: |text| search(text).map_err(|unknown| unknown.to_string()),
        values: || ids().map(PossibleValue::new).collect(),
    }
}

/// Reads what names one or more rules on the command line.
pub fn some_on_command_line() -> Listed<String> {
    Listed {
        parse: |name| {
            let known = if ids().any(|id| names_rule(name, id)) {
                Ok(name)
            } else {
                known(name)
            };
            known.map(str::to_owned).map_err(|unknown| unknown.to_string())
        },
        values: || ids().map(PossibleValue::new).collect(),
    }
}

/// A rule that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{id}`. {}", terminal::capitalised(&self.suggestion()))]
pub struct UnknownRule {
    id: String,
    meant: Option<Suggestion>,
}

impl UnknownRule {
    /// What to do instead: a clause without a full stop.
    pub fn suggestion(&self) -> String {
        let meant = self.meant.as_ref().map(ToString::to_string);
        meant.unwrap_or_else(|| "run `poolgate rules` for the list".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed_once_and_found_again() {
        let mut seen = std::collections::HashSet::new();
        for id in ids() {
            assert!(seen.insert(id), "{id} is twice");
            assert_eq!(known(id), Ok(id));
        }
    }

    #[test]
    fn every_page_belongs_to_a_rule_and_says_what_it_requires_and_why() {
        let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/rules")).unwrap();
        assert_eq!(pages.count(), RULES.len());
        for rule in RULES {
            let page = rule.page();
            assert!(!page.title.is_empty() && !page.why.is_empty(), "{}", rule.id);
        }
    }

    #[test]
    fn a_word_finds_the_rules_that_have_it_in_their_name_or_title_and_a_name_only_its_rule() {
        let found = |text: &str| {
            let rules = search(text).unwrap().into_iter();
            rules.map(|rule| rule.id.as_str()).collect::<Vec<_>>()
        };
        let never = found("Never");
        for id in ["consolidate-after-never", "schedule-never-fires"] {
            assert!(never.contains(&id), "{never:?}");
        }
        let title = |id: &str| find_any(id).unwrap().page().title.to_lowercase();
        let has = |id: &&str| id.contains("never") || title(id).contains("never");
        assert!(never.iter().all(has), "{never:?}");
        assert_eq!(found("limit-zero"), ["limit-zero"]);
        assert!(found("window").len() > 1, "by the title");
        for none in ["", " ", "no such word"] {
            assert!(search(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let said = |id: &str| known(id).unwrap_err().to_string();
        assert_eq!(
            said("budget-node"),
            "there is no rule `budget-node`. Did you mean budget-nodes?"
        );
        assert_eq!(
            said("manifest-sintax"),
            "there is no rule `manifest-sintax`. Did you mean manifest-syntax?"
        );
        assert_eq!(
            said("schedule-never"),
            "there is no rule `schedule-never`. Did you mean schedule-never-fires?"
        );
        assert_eq!(
            said("schedul"),
            "there is no rule `schedul`. Run `poolgate rules schedul` for the rules that contain it"
        );
        assert_eq!(
            said("x\n"),
            "there is no rule `x\\n`. Run `poolgate rules` for the list"
        );
    }
}
