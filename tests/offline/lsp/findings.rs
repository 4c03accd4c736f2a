//! What the server says of a text: the findings of `lint`, what can be done about them, and what they mean.

use std::fs;
use std::path::PathBuf;

use ignore::WalkBuilder;
use poolgate_core::diagnostic::{sentences, statement};
use serde_json::{Value, json};

use super::client::Client;
use super::{FILE, lint, wrong};
use crate::support::files::directory;
use crate::support::nodepool::{SOUND, node_pool};
use crate::support::program::root;

/// The notes that lint reports once in a run.
const ONCE: [&str; 2] = ["manifest-release", "replicas-gate"];

/// The manifests of the corpus, the cases and the documentation.
fn manifests() -> Vec<PathBuf> {
    let folders = ["tests/corpus", "tests/cases", "docs/examples"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| WalkBuilder::new(folder).build());
    let files = files.map(|entry| entry.expect("an entry").into_path());
    let is_manifest = |path: &PathBuf| {
        let end = path.extension().unwrap_or_default();
        path.is_file() && ["yaml", "yml", "json"].iter().any(|known| end == *known)
    };
    let mut files: Vec<PathBuf> = files.filter(is_manifest).collect();
    files.sort();
    files
}

/// A place that lint counts in characters from 1, as the protocol counts it.
fn position(text: &str, line: &Value, column: &Value) -> Value {
    let number =
        |number: &Value| usize::try_from(number.as_u64().expect("a number")).expect("a small number") - 1;
    let (line, column) = (number(line), number(column));
    let written = text.split('\n').nth(line).unwrap_or_default();
    let mark = usize::from(line == 0 && written.starts_with('\u{feff}'));
    let units: usize = written.chars().take(column + mark).map(char::len_utf16).sum();
    json!({ "line": line, "character": units })
}

fn range(text: &str, of: &Value) -> Value {
    json!({ "start": position(text, &of["line"], &of["column"]), "end": position(text, &of["endLine"], &of["endColumn"]) })
}

/// A finding of lint's report as the server publishes it.
fn published(text: &str, found: &Value) -> Value {
    let word = |name: &str| found[name].as_str();
    let mut first = statement(word("title").expect("a title"), word("value"));
    if let Some(remark) = word("remark") {
        first = format!("{first} ({remark})");
    }
    let source = word("source").map(|source| format!("rendered from {source}"));
    let message = sentences(first, [word("help"), word("consequence"), source.as_deref()]);
    let severity = ["error", "warning", "note"]
        .iter()
        .position(|name| word("severity") == Some(name));
    json!({
        "range": range(text, found),
        "severity": severity.expect("a severity") + 1,
        "code": found["rule"],
        "message": message,
    })
}

/// The same of what was published.
fn essence(diagnostic: &Value) -> Value {
    let mut essence = json!({});
    for name in ["range", "severity", "code", "message"] {
        essence[name] = diagnostic[name].clone();
    }
    essence
}

/// The one edit of an action.
fn edit_of(action: &Value) -> &Value {
    let changes = action["edit"]["changes"].as_object().expect("changes");
    let edits: Vec<&Value> = changes.values().collect();
    let [edits] = edits.as_slice() else {
        panic!("{action}")
    };
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{action}");
    &edits[0]
}

fn is_comment(action: &Value) -> bool {
    edit_of(action)["newText"]
        .as_str()
        .is_some_and(|text| text.contains("# poolgate: ignore "))
}

#[test]
fn server_publishes_what_lint_reports_of_the_same_text() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().canonicalize().expect("a folder");
    let mut copies = Vec::new();
    for (number, manifest) in manifests().iter().enumerate() {
        let name = format!(
            "{number}/{}",
            manifest.file_name().expect("a name").to_string_lossy()
        );
        // A name that Git ignores or that begins with a dot is no input of lint.
        let copy = folder.join(&name);
        fs::create_dir_all(copy.parent().expect("a parent")).expect("a folder");
        // Some are not UTF-8, and no editor sends those.
        if let Ok(text) = fs::read_to_string(manifest) {
            fs::write(&copy, &text).expect("a file");
            copies.push((name, text));
        }
    }
    assert!(copies.len() > 200, "{}", copies.len());
    let without = format!("--ignore={}", ONCE.join(","));
    let report: Value = serde_json::from_str(&lint(&folder, &[&without]).stdout).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let mut client = Client::start(&folder, &[&without]);
    let mut fixes = 0;
    for (name, text) in &copies {
        let of_file: Vec<&Value> = results.iter().filter(|result| result["file"] == **name).collect();
        let expected: Vec<Value> = of_file.iter().map(|result| published(text, result)).collect();
        let uri = format!("file://{}", folder.join(name).display());
        let found: Vec<Value> = client.check(&uri, text).iter().map(essence).collect();
        assert_eq!(found, expected, "{name}");
        let edits = of_file
            .iter()
            .map(|result| &result["edit"])
            .filter(|edit| !edit.is_null());
        let edits: Vec<Value> = edits
            .map(|edit| json!({ "range": range(text, edit), "newText": edit["text"] }))
            .collect();
        fixes += edits.len();
        if !found.is_empty() {
            let actions = client.actions(&uri, 0, 1_000_000);
            let offered = actions.iter().filter(|action| !is_comment(action)).map(edit_of);
            assert_eq!(offered.cloned().collect::<Vec<_>>(), edits, "{name}");
        }
        client.close(&uri);
        client.published();
    }
    assert!(results.len() > 300 && fixes > 50, "{} {fixes}", results.len());
}

