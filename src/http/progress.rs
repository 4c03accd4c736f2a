//! How long a client may take for each step. hyper's own header limit runs while a kept-alive connection idles. If it
//! were short, it would close connections that the API server is about to use: the API server keeps them for 90 s and does
//! not repeat a POST on a connection that is being closed. Here the clock of a request's head starts at its first byte.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a client may be silent before its first request. Not shorter: Go's transport opens connections in
/// reserve, and a request on one that is just being closed is lost.
const FIRST_REQUEST: Duration = Duration::from_secs(30);

/// How long a connection may idle between requests. The API server closes its connections after 90 s. With a longer
/// limit we never close one that it is about to use.
const IDLE: Duration = Duration::from_mins(3);

/// How long a request's head may take, from its first byte.
const HEAD: Duration = Duration::from_secs(5);

/// How old a connection may become: its next answer then asks the client to open another one, which may lead to a server
/// with less to do.
const AGE: Duration = Duration::from_mins(10);

/// How long a client may leave an answer unread once the socket's buffer is full.
const WRITE: Duration = Duration::from_secs(10);

/// How long we still read, and throw away, what a client sends after our last answer. A socket that is closed with unread
/// bytes is reset, and the client would lose the answer (such as 413) that it has not read yet.
const LINGER: Duration = Duration::from_secs(1);

/// How many bytes are thrown away at once.
const LINGER_BUFFER_BYTES: usize = 4 * 1024;

/// What a client took too long over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// Its first request.
    FirstRequest,
    /// Its next request.
    NextRequest,
    /// The rest of a request's head.
    Head,
    /// Reading our answer.
    Answer,
}

impl TimeoutKind {
    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstRequest => "first_request",
            Self::NextRequest => "next_request",
            Self::Head => "head",
            Self::Answer => "answer",
        }
    }

    fn limit(self) -> Duration {
        match self {
            Self::FirstRequest => FIRST_REQUEST,
            Self::NextRequest => IDLE,
            Self::Head => HEAD,
            Self::Answer => WRITE,
        }
    }
}

/// How far a connection is with its current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It is the first one, and nothing of it has arrived; the TLS handshake may not be complete.
    New,
    /// Nothing of it has arrived.
    Idle,
    /// A part of its head has arrived.
    Head,
    /// Its head has arrived, its body has not.
    Body,
    /// All of it has arrived, and its answer is not ready.
    Answer,
    /// Its answer is ready, and not yet sent.
    Answered,
}

/// The state of a connection. Its stream and the service that answers its requests write it; others may read it.
#[derive(Debug)]
pub struct Progress {
    opened: Instant,
    /// The stage of the current request. Written by the connection's own task alone.
    stage: AtomicU8,
    /// When it entered this stage, in milliseconds since `opened`.
    since: AtomicU64,
    /// Cancelled when another connection gets this one's slot: nothing is waited for any more.
    pub gives_way: CancellationToken,
    /// When to stop waiting for a client that has not begun a request.
    leave_at: OnceLock<Instant>,
    overdue: OnceLock<TimeoutKind>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            opened: Instant::now(),
            stage: AtomicU8::new(Stage::New as u8),
            since: AtomicU64::default(),
            gives_way: CancellationToken::new(),
            leave_at: OnceLock::new(),
            overdue: OnceLock::new(),
        }
    }
}

impl Progress {
    /// A request's head is complete: from now on the request's own deadline counts.
    pub fn head_came(&self) {
        self.enter(Stage::Body);
    }

    /// The request's body is complete, too.
    pub fn body_came(&self) {
        self.enter(Stage::Answer);
    }

    /// The answer is ready to be sent.
    pub fn answered(&self) {
        self.enter(Stage::Answered);
    }

    /// The process stops: requests that have not begun are waited for only so long.
    pub fn leave(&self, grace: Duration) {
        let _ = self.leave_at.set(Instant::now() + grace);
    }

    /// Whether the next answer is the last one.
    pub fn ends(&self) -> bool {
        self.gives_way.is_cancelled() || self.opened.elapsed() >= AGE
    }

