use std::fs;

use rcgen::{CertificateParams, KeyPair};

use super::*;

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a directory"));
        files.write_new();
        files
    }

    fn certificate(&self) -> PathBuf {
        self.0.path().join("tls.crt")
    }

    fn key(&self) -> PathBuf {
        self.0.path().join("tls.key")
    }

    /// Writes a new pair and returns its leaf.
    fn write_new(&self) -> Vec<u8> {
        let key = KeyPair::generate().expect("a key");
        let leaf = CertificateParams::new(vec!["localhost".into()])
            .and_then(|params| params.self_signed(&key))
            .expect("a certificate");
        fs::write(self.certificate(), leaf.pem()).expect("written");
        fs::write(self.key(), key.serialize_pem()).expect("written");
        leaf.der().to_vec()
    }

    async fn open(&self, metrics: &CertificateMetrics) -> FileSource {
        FileSource::open(self.certificate(), self.key(), SystemTime::now(), metrics.clone())
            .await
            .expect("a source")
    }
}

#[tokio::test]
async fn a_new_pair_is_taken_and_the_same_one_is_not_taken_again() {
    let (files, metrics) = (Files::new(), CertificateMetrics::default());
    let mut source = files.open(&metrics).await;
    let leaf = files.write_new();
    source.poll(SystemTime::now()).await;
    source.poll(SystemTime::now()).await;
    assert_eq!(source.current.leaf(), leaf);
    assert_eq!(metrics.counts(), (2, 0, 0));
}

#[tokio::test]
async fn an_unusable_pair_leaves_the_old_one_and_is_counted_once() {
    let (files, metrics) = (Files::new(), CertificateMetrics::default());
    let mut source = files.open(&metrics).await;
    let leaf = source.current.leaf();
    let whole = fs::read(files.certificate()).expect("read");
    let mut last = 0;
    let mut broken = async |source: &mut FileSource, what: &str| {
        for _ in 0..3 {
            source.poll(SystemTime::now()).await;
        }
        last += 1;
        assert_eq!(metrics.counts(), (1, last, 1), "{what}");
        assert_eq!(source.current.leaf(), leaf, "{what}");
    };
    fs::write(files.certificate(), &whole[..whole.len() / 2]).expect("written");
    broken(&mut source, "half a certificate").await;
    fs::remove_file(files.certificate()).expect("removed");
    broken(&mut source, "no certificate").await;
    let other = Files::new();
    fs::copy(other.certificate(), files.certificate()).expect("copied");
    broken(&mut source, "somebody else's certificate").await;
    fs::write(files.certificate(), vec![b' '; 2 << 20]).expect("written");
    broken(&mut source, "a huge file").await;

    fs::write(files.certificate(), &whole).expect("written");
    source.poll(SystemTime::now()).await;
    assert_eq!(metrics.counts(), (1, last, 0), "what is in force is there again");
}

#[tokio::test]
async fn a_start_without_a_usable_pair_fails_with_the_path() {
    let files = Files::new();
    let missing = files.0.path().join("missing.key");
    let opened = FileSource::open(
        files.certificate(),
        missing,
        SystemTime::now(),
        CertificateMetrics::default(),
    );
    let error = opened.await.expect_err("an error").to_string();
    assert!(error.contains("missing.key"), "{error}");
}
