use std::fs;

use poolgate_core::policy::Enforcement;

use super::*;
use crate::lifecycle::Detail as _;

const WARN: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: warn\n";
const ENFORCE: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: enforce\n";

struct File(tempfile::TempDir);

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

    async fn open(&self, when_missing: WhenMissing, metrics: &PolicyMetrics) -> PolicySource {
        PolicySource::open(self.path(), when_missing, metrics.clone())
            .await
            .expect("a source")
    }
}

fn enforcement(source: &PolicySource) -> Enforcement {
    source.in_force.load().enforcement
}

#[tokio::test]
async fn a_changed_file_is_taken_once_and_told_by_its_hash() {
    let (file, metrics) = (File::holding(WARN), PolicyMetrics::default());
    let mut source = file.open(WhenMissing::Fail, &metrics).await;
    assert_eq!(enforcement(&source), Enforcement::Warn);
    let first = source.status.line();
    file.write(ENFORCE);
    source.poll().await;
    source.poll().await;
    assert_eq!(enforcement(&source), Enforcement::Enforce);
    assert_eq!(metrics.counts(), (2, 0, 0));
    assert_ne!(source.status.line(), first);
    assert!(
        source.status.line().ends_with(") is in force"),
        "{}",
        source.status.line()
    );
}

#[tokio::test]
async fn an_unusable_file_leaves_the_policy_and_is_counted_once() {
    let (file, metrics) = (File::holding(WARN), PolicyMetrics::default());
    let mut source = file.open(WhenMissing::Fail, &metrics).await;
    let mut last = 0;
    let mut broken = async |source: &mut PolicySource, what: &str| {
        for _ in 0..3 {
            source.poll().await;
        }
        last += 1;
        assert_eq!(metrics.counts(), (1, last, 1), "{what}");
        assert_eq!(enforcement(source), Enforcement::Warn, "{what}");
        assert!(source.status.line().contains(" stays in force: "), "{what}");
    };
    file.write("enforcement: [");
    broken(&mut source, "no YAML").await;
    file.write("kind: Policy\n");
    broken(&mut source, "half a policy").await;
    fs::remove_file(file.path()).expect("removed");
    broken(&mut source, "no file").await;
    fs::write(file.path(), vec![b' '; 2 << 20]).expect("written");
    broken(&mut source, "a huge file").await;
    fs::write(file.path(), b"\xff").expect("written");
    broken(&mut source, "no text").await;

    file.write(WARN);
    source.poll().await;
    assert_eq!(metrics.counts(), (1, last, 0), "what is in force is there again");
    assert!(source.status.line().ends_with("is in force"));
}

#[tokio::test]
async fn a_missing_file_is_an_error_unless_it_was_said_to_be_optional() {
    let (file, metrics) = (File::holding(WARN), PolicyMetrics::default());
    fs::remove_file(file.path()).expect("removed");
    let opened = PolicySource::open(file.path(), WhenMissing::Fail, metrics.clone()).await;
    assert!(matches!(opened, Err(LoadError::Missing(_))), "{opened:?}");

    let mut source = file.open(WhenMissing::BuiltIn, &metrics).await;
    assert_eq!(**source.in_force.load(), Policy::default());
    file.write(WARN);
    source.poll().await;
    assert_eq!(enforcement(&source), Enforcement::Warn);
    fs::remove_file(file.path()).expect("removed");
    source.poll().await;
    assert_eq!(**source.in_force.load(), Policy::default(), "as after a restart");
    assert_eq!(metrics.counts(), (3, 0, 0));
}

#[tokio::test]
async fn a_start_with_a_wrong_file_tells_every_mistake_with_its_place() {
    let file =
        File::holding("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\nenforcement: Warn\nbound: {}\n");
    let opened = PolicySource::open(file.path(), WhenMissing::Fail, PolicyMetrics::default());
    let error = opened.await.expect_err("an error").to_string();
    let path = file.path().display().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "2 mistakes in the policy".to_owned(),
            format!("{path}:3:14: \"Warn\" is not what may stand here; did you mean warn?"),
            format!("{path}:4:1: there is no field \"bound\"; did you mean bounds?"),
        ]
    );
}
