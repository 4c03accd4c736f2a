//! The report on each NodePool: how many nodes it has and may have, and what is waiting.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use poolgate_core::api::{FREEZE_ANNOTATION, Freeze, NodeLimitMode, OverLimit};
use poolgate_core::nodelimit::plan::{ClaimState, Node};
use poolgate_core::policy::Policy;
use serde::Serialize;

use super::explainer::Explainer;
use super::facts::{Asked, Facts, Kept};
use super::glance::Glance;
use super::seen_pool::PoolFacts;

/// How soon a reconciler stores what a schedule sets.
const WRITTEN_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// The report on a NodePool. A number is `None` if something that it is made of could not be read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolReport {
    pub name: String,
    /// Its freeze, while it lasts.
    pub frozen: Option<Freeze>,
    /// For a pool without a limit only the number of NodeClaims is reported.
    pub limit: Option<LimitReport>,
    /// How many NodeClaims there are.
    pub node_claims: Option<usize>,
    /// How many of its nodes poolgate holds.
    pub held_nodes: Option<usize>,
    /// The gate's decision on one more creation, if it was probed.
    pub next: Option<String>,
    pub denied: Option<DenialReport>,
    #[serde(flatten)]
    pub glance: Glance,
    /// Whether the installed release treats it differently than the line before.
    pub is_changed: bool,
    /// Notes on waiting nodes and their causes, a sentence or two each.
    pub notes: Vec<String>,
    /// What is wrong.
    #[serde(skip)]
    pub problems: Vec<String>,
}

/// A limit, and how much of it is taken, each as far as it is known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitReport {
    pub nodes: u32,
    pub mode: &'static str,
    /// Whether the NodePool itself says it.
    pub mode_is_written: bool,
    /// How many count.
    pub taken: Option<usize>,
    pub free: Option<usize>,
    /// How many are too many, without those that are going already.
    pub excess: Option<usize>,
    /// What happens to those: `report` or `terminate`.
    pub over_limit: Option<&'static str>,
    /// What the schedule of the limit does next.
    pub scheduled: Option<ScheduledLimit>,
}

/// A limit that a schedule sets.
#[derive(Debug, Serialize)]
pub struct ScheduledLimit {
    pub at: Timestamp,
    pub nodes: u32,
}

/// The last denial that was recorded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DenialReport {
    pub total: u64,
    pub last_claim: String,
    pub at: Option<Timestamp>,
}

/// The reports on all pools, the worst first, then by name; `None` if the pools could not be read.
pub fn of_pools(facts: &Facts, kept: Option<&Kept>, policy: Option<&Policy>) -> Option<Vec<PoolReport>> {
    facts.pools.as_ref().ok()?;
    let explainer = Explainer::of(facts, kept, policy);
    let reports = explainer
        .pools
        .values()
        .map(|pool| pool.report(Glance::of(pool, &explainer)));
    let mut reports: Vec<PoolReport> = reports.collect();
    reports.sort_by_key(|report| Reverse(report.badness()));
    Some(reports)
}

impl PoolReport {
    /// By what the worst one comes first.
    fn badness(&self) -> impl Ord + use<> {
        let Glance {
            ready,
            errors,
            warnings,
            outdated,
            ..
        } = &self.glance;
        (
            self.problems.len(),
            ready.as_ref().is_some_and(|ready| ready != "True"),
            self.limit.as_ref().and_then(|limit| limit.excess),
            self.glance.blocked_nodes(),
            *errors,
            *outdated,
            *warnings,
        )
    }
}

