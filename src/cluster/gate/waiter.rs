//! A creation that waits for its decision, seen from both sides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use poolgate_core::karpenter::NodeLimitMode;
use poolgate_core::nodelimit::ledger::{Answer, Moment, Request, Uid};
use tokio::sync::{mpsc, oneshot};

use super::error::GateError;

/// A decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    /// What it is.
    pub(super) answer: Answer,
    /// What the pool's limit counts; none where it has no limit.
    pub(super) mode: Option<NodeLimitMode>,
    /// Whether a ticket was stored for it.
    pub(super) reserved: bool,
}

/// What becomes of a creation that waits.
pub(super) type Reply = Result<Verdict, GateError>;

/// What the cluster's thread is told.
#[derive(Debug)]
pub(in crate::cluster) enum Message {
    /// A creation waits.
    Ask(Box<str>, Waiter),
    /// A ticket of this pool was stored for a creation whose answer could not be sent.
    Release(Box<str>, Uid),
}

/// A creation that waits, on the side that decides.
#[derive(Debug)]
pub(in crate::cluster) struct Waiter {
    pub(super) uid: Uid,
    pub(super) name: Box<str>,
    pub(super) arrived: Moment,
    /// When nobody waits any more.
    pub(super) deadline: Instant,
    pub(super) dry_run: bool,
    pub(super) reply: oneshot::Sender<Reply>,
    pub(super) is_let_in: Arc<AtomicBool>,
}

impl Waiter {
    /// The question as it is put to the ledger.
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            uid: &self.uid,
            name: &self.name,
            arrived: self.arrived,
            dry_run: self.dry_run,
        }
    }

    /// Whether nobody waits any more.
    pub(super) fn has_gone(&self) -> bool {
        self.reply.is_closed()
    }

    /// Sends the decision. Gives the uid back where a ticket was stored in vain.
    pub(super) fn answer(self, reply: Reply) -> Option<Uid> {
        let unsent = self.reply.send(reply).err()?;
        let reserved = unsent.is_ok_and(|verdict| verdict.reserved);
        // Who was let in without an answer may well come to be: then the ticket has its use.
        (reserved && !self.is_let_in.load(Ordering::Acquire)).then_some(self.uid)
    }
}

/// A creation that waits, on the side that asks. If it goes without having taken its answer, a ticket that was stored for
/// it is released.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    pub(super) pool: &'a str,
    pub(super) uid: Uid,
    pub(super) reply: oneshot::Receiver<Reply>,
    pub(super) is_let_in: Arc<AtomicBool>,
    pub(super) inbox: &'a mpsc::Sender<Message>,
}

impl Pending<'_> {
    /// It is let in without an answer.
    pub(super) fn let_in(&self) {
        self.is_let_in.store(true, Ordering::Release);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.reply.close();
        let unread = self.reply.try_recv();
        let reserved = matches!(unread, Ok(Ok(verdict)) if verdict.reserved);
        if reserved && !self.is_let_in.load(Ordering::Acquire) {
            // Where there is no room for this message the ticket lives its life.
            let _ = self
                .inbox
                .try_send(Message::Release(self.pool.into(), self.uid.clone()));
        }
    }
}
