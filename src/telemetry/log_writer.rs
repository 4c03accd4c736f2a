//! Log lines on stderr that do not wait for who reads them. One thread writes at a time, and others leave it their lines.
//! If the other end of the pipe is not read, lines are dropped and counted.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::counter::Counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

/// How many bytes a writable pipe takes at once without blocking (POSIX: `PIPE_BUF`).
const PIECE: usize = 4096;

/// How many bytes may be left to the thread that writes.
const MOST_PENDING: usize = 64 << 10;

/// How often a thread writes what others have left meanwhile. Then they wait, so that it comes to an end.
const MOST_ROUNDS: usize = 16;

static STDERR: LazyLock<LogStream<io::Stderr>> = LazyLock::new(|| LogStream::new(io::stderr()));

/// The number of lines that were dropped.
pub(super) fn dropped() -> Counter {
    STDERR.dropped.clone()
}

/// Standard error.
pub(super) fn stderr() -> &'static LogStream<io::Stderr> {
    &STDERR
}

/// Writes what is left to a thread that may not come to it before the process ends.
pub(crate) fn finish() {
    STDERR.write_pending();
}

/// A stream for log lines.
#[derive(Debug)]
pub(super) struct LogStream<S> {
    stream: S,
    pending: Mutex<Pending>,
    dropped: Counter,
    /// Whether there is no write without waiting for this stream, so that poll has to ask before each write.
    is_polled: AtomicBool,
}

/// The lines for the thread that writes.
#[derive(Debug, Default)]
struct Pending {
    /// Whether there is such a thread. A second one could fill the space in the pipe that the first has found.
    is_writing: bool,
    lines: Vec<u8>,
}

impl<S> LogStream<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            pending: Mutex::default(),
            dropped: Counter::default(),
            is_polled: AtomicBool::new(false),
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this thread is the one to write now. If not, the line is left to the one that is.
    fn becomes_writer(&self, line: &[u8]) -> bool {
        let mut pending = self.pending();
        if !pending.is_writing {
            pending.is_writing = true;
            return true;
        }
        if pending.lines.len() + line.len() > MOST_PENDING {
            self.dropped.inc();
        } else {
            pending.lines.extend_from_slice(line);
        }
        false
    }

    /// Takes what was left since, in exchange for an empty buffer. If it is nothing, this thread writes no more.
    fn take(&self, lines: &mut Vec<u8>) -> bool {
        let mut pending = self.pending();
        mem::swap(&mut pending.lines, lines);
        pending.is_writing = !lines.is_empty();
        pending.is_writing
    }
}

impl<S: AsFd> LogStream<S>
where
    for<'s> &'s S: Write,
{
    /// Writes what is left to the thread that writes, in its place.
    fn write_pending(&self) {
        let lines = mem::take(&mut self.pending().lines);
        self.write_lines(&lines);
    }

    fn write_lines(&self, lines: &[u8]) {
        lines
            .split_inclusive(|byte| *byte == b'\n')
            .for_each(|line| self.write_line(line));
    }

    /// Writes as much of a line as can be written at once.
    fn write_line(&self, line: &[u8]) {
        if !line.chunks(PIECE).all(|piece| self.write_piece(piece)) {
            self.dropped.inc();
        }
    }

    /// Whether a piece could be written at once.
    fn write_piece(&self, piece: &[u8]) -> bool {
        if !self.is_polled.load(Ordering::Relaxed) {
            if let Some(is_written) = written_at_once(&self.stream, piece) {
                return is_written;
            }
            self.is_polled.store(true, Ordering::Relaxed);
        }
        takes_more(&self.stream) && (&self.stream).write_all(piece).is_ok()
    }
}

