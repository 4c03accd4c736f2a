//! The state of a session, and what is answered to each message.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use lsp_server::{ErrorCode, Message, Notification, Request, ResponseError};
use lsp_types::{
    CodeActionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    HoverParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::actions::actions;
use super::args::LspArgs;
use super::documents::Document;
use super::findings::diagnostic;
use super::frames::{Incoming, refused, write};
use super::hover::hover;
use crate::edit::Positions;

/// Most documents that are open, and most bytes of all.
const MOST_DOCUMENTS: usize = 1000;
const MOST_BYTES: usize = 256 << 20;

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client has not said who it is.
    New,
    Running,
    /// The client has ended it, and will say so.
    ShutDown,
}

/// A session with one client.
pub struct Server<'a, W> {
    flags: &'a LspArgs,
    output: W,
    state: State,
    /// By their URIs.
    documents: BTreeMap<String, Document<'a>>,
}

impl<'a, W: Write> Server<'a, W> {
    pub const fn new(flags: &'a LspArgs, output: W) -> Self {
        Self {
            flags,
            output,
            state: State::New,
            documents: BTreeMap::new(),
        }
    }

    /// Whether the client knows everything.
    pub fn is_idle(&self) -> bool {
        self.documents.values().all(|document| document.is_published)
    }

    /// The protocol's: 1 if the client has gone without ending the session.
    pub fn exit_code(&self) -> ExitCode {
        u8::from(self.state != State::ShutDown).into()
    }

    /// Takes what the client has sent. Returns whether that ends the server.
    pub fn take(&mut self, incoming: Incoming) -> io::Result<bool> {
        match incoming {
            Ok(Message::Request(Request { id, method, params })) => {
                let failed = || Err(refused(ErrorCode::InternalError, "poolgate has failed"));
                let answer = unharmed(|| self.answer(&method, params)).unwrap_or_else(failed);
                self.write(match answer {
                    Ok(result) => json!({ "id": id, "result": result }),
                    Err(error) => json!({ "id": id, "error": error }),
                })?;
            }
            Ok(Message::Notification(notification)) if notification.method == "exit" => return Ok(true),
            Ok(Message::Notification(notification)) if self.state == State::Running => {
                self.note(notification)?;
            }
            // The server sends no request, so it expects no response.
            Ok(Message::Notification(_) | Message::Response(_)) => {}
            Err(error) => self.write(json!({ "id": null, "error": error }))?,
        }
        Ok(false)
    }

    /// Checks one of the documents that have changed.
    pub fn check_one(&mut self) -> io::Result<()> {
        let mut documents = self.documents.values_mut();
        let Some(document) = documents.find(|document| !document.is_published) else {
            return Ok(());
        };
        document.is_published = true;
        let findings = unharmed(|| document.findings().to_vec()).unwrap_or_default();
        let positions = Positions::new(&document.text);
        let shown = |finding| diagnostic(finding, &positions, &document.uri, self.flags);
        let found: Value = findings.iter().map(shown).collect();
        let params = json!({ "uri": document.uri, "version": document.version, "diagnostics": found });
        self.notify("textDocument/publishDiagnostics", &params)
    }

