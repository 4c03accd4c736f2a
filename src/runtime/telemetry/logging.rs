//! Log lines on stderr, for people or for machines.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

/// The most lines that wait for the reader; later ones are dropped.
const MOST_WAITING: usize = 4096;
/// How long the thread of the log leaves later lines waiting after it has written what there was.
const PAUSE: Duration = Duration::from_millis(5);

/// Counts the lines that were dropped, once logging has started.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The flags about logging.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The log format
    #[arg(
        long,
        env = "POOLGATE_LOG_FORMAT",
        value_enum,
        default_value = "text",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,

    /// Log filter: a level, or `target=level` pairs
    #[arg(
        long,
        env = "POOLGATE_LOG_LEVEL",
        default_value = "info",
        value_name = "FILTER"
    )]
    log_level: String,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter cannot be parsed.
    #[error("--log-level `{filter}` is not a log filter: write a level (error, warn, info, debug, trace)")]
    Filter {
        /// The filter as the user gave it.
        filter: String,
        /// What is wrong with it.
        cause: ParseError,
    },
    /// A subscriber was installed before.
    #[error("logging is already set up: {0}")]
    Installed(Box<dyn std::error::Error + Send + Sync>),
}

impl LogArgs {
    /// Installs the process's one subscriber. A thread writes the lines, so that nothing waits for the reader. When
    /// the guard is dropped, the thread has up to a second for the remaining lines.
    pub fn install(&self) -> Result<WorkerGuard, LoggingError> {
        let filter: Targets = self.log_level.parse().map_err(|cause| LoggingError::Filter {
            filter: self.log_level.clone(),
            cause,
        })?;
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(MOST_WAITING)
            .thread_name("log")
            .finish(Batched::new(io::stderr(), || thread::sleep(PAUSE)));
        let _ = DROPPED.set(writer.error_counter());
        let lines = tracing_subscriber::fmt::layer().with_writer(move || OneLine(writer.clone()));
        let lines = match self.log_format {
            LogFormat::Text => lines.with_ansi(stderr_has_colours()).boxed(),
            LogFormat::Json => lines.json().with_span_list(false).boxed(),
        };
        registry()
            .with(lines.with_filter(filter))
            .try_init()
            .map_err(|error| LoggingError::Installed(Box::new(error)))?;
        Ok(guard)
    }
}

/// Writes the lines that wait together with one call, then pauses. A thread that waits for the next line is woken for
/// each one, which costs a busy server more than the line does.
struct Batched<W: Write, P> {
    lines: BufWriter<W>,
    pause: P,
}

impl<W: Write, P: FnMut()> Batched<W, P> {
    fn new(lines: W, pause: P) -> Self {
        Self {
            lines: BufWriter::new(lines),
            pause,
        }
    }
}

impl<W: Write, P: FnMut()> Write for Batched<W, P> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.write(line)
    }

    /// tracing-appender flushes when no line waits.
    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.lines.flush();
        (self.pause)();
        flushed
    }
}

/// Writes each event as one line. A text from outside may contain newlines, and would look like further events.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    /// An event comes whole, with a newline at its end.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = event.strip_suffix(b"\n").unwrap_or(event);
        if !line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return self.0.write(event);
        }
        let mut escaped = Vec::with_capacity(event.len() + 16);
        for byte in line {
            match byte {
                b'\n' => escaped.extend(b"\\n"),
                b'\r' => escaped.extend(b"\\r"),
                byte => escaped.push(*byte),
            }
        }
        escaped.push(b'\n');
        self.0.write_all(&escaped)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn stderr_has_colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How many log lines were dropped.
#[derive(Debug, Clone, Copy)]
pub struct DroppedLines;

impl EncodeMetric for DroppedLines {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let dropped = DROPPED.get().map_or(0, ErrorCounter::dropped_lines);
        let dropped = u64::try_from(dropped).unwrap_or(u64::MAX);
        encoder.encode_counter::<[(&str, &str); 0], _, u64>(&dropped, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Clone, Default)]
    struct Calls(Arc<Mutex<Vec<String>>>);

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_line_is_written_immediately_and_those_of_a_pause_together() {
        let (calls, within) = (Calls::default(), Duration::from_mins(1));
        let (paused, has_paused) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel::<()>();
        let batched = Batched::new(calls.clone(), move || {
            let _ = paused.send(());
            let _ = goes_on.recv_timeout(within);
        });
        let (mut log, guard) = NonBlockingBuilder::default().finish(batched);
        log.write_all(b"first\n").expect("a channel");
        has_paused.recv_timeout(within).expect("a pause");
        assert_eq!(*calls.0.lock(), ["first\n"]);
        for line in ["second\n", "third\n"] {
            log.write_all(line.as_bytes()).expect("a channel");
        }
        drop(go_on);
        drop(guard);
        assert_eq!(*calls.0.lock(), ["first\n", "second\nthird\n"]);
    }

    #[test]
    fn an_event_is_one_line_whatever_it_contains() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || OneLine(writer.clone()));
        tracing::subscriber::with_default(registry().with(lines), || {
            tracing::warn!(reason = %"CN=a\n2026-01-01 ERROR poolgate: forged\r\n", "denied a client");
            tracing::warn!("usual");
        });
        let text = String::from_utf8(kept.0.lock().clone()).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].ends_with(r"CN=a\n2026-01-01 ERROR poolgate: forged\r\n"),
            "{text}"
        );
        assert!(lines[1].contains("usual"), "{text}");
    }
}
