//! The policy in force, and the file that it comes from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use poolgate_core::policy::Policy;
use poolgate_core::policy_file::PolicyMistake;
use poolgate_files::policy_file::{self, LoadError, placed};
use tokio::sync::watch;

use super::metrics::PolicyMetrics;
use crate::runtime::lifecycle::StatusLine;
use crate::runtime::polled_file::{Load, read_in_time};
use poolgate_core::sha256::sha256;

/// A policy, and what is known of its file.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Whether it is the built-in policy, used in place of a file that could not be used at the start.
    pub is_stand_in: bool,
    /// The SHA-256 of the file in hexadecimal, as `sha256sum` prints it; none for the built-in policy.
    pub sha256: Option<String>,
}

/// The policy of the next request; clones share it. A request reads it without a lock.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    loaded: Arc<ArcSwap<LoadedPolicy>>,
    stored: watch::Sender<()>,
}

impl PolicyInForce {
    /// The current policy.
    pub fn load(&self) -> Guard<Arc<LoadedPolicy>> {
        self.loaded.load()
    }

    /// Notifies of each policy stored from now on.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.stored.subscribe()
    }

    fn store(&self, loaded: LoadedPolicy) {
        self.loaded.store(Arc::new(loaded));
        self.stored.send_replace(());
    }
}

impl From<Policy> for PolicyInForce {
    fn from(policy: Policy) -> Self {
        let loaded = LoadedPolicy {
            policy: Arc::new(policy),
            is_stand_in: false,
            sha256: None,
        };
        Self {
            loaded: Arc::new(ArcSwap::from_pointee(loaded)),
            stored: watch::Sender::new(()),
        }
    }
}

/// The behaviour if the file is unusable at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfUnusable {
    /// The process does not start.
    Fail,
    /// The built-in policy is used instead, unless there is no file. A wrong path is a mistake on the command line.
    StandIn,
}

/// The file, and the policy from it.
#[derive(Debug)]
pub struct PolicyFile {
    path: PathBuf,
    /// Whether a missing file means that the built-in policy is in force. Otherwise it is a mistake, as a wrong path is.
    is_optional: bool,
    if_unusable: IfUnusable,
    /// The policy in force, from when the file was read, and after each change.
    pub in_force: PolicyInForce,
    /// The name of the policy in force.
    name: String,
    /// Its line in `/readyz`.
    line: StatusLine,
    metrics: PolicyMetrics,
}

impl PolicyFile {
    pub fn new(
        path: PathBuf,
        is_optional: bool,
        if_unusable: IfUnusable,
        line: StatusLine,
        metrics: PolicyMetrics,
    ) -> Self {
        Self {
            path,
            is_optional,
            if_unusable,
            in_force: Policy::default().into(),
            name: String::new(),
            line,
            metrics,
        }
    }

    /// Whether the built-in policy may be used instead of the file: as long as no file was ever in force.
    fn may_stand_in(&self) -> bool {
        self.if_unusable != IfUnusable::Fail && self.name.is_empty()
    }
}

impl Load for PolicyFile {
    /// The bytes of the file; none if there is no file and that is allowed.
    type Contents = Option<Vec<u8>>;
    type Error = LoadError;

    async fn read(&self) -> Result<Option<Vec<u8>>, LoadError> {
        let read = read_in_time(self.path.clone()).await;
        match read.map_err(|cause| policy_file::unreadable(&self.path, cause)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(LoadError::Missing(_)) if self.is_optional => Ok(None),
            // It cannot be read at the start: `load` reports what that means.
            Err(error) if self.may_stand_in() && !matches!(error, LoadError::Missing(_)) => {
                tracing::error!(%error, "could not read the policy file");
                Ok(Some(Vec::new()))
            }
            Err(error) => Err(error),
        }
    }

    fn load(&mut self, contents: &Option<Vec<u8>>) -> Result<(), LoadError> {
        let path = self.path.display();
        let bytes = contents.as_deref();
        let parsed = bytes.map(|bytes| (bytes, policy_file::parse(&self.path, bytes)));
        let mut is_stand_in = false;
        let (policy, sha256) = match parsed {
            None => {
                self.name = format!("the built-in policy (there is no {path})");
                tracing::warn!(%path, "there is no policy file; the built-in policy is in force");
                (Policy::default(), None)
            }
            Some((_, Err(error))) if self.may_stand_in() => {
                tracing::error!(%error, "the policy file cannot be used; the built-in policy is in force instead");
                self.name = format!("the built-in policy ({})", error.brief());
                is_stand_in = true;
                (Policy::default(), None)
            }
            Some((bytes, parsed)) => {
                let (read, sha256) = (parsed?, sha256(bytes));
                self.name = format!("{path} (sha256 {sha256})");
                tracing::info!(%path, sha256, enforcement = read.policy.enforcement.as_str(), "loaded the policy");
                warn_of_notes(&self.path, &read.notes);
                (read.policy, Some(sha256))
            }
        };
        self.metrics.in_force(sha256.as_deref());
        self.in_force.store(LoadedPolicy {
            policy: Arc::new(policy),
            is_stand_in,
            sha256,
        });
        self.unchanged();
        Ok(())
    }

    fn rejected(&self, error: &LoadError) {
        let line = format!("{} stays in force: {}", self.name, error.brief());
        self.line.set(line);
        tracing::error!(%error, "the policy file cannot be used; the previous policy stays in force");
    }

    fn is_stand_in(&self) -> bool {
        self.in_force.load().is_stand_in
    }

    fn unchanged(&self) {
        self.line.set(format!("{} is in force", self.name));
    }
}

