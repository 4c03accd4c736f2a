//! A text through `lint`, `lint --fix`, `default` and `budgets`.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use poolgate_core::manifest::{Document, Limits, parse};
use poolgate_fuzz::commands::{Commands, Found, edited};
use poolgate_fuzz::corpus;
use serde_json::Value;

/// The most often that a fixed text has more to fix.
const ROUNDS: usize = 10;

fuzz_target!(init: corpus::write(corpus::manifests), |data: &[u8]| -> Corpus {
    static COMMANDS: OnceLock<Commands> = OnceLock::new();
    let commands = COMMANDS.get_or_init(|| Commands::about("pools.yaml"));
    let Ok(text) = str::from_utf8(data) else {
        return Corpus::Reject;
    };
    let found = commands.lint(text);
    fixes(commands, text, found);
    defaults(commands, text);
    commands.budgets(text);
    Corpus::Keep
});

/// What `--fix` writes is what the edits of findings say: it changes nothing but their fields, and each of these findings is
/// gone.
fn fixes(commands: &Commands, text: &str, first: Found) {
    let (mut before, mut found) = (text.to_owned(), first);
    for _ in 0..ROUNDS {
        let Some(after) = edited(&before, &found) else {
            break;
        };
        let left = commands.lint(&after);
        are_gone(&found, &left, &after);
        only_fixed_changes(&before, &after, &found);
        (before, found) = (after, left);
    }
    assert_eq!(commands.fix(text), before, "--fix writes something else");
}

/// Each fixed finding is gone, if all were fixed and shown.
fn are_gone(found: &Found, left: &Found, after: &str) {
    let is_whole = |found: &Found| found.summary["omitted"] == 0;
    if !(is_whole(found) && is_whole(left)) {
        return;
    }
    let identity = |result: &Value| ["rule", "pointer", "object"].map(|field| result[field].clone());
    let count = |found: &Found, of: &Value, is_fixed: bool| {
        let same = found
            .results
            .iter()
            .filter(|result| identity(result) == identity(of));
        same.filter(|result| !is_fixed || is_edited(result)).count()
    };
    for fixed in found.results.iter().filter(|result| is_edited(result)) {
        let (before, edits) = (count(found, fixed, false), count(found, fixed, true));
        assert!(
            count(left, fixed, false) <= before - edits,
            "{fixed} is left in:\n{after}"
        );
    }
}

fn is_edited(result: &Value) -> bool {
    !result["edit"].is_null()
}

/// Nothing but the fields of fixed findings differs.
fn only_fixed_changes(before: &str, after: &str, found: &Found) {
    let fixed = found.results.iter().filter(|result| is_edited(result));
    let fields: Vec<&str> = fixed.filter_map(|result| result["pointer"].as_str()).collect();
    let (old, new) = (documents(before), documents(after));
    assert_eq!(old.len(), new.len(), "{after}");
    for (old, new) in old.iter().zip(&new) {
        let mut differences = Vec::new();
        differ("", old, new, &mut differences);
        for difference in differences {
            // A rename changes two entries of the mapping that has the field.
            let is_fixed = |field: &&str| {
                let above = field.rsplit_once('/').map_or("", |(above, _)| above);
                difference.starts_with(*field)
                    || difference.rsplit_once('/').is_some_and(|(in_, _)| in_ == above)
            };
            assert!(fields.iter().any(is_fixed), "{difference} was changed:\n{after}");
        }
    }
}

fn documents(text: &str) -> Vec<Value> {
    parse(text, &Limits::default())
        .map(Document::into_value)
        .collect()
}

/// The places where two values differ.
fn differ(at: &str, old: &Value, new: &Value, into: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (old.get(key), new.get(key)) {
                    (Some(old), Some(new)) => differ(&at, old, new, into),
                    _ => into.push(at),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                differ(&format!("{at}/{number}"), old, new, into);
            }
        }
        _ if old == new => {}
        _ => into.push(at.to_owned()),
    }
}

/// A completed text is complete, and has all that it had.
fn defaults(commands: &Commands, text: &str) {
    let (once, is_whole) = commands.default(text);
    if !is_whole {
        return;
    }
    assert_eq!(commands.default(&once).0, once, "completing it again changes it");
    let (old, new) = (documents(text), documents(&once));
    assert_eq!(old.len(), new.len(), "{once}");
    for (old, new) in old.iter().zip(&new) {
        assert!(contains(new, old), "something was changed:\n{once}");
    }
}

/// Whether a value has all that another has.
fn contains(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => old
            .iter()
            .all(|(key, old)| new.get(key).is_some_and(|new| contains(new, old))),
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| contains(new, old))
        }
        (_, Value::Null) => true,
        _ => new == old,
    }
}
