//! A certificate and its key from two files, such as a mounted Secret. They are read again and compared at an
//! interval: a Secret volume replaces a link to their directory, and a file watch dies with the directory that
//! it watches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::AsyncReadExt;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::current::Current;
use super::metrics::CertificateMetrics;
use super::pair::{Pair, PairError, unix_seconds};

/// The largest file that is read: a hundred times a long chain. A wrong path may lead to anything.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// How long reading a file may take: a volume may hang.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How often the two files are read while they keep changing under our hands, before what was read is judged.
const READS: usize = 3;

/// Why the files give no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// One cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// They are no usable pair.
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

/// The two files and what was last seen in them.
#[derive(Debug)]
pub(crate) struct FileSource {
    certificate: PathBuf,
    key: PathBuf,
    in_force: Contents,
    /// What was judged unusable last, so that it is judged and told once.
    refused: Option<Contents>,
    /// The last failure to read, for the same reason.
    unreadable: Option<String>,
    current: Arc<Current>,
    metrics: CertificateMetrics,
}

#[derive(Debug, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl FileSource {
    /// Reads the files for the first time.
    pub(crate) async fn open(
        certificate: PathBuf,
        key: PathBuf,
        now: SystemTime,
        metrics: CertificateMetrics,
    ) -> Result<Self, FileError> {
        let in_force = read(&certificate, &key).await?;
        let pair = judge(&certificate, &key, &in_force, now)?;
        take(&pair, now, &metrics);
        let current = Current::new(pair.key);
        Ok(Self {
            certificate,
            key,
            in_force,
            refused: None,
            unreadable: None,
            current,
            metrics,
        })
    }

    /// The certificate in force, now and after each change.
    pub(crate) fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current)
    }

    /// Looks for changes for ever.
    pub(crate) async fn watch(mut self, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.poll(SystemTime::now()).await;
        }
    }

    /// Looks for a change once.
    async fn poll(&mut self, now: SystemTime) {
        match read(&self.certificate, &self.key).await {
            Ok(contents) => {
                self.unreadable = None;
                self.compare(contents, now);
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

    fn compare(&mut self, contents: Contents, now: SystemTime) {
        if contents == self.in_force {
            self.refused = None;
            self.metrics.unchanged();
            return;
        }
        if self.refused.as_ref() == Some(&contents) {
            return;
        }
        match judge(&self.certificate, &self.key, &contents, now) {
            Ok(pair) => {
                take(&pair, now, &self.metrics);
                self.current.replace(pair.key);
                self.in_force = contents;
                self.refused = None;
            }
            Err(error) => {
                self.reject(&error);
                self.refused = Some(contents);
            }
        }
    }

    fn reject(&self, error: &FileError) {
        self.metrics.rejected();
        tracing::error!(%error, "the new certificate cannot be used; the one before stays in force");
    }
}

/// Notes that a pair is taken into force.
fn take(pair: &Pair, now: SystemTime, metrics: &CertificateMetrics) {
    metrics.loaded(pair.not_after);
    let now = unix_seconds(now);
    let (serial, days) = (
        pair.serial.as_str(),
        pair.not_after.saturating_sub(now) / (24 * 60 * 60),
    );
    tracing::info!(
        serial,
        chain = pair.key.cert.len(),
        ends_in_days = days,
        "certificate in force"
    );
    if pair.not_before > now {
        let seconds = pair.not_before.saturating_sub(now);
        tracing::warn!(
            serial,
            seconds,
            "the certificate does not hold yet; clients will refuse it"
        );
    }
}

fn judge(certificate: &Path, key: &Path, contents: &Contents, now: SystemTime) -> Result<Pair, FileError> {
    Pair::from_pem(&contents.certificate, &contents.key)
        .and_then(|pair| pair.still_holds(now))
        .map_err(|cause| FileError::Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            cause,
        })
}

/// Reads both files, again if the first has changed meanwhile: then they may come from two different Secrets.
async fn read(certificate: &Path, key: &Path) -> Result<Contents, FileError> {
    let mut first = read_file(certificate).await?;
    let mut second = read_file(key).await?;
    for _ in 1..READS {
        let again = read_file(certificate).await?;
        if again == first {
            break;
        }
        first = again;
        second = read_file(key).await?;
    }
    Ok(Contents {
        certificate: first,
        key: second,
    })
}

async fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    let reading = async {
        let mut bytes = Vec::new();
        let file = tokio::fs::File::open(path).await?;
        if file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).await? as u64 > MAX_FILE_BYTES {
            return Err(io::Error::other(format!(
                "it has more than {MAX_FILE_BYTES} bytes"
            )));
        }
        Ok(bytes)
    };
    timeout(READ_LIMIT, reading)
        .await
        .unwrap_or_else(|_| {
            Err(io::Error::other(format!(
                "no answer within {} s",
                READ_LIMIT.as_secs()
            )))
        })
        .map_err(|cause| FileError::Read {
            path: path.to_owned(),
            cause,
        })
}

#[cfg(test)]
mod tests;
