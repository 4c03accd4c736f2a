//! Log lines on stderr that do not wait for who reads them.
//!
//! A line is written at once, unless another was written a moment ago: to wake the reader for each line takes a tenth of
//! the time in a flood of denials. Then a thread writes the lines of that moment together. If the other end of the
//! pipe is not read, lines are dropped and counted.
//!
//! Why not tracing-appender (0.2.5): it hands each line to its thread. A denial that comes alone, as most do, then takes 10 to
//! 20 % more processor time. One in a flood takes about 15 % more, or the same if a writer of our own behind it gathers the
//! lines of a moment. It bounds lines, not bytes, and writes what is left only when it ends, so not at each panic.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
#[cfg(target_os = "linux")]
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

/// How many bytes a writable pipe takes at once without blocking (POSIX: `PIPE_BUF`).
const PIECE: usize = 4096;

/// How many bytes may be left to the thread.
const MOST_PENDING: usize = 64 << 10;

/// How long after a line the next ones are left to the thread, which waits as long before it writes them.
const MOMENT: Duration = Duration::from_millis(2);

/// How long the end of the process waits for a line that is being written.
const LONGEST_END: Duration = Duration::from_millis(100);

static STDERR: LazyLock<LogStream<io::Stderr>> = LazyLock::new(|| LogStream::new(io::stderr(), MOMENT));

/// The number of lines that were dropped.
pub fn dropped() -> Counter {
    STDERR.dropped.clone()
}

/// Standard error, with its thread.
pub fn stderr() -> io::Result<impl Fn() -> &'static LogStream<io::Stderr>> {
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(|| STDERR.keep_writing())?;
    Ok(|| &*STDERR)
}

/// Writes what the thread may not come to before the process ends.
pub fn finish() {
    STDERR.finish();
}

/// A stream for log lines.
#[derive(Debug)]
pub struct LogStream<S> {
    stream: S,
    /// See [`MOMENT`].
    moment: Duration,
    pending: Mutex<Pending>,
    /// Notified when a first line is left to the thread.
    has_lines: Condvar,
    dropped: Counter,
    /// Whether there is no write without waiting for this stream, so that poll has to ask before each write.
    is_polled: AtomicBool,
}

/// The lines for the thread.
#[derive(Debug, Default)]
struct Pending {
    /// Whether something is being written. A second writer could fill the space in the pipe that the first has found.
    is_writing: bool,
    /// When something was last written.
    written: Option<Instant>,
    lines: Vec<u8>,
}

impl<S> LogStream<S> {
    fn new(stream: S, moment: Duration) -> Self {
        Self {
            stream,
            moment,
            pending: Mutex::default(),
            has_lines: Condvar::new(),
            dropped: Counter::default(),
            is_polled: AtomicBool::new(false),
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a line is to be written now. If not, it is left to the thread.
    fn is_written_now(&self, line: &[u8]) -> bool {
        let mut pending = self.pending();
        let is_first = pending.lines.is_empty();
        let is_alone = pending
            .written
            .is_none_or(|written| written.elapsed() >= self.moment);
        if is_first && is_alone && !pending.is_writing {
            pending.is_writing = true;
            return true;
        }
        if pending.lines.len() + line.len() > MOST_PENDING {
            self.dropped.inc();
            return false;
        }
        pending.lines.extend_from_slice(line);
        drop(pending);
        if is_first {
            self.has_lines.notify_one();
        }
        false
    }

    fn end_writing(&self) {
        let mut pending = self.pending();
        pending.is_writing = false;
        pending.written = Some(Instant::now());
    }

    /// Waits for a line that is left to the thread.
    fn wait(&self) {
        let is_empty = |pending: &mut Pending| pending.lines.is_empty();
        let waited = self.has_lines.wait_while(self.pending(), is_empty);
        drop(waited);
    }
}

impl<S: AsFd> LogStream<S>
where
    for<'s> &'s S: Write,
{
    fn keep_writing(&self) {
        let mut lines = Vec::new();
        loop {
            self.wait();
            thread::sleep(self.moment);
            self.write_left(&mut lines);
        }
    }

    /// Writes the lines that are left, unless something is being written. `lines` is a buffer that is used again.
    fn write_left(&self, lines: &mut Vec<u8>) {
        let mut pending = self.pending();
        if pending.is_writing {
            return;
        }
        pending.is_writing = true;
        lines.clear();
        mem::swap(&mut pending.lines, lines);
        drop(pending);
        self.write_lines(lines);
        self.end_writing();
    }

    fn finish(&self) {
        let begun = Instant::now();
        while self.pending().is_writing && begun.elapsed() < LONGEST_END {
            thread::sleep(Duration::from_millis(1));
        }
        let lines = mem::take(&mut self.pending().lines);
        self.write_lines(&lines);
    }

    /// Writes as many whole lines with each system call as a pipe takes at once.
    fn write_lines(&self, mut lines: &[u8]) {
        while let Some((piece, rest)) = lines.split_at_checked(first_piece(lines))
            && !piece.is_empty()
        {
            if !piece.chunks(PIECE).all(|piece| self.write_piece(piece)) {
                self.dropped.inc_by(count_of_lines(piece));
            }
            lines = rest;
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
        if self.is_written_now(line) {
            self.write_lines(line);
            self.end_writing();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The length of the whole lines at the beginning that fit into a piece; of the first line if it does not.
fn first_piece(lines: &[u8]) -> usize {
    let is_end = |byte: &u8| *byte == b'\n';
    let most = lines.get(..PIECE).unwrap_or(lines);
    let last = if most.len() == lines.len() {
        None
    } else {
        most.iter()
            .rposition(is_end)
            .or_else(|| lines.iter().position(is_end))
    };
    last.map_or(lines.len(), |last| last + 1)
}

fn count_of_lines(piece: &[u8]) -> u64 {
    piece.split_inclusive(|byte| *byte == b'\n').map(|_| 1).sum()
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
mod tests;
