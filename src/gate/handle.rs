//! The gate as requests see it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use poolgate_core::nodelimit::ledger::{RequestVerdict, Uid};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::decision::GateDecision;
use super::error::{GateError, OnError};
use super::metrics::GateMetrics;
use super::review::NodeClaimReview;
use super::waiter::{DecidedRequest, Message, Pending, Waiter};
use crate::cluster::clock::Clock;

/// How many requests may wait in the inbox.
const INBOX: usize = 1_024;

/// The gate. A request blocks no thread, and takes only locks that are held briefly.
#[derive(Debug)]
pub struct Gate {
    /// Whether no creation is denied: what would be denied is only counted. (A change of the pool label is denied all the
    /// same.)
    observe: bool,
    metrics: GateMetrics,
    clock: Clock,
    inbox: mpsc::Sender<Message>,
}

impl Gate {
    /// A gate, and the inbox of its requests.
    pub fn new(observe: bool, metrics: GateMetrics, clock: Clock) -> (Self, mpsc::Receiver<Message>) {
        let (inbox, questions) = mpsc::channel(INBOX);
        let gate = Self {
            observe,
            metrics,
            clock,
            inbox,
        };
        (gate, questions)
    }

    /// Decides on a creation within `limit`. If it cannot, `on_error` happens.
    pub async fn ask(&self, review: &NodeClaimReview, on_error: OnError, limit: Duration) -> GateDecision {
        match Uid::new(&review.uid) {
            Ok(uid) => self.wait(review, uid, on_error, limit).await,
            Err(error) => self.undecided(error.into(), review, on_error),
        }
    }

    async fn wait(
        &self,
        review: &NodeClaimReview,
        uid: Uid,
        on_error: OnError,
        limit: Duration,
    ) -> GateDecision {
        let (sender, reply) = oneshot::channel();
        let is_admitted = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let waiter = Waiter {
            uid: uid.clone(),
            name: review.name.clone(),
            arrived: self.clock.now(),
            deadline: now + limit,
            on_error,
            dry_run: review.is_dry_run(),
            observed: self.observe,
            reply: sender,
            is_admitted: Arc::clone(&is_admitted),
        };
        if let Err(error) = self.inbox.try_send(Message::Ask(review.pool.clone(), waiter)) {
            return self.undecided(unsent(&error), review, on_error);
        }
        let mut pending = Pending {
            pool: &review.pool,
            uid,
            reply,
            is_admitted,
            inbox: &self.inbox,
        };
        let error = match timeout(limit, &mut pending.reply).await {
            Ok(Ok(Ok(verdict))) => return self.decided(verdict, review.is_dry_run()),
            Ok(Ok(Err(error))) => error,
            Ok(Err(_)) => GateError::Ended,
            Err(_) => GateError::Late(limit),
        };
        let outcome = self.undecided(error, review, on_error);
        if matches!(outcome, GateDecision::AllowedUndecided(_)) {
            pending.admit();
        }
        outcome
    }

    fn decided(&self, verdict: DecidedRequest, dry_run: bool) -> GateDecision {
        let (word, outcome) = match verdict.answer {
            RequestVerdict::Reserved | RequestVerdict::Allow => ("allowed", GateDecision::Allowed),
            RequestVerdict::Deny(denied) if self.observe => ("would_deny", GateDecision::WouldDeny(denied)),
            RequestVerdict::Deny(denied) => ("denied", GateDecision::Denied(denied)),
        };
        self.metrics.decided(word, verdict.mode, dry_run);
        outcome
    }

    fn undecided(&self, error: GateError, review: &NodeClaimReview, on_error: OnError) -> GateDecision {
        self.metrics.errors.inc(error.reason());
        self.metrics.decided("error", None, review.is_dry_run());
        match on_error {
            OnError::Deny if !self.observe => GateDecision::DeniedUndecided(error),
            _ => GateDecision::AllowedUndecided(error),
        }
    }
}

fn unsent(error: &TrySendError<Message>) -> GateError {
    match error {
        TrySendError::Full(_) => GateError::Busy,
        TrySendError::Closed(_) => GateError::Ended,
    }
}
