//! An API server that only lists and streams.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::POOLS;
use crate::objects::{claim, node, pod, pool};

/// The running watches, by the path of the watched objects.
type Streams = Arc<Mutex<HashMap<String, UnboundedSender<Bytes>>>>;

/// How often a watch without other events sends a bookmark.
const BOOKMARKS: Duration = Duration::from_secs(20);

/// The state of the API server.
#[derive(Clone, Default)]
pub(crate) struct Script {
    pub(crate) claims: usize,
    pub(crate) pods: usize,
    pub(crate) streams: Streams,
    /// When the last page of a list was requested.
    pub(crate) listed: Arc<Mutex<Option<Instant>>>,
}

pub(crate) const POOLS_PATH: &str = "/apis/karpenter.sh/v1/nodepools";
pub(crate) const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
pub(crate) const NODES: &str = "/api/v1/nodes";
pub(crate) const PODS: &str = "/api/v1/pods";

impl Script {
    pub(crate) fn send(&self, path: &str, line: String) -> Result<()> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = streams.get(path).context("nobody watches")?;
        stream.send(line.into()).context("nobody watches any more")
    }

    fn count(&self, path: &str) -> usize {
        match path {
            POOLS_PATH => POOLS,
            CLAIMS | NODES => self.claims,
            PODS => self.pods,
            _ => 0,
        }
    }

    fn object(&self, path: &str, number: usize) -> String {
        match path {
            POOLS_PATH => pool(number, self.claims / POOLS),
            CLAIMS => claim(number, number.is_multiple_of(3)),
            NODES => node(number),
            _ => pod(number, number % self.claims),
        }
    }
}

/// Answers as an API server would, for lists in pages and watches that never end.
pub(crate) async fn answer(State(script): State<Script>, uri: Uri) -> Response {
    let query: HashMap<&str, &str> = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    let path = uri.path();
    if query.contains_key("watch") {
        let (sender, receiver) = unbounded_channel();
        let mut streams = script.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(path.to_owned(), sender);
        return Body::from_stream(lines(receiver)).into_response();
    }
    *script.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
    let (begin, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(500));
    let count = script.count(path);
    let end = count.min(begin + limit);
    let more = if end < count {
        end.to_string()
    } else {
        String::new()
    };
    let mut list = format!(
        "{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"1\",\"continue\":\"{more}\"}},\"items\":["
    );
    for number in begin..end {
        if number > begin {
            list.push(',');
        }
        let _ = write!(list, "{}", script.object(path, number));
    }
    list.push_str("]}");
    list.into_response()
}

fn lines(receiver: UnboundedReceiver<Bytes>) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(receiver, |mut receiver| async move {
        let bookmark = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Any\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"2\"}}}\n";
        let line = match timeout(BOOKMARKS, receiver.recv()).await {
            Ok(line) => line?,
            Err(_) => Bytes::from_static(bookmark.as_bytes()),
        };
        Some((Ok(line), receiver))
    })
    .boxed()
}
