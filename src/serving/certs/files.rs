//! A certificate and its key from two files, such as a mounted Secret.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::metrics::CertificateMetrics;
use super::pair::{Current, Pair, PairError, unix_seconds};
use crate::runtime::polled_file::{Load, Polled, read_in_time};

/// How often the two files are read again if they change while they are read, before the pair is checked.
const READS: usize = 3;

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// One cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// They are not a usable pair.
    #[error("{} and {}: {cause}", certificate.display(), key.display())]
    Pair {
        /// The one.
        certificate: PathBuf,
        /// The other.
        key: PathBuf,
        /// Why.
        cause: PairError,
    },
}

/// The two files, and the certificate from them.
#[derive(Debug)]
pub struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<Current>,
    metrics: CertificateMetrics,
}

/// The bytes of both files.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl CertificateFiles {
    /// Reads the files for the first time. Returns the certificate in force, now and after each change, and what watches
    /// the files.
    pub async fn open(
        certificate: PathBuf,
        key: PathBuf,
        metrics: CertificateMetrics,
    ) -> Result<(Arc<Current>, Polled<Self>), FileError> {
        let (current, loads) = (Arc::<Current>::default(), metrics.loads.clone());
        let files = Self {
            certificate,
            key,
            current: Arc::clone(&current),
            metrics,
        };
        Ok((current, Polled::open(files, loads).await?))
    }
}

impl Load for CertificateFiles {
    type Contents = Contents;
    type Error = FileError;

    /// Reads both files, and again if the first has changed in between: then they may come from two different Secrets.
    async fn read(&self) -> Result<Contents, FileError> {
        let mut certificate = read_file(&self.certificate).await?;
        let mut key = read_file(&self.key).await?;
        for _ in 1..READS {
            let again = read_file(&self.certificate).await?;
            if again == certificate {
                break;
            }
            certificate = again;
            key = read_file(&self.key).await?;
        }
        Ok(Contents { certificate, key })
    }

    fn load(&mut self, contents: &Contents) -> Result<(), FileError> {
        let now = SystemTime::now();
        let pair = Pair::from_pem(&contents.certificate, &contents.key)
            .and_then(|pair| pair.still_holds(now))
            .map_err(|cause| FileError::Pair {
                certificate: self.certificate.clone(),
                key: self.key.clone(),
                cause,
            })?;
        self.metrics.times.leaf(pair.not_before, pair.not_after);
        announce(&pair, unix_seconds(now));
        self.current.replace(pair);
        Ok(())
    }

    fn rejected(&self, error: &FileError) {
        tracing::error!(%error, "the new certificate cannot be used; the previous one stays in force");
    }
}

/// Logs that a pair is loaded.
fn announce(pair: &Pair, now: i64) {
    let serial = pair.serial.as_str();
    tracing::info!(
        serial,
        chain = pair.key.cert.len(),
        ends_in_days = pair.not_after.saturating_sub(now) / (24 * 60 * 60),
        "loaded the serving certificate"
    );
    if pair.not_before > now {
        tracing::warn!(
            serial,
            seconds = pair.not_before.saturating_sub(now),
            "the certificate is not valid yet, so clients reject it"
        );
    }
}

async fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    read_in_time(path.to_owned())
        .await
        .map_err(|cause| FileError::Read {
            path: path.to_owned(),
            cause,
        })
}

#[cfg(test)]
mod tests {
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

        async fn open(&self) -> Result<(Arc<Current>, Polled<CertificateFiles>), FileError> {
            CertificateFiles::open(self.certificate(), self.key(), CertificateMetrics::default()).await
        }
    }

    #[tokio::test]
    async fn a_new_pair_is_taken_and_an_unusable_one_leaves_it_in_force() {
        let files = Files::new();
        let (current, mut polled) = files.open().await.expect("a pair");
        let leaf = files.write_new();
        polled.poll().await;
        assert_eq!(current.leaf(), leaf);

        let whole = fs::read(files.certificate()).expect("read");
        let other = Files::new();
        let foreign = fs::read(other.certificate()).expect("read");
        for (what, bytes) in [
            ("half a certificate", &whole[..whole.len() / 2]),
            ("another's", &foreign),
        ] {
            fs::write(files.certificate(), bytes).expect("written");
            polled.poll().await;
            assert_eq!(current.leaf(), leaf, "{what}");
        }
    }

    #[tokio::test]
    async fn a_start_without_a_usable_pair_fails_with_the_path() {
        let files = Files::new();
        fs::remove_file(files.key()).expect("removed");
        let error = files.open().await.expect_err("an error").to_string();
        assert!(error.contains("tls.key"), "{error}");
    }
}
