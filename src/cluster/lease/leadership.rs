//! The right to act, as seen by the acting replica.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// A period of uninterrupted leadership.
#[derive(Debug, Clone, Copy)]
pub struct Term {
    /// How many terms there were before.
    pub number: u64,
    /// Until when the replica may begin to write.
    pub until: Instant,
}

impl Term {
    /// Its end, unless that is over.
    pub fn valid_until(self) -> Option<Instant> {
        (self.until > Instant::now()).then_some(self.until)
    }
}

/// Until when this replica may act.
#[derive(Debug, Clone)]
pub struct Leadership(pub watch::Receiver<Option<Term>>);

impl Leadership {
    /// Of a process that needs no Lease.
    pub fn always() -> Self {
        let until = Instant::now() + Duration::from_hours(24 * 365 * 30);
        let term = Term { number: 0, until };
        Self(watch::channel(Some(term)).1)
    }

    /// Until when this replica may begin to write; none if it may not.
    pub fn until(&self) -> Option<Instant> {
        self.0.borrow().and_then(Term::valid_until)
    }

    /// The number of its term: while it is the same, no other replica has led. None if this replica may not write.
    pub fn term(&self) -> Option<u64> {
        self.until()?;
        self.0.borrow().map(|term| term.number)
    }

    /// Whether it may write now.
    pub fn holds(&self) -> bool {
        self.until().is_some()
    }

    /// Waits until this may have changed.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
