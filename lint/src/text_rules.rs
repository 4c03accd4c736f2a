//! What only lint reports, besides the rules of the catalogue: mistakes in the text itself, objects that no cluster
//! accepts, comments without effect, files that cannot be read. Their names are listed with those of the rules.

use clap::builder::PossibleValue;
use poolgate_core::diagnostic::{Severity, nearest};
use poolgate_core::rules::CATALOGUE;

use crate::listed::Listed;

/// A rule of lint itself.
#[derive(Debug)]
pub struct TextRule {
    /// The stable name.
    pub id: &'static str,
    /// The severity of a finding.
    pub severity: Severity,
    /// What it requires, as one sentence without final stop.
    pub title: &'static str,
    /// Why it matters: a paragraph of Markdown.
    pub why: &'static str,
}

/// The text is not YAML.
pub const SYNTAX: &str = "manifest-syntax";
/// A template that was not rendered.
pub const TEMPLATE: &str = "manifest-template";
/// A key that is written twice.
pub const DUPLICATE_KEY: &str = "manifest-duplicate-key";
/// A key that is not text.
pub const KEY: &str = "manifest-key";
/// A value that JSON does not have.
pub const VALUE: &str = "manifest-value";
/// A merge of something other than mappings, or after what it replaces.
pub const MERGE: &str = "manifest-merge";
/// An alias without its anchor.
pub const ALIAS: &str = "manifest-alias";
/// A bound of the parser was exceeded.
pub const LIMIT: &str = "manifest-limit";
/// An object that the cluster does not serve.
pub const KIND: &str = "manifest-kind";
/// An object without a name.
pub const NAME: &str = "manifest-name";
/// A missing field that only the webhook would add: without the webhook the cluster rejects the object.
pub const DEFAULT: &str = "manifest-default";
/// A file named as JSON that is only YAML.
pub const JSON: &str = "manifest-json";
/// Values that are variables, to be filled in by another program.
pub const VARIABLE: &str = "manifest-variable";
/// A version whose release is not known.
pub const RELEASE: &str = "manifest-release";
/// A file that could not be read, or not be written.
pub const UNREADABLE: &str = "file-unreadable";
/// A comment for poolgate that cannot be read, or gives no reason.
pub const IGNORE_SYNTAX: &str = "ignore-syntax";
/// A comment that names no rule that exists.
pub const IGNORE_UNKNOWN: &str = "ignore-unknown";
/// A comment that ignores nothing.
pub const IGNORE_UNUSED: &str = "ignore-unused";

