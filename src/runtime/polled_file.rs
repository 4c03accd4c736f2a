//! Files that are read again at an interval, such as those of a mounted Secret or ConfigMap. A watch on such a file
//! would stop: the volume replaces the directory that is watched.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use poolgate_files::sources::read_bytes;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::runtime::telemetry::{LogOnce, Registry};

/// The largest file that is read: the limit of a ConfigMap or a Secret. A wrong path may name any file.
pub const MAX_BYTES: usize = 1 << 20;

/// How long reading a file may take: a volume may hang.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// One read of each file at a time: a read of a hanging volume never ends, and has a thread. Other files wait for none.
static READS: Mutex<BTreeMap<PathBuf, Arc<Semaphore>>> = Mutex::new(BTreeMap::new());

/// Something that is loaded from files. It also says what is in force while they cannot be used.
pub trait Load {
    /// The content of the files.
    type Contents: PartialEq + Send + Sync;
    /// Why they cannot be used.
    type Error: Display + Send;

    /// Reads the files.
    fn read(&self) -> impl Future<Output = Result<Self::Contents, Self::Error>> + Send;

    /// Puts the contents in force, if they can be used.
    fn load(&mut self, contents: &Self::Contents) -> Result<(), Self::Error>;

    /// They are unusable, and the previous contents stay in force.
    fn rejected(&self, error: &Self::Error);

    /// The files have the contents again that are in force.
    fn unchanged(&self) {}

    /// Whether something else is in force because they cannot be used.
    fn is_stand_in(&self) -> bool {
        false
    }
}

/// The loaded content, and the last seen state of its files.
#[derive(Debug)]
pub struct Polled<L: Load> {
    loaded: L,
    in_force: L::Contents,
    /// The last contents that could not be used, so that they are reported once.
    rejected: Option<L::Contents>,
    unreadable: LogOnce,
    metrics: LoadMetrics,
}

impl<L: Load> Polled<L> {
    /// Reads the files for the first time.
    pub async fn open(mut loaded: L, metrics: LoadMetrics) -> Result<Self, L::Error> {
        let in_force = loaded.read().await?;
        loaded.load(&in_force)?;
        if loaded.is_stand_in() {
            metrics.failed();
        } else {
            metrics.loaded();
        }
        Ok(Self {
            loaded,
            in_force,
            rejected: None,
            unreadable: LogOnce::default(),
            metrics,
        })
    }

    #[cfg(test)]
    pub fn metrics(&self) -> &LoadMetrics {
        &self.metrics
    }

    /// Checks for changes until the process stops.
    pub async fn watch(mut self, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.poll().await;
        }
    }

    /// Checks for a change once.
    pub async fn poll(&mut self) {
        match self.loaded.read().await {
            Ok(contents) => {
                self.unreadable.is_over(&());
                self.compare(contents);
            }
            Err(error) => {
                self.rejected = None;
                if self.unreadable.is_news((), error.to_string()) {
                    self.reject(&error);
                }
            }
        }
    }

    fn compare(&mut self, contents: L::Contents) {
        if contents == self.in_force {
            self.rejected = None;
            self.metrics.failing.set(i64::from(self.loaded.is_stand_in()));
            self.loaded.unchanged();
            return;
        }
        // Rejected contents are checked again too: a certificate that had expired by a wrong clock is valid when
        // the clock is corrected.
        match self.loaded.load(&contents) {
            Ok(()) => {
                self.metrics.loaded();
                self.in_force = contents;
                self.rejected = None;
            }
            Err(_) if self.rejected.as_ref() == Some(&contents) => {}
            Err(error) => {
                self.reject(&error);
                self.rejected = Some(contents);
            }
        }
    }

    fn reject(&self, error: &L::Error) {
        self.metrics.failed();
        self.loaded.rejected(error);
    }
}

/// The metrics of something that is loaded and reloaded.
#[derive(Debug, Clone, Default)]
pub struct LoadMetrics {
    loads: Counter,
    errors: Counter,
    failing: Gauge,
}

impl LoadMetrics {
    /// Registers the metrics of `what`. Their names are composed: a search for `policy_load_errors` finds no code.
    pub fn register(registry: &mut Registry, prefix: &str, what: &str) -> Self {
        Self {
            loads: registry.metric(format!("{prefix}_loads"), format!("Successful loads of a {what}")),
            errors: registry.metric(
                format!("{prefix}_load_errors"),
                format!("Failed loads of a {what}; the previous one stays in force"),
            ),
            failing: registry.metric(
                format!("{prefix}_load_failing"),
                format!("1 while the {what} is unusable and the previous one stays in force"),
            ),
        }
    }

    /// Something is in force.
    pub fn loaded(&self) {
        self.loads.inc();
        self.failing.set(0);
    }

    /// Something new cannot be used.
    pub fn failed(&self) {
        self.errors.inc();
        self.failing.set(1);
    }

    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64, i64) {
        (self.loads.get(), self.errors.get(), self.failing.get())
    }
}

