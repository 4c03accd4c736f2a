//! The client of a process that keeps running: it leaves connections that have died silently.
//!
//! The kernel of a silent API server still acknowledges what is sent, so no timeout of TCP ends such a connection. A GET or
//! LIST that has no answer in half its time is repeated on a new connection. If that one answers first, it takes over: what
//! follows uses it, and reads that still wait are repeated on it immediately. Only one of them tries: an API server that is
//! slow is not read twice by all. Writes are never repeated, and watches notice by themselves that they are silent.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use kube::client::Body;
use kube::{Client, Error};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep};
use tower::service_fn;

use super::api::Deadline;
use crate::runtime::lifecycle::spawn;
use crate::runtime::telemetry::LogOnce;

/// How long a read waits at most before it is repeated.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before the first client is made again.
const RETRY: Duration = Duration::from_secs(10);

/// How long a new client may be tried by one read after another.
const FRESH: Duration = Duration::from_secs(10);

/// A client that uses the last client that `make` has made. Until there is one, calls wait, and fail as `make` does. Within a
/// runtime.
pub fn reconnecting<M, F>(namespace: &str, make: M) -> Client
where
    M: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Result<Client, String>> + Send + 'static,
{
    let connections = Arc::new(Connections {
        make,
        current: watch::Sender::new(None),
        next: Mutex::default(),
    });
    let first = Arc::clone(&connections);
    spawn(async move { first.make_first().await });
    let send = move |request| {
        let connections = Arc::clone(&connections);
        async move { connections.send(request).await }
    };
    Client::new(service_fn(send), namespace)
}

struct Connections<M> {
    make: M,
    current: watch::Sender<Made>,
    /// The client that may take over, and when it was made. Held by the read that tries it.
    next: Mutex<Option<(Instant, Client)>>,
}

/// The client that is used, or why none could be made; `None` until that is known.
type Made = Option<Result<Client, String>>;

impl<M, F> Connections<M>
where
    M: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = Result<Client, String>> + Send + 'static,
{
    async fn make_first(&self) {
        let failures = LogOnce::default();
        loop {
            let error = match (self.make)().await {
                Ok(client) => {
                    self.current.send_replace(Some(Ok(client)));
                    return;
                }
                Err(error) => error,
            };
            if failures.is_news((), error.as_str()) {
                tracing::warn!(%error, "could not create a client for the cluster");
            }
            self.current.send_replace(Some(Err(error)));
            sleep(RETRY).await;
        }
    }

    async fn send(&self, request: Request<Body>) -> kube::Result<Response<Body>> {
        let mut current = self.current.subscribe();
        let usual = client(&mut current).await?;
        if !is_read(&request) {
            return usual.send(request).await;
        }
        let (parts, _) = request.into_parts();
        let deadline = parts.extensions.get::<Deadline>();
        let patience = deadline.map_or(PATIENCE, |by| (by.left() / 2).min(PATIENCE));
        let again = async {
            let turn = async {
                sleep(patience).await;
                self.next.lock().await
            };
            let turn = tokio::select! {
                biased;
                _ = current.changed() => None,
                next = turn => Some(next),
            };
            let Some(mut next) = turn else {
                // Another read has found the connection silent.
                return read(&client(&mut current).await?, &parts).await;
            };
            let new = match &*next {
                Some((made, new)) if made.elapsed() < FRESH => new.clone(),
                _ => {
                    let new = (self.make)().await.map_err(not_made)?;
                    *next = Some((Instant::now(), new.clone()));
                    new
                }
            };
            let answer = read(&new, &parts).await?;
            *next = None;
            self.take_over(new, &current);
            Ok(answer)
        };
        match select(pin!(read(&usual, &parts)), pin!(again)).await {
            Either::Left((answer, _)) | Either::Right((answer @ Ok(_), _)) => answer,
            Either::Right((Err(_), first)) => first.await,
        }
    }

    /// This client has answered where the current one did not.
    fn take_over(&self, new: Client, current: &watch::Receiver<Made>) {
        // If another one has taken over meanwhile, that is as good.
        if matches!(current.has_changed(), Ok(false)) {
            tracing::info!("the API server was silent, switched to a new connection");
            self.current.send_replace(Some(Ok(new)));
        }
    }
}

/// The current client.
async fn client(current: &mut watch::Receiver<Made>) -> kube::Result<Client> {
    let known = current.wait_for(Option::is_some).await;
    match known.ok().and_then(|known| known.clone()) {
        Some(Ok(client)) => Ok(client),
        Some(Err(why)) => Err(not_made(why)),
        None => Err(not_made("the process ends".into())),
    }
}

fn not_made(why: String) -> Error {
    Error::Service(why.into())
}

fn is_read(request: &Request<Body>) -> bool {
    let mut query = request.uri().query().unwrap_or_default().split('&');
    request.method() == Method::GET && !query.any(|pair| pair.starts_with("watch="))
}