/// All of them, in the order of the documentation.
pub static RULES: [TextRule; 18] = [
    TextRule {
        id: SYNTAX,
        severity: Severity::Error,
        title: "The text is YAML",
        why: "What cannot be parsed reaches no cluster. The other documents of the file are still checked.",
    },
    TextRule {
        id: TEMPLATE,
        severity: Severity::Error,
        title: "Templates are rendered before they are checked",
        why: "A line of a Helm template is not YAML yet. Lint the output of `helm template` instead.",
    },
    TextRule {
        id: DUPLICATE_KEY,
        severity: Severity::Error,
        title: "A key is written once",
        why: "kubectl keeps the last of the values and says nothing; kustomize rejects the file.",
    },
    TextRule {
        id: KEY,
        severity: Severity::Error,
        title: "Keys are text",
        why: "kubectl reads a number, `on` or null as a key, but as another string than the one in the file. A list \
              or mapping is not a string.",
    },
    TextRule {
        id: VALUE,
        severity: Severity::Error,
        title: "Every value can be written in JSON",
        why: "kubectl turns YAML into JSON, which has no infinity and no `NaN`; and a value has to match its tag.",
    },
    TextRule {
        id: MERGE,
        severity: Severity::Error,
        title: "`<<` is before the keys that it fills in, and merges mappings",
        why: "Programs do not agree on any other use: after a key, some let it replace the value.",
    },
    TextRule {
        id: ALIAS,
        severity: Severity::Error,
        title: "An alias refers to an anchor before it in the same document",
        why: "Without its anchor, or inside it, an alias has no value, and kubectl rejects the document.",
    },
    TextRule {
        id: LIMIT,
        severity: Severity::Error,
        title: "A file is no larger than poolgate reads",
        why: "The limits are 16 MiB and 100,000 documents per file, and a million keys and values and 255 levels per \
              document. What is beyond them was not checked, so the exit code is 2.",
    },
    TextRule {
        id: KIND,
        severity: Severity::Error,
        title: "An object is of a kind and version that the release serves",
        why: "No cluster accepts `Nodepool`, `karpenter.sh/v2` or an object without `kind`. Objects in a YAML list \
              need a `List` around them.",
    },
    TextRule {
        id: NAME,
        severity: Severity::Error,
        title: "An object has a name",
        why: "No cluster accepts an object with neither `metadata.name` nor `metadata.generateName`.",
    },
    TextRule {
        id: DEFAULT,
        severity: Severity::Info,
        title: "A `disruption` has `consolidateAfter`",
        why: "Up to 1.14, Karpenter's CRD rejects a `disruption` without it, unless poolgate's webhook writes it first. \
              `poolgate default --write` writes it into the file.",
    },
    TextRule {
        id: JSON,
        severity: Severity::Warning,
        title: "A file that ends in `.json` is JSON",
        why: "kubectl reads it as YAML and accepts an extra comma or a comment. Programs that go by the name of the \
              file, such as Argo CD, do not.",
    },
    TextRule {
        id: VARIABLE,
        severity: Severity::Info,
        title: "Variables are filled in before a manifest is checked",
        why: "What depends on a `${NAME}` without a value is not checked. `--envsubst FILE` gives the values.",
    },
    TextRule {
        id: RELEASE,
        severity: Severity::Info,
        title: "For v1beta1, the release of Karpenter is given",
        why: "Without `--karpenter-version`, v1beta1 is checked for the last line of releases that serves it.",
    },
    TextRule {
        id: UNREADABLE,
        severity: Severity::Error,
        title: "Every path can be read, and with `--fix` also written",
        why: "What was not read was not checked, so the exit code is 2. No comment and no baseline hides this \
              finding.",
    },
    TextRule {
        id: IGNORE_SYNTAX,
        severity: Severity::Warning,
        title: "A comment for poolgate reads `# poolgate: ignore RULE -- why`",
        why: "A comment that cannot be read ignores nothing, and one without a reason leaves the next reader to guess.",
    },
    TextRule {
        id: IGNORE_UNKNOWN,
        severity: Severity::Error,
        title: "A comment for poolgate names rules that exist",
        why: "A misspelt name ignores nothing.",
    },
    TextRule {
        id: IGNORE_UNUSED,
        severity: Severity::Warning,
        title: "A comment for poolgate ignores something",
        why: "The mistake that it ignored is gone; if the comment stays, it hides the next one.",
    },
];

/// The rule of this name.
pub fn find(id: &str) -> Option<&'static TextRule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Every name that lint can print: those of the catalogue, then those above.
pub fn ids() -> impl Iterator<Item = &'static str> {
    let catalogue = CATALOGUE.iter().map(|rule| rule.id.as_str());
    catalogue.chain(RULES.iter().map(|rule| rule.id))
}

/// The name in the list of rules; the error suggests a similar one.
pub fn known(id: &str) -> Result<&'static str, UnknownRule> {
    ids().find(|listed| *listed == id).ok_or_else(|| UnknownRule {
        id: id.escape_debug().to_string(),
        meant: nearest(id, ids()),
    })
}

/// Reads the name of a rule on the command line.
pub fn on_command_line() -> Listed<&'static str> {
    Listed {
        parse: |id| known(id).map_err(|unknown| unknown.to_string()),
        values: || ids().map(PossibleValue::new).collect(),
    }
}

/// Reads the name of a rule, or the words that names begin with, on the command line.
pub fn some_on_command_line() -> Listed<String> {
    Listed {
        parse: |name| {
            let is_beginning = ids().any(|id| begins(id, name));
            let known = if is_beginning { Ok(name) } else { known(name) };
            known.map(str::to_owned).map_err(|unknown| unknown.to_string())
        },
        values: || ids().map(PossibleValue::new).collect(),
    }
}

/// Whether the name of a rule begins with these words, or is them.
pub fn begins(id: &str, words: &str) -> bool {
    id.strip_prefix(words)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// A rule that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no rule `{id}`; {}", self.suggestion())]
pub struct UnknownRule {
    id: String,
    meant: Option<&'static str>,
}

impl UnknownRule {
    /// Where to look instead: a clause without final stop.
    pub fn suggestion(&self) -> String {
        self.meant.map_or_else(
            || "`poolgate rules` lists them all".to_owned(),
            |meant| format!("did you mean {meant}?"),
        )
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
    fn a_misspelt_name_gets_a_suggestion() {
        let said = |id: &str| known(id).unwrap_err().to_string();
        assert_eq!(
            said("budget-node"),
            "there is no rule `budget-node`; did you mean budget-nodes?"
        );
        assert_eq!(
            said("manifest-sintax"),
            "there is no rule `manifest-sintax`; did you mean manifest-syntax?"
        );
        assert_eq!(
            said("x\n"),
            "there is no rule `x\\n`; `poolgate rules` lists them all"
        );
    }
}
