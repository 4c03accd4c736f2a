//! A policy file that is read again and compared at an interval, such as one in a mounted ConfigMap: such a volume
//! replaces a link to its directory, and a file watch dies with the directory that it watches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use poolgate_core::policy::Policy;
use tokio::io::AsyncReadExt;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::file::{self, LoadError, Loaded, placed};
use super::in_force::PolicyInForce;
use super::metrics::PolicyMetrics;
use super::status::PolicyStatus;

/// How long reading the file may take: a volume may hang.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// What a missing file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenMissing {
    /// A mistake, as a wrong path is.
    Fail,
    /// That nobody has written a policy: the built-in one holds.
    BuiltIn,
}

/// The bytes of the file; none where there is none and that is fine.
type Contents = Option<Vec<u8>>;

/// The file and what was last seen in it.
#[derive(Debug)]
pub(crate) struct PolicySource {
    path: PathBuf,
    when_missing: WhenMissing,
    contents: Contents,
    /// What was judged unusable last, so that it is judged and told once.
    refused: Option<Contents>,
    /// The last failure to read, for the same reason.
    unreadable: Option<String>,
    in_force: PolicyInForce,
    status: Arc<PolicyStatus>,
    metrics: PolicyMetrics,
}

impl PolicySource {
    /// Reads the file for the first time.
    pub(crate) async fn open(
        path: PathBuf,
        when_missing: WhenMissing,
        metrics: PolicyMetrics,
    ) -> Result<Self, LoadError> {
        let contents = read(&path, when_missing).await?;
        let loaded = judge(&path, &contents)?;
        let status = PolicyStatus::new(name(&path, loaded.as_ref()));
        let policy = take(&path, loaded, &metrics);
        Ok(Self {
            path,
            when_missing,
            contents,
            refused: None,
            unreadable: None,
            in_force: policy.into(),
            status,
            metrics,
        })
    }

    /// The policy in force, now and after each change.
    pub(crate) fn in_force(&self) -> PolicyInForce {
        self.in_force.clone()
    }

    /// What there is to say of it, now and after each change.
    pub(crate) fn status(&self) -> Arc<PolicyStatus> {
        Arc::clone(&self.status)
    }

    /// Looks for changes for ever.
    pub(crate) async fn watch(mut self, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.poll().await;
        }
    }

    /// Looks for a change once.
    async fn poll(&mut self) {
        match read(&self.path, self.when_missing).await {
            Ok(contents) => {
                self.unreadable = None;
                self.compare(contents);
            }
            Err(error) => {
                let told = error.to_string();
                if self.unreadable.as_ref() != Some(&told) {
                    self.reject(&error);
                    self.unreadable = Some(told);
                }
            }
        }
    }

    fn compare(&mut self, contents: Contents) {
        if contents == self.contents {
            self.refused = None;
            self.metrics.unchanged();
            self.status.accepted();
            return;
        }
        if self.refused.as_ref() == Some(&contents) {
            return;
        }
        match judge(&self.path, &contents) {
            Ok(loaded) => {
                let name = name(&self.path, loaded.as_ref());
                self.in_force.replace(take(&self.path, loaded, &self.metrics));
                self.status.in_force(name);
                self.contents = contents;
                self.refused = None;
            }
            Err(error) => {
                self.reject(&error);
                self.refused = Some(contents);
            }
        }
    }

    fn reject(&self, error: &LoadError) {
        self.metrics.rejected();
        self.status.refused(error.brief());
        tracing::error!(%error, "the policy file cannot be used; the policy before stays in force");
    }
}

/// What there is to call a policy.
fn name(path: &Path, loaded: Option<&Loaded>) -> String {
    match loaded {
        Some(Loaded { sha256, .. }) => format!("{} (sha256 {sha256})", path.display()),
        None => format!("the built-in policy (there is no {})", path.display()),
    }
}

/// Notes that a policy is taken into force.
fn take(path: &Path, loaded: Option<Loaded>, metrics: &PolicyMetrics) -> Policy {
    let Some(Loaded { reading, sha256 }) = loaded else {
        metrics.loaded(None);
        tracing::warn!(path = %path.display(), "there is no policy file; the built-in policy is in force");
        return Policy::default();
    };
    metrics.loaded(Some(&sha256));
    tracing::info!(
        path = %path.display(),
        sha256,
        enforcement = reading.policy.enforcement.as_str(),
        "policy in force"
    );
    for note in &reading.notes {
        tracing::warn!(
            note = placed(path, note),
            "the policy does not get all that it says"
        );
    }
    reading.policy
}

fn judge(path: &Path, contents: &Contents) -> Result<Option<Loaded>, LoadError> {
    contents
        .as_ref()
        .map(|contents| file::judge(path, contents))
        .transpose()
}

async fn read(path: &Path, when_missing: WhenMissing) -> Result<Contents, LoadError> {
    let reading = async {
        let mut bytes = Vec::new();
        let file = tokio::fs::File::open(path).await?;
        file.take(file::bound()).read_to_end(&mut bytes).await?;
        Ok(bytes)
    };
    let late = || {
        Err(io::Error::other(format!(
            "no answer within {} s",
            READ_LIMIT.as_secs()
        )))
    };
    let read = timeout(READ_LIMIT, reading).await.unwrap_or_else(|_| late());
    match read.map_err(|cause| file::unreadable(path, cause)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(LoadError::Missing(_)) if when_missing == WhenMissing::BuiltIn => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