impl<S: AsFd> Write for &LogStream<S>
where
    for<'s> &'s S: Write,
{
    /// Takes a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.becomes_writer(line) {
            return Ok(line.len());
        }
        self.write_line(line);
        let mut lines = Vec::new();
        for _ in 0..MOST_ROUNDS {
            if !self.take(&mut lines) {
                return Ok(line.len());
            }
            self.write_lines(&lines);
            lines.clear();
        }
        let mut pending = self.pending();
        self.write_lines(&pending.lines);
        *pending = Pending::default();
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a piece with one system call, and returns whether there was space for it. `None` if the stream has no such call:
/// Linux has it for pipes, but not for all files.
#[cfg(target_os = "linux")]
fn written_at_once(stream: &impl AsFd, piece: &[u8]) -> Option<bool> {
    const AT_ITS_END: u64 = u64::MAX;
    let written = pwritev2(
        stream,
        &[io::IoSlice::new(piece)],
        AT_ITS_END,
        ReadWriteFlags::NOWAIT,
    );
    match written {
        Ok(count) => Some(count == piece.len()),
        // Some files say this, too: no write to them goes without waiting, and they always take more.
        Err(Errno::AGAIN) if !takes_more(stream) => Some(false),
        Err(Errno::PIPE) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn written_at_once(_: &impl AsFd, _: &[u8]) -> Option<bool> {
    None
}

fn takes_more(stream: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::OUT)];
    let ready = poll(&mut polled, Some(&Timespec::default()));
    ready.is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};
    use std::thread;

    use super::*;

    #[test]
    fn lines_are_dropped_and_counted_while_the_pipe_is_full() {
        for is_polled in [false, true] {
            lines_are_dropped_and_counted(is_polled);
        }
    }

    fn lines_are_dropped_and_counted(is_polled: bool) {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let log = LogStream::new(stream);
        log.is_polled.store(is_polled, Ordering::Relaxed);
        let write = |line: &[u8]| (&log).write_all(line).expect("a line");
        let line = [b'x'; 1000];
        let mut written = 0;
        while log.dropped.get() == 0 {
            write(&line);
            written += 1;
        }
        assert!(written > 4, "a pipe holds more than one piece");
        write(&line);
        assert_eq!(log.dropped.get(), 2);

        let mut read = vec![0; 8 * line.len()];
        reader.read_exact(&mut read).expect("lines");
        write(b"heard");
        assert_eq!(log.dropped.get(), 2);
        drop(log);
        read.clear();
        reader.read_to_end(&mut read).expect("lines");
        assert!(read.ends_with(b"heard"));
    }

    #[test]
    fn a_line_longer_than_a_piece_is_written_whole() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let log = LogStream::new(stream);
        let line: Vec<u8> = (0..=u8::MAX).cycle().take(3 * PIECE + 5).collect();
        (&log).write_all(&line).expect("a line");
        drop(log);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("the line");
        assert_eq!(read, line);
    }

    #[test]
    fn lines_follow_each_other_in_a_file() {
        let mut file = tempfile::tempfile().expect("a file");
        let log = LogStream::new(file.try_clone().expect("the same file"));
        for line in ["first\n", "second\n"] {
            (&log).write_all(line.as_bytes()).expect("a line");
        }
        file.rewind().expect("the start");
        let mut read = String::new();
        file.read_to_string(&mut read).expect("lines");
        assert_eq!(read, "first\nsecond\n");
        assert_eq!(log.dropped.get(), 0);
    }

    #[test]
    fn a_line_that_comes_while_another_is_written_follows_it() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let log = LogStream::new(stream);
        assert!(log.becomes_writer(b"first\n"));
        (&log).write_all(b"second\n").expect("a line");
        (&log).write_all(&vec![b'x'; MOST_PENDING]).expect("a line");
        assert_eq!(log.dropped.get(), 1, "too much to be left");
        log.write_line(b"first\n");
        let mut lines = Vec::new();
        assert!(log.take(&mut lines));
        log.write_line(&lines);
        lines.clear();
        assert!(!log.take(&mut lines));
        (&log).write_all(b"third\n").expect("a line");
        drop(log);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("lines");
        assert_eq!(read, "first\nsecond\nthird\n");
    }

    #[test]
    fn at_the_end_a_line_is_written_that_is_left_to_another_thread() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let log = LogStream::new(stream);
        assert!(log.becomes_writer(b"cut off\n"));
        (&log).write_all(b"stopped\n").expect("a line");
        log.write_pending();
        drop(log);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("lines");
        assert_eq!(read, "stopped\n");
    }

    #[test]
    fn lines_of_many_threads_are_all_written_and_whole() {
        let (mut reader, stream) = io::pipe().expect("a pipe");
        let log = LogStream::new(stream);
        let read = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let mut log = &log;
                scope.spawn(move || {
                    for number in 0..200 {
                        let line = format!("{name}{number}\n");
                        log.write_all(line.as_bytes()).expect("a line");
                    }
                });
            }
        });
        let dropped = log.dropped.get();
        drop(log);
        let text = read.join().expect("the reader").expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64 + dropped, 800);
        let is_whole = |line: &&str| line.get(1..).is_some_and(|number| number.parse::<u32>().is_ok());
        assert!(lines.iter().all(is_whole), "{text}");
    }
}
