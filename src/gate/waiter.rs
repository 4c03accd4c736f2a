//! A creation that waits for its decision.

use std::mem::take;
use std::time::Duration;

use parking_lot::Mutex;
use poolgate_core::api::NodeLimitMode;
use poolgate_core::nodelimit::ledger::{ClaimRequest, Moment, RequestVerdict, Uid};
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::error::{GateError, OnError};

/// How long before its deadline a creation is answered with what is known, or with why it cannot be decided.
pub const MARGIN: Duration = Duration::from_millis(100);

/// A creation that waits.
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
    /// Takes back a reservation that was stored for it.
    pub release: Release,
    /// Its place among all that wait.
    pub place: OwnedSemaphorePermit,
}

/// What waits for a pool's next round.
#[derive(Default)]
pub struct Queue {
    pub waiters: Vec<Waiter>,
    pub releases: Vec<Uid>,
}

/// What has come for a pool and is in no round yet.
#[derive(Default)]
pub struct Arrivals {
    queue: Mutex<Queue>,
    arrived: Notify,
}

impl Arrivals {
    pub fn add(&self, add: impl FnOnce(&mut Queue)) {
        add(&mut self.queue.lock());
        self.arrived.notify_one();
    }

    pub fn take(&self) -> Queue {
        take(&mut self.queue.lock())
    }

    /// Returns when something has come. It may be taken already.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }
}

/// A creation that was admitted without a decision, and needs its reservation nevertheless.
pub struct Undecided {
    uid: Uid,
    name: Box<str>,
    pub arrived: Moment,
}

impl Undecided {
    /// The request as the ledger needs it: it is reserved whatever the decision.
    pub fn request(&self) -> ClaimRequest<'_> {
        ClaimRequest {
            uid: &self.uid,
            name: &self.name,
            arrived: self.arrived,
            strict: false,
            dry_run: false,
            observed: true,
        }
    }
}

/// The decision on a creation that waits.
pub type Reply = Result<DecidedRequest, GateError>;

pub type Release = Box<dyn FnOnce() + Send + Sync>;

/// A decision. If it is dropped before it is received, so is the reservation that was stored for it, unless the NodeClaim may
/// be created without an answer.
pub struct DecidedRequest {
    pub answer: RequestVerdict,
    /// What the pool's limit counts; `None` if it has no limit.
    pub mode: Option<NodeLimitMode>,
    unreceived: Option<Release>,
}

impl Waiter {
    /// The request as the ledger needs it.
    pub fn request(&self) -> ClaimRequest<'_> {
        ClaimRequest {
            uid: &self.uid,
            name: &self.name,
            arrived: self.arrived,
            strict: self.on_error == OnError::Deny,
            dry_run: self.dry_run,
            observed: self.observed,
        }
    }

    /// Whether the request does not wait any more.
    pub fn has_gone(&self) -> bool {
        self.reply.is_closed() || self.deadline <= Instant::now()
    }

    /// Whether it must be answered now, or is gone.
    pub fn is_due(&self) -> bool {
        self.reply.is_closed() || self.deadline <= Instant::now() + MARGIN
    }

    fn is_admitted_undecided(&self) -> bool {
        (self.observed || self.on_error == OnError::Allow) && !self.dry_run && !self.reply.is_closed()
    }

    /// Sends the decision.
    pub fn decide(self, answer: RequestVerdict, mode: Option<NodeLimitMode>) {
        // Under Ignore the API server creates it if the answer does not arrive: then the reservation has to expire.
        let is_released = answer == RequestVerdict::Reserved && self.on_error == OnError::Deny;
        let decided = DecidedRequest {
            answer,
            mode,
            unreceived: is_released.then_some(self.release),
        };
        drop(self.place);
        // A request that is gone does not receive it.
        let _ = self.reply.send(Ok(decided));
    }

    /// Sends why it cannot be decided. Returns what must be reserved because it is admitted all the same.
    pub fn fail(self, error: GateError) -> Option<Undecided> {
        self.end(Some(error))
    }

    /// Its time is over. Returns what must be reserved because it is admitted all the same.
    pub fn lapse(self) -> Option<Undecided> {
        self.end(None)
    }

    fn end(self, error: Option<GateError>) -> Option<Undecided> {
        let is_admitted = self.is_admitted_undecided();
        if let Some(error) = error {
            // Perhaps the request is gone.
            let _ = self.reply.send(Err(error));
        }
        is_admitted.then_some(Undecided {
            uid: self.uid,
            name: self.name,
            arrived: self.arrived,
        })
    }
}

impl DecidedRequest {
    /// Its NodeClaim may be created from now on: the reservation stays.
    pub fn received(&mut self) {
        self.unreceived = None;
    }
}

impl Drop for DecidedRequest {
    fn drop(&mut self) {
        if let Some(release) = self.unreceived.take() {
            release();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// A creation that waits, where its decision is received, and how often its reservation was released.
    fn waiting(on_error: OnError) -> (Waiter, oneshot::Receiver<Reply>, Arc<AtomicUsize>) {
        let (sender, reply) = oneshot::channel();
        let released = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&released);
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned();
        let waiter = Waiter {
            uid: Uid::new("u-1").expect("a uid"),
            name: "general-x7k2p".into(),
            arrived: Moment::at(Duration::ZERO),
            deadline: Instant::now() + Duration::from_secs(1),
            on_error,
            dry_run: false,
            observed: false,
            reply: sender,
            release: Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            }),
            place: place.expect("a place"),
        };
        (waiter, reply, released)
    }

    #[tokio::test]
    async fn a_reservation_whose_answer_nobody_receives_is_released_unless_the_claim_may_exist() {
        for (answer, on_error, expected) in [
            (RequestVerdict::Reserved, OnError::Deny, 1),
            (RequestVerdict::Reserved, OnError::Allow, 0),
            (RequestVerdict::Allow, OnError::Deny, 0),
        ] {
            let (waiter, reply, released) = waiting(on_error);
            drop(reply);
            assert!(waiter.has_gone());
            waiter.decide(answer, None);
            assert_eq!(released.load(Ordering::Relaxed), expected, "the request is gone");

            let (waiter, reply, released) = waiting(on_error);
            waiter.decide(answer, None);
            assert_eq!(released.load(Ordering::Relaxed), 0, "it was sent");
            drop(reply);
            assert_eq!(released.load(Ordering::Relaxed), expected, "it is not received");
        }
    }

    #[tokio::test]
    async fn a_reservation_stays_if_its_answer_was_received() {
        let (waiter, reply, released) = waiting(OnError::Deny);
        waiter.decide(RequestVerdict::Reserved, None);
        let Ok(Ok(mut decided)) = reply.await else {
            panic!("no decision");
        };
        decided.received();
        drop(decided);
        assert_eq!(released.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_does_not_wait_beyond_its_deadline() {
        let (waiter, _reply, _) = waiting(OnError::Deny);
        assert!(!waiter.has_gone());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(waiter.has_gone());
    }
}
