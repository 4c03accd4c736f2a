//! Reads what is stored, does the next step, and repeats that until the process stops.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep, timeout};

use super::decide::{Certificate, Now, Settings, Since, Step, next_step};
use super::error::KeepError;
use super::metrics::CertificatesMetrics;
use super::objects::{AUTHORITY, LEAF, Meaning, Names, ReadObjects, Secret, trusting};
use super::store::{MANAGER, Store};
use crate::cluster::backoff;
use crate::runtime::lifecycle::{Readiness, StatusLine};
use crate::runtime::telemetry::LogOnce;
use crate::serving::certs::{Authority, unix_seconds};

/// How long a read and its step may take. It is less than the shortest wait, so in this time no other process can
/// get far enough for the step to do harm.
const LOOK: Duration = Duration::from_secs(30);

/// How long to wait after another writer was faster.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// How many writes may follow each other: a CA, trust in it, its first leaf, the end of the CA before it, and trust
/// in it alone. With more, another writer is undoing them, and both would write as fast as the API server answers.
const IN_A_ROW: u32 = 5;

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
        let (mut since, mut in_a_row) = (Since::default(), 0);
        let (mut pauses, failures) = (backoff(), LogOnce::default());
        loop {
            let done = timeout(LOOK, self.once(&mut since, &mut in_a_row)).await;
            let pause = match done.unwrap_or(Err(KeepError::TooLong(LOOK))) {
                Ok(pause) => {
                    self.metrics.succeeded();
                    pauses = backoff();
                    failures.is_over(&());
                    pause
                }
                Err(KeepError::Api(error)) if error.is_conflict() => AFTER_CONFLICT,
                Err(error) => {
                    self.metrics.failed();
                    let text = error.to_string();
                    self.line.set(text.as_str());
                    if failures.is_news((), text.as_str()) {
                        tracing::error!(
                            error = text,
                            "could not renew the certificates, the stored ones stay in use"
                        );
                    }
                    pauses.next().unwrap_or(self.interval)
                }
            };
            sleep(pause).await;
        }
    }

    /// Reads once and does one step. Returns how long to wait afterwards.
    async fn once(&self, since: &mut Since, in_a_row: &mut u32) -> Result<Duration, KeepError> {
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
        let writes = !matches!(step, Step::Wait(_) | Step::Rest | Step::ClockIsBehind);
        *in_a_row = if writes { *in_a_row + 1 } else { 0 };
        let contested = (*in_a_row > IN_A_ROW).then(|| contested(&step, &read));
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
        // Written anyway, because the other writer may have stopped.
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
            Ok(_) => "two thirds of its lifetime have passed".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::info!(before, previous = previous.len(), "stored a new CA");
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
            tracing::info!(kind, %name, certificates = certificates.len(), "updated caBundle");
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
            None => "two thirds of its lifetime have passed".to_owned(),
        };
        tracing::info!(before, "stored a new serving certificate");
        Ok(())
    }
}

/// Who else has written what this step writes.
fn contested(step: &Step, read: &ReadObjects) -> KeepError {
    let writers: BTreeSet<&str> = match step {
        Step::Trust(_) => {
            let configurations = read.configurations.iter();
            configurations
                .flat_map(|(_, one)| one.ca_bundle_writers())
                .collect()
        }
        _ => [&read.leaf, &read.authority]
            .into_iter()
            .flat_map(Secret::writers)
            .collect(),
    };
    let others: Vec<&str> = writers.into_iter().filter(|writer| *writer != MANAGER).collect();
    KeepError::Contested(match &*others {
        [] => "another writer".into(),
        others => others.join(", "),
    })
}

/// The current step, for `/readyz`.
fn described(step: &Step, meaning: &Meaning) -> String {
    let trusted = if meaning.seen.bundles.is_empty() {
        "no webhook configuration exists"
    } else {
        "every webhook trusts the CA"
    };
    match step {
        Step::MakeAuthority { .. } => "creating a new CA".into(),
        Step::Trust(_) => "updating caBundle".into(),
        Step::MakeLeaf => "creating a new serving certificate".into(),
        Step::ForgetPrevious => "removing the previous CA".into(),
        Step::Wait(_) if meaning.seen.leaf.is_none() => {
            format!("{trusted}. The serving certificate follows when API servers have read the CA")
        }
        Step::Wait(_) => {
            format!("{trusted}. Previous CAs stay until every pod serves the stored certificate")
        }
        Step::Rest => trusted.into(),
        Step::ClockIsBehind => KeepError::ClockIsBehind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::webhooks::VALIDATING;

    #[test]
    fn another_writer_of_ca_bundle_is_named() {
        let wrote = json!({"f:webhooks": {"k:{\"name\":\"a\"}": {"f:clientConfig": {"f:caBundle": {}}}}});
        for (managers, named) in [
            (
                &["cert-manager-cainjector", MANAGER][..],
                "cert-manager-cainjector overwrites poolgate's",
            ),
            (&[MANAGER], "another writer overwrites poolgate's"),
        ] {
            let fields = managers
                .iter()
                .map(|manager| json!({"manager": manager, "fieldsV1": wrote}));
            let applied = json!({"manager": "kubectl", "fieldsV1": {"f:webhooks": {}}});
            let fields: Vec<_> = fields.chain([applied]).collect();
            let configuration = json!({"metadata": {"name": "poolgate", "managedFields": fields}});
            let configuration = serde_json::from_value(configuration).expect("a configuration");
            let read = ReadObjects {
                configurations: vec![(VALIDATING, configuration)],
                leaf: Secret::default(),
                authority: Secret::default(),
            };
            let error = contested(&Step::Trust(Vec::new()), &read).to_string();
            assert!(error.starts_with(named), "{error}");
        }
    }
}
