//! How long a client may take over what. hyper's own header limit runs while a kept-alive connection idles, so
//! it cannot be short without closing connections that the API server is about to use: it keeps them for 90 s
//! and does not repeat a POST that meets a closing one. Here the clock of a request's head starts at its first
//! byte.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long a client may be silent before its first request. Not shorter: Go's transport opens connections in
/// reserve, and a request on one that is just being closed is lost.
const FIRST_REQUEST: Duration = Duration::from_secs(30);

/// How long a connection may idle between requests. More than the 90 s after which the API server itself gives
/// a connection up, so that it is never we who close one that it is about to use.
const IDLE: Duration = Duration::from_mins(3);

/// How long a request's head may take from its first byte on.
const HEAD: Duration = Duration::from_secs(5);

/// How long a client may leave an answer unread once the socket's buffer is full.
const WRITE: Duration = Duration::from_secs(10);

/// How long we go on reading, and throwing away, what a client sends after our last answer. A socket closed
/// with unread bytes is reset, and the client would lose the answer (413, say) that it has not read yet.
const LINGER: Duration = Duration::from_secs(1);

/// How many bytes are thrown away at once.
const LINGER_BUFFER_BYTES: usize = 4 * 1024;

/// What a client took too long over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Its first request.
    FirstRequest,
    /// Its next request.
    NextRequest,
    /// The rest of a request's head.
    Head,
    /// Reading our answer.
    Answer,
    /// Closing its side after us.
    Close,
}

impl Overdue {
    /// The name in metrics and logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FirstRequest => "first_request",
            Self::NextRequest => "next_request",
            Self::Head => "head",
            Self::Answer => "answer",
            Self::Close => "close",
        }
    }

    fn limit(self) -> Duration {
        match self {
            Self::FirstRequest => FIRST_REQUEST,
            Self::NextRequest => IDLE,
            Self::Head => HEAD,
            Self::Answer => WRITE,
            Self::Close => LINGER,
        }
    }
}

/// Where a connection stands, as the service that answers its requests tells it.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Counts up when a request's head is complete and again when its answer is ready: odd in between.
    turn: AtomicU64,
    leaving: AtomicBool,
    overdue: OnceLock<Overdue>,
}

