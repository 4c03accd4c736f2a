//! A creation that waits for its decision, seen from both sides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::Instant;

use poolgate_core::api::NodeLimitMode;
use poolgate_core::nodelimit::ledger::{Moment, Request, RequestVerdict, Uid};
use tokio::sync::{mpsc, oneshot};

use super::error::{GateError, OnError};

/// A decision.
#[derive(Debug, Clone, Copy)]
pub struct DecidedRequest {
    /// What it is.
    pub answer: RequestVerdict,
    /// What the pool's limit counts; `None` if it has no limit.
    pub mode: Option<NodeLimitMode>,
}

impl DecidedRequest {
    /// Whether a reservation was stored for it.
    fn is_reserved(self) -> bool {
        self.answer == RequestVerdict::Reserved
    }
}

/// The decision on a creation that waits.
pub type Reply = Result<DecidedRequest, GateError>;

/// What the cluster's thread receives.
#[derive(Debug)]
pub enum Message {
    /// A creation waits.
    Ask(Box<str>, Waiter),
    /// A reservation of this pool was stored for a creation whose answer could not be sent.
    Release(Box<str>, Uid),
}

/// A creation that waits, on the side that decides.
#[derive(Debug)]
pub struct Waiter {
    pub uid: Uid,
    pub name: Box<str>,
    pub arrived: Moment,
    /// Until when the request waits.
    pub deadline: Instant,
    /// What happens to it if it cannot be decided.
    pub on_error: OnError,
    pub dry_run: bool,
    /// Whether it is admitted whatever the decision.
    pub observed: bool,
    pub reply: oneshot::Sender<Reply>,
    pub is_admitted: Arc<AtomicBool>,
}

impl Waiter {
    /// The request as the ledger needs it.
    pub fn request(&self) -> Request<'_> {
        Request {
            uid: &self.uid,
            name: &self.name,
            arrived: self.arrived,
            strict: self.on_error == OnError::Deny,
            dry_run: self.dry_run,
            observed: self.observed,
        }
    }

    /// Whether the request is gone.
    pub fn has_gone(&self) -> bool {
        self.reply.is_closed()
    }

    /// Sends the decision. Returns the uid if a reservation was stored for a request that is gone.
    pub fn answer(self, reply: Reply) -> Option<Uid> {
        let unsent = self.reply.send(reply).err()?;
        let reserved = unsent.is_ok_and(DecidedRequest::is_reserved);
        // A NodeClaim that was admitted without a decision may still be created: then its reservation is needed.
        (reserved && !self.is_admitted.load(Ordering::Acquire)).then_some(self.uid)
    }
}

/// A creation that waits, on the side that asks. If it is dropped before it has its answer, a reservation that was stored for
/// it is cancelled.
#[derive(Debug)]
pub struct Pending<'a> {
    pub pool: &'a str,
    pub uid: Uid,
    pub reply: oneshot::Receiver<Reply>,
    pub is_admitted: Arc<AtomicBool>,
    pub inbox: &'a mpsc::Sender<Message>,
}

impl Pending<'_> {
    /// It is admitted without a decision.
    pub fn admit(&self) {
        self.is_admitted.store(true, Ordering::Release);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.reply.close();
        let unread = self.reply.try_recv();
        let reserved = matches!(unread, Ok(Ok(verdict)) if verdict.is_reserved());
        if reserved && !self.is_admitted.load(Ordering::Acquire) {
            // If the inbox is full, the reservation expires by itself.
            let _ = self
                .inbox
                .try_send(Message::Release(self.pool.into(), self.uid.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn uid() -> Uid {
        Uid::new("u-1").expect("a uid")
    }

    fn pair(inbox: &mpsc::Sender<Message>) -> (Waiter, Pending<'_>) {
        let (sender, reply) = oneshot::channel();
        let is_admitted = Arc::new(AtomicBool::new(false));
        let waiter = Waiter {
            uid: uid(),
            name: "general-x7k2p".into(),
            arrived: Moment::at(Duration::ZERO),
            deadline: Instant::now(),
            on_error: OnError::Allow,
            dry_run: false,
            observed: false,
            reply: sender,
            is_admitted: Arc::clone(&is_admitted),
        };
        let pending = Pending {
            pool: "general",
            uid: uid(),
            reply,
            is_admitted,
            inbox,
        };
        (waiter, pending)
    }

    fn verdict(answer: RequestVerdict) -> DecidedRequest {
        DecidedRequest {
            answer,
            mode: Some(NodeLimitMode::Hard),
        }
    }

    #[test]
    fn a_reservation_is_taken_back_where_nobody_waits_for_it_any_more() {
        let (inbox, _messages) = mpsc::channel(1);
        for (answer, expected) in [
            (RequestVerdict::Reserved, Some(uid())),
            (RequestVerdict::Allow, None),
        ] {
            let (waiter, pending) = pair(&inbox);
            drop(pending);
            assert!(waiter.has_gone());
            assert_eq!(waiter.answer(Ok(verdict(answer))), expected);
        }
        let (waiter, pending) = pair(&inbox);
        pending.admit();
        drop(pending);
        assert_eq!(
            waiter.answer(Ok(verdict(RequestVerdict::Reserved))),
            None,
            "it may come to be"
        );
    }

    #[test]
    fn an_answer_that_is_not_read_gives_its_reservation_back() {
        let (inbox, mut messages) = mpsc::channel(1);
        let (waiter, pending) = pair(&inbox);
        assert_eq!(
            waiter.answer(Ok(verdict(RequestVerdict::Reserved))),
            None,
            "it was sent"
        );
        drop(pending);
        let Ok(Message::Release(pool, released)) = messages.try_recv() else {
            panic!("no release");
        };
        assert_eq!((&*pool, released), ("general", uid()));

        let (waiter, mut pending) = pair(&inbox);
        waiter.answer(Ok(verdict(RequestVerdict::Reserved)));
        assert!(pending.reply.try_recv().is_ok(), "it is read");
        drop(pending);
        assert!(messages.try_recv().is_err());
    }
}