    fn answer(&mut self, method: &str, params: Value) -> Result<Value, ResponseError> {
        match (self.state, method) {
            (State::New, "initialize") => {
                self.state = State::Running;
                let client = params.get("processId").and_then(Value::as_i64);
                follow(client.and_then(|id| id.try_into().ok()).unwrap_or_default());
                Ok(json!({
                    "capabilities": {
                        "positionEncoding": "utf-16",
                        "textDocumentSync": { "openClose": true, "change": 1, "save": true },
                        "hoverProvider": true,
                        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
                    },
                    "serverInfo": { "name": "poolgate", "version": env!("CARGO_PKG_VERSION") },
                }))
            }
            (State::New, _) => Err(refused(ErrorCode::ServerNotInitialized, "send initialize first")),
            (State::ShutDown, _) => Err(refused(ErrorCode::InvalidRequest, "the session has ended")),
            (State::Running, "initialize") => Err(refused(ErrorCode::InvalidRequest, "it was sent before")),
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                self.documents.clear();
                Ok(Value::Null)
            }
            (State::Running, "textDocument/hover") => {
                let place = parsed::<HoverParams>(params)?.text_document_position_params;
                let text = self
                    .documents
                    .get_mut(place.text_document.uri.as_str())
                    .and_then(|document| {
                        let offset = Positions::new(&document.text).offset(place.position);
                        hover(document, offset)
                    });
                let shown = |text| json!({ "contents": { "kind": "markdown", "value": text } });
                Ok(text.map_or(Value::Null, shown))
            }
            (State::Running, "textDocument/codeAction") => {
                let asked: CodeActionParams = parsed(params)?;
                let is_wanted = asked.context.only.is_none_or(|kinds| {
                    let mut kinds = kinds.iter();
                    kinds.any(|kind| ["", "quickfix"].contains(&kind.as_str()))
                });
                let document = self.documents.get_mut(asked.text_document.uri.as_str());
                let document = document.filter(|_| is_wanted).into_iter();
                Ok(document
                    .flat_map(|document| actions(document, asked.range))
                    .collect())
            }
            (State::Running, other) => {
                let why = format!("there is no method {}", other.escape_debug());
                Err(refused(ErrorCode::MethodNotFound, why))
            }
        }
    }

    /// Takes a notification. One that cannot be read has no answer.
    fn note(&mut self, Notification { method, params }: Notification) -> io::Result<()> {
        match &*method {
            "textDocument/didOpen" => {
                if let Ok(opened) = parsed::<DidOpenTextDocumentParams>(params) {
                    self.keep(Document::open(opened.text_document, self.flags))?;
                }
            }
            "textDocument/didChange" => {
                // The whole text is what the server has asked for.
                if let Ok(mut changed) = parsed::<DidChangeTextDocumentParams>(params)
                    && let Some(change) = changed.content_changes.pop()
                    && let Some(mut document) = self.documents.remove(changed.text_document.uri.as_str())
                {
                    document.change(changed.text_document.version, change.text);
                    self.keep(document)?;
                }
            }
            // It may be a policy that others are checked by.
            "textDocument/didSave" => {
                let documents = self.documents.values_mut();
                documents.for_each(|document| document.is_published = false);
            }
            "textDocument/didClose" => {
                if let Ok(closed) = parsed::<DidCloseTextDocumentParams>(params)
                    && let Some(document) = self.documents.remove(closed.text_document.uri.as_str())
                {
                    self.forget(&document.uri)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps a document, if there is room for it.
    fn keep(&mut self, document: Document<'a>) -> io::Result<()> {
        let uri = document.uri.clone();
        self.documents.remove(&uri);
        let bytes: usize = self.documents.values().map(|document| document.text.len()).sum();
        if self.documents.len() < MOST_DOCUMENTS && bytes + document.text.len() <= MOST_BYTES {
            self.documents.insert(uri, document);
            return Ok(());
        }
        let text =
            format!("poolgate does not check {uri}: too many files are open. Close some, and open it again");
        self.notify("window/showMessage", &json!({ "type": 2, "message": text }))?;
        self.forget(&uri)
    }

    /// Clears the diagnostics of a document.
    fn forget(&mut self, uri: &str) -> io::Result<()> {
        self.notify(
            "textDocument/publishDiagnostics",
            &json!({ "uri": uri, "diagnostics": [] }),
        )
    }

    fn notify(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.write(json!({ "method": method, "params": params }))
    }

    fn write(&mut self, message: Value) -> io::Result<()> {
        write(&mut self.output, message)
    }
}

/// What is done, or `None` if it has panicked: that must not cost the author the other documents.
fn unharmed<T>(work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

fn parsed<P: DeserializeOwned>(params: Value) -> Result<P, ResponseError> {
    serde_json::from_value(params).map_err(|error| refused(ErrorCode::InvalidParams, error.to_string()))
}

/// Ends this process when that of the client is gone: another process may hold the other end of the streams open.
#[cfg(unix)]
fn follow(client: i32) {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    use std::{process, thread, time::Duration};

    if let Some(client) = Pid::from_raw(client.max(0)) {
        thread::spawn(move || {
            while test_kill_process(client) != Err(Errno::SRCH) {
                thread::sleep(Duration::from_secs(2));
            }
            process::exit(1);
        });
    }
}

/// Elsewhere the end of the streams must do.
#[cfg(not(unix))]
const fn follow(_: i32) {}
