use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::sleep;

use super::*;

fn connection() -> (DuplexStream, TimedStream<DuplexStream>, Arc<Progress>) {
    let (client, server) = duplex(64);
    let progress = Arc::new(Progress::default());
    (client, TimedStream::new(server, Arc::clone(&progress)), progress)
}

/// Answers a request.
async fn answer(timed: &mut TimedStream<DuplexStream>, progress: &Progress) {
    progress.head_came();
    progress.body_came();
    progress.answered();
    timed.flush().await.expect("a flush");
}

/// Reads until the stream ends and says after how long that was.
async fn time_to_end(timed: &mut TimedStream<DuplexStream>) -> Duration {
    let began = Instant::now();
    let mut bytes = [0; 16];
    while timed.read(&mut bytes).await.expect("a read") > 0 {}
    began.elapsed()
}

fn about(took: Duration, limit: Duration) -> bool {
    took >= limit && took < limit + Duration::from_millis(50)
}

#[tokio::test(start_paused = true)]
async fn silence_before_the_first_request_ends_the_stream() {
    let (_client, mut timed, progress) = connection();
    assert!(about(time_to_end(&mut timed).await, FIRST_REQUEST));
    assert_eq!(progress.overdue(), Some(TimeoutKind::FirstRequest));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_handshake_is_not_counted_as_silence() {
    let (_client, server) = duplex(64);
    let progress = Arc::new(Progress::default());
    sleep(Duration::from_secs(4)).await;
    let mut timed = TimedStream::new(server, progress);
    assert!(about(time_to_end(&mut timed).await, FIRST_REQUEST));
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_outlives_the_clients_own_limit() {
    let (_client, mut timed, progress) = connection();
    answer(&mut timed, &progress).await;
    let took = time_to_end(&mut timed).await;
    assert!(about(took, IDLE) && took > Duration::from_mins(2));
    assert_eq!(progress.overdue(), Some(TimeoutKind::NextRequest));
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_a_head_starts_at_its_first_byte_and_never_again() {
    let (mut client, mut timed, progress) = connection();
    answer(&mut timed, &progress).await;
    let dribble = tokio::spawn(async move {
        sleep(Duration::from_secs(100)).await;
        while client.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert!(about(
        time_to_end(&mut timed).await,
        Duration::from_secs(100) + HEAD
    ));
    assert_eq!(progress.overdue(), Some(TimeoutKind::Head));
    dribble.abort();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_begun_is_left_to_its_own_deadline() {
    let (client, mut timed, progress) = connection();
    progress.head_came();
    let slow = tokio::spawn(async move {
        sleep(Duration::from_secs(1000)).await;
        drop(client);
    });
    assert!(about(time_to_end(&mut timed).await, Duration::from_secs(1000)));
    assert_eq!(progress.overdue(), None);
    slow.await.expect("the client");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_waits_briefly_for_requests_and_longer_for_a_begun_head() {
    let grace = Duration::from_secs(1);
    let (_client, mut timed, progress) = connection();
    progress.leave(grace);
    assert!(about(time_to_end(&mut timed).await, grace));
    assert_eq!(progress.overdue(), None);

    let (mut client, mut timed, progress) = connection();
    client.write_all(b"x").await.expect("a write");
    timed.read_u8().await.expect("a read");
    progress.leave(grace);
    assert!(about(time_to_end(&mut timed).await, HEAD));
}

#[tokio::test(start_paused = true)]
async fn a_displaced_connection_ends_at_once_unless_an_answer_is_due() {
    let (_client, mut timed, progress) = connection();
    progress.gives_way.cancel();
    assert_eq!(time_to_end(&mut timed).await, Duration::ZERO);

    let (client, mut timed, progress) = connection();
    progress.head_came();
    progress.body_came();
    progress.gives_way.cancel();
    assert!(progress.ends());
    let working = tokio::spawn(async move {
        sleep(Duration::from_secs(20)).await;
        drop(client);
    });
    assert!(about(time_to_end(&mut timed).await, Duration::from_secs(20)));
    working.await.expect("the client");
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_next_answer_when_it_is_old() {
    let (_client, _paced, progress) = connection();
    assert!(!progress.ends());
    sleep(AGE).await;
    assert!(progress.ends());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_still_sends_has_a_moment_to_read_our_last_answer() {
    let (mut client, mut timed, _pace) = connection();
    let began = Instant::now();
    let sending = tokio::spawn(async move {
        while client.write_all(&[0; 50]).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    });
    timed.shutdown().await.expect("a shutdown");
    assert!(about(began.elapsed(), LINGER));
    sending.abort();

    let (client, mut timed, _pace) = connection();
    drop(client);
    let began = Instant::now();
    timed.shutdown().await.expect("a shutdown");
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_the_client_does_not_read_fails() {
    let (_client, mut timed, progress) = connection();
    let began = Instant::now();
    let error = timed.write_all(&[0; 100]).await.expect_err("an error");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(about(began.elapsed(), WRITE));
    assert_eq!(progress.overdue(), Some(TimeoutKind::Answer));
}