/// The bytes of a file, unless they are too many.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_bytes(path, MAX_BYTES)
}

/// The same on a thread that can be abandoned.
pub async fn read_in_time(path: PathBuf) -> io::Result<Vec<u8>> {
    let turns = READS.lock().entry(path.clone()).or_insert_with(one).clone();
    let reading = async {
        let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
        let read = spawn_blocking(move || {
            let _turn = turn;
            read(&path)
        });
        read.await.map_err(io::Error::other)?
    };
    match timeout(READ_LIMIT, reading).await {
        Ok(done) => done,
        Err(_) => Err(io::Error::other(format!(
            "no answer within {} s",
            READ_LIMIT.as_secs()
        ))),
    }
}

fn one() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::OpenOptions;
    use std::process::Command;

    use super::*;

    /// A file that holds a number.
    struct Number {
        path: PathBuf,
        value: u32,
        /// The largest number that can be used.
        most: u32,
    }

    impl Load for Number {
        type Contents = Vec<u8>;
        type Error = String;

        async fn read(&self) -> Result<Vec<u8>, String> {
            read_in_time(self.path.clone())
                .await
                .map_err(|error| error.to_string())
        }

        fn load(&mut self, contents: &Vec<u8>) -> Result<(), String> {
            let number = String::from_utf8_lossy(contents).parse();
            let number = number.map_err(|error| format!("{error}"))?;
            if number > self.most {
                return Err("too large".into());
            }
            self.value = number;
            Ok(())
        }

        fn rejected(&self, _: &String) {}
    }

    async fn open(directory: &tempfile::TempDir) -> Polled<Number> {
        let path = directory.path().join("number");
        fs::write(&path, "1").expect("written");
        let number = Number {
            path,
            value: 0,
            most: 9,
        };
        Polled::open(number, LoadMetrics::default())
            .await
            .expect("a number")
    }

    #[tokio::test]
    async fn a_changed_file_is_loaded_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut polled = open(&directory).await;
        assert_eq!((polled.loaded.value, polled.metrics.counts()), (1, (1, 0, 0)));
        fs::write(&polled.loaded.path, "2").expect("written");
        polled.poll().await;
        polled.poll().await;
        assert_eq!((polled.loaded.value, polled.metrics.counts()), (2, (2, 0, 0)));
    }

    #[tokio::test]
    async fn what_was_rejected_is_taken_when_it_can_be_used() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut polled = open(&directory).await;
        fs::write(&polled.loaded.path, "10").expect("written");
        polled.poll().await;
        polled.poll().await;
        assert_eq!((polled.loaded.value, polled.metrics.counts()), (1, (1, 1, 1)));
        polled.loaded.most = 10;
        polled.poll().await;
        assert_eq!((polled.loaded.value, polled.metrics.counts()), (10, (2, 1, 0)));
    }

    #[tokio::test]
    async fn an_unusable_file_leaves_what_was_before_and_is_counted_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut polled = open(&directory).await;
        let path = polled.loaded.path.clone();
        let spoil: [(&str, &dyn Fn() -> io::Result<()>); 5] = [
            ("no number", &|| fs::write(&path, "one")),
            ("no file", &|| fs::remove_file(&path)),
            ("the same as before", &|| fs::write(&path, "one")),
            ("another that is none", &|| fs::write(&path, "two")),
            ("a huge file", &|| fs::write(&path, vec![b' '; MAX_BYTES + 1])),
        ];
        for (errors, (what, spoil)) in (1..).zip(spoil) {
            spoil().expect("spoilt");
            for _ in 0..3 {
                polled.poll().await;
            }
            assert_eq!(
                (polled.loaded.value, polled.metrics.counts()),
                (1, (1, errors, 1)),
                "{what}"
            );
        }
        fs::write(&path, "1").expect("written");
        polled.poll().await;
        assert_eq!(
            polled.metrics.counts(),
            (1, 5, 0),
            "what is in force is there again"
        );
    }

    #[tokio::test]
    async fn a_file_that_hangs_delays_no_other_and_takes_one_thread() {
        let directory = tempfile::tempdir().expect("a directory");
        let (hanging, other) = (directory.path().join("hanging"), directory.path().join("other"));
        let made = Command::new("mkfifo").arg(&hanging).status().expect("mkfifo");
        assert!(made.success());
        fs::write(&other, "1").expect("written");
        let reads: Vec<_> = (0..20)
            .map(|_| tokio::spawn(read_in_time(hanging.clone())))
            .collect();
        tokio::task::yield_now().await;
        let read = timeout(READ_LIMIT / 2, read_in_time(other)).await;
        assert_eq!(read.expect("nothing delays it").expect("the file"), b"1");
        // Its reads end when somebody writes.
        let writer = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&hanging)
            .expect("a writer");
        drop(writer);
        for read in reads {
            read.abort();
        }
    }
}
