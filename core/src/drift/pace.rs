//! How fast Karpenter replaces the drifted nodes of a pool: by its budgets, and by the places that are left.

use jiff::{SignedDuration, Timestamp};

use crate::budget::{Allowance, Budgets, Change, Reason, is_supported, utc};

/// The most changes of the budgets that are followed to find when the first node may go.
const MOST_CHANGES: usize = 32;

/// Most budgets repeat weekly.
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How fast drifted nodes of a pool are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From when on.
    pub start: Start,
    /// How many at a time from then on.
    first: Rate,
    /// How that changes within a week.
    later: Later,
    /// How many at a time where poolgate's gate enforces the limit, if it is not known to, and if that is fewer.
    if_gated: Option<u32>,
    /// True if empty nodes go earlier: Karpenter removes a drifted node without pods for the reason `Empty`.
    pub empty_go_first: bool,
}

/// When the first node may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Now.
    Now,
    /// When a window opens or closes.
    At(Timestamp),
    /// Not before this instant. Nobody has searched further.
    NotBefore(Timestamp),
    /// Never, because of the budget of this index.
    Never(usize),
    /// Not while Karpenter cannot read the budget of this index.
    Unreadable(usize),
    /// Not while the pool is full.
    Full,
    /// Not while the pool has more nodes than its limit.
    Exceeded,
}

/// How a node limit restricts replacements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Not at all. Karpenter counts without the node that goes.
    Any,
    /// This many places are left, and nodes on their way out count.
    Places(u32),
    /// The same, if poolgate's gate runs. Nobody knows whether it does.
    IfGated(u32),
    /// The pool has more nodes than its limit, so Karpenter launches none.
    Exceeded,
}

impl Room {
    /// What a node limit with this many places left does to replacements. `counts_all` says that nodes on their way out count:
    /// those of a static pool, and those behind poolgate's gate.
    pub const fn of(left: u32, counts_all: bool, is_hard: bool, is_exceeded: bool) -> Self {
        if counts_all {
            Self::Places(left)
        } else if is_exceeded {
            Self::Exceeded
        } else if is_hard {
            Self::IfGated(left)
        } else {
            Self::Any
        }
    }
}

/// How many nodes go at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    /// Not known without the number of nodes, or without meaning for one node.
    Unknown,
    /// All: nothing limits.
    All,
    /// So many, by the budget of this index; `None` is the node limit.
    Most(u32, Option<usize>),
}

/// How the number changes within a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Later {
    /// It never exceeds the first, nor falls below.
    Same,
    /// It is the highest from this instant on.
    More(Timestamp, Rate),
    /// The first is the highest, and this the lowest.
    Fewer(Rate),
}

impl Pace {
    /// The pace from an instant on, for a pool of this many nodes, if that is known. `empty_nodes_go` is whether Karpenter
    /// removes the pool's empty nodes.
    pub fn of(
        budgets: &Budgets,
        nodes: Option<u32>,
        room: Room,
        empty_nodes_go: bool,
        now: Timestamp,
    ) -> Self {
        if !is_supported(now) {
            return Self {
                start: Start::Now,
                first: Rate::Unknown,
                later: Later::Same,
                if_gated: None,
                empty_go_first: false,
            };
        }
        let assumed = nodes.unwrap_or(100);
        let is_none = |reason| budgets.allowance(reason, assumed, now).nodes() == Some(0);
        let (start, allowance) = first_opening(budgets, assumed, now);
        let rate = |allowance| Rate::of(allowance, nodes, room);
        let first = match start {
            Start::NotBefore(_) => Rate::Unknown,
            _ => rate(allowance),
        };
        let later = match start {
            Start::Now => Later::of(budgets, assumed, now, rate),
            Start::At(opens) => Later::of(budgets, assumed, opens, rate),
            _ => Later::Same,
        };
        let highest = match later {
            Later::More(_, highest) => highest,
            Later::Same | Later::Fewer(_) => first,
        };
        Self {
            start: match room {
                Room::Places(0) => Start::Full,
                Room::Exceeded => Start::Exceeded,
                _ => start,
            },
            first,
            // That nodes wait for a window is said already.
            later: match (start, later) {
                (Start::At(_), Later::Fewer(_)) => Later::Same,
                _ => later,
            },
            if_gated: match room {
                Room::IfGated(places) if places < highest.number().min(assumed) => Some(places),
                _ => None,
            },
            empty_go_first: empty_nodes_go && is_none(Reason::Drifted) && !is_none(Reason::Empty),
        }
    }

    /// True if nodes go at all, now or later.
    const fn moves(&self) -> bool {
        matches!(self.start, Start::Now | Start::At(_) | Start::NotBefore(_))
    }

