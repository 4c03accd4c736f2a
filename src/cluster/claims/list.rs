//! A consistent list of one pool's claims.

use kube::Client;
use kube::api::ListParams;
use poolgate_core::karpenter::NODEPOOL_LABEL;
use poolgate_core::nodelimit::ledger::ClaimView;

use super::object::NodeClaim;
use crate::cluster::collection::{Collection, turn_page};
use crate::objects::NODE_CLAIMS;

/// How many claims a page has: this limits the memory that a list takes. With metadata alone it is hardly less, and few
/// pools have a second page.
const WHOLE_PAGE: u32 = 500;
const METADATA_PAGE: u32 = 10_000;

/// The API server's NodeClaims.
pub(crate) struct ClaimList(Collection<NodeClaim>);

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// The API server does not return it.
    #[error(transparent)]
    Client(#[from] kube::Error),
    /// How old it is cannot be known.
    #[error("the API server's list has no version")]
    NoVersion,
}

impl ClaimList {
    pub(crate) fn new(client: Client) -> Self {
        Self(Collection::new(client, NODE_CLAIMS))
    }

    /// Lists the claims of a pool as they are now: whole, or their metadata alone, which does not say which of them are
    /// being disrupted. Without a resourceVersion in the request the API server answers from a quorum; all pages are of
    /// the first one's version.
    pub(crate) async fn of_pool(&self, pool: &str, whole: bool) -> Result<ClaimView, ListError> {
        let params = ListParams::default().labels(&format!("{NODEPOOL_LABEL}={pool}"));
        let mut params = params.limit(if whole { WHOLE_PAGE } else { METADATA_PAGE });
        let mut claims = Vec::new();
        loop {
            let page = if whole {
                self.0.list(&params).await?
            } else {
                self.0.list_metadata(&params).await?
            };
            let parts = page.items.into_iter().filter_map(NodeClaim::into_parts);
            claims.extend(parts.map(|(_, uid, claim)| (uid, claim)));
            if !turn_page(&mut params, page.metadata.continue_) {
                let version = page
                    .metadata
                    .resource_version
                    .and_then(|version| version.parse().ok());
                return Ok(ClaimView::listed(version.ok_or(ListError::NoVersion)?, claims));
            }
        }
    }
}
