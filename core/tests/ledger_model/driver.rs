//! What a replica of the gate does around the real functions: the steps that `poolgate_core::nodelimit::ledger`
//! requires of its caller, in every order and with every failure.

use poolgate_core::nodelimit::ledger::Needs;

use crate::outcome::{self, keep};
use crate::real::{Lists, Question, Real, Reply, Stored};
use crate::scenario::Guard;
use crate::steps::{Action, Steps};
use crate::world::{Book, CREATES, Call, Copied, Replica, SIGHTS, Sighted, UNSEEN, World};

pub(crate) fn steps(world: &World, replica: usize, real: &mut Real<'_>, steps: &mut Steps) {
    background(world, replica, real, steps);
    let this = &world.replicas[replica];
    if this.waiting() != 0 {
        if this.copy.is_none() {
            let mut next = *world;
            read_ledger(&mut next, replica, real);
            steps.take(Action::ReadLedger { replica }, next, world, real);
        } else {
            match real.decide(question(world, replica)) {
                Reply::Read(needs) => reads(world, replica, needs, real, steps),
                Reply::Decided { write, answers } => {
                    outcome::steps(world, replica, write, answers, real, steps);
                }
            }
        }
    }
    for claim in 0..CREATES {
        if let Call::Ready { reserved } = this.calls[claim] {
            outcome::send(world, replica, claim, real, steps);
            if reserved || real.lacks(Guard::ReleaseOnlyReserved) {
                outcome::release(world, replica, claim, real, steps);
            }
        }
    }
}

/// What happens to a replica from outside, and its sweeps.
fn background(world: &World, replica: usize, real: &mut Real<'_>, steps: &mut Steps) {
    let this = &world.replicas[replica];
    if this.view < world.revision {
        let mut next = *world;
        let seen = &mut next.replicas[replica];
        let before = world.shown(seen.view);
        seen.view += 1;
        let after = world.shown(seen.view);
        for claim in 0..CREATES {
            seen.departed |= u8::from(before[claim].is_some() && after[claim].is_none()) << claim;
        }
        steps.take(Action::SeeEvent { replica }, next, world, real);
    }
    if this.pool < world.pool {
        let mut next = *world;
        next.replicas[replica].pool = world.pool;
        steps.take(Action::SeePool { replica }, next, world, real);
    }
    let started = Replica::new(1, !real.scenario.limit_changes());
    if world.left.crashes > 0 && *this != started {
        let mut next = *world;
        next.left.crashes -= 1;
        next.replicas[replica] = Replica {
            late: this.late,
            ..started
        };
        steps.take(Action::Crash { replica }, next, world, real);
    }
    if world.left.crashes > 0 && this.view > 0 {
        let mut next = *world;
        next.left.crashes -= 1;
        next.replicas[replica].view = 0;
        next.replicas[replica].listed = None;
        next.replicas[replica].listed_after_copy = false;
        next.replicas[replica]
            .waiting_mut()
            .for_each(|waiting| waiting.claims = false);
        steps.take(Action::WatchAnew { replica }, next, world, real);
    }
    if let Some(late) = this.late {
        let mut next = *world;
        next.replicas[replica].late = None;
        if late.current || real.lacks(Guard::CompareAndSwap) {
            next.store(late.book, real.lacks(Guard::CompareAndSwap));
        }
        steps.take(Action::LateWrite { replica }, next, world, real);
    }
    tidy_up(world, replica, real, steps);
}

/// Removes settled reservations while no request waits.
fn tidy_up(world: &World, replica: usize, real: &mut Real<'_>, steps: &mut Steps) {
    if world.replicas[replica].waiting() != 0
        || world
            .ledger
            .is_none_or(|book| book.reservations() == 0 && book.surged == 0 && book.closed == 0)
    {
        return;
    }
    let mut next = *world;
    read_ledger(&mut next, replica, real);
    // Three ticks are more than a lifetime.
    let first_seen = next.replicas[replica].first_seen;
    if first_seen
        .iter()
        .any(|first| first.saturating_add(3) <= world.tick)
    {
        list_claims(&mut next, replica);
    }
    if let Reply::Decided {
        write: Stored::Useful(book),
        ..
    } = real.decide(question(&next, replica))
    {
        next.store(book, real.lacks(Guard::CompareAndSwap));
        keep(&mut next, replica, real);
    }
    if next != *world {
        steps.take(Action::TidyUp { replica }, next, world, real);
    }
}