    /// A clause such as `at most 4 at a time (budgets[0]), not before Mon 2026-01-05 09:00 UTC`; `None` if there is nothing to
    /// say.
    pub fn clause(&self) -> Option<String> {
        let start = match self.start {
            Start::Never(budget) => Some(format!("none as long as budgets[{budget}] allows none")),
            Start::Unreadable(budget) => Some(format!("none while Karpenter cannot read budgets[{budget}]")),
            Start::Full => Some("none while the pool is full".to_owned()),
            Start::Exceeded => Some("none while the pool has more nodes than its limit".to_owned()),
            Start::At(start) | Start::NotBefore(start) => Some(format!("not before {}", utc(start))),
            Start::Now => None,
        };
        let changes = self.later != Later::Same && self.start == Start::Now;
        let first = self.first.clause(changes).filter(|_| self.moves());
        let later = match self.later {
            _ if !self.moves() => None,
            Later::Same => None,
            Later::More(from, Rate::Most(nodes, by)) => {
                Some(format!("at most {nodes} from {} ({})", utc(from), limited_by(by)))
            }
            Later::More(from, _) if first.is_some() => Some(format!("all from {}", utc(from))),
            Later::More(from, _) => Some(format!("no budget limits how many at a time from {}", utc(from))),
            Later::Fewer(Rate::Most(0, by)) => Some(format!("at times none ({})", limited_by(by))),
            Later::Fewer(Rate::Most(nodes, by)) => {
                Some(format!("at times at most {nodes} ({})", limited_by(by)))
            }
            Later::Fewer(_) => Some("at times fewer".to_owned()),
        };
        let empty = self
            .empty_go_first
            .then(|| "but empty nodes go earlier".to_owned());
        let clauses: Vec<String> = [first, start, later, empty].into_iter().flatten().collect();
        (!clauses.is_empty()).then(|| clauses.join(", "))
    }

    /// What is different if poolgate's gate runs, where that is not known: a clause.
    pub fn if_gated(&self) -> Option<String> {
        match self.if_gated.filter(|_| self.moves())? {
            0 => Some("with poolgate's gate, none while the pool is full".to_owned()),
            places => Some(format!(
                "with poolgate's gate, at most {places} at a time (limits.nodes)"
            )),
        }
    }
}

impl Rate {
    /// What an allowance means for a pool of this many nodes, if that is known, with this room.
    fn of(allowance: Allowance, nodes: Option<u32>, room: Room) -> Self {
        let by_budget = match (allowance, nodes) {
            (Allowance::Unlimited, _) => None,
            (Allowance::Blocked { budget } | Allowance::Limited { nodes: 0, budget }, _) => {
                Some((0, Some(budget)))
            }
            // How many a percentage allows depends on the number of nodes.
            (Allowance::Limited { .. }, None) => return Self::Unknown,
            (Allowance::Limited { nodes, budget }, Some(_)) => Some((nodes, Some(budget))),
        };
        let by_room = match room {
            Room::Places(places) => Some((places, None)),
            Room::Any | Room::IfGated(_) | Room::Exceeded => None,
        };
        let least = by_budget.into_iter().chain(by_room).min_by_key(|(most, _)| *most);
        match least.filter(|(most, _)| nodes.is_none_or(|nodes| *most < nodes)) {
            Some((most, by)) => Self::Most(most, by),
            None if nodes.is_some_and(|nodes| nodes < 2) => Self::Unknown,
            None => Self::All,
        }
    }

    /// To compare by: a number that is not known is lower than all.
    const fn number(self) -> u32 {
        match self {
            Self::All => u32::MAX,
            Self::Most(nodes, _) => nodes,
            Self::Unknown => 1,
        }
    }

    fn clause(self, changes: bool) -> Option<String> {
        let now = if changes { " now" } else { "" };
        match self {
            Self::Unknown => None,
            Self::All => Some(format!("no budget limits how many at a time{now}")),
            Self::Most(nodes, by) => Some(format!("at most {nodes} at a time{now} ({})", limited_by(by))),
        }
    }
}

impl Later {
    /// What follows an instant at which nodes go.
    fn of(budgets: &Budgets, nodes: u32, from: Timestamp, rate: impl Fn(Allowance) -> Rate) -> Self {
        let until = from.checked_add(WEEK).unwrap_or(from);
        let steps = budgets.steps(Reason::Drifted, nodes, from, until);
        let rates = || steps.iter().map(|(at, allowance)| (*at, rate(*allowance)));
        let Some((_, first)) = rates().next() else {
            return Self::Same;
        };
        // The first of several.
        let highest = rates().rev().max_by_key(|(_, rate)| rate.number());
        let lowest = rates().min_by_key(|(_, rate)| rate.number());
        match (highest, lowest) {
            (Some((at, highest)), _) if highest.number() > first.number() => Self::More(at, highest),
            (_, Some((_, lowest))) if lowest.number() < first.number() => Self::Fewer(lowest),
            _ => Self::Same,
        }
    }
}

fn limited_by(budget: Option<usize>) -> String {
    budget.map_or_else(
        || "limits.nodes".to_owned(),
        |budget| format!("budgets[{budget}]"),
    )
}

fn first_opening(budgets: &Budgets, nodes: u32, now: Timestamp) -> (Start, Allowance) {
    let mut allowance = budgets.allowance(Reason::Drifted, nodes, now);
    let mut at = now;
    for _ in 0..MOST_CHANGES {
        let closed = match allowance {
            Allowance::Blocked { budget } => return (Start::Unreadable(budget), allowance),
            Allowance::Limited { nodes: 0, budget } => budget,
            Allowance::Limited { .. } | Allowance::Unlimited => {
                let start = if at == now { Start::Now } else { Start::At(at) };
                return (start, allowance);
            }
        };
        match budgets.next_change(Reason::Drifted, nodes, at) {
            Change::Never => return (Start::Never(closed), allowance),
            Change::NotBefore(end) => return (Start::NotBefore(end), allowance),
            Change::At { at: next, to } => (at, allowance) = (next, to),
        }
    }
    (Start::NotBefore(at), allowance)
}
