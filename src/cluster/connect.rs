//! The cluster of a command that needs one.

use std::time::Duration;

use anyhow::bail;
use hyper::header::{CONNECTION, HeaderValue};
use kube::{Client, Config};
use tokio::time::{sleep, timeout};

use super::config::{ClusterArgs, ClusterConfigError, Found, find};
use crate::lifecycle::StatusLine;

/// How long making a client may take: a kubeconfig may run a program for its credentials.
const CREDENTIALS: Duration = Duration::from_mins(1);

/// How long to wait before a client is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Finds the cluster. No request is sent yet.
pub async fn required_cluster(args: &ClusterArgs) -> anyhow::Result<Config> {
    let found = match find(args).await {
        // This command cannot go without the cluster, as the message would suggest.
        Err(ClusterConfigError::Named(unusable)) => return Err(unusable.into()),
        found => found?,
    };
    match found {
        Found::Cluster(config) => Ok(*config),
        Found::Unwanted => bail!("this command needs a cluster: leave out --no-cluster"),
        Found::Nowhere => bail!(
            "there is no cluster: no kubeconfig, and this process does not run in a pod; give --kubeconfig FILE"
        ),
        Found::Unusable(error) => bail!("the cluster cannot be used: {error}"),
    }
}

/// Makes a client for the watches that write to these lines of `/readyz`. It tries until that succeeds; each time that it
/// fails, `failed` is called.
pub async fn client_for_watches(
    config: &Config,
    lines: &[StatusLine],
    meanwhile: &'static str,
    failed: impl Fn(),
) -> Client {
    let mut before = String::new();
    loop {
        let error = match client(config.clone()).await {
            Ok(client) => return client,
            Err(error) => error,
        };
        failed();
        if error != before {
            tracing::warn!(%error, meanwhile, "no client for the cluster");
            for line in lines {
                line.set(format!("not watching: {error}"));
            }
            before = error;
        }
        sleep(RETRY).await;
    }
}

/// The same cluster, reached by a new connection for each request.
pub fn without_kept_connections(config: &Config) -> Config {
    let mut config = config.clone();
    config
        .headers
        .push((CONNECTION, HeaderValue::from_static("close")));
    config
}

/// Makes a client. That may run a program, so it has a thread that can be abandoned.
#[expect(clippy::disallowed_methods, reason = "a simulation brings its own clients")]
pub async fn client(config: Config) -> Result<Client, String> {
    let made = tokio::task::spawn_blocking(move || Client::try_from(config));
    match timeout(CREDENTIALS, made).await {
        Ok(Ok(made)) => made.map_err(|error| error.to_string()),
        Ok(Err(failed)) => Err(failed.to_string()),
        Err(_) => Err(format!("no credentials within {} s", CREDENTIALS.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::Full;
    use hyper::body::Bytes;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpListener;

    use super::*;

    /// An API server that answers `ok` to everything, and how many connections it has had.
    async fn counting() -> (Config, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let ok = service_fn(async |_| {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), ok));
            }
        });
        let url = format!("http://{address}").parse().expect("an address");
        (Config::new(url), connections)
    }

    #[tokio::test]
    async fn a_client_without_kept_connections_makes_one_for_each_request() {
        for (is_kept, expected) in [(true, 1), (false, 3)] {
            let (config, connections) = counting().await;
            let config = if is_kept {
                config
            } else {
                without_kept_connections(&config)
            };
            let client = client(config).await.expect("a client");
            for _ in 0..3 {
                let request = Request::get("/readyz").body(Vec::new()).expect("a request");
                assert_eq!(client.request_text(request).await.expect("an answer"), "ok");
            }
            assert_eq!(connections.load(Ordering::Relaxed), expected);
        }
    }
}
