//! What the API server, its clients and time do.

use poolgate_core::nodelimit::ledger::Ledger;

use crate::real::Real;
use crate::scenario::{FIRST_TICK, Guard};
use crate::steps::{Action, Steps};
use crate::world::{Book, Call, Create, Waiting, World};

/// How many ticks a create lasts at most: 34 s.
const CAP: u8 = 2;

pub(crate) fn steps(world: &World, real: &Real<'_>, steps: &mut Steps) {
    for claim in 0..real.scenario.creates {
        step_claim(world, claim, real, steps);
    }
    if usize::from(world.pool) < real.scenario.limits.len() {
        let mut next = *world;
        next.pool += 1;
        next.newer = 0;
        steps.take(Action::ChangeLimit, next, world, real);
    }
    if world.left.corruptions > 0
        && let Some(book) = world.ledger
    {
        let mut next = *world;
        next.left.corruptions -= 1;
        next.store(book.lost(), false);
        steps.take(Action::Corrupt, next, world, real);
    }
    if world.left.deletions > 0 && world.ledger.is_some() {
        let mut next = *world;
        next.left.deletions -= 1;
        next.delete_ledger();
        steps.take(Action::Delete, next, world, real);
    }
    if world.left.reconciles > 0 {
        let mut next = *world;
        next.left.reconciles -= 1;
        // It changes only what the gate does not read.
        next.store(world.ledger.unwrap_or_else(|| missing(world, real)), false);
        steps.take(Action::Reconcile, next, world, real);
    }
    if world.tick < FIRST_TICK + real.scenario.ticks {
        steps.take(Action::Tick, ticked(world, real), world, real);
    }
}

/// What the reconciler stores if there is no ledger.
fn missing(world: &World, real: &Real<'_>) -> Book {
    let has_claims = world.counted(false) != 0 && !real.lacks(Guard::MissingIsClosed);
    real.book(&Ledger::in_place_of_missing(has_claims), Book::default())
}

fn step_claim(world: &World, claim: usize, real: &Real<'_>, steps: &mut Steps) {
    match world.creates[claim] {
        // Creates are interchangeable: they start in order.
        Create::Idle if claim == 0 || world.creates[claim - 1] != Create::Idle => {
            let mut next = *world;
            next.creates[claim] = Create::Open {
                started: world.tick,
                allowed: false,
            };
            next.newer |= 1 << claim;
            next.existed[claim] = world.counted(false);
            calls(&next, world, claim, real, steps, |replica| Action::Start {
                claim,
                replica,
            });
        }
        Create::Open { allowed, .. } => {
            if world.left.repeats > 0 {
                let mut next = *world;
                next.left.repeats -= 1;
                calls(&next, world, claim, real, steps, |replica| Action::Repeat {
                    claim,
                    replica,
                });
            }
            if allowed {
                let mut next = *world;
                next.revision += 1;
                next.creates[claim] = Create::Live {
                    created: next.revision,
                };
                steps.take(Action::Commit { claim }, next, world, real);
            }
        }
        Create::Live { .. } if real.scenario.pinned && claim < real.scenario.older => {}
        Create::Live { created } => {
            let mut next = *world;
            next.revision += 1;
            let marked = next.revision;
            // Nothing is created after the last one.
            if real.scenario.surge > 0 && claim + 1 < real.scenario.creates {
                let mut disrupted = next;
                disrupted.creates[claim] = Create::Disrupted {
                    created,
                    since: marked,
                };
                steps.take(Action::Disrupt { claim }, disrupted, world, real);
            }
            if real.scenario.soft() {
                next.creates[claim] = Create::Deleting { created, marked };
                steps.take(Action::Mark { claim }, next, world, real);
            } else {
                next.creates[claim] = gone(created, marked, marked);
                steps.take(Action::Finish { claim }, next, world, real);
            }
        }
        Create::Disrupted { created, since } => {
            let mut next = *world;
            next.revision += 1;
            let (until, removed) = (next.revision, next.revision);
            let kept = Create::Kept {
                created,
                since,
                until,
            };
            let replaced = Create::Replaced {
                created,
                since,
                removed,
            };
            for (create, action) in [
                (kept, Action::CallOff { claim }),
                (replaced, Action::Finish { claim }),
            ] {
                next.creates[claim] = create;
                steps.take(action, next, world, real);
            }
        }
        Create::Deleting { created, marked } => {
            let mut next = *world;
            next.revision += 1;
            next.creates[claim] = gone(created, marked, next.revision);
            steps.take(Action::Finish { claim }, next, world, real);
        }
        _ => {}
    }
}

const fn gone(created: u8, marked: u8, removed: u8) -> Create {
    Create::Gone {
        created,
        marked,
        removed,
    }
}

/// The call may go to any replica.
fn calls(
    next: &World,
    world: &World,
    claim: usize,
    real: &Real<'_>,
    steps: &mut Steps,
    action: impl Fn(usize) -> Action,
) {
    for replica in 0..real.scenario.replicas {
        if next.replicas[replica].calls[claim] == Call::None {
            let mut next = *next;
            next.replicas[replica].calls[claim] = Call::Waiting(Waiting {
                ledger: false,
                claims: false,
                held: 0,
                lowest: u8::MAX,
                least_surge: u8::MAX,
                most_surge: 0,
            });
            next.replicas[replica].pool_fresh = !real.scenario.limit_changes();
            steps.take(action(replica), next, world, real);
        }
    }
}

/// Time advances, and creates that have lasted too long end, whatever they still wait for.
fn ticked(world: &World, real: &Real<'_>) -> World {
    let mut next = *world;
    next.tick += 1;
    for create in &mut next.creates {
        if let Create::Open { started, .. } = *create
            && next.tick > started + CAP
            && !real.lacks(Guard::CreatesAreCapped)
        {
            *create = Create::Failed;
        }
    }
    next
}
