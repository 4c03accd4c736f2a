//! Which of several replicas acts: the holder of a Lease, as in other controllers.
//!
//! A holder proves that it is alive by renewing the Lease. Others take it when it has not changed for its duration,
//! measured on their own clock since they first saw it so: clocks that disagree do no harm. A holder that cannot
//! renew stops acting before others may begin. It renews only while its work makes progress. Knows nothing of what that is.

mod leadership;
mod silence;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::api::{ApiError, Deadline};
use super::clock::Clock;
use super::collection::Collection;
use crate::runtime::lifecycle::{Heartbeat, StatusLine};
use crate::runtime::telemetry::LogOnce;
use leadership::Term;

pub use leadership::Leadership;
pub use silence::is_silent;

/// The shortest duration: the Lease counts in whole seconds, and a renewal may take one.
pub const SHORTEST: Duration = Duration::from_secs(3);

/// The longest duration. A check whether the holder of a Lease is alive waits for one duration: poolgate-unhold
/// has four minutes for that and its work.
pub const LONGEST: Duration = Duration::from_mins(1);

/// The duration of a Lease that does not say so itself.
const USUAL: Duration = Duration::from_secs(15);

/// How long giving the Lease back may take.
const RELEASE: Duration = Duration::from_secs(3);

/// Where Leases are.
pub fn path(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

/// A replica that tries to get the Lease.
pub struct Candidate {
    leases: Collection<Lease>,
    name: &'static str,
    identity: String,
    duration: Duration,
    clock: Clock,
    seen: Option<Sighting>,
    term: watch::Sender<Option<Term>>,
    /// How many terms there were.
    terms: u64,
    line: StatusLine,
    failures: LogOnce,
    /// The heartbeat of the work.
    work: Heartbeat,
}

impl Candidate {
    /// Tries to get the Lease `name` in `namespace`, as `identity`, which no other process may have.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &'static str,
        identity: String,
        duration: Duration,
        clock: Clock,
        line: StatusLine,
    ) -> (Self, Leadership) {
        let (term, leadership) = watch::channel(None);
        let candidate = Self {
            leases: Collection::new(client, &path(namespace)),
            name,
            identity,
            duration: duration.clamp(SHORTEST, LONGEST),
            clock,
            seen: None,
            term,
            terms: 0,
            line,
            failures: LogOnce::default(),
            work: Heartbeat::default(),
        };
        (candidate, Leadership(leadership))
    }

    /// Only while this work makes progress. It belongs to another task, so that nothing it does delays a renewal.
    #[must_use]
    pub fn while_beats(self, work: Heartbeat) -> Self {
        Self { work, ..self }
    }

    /// Takes and renews the Lease until the process stops, then releases it.
    pub async fn run(mut self, end: CancellationToken) {
        loop {
            if self.work.missed().is_none() {
                let begun = Instant::now();
                let tried = self.once(begun).await;
                self.note(begun, tried);
            } else {
                self.resign("the work makes no progress");
                self.line
                    .set("not a candidate, because the work makes no progress");
            }
            tokio::select! {
                () = sleep(self.pause()) => {}
                () = end.cancelled() => return self.release().await,
            }
        }
    }

    /// How long a renewal counts: less than others wait.
    fn renewal(&self) -> Duration {
        self.duration * 2 / 3
    }

    fn pause(&self) -> Duration {
        self.duration * 2 / 15
    }

    /// Tries once to take or renew the Lease. Returns whether this replica has it.
    async fn once(&mut self, begun: Instant) -> Result<bool, ApiError> {
        // A leader has time until its right ends; others are in no hurry. A call on a dead connection gets no answer, so
        // that each has only a part of this time, and the next try makes a new connection.
        let deadline = self.held_until().unwrap_or(begun + self.renewal());
        let call = self.renewal() / 3;
        let by = || Deadline::at(deadline.min(Instant::now() + call));
        let stored = if let Some(lease) = self.leases.get_opt(self.name, by()).await? {
            self.observe(lease.spec.clone().unwrap_or_default());
            if !self.is_free() {
                return Ok(false);
            }
            let lease = self.written(lease);
            self.leases.replace(self.name, &lease, by()).await?
        } else {
            // Somebody has deleted it. Its holder may still write, and creates it again.
            if !self.is_free() {
                return Ok(false);
            }
            let lease = self.written(Lease::default());
            self.leases.create(&lease, by()).await?
        };
        // The API server notes when it stores what a manager changes.
        let managers = stored.metadata.managed_fields.into_iter().flatten();
        if let Some(written) = managers.filter_map(|manager| Some(manager.time?.0)).max() {
            self.clock.compare(written);
        }
        self.observe(stored.spec.unwrap_or_default());
        Ok(true)
    }

    /// The end of the right to act, while there is one.
    fn held_until(&self) -> Option<Instant> {
        self.term.borrow().and_then(Term::valid_until)
    }

    fn observe(&mut self, spec: LeaseSpec) {
        match &mut self.seen {
            Some(seen) => seen.again(spec),
            None => self.seen = Some(Sighting::first(spec)),
        }
    }

    /// Whether no other replica can believe that it holds the Lease.
    fn is_free(&self) -> bool {
        let Some(seen) = &self.seen else {
            return true;
        };
        match seen.spec.holder_identity.as_deref() {
            None | Some("") => true,
            Some(holder) => holder == self.identity || !seen.is_alive(),
        }
    }

    /// The Lease as this replica writes it, with the version on which that is based.
    fn written(&self, mut lease: Lease) -> Lease {
        let now = MicroTime(self.clock.wall());
        lease.metadata.name = Some(self.name.into());
        let before = lease.spec.take().unwrap_or_default();
        let transitions = before.lease_transitions.unwrap_or(0);
        let (acquired, transitions) = if before.holder_identity.as_deref() == Some(&self.identity) {
            (before.acquire_time, transitions)
        } else {
            (Some(now.clone()), transitions.saturating_add(1))
        };
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
            acquire_time: acquired,
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        });
        lease
    }

    /// Notes the result of a try, and logs what it changes.
    fn note(&mut self, begun: Instant, tried: Result<bool, ApiError>) {
        // A right that has expired is lost, even if it comes back a moment later.
        if self.held_until().is_none() {
            self.resign("the Lease could not be renewed in time");
        }
        let held = self.term.borrow().is_some();
        match tried {
            Ok(true) => {
                self.failures.is_over(&());
                self.terms += u64::from(!held);
                let (number, until) = (self.terms, begun + self.renewal());
                self.term.send_replace(Some(Term { number, until }));
                self.line.set("this replica");
                if !held {
                    tracing::info!(identity = self.identity, "leading");
                }
            }
            Ok(false) => {
                self.failures.is_over(&());
                self.resign("another replica holds the Lease");
                self.line.set(self.holder());
            }
            Err(error) if error.is_conflict() => {}
            Err(error) => {
                let text = error.to_string();
                if self.failures.is_news((), text.as_str()) {
                    tracing::warn!(%error, leading = held, "could not acquire or renew the Lease");
                    self.line.set(format!("unknown: {text}"));
                }
            }
        }
    }

    fn resign(&self, why: &str) {
        if self.term.send_replace(None).is_some() {
            tracing::warn!(identity = self.identity, why, "no longer leading");
        }
    }

    fn holder(&self) -> String {
        let seen = self.seen.as_ref();
        let holder = seen.and_then(|seen| seen.spec.holder_identity.clone());
        holder.unwrap_or_else(|| "nobody".into())
    }

    /// Releases the Lease, so that another replica need not wait for it.
    async fn release(self) {
        if self.term.send_replace(None).is_none() {
            return;
        }
        match self.give_back(Deadline::within(RELEASE)).await {
            Ok(()) => tracing::info!("released the Lease"),
            Err(error) => tracing::warn!(%error, "could not release the Lease, it will expire by itself"),
        }
    }

    async fn give_back(&self, by: Deadline) -> Result<(), ApiError> {
        let Some(mut lease) = self.leases.get_opt(self.name, by).await? else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&self.identity) {
            spec.holder_identity = Some(String::new());
            self.leases.replace(self.name, &lease, by).await?;
        }
        Ok(())
    }
}

