//! `poolgate lsp`: a language server, which shows an author in the editor what `lint` says of the saved text.
//!
//! One thread reads messages, one works on them. Messages that wait are taken before anything is checked, so that a burst of
//! edits costs one check.

mod actions;
mod args;
mod documents;
mod findings;
mod frames;
mod hover;
mod server;

use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

pub use args::LspArgs;

use crate::terminal;
use frames::Frames;
use server::Server;

/// Most messages that wait while a text is checked. The client waits with the others.
const MOST_WAITING: usize = 16;

/// Serves the editor at the other end of the standard streams. A closed pipe is not a failure.
pub fn run(args: &LspArgs) -> ExitCode {
    let (sender, messages) = mpsc::sync_channel(MOST_WAITING);
    drop(terminal::stdin("the messages of an editor"));
    thread::spawn(move || {
        let mut frames = Frames::new(io::stdin());
        while let Ok(Some(incoming)) = frames.next() {
            if sender.send(incoming).is_err() {
                break;
            }
        }
    });
    let mut server = Server::new(args, io::stdout());
    loop {
        let incoming = match messages.try_recv() {
            Err(TryRecvError::Empty) if server.is_idle() => messages.recv().map_err(TryRecvError::from),
            other => other,
        };
        let is_at_end = match incoming {
            Ok(incoming) => server.take(incoming),
            Err(TryRecvError::Disconnected) if server.is_idle() => Ok(true),
            Err(_) => server.check_one().map(|()| false),
        };
        if is_at_end.unwrap_or(true) {
            return server.exit_code();
        }
    }
}
