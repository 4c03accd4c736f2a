//! Log lines on stderr that never block: if the other end of the pipe is not read, a line is dropped and counted.

use std::io::{self, Write};
use std::sync::{LazyLock, Mutex, PoisonError};

use prometheus_client::metrics::counter::Counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;

/// How many bytes a writable pipe takes at once without blocking (POSIX: `PIPE_BUF`).
const PIECE: usize = 4096;

/// One writer at a time: otherwise another one could fill the space in the pipe that the first has found.
static WRITING: Mutex<()> = Mutex::new(());

static DROPPED: LazyLock<Counter> = LazyLock::new(Counter::default);

/// The number of lines that were dropped.
pub(super) fn dropped() -> Counter {
    DROPPED.clone()
}

/// Standard error, or another stream, for log lines.
#[derive(Debug)]
pub(super) struct LogWriter<S> {
    stream: S,
    dropped: Counter,
}

/// The writer for standard error.
pub(super) fn stderr() -> LogWriter<io::Stderr> {
    LogWriter {
        stream: io::stderr(),
        dropped: dropped(),
    }
}

impl<S: AsFd + Write> Write for LogWriter<S> {
    /// Takes a whole line, and writes as much of it as can be written at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in line.chunks(PIECE) {
            if !takes_more(&self.stream) {
                self.dropped.inc();
                break;
            }
            self.stream.write_all(piece)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn takes_more(stream: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::OUT)];
    let ready = poll(&mut polled, Some(&Timespec::default()));
    ready.is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn lines_are_dropped_and_counted_while_the_pipe_is_full() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let mut log = LogWriter {
            stream,
            dropped: Counter::default(),
        };
        let line = [b'x'; 1000];
        let mut written = 0;
        while log.dropped.get() == 0 {
            log.write_all(&line).expect("a line");
            written += 1;
        }
        assert!(written > 4, "a pipe holds more than one piece");
        log.write_all(&line).expect("a line");
        assert_eq!(log.dropped.get(), 2);

        let mut read = vec![0; 8 * line.len()];
        reader.read_exact(&mut read).expect("lines");
        log.write_all(b"heard").expect("a line");
        assert_eq!(log.dropped.get(), 2);
        drop(log);
        read.clear();
        reader.read_to_end(&mut read).expect("lines");
        assert!(read.ends_with(b"heard"));
    }

    #[test]
    fn a_line_longer_than_a_piece_is_written_whole() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let mut log = LogWriter {
            stream,
            dropped: Counter::default(),
        };
        let line: Vec<u8> = (0..=u8::MAX).cycle().take(3 * PIECE + 5).collect();
        log.write_all(&line).expect("a line");
        drop(log);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("the line");
        assert_eq!(read, line);
    }
}
