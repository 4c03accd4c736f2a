//! A consistent list of one pool's claims.

use kube::Client;
use kube::api::ListParams;
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::ClaimView;

use super::object::NodeClaim;
use crate::cluster::collection::{Collection, Source as _};
use crate::objects::NODE_CLAIMS;

/// How many claims a page brings: what bounds the memory that a list takes.
const PAGE: u32 = 500;

/// The API server's NodeClaims.
pub(crate) struct ClaimList(Collection<NodeClaim>);

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// The API server does not bring it.
    #[error(transparent)]
    Client(#[from] kube::Error),
    /// Nobody could say how old it is.
    #[error("the API server's list has no version")]
    NoVersion,
}

impl ClaimList {
    pub(crate) fn new(client: Client) -> Self {
        Self(Collection::new(client, NODE_CLAIMS))
    }

    /// Lists the claims of a pool as they are now. Without a resourceVersion in the request the API server answers
    /// from a quorum; all pages are of the first one's version.
    pub(crate) async fn of_pool(&self, pool: &str) -> Result<ClaimView, ListError> {
        let mut params = ListParams::default()
            .labels(&format!("{NODEPOOL_LABEL}={pool}"))
            .limit(PAGE);
        let mut claims = Vec::new();
        loop {
            let page = self.0.list(&params).await?;
            let parts = page.items.into_iter().filter_map(NodeClaim::into_parts);
            claims.extend(parts.map(|(_, uid, claim)| (uid, claim)));
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                let version = page
                    .metadata
                    .resource_version
                    .and_then(|version| version.parse().ok());
                return Ok(ClaimView::listed(version.ok_or(ListError::NoVersion)?, claims));
            }
        }
    }
}