/// The holder that a Lease names. It may be gone.
pub async fn holder(client: Client, namespace: &str, name: &str) -> Result<Option<String>, ApiError> {
    let leases = Collection::<Lease>::new(client, &path(namespace));
    let lease = leases.get_opt(name, Deadline::within(RELEASE)).await?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity);
    Ok(holder.filter(|holder| !holder.is_empty()))
}

/// The last seen state of a Lease.
#[derive(Debug)]
struct Sighting {
    spec: LeaseSpec,
    /// Since when it has been so, on the clock of this process.
    since: Instant,
}

impl Sighting {
    fn first(spec: LeaseSpec) -> Self {
        let since = Instant::now();
        Self { spec, since }
    }

    fn again(&mut self, spec: LeaseSpec) {
        if self.spec != spec {
            *self = Self::first(spec);
        }
    }

    /// Whether its holder may be alive: it is for one duration, since the Lease was first seen as it is. The times in the Lease
    /// prove nothing, because its holder's clock may be wrong.
    fn is_alive(&self) -> bool {
        self.since.elapsed() <= longest_silence(&self.spec)
    }
}

/// How long a holder that is alive may not renew this Lease.
fn longest_silence(spec: &LeaseSpec) -> Duration {
    duration(spec).unwrap_or(LONGEST)
}

/// The duration within which the holder renews the Lease. Reconcilers stay within these bounds, but a Lease may
/// contain any value.
pub fn duration(spec: &LeaseSpec) -> Option<Duration> {
    let seconds = u64::try_from(spec.lease_duration_seconds?).ok()?;
    Some(Duration::from_secs(seconds).clamp(SHORTEST, LONGEST))
}

/// The age of a Lease's last renewal.
#[derive(Debug, Clone, Copy)]
pub struct Age {
    /// How long ago it was renewed, by the wall clocks of its holder and of this process; negative if in the future.
    pub renewed: SignedDuration,
    /// Whether the Lease has not run out since.
    pub is_valid: bool,
}

/// The age of the last renewal, if there was one. Either clock may be wrong.
pub fn age(spec: &LeaseSpec, now: Timestamp) -> Option<Age> {
    let renewed = now.duration_since(spec.renew_time.as_ref()?.0);
    Some(Age {
        renewed,
        is_valid: renewed.unsigned_abs() <= duration(spec).unwrap_or(USUAL),
    })
}

#[cfg(test)]
mod tests;
