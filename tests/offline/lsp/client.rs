//! An editor that does what a script says, at the other end of `poolgate lsp`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};

use crate::support::program::poolgate;
use crate::support::wait::{PATIENCE, wait_for};

/// A server and its client, which ends it when it is dropped.
pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    received: Receiver<Value>,
    asked: i32,
    /// What the server has said without being asked.
    pub(super) told: Vec<Value>,
}

impl Client {
    /// A server in a directory that knows its client.
    pub(super) fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut client = Self::silent(directory, arguments);
        client.ask("initialize", json!({ "processId": null, "capabilities": {} }));
        client.tell("initialized", json!({}));
        client
    }

    /// A server to which nothing was said.
    pub(super) fn silent(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = poolgate(&[&["lsp"], arguments].concat());
        command.current_dir(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("a pipe");
        let (sender, received) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            input,
            received,
            asked: 0,
            told: Vec::new(),
        }
    }

    /// Sends these bytes. The server may be gone.
    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("an open stream");
        let _ = input.write_all(bytes.as_ref()).and_then(|()| input.flush());
    }

    pub(super) fn tell(&mut self, method: &str, params: impl Into<Option<Value>>) {
        self.send(frame(
            &json!({ "jsonrpc": "2.0", "method": method, "params": params.into() }),
        ));
    }

    /// The answer to a request: its `result` or `error` beside its `id`.
    pub(super) fn ask(&mut self, method: &str, params: impl Into<Option<Value>>) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(frame(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.into() }),
        ));
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    /// What the server says next.
    pub(super) fn next(&mut self) -> Value {
        self.received.recv_timeout(PATIENCE).expect("a message")
    }

    pub(super) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 0, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub(super) fn change(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        let changes = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", changes);
    }

    pub(super) fn close(&mut self, uri: &str) {
        self.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// What the server publishes next.
    pub(super) fn published(&mut self) -> Value {
        loop {
            let message = self.next();
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"].clone();
            }
        }
    }

    /// The findings in a text.
    pub(super) fn check(&mut self, uri: &str, text: &str) -> Vec<Value> {
        self.open(uri, text);
        let published = self.published();
        assert_eq!(published["uri"], uri);
        published["diagnostics"].as_array().expect("a list").clone()
    }

    /// What can be done about the findings on some lines.
    pub(super) fn actions(&mut self, uri: &str, first: u64, last: u64) -> Vec<Value> {
        let at = |line: u64| json!({ "line": line, "character": 0 });
        let range = json!({ "start": at(first), "end": at(last) });
        let document = json!({ "uri": uri });
        let asked = json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } });
        let answer = self.ask("textDocument/codeAction", asked);
        answer["result"].as_array().expect("a list").clone()
    }

    /// What is shown of a place.
    pub(super) fn hover(&mut self, uri: &str, line: usize, character: usize) -> String {
        let position = json!({ "line": line, "character": character });
        let asked = json!({ "textDocument": { "uri": uri }, "position": position });
        let answer = self.ask("textDocument/hover", asked);
        let text = answer["result"]["contents"]["value"].as_str();
        text.unwrap_or_default().to_owned()
    }

    /// Closes the stream to the server.
    pub(super) fn hang_up(&mut self) {
        self.input = None;
    }

    /// How the server has ended.
    pub(super) fn ended(&mut self) -> ExitStatus {
        wait_for("the server to end", || self.child.try_wait().expect("a child"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A message with its header.
pub(super) fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; `None` at the end.
fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((_, number)) => length = number.parse().ok(),
            None => break,
        }
    }
    let mut body = vec![0; length?];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("JSON"))
}