#[test]
fn note_that_lint_reports_once_in_a_run_is_published_once_in_a_file() {
    let gated = SOUND.replace("spec:\n  disruption:", "spec:\n  replicas: 2\n  disruption:");
    let text = format!("{gated}---\n{gated}");
    let directory = directory(&[("a.yaml", &text)]);
    let report: Value = serde_json::from_str(&lint(directory.path(), &[]).stdout).expect("JSON");
    let expected: Vec<Value> = report["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|found| published(&text, found))
        .collect();
    let uri = format!("file://{}/a.yaml", directory.path().display());
    let found = Client::start(directory.path(), &[]).check(&uri, &text);
    assert_eq!(found.iter().map(essence).collect::<Vec<_>>(), expected);
    assert_eq!(
        found
            .iter()
            .filter(|found| found["code"] == "replicas-gate")
            .count(),
        1,
        "{found:?}"
    );
}

/// A text with an edit of an editor.
fn edited(text: &str, edit: &Value) -> String {
    let offset = |at: &Value| -> usize {
        let number =
            |name: &str| usize::try_from(at[name].as_u64().expect("a number")).expect("a small number");
        let mut lines = text.split_inclusive('\n');
        let above: usize = lines.by_ref().take(number("line")).map(str::len).sum();
        let mut units = number("character");
        let before = lines.next().unwrap_or_default().chars().take_while(|character| {
            let is_before = units > 0;
            units -= if is_before { character.len_utf16() } else { 0 };
            is_before
        });
        above + before.map(char::len_utf8).sum::<usize>()
    };
    let mut edited = text.to_owned();
    let place = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
    edited.replace_range(place, edit["newText"].as_str().expect("a text"));
    edited
}

/// How many findings of a rule there are.
fn count(findings: &[Value], rule: &Value) -> usize {
    findings.iter().filter(|found| found["code"] == *rule).count()
}

#[test]
fn after_an_action_its_finding_is_gone_and_no_other_has_come() {
    let mut client = Client::start(root(), &[]);
    let (mut fixed, mut ignored) = (0, 0);
    let crlf = fs::read_to_string(root().join("docs/examples/mistakes.yaml"))
        .expect("a file")
        .replace('\n', "\r\n");
    let texts = manifests()
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    for text in texts.chain([crlf]) {
        let before = client.check(FILE, &text);
        let lines: std::collections::BTreeSet<u64> = before
            .iter()
            .filter_map(|found| found["range"]["start"]["line"].as_u64())
            .collect();
        for line in lines {
            for action in client.actions(FILE, line, line) {
                let rule = &action["diagnostics"][0]["code"];
                let new = edited(&text, edit_of(&action));
                let after = client.check(FILE, &new);
                assert!(
                    count(&after, rule) < count(&before, rule),
                    "{action}\n{new}\n{after:?}"
                );
                if is_comment(&action) {
                    ignored += 1;
                    let is_known =
                        |found: &Value| before.iter().any(|known| known["message"] == found["message"]);
                    assert!(after.iter().all(is_known), "{action}\n{new}\n{after:?}");
                    assert_eq!(
                        text.matches("\r\n").count() == text.matches('\n').count(),
                        new.matches("\r\n").count() == new.matches('\n').count()
                    );
                } else {
                    fixed += 1;
                }
                client.open(FILE, &text);
                client.published();
            }
        }
    }
    assert!(fixed > 50 && ignored > 100, "{fixed} {ignored}");
}

#[test]
fn fix_that_replaces_nodes_says_so_and_is_not_preferred() {
    let misspelt = "  template:\n    spec:\n      expireafter: 720h\n";
    let text = SOUND.replace("  template:\n    spec:\n", misspelt);
    let text = text.replace("nodes: 10%", "nodes: 5");
    let mut client = Client::start(root(), &[]);
    client.check(FILE, &text);
    let actions = client.actions(FILE, 0, 100);
    let fixes = actions.iter().filter(|action| !is_comment(action));
    let fixes: Vec<_> = fixes
        .map(|action| (&action["title"], &action["isPreferred"]))
        .collect();
    let costly = "Did you mean expireAfter? Karpenter then replaces the nodes of the pool.";
    let expected = [
        (&json!("Write it in quotes: \"5\""), &json!(true)),
        (&json!(costly), &json!(false)),
    ];
    assert_eq!(fixes, expected);
}

#[test]
fn comment_is_put_where_the_line_has_room_and_not_where_it_would_not_be_one() {
    let beside = SOUND.replace("cpu: \"100\"", "cpu: \"0\"");
    let taken = SOUND.replace("cpu: \"100\"", "cpu: \"0\" # none");
    let json = node_pool("a", &json!({ "limits": { "cpu": 0 } })).to_string();
    let mut client = Client::start(root(), &[]);
    let mut comments = |uri: &str, text: &str| -> Vec<String> {
        assert!(!client.check(uri, text).is_empty(), "{text}");
        let actions = client.actions(uri, 0, 100);
        actions
            .iter()
            .filter(|action| is_comment(action))
            .map(|action| edit_of(action)["newText"].as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(
        comments(FILE, &beside),
        [" # poolgate: ignore limit-zero -- REASON"]
    );
    assert_eq!(
        comments(FILE, &taken),
        ["    # poolgate: ignore limit-zero -- REASON\n"]
    );
    assert_eq!(comments("file:///pools/a.json", &json), Vec::<String>::new());
    assert_eq!(
        comments(FILE, &wrong()),
        Vec::<String>::new(),
        "Karpenter rejects it"
    );
}

#[test]
fn hover_explains_rules_fields_and_the_next_windows() {
    let text = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a, annotations: {x: 🚀}}
spec:
  weight: 101
  disruption:
    consolidateAfter: 1m
    budgets:
    - {nodes: \"1\"}
    - {nodes: \"0\", schedule: 0 9 * * mon-fri, duration: 8h}
    - {nodes: \"0\", schedule: 0 0 30 2 *, duration: 8h}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
";
    let place = |word: &str| {
        let (before, _) = text.split_once(word).expect(word);
        let line = before.matches('\n').count();
        (
            line,
            before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .encode_utf16()
                .count(),
        )
    };
    let mut client = Client::start(root(), &["--at", "2027-01-01T10:00:00Z"]);
    client.check(FILE, text);
    let mut hover = |word: &str, ahead: usize| {
        let (line, character) = place(word);
        client.hover(FILE, line, character + ahead)
    };
    let rule = hover("101", 1);
    assert!(
        rule.starts_with("### weight\n\n**") && rule.contains("```yaml"),
        "{rule}"
    );
    let field = hover("consolidateAfter", 3);
    assert!(
        field.starts_with("### spec.disruption.consolidateAfter\n\n"),
        "{field}"
    );
    let windows = hover("0 9 * * mon-fri", 2);
    let expected = "\
The next windows, each 8h:

- open since Fri 2027-01-01 09:00 UTC to Fri 2027-01-01 17:00 UTC
- Mon 2027-01-04 09:00 UTC to Mon 2027-01-04 17:00 UTC
- Tue 2027-01-05 09:00 UTC to Tue 2027-01-05 17:00 UTC
- Wed 2027-01-06 09:00 UTC to Wed 2027-01-06 17:00 UTC
- Thu 2027-01-07 09:00 UTC to Thu 2027-01-07 17:00 UTC
";
    assert!(windows.starts_with(expected), "{windows}");
    let never = hover("0 0 30 2 *", 2);
    assert!(
        never.contains("The schedule never fires. Karpenter then treats the budget as always active."),
        "{never}"
    );
    assert_eq!(hover("NodePool", 2), "");
    assert_eq!(client.hover(FILE, 1000, 1000), "");
}

#[test]
fn columns_are_utf16_units_and_rules_link_to_their_page() {
    let limits = "  limits:\n    cpu: \"100\"\n    memory: 100Gi\n";
    let astral = SOUND.replace(limits, "  limits: {\"🚀\": \"1\", cpu: \"0\"}\n");
    let mut client = Client::start(root(), &["--rules-url", "https://example.com/rules.md"]);
    let findings = client.check(FILE, &astral);
    let zero = findings.iter().find(|found| found["code"] == "limit-zero");
    let zero = zero.unwrap_or_else(|| panic!("{findings:#?}"));
    let at = |character: u32| json!({ "line": 10, "character": character });
    assert_eq!(zero["range"], json!({ "start": at(27), "end": at(30) }));
    assert_eq!(
        zero["codeDescription"]["href"],
        "https://example.com/rules.md#limit-zero"
    );
    assert_eq!(zero["source"], "poolgate");
}
