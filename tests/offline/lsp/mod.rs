//! `poolgate lsp`, the real program, with a client that no editor would be.

mod client;
mod findings;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::process::Outcome;
use crate::support::program::{self, root};
use client::{Client, frame};

const FILE: &str = "file:///pools/a.yaml";

/// A pool with one error.
fn wrong() -> String {
    SOUND.replace("nodes: 10%", "nodes: 101%")
}

#[test]
fn session_ends_as_the_protocol_says_and_the_exit_code_tells_how() {
    for (methods, code) in [(&["shutdown", "exit"][..], 0), (&["exit"], 1)] {
        let mut client = Client::start(root(), &[]);
        for method in methods {
            match *method {
                "exit" => client.tell("exit", None),
                other => assert_eq!(client.ask(other, None)["result"], Value::Null),
            }
        }
        assert_eq!(client.ended().code(), Some(code), "{methods:?}");
    }
    let mut silent = Client::silent(root(), &[]);
    silent.tell("exit", None);
    assert_eq!(silent.ended().code(), Some(1));
}

#[test]
fn end_of_the_input_ends_the_server_also_in_the_middle_of_a_message() {
    let whole = frame(&json!({ "jsonrpc": "2.0", "id": 1, "method": "shutdown" }));
    for cut in [0, 10, 22, whole.len() - 1] {
        let mut client = Client::start(root(), &[]);
        client.send(&whole[..cut]);
        client.hang_up();
        assert_eq!(client.ended().code(), Some(1), "{cut}");
    }
    let mut client = Client::start(root(), &[]);
    client.ask("shutdown", None);
    client.hang_up();
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn server_ends_when_the_process_of_its_client_is_gone_although_the_streams_are_open() {
    let mut editor = Command::new("sleep").arg("1000").spawn().expect("a process");
    let mut client = Client::silent(root(), &[]);
    client.ask(
        "initialize",
        json!({ "processId": editor.id(), "capabilities": {} }),
    );
    client.open(FILE, &wrong());
    assert_eq!(
        client.published()["diagnostics"].as_array().map(Vec::len),
        Some(1)
    );
    editor.kill().and_then(|()| editor.wait()).expect("an end");
    assert_eq!(client.ended().code(), Some(1));
}

#[test]
fn nothing_else_that_a_client_sends_ends_the_server() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let framed = |body: &[u8]| [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat();
    let with_length = |length: &str| {
        format!("Content-Length: {length}\r\n\r\n{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}}").into_bytes()
    };
    let notify =
        |method: &str, params: Value| frame(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    let mut client = Client::silent(root(), &[]);
    // Without initialize, requests are refused, and notifications are dropped.
    client.open(FILE, &wrong());
    assert_eq!(
        client.ask("textDocument/hover", json!({}))["error"]["code"],
        -32002
    );
    client.ask("initialize", json!({ "processId": -5, "capabilities": [] }));
    for (bytes, code) in [
        (b"\r\n\r\n \n{}garbage: 5\r\n\r\n".to_vec(), None),
        (vec![0xff; 100_000], None),
        (
            b"Content-Type: a\r\ncontent-length: 2\r\n\r\n[]".to_vec(),
            Some(-32600),
        ),
        (framed(b"{"), Some(-32700)),
        (framed(b""), Some(-32700)),
        (framed(b"\xff\xfe"), Some(-32700)),
        (framed(b"7"), Some(-32600)),
        (framed(b"{\"jsonrpc\": \"2.0\"}"), Some(-32600)),
        (framed(deep.as_bytes()), Some(-32700)),
        (with_length("5"), Some(-32700)),
        (with_length("60"), Some(-32700)),
        (with_length("-1"), Some(-32600)),
        (with_length("many"), Some(-32600)),
        (with_length("99999999999999999999999"), Some(-32600)),
        (with_length("9999999999"), Some(-32600)),
        (b"Content-Length: 4000".to_vec(), None),
        (b"Content-Length: 4000\r\n".to_vec(), None),
        (b"Content-Length: 90\r\n\r\n{\"jsonrpc\"".to_vec(), Some(-32700)),
        (frame(&json!({ "jsonrpc": "2.0", "id": 5, "result": null })), None),
        (notify("textDocument/didOpen", json!({ "textDocument": 5 })), None),
        (
            notify(
                "textDocument/didOpen",
                json!({ "textDocument": { "uri": "\u{0}", "languageId": "a", "version": 0, "text": "" } }),
            ),
            None,
        ),
        (
            notify(
                "textDocument/didChange",
                json!({ "textDocument": { "uri": "file:///unknown", "version": 1 }, "contentChanges": [] }),
            ),
            None,
        ),
        (
            notify(
                "textDocument/didClose",
                json!({ "textDocument": { "uri": "file:///unknown" } }),
            ),
            None,
        ),
        (notify("$/cancelRequest", json!({ "id": 7 })), None),
        (notify("shutdown", Value::Null), None),
    ] {
        let shown = String::from_utf8_lossy(&bytes)
            .chars()
            .take(80)
            .collect::<String>();
        client.told.clear();
        client.send(&bytes);
        let answer = client.ask("unknown/method", None);
        assert_eq!(answer["error"]["code"], -32601, "{shown}");
        let codes: Vec<Option<i64>> = client
            .told
            .iter()
            .map(|told| told["error"]["code"].as_i64())
            .collect();
        assert_eq!(codes, Vec::from_iter(code.map(Some)), "{shown}");
    }
    assert_eq!(
        client.ask("textDocument/hover", json!({ "position": "here" }))["error"]["code"],
        -32602
    );
    assert_eq!(client.ask("initialize", json!({}))["error"]["code"], -32600);
    assert_eq!(client.check(FILE, &wrong()).len(), 1);
    assert_eq!(client.ask("shutdown", None)["result"], Value::Null);
    for late in ["shutdown", "textDocument/hover", "initialize"] {
        assert_eq!(client.ask(late, None)["error"]["code"], -32600, "{late}");
    }
    client.tell("exit", None);
    assert_eq!(client.ended().code(), Some(0));
}

#[test]
fn message_that_comes_in_pieces_is_one_message() {
    let mut client = Client::start(root(), &[]);
    let open = json!({ "uri": FILE, "languageId": "yaml", "version": 3, "text": wrong() });
    let open =
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": open } });
    for piece in frame(&open).chunks(7) {
        client.send(piece);
    }
    let published = client.published();
    assert_eq!(
        (
            &published["version"],
            published["diagnostics"].as_array().map(Vec::len)
        ),
        (&json!(3), Some(1))
    );
}

#[test]
fn after_a_burst_of_edits_the_findings_are_those_of_the_last_text() {
    const EDITS: i32 = 100;
    let mut client = Client::start(root(), &[]);
    client.open(FILE, SOUND);
    for version in 1..EDITS {
        client.change(FILE, version, &format!("{}# {version}\n", wrong()));
    }
    client.change(FILE, EDITS, SOUND);
    let mut last = -1;
    while last < i64::from(EDITS) {
        let published = client.published();
        let version = published["version"].as_i64().expect("a version");
        assert!(version > last, "{version} after {last}");
        let expected = usize::from(![0, i64::from(EDITS)].contains(&version));
        assert_eq!(
            published["diagnostics"].as_array().map(Vec::len),
            Some(expected),
            "{version}"
        );
        last = version;
    }
}

#[test]
fn file_that_is_closed_while_it_is_checked_ends_without_findings() {
    let many = format!("---\n{}", wrong()).repeat(500);
    let mut client = Client::start(root(), &[]);
    for _ in 0..5 {
        client.open(FILE, &many);
        client.close(FILE);
        let hover = json!({ "textDocument": { "uri": FILE }, "position": { "line": 1, "character": 1 } });
        assert_eq!(client.ask("textDocument/hover", hover)["result"], Value::Null);
        let last = client.told.last().expect("what was published");
        assert_eq!(last["params"], json!({ "uri": FILE, "diagnostics": [] }));
    }
    client.told.clear();
    client.ask("unknown/method", None);
    assert_eq!(client.told, Vec::<Value>::new());
}

#[test]
fn files_behind_a_document_count_as_they_are_at_each_edit() {
    let policy = |rules: &str| format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{rules}\n");
    let files = "apiVersion: poolgate.dev/v1alpha1\nkind: Files\n";
    let directory = directory(&[("pools/a.yaml", SOUND), (".git/HEAD", "")]);
    let folder = directory.path().canonicalize().expect("a folder");
    let uri = format!("file://{}/pools/a.yaml", folder.display());
    let project = folder.join(".poolgate.yaml");
    let write = |text: &str| std::fs::write(&project, text).expect("a file");
    let heavy = SOUND.replace("  template:", "  weight: 101\n  template:");
    let light = SOUND.replace("cpu: \"100\"", "cpu: \"0\"");
    let mut client = Client::start(&folder, &[]);
    client.open(&uri, SOUND);
    let mut version = 0;
    let mut found = |text: &str| -> Vec<String> {
        version += 1;
        client.change(&uri, version, text);
        loop {
            let published = client.published();
            if published["version"] == version {
                let findings = published["diagnostics"].as_array().expect("a list");
                return findings
                    .iter()
                    .map(|finding| format!("{}: {}", finding["code"], finding["message"]))
                    .collect();
            }
        }
    };
    assert_eq!(found(&light).len(), 1);
    write(&policy("rules: {limit-zero: off}"));
    assert_eq!(found(&light), Vec::<String>::new());
    write(&policy("rules: {limit-zero: of}"));
    let broken = found(&light);
    assert!(
        broken.len() == 1 && broken[0].contains("not checked") && broken[0].contains(".poolgate.yaml:3:"),
        "{broken:?}"
    );
    write(&format!("{files}exclude: [\"pools/\"]\n"));
    assert_eq!(found(&heavy), Vec::<String>::new());
    std::fs::remove_file(&project).expect("a file");
    assert!(!found(&heavy).is_empty());
    let part = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: 5}\n";
    assert!(!found(part).is_empty());
    std::fs::write(
        folder.join("kustomization.yaml"),
        "patches: [{path: pools/a.yaml}]\n",
    )
    .expect("a file");
    assert_eq!(found(part), Vec::<String>::new());
}

#[test]
fn templates_are_left_alone_as_in_a_folder() {
    let template = format!("{{{{- if .Values.pool }}}}\n{SOUND}{{{{- end }}}}\n");
    let directory = directory(&[
        ("chart/Chart.yaml", "name: a\n"),
        ("chart/templates/a.yaml", &template),
    ]);
    let folder = directory.path().display().to_string();
    let mut client = Client::start(directory.path(), &[]);
    let findings = client.check(&format!("file://{folder}/b.yaml"), &template);
    let said: Vec<_> = findings
        .iter()
        .map(|finding| (&finding["code"], &finding["severity"]))
        .collect();
    assert_eq!(said, [(&json!("manifest-template"), &json!(3))], "a note");
    let in_chart = client.check(&format!("file://{folder}/chart/templates/a.yaml"), &template);
    assert_eq!(in_chart, Vec::<Value>::new());
}

#[test]
fn unsaved_text_without_a_file_is_checked() {
    let mut client = Client::start(root(), &[]);
    assert_eq!(client.check("untitled:Untitled-1", &wrong()).len(), 1);
    assert_eq!(
        client
            .check("file:///no%20such/folder/%C3%A9.yaml", &wrong())
            .len(),
        1
    );
}

#[test]
fn text_that_is_larger_than_a_file_may_be_is_reported_as_such() {
    let mut client = Client::start(root(), &[]);
    let large = format!("{}#{}\n", wrong(), "x".repeat(16 << 20));
    let findings = client.check(FILE, &large);
    let [only] = findings.as_slice() else {
        panic!("{findings:?}")
    };
    assert_eq!(only["code"], "file-unreadable");
    assert!(
        only["message"]
            .as_str()
            .is_some_and(|message| message.contains("16777216 bytes")),
        "{only}"
    );
}

#[test]
fn documents_above_the_bound_are_refused_with_a_message_until_others_are_closed() {
    const MOST: usize = 1000;
    let mut client = Client::start(root(), &[]);
    let uri = |number: usize| format!("file:///pools/{number}.yaml");
    for number in 0..MOST {
        client.open(&uri(number), "a: 1\n");
    }
    client.open(&uri(MOST), &wrong());
    client.ask("unknown/method", None);
    let mut told = client.told.iter();
    let message = told.find(|told| told["method"] == "window/showMessage");
    let message = message.and_then(|told| told["params"]["message"].as_str());
    assert!(
        message.is_some_and(|message| message.contains(&uri(MOST))),
        "{message:?}"
    );
    client.told.clear();
    client.close(&uri(0));
    client.open(&uri(MOST), &wrong());
    loop {
        let published = client.published();
        if published["uri"] == uri(MOST) {
            assert_eq!(published["diagnostics"].as_array().map(Vec::len), Some(1));
            return;
        }
    }
}

/// What `lint` prints of a folder.
fn lint(folder: &std::path::Path, arguments: &[&str]) -> Outcome {
    program::run_in(folder, &[&["lint", "-o", "json"], arguments, &["."]].concat(), "")
}
