//! What the table says of a NodePool, besides its node limit.

use std::cmp::Reverse;

use jiff::Timestamp;
use poolgate_core::drift::Start;
use poolgate_core::nodelimit::plan::RolloutState;
use poolgate_core::nodelimit::why::{Blocked, Cause};
use serde::Serialize;

use super::age::age;
use super::explainer::Explainer;
use super::seen_pool::PoolFacts;

/// What is seen of a NodePool at a glance. What is `None` is not known.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Glance {
    /// `True`, or the reason why it is not.
    pub ready: Option<String>,
    /// The used share of its limit of processors; none without a limit.
    pub cpu_used: Option<f64>,
    /// The used share of its limit of memory; none without a limit.
    pub memory_used: Option<f64>,
    /// How many NodeClaims do not match its template, or have drifted.
    pub outdated: Option<usize>,
    /// The nodes that should go and stay, by cause.
    pub blocked: Option<Vec<BlockedNodes>>,
    /// When its budgets let a drifted node go.
    pub next_window: Option<Window>,
    /// How many errors `lint` finds.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
}

/// When budgets let a drifted node go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Window {
    Open,
    At(Timestamp),
    Never,
}

/// Nodes of a pool that one cause keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedNodes {
    pub cause: Blocked,
    pub nodes: usize,
    /// The one that should go for longest.
    pub oldest: String,
    /// Since when that should go, if it is known.
    pub since: Option<Timestamp>,
    /// The cause itself, as it keeps that one.
    pub details: Option<Cause>,
}

impl Window {
    fn of(pool: &PoolFacts<'_>) -> Option<Self> {
        Some(match pool.known.window(pool.facts.now)? {
            Start::At(at) | Start::NotBefore(at) => Self::At(at),
            Start::Never(_) | Start::Unreadable(_) => Self::Never,
            Start::Now | Start::Full | Start::Exceeded => Self::Open,
        })
    }
}

impl Glance {
    /// What is seen of a pool.
    pub fn of(pool: &PoolFacts<'_>, explainer: &Explainer<'_>) -> Self {
        let claims = pool.known.claims.as_ref();
        let [errors, warnings] = pool.findings;
        let [cpu_used, memory_used] = pool.limits_used;
        Self {
            ready: pool.known.pool.details.ready.as_ref().map(|ready| {
                let is_true = ready.is_true();
                if is_true {
                    "True".to_owned()
                } else {
                    ready.reason.to_string()
                }
            }),
            cpu_used,
            memory_used,
            outdated: claims.map(|claims| {
                let state = |claim| RolloutState::of(claim, &pool.known.pool);
                claims
                    .iter()
                    .filter(|claim| state(claim) != RolloutState::UpToDate)
                    .count()
            }),
            blocked: explainer
                .knows_budgets()
                .then(|| BlockedNodes::of(pool, explainer)),
            next_window: Window::of(pool),
            errors,
            warnings,
        }
    }

    /// How many nodes are blocked.
    pub fn blocked_nodes(&self) -> Option<usize> {
        let blocked = self.blocked.as_ref()?;
        Some(blocked.iter().map(|group| group.nodes).sum())
    }
}

impl BlockedNodes {
    /// The blocked nodes of a pool, most first.
    fn of(pool: &PoolFacts<'_>, explainer: &Explainer<'_>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for known in pool.known_claims() {
            let Some(blocked) = explainer.explain(known).1 else {
                continue;
            };
            let node = Self {
                cause: blocked.by,
                nodes: 1,
                oldest: known.node_or_claim().to_owned(),
                since: blocked.since,
                details: blocked.cause,
            };
            match groups.iter_mut().find(|group| group.is_told_with(&node)) {
                Some(group) => group.add(node),
                None => groups.push(node),
            }
        }
        groups.sort_by_key(|group| (Reverse(group.nodes), group.cause));
        groups
    }

    fn is_told_with(&self, other: &Self) -> bool {
        let details = match (&self.details, &other.details) {
            (Some(one), Some(other)) => one.is_told_with(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.cause == other.cause && details
    }

    fn add(&mut self, node: Self) {
        let is_older = match (node.since, self.since) {
            (Some(one), Some(other)) => one < other,
            (since, None) => since.is_some(),
            (None, Some(_)) => false,
        };
        let nodes = self.nodes + 1;
        if is_older {
            *self = node;
        }
        self.nodes = nodes;
    }

    /// In one line.
    pub fn line(&self, now: Timestamp) -> String {
        let Self { nodes, oldest, .. } = self;
        let since = self.since.map(|since| format!(" for {}", age(since, now)));
        let details = self
            .details
            .as_ref()
            .map(|details| format!(": {}", details.line()));
        format!(
            "{nodes} by {}, {}{oldest}{}{}",
            self.cause.as_str(),
            if *nodes == 1 { "" } else { "the oldest is " },
            since.unwrap_or_default(),
            details.unwrap_or_default()
        )
    }
}