impl Pace {
    /// A request's head is complete: from here on the request's own deadline holds.
    pub(super) fn request_began(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer is ready.
    pub(super) fn request_ended(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// No request that has not begun is waited for any more.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// What the client took too long over, if that is why the connection ended.
    pub(super) fn overdue(&self) -> Option<Overdue> {
        self.overdue.get().copied()
    }

    fn turn(&self) -> Turn {
        Turn(self.turn.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn(u64);

impl Turn {
    fn in_request(self) -> bool {
        self.0 % 2 == 1
    }

    fn idle(self) -> Overdue {
        if self.0 == 0 {
            Overdue::FirstRequest
        } else {
            Overdue::NextRequest
        }
    }
}

/// A stream that ends when its client is overdue.
#[derive(Debug)]
pub(super) struct Paced<S> {
    stream: S,
    pace: Arc<Pace>,
    read: Alarm,
    write: Alarm,
    /// The turn in which a first byte has come.
    begun: Option<Turn>,
    /// Whether we have said that nothing more will come.
    closed: bool,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Arc<Pace>) -> Self {
        Self {
            stream,
            pace,
            read: Alarm::default(),
            write: Alarm::default(),
            begun: None,
            closed: false,
        }
    }

    /// Ready when the client has taken too long to send what is waited for now.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.pace.turn();
        if turn.in_request() {
            return Poll::Pending;
        }
        let awaited = if self.begun == Some(turn) {
            Overdue::Head
        } else {
            turn.idle()
        };
        if awaited != Overdue::Head && self.pace.leaving.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        ready!(self.read.poll(cx, turn, awaited));
        let _ = self.pace.overdue.set(awaited);
        Poll::Ready(())
    }

    /// Ready when the client has closed its side, or has had the time to read what we sent.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()>
    where
        S: AsyncRead + Unpin,
    {
        let mut bytes = [0; LINGER_BUFFER_BYTES];
        while self.read.poll(cx, self.pace.turn(), Overdue::Close).is_pending() {
            let mut thrown_away = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut thrown_away)) {
                Ok(()) if !thrown_away.filled().is_empty() => {}
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }

    /// Passes on what a write came to, with a limit on how long it may pend.
    fn limit_write<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write.disarm();
            return written;
        }
        ready!(self.write.poll(cx, self.pace.turn(), Overdue::Answer));
        let _ = self.pace.overdue.set(Overdue::Answer);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(read) => {
                if buf.filled().len() > before {
                    this.begun = Some(this.pace.turn());
                }
                Poll::Ready(read)
            }
            // To hyper an overdue client looks like one that has gone.
            Poll::Pending => this.poll_silence(cx).map(Ok),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.limit_write(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        this.limit_write(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.closed {
            let shut = Pin::new(&mut this.stream).poll_shutdown(cx);
            ready!(this.limit_write(cx, shut))?;
            this.closed = true;
        }
        this.poll_linger(cx).map(Ok)
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

/// One timer, set anew whenever something else is waited for.
#[derive(Debug, Default)]
struct Alarm {
    timer: Option<Pin<Box<Sleep>>>,
    set_for: Option<(Turn, Overdue)>,
}

impl Alarm {
    fn poll(&mut self, cx: &mut Context<'_>, turn: Turn, awaited: Overdue) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(awaited.limit())));
        if self.set_for != Some((turn, awaited)) {
            timer.as_mut().reset(Instant::now() + awaited.limit());
            self.set_for = Some((turn, awaited));
        }
        timer.as_mut().poll(cx)
    }

    fn disarm(&mut self) {
        self.set_for = None;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn connection() -> (DuplexStream, Paced<DuplexStream>, Arc<Pace>) {
        let (client, server) = duplex(64);
        let pace = Arc::new(Pace::default());
        (client, Paced::new(server, Arc::clone(&pace)), pace)
    }

    /// Reads until the stream ends and says after how long that was.
    async fn time_to_end(paced: &mut Paced<DuplexStream>) -> Duration {
        let began = Instant::now();
        let mut bytes = [0; 16];
        while paced.read(&mut bytes).await.expect("a read") > 0 {}
        began.elapsed()
    }

    fn about(took: Duration, limit: Duration) -> bool {
        took >= limit && took < limit + Duration::from_millis(50)
    }

    #[tokio::test(start_paused = true)]
    async fn silence_before_the_first_request_ends_the_stream() {
        let (_client, mut paced, pace) = connection();
        assert!(about(time_to_end(&mut paced).await, FIRST_REQUEST));
        assert_eq!(pace.overdue(), Some(Overdue::FirstRequest));
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_outlives_the_clients_own_limit() {
        let (_client, mut paced, pace) = connection();
        pace.request_began();
        pace.request_ended();
        let took = time_to_end(&mut paced).await;
        assert!(about(took, IDLE) && took > Duration::from_mins(2));
        assert_eq!(pace.overdue(), Some(Overdue::NextRequest));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_of_a_head_starts_at_its_first_byte_and_never_again() {
        let (mut client, mut paced, pace) = connection();
        pace.request_began();
        pace.request_ended();
        let dribble = tokio::spawn(async move {
            sleep(Duration::from_secs(100)).await;
            while client.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        assert!(about(
            time_to_end(&mut paced).await,
            Duration::from_secs(100) + HEAD
        ));
        assert_eq!(pace.overdue(), Some(Overdue::Head));
        dribble.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_begun_is_left_to_its_own_deadline() {
        let (client, mut paced, pace) = connection();
        pace.request_began();
        let slow = tokio::spawn(async move {
            sleep(Duration::from_secs(1000)).await;
            drop(client);
        });
        assert!(about(time_to_end(&mut paced).await, Duration::from_secs(1000)));
        assert_eq!(pace.overdue(), None);
        slow.await.expect("the client");
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_waits_for_a_begun_head_only() {
        let (_client, mut paced, pace) = connection();
        pace.leave();
        assert_eq!(time_to_end(&mut paced).await, Duration::ZERO);

        let (mut client, mut paced, pace) = connection();
        client.write_all(b"x").await.expect("a write");
        paced.read_u8().await.expect("a read");
        pace.leave();
        assert!(about(time_to_end(&mut paced).await, HEAD));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_has_a_moment_to_read_our_last_answer() {
        let (mut client, mut paced, _pace) = connection();
        let began = Instant::now();
        let sending = tokio::spawn(async move {
            while client.write_all(&[0; 50]).await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        });
        paced.shutdown().await.expect("a shutdown");
        assert!(about(began.elapsed(), LINGER));
        sending.abort();

        let (client, mut paced, _pace) = connection();
        drop(client);
        let began = Instant::now();
        paced.shutdown().await.expect("a shutdown");
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_fails() {
        let (_client, mut paced, pace) = connection();
        let began = Instant::now();
        let error = paced.write_all(&[0; 100]).await.expect_err("an error");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(about(began.elapsed(), WRITE));
        assert_eq!(pace.overdue(), Some(Overdue::Answer));
    }
}