fn warn_of_notes(path: &Path, notes: &[PolicyMistake]) {
    for note in notes {
        tracing::warn!(
            note = placed(path, note),
            "part of the policy has no effect as written"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use poolgate_core::policy::Enforcement;

    use super::*;
    use crate::runtime::polled_file::{MAX_BYTES, Polled};

    const WARN: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: warn\n";
    const ENFORCE: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: enforce\n";

    struct File(tempfile::TempDir);

    /// What others see of an open file.
    struct Seen(PolicyInForce, StatusLine);

    impl Seen {
        fn enforcement(&self) -> Enforcement {
            self.0.load().policy.enforcement
        }

        fn line(&self) -> String {
            self.1.state().to_string()
        }
    }

    impl File {
        fn holding(text: &str) -> Self {
            let file = Self(tempfile::tempdir().expect("a directory"));
            file.write(text);
            file
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("policy.yaml")
        }

        fn write(&self, text: &str) {
            fs::write(self.path(), text).expect("written");
        }

        async fn open(&self) -> Result<(Seen, Polled<PolicyFile>), LoadError> {
            self.open_or(IfUnusable::Fail, false).await
        }

        async fn open_or(
            &self,
            if_unusable: IfUnusable,
            is_optional: bool,
        ) -> Result<(Seen, Polled<PolicyFile>), LoadError> {
            let metrics = PolicyMetrics::default();
            let loads = metrics.loads.clone();
            let file = PolicyFile::new(
                self.path(),
                is_optional,
                if_unusable,
                StatusLine::default(),
                metrics,
            );
            let seen = Seen(file.in_force.clone(), file.line.clone());
            Ok((seen, Polled::open(file, loads).await?))
        }
    }

    #[tokio::test]
    async fn a_changed_file_is_taken_and_reported_by_its_hash() {
        let file = File::holding(WARN);
        let (seen, mut polled) = file.open().await.expect("a policy");
        assert_eq!(seen.enforcement(), Enforcement::Warn);
        let first = seen.line();
        file.write(ENFORCE);
        polled.poll().await;
        assert_eq!(seen.enforcement(), Enforcement::Enforce);
        assert_ne!(seen.line(), first);
        assert!(seen.line().ends_with(") is in force"), "{}", seen.line());
    }

    #[tokio::test]
    async fn an_unusable_file_leaves_the_policy() {
        let file = File::holding(WARN);
        let (seen, mut polled) = file.open().await.expect("a policy");
        let huge = vec![b' '; MAX_BYTES + 1];
        for (what, bytes) in [
            ("no YAML", &b"enforcement: ["[..]),
            ("half a policy", b"kind: Policy\n"),
            ("no text", b"\xff"),
            ("a huge file", &huge),
        ] {
            fs::write(file.path(), bytes).expect("written");
            polled.poll().await;
            assert_eq!(seen.enforcement(), Enforcement::Warn, "{what}");
            assert!(seen.line().contains(" stays in force: "), "{what}");
        }
        file.write(WARN);
        polled.poll().await;
        assert!(seen.line().ends_with("is in force"));
    }

    #[tokio::test]
    async fn a_missing_file_is_an_error_unless_it_was_said_to_be_optional() {
        let file = File::holding(WARN);
        fs::remove_file(file.path()).expect("removed");
        let error = file.open().await.map(|_| ()).expect_err("an error");
        assert!(matches!(error, LoadError::Missing(_)), "{error:?}");

        let (seen, mut polled) = file.open_or(IfUnusable::Fail, true).await.expect("a policy");
        assert_eq!(*seen.0.load().policy, Policy::default());
        file.write(WARN);
        polled.poll().await;
        assert_eq!(seen.enforcement(), Enforcement::Warn);
        fs::remove_file(file.path()).expect("removed");
        polled.poll().await;
        assert_eq!(*seen.0.load().policy, Policy::default(), "as after a restart");
    }

    #[tokio::test]
    async fn the_built_in_policy_stands_in_until_the_file_can_be_used_where_the_start_must_not_fail() {
        let file = File::holding("kind: [");
        let (seen, mut polled) = file
            .open_or(IfUnusable::StandIn, false)
            .await
            .expect("a stand-in");
        assert!(seen.0.load().is_stand_in);
        polled.poll().await;
        assert_eq!(polled.metrics().counts(), (0, 1, 1), "told as long as it lasts");
        assert_eq!(*seen.0.load().policy, Policy::default());
        assert!(
            seen.line().starts_with("the built-in policy ("),
            "{}",
            seen.line()
        );
        file.write(WARN);
        polled.poll().await;
        assert!(!seen.0.load().is_stand_in);
        assert_eq!(seen.enforcement(), Enforcement::Warn);
        file.write("kind: [");
        polled.poll().await;
        assert_eq!(seen.enforcement(), Enforcement::Warn, "the last good one stays");

        fs::remove_file(file.path()).expect("removed");
        let missing = file.open_or(IfUnusable::StandIn, false).await;
        assert!(matches!(missing, Err(LoadError::Missing(_))));
    }

    #[tokio::test]
    async fn a_start_with_a_wrong_file_tells_every_mistake_with_its_place() {
        let file =
            File::holding("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: warm\nbound: {}\n");
        let error = file.open().await.map(|_| ()).expect_err("an error");
        let path = file.path().display().to_string();
        assert_eq!(
            error.to_string().lines().collect::<Vec<_>>(),
            [
                "2 mistakes in the policy".to_owned(),
                format!("{path}:3:14: \"warm\" is not allowed here. Did you mean warn?"),
                format!("{path}:4:1: there is no field \"bound\". Did you mean bounds?"),
            ]
        );
    }
}