/// The whole answer: a connection can also die in the middle of one.
async fn read(client: &Client, parts: &Parts) -> kube::Result<Response<Body>> {
    let request = Request::from_parts(parts.clone(), Body::empty());
    let (head, body) = client.send(request).await?.into_parts();
    Ok(Response::from_parts(
        head,
        Body::from(body.collect_bytes().await?),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicU32, Ordering};

    use kube::api::{ListParams, WatchParams};
    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::super::collection::Collection;
    use super::*;

    /// A connection without an answer.
    fn silent() -> Client {
        let never = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
        Client::new(never, "default")
    }

    /// A connection that answers after this many seconds, with an empty list named after it.
    fn answering(name: &'static str, seconds: u64) -> Client {
        let list = service_fn(move |_: Request<Body>| async move {
            sleep(Duration::from_secs(seconds)).await;
            let list = json!({"metadata": {"resourceVersion": name}, "items": []});
            Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
        });
        Client::new(list, "default")
    }

    /// The nodes behind a client that makes these connections, one after another, then none.
    fn nodes(connections: impl IntoIterator<Item = Client>) -> Collection<Value> {
        let connections: Mutex<VecDeque<_>> = Mutex::new(connections.into_iter().collect());
        let make = move || ready(connections.lock().pop_front().ok_or("no more".to_owned()));
        Collection::new(reconnecting("default", make), "/api/v1/nodes")
    }

    const LIMIT: Duration = Duration::from_secs(8);

    /// Which connection answers a list, and after how many seconds.
    async fn list(nodes: &Collection<Value>) -> (Option<String>, u64) {
        let begun = Instant::now();
        let mut pages = nodes.pages(ListParams::default());
        let listed = pages.next(Deadline::within(LIMIT)).await;
        let by = listed.ok().and(pages.version().map(str::to_owned));
        (by, begun.elapsed().as_secs())
    }

    fn by(name: &str, seconds: u64) -> (Option<String>, u64) {
        (Some(name.to_owned()), seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_without_an_answer_in_half_its_time_is_repeated_on_a_new_connection_which_takes_over() {
        let nodes = nodes([silent(), answering("new", 1)]);
        assert_eq!(list(&nodes).await, by("new", 5));
        assert_eq!(list(&nodes).await, by("new", 1));
        let object = nodes.get_opt("a", Deadline::within(LIMIT)).await;
        assert!(object.is_ok(), "{object:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_still_waits_is_repeated_as_soon_as_a_new_connection_has_taken_over() {
        let nodes = nodes([silent(), answering("new", 1)]);
        let late = async {
            sleep(Duration::from_secs(3)).await;
            list(&nodes).await
        };
        // The first is repeated after 4 s, the second together with it instead of 4 s after it began.
        let (first, second) = tokio::join!(list(&nodes), late);
        assert_eq!((first, second), (by("new", 5), by("new", 3)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_of_two_answers_counts_and_an_answer_in_time_changes_no_connection() {
        let nodes = nodes([answering("slow", 6), answering("slower", 9)]);
        assert_eq!(list(&nodes).await, by("slow", 6));
        // There is no third connection: the second try fails, and the first one is waited for.
        assert_eq!(list(&nodes).await, by("slow", 6));
    }

    #[tokio::test(start_paused = true)]
    async fn many_reads_of_a_slow_api_server_make_one_client_and_one_more_read() {
        let (made, read) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (makes, reads) = (Arc::clone(&made), Arc::clone(&read));
        let factory = move || {
            makes.fetch_add(1, Ordering::Relaxed);
            let reads = Arc::clone(&reads);
            let slow = service_fn(move |_: Request<Body>| {
                reads.fetch_add(1, Ordering::Relaxed);
                async {
                    sleep(Duration::from_secs(6)).await;
                    let list = json!({"metadata": {"resourceVersion": "1"}, "items": []});
                    Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
                }
            });
            ready(Ok(Client::new(slow, "default")))
        };
        let nodes = Collection::<Value>::new(reconnecting("default", factory), "/api/v1/nodes");
        let lists = futures_util::future::join_all((0..50).map(|_| list(&nodes))).await;
        assert!(lists.iter().all(|listed| *listed == by("1", 6)), "{lists:?}");
        assert_eq!(
            (made.load(Ordering::Relaxed), read.load(Ordering::Relaxed)),
            (2, 51)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_ends_with_its_time_if_no_connection_answers() {
        let nodes = nodes([silent(), silent()]);
        assert_eq!(list(&nodes).await, (None, LIMIT.as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn writes_and_watches_are_not_repeated_and_use_the_connection_that_has_taken_over() {
        let nodes = nodes([silent(), answering("new", 1)]);
        let deadline = || Deadline::within(LIMIT);
        let write = async || nodes.replace("a", &json!({}), deadline()).await.is_ok();
        let watch = async || {
            let params = WatchParams::default();
            nodes.watch(&params, "1", deadline()).await.is_ok()
        };
        assert!(!write().await && !watch().await);
        assert_eq!(list(&nodes).await, by("new", 5));
        assert!(write().await && watch().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_cannot_be_made_is_made_again_and_calls_say_why_meanwhile() {
        let tries = Mutex::new(0);
        let make = move || {
            *tries.lock() += 1;
            let made = if *tries.lock() > 1 {
                Ok(answering("second", 0))
            } else {
                Err("no credentials".to_owned())
            };
            ready(made)
        };
        let nodes = Collection::<Value>::new(reconnecting("default", make), "/api/v1/nodes");
        let failed = nodes.get_opt("a", Deadline::within(LIMIT)).await;
        let failed = failed.expect_err("no client").to_string();
        assert!(failed.ends_with("no credentials"), "{failed}");
        sleep(RETRY).await;
        assert_eq!(list(&nodes).await, by("second", 0));
    }
}