impl PoolFacts<'_> {
    fn report(&self, glance: Glance) -> PoolReport {
        let name = self.name();
        let mut notes: Vec<String> = self.above().into_iter().chain(self.drains()).collect();
        if let Some(outstanding @ 1..) = self.known.outstanding() {
            notes.push(format!("{outstanding} admitted but not created yet"));
        }
        notes.extend(self.next_limit().map(|ScheduledLimit { at, nodes }| {
            format!("the schedule sets the limit to {nodes} at {at:.0}")
        }));
        notes.extend(self.used_up.iter().cloned());
        notes.extend(self.waiting());
        notes.extend(self.ledger_says());
        notes.extend(self.replacements());
        notes.extend(self.events());
        let held = self.held();
        let stop = self.stop().map(|stop| format!("NodePool {name}: {stop}"));
        let mut problems: Vec<String> = self.of_freeze().into_iter().collect();
        problems.extend(stop);
        let scheduled = self.schedule_problem();
        problems.extend(scheduled.map(|problem| format!("NodePool {name}: {problem}")));
        if let Some(held @ 1..) = held
            && self.known.has_no_leader
        {
            problems.push(format!(
                "NodePool {name}: nodes are held ({held}), but no reconciler is leading"
            ));
        }
        PoolReport {
            name: name.to_owned(),
            frozen: self.freeze().cloned(),
            limit: self.limit_report(),
            node_claims: self.known.claims.as_ref().map(Vec::len),
            held_nodes: held,
            next: self.known.pool.limit.and_then(|_| self.next()),
            denied: self.denied(),
            glance,
            is_changed: self.is_changed,
            notes,
            problems,
        }
    }

    fn limit_report(&self) -> Option<LimitReport> {
        let limit = self.known.pool.limit?;
        Some(LimitReport {
            nodes: limit.nodes,
            mode: limit.mode.as_str(),
            mode_is_written: self.known.pool.mode_is_written,
            taken: self.known.taken(),
            free: self.known.free(),
            excess: self.known.excess(),
            over_limit: self.over_limit.map(OverLimit::as_str),
            scheduled: self.next_limit(),
        })
    }

    fn next_limit(&self) -> Option<ScheduledLimit> {
        let schedule = self.known.pool.schedule.as_ref()?.as_ref().ok()?;
        let (at, nodes) = schedule.next_change(self.facts.now)?;
        Some(ScheduledLimit { at, nodes })
    }

    /// What is wrong with the schedule of its limit.
    fn schedule_problem(&self) -> Option<String> {
        let pool = &self.known.pool;
        let schedule = match pool.schedule.as_ref().filter(|_| !pool.is_static)? {
            Ok(schedule) => schedule,
            Err(error) => {
                return Some(format!(
                    "its schedule cannot be read, so its limit stays: {error}"
                ));
            }
        };
        let now = self.facts.now;
        let due = schedule.in_force(now);
        let stored = pool.stored_limit;
        if stored == Some(due) || stored == Some(schedule.in_force(now - WRITTEN_WITHIN)) {
            return None;
        }
        let stored = stored.map_or_else(|| "no limit".to_owned(), |stored| stored.to_string());
        let why = if self.known.has_no_leader {
            ": no reconciler is leading"
        } else {
            ""
        };
        Some(format!(
            "its schedule sets a limit of {due}, but {stored} is stored{why}"
        ))
    }

    /// How many of its nodes poolgate holds.
    pub fn held(&self) -> Option<usize> {
        Some(self.nodes()?.filter(|node| node.marks.any_is_ours()).count())
    }

    /// Its freeze, while it lasts.
    fn freeze(&self) -> Option<&Freeze> {
        let freeze = self.known.pool.freeze.as_ref();
        freeze.filter(|freeze| freeze.holds_at(self.facts.now))
    }

    /// What is wrong with its freeze, or left of one.
    fn of_freeze(&self) -> Option<String> {
        let name = self.name();
        let is_marked = |node: &&Node| node.marks.held_for().freeze;
        let marked = self.nodes().map_or(0, |nodes| nodes.filter(is_marked).count());
        match self.freeze() {
            Some(Freeze {
                mistake: Some(mistake),
                ..
            }) => Some(format!(
                "NodePool {name} is frozen until its annotation {FREEZE_ANNOTATION} is corrected or removed: {mistake}. To \
                 remove it: poolgate unfreeze {name}"
            )),
            Some(_) if self.known.has_no_leader => Some(format!(
                "NodePool {name} is frozen, but no reconciler is leading, so no further node is marked"
            )),
            None if marked > 0 => Some(format!(
                "NodePool {name}: a freeze is over, and {} it. The leading reconciler removes the marks. Without one: \
                 poolgate reconcile --unhold-all",
                if marked == 1 {
                    "1 node is still held for".to_owned()
                } else {
                    format!("{marked} nodes are still held for")
                }
            )),
            _ => None,
        }
    }

    /// The pods that wait for room in a full pool, and how it gets some.
    fn waiting(&self) -> Option<String> {
        let count = self.waiting;
        let room = self
            .known
            .with_room()
            .filter(|_| self.known.free() == Some(0) && count > 0)?;
        let wait = if count == 1 { "pod waits" } else { "pods wait" };
        Some(format!("{count} {wait} for a node. To give it room: {room}"))
    }

    /// NodeClaims that are being deleted keep their places.
    fn drains(&self) -> Option<String> {
        let claims = self.known_claims();
        let drains = claims.filter_map(|known| Some((known.claim.deleted?, known.node_or_claim())));
        let mut drains: Vec<_> = drains.collect();
        drains.sort();
        let (since, node) = drains.first()?;
        let mode = self.known.pool.limit.map(|limit| limit.mode);
        let places = if mode == Some(NodeLimitMode::Hard) {
            ". Each counts until it is gone"
        } else {
            ""
        };
        let count = drains.len();
        Some(format!(
            "{count} terminating, oldest {node} since {since:.0}{places}"
        ))
    }

    fn ledger_says(&self) -> Vec<String> {
        let Some(stored) = self.stored() else {
            return Vec::new();
        };
        let mut says = Vec::new();
        if let Some(lost) = &stored.lost {
            says.push(format!("ledger lost, being replaced: {lost}"));
        } else if stored.ledger.is_closed() {
            says.push("ledger lost. The pool counts as full until its NodeClaims are counted again".into());
        }
        if let (Some(termination), Some(claims)) = (stored.ledger.termination(), &self.known.claims) {
            let victims = termination.victims();
            let is_victim =
                |claim: &&ClaimState<'_>| victims.iter().any(|victim| victim.as_str() == &*claim.uid);
            let left = claims.iter().filter(is_victim).count();
            says.push(format!("{left} above the limit are being terminated"));
        }
        says
    }

    pub fn denied(&self) -> Option<DenialReport> {
        let denied = self.stored()?.ledger.denied()?;
        Some(DenialReport {
            total: denied.total,
            last_claim: denied.claim.to_string(),
            at: i64::try_from(denied.at)
                .ok()
                .and_then(|at| Timestamp::from_second(at).ok()),
        })
    }

    /// The gate's decision on one more creation. The report says elsewhere why it is unknown.
    fn next(&self) -> Option<String> {
        let asked = self.facts.asked_of_claims.get(self.name())?;
        let Asked { reports, error } = asked.as_ref().ok()?;
        let decided = reports.iter().find_map(|report| report.get("decision"));
        let unasked = error.is_none().then_some("admitted-unasked");
        decided.or(unasked).map(str::to_owned)
    }
}
