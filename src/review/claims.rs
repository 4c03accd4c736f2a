//! The NodeClaims of a pool, listed when a change of its template is reviewed.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::ListParams;
use poolgate_core::drift::{DriftClaim, HashChange};
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::value::label::label_value;
use serde::de::IgnoredAny;
use tokio::sync::Semaphore;

use crate::cluster::objects::{Metadata, NODE_CLAIMS, Object, Texts};
use crate::cluster::{ApiError, Collection, Deadline};
use crate::runtime::telemetry::{Counters, LogLimit};

/// How long the list may take. The review continues without a late one.
const LIMIT: Duration = Duration::from_secs(1);

/// How many NodeClaims are on a page.
const PAGE: u32 = 500;

/// The most NodeClaims of a pool that are listed. Messages about larger pools are not exact.
const MOST: usize = 5_000;

type ClaimObject = Object<Metadata<Texts, Texts>, IgnoredAny, IgnoredAny>;

/// Lists NodeClaims for reviews, one list at a time: people change templates, and few do at the same moment.
#[derive(Clone)]
pub struct ClaimLister {
    claims: Arc<Collection<ClaimObject>>,
    turn: Arc<Semaphore>,
    failures: Arc<LogLimit>,
    doubts: Counters,
}

impl ClaimLister {
    /// With this client. Unknown effects of a change are counted there.
    pub fn new(client: Client, doubts: Counters) -> Self {
        Self {
            claims: Arc::new(Collection::new(client, NODE_CLAIMS)),
            turn: Arc::new(Semaphore::new(1)),
            failures: Arc::default(),
            doubts,
        }
    }

    /// Counts it if what a change does to the hash of a template is not known.
    pub fn count(&self, hash: HashChange) {
        if let HashChange::Unknown(doubt) = hash {
            self.doubts.inc(doubt.as_str());
        }
    }

    /// The NodeClaims of a pool; `None` if that is not possible in time.
    pub async fn list(&self, pool: &str) -> Option<Vec<DriftClaim>> {
        // Anything else would be part of a query and of a log line.
        label_value(pool).ok().filter(|()| !pool.is_empty())?;
        let _turn = self.turn.try_acquire().ok()?;
        match self.all(pool).await {
            Ok(claims) => claims,
            Err(error) => {
                if let Some(left_out) = self.failures.permit("list") {
                    tracing::warn!(pool, %error, left_out, "could not list NodeClaims, the changed template is judged by the NodePool's status");
                }
                None
            }
        }
    }

    async fn all(&self, pool: &str) -> Result<Option<Vec<DriftClaim>>, ApiError> {
        let by = Deadline::within(LIMIT);
        let selected = ListParams::default().labels(&format!("{NODEPOOL_LABEL}={pool}"));
        let mut pages = self.claims.metadata_pages(selected.limit(PAGE));
        let mut claims = Vec::new();
        while let Some(page) = pages.next(by).await? {
            claims.extend(page.into_iter().map(ClaimObject::drift_claim));
            if claims.len() > MOST {
                return Ok(None);
            }
        }
        Ok(Some(claims))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use kube::Config;

    use super::*;
    use crate::runtime::telemetry::Registry;

    #[tokio::test]
    async fn a_name_that_is_no_label_value_is_part_of_no_query() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        server.set_nonblocking(true).expect("it does not block");
        let uri = format!("http://{}", server.local_addr().expect("an address"));
        let config = Config::new(uri.parse().expect("a URI"));
        let doubts = Registry::default().counters("doubts", "", "doubt");
        let lister = ClaimLister::new(Client::try_from(config).expect("a client"), doubts);
        for forged in ["", "a,b", "a notin (b)", &"a".repeat(64)] {
            assert!(lister.list(forged).await.is_none(), "{forged}");
        }
        server.accept().expect_err("no connection");
        assert!(
            lister.list("general").await.is_none(),
            "the server does not answer"
        );
        server.accept().expect("a connection");
    }
}