fn question(world: &World, replica: usize) -> Question {
    let this = &world.replicas[replica];
    let copy = this.copy.unwrap_or(Copied {
        book: None,
        current: false,
        read: false,
    });
    Question {
        // The replica does not know whether it is current.
        copy: Copied {
            current: false,
            ..copy
        },
        view: this.view,
        shown: world.shown(this.view),
        departed: this.departed,
        listed: this.listed,
        tick: world.tick,
        listed_after_copy: this.listed_after_copy,
        pool: this.pool,
        pool_fresh: this.pool_fresh,
        pool_after_copy: this.pool_after_copy,
        first_seen: this.first_seen,
        sighted: this.sighted,
        waiting: this.calls.map(|call| match call {
            Call::Waiting(waiting) => Some((waiting.ledger, waiting.claims)),
            _ => None,
        }),
        lists: Lists::InTime,
    }
}

fn reads(world: &World, replica: usize, needs: Needs, real: &mut Real<'_>, steps: &mut Steps) {
    if needs.ledger {
        let mut next = *world;
        read_ledger(&mut next, replica, real);
        steps.take(Action::ReadLedger { replica }, next, world, real);
    }
    if needs.claims {
        let mut next = *world;
        list_claims(&mut next, replica);
        steps.take(Action::ListClaims { replica }, next, world, real);
        let late = Question {
            lists: Lists::Late,
            ..question(world, replica)
        };
        if let Reply::Decided { write, answers } = real.decide(late) {
            outcome::steps(world, replica, write, answers, real, steps);
        }
    }
    if needs.limit {
        let mut next = *world;
        read_pool(&mut next, replica);
        steps.take(Action::ReadPool { replica }, next, world, real);
    }
}

fn read_pool(world: &mut World, replica: usize) {
    let this = &mut world.replicas[replica];
    this.pool = world.pool;
    this.pool_fresh = true;
    this.pool_after_copy = this.copy.is_some();
}

fn read_ledger(world: &mut World, replica: usize, real: &mut Real<'_>) {
    let (book, tick) = (world.ledger, world.tick);
    let this = &mut world.replicas[replica];
    this.copy = Some(Copied {
        book,
        current: true,
        read: true,
    });
    this.listed_after_copy = false;
    this.pool_after_copy = false;
    this.waiting_mut().for_each(|waiting| waiting.ledger = true);
    if let Some(book) = book {
        sight(this, book, tick, real);
    } else {
        this.first_seen = [UNSEEN; SIGHTS];
        this.sighted = Sighted::default();
    }
}

/// Records the reservations of a ledger that was read.
pub(crate) fn sight(this: &mut Replica, book: Book, tick: u8, real: &mut Real<'_>) {
    let before = this.first_seen;
    (this.first_seen, this.sighted) = real.observe(before, this.sighted, book, tick);
    if real.lacks(Guard::UnknownReservationIsYoung) {
        for ((first, before), calls) in this.first_seen.iter_mut().zip(before).zip(book.calls) {
            if *first != before && calls > 0 {
                *first = 0;
            }
        }
    }
}

fn list_claims(world: &mut World, replica: usize) {
    let before = world.shown(world.replicas[replica].view);
    let after = world.shown(world.revision);
    let this = &mut world.replicas[replica];
    for claim in 0..CREATES {
        this.departed |= u8::from(before[claim].is_some() && after[claim].is_none()) << claim;
    }
    this.view = world.revision;
    this.listed = Some(world.tick);
    this.listed_after_copy = this.copy.is_some();
    this.waiting_mut().for_each(|waiting| waiting.claims = true);
}
