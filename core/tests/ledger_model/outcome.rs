//! What a replica does with a decision: it stores the ledger, successfully, without success or with unknown
//! outcome, and sends the answers.

use crate::driver::sight;
use crate::real::{Answers, Real, Stored};
use crate::scenario::Guard;
use crate::steps::{Action, Steps, Violation};
use crate::world::{Book, CREATES, Call, Copied, Create, Late, World};

pub(crate) fn steps(
    world: &World,
    replica: usize,
    write: Stored,
    answers: Answers,
    real: &mut Real<'_>,
    steps: &mut Steps,
) {
    let unchecked = real.lacks(Guard::CompareAndSwap);
    let current = unchecked || world.replicas[replica].copy.is_some_and(|copy| copy.current);
    let action = Action::Decide { replica };
    let mut next = *world;
    match write {
        Stored::Nothing => {
            let wrong = answer(&mut next, replica, answers, 0, real);
            steps.take_answered(action, next, wrong, world, real);
        }
        Stored::Useful(book) => {
            let wrong = answer(&mut next, replica, answers, book.reservations(), real);
            if current {
                next.store(book, unchecked);
                keep(&mut next, replica, real);
            } else {
                next.replicas[replica].drop_copy();
            }
            steps.take_answered(action, next, wrong, world, real);
        }
        Stored::Required(book) if real.lacks(Guard::StoredBeforeAnswered) => {
            let wrong = answer(&mut next, replica, answers, book.reservations(), real);
            next.replicas[replica].drop_copy();
            next.replicas[replica].late = Some(Late {
                book,
                current,
                creates: creates(world, replica),
            });
            steps.take_answered(action, next, wrong, world, real);
        }
        Stored::Required(_) if !current => {
            next.replicas[replica].drop_copy();
            steps.take(Action::Conflict { replica }, next, world, real);
        }
        Stored::Required(book) => {
            let wrong = answer(&mut next, replica, answers, book.reservations(), real);
            next.store(book, unchecked);
            keep(&mut next, replica, real);
            steps.take_answered(Action::Store { replica }, next, wrong, world, real);
            if world.left.losses > 0 {
                without_answer(world, replica, book, answers, real, steps);
            }
        }
    }
}

/// Whether the replica has found no ledger.
fn creates(world: &World, replica: usize) -> bool {
    world.replicas[replica]
        .copy
        .is_some_and(|copy| copy.book.is_none())
}

/// The write of a ledger that returns no answer: carried out, not carried out, or later.
fn without_answer(
    world: &World,
    replica: usize,
    book: Book,
    answers: Answers,
    real: &Real<'_>,
    steps: &mut Steps,
) {
    let mut lost = *world;
    lost.left.losses -= 1;
    lost.replicas[replica].drop_copy();

    let mut stored = lost;
    stored.store(book, real.lacks(Guard::CompareAndSwap));
    steps.take(Action::StoreUnanswered { replica }, stored, world, real);

    let mut later = lost;
    later.replicas[replica].late = Some(Late {
        book,
        current: true,
        creates: creates(world, replica),
    });
    steps.take(Action::StoreLater { replica }, later, world, real);

    let mut wrong = None;
    if real.lacks(Guard::UnknownIsNoSuccess) {
        wrong = answer(&mut lost, replica, answers, book.reservations(), real);
    }
    steps.take_answered(Action::StoreLost { replica }, lost, wrong, world, real);
}

/// Keeps what was stored as the replica's own copy.
pub(crate) fn keep(world: &mut World, replica: usize, real: &mut Real<'_>) {
    let (tick, book) = (world.tick, world.ledger);
    let this = &mut world.replicas[replica];
    this.drop_copy();
    this.copy = Some(Copied {
        book,
        current: true,
        read: false,
    });
    if let Some(book) = book {
        sight(this, book, tick, real);
    }
}

/// Answers all waiting calls: denials at once, the others are ready to be sent. Returns a violation if a denied
/// call had room at every instant since it arrived, counting the `reservations` of the same decision, or if one was
/// admitted above the limit without a reason.
fn answer(
    world: &mut World,
    replica: usize,
    answers: Answers,
    reservations: u8,
    real: &Real<'_>,
) -> Option<Violation> {
    let places = world.places(real.scenario.soft()) | reservations;
    let mut wrong = None;
    for claim in 0..CREATES {
        let Call::Waiting(waiting) = world.replicas[replica].calls[claim] else {
            continue;
        };
        world.replicas[replica].calls[claim] = Call::Ready {
            reserved: answers.reserved & (1 << claim) != 0,
        };
        if answers.surged & (1 << claim) != 0 && waiting.most_surge == 0 {
            wrong = Some(Violation::SurgedForNothing);
        }
        if answers.denied & (1 << claim) != 0 {
            let held = (waiting.held | places) & !(1 << claim);
            let is_excused = answers.excused & (1 << claim) != 0;
            let room = u32::from(waiting.lowest) + u32::from(waiting.least_surge);
            if held.count_ones() < room && !is_excused {
                wrong = Some(Violation::WrongDenial);
            }
            world.replicas[replica].calls[claim] = Call::None;
            if let Create::Open { allowed: false, .. } = world.creates[claim] {
                world.creates[claim] = Create::Failed;
            }
        }
    }
    wrong
}

/// An "allow" is sent.
pub(crate) fn send(world: &World, replica: usize, claim: usize, real: &Real<'_>, steps: &mut Steps) {
    let next = sent(world, replica, claim, real);
    steps.take(Action::Send { claim, replica }, next, world, real);
}

fn sent(world: &World, replica: usize, claim: usize, real: &Real<'_>) -> World {
    let mut next = *world;
    next.replicas[replica].calls[claim] = Call::None;
    if let Create::Open { allowed, .. } = &mut next.creates[claim] {
        *allowed = !real.scenario.is_dry(claim);
    }
    next
}

/// An "allow" cannot be sent, and its place is released.
pub(crate) fn release(world: &World, replica: usize, claim: usize, real: &Real<'_>, steps: &mut Steps) {
    if world.left.unsent == 0 {
        return;
    }
    let mut next = *world;
    if real.lacks(Guard::ReleaseOnlyUnsent) {
        next = sent(world, replica, claim, real);
    }
    next.left.unsent -= 1;
    next.replicas[replica].calls[claim] = Call::None;
    let times = if real.lacks(Guard::ReleaseOnce) { 2 } else { 1 };
    if let Some(book) = next.ledger {
        let after = (0..times).fold(book, |book, _| real.release(book, claim));
        if after != book {
            next.store(after, real.lacks(Guard::CompareAndSwap));
        }
    }
    steps.take(Action::Release { claim, replica }, next, world, real);
}
