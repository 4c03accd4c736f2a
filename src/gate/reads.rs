//! The reads of a round from the API server, and their deadlines.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use poolgate_core::nodelimit::ledger::{Moment, Needs, Observed, ReadSpan};
use tokio::time::{Instant, sleep, timeout};

use super::context::{GateContext, PoolLimit};
use super::error::{CallError, GateError};
use super::waiter::{MARGIN, Waiter};
use crate::cluster::ledgers::{Owner, StoredLedger};
use crate::cluster::pools::Pool;
use crate::cluster::{Deadline, pools};

/// The shortest and the longest deadline of one call.
const SHORTEST_CALL: Duration = Duration::from_millis(500);
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// A write gets half of the remaining time, so that a lost write can be repeated, but no less than a slow API server needs.
const SHORTEST_WRITE: Duration = Duration::from_millis(1_200);

/// The pauses after failed calls: each is twice as long as the one before.
pub const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The results of the reads of this round.
pub struct Reads<'a> {
    context: &'a GateContext,
    /// The pool's name.
    name: &'a str,
    /// The pool's limit. A sweep first takes it from the watch.
    pub pool: Option<Observed<PoolLimit>>,
    pub ledger: Option<(Option<StoredLedger>, ReadSpan)>,
    /// Whether a LIST of the claims is late for those that are being decided.
    pub claims_late: bool,
}

impl<'a> Reads<'a> {
    pub fn new(context: &'a GateContext, name: &'a str) -> Self {
        Self {
            context,
            name,
            pool: None,
            ledger: None,
            claims_late: false,
        }
    }

