//! Malicious texts are handled quickly, with a clean exit code and in every format.

use serde_json::Value;

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

/// Each with its exit code and its parts: a string, and how often it is repeated. `$SOUND` is a sound NodePool, `$N` the
/// number of the repetition. `bench/lint` measures the same texts in the release program.
const TEXTS: &str = include_str!("../../data/hostile.json");

/// A text of its parts.
fn text_of(parts: &Value) -> String {
    let mut text = String::new();
    for part in parts.as_array().expect("parts") {
        let piece = part[0].as_str().expect("a string").replace("$SOUND", SOUND);
        for number in 0..part[1].as_u64().expect("a number") {
            if piece.contains("$N") {
                text += &piece.replace("$N", &number.to_string());
            } else {
                text += &piece;
            }
        }
    }
    text
}

#[test]
fn texts_made_to_hurt_end_soon_and_cleanly() {
    let texts: Vec<Value> = serde_json::from_str(TEXTS).expect("texts");
    assert!(texts.len() > 10, "{texts:?}");
    for hostile in texts {
        let name = &hostile["name"];
        let directory = directory(&[("pool.yaml", &text_of(&hostile["parts"]))]);
        for format in ["human", "json"] {
            let outcome = lint_in(directory.path(), &["--output", format, "pool.yaml"], "");
            let code = outcome.status.code().map(i64::from);
            assert_eq!(code, hostile["code"].as_i64(), "{name}: {}", outcome.stderr);
            assert!(outcome.stdout.len() < 5 << 20, "{name}: {}", outcome.stdout.len());
        }
    }
}

#[test]
fn nothing_in_a_manifest_or_its_name_reaches_the_terminal_as_it_is() {
    let text = SOUND
        .replace(
            "  limits:\n",
            "  limits:\n    \"a\\e[2Jb\": \"\\e]0;x\\a::error::y\"\n",
        )
        .replace("name: general", "name: \"g\\u202e\\n::error::z\"");
    let directory = directory(&[("po\u{1b}[31mol.yaml", &text)]);
    for format in ["human", "concise", "github", "json"] {
        let outcome = lint_in(directory.path(), &["--output", format, "."], "");
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        let forged = outcome.stdout.lines().any(|line| line.starts_with("::error::"));
        // JSON escapes control characters of a terminal, and otherwise has the data unchanged.
        let turned = |c: char| c == '\u{202e}' && format != "json";
        let raw = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || turned(c));
        assert!(
            !forged && !raw(&outcome.stdout) && !raw(&outcome.stderr),
            "{format}: {outcome:?}"
        );
    }
}
