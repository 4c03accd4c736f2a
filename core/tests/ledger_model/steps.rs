//! One step of any participant, and the worlds that it leads to.

use crate::api_server;
use crate::driver;
use crate::real::Real;
use crate::scenario::{Guard, NO_LIMIT};
use crate::world::{CREATES, Create, World};

/// A step, for the story of a violation. A replica's number is its index before that step: replicas are
/// interchangeable, so they are sorted after each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Start { claim: usize, replica: usize },
    Repeat { claim: usize, replica: usize },
    Commit { claim: usize },
    Mark { claim: usize },
    Disrupt { claim: usize },
    CallOff { claim: usize },
    Finish { claim: usize },
    ChangeLimit,
    Corrupt,
    Delete,
    Reconcile,
    Tick,
    SeeEvent { replica: usize },
    SeePool { replica: usize },
    Crash { replica: usize },
    WatchAnew { replica: usize },
    ReadLedger { replica: usize },
    ListClaims { replica: usize },
    ReadPool { replica: usize },
    Decide { replica: usize },
    Store { replica: usize },
    StoreUnanswered { replica: usize },
    StoreLost { replica: usize },
    StoreLater { replica: usize },
    LateWrite { replica: usize },
    Conflict { replica: usize },
    TidyUp { replica: usize },
    Send { claim: usize, replica: usize },
    Release { claim: usize, replica: usize },
}

/// Why a world is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// More claims than the limit: of those that existed when a review began and those reviewed since.
    TooMany,
    /// A denial although there was room all the time.
    WrongDenial,
    /// A place that no claim or reservation holds cannot be used.
    HeldForEver,
    /// More than `limit - claims` could be created.
    TooManyAfterwards,
    /// A reservation for what will never be created.
    DryRunReserved,
    /// A limit was replaced by an older one.
    OlderLimit,
    /// A claim was admitted above the limit, and since it was asked about nothing was being disrupted.
    SurgedForNothing,
    /// More claims than the limit that are not recorded as admitted above it.
    Unrecorded,
    /// More claims recorded as admitted above the limit than are above it.
    SurgeKept,
}

/// Collects the worlds that can follow.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) next: Vec<(Action, World)>,
    pub(crate) violation: Option<(Action, Violation)>,
}

impl Steps {
    /// All steps that are possible in this world.
    pub(crate) fn of(world: &World, real: &mut Real<'_>) -> Self {
        let mut steps = Self::default();
        api_server::steps(world, real, &mut steps);
        for replica in 0..real.scenario.replicas {
            driver::steps(world, replica, real, &mut steps);
        }
        steps
    }

    /// Adds a world, after updating its bookkeeping.
    pub(crate) fn take(&mut self, action: Action, mut world: World, before: &World, real: &Real<'_>) {
        if let Some(violation) = violation(&world, before, real) {
            self.violation.get_or_insert((action, violation));
        }
        let exist = world.counted(false);
        for claim in 0..CREATES {
            let is_over = matches!(
                world.creates[claim],
                Create::Gone { .. } | Create::Replaced { .. } | Create::Failed
            );
            let counts = world.newer & (1 << claim) != 0 && !is_over;
            world.existed[claim] = if counts { world.existed[claim] & exist } else { 0 };
        }
        let places = world.places(real.scenario.soft());
        let limit = real.scenario.limit(world.pool);
        let surge = world.disrupted().min(real.scenario.surge);
        for waiting in world
            .replicas
            .iter_mut()
            .flat_map(crate::world::Replica::waiting_mut)
        {
            waiting.held |= places;
            waiting.lowest = waiting.lowest.min(limit);
            waiting.least_surge = waiting.least_surge.min(surge);
            waiting.most_surge = waiting.most_surge.max(surge);
        }
        let keep_lists = real.lacks(Guard::ListAfterLifetime);
        for replica in &mut world.replicas {
            replica.forget(keep_lists);
        }
        // Replicas are interchangeable: sort them.
        if let Some(replicas) = world.replicas.get_mut(..real.scenario.replicas) {
            replicas.sort_unstable();
        }
        self.next.push((action, world));
    }
}

impl Steps {
    /// Like `take`, for a step that sends answers, one of which may be wrong.
    pub(crate) fn take_answered(
        &mut self,
        action: Action,
        world: World,
        wrong: Option<Violation>,
        before: &World,
        real: &Real<'_>,
    ) {
        if let Some(violation) = wrong {
            self.violation.get_or_insert((action, violation));
        }
        self.take(action, world, before, real);
    }
}

fn violation(world: &World, before: &World, real: &Real<'_>) -> Option<Violation> {
    let scenario = real.scenario;
    let limit = scenario.limit(world.pool);
    let counted = world.counted(scenario.soft());
    let is_broken = real.lacks(Guard::ListWithoutLedger) || real.lacks(Guard::MissingIsClosed);
    let is_excepted = world.made_of_nothing && !is_broken;
    // Creates start in their order.
    let is_one_too_many = |claim: usize| {
        let existed = if is_excepted { 0 } else { world.existed[claim] };
        let count = counted & (existed | (u8::MAX << claim));
        count.count_ones() > u32::from(limit.saturating_add(scenario.surge))
    };
    let exist = world.counted(false) & world.newer;
    if limit != NO_LIMIT && (0..CREATES).any(|claim| exist & (1 << claim) != 0 && is_one_too_many(claim)) {
        return Some(Violation::TooMany);
    }
    let limits = scenario.limits.iter().max().copied().unwrap_or_default();
    let book = world.ledger?;
    let others = world.places(scenario.soft()) & !book.surged;
    if scenario.surge > 0 && others.count_ones() > u32::from(limits) {
        return Some(Violation::Unrecorded);
    }
    if book.reservations() & scenario.dry != 0 {
        return Some(Violation::DryRunReserved);
    }
    (book.closed == 0 && book.pool < before.ledger.map_or(0, |before| before.pool))
        .then_some(Violation::OlderLimit)
}
