//! The gate as the webhook sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use poolgate_core::nodelimit::ledger::{Refused, RequestVerdict, Uid};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::error::GateError;
use super::waiter::{DecidedRequest, Message, Pending, Waiter};
use crate::admission::ClusterView;
use crate::cluster::GateMetrics;
use crate::cluster::clock::Clock;

/// How many questions may lie in the inbox.
const INBOX: usize = 1_024;

/// What becomes of a creation that cannot be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// The NodeClaim is created: the limit may be exceeded, and nodes keep coming.
    Allow,
    /// It is not: the limit holds, and no nodes come until decisions can be made again.
    Deny,
}

/// How the gate is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateSettings {
    /// What becomes of a creation that cannot be decided.
    pub(crate) on_error: OnError,
    /// Whether nothing is refused: what would be is only counted.
    pub(crate) observe: bool,
}

/// The gate. Asking it takes no lock that anybody holds for long, and no thread.
#[derive(Debug)]
pub(crate) struct Gate {
    settings: GateSettings,
    view: Arc<ClusterView>,
    metrics: GateMetrics,
    clock: Clock,
    inbox: mpsc::Sender<Message>,
}

/// A NodeClaim that is about to be created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmitRequest<'a> {
    /// The pool that it belongs to.
    pub(crate) pool: &'a str,
    /// Its uid.
    pub(crate) uid: &'a str,
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether nothing is to be created.
    pub(crate) dry_run: bool,
}

/// What becomes of it.
#[derive(Debug)]
pub(crate) enum GateDecision {
    /// There is room, or no limit.
    Allowed,
    /// There is none.
    Denied(Refused),
    /// There is none, and refusing is not wanted.
    WouldDeny(Refused),
    /// It cannot be decided, and goes on.
    AllowedUndecided(GateError),
    /// It cannot be decided, and does not.
    DeniedUndecided(GateError),
}

impl Gate {
    /// A gate, and the inbox in which its questions lie.
    pub(crate) fn new(
        settings: GateSettings,
        view: Arc<ClusterView>,
        metrics: GateMetrics,
        clock: Clock,
    ) -> (Self, mpsc::Receiver<Message>) {
        let (inbox, questions) = mpsc::channel(INBOX);
        let gate = Self {
            settings,
            view,
            metrics,
            clock,
            inbox,
        };
        (gate, questions)
    }

    /// Decides on a creation within `limit`.
    pub(crate) async fn ask(&self, ask: AdmitRequest<'_>, limit: Duration) -> GateDecision {
        if self.view.is_unlimited(ask.pool) {
            self.metrics.decided("allowed", None, ask.dry_run);
            return GateDecision::Allowed;
        }
        match Uid::new(ask.uid) {
            Ok(uid) => self.wait(ask, uid, limit).await,
            Err(error) => self.undecided(error.into(), ask.dry_run),
        }
    }

    async fn wait(&self, ask: AdmitRequest<'_>, uid: Uid, limit: Duration) -> GateDecision {
        let (sender, reply) = oneshot::channel();
        let is_admitted = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let waiter = Waiter {
            uid: uid.clone(),
            name: ask.name.into(),
            arrived: self.clock.of(now),
            deadline: now + limit,
            dry_run: ask.dry_run,
            reply: sender,
            is_admitted: Arc::clone(&is_admitted),
        };
        if let Err(error) = self.inbox.try_send(Message::Ask(ask.pool.into(), waiter)) {
            return self.undecided(unsent(&error), ask.dry_run);
        }
        let mut pending = Pending {
            pool: ask.pool,
            uid,
            reply,
            is_admitted,
            inbox: &self.inbox,
        };
        let error = match timeout(limit, &mut pending.reply).await {
            Ok(Ok(Ok(verdict))) => return self.decided(verdict, ask.dry_run),
            Ok(Ok(Err(error))) => error,
            Ok(Err(_)) => GateError::Ended,
            Err(_) => GateError::Late(limit),
        };
        let outcome = self.undecided(error, ask.dry_run);
        if matches!(outcome, GateDecision::AllowedUndecided(_)) {
            pending.admit();
        }
        outcome
    }

    fn decided(&self, verdict: DecidedRequest, dry_run: bool) -> GateDecision {
        let (word, outcome) = match verdict.answer {
            RequestVerdict::Reserved | RequestVerdict::Allow => ("allowed", GateDecision::Allowed),
            RequestVerdict::Deny(refused) if self.settings.observe => {
                ("would_deny", GateDecision::WouldDeny(refused))
            }
            RequestVerdict::Deny(refused) => ("denied", GateDecision::Denied(refused)),
        };
        self.metrics.decided(word, verdict.mode, dry_run);
        outcome
    }

    fn undecided(&self, error: GateError, dry_run: bool) -> GateDecision {
        self.metrics.failed(error.reason());
        self.metrics.decided("error", None, dry_run);
        match self.settings.on_error {
            OnError::Deny if !self.settings.observe => GateDecision::DeniedUndecided(error),
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
