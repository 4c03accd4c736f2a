//! `poolgate status --node` and `--pool`: why a node stays.
//!
//! Karpenter alone knows its candidates, so its own events come first. Core finds the causes, from the same objects that
//! Karpenter looks at.

mod events;
mod look;
mod page;
mod report;

use anyhow::bail;

use super::facts::{Facts, KnownClaim, Read};
use super::look::Look;
use crate::cluster::objects::NODES;
pub use look::More;
pub use report::{Keeps, Why, Whys};

/// The requested nodes.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// The one of this name, or of the NodeClaim of this name.
    Node(&'a str),
    /// Those of this NodePool that should go.
    Pool(&'a str),
}

impl Question<'_> {
    /// Reads the cluster once, and answers.
    pub async fn answer(self, look: &Look<'_>) -> anyhow::Result<Whys> {
        let facts = look.once().await;
        let claims = self.claims(&facts)?;
        if claims.is_empty() {
            let found = match self {
                Self::Node(name) => look.is_there(NODES, name).await,
                Self::Pool(name) => {
                    let pools = facts.pools.as_ref().map_err(Clone::clone);
                    pools.map(|pools| pools.iter().any(|pool| &*pool.metadata.name == name))
                }
            };
            bail!(self.without_claims(&found));
        }
        let one = match (self, &*claims) {
            (Self::Node(_), [claim]) => {
                let node = claim.details.node_name.as_deref().unwrap_or_default();
                Some((node, &*claim.claim.name))
            }
            _ => None,
        };
        let more = look.more(one).await;
        let mut whys = Whys::of(&facts, &more, facts.policy().as_ref(), &claims);
        if let Self::Pool(_) = self {
            whys.keep_those_that_should_go();
        }
        Ok(whys)
    }

    /// The requested NodeClaims.
    fn claims(self, facts: &Facts) -> anyhow::Result<Vec<&KnownClaim>> {
        let all = match &facts.claims {
            Ok(claims) => claims.iter(),
            Err(error) => bail!("NodeClaims could not be read: {error}"),
        };
        Ok(match self {
            Self::Node(name) => all
                .filter(|known| {
                    known.details.node_name.as_deref() == Some(name) || &*known.claim.name == name
                })
                .take(1)
                .collect(),
            Self::Pool(name) => all.filter(|known| &*known.pool == name).collect(),
        })
    }

    /// What to answer if there is no NodeClaim, but the node or the NodePool may be there.
    fn without_claims(self, is_there: &Read<bool>) -> String {
        match (self, is_there) {
            (Self::Node(name), Ok(true)) => {
                format!(
                    "node {name:?} belongs to no NodeClaim of a NodePool, so Karpenter does not manage it"
                )
            }
            (Self::Node(name), Ok(false)) => format!("node or NodeClaim {name:?} does not exist (any more)"),
            (Self::Node(name), Err(error)) => {
                format!("no NodeClaim of a NodePool matches {name:?}, and Nodes could not be read: {error}")
            }
            (Self::Pool(name), Ok(false)) => format!("NodePool {name:?} does not exist"),
            (Self::Pool(name), _) => format!("NodePool {name:?} has no NodeClaims"),
        }
    }
}

#[cfg(test)]
mod tests;
