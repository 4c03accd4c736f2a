//! Why no node of a pool is terminated so that it can be replaced.

use std::fmt;
use std::time::Duration;

use crate::api::{AtLimit, NodeLimitMode};
use crate::nodelimit::ledger::{Moment, Stopped};
use crate::nodelimit::plan::situation::Situation;
use crate::nodelimit::plan::state::{ClaimState, Rights};

/// The period in which terminations are counted.
const PACE: Duration = Duration::from_mins(1);

/// Why no node of a pool is terminated first, before its replacement exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It has no limit, or a Soft one: its limit does not prevent a replacement.
    NotHard,
    /// It has room: Karpenter may replace it as usual.
    HasRoom,
    /// It has more nodes than it may have: none of them is replaced.
    AboveLimit,
    /// Its surge is used up: the next node is replaced when it is free again.
    Surging,
    /// A user has frozen it.
    Frozen,
    /// `poolgate.dev/at-limit` or the policy says so.
    Block,
    /// These rights of poolgate are missing.
    Rights(Rights),
    /// The last node that was terminated was not replaced.
    Stopped(Stopped),
    /// Karpenter would create no node for the pool.
    NotReady,
    /// Its ledger is lost or closed.
    Ledger,
    /// Something has changed recently: limit, definition, watch, or leader.
    Settling(Option<Moment>),
    /// A claim was admitted that does not exist yet.
    Reserved,
    /// As many nodes were terminated in this minute as may be.
    Paced,
}

impl Obstacle {
    /// The obstacle for every node of a pool, if there is one.
    pub fn find(situation: &Situation<'_>) -> Option<Self> {
        let Some(limit) = situation
            .pool
            .limit
            .filter(|limit| limit.mode == NodeLimitMode::Hard)
        else {
            return Some(Self::NotHard);
        };
        let (nodes, rights) = (limit.nodes as usize, situation.settings.rights);
        let (existing, unseen) = (situation.counts.claims.existing, situation.counts.unseen);
        let surge = situation.pool.surge as usize;
        // A surge admits one more for each node that is being replaced, and Karpenter replaces one broken node at a time.
        let is_replaced =
            |claim: &&&ClaimState<'_>| claim.is_being_replaced() && !situation.waits_for_repair(claim);
        let replaced = situation.claims.iter().filter(is_replaced).count();
        if existing + unseen < nodes + surge.min(replaced + 1) {
            return Some(Self::HasRoom);
        }
        if surge > 0 && existing <= nodes + surge {
            return Some(Self::Surging);
        }
        if situation.is_frozen() {
            return Some(Self::Frozen);
        }
        if situation.pool.at_limit == AtLimit::Block {
            return Some(Self::Block);
        }
        if !(rights.delete && rights.patch) {
            return Some(Self::Rights(rights));
        }
        if let Some(stopped) = situation.state.ledger.stopped {
            return Some(Self::Stopped(stopped));
        }
        if !situation.pool.is_ready {
            return Some(Self::NotReady);
        }
        if existing > nodes {
            return Some(Self::AboveLimit);
        }
        if !situation.state.ledger.is_open() {
            return Some(Self::Ledger);
        }
        let settled_at = situation
            .settled_at()
            .map(|at| at.max(situation.limit_settled_at()));
        if settled_at.is_none_or(|at| at > situation.clock) {
            return Some(Self::Settling(settled_at));
        }
        if unseen > 0 {
            return Some(Self::Reserved);
        }
        (situation.state.terminations_left == 0).then_some(Self::Paced)
    }

    /// When to look again whether it is over, if nothing shows that.
    pub fn look_again_at(self, now: Moment) -> Option<Moment> {
        match self {
            Self::Settling(until) => until,
            Self::Paced => Some(now.plus(PACE)),
            _ => None,
        }
    }

    /// Whether somebody must do something about it.
    pub const fn stays(self) -> bool {
        matches!(
            self,
            Self::Frozen
                | Self::Block
                | Self::Rights(_)
                | Self::Stopped(_)
                | Self::NotReady
                | Self::AboveLimit
        )
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHard => f.write_str("another pool, which could serve its pods, is full"),
            Self::HasRoom => f.write_str("the pool has room, so Karpenter replaces it"),
            Self::AboveLimit => f.write_str("the pool has more nodes than its limit"),
            Self::Surging => f.write_str("the surge of the pool is used up by other replacements"),
            Self::Frozen => f.write_str("the NodePool is frozen"),
            Self::Block => f.write_str("at-limit is Block"),
            Self::Rights(rights) => {
                let missing = [(rights.delete, "delete"), (rights.patch, "patch")];
                let missing = missing.iter().filter(|(is_there, _)| !is_there);
                let missing: Vec<&str> = missing.map(|(_, verb)| *verb).collect();
                write!(
                    f,
                    "poolgate has no right to {} NodeClaims (Helm: reconciler.repair=true)",
                    missing.join(" and ")
                )
            }
            Self::Stopped(_) => f.write_str(
                "the last terminated node was not replaced. Fix the pool's template or its node class",
            ),
            Self::NotReady => f.write_str("the NodePool is not ready, so Karpenter creates no node for it"),
            Self::Ledger => {
                f.write_str("the pool's ledger is lost or closed, and the gate has not opened one yet")
            }
            Self::Settling(_) => f.write_str("the limit, a watch or the leader changed recently"),
            Self::Reserved => f.write_str("an admitted NodeClaim does not exist yet"),
            Self::Paced => f.write_str("--max-terminations-per-minute is reached"),
        }
    }
}
