//! What is stored for a pool.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::uid::Uid;
use crate::api::NodeLimitMode;

/// The most reservations at a time. With the longest UIDs they take 0.6 MB of the 1 MiB that a ConfigMap may hold;
/// with the API server's UIDs, 0.35 MB.
pub(crate) const MAX_RESERVATIONS: usize = 8_000;

/// The most victims of one termination.
pub(crate) const MAX_VICTIMS: usize = 2_000;

/// What is stored for one pool; all gate replicas and the reconciler share it. Its fields are those of the text that
/// [`Ledger::parse`] reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    /// How many calls were allowed, by the UID of the claim to create.
    pub(crate) reservations: BTreeMap<Uid, u32>,
    pub(crate) seen: u64,
    /// Whether claims may have been admitted that are not among the reservations, so that there may be no room.
    #[serde(default)]
    pub(crate) closed: bool,
    /// Tells one closed ledger of a ConfigMap from another: the resourceVersion of the ledger that it replaced, 0 if
    /// there was none.
    #[serde(default)]
    pub(crate) closed_over: u64,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) limit: Option<LimitInForce>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) denied: Option<DenialRecord>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) termination: Option<Termination>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) replacement: Option<Replacement>,
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) stopped: Option<Stopped>,
    /// In the order of their admission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) surged: Vec<Uid>,
    /// Fields of a later release, kept unchanged.
    #[serde(flatten)]
    pub(crate) unknown: Map<String, Value>,
    /// The same inside the parts that are objects, by the names of these. They go with what they are about.
    #[serde(skip)]
    pub(crate) unknown_inside: BTreeMap<&'static str, Map<String, Value>>,
}

/// A field that is present: an explicit `null` is a mistake, not a missing field.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(surge: &u32) -> bool {
    *surge == 0
}

/// The limit of a pool, and the version of the NodePool that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitInForce {
    /// The most nodes that the pool may have.
    pub nodes: u32,
    /// Which NodeClaims count against it.
    pub mode: NodeLimitMode,
    /// How many more there may be while Karpenter replaces nodes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surge: u32,
    /// The `resourceVersion` of the NodePool, to tell older limits from newer ones.
    pub pool_version: u64,
}

impl LimitInForce {
    /// The stricter of two limits that are read from the same version of the NodePool: releases may read it differently.
    pub(crate) fn stricter(self, other: Self) -> Self {
        let mode = match (self.mode, other.mode) {
            (NodeLimitMode::Soft, NodeLimitMode::Soft) => NodeLimitMode::Soft,
            _ => NodeLimitMode::Hard,
        };
        Self {
            nodes: self.nodes.min(other.nodes),
            mode,
            surge: self.surge.min(other.surge),
            pool_version: self.pool_version,
        }
    }

    /// Whether both limits are the same, whatever their versions.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        (self.nodes, self.mode, self.surge) == (other.nodes, other.mode, other.surge)
    }

    /// Whether a count depends on which claims are being disrupted, so that their metadata does not suffice.
    pub fn depends_on_disruption(&self) -> bool {
        self.mode == NodeLimitMode::Soft || self.surge > 0
    }
}

/// The last denial that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialRecord {
    /// When: seconds since 1970, by the clock of the replica that denied. For display, not for computing.
    pub at: u64,
    /// How many denials there were for this pool in all. It only grows; a change means a new denial.
    pub total: u64,
    /// The name of the last NodeClaim that was denied.
    pub claim: Box<str>,
}

/// Claims that are being terminated because the pool is above its limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    pub(crate) began: u64,
    pub(crate) victims: Vec<Uid>,
}

/// The one claim of a full pool that is deleted so that there is room for its replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The UID of the claim that is deleted.
    pub uid: Uid,
    /// The name of the claim that is deleted.
    pub claim: Box<str>,
    /// The name of its node.
    pub node: Box<str>,
    /// Why it is replaced.
    pub reason: ReplacedFor,
    /// When the newest claim of the pool was created before it was listed, in seconds since 1970 by the API server's
    /// clock. What is created later replaces it.
    pub newest: i64,
}

/// Why a claim is deleted before there is a replacement for it: one of Karpenter's disruption reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ReplacedFor {
    /// Its node is broken.
    Unhealthy,
    /// Its node no longer matches the NodePool.
    Drifted,
}

impl ReplacedFor {
    /// The word, as in Karpenter's budgets.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unhealthy => "Unhealthy",
            Self::Drifted => "Drifted",
        }
    }
}

/// Nothing more is replaced: the last one that was deleted was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// When, in seconds since 1970, by the clock of the replica that stopped. For display, not for computing.
    pub at: i64,
    /// The first eight bytes of the SHA-256 of the NodePool's `spec.template`: when it changes, nodes are replaced again.
    pub(crate) template: u64,
    /// Since when the NodePool's condition `NodeClassReady` was true, in seconds since 1970: if it turns true again,
    /// nodes are replaced again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class_ready_since: Option<i64>,
}

/// More victims than a ledger may hold: terminate some first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} victims are more than {MAX_VICTIMS}")]
pub struct TooManyVictims(pub usize);

impl Termination {
    /// A termination of these claims in this order, begun at this time (seconds since 1970).
    pub fn new(began: u64, mut victims: Vec<Uid>) -> Result<Self, TooManyVictims> {
        if victims.len() > MAX_VICTIMS {
            return Err(TooManyVictims(victims.len()));
        }
        let mut seen = BTreeSet::new();
        victims.retain(|uid| seen.insert(uid.clone()));
        Ok(Self { began, victims })
    }

