//! How fast Karpenter replaces the drifted nodes of a pool: by its budgets, and by the places that are left.

use jiff::{Timestamp, tz::TimeZone};

use crate::budget::{Allowance, Budgets, Change, Reason, is_supported};

/// The most changes of the budgets that are followed to find when the first node may go.
const MOST_CHANGES: usize = 32;

/// How fast drifted nodes of a pool are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    nodes: Option<u32>,
    /// From when on.
    pub start: Start,
    /// How many at a time from then on; `None` if nothing limits.
    pub at_a_time: Option<AtATime>,
    /// Whether empty nodes go earlier: Karpenter removes a drifted node without pods for the reason `Empty`.
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
}

/// How many nodes go at a time, and why not more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtATime {
    /// The most at a time.
    pub nodes: u32,
    /// The budget, by its index; `None` for the places that are left under the node limit.
    pub budget: Option<usize>,
}

impl Pace {
    /// The pace from an instant on, for a pool of this many nodes, if that is known, with this many places left under its
    /// limit, if it has one that counts nodes on their way out.
    pub fn of(budgets: &Budgets, nodes: Option<u32>, places_left: Option<u32>, now: Timestamp) -> Self {
        if !is_supported(now) {
            return Self {
                nodes,
                start: Start::Now,
                at_a_time: None,
                empty_go_first: false,
            };
        }
        let assumed = nodes.unwrap_or(100);
        let is_none = |reason| budgets.allowance(reason, assumed, now).nodes() == Some(0);
        let (start, allowance) = first_opening(budgets, assumed, now);
        let by_budget = match allowance {
            // How many a percentage allows depends on the number of nodes.
            Allowance::Limited { nodes: most, budget } if nodes.is_some() => Some(AtATime {
                nodes: most,
                budget: Some(budget),
            }),
            _ => None,
        };
        let by_room = places_left.map(|nodes| AtATime { nodes, budget: None });
        let least = [by_budget, by_room]
            .into_iter()
            .flatten()
            .min_by_key(|least| least.nodes);
        Self {
            nodes,
            start: if places_left == Some(0) {
                Start::Full
            } else {
                start
            },
            at_a_time: least.filter(|most| most.nodes < assumed),
            empty_go_first: is_none(Reason::Drifted) && !is_none(Reason::Empty),
        }
    }

    /// The same for an instant that is not known: how many go at a time once nodes may go.
    #[must_use]
    pub const fn whenever(mut self) -> Self {
        if matches!(self.start, Start::At(_) | Start::NotBefore(_)) {
            self.start = Start::Now;
            self.empty_go_first = false;
        }
        self
    }

    /// A clause such as `at most 4 at a time (budgets[0]), not before Mon 2026-01-05 09:00 UTC`; `None` if there is nothing to
    /// say.
    pub fn clause(&self) -> Option<String> {
        let start = match self.start {
            Start::Never(budget) => Some(format!("none as long as budgets[{budget}] allows none")),
            Start::Unreadable(budget) => Some(format!("none while Karpenter cannot read budgets[{budget}]")),
            Start::Full => Some("none while the pool is full".to_owned()),
            Start::At(start) | Start::NotBefore(start) => {
                let start = start.to_zoned(TimeZone::UTC);
                Some(format!("not before {} UTC", start.strftime("%a %F %H:%M")))
            }
            Start::Now => None,
        };
        let moves = matches!(self.start, Start::Now | Start::At(_) | Start::NotBefore(_));
        let at_a_time = match self.at_a_time.filter(|_| moves) {
            Some(AtATime {
                nodes,
                budget: Some(budget),
            }) => Some(format!("at most {nodes} at a time (budgets[{budget}])")),
            Some(AtATime { nodes, budget: None }) => {
                Some(format!("at most {nodes} at a time (limits.nodes)"))
            }
            None if moves && self.nodes.is_some_and(|nodes| nodes > 1) => {
                Some("no budget limits how many at a time".to_owned())
            }
            None => None,
        };
        let empty = self
            .empty_go_first
            .then(|| "but empty nodes go earlier".to_owned());
        let clauses: Vec<String> = [at_a_time, start, empty].into_iter().flatten().collect();
        (!clauses.is_empty()).then(|| clauses.join(", "))
    }
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
