//! Who waits for a LIST of the claims, and how long. A deadline concerns its own creation only: a stranger can choose it.

use std::mem::take;

use poolgate_core::nodelimit::ledger::{LimitInForce, Needs, Observed, Step};
use tokio::time::sleep_until;

use super::super::context::PoolLimit;
use super::super::error::{CallError, GateError};
use super::super::waiter::{MARGIN, Undecided, Waiter};
use super::{LEDGER, LedgerToDecideOn, Round};

/// How many creations that were admitted without a decision a round keeps.
const MOST_UNDECIDED: usize = 1_000;

/// How many steps a creation gets that cannot wait any more.
const LAST_STEPS: usize = 3;

impl Round<'_> {
    /// Waits for a LIST. Meanwhile takes in who comes, and answers who cannot wait for it by what is known.
    pub(super) async fn wait_for_claims(&mut self) -> Result<(), CallError> {
        let undecided = self.undecided.iter().map(|undecided| undecided.arrived);
        let arrived: Vec<_> = undecided
            .chain(self.waiters.iter().map(|waiter| waiter.arrived))
            .collect();
        let listed = self.read.claims(&arrived);
        tokio::pin!(listed);
        loop {
            let is_over = self.waiters.is_empty() && self.undecided.is_empty();
            if is_over && !arrived.is_empty() {
                return Ok(());
            }
            let arrivals = self.arrivals;
            let first = self.waiters.iter().map(|waiter| waiter.deadline).min();
            let due = async {
                match first.and_then(|first| first.checked_sub(MARGIN)) {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                listed = &mut listed => return listed,
                () = due => self.answer_due().await,
                () = arrivals.arrived() => {
                    let queue = arrivals.take();
                    self.waiters.extend(queue.waiters);
                    self.releases.extend(queue.releases);
                }
            }
        }
    }

    /// Answers those whose time is over, by what is known. The others wait for the LIST.
    async fn answer_due(&mut self) {
        let waiters = take(&mut self.waiters).into_iter();
        let (due, waiting): (Vec<_>, Vec<_>) = waiters.partition(Waiter::is_due);
        self.waiters = due;
        self.read.claims_late = true;
        let mut needs = Needs::default();
        let mut error = GateError::ListLate;
        for _ in 0..LAST_STEPS {
            self.drop_gone();
            if self.waiters.is_empty() {
                break;
            }
            let read = self.read.read(needs, &self.waiters).await;
            let decided = match read {
                Ok(()) => self.decide_by_what_is_read().await,
                Err(error) => Err(error),
            };
            match decided {
                Ok(None) => break,
                Ok(Some(more)) => needs = more,
                Err(CallError::Conflict) => needs = LEDGER,
                Err(CallError::Failure { error: failure, .. }) => {
                    error = failure;
                    break;
                }
            }
        }
        self.read.claims_late = false;
        for waiter in take(&mut self.waiters) {
            let undecided = waiter.fail(error.clone());
            self.reserve_undecided(undecided);
        }
        self.waiters = waiting;
    }

    /// Reserves it with the next decision.
    pub(super) fn reserve_undecided(&mut self, undecided: Option<Undecided>) {
        // Further ones count when they appear.
        if self.undecided.len() < MOST_UNDECIDED {
            self.undecided.extend(undecided);
        }
    }

    /// Decides on those that arrived before the newest LIST began, if all together need another read. Otherwise who comes
    /// later would keep them from an answer for ever. Returns what the others need.
    pub(super) async fn decide_first(
        &mut self,
        pool: &PoolLimit,
        base: Option<LedgerToDecideOn>,
        limit: Observed<Option<LimitInForce>>,
        needs: Needs,
    ) -> Result<Option<Needs>, CallError> {
        let listed = self.context.claims.lock().listed(self.pool);
        let is_first = |waiter: &Waiter| listed.is_some_and(|listed| waiter.arrived <= listed.span.begun);
        let waiters = take(&mut self.waiters).into_iter();
        let (first, later): (Vec<_>, Vec<_>) = waiters.partition(is_first);
        let step = if first.is_empty() || later.is_empty() {
            Step::Read(needs)
        } else {
            self.decide(limit, base.as_ref(), &first)
        };
        self.waiters = first;
        let next = match step {
            Step::Decided(decision) => self.carry_out(pool, base, decision).await.map(|()| needs),
            Step::Read(first) => Ok(first),
        };
        self.waiters.extend(later);
        next.map(Some)
    }

    /// Drops who does not wait any more. Who is admitted without a decision is still reserved.
    pub(super) fn drop_gone(&mut self) {
        let waiters = take(&mut self.waiters).into_iter();
        let (gone, waiting): (Vec<_>, Vec<_>) = waiters.partition(Waiter::has_gone);
        self.waiters = waiting;
        for waiter in gone {
            self.reserve_undecided(waiter.lapse());
        }
    }
}
