//! Malicious texts are handled quickly, with a clean exit code and in every format. `bench/lint` measures similar
//! ones in the release program.

use super::lint_in;
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

#[test]
fn texts_made_to_hurt_end_soon_and_cleanly() {
    let laughs: String = (1..10).fold("a0: &a0 [lol]\n".to_owned(), |text, level| {
        let above = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{above}]\n")
    });
    let many = vec!["1"; 100_000].join(", ");
    let (text, aliases) = ("x".repeat(100_000), vec!["*a"; 20_000].join(", "));
    let unknown: String = (0..5_000).fold(String::new(), |text, field| format!("{text}  x{field}: 1\n"));
    let long = format!(
        "{{apiVersion: karpenter.sh/v1, kind: NodePool, a: \"{}\", spec: 1}}",
        "x".repeat(10 << 20)
    );
    for (name, text, code) in [
        (
            "deep",
            format!("{SOUND}x: {}{}\n", "[".repeat(100_000), "]".repeat(100_000)),
            2,
        ),
        ("deep and open", format!("{SOUND}x: {}", "[".repeat(200_000)), 2),
        ("laughs", format!("{SOUND}{laughs}"), 2),
        (
            "aliases of a long text",
            format!("{SOUND}a: &a {text}\nb: [{aliases}]\n"),
            2,
        ),
        (
            "sequences on one line",
            format!("{SOUND}x:\n  {}1\n", "- ".repeat(100_000)),
            2,
        ),
        ("flow", format!("{SOUND}x: [{many}]\n"), 1),
        (
            "long text",
            format!("{SOUND}x: \"{}\"\n", "x".repeat(10 << 20)),
            1,
        ),
        ("long line", long, 1),
        (
            "comments",
            format!("{}{SOUND}", "# karpenter.sh\n".repeat(100_000)),
            0,
        ),
        (
            "unknown fields",
            SOUND.replace("spec:\n  disruption", &format!("spec:\n{unknown}  disruption")),
            1,
        ),
        (
            "broken documents",
            format!("{SOUND}---\n{}", "a: [\n---\n".repeat(5_000)),
            1,
        ),
        ("pools", vec![SOUND; 500].join("---\n"), 0),
        (
            "marks of templates",
            format!(
                "{SOUND}---\n{}",
                "apiVersion: v1\nkind: A\na: ${b.c}\n---\n".repeat(20_000)
            ),
            0,
        ),
        (
            "marks of templates in a list",
            format!(
                "{SOUND}---\napiVersion: v1\nkind: List\nitems:\n{}",
                "- {apiVersion: v1, kind: A, a: \"${b.c}\"}\n".repeat(20_000)
            ),
            0,
        ),
        (
            "conditions in comments",
            [
                &"#{{ if a }}\n".repeat(50_000),
                SOUND,
                &"#{{ end }}\n".repeat(50_000),
            ]
            .concat(),
            2,
        ),
    ] {
        let directory = directory(&[("pool.yaml", &text)]);
        for format in ["human", "json"] {
            let outcome = lint_in(directory.path(), &["--output", format, "pool.yaml"], "");
            assert_eq!(outcome.status.code(), Some(code), "{name}: {}", outcome.stderr);
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