    /// When it began: seconds since 1970, by the clock of the replica that began it.
    pub const fn began(&self) -> u64 {
        self.began
    }

    /// The only claims that may be deleted, in this order.
    pub fn victims(&self) -> &[Uid] {
        &self.victims
    }
}

impl Ledger {
    /// What replaces the ledger of this resourceVersion, which cannot be read: what it held is not known.
    pub fn closed(over: u64) -> Self {
        let mut ledger = Self::default();
        ledger.close(over);
        ledger
    }

    /// What a missing ledger means, for gate and reconciler: it may have been deleted with its reservations. Only of a
    /// pool that has no NodeClaim in a LIST begun after the ledger was found missing, none is lost: a new pool gets its
    /// first node immediately.
    pub fn in_place_of_missing(has_claims: bool) -> Self {
        if has_claims {
            Self::closed(0)
        } else {
            Self::default()
        }
    }

    /// Closes it over its own resourceVersion: claims are created without a reservation from now on, or were lost. It
    /// has no limit until the next decision by one, and does not open before a lifetime after that.
    pub(crate) fn close(&mut self, over: u64) {
        self.closed = true;
        self.closed_over = over;
        self.limit = None;
    }

    /// Opens it by a LIST of this version, which shows all claims that were admitted without a reservation.
    pub(crate) fn open(&mut self, listed: u64) {
        self.closed = false;
        self.closed_over = 0;
        self.seen = self.seen.max(listed);
    }

    /// Whether claims may have been admitted that are not among the reservations.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Tells one closed ledger of an object from another; `None` if it is open.
    pub fn closed_over(&self) -> Option<u64> {
        self.closed.then_some(self.closed_over)
    }

    /// Whether a later look at the claims may change it without any request: it holds reservations or surges, or has
    /// lost them.
    pub fn is_unsettled(&self) -> bool {
        self.closed || !self.reservations.is_empty() || !self.surged.is_empty()
    }

    /// The UIDs that hold a reservation.
    pub fn reservations(&self) -> impl ExactSizeIterator<Item = &Uid> {
        self.reservations.keys()
    }

    /// Whether this UID holds a reservation.
    pub fn has_reservation(&self, uid: &Uid) -> bool {
        self.reservations.contains_key(uid)
    }

    /// The highest resourceVersion of a NodeClaim that was seen and whose reservation was removed because of that.
    /// An older view may lack a claim whose reservation is gone: nothing must be counted by it.
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// The limit by which the last change was decided.
    pub const fn limit(&self) -> Option<&LimitInForce> {
        self.limit.as_ref()
    }

    /// The last denial that was recorded.
    pub const fn denied(&self) -> Option<&DenialRecord> {
        self.denied.as_ref()
    }

    /// The termination that is under way.
    pub const fn termination(&self) -> Option<&Termination> {
        self.termination.as_ref()
    }

    /// The same ledger with this termination under way, or none.
    #[must_use]
    pub fn with_termination(mut self, termination: Option<Termination>) -> Self {
        let victims = |termination: &Option<Termination>| termination.as_ref().map(|it| it.victims.clone());
        if victims(&self.termination) != victims(&termination) {
            self.unknown_inside.remove("termination");
        }
        self.termination = termination;
        self
    }

    /// The claim that may be deleted to make room for its replacement.
    pub const fn replacement(&self) -> Option<&Replacement> {
        self.replacement.as_ref()
    }

    /// Why nothing more is replaced.
    pub const fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// The same ledger with this replacement under way, or none, stopped or not.
    #[must_use]
    pub fn with_replacement(mut self, replacement: Option<Replacement>, stopped: Option<Stopped>) -> Self {
        let claim = |replacement: &Option<Replacement>| replacement.as_ref().map(|it| it.uid.clone());
        if claim(&self.replacement) != claim(&replacement) {
            self.unknown_inside.remove("replacement");
        }
        if self.stopped != stopped {
            self.unknown_inside.remove("stopped");
        }
        self.replacement = replacement;
        self.stopped = stopped;
        self
    }

    /// The claims that were admitted above the limit, the oldest first: all other claims together are at most as many as
    /// the limit allows.
    pub fn surged(&self) -> &[Uid] {
        &self.surged
    }

    /// The ledger without the reservations of calls whose "allow" was never sent; `None` if it holds none of them.
    ///
    /// Only for calls answered with [`super::RequestVerdict::Reserved`] of which no byte of the answer was sent,
    /// and only once for each such call: if a second call for the same UID has the reservation too, it stays until
    /// that one is released. Stored by compare-and-swap like any other; after a conflict try again, but if the
    /// outcome is unknown leave it, or the other call's reservation is lost too. Under failure policy Ignore the
    /// API server may create the claim all the same: then let the reservation expire.
    #[must_use]
    pub fn release<'a>(&self, uids: impl IntoIterator<Item = &'a Uid>) -> Option<Self> {
        let mut next = None;
        for uid in uids.into_iter().filter(|uid| self.has_reservation(uid)) {
            let reservations = &mut next.get_or_insert_with(|| self.clone()).reservations;
            match reservations.get_mut(uid) {
                Some(calls) if *calls > 1 => *calls -= 1,
                _ => drop(reservations.remove(uid)),
            }
        }
        next
    }
}