    /// The pool that ledger and limit are read of; `None` if it is not known, or does not exist.
    pub fn owner(&self) -> Option<Owner<'_>> {
        let uid = self.pool.as_ref()?.value.uid.as_deref()?;
        Some(Owner { name: self.name, uid })
    }

    /// Reads ledger and pool in parallel, as far as they are needed. A LIST that is needed begins too.
    pub async fn read(&mut self, mut needs: Needs, waiters: &[Waiter]) -> Result<(), CallError> {
        let before = self.owner().map(|owner| Box::<str>::from(owner.uid));
        // The UID says which ledger is the pool's.
        needs.limit |= needs.ledger && before.is_none();
        needs.ledger &= before.is_some();
        if !needs.any() {
            return Ok(());
        }
        let (context, limit) = (self.context, read_limit(waiters));
        for (is_read, of) in [(needs.ledger, "ledger"), (needs.limit, "limit")] {
            if is_read {
                context.shared.metrics.reads.inc(of);
            }
        }
        if needs.claims {
            // It runs whether it is waited for or not.
            let arrived: Vec<_> = waiters.iter().map(|waiter| waiter.arrived).collect();
            let _ = self.claims(&arrived).now_or_never();
        }
        let begun = context.shared.clock.now();
        let (ledger, pool) = tokio::try_join!(
            self.stored(needs.ledger, limit),
            self.pool(needs.limit, limit, waiters),
        )?;
        let span = ReadSpan {
            begun,
            done: context.shared.clock.now(),
        };
        if let Some(ledger) = ledger {
            self.ledger = Some((ledger, span));
        }
        if let Some((pool, listed)) = pool {
            let value = limit_of(pool);
            if value.uid != before {
                // Another pool has taken the name. What is known of the ledger is not about its ledger.
                self.ledger = None;
            }
            self.pool = Some(Observed {
                value,
                read: Some(listed.unwrap_or(span)),
            });
        }
        Ok(())
    }

    /// Reads the pool within `limit`: by name if the watch knows it, else from a LIST, whose span is returned too.
    async fn pool(
        &self,
        is_wanted: bool,
        limit: Duration,
        waiters: &[Waiter],
    ) -> Result<Option<(Option<Pool>, Option<ReadSpan>)>, CallError> {
        let (context, name) = (self.context, self.name);
        if !is_wanted {
            return Ok(None);
        }
        if context.shared.view.pool(name).is_some() {
            let pool = context.pools.get_opt(name, Deadline::within(limit)).await?;
            return Ok(Some((pool, None)));
        }
        let newest = waiters.iter().map(|waiter| waiter.arrived).max();
        let newest = newest.unwrap_or_else(|| context.shared.clock.now());
        let ledger_read = self.ledger.as_ref().map(|(_, span)| span.done);
        let as_of = ledger_read.map_or(newest, |read| newest.max(read));
        let listed = timeout(limit, context.pool_lists.as_of(as_of)).await;
        let listed = listed.map_err(|_| CallError::Failure {
            error: GateError::ApiServer("listing the NodePools timed out".into()),
            is_final: false,
        })??;
        Ok(Some((listed.by_name.get(name).cloned(), Some(listed.span))))
    }

    async fn stored(
        &self,
        is_wanted: bool,
        limit: Duration,
    ) -> Result<Option<Option<StoredLedger>>, CallError> {
        let Some(owner) = self.owner().filter(|_| is_wanted) else {
            return Ok(None);
        };
        let by = Deadline::within(limit);
        Ok(Some(self.context.ledgers.read(owner, by).await?))
    }

    /// Waits for a LIST of the claims that is new enough for the first of the creations that arrived then. For them, one
    /// that fails is repeated.
    pub fn claims(&self, arrived: &[Moment]) -> impl Future<Output = Result<(), CallError>> + Send + use<> {
        let lists = Arc::clone(&self.context.claim_lists);
        let name = Box::<str>::from(self.name);
        let limit = self.pool.as_ref().and_then(|pool| pool.value.limit);
        let whole = limit.is_none_or(|limit| limit.depends_on_disruption());
        let listed = self.context.claims.lock().listed(self.name);
        let is_listed = |arrived: Moment| listed.is_some_and(|listed| listed.span.begun >= arrived);
        let first = arrived.iter().filter(|arrived| !is_listed(**arrived)).min();
        let moment = first.or(arrived.iter().max()).copied();
        let ledger_read = self.ledger.as_ref().map(|(_, span)| span.done);
        let moment = moment.max(ledger_read);
        let moment = moment.unwrap_or_else(|| self.context.shared.clock.now());
        let is_tried_again = !arrived.is_empty();
        async move {
            let mut pause = FIRST_PAUSE;
            while let Err(error) = lists.as_of(&name, moment, whole).await {
                if !is_tried_again || matches!(error, CallError::Failure { is_final: true, .. }) {
                    return Err(error);
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Ok(())
        }
    }
}

fn limit_of(pool: Option<Pool>) -> PoolLimit {
    let unknown = |why: &str| PoolLimit {
        unknown: Some(why.into()),
        ..PoolLimit::default()
    };
    match pool.map(pools::kept) {
        None => unknown("the NodePool does not exist"),
        Some(None) => unknown("the NodePool's resourceVersion is not a number"),
        Some(Some((_, pool))) => PoolLimit::of(&pool),
    }
}

/// How long the API server may take for one read: until the last creation must be answered.
fn read_limit(waiters: &[Waiter]) -> Duration {
    let last = waiters.iter().map(|waiter| waiter.deadline).max();
    last.map_or(LONGEST_CALL, |last| {
        last.saturating_duration_since(Instant::now() + MARGIN)
            .clamp(SHORTEST_CALL, LONGEST_CALL)
    })
}

/// How long it may take for one write.
pub fn write_limit(waiters: &[Waiter]) -> Duration {
    (read_limit(waiters) / 2).max(SHORTEST_WRITE)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{pending, ready};

    use hyper::{Request, Response, StatusCode};
    use kube::Client;
    use kube::client::Body;
    use parking_lot::Mutex;
    use tower::service_fn;

    use super::*;
    use crate::cluster::reconnecting;

    const READS: Needs = Needs {
        ledger: true,
        claims: false,
        limit: true,
    };

    /// Connections without an answer.
    fn silent() -> Client {
        let never = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        Client::new(never, "default")
    }

    /// An API server that answers 404 to everything.
    fn empty() -> Client {
        let nothing = service_fn(async |_: Request<Body>| {
            let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}"#;
            let mut answer = Response::new(Body::from(status.as_bytes().to_vec()));
            *answer.status_mut() = StatusCode::NOT_FOUND;
            Ok::<_, Infallible>(answer)
        });
        Client::new(nothing, "default")
    }

    /// A round's reads by a client whose first connection is this one, and whose others are that one.
    async fn read(first: Client, others: Client, needs: Needs) -> (Result<(), CallError>, bool) {
        let first = Mutex::new(Some(first));
        let make = move || ready(Ok(first.lock().take().unwrap_or_else(|| others.clone())));
        let context = GateContext::of_client(&reconnecting("default", make));
        let mut reads = Reads::new(&context, "general");
        let mut read = reads.read(needs, &[]).await;
        if needs.claims && read.is_ok() {
            read = reads.claims(&[]).await;
        }
        let is_complete =
            matches!(&reads.pool, Some(pool) if pool.value.uid.is_none()) && reads.ledger.is_none();
        (read, is_complete)
    }

    #[tokio::test(start_paused = true)]
    async fn a_round_continues_on_a_new_connection_if_the_open_ones_are_silent() {
        let (read, is_complete) = read(silent(), empty(), READS).await;
        assert!(read.is_ok() && is_complete, "{read:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_on_a_silent_connection_begins_anew() {
        let claims = Needs {
            claims: true,
            ..Needs::default()
        };
        for needs in [
            claims,
            Needs {
                claims: true,
                ..READS
            },
        ] {
            // It is answered: there are no NodeClaims to list here.
            let (read, _) = read(silent(), empty(), needs).await;
            assert!(
                matches!(read, Err(CallError::Failure { is_final: true, .. })),
                "{read:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_ends_although_nobody_answers_at_all() {
        let (read, _) = read(silent(), silent(), READS).await;
        assert!(matches!(read, Err(CallError::Failure { is_final: false, .. })));
    }
}
