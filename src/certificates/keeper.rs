//! Reads what is stored, does the next step, and repeats that until the process stops.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep, timeout};

use super::contest::Repetition;
use super::decide::{Certificate, Now, Settings, Since, Step, next_step};
use super::error::KeepError;
use super::metrics::CertificatesMetrics;
use super::objects::{AUTHORITY, LEAF, Meaning, Names, ReadObjects, trusting};
use super::store::Store;
use crate::certs::{Authority, unix_seconds};
use crate::cluster::backoff;
use crate::lifecycle::{Readiness, StatusLine};

/// How long a read and its step may take. It is less than the shortest wait, so in this time no other process can
/// get far enough for the step to do harm.
const LOOK: Duration = Duration::from_secs(30);

/// How long to wait after another writer was faster.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// The name of a new CA.
const NAME: &str = "poolgate CA";

/// Keeps certificates.
pub struct Keeper {
    pub store: Store,
    pub names: Names,
    pub settings: Settings,
    pub interval: Duration,
    pub metrics: CertificatesMetrics,
    pub line: StatusLine,
    pub readiness: Arc<Readiness>,
}

impl Keeper {
    /// Runs until the process stops.
    pub async fn run(self) {
        let (mut since, mut repetition) = (Since::default(), Repetition::default());
        let (mut pauses, mut logged) = (backoff(), None);
        loop {
            let done = timeout(LOOK, self.once(&mut since, &mut repetition)).await;
            let pause = match done.unwrap_or(Err(KeepError::TooLong(LOOK))) {
                Ok(pause) => {
                    self.metrics.succeeded();
                    (pauses, logged) = (backoff(), None);
                    pause
                }
                Err(KeepError::Api(error)) if error.is_conflict() => AFTER_CONFLICT,
                Err(error) => {
                    self.metrics.failed();
                    let text = error.to_string();
                    self.line.set(text.as_str());
                    if logged.as_ref() != Some(&text) {
                        tracing::error!(
                            error = text,
                            "the certificates are not renewed; the stored ones stay in use"
                        );
                        logged = Some(text);
                    }
                    pauses.next().unwrap_or(self.interval)
                }
            };
            sleep(pause).await;
        }
    }

    /// Reads once and does one step. Returns how long to wait afterwards.
    async fn once(&self, since: &mut Since, repetition: &mut Repetition) -> Result<Duration, KeepError> {
        let read = self.store.read().await?;
        let meaning = read.interpret(&self.names);
        let clock = SystemTime::now();
        let now = Now {
            wall: unix_seconds(clock),
            at: Instant::now().into_std(),
        };
        since.saw(&meaning.seen, now.at);
        self.show(&meaning);
        let step = next_step(&meaning.seen, since, now, &self.settings);
        self.line.set(described(&step, &meaning));
        let contested = repetition.note(&step, &read);
        self.metrics.contested(contested.as_ref());
        match step {
            Step::MakeAuthority { previous } => {
                self.make_authority(&read, &meaning, &previous, clock).await?;
            }
            Step::Trust(certificates) => self.trust(&read, &certificates).await?,
            Step::MakeLeaf => self.make_leaf(&read, &meaning, clock).await?,
            Step::ForgetPrevious => {
                let patch = read.authority.without_previous();
                self.store.write_secret(AUTHORITY, &patch).await?;
                self.metrics.writes.inc("ca");
            }
            Step::Wait(wait) => return Ok(wait.min(self.interval)),
            Step::Rest => return Ok(self.interval),
            Step::ClockIsBehind => return Err(KeepError::ClockIsBehind),
        }
        // Written all the same: the other writer may have stopped.
        contested.map_or(Ok(Duration::ZERO), Err)
    }

    /// Shows what is stored.
    fn show(&self, meaning: &Meaning) {
        if let Some(authority) = &meaning.seen.authority {
            self.metrics.times.authority(authority.not_after);
        }
        if let Some(leaf) = &meaning.seen.leaf {
            self.metrics.times.leaf(leaf.not_before, leaf.not_after);
        }
        if meaning.seen.is_complete() {
            self.readiness.ready();
        }
    }

    async fn make_authority(
        &self,
        read: &ReadObjects,
        meaning: &Meaning,
        previous: &[Certificate],
        clock: SystemTime,
    ) -> Result<(), KeepError> {
        let authority = Authority::create(NAME, clock, self.settings.authority_life)?;
        let patch = read.authority.with_authority(&authority, previous);
        self.store.write_secret(AUTHORITY, &patch).await?;
        self.metrics.writes.inc("ca");
        let before = match &meaning.authority {
            Ok(_) => "two thirds of its lifetime are over".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::info!(before, previous = previous.len(), "a new CA is stored");
        Ok(())
    }

    async fn trust(&self, read: &ReadObjects, certificates: &[Certificate]) -> Result<(), KeepError> {
        for (path, configuration) in &read.configurations {
            let Some(patch) = trusting(configuration, certificates) else {
                continue;
            };
            let name = &configuration.metadata.name;
            self.store.write_configuration(path, name, &patch).await?;
            self.metrics.writes.inc("ca_bundle");
            let kind = path.rsplit('/').next();
            tracing::info!(kind, %name, certificates = certificates.len(), "caBundle is written");
        }
        Ok(())
    }

    async fn make_leaf(
        &self,
        read: &ReadObjects,
        meaning: &Meaning,
        clock: SystemTime,
    ) -> Result<(), KeepError> {
        // Without a CA no leaf is needed.
        let Ok(authority) = &meaning.authority else {
            return Ok(());
        };
        let issued = authority.issue(&self.names.signed, clock, self.settings.leaf_life)?;
        let patch = read.leaf.with_leaf(&issued, authority);
        self.store.write_secret(LEAF, &patch).await?;
        self.metrics.writes.inc("leaf");
        let before = match &meaning.leaf_fault {
            Some(fault) => fault.to_string(),
            None => "two thirds of its lifetime are over".to_owned(),
        };
        tracing::info!(before, "a new serving certificate is stored");
        Ok(())
    }
}

/// The current step, for `/readyz`.
fn described(step: &Step, meaning: &Meaning) -> String {
    let trusted = if meaning.seen.bundles.is_empty() {
        "there is no webhook configuration"
    } else {
        "every webhook trusts the CA"
    };
    match step {
        Step::MakeAuthority { .. } => "a new CA is made".into(),
        Step::Trust(_) => "caBundle is written".into(),
        Step::MakeLeaf => "a new serving certificate is made".into(),
        Step::ForgetPrevious => "the previous CA is removed".into(),
        Step::Wait(_) if meaning.seen.leaf.is_none() => {
            format!("{trusted}; its serving certificate follows when API servers have read it")
        }
        Step::Wait(_) => {
            format!("{trusted}; the CAs before it stay until every pod serves the stored certificate")
        }
        Step::Rest => trusted.into(),
        Step::ClockIsBehind => KeepError::ClockIsBehind.to_string(),
    }
}