    /// The stage of the current request.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::New,
            1 => Stage::Idle,
            2 => Stage::Head,
            3 => Stage::Body,
            4 => Stage::Answer,
            _ => Stage::Answered,
        }
    }

    /// When it entered this stage.
    pub fn since(&self) -> Instant {
        self.opened + Duration::from_millis(self.since.load(Ordering::Relaxed))
    }

    /// What the client took too long over, if that closed the connection.
    pub fn overdue(&self) -> Option<TimeoutKind> {
        self.overdue.get().copied()
    }

    /// Some bytes have arrived.
    fn received(&self) {
        if self.stage() <= Stage::Idle {
            self.enter(Stage::Head);
        }
    }

    /// Everything is sent.
    fn sent(&self) {
        if self.stage() == Stage::Answered {
            self.enter(Stage::Idle);
        }
    }

    fn enter(&self, stage: Stage) {
        let passed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(passed, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }
}

/// A stream that ends when its client is overdue.
#[derive(Debug)]
pub struct TimedStream<S> {
    stream: S,
    progress: Arc<Progress>,
    read: Alarm,
    write: Alarm,
    /// Until when the client may leave an answer unread, while one cannot be written.
    write_by: Option<Instant>,
    /// Until when the client may close its side, once ours is shut down.
    close_by: Option<Instant>,
}

impl<S> TimedStream<S> {
    /// The client is waited for from now on.
    pub fn new(stream: S, progress: Arc<Progress>) -> Self {
        progress.enter(Stage::New);
        Self {
            stream,
            progress,
            read: Alarm::default(),
            write: Alarm::default(),
            write_by: None,
            close_by: None,
        }
    }

    /// Ready when the client has taken too long to send what is waited for now.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let progress = &self.progress;
        let awaited = match progress.stage() {
            // If the stream ended now, the client would lose its answer.
            Stage::Answer | Stage::Answered => return Poll::Pending,
            _ if progress.gives_way.is_cancelled() => return Poll::Ready(()),
            Stage::Body => return Poll::Pending,
            Stage::Head => TimeoutKind::Head,
            Stage::Idle => TimeoutKind::NextRequest,
            Stage::New => TimeoutKind::FirstRequest,
        };
        if awaited != TimeoutKind::Head
            && let Some(leave_at) = progress.leave_at.get()
        {
            return self.read.poll(cx, *leave_at);
        }
        ready!(self.read.poll(cx, progress.since() + awaited.limit()));
        let _ = progress.overdue.set(awaited);
        Poll::Ready(())
    }

    /// Ready when the client has closed its side, or has had the time to read what we sent.
    fn poll_linger(&mut self, cx: &mut Context<'_>, close_by: Instant) -> Poll<()>
    where
        S: AsyncRead + Unpin,
    {
        let mut bytes = [0; LINGER_BUFFER_BYTES];
        while self.read.poll(cx, close_by).is_pending() {
            let mut thrown_away = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut thrown_away)) {
                Ok(()) if !thrown_away.filled().is_empty() => {}
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }

    /// Returns the result of a write, with a limit on how long it may pend.
    fn limit_write<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_by = None;
            return written;
        }
        let write_by = self
            .write_by
            .get_or_insert_with(|| Instant::now() + TimeoutKind::Answer.limit());
        ready!(self.write.poll(cx, *write_by));
        let _ = self.progress.overdue.set(TimeoutKind::Answer);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    this.progress.received();
                }
                Poll::Ready(read)
            }
            // To hyper an overdue client looks like one that has disconnected.
            Poll::Pending => this.poll_silence(cx).map(Ok),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.limit_write(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        let flushed = ready!(this.limit_write(cx, flushed));
        this.progress.sent();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let close_by = if let Some(close_by) = this.close_by {
            close_by
        } else {
            let shut = Pin::new(&mut this.stream).poll_shutdown(cx);
            ready!(this.limit_write(cx, shut))?;
            *this.close_by.insert(Instant::now() + LINGER)
        };
        if this.progress.gives_way.is_cancelled() {
            return Poll::Ready(Ok(()));
        }
        this.poll_linger(cx, close_by).map(Ok)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.limit_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A timer, which is set anew whenever the connection waits for something else.
#[derive(Debug, Default)]
struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready at `at`.
    fn poll(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests;
