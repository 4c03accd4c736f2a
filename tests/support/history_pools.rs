//! What a history knows of each pool.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

/// A limit as a NodePool says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) nodes: usize,
    pub(crate) surge: usize,
    pub(crate) is_soft: bool,
}

impl Limit {
    /// The limit of a pool; `None` if it has none.
    pub(crate) fn of(pool: &Value) -> Option<Self> {
        let annotation = |key: &str| pool["metadata"]["annotations"][key].as_str();
        // Without a number, the lowest of its schedule.
        let parts = annotation("poolgate.dev/node-limit-schedule").map(|schedule| schedule.split(';'));
        let numbers = parts
            .into_iter()
            .flatten()
            .filter_map(|part| part.rsplit(' ').next());
        let lowest = || numbers.min_by_key(|number| number.parse::<usize>().ok());
        let nodes = annotation("poolgate.dev/node-limit")
            .or_else(lowest)
            .or_else(|| pool["spec"]["limits"]["nodes"].as_str());
        let mode = pool["spec"]["disruption"]["nodeLimitMode"].as_str();
        let is_soft = mode.or_else(|| annotation("poolgate.dev/node-limit-mode")) == Some("Soft");
        let surge = annotation("poolgate.dev/surge").and_then(|surge| surge.parse().ok());
        Some(Self {
            nodes: nodes?.parse().ok()?,
            surge: surge.filter(|_| !is_soft).unwrap_or(0),
            is_soft,
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) uid: String,
    pub(super) limit: Option<Limit>,
    pub(super) ledger: Option<Ledger>,
    /// Whether somebody has deleted its ledger, and none is stored since.
    pub(super) is_lost: bool,
    /// Until when each claim was listed for deletion, and by which ledger.
    pub(super) delisted: BTreeMap<String, (Duration, Ledger)>,
    /// The claims that exist.
    pub(super) claims: BTreeMap<String, Claim>,
    /// Since when it has been frozen.
    pub(super) frozen_at: Option<Duration>,
    /// When the pool last had more claims than its limit, and when it was last full.
    pub(super) over_at: Option<Duration>,
    pub(super) full_at: Option<Duration>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Ledger {
    pub(super) is_closed: bool,
    pub(super) reservations: BTreeSet<String>,
    pub(super) surged: BTreeSet<String>,
    /// The claims that poolgate may delete.
    pub(super) listed: BTreeSet<String>,
    pub(super) replaced: BTreeSet<String>,
    /// The parts of it that may have fields of a later release, what they are about, and whether they have such fields.
    parts: BTreeMap<(&'static str, String), bool>,
}

/// The parts of a ledger, and what says whom or what each is about. The whole is about the pool.
const PARTS: [(&str, &[&str]); 6] = [
    ("", &[]),
    ("denied", &["claim"]),
    ("limit", &["mode", "nodes", "surge"]),
    ("replacement", &["uid"]),
    ("stopped", &["at", "template"]),
    ("termination", &["victims"]),
];

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Claim {
    pub(super) is_deleted: bool,
    /// Karpenter replaces it: initialized, not deleted, and with a reason for disruption.
    pub(super) is_replaced: bool,
    pub(super) is_disrupted: bool,
    /// Until when Soft did not count it.
    pub(super) left_out_until: Option<Duration>,
}

/// What is true of a pool with a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) limit: Limit,
    pub(crate) claims: usize,
    pub(crate) undeleted: usize,
    /// Reservations without a claim.
    pub(crate) reserved: usize,
    pub(crate) surged: usize,
    pub(crate) is_closed: bool,
}

impl Claim {
    /// Whether Soft does not count it.
    pub(super) const fn is_left_out(&self) -> bool {
        self.is_deleted || self.is_disrupted
    }
}

impl Ledger {
    /// A ledger as it is stored.
    pub(super) fn of(read: &Value) -> Self {
        let strings = |value: &Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect::<BTreeSet<_>>()
        };
        let reservations = read["reservations"].as_object().into_iter().flatten();
        let replaced = read["replacement"]["uid"].as_str().map(str::to_owned);
        let replaced: BTreeSet<_> = replaced.into_iter().collect();
        let mut listed = strings(&read["termination"]["victims"]);
        listed.extend(replaced.iter().cloned());
        let parts = PARTS.into_iter().filter_map(|(name, about)| {
            let part = if name.is_empty() { read } else { &read[name] };
            let about: String = about.iter().map(|field| part[field].to_string()).collect();
            part.is_object()
                .then(|| ((name, about), !part["later"].is_null()))
        });
        Self {
            is_closed: read["closed"] == true,
            reservations: reservations.map(|(uid, _)| uid.clone()).collect(),
            surged: strings(&read["surged"]),
            listed,
            replaced,
            parts: parts.collect(),
        }
    }

    /// The part in which the next ledger lacks what a later release has written there, although it is about the same.
    pub(super) fn forgotten_by(&self, next: &Self) -> Option<&'static str> {
        let mut parts = self.parts.iter().filter(|(_, is_later)| **is_later);
        let forgotten = parts.find(|(part, _)| next.parts.get(*part) == Some(&false));
        forgotten.map(|((name, _), _)| if name.is_empty() { "the top" } else { *name })
    }
}

impl Pool {
    /// Its ledger is another one from now on, or none. What the one before listed was listed until now. Returns that.
    pub(super) fn delist(&mut self, at: Duration) -> Option<Ledger> {
        let before = self.ledger.take()?;
        for uid in &before.listed {
            self.delisted.insert(uid.clone(), (at, before.clone()));
        }
        Some(before)
    }

    pub(super) fn reserved(&self) -> usize {
        let ledger = self.ledger.iter();
        let reservations = ledger.flat_map(|ledger| &ledger.reservations);
        reservations.filter(|uid| !self.claims.contains_key(*uid)).count()
    }

    /// How many claims the pool may have now.
    pub(super) fn allowed(&self) -> Option<usize> {
        self.limit.map(|limit| self.allowed_by(limit))
    }

    /// The same by a limit that it had.
    pub(super) fn allowed_by(&self, limit: Limit) -> usize {
        let replaced = self.claims.values().filter(|claim| claim.is_replaced).count();
        limit.nodes + limit.surge.min(replaced)
    }

    /// How many claims stay when those above the limit go. A surge spares those that it has admitted, as the ledger has them, for
    /// as long as a node is being replaced; once it has ended, they are above the limit, whatever is disrupted later.
    pub(super) fn staying(&self) -> Option<usize> {
        let surged = self.ledger.iter().flat_map(|ledger| &ledger.surged);
        let is_there = |uid: &&String| self.claims.get(*uid).is_some_and(|claim| !claim.is_deleted);
        let surged = surged.filter(is_there).count();
        let allowed = self.allowed()?;
        self.limit.map(|limit| allowed.min(limit.nodes + surged))
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
