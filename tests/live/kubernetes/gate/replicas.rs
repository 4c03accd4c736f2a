//! Several gates and several API servers, crowded, and killed: the limit holds at every moment.

use std::thread;
use std::time::{Duration, Instant};

use super::crowd::{Crowd, LIMIT};
use crate::support::full::full;

/// The repetitions of the full tier, or fewer.
fn rounds(full_tier: u64, bounded: u64) -> u64 {
    if full() { full_tier } else { bounded }
}

#[test]
fn the_limit_holds_at_every_moment_while_replicas_die() {
    let mut crowd = Crowd::start("failing", "Fail");
    let rounds = rounds(50, 3);
    let begun = Instant::now();
    for round in 0..rounds {
        crowd.round(round);
        assert!(
            crowd.most() <= u64::from(LIMIT),
            "{} NodeClaims at a time in round {round}",
            crowd.most()
        );
    }
    crowd.report(rounds, begun.elapsed());

    crowd.clear();
    let cleared = Instant::now();
    let at_once = crowd.fill();
    crowd.clear();
    crowd.wait_until_no_reservation_is_left();
    let waited = cleared.elapsed();
    let later = crowd.fill();
    println!("failing: {at_once} places could be had at once, {later} after {waited:?}");
    assert_eq!(later, LIMIT, "places leaked");
    assert_eq!(crowd.most(), u64::from(LIMIT));
    crowd.wait_until_counted(LIMIT);
    crowd.end_census();
    println!("failing: {} claims were judged", crowd.judge());
}

/// For how long each part stands still: longer than a reservation lives, 45 s here.
const STANDSTILL: Duration = Duration::from_secs(50);

/// Sends a signal to a part.
type Signal = fn(&Crowd, &str);

#[test]
#[ignore = "long: .ci/nightly"]
fn the_limit_holds_while_programs_stand_still_for_longer_than_a_reservation_lives() {
    let mut crowd = Crowd::alone("standing");
    let parts: [(&str, Signal); 3] = [
        ("a gate", Crowd::signal_replica),
        ("an API server", |crowd, signal| {
            crowd.servers.signal_second(signal);
        }),
        ("etcd", |crowd, signal| crowd.servers.signal_store(signal)),
    ];
    for (round, (part, signal)) in parts.into_iter().enumerate() {
        crowd.crowd_in_during(round as u64, || {
            signal(&crowd, "STOP");
            thread::sleep(STANDSTILL);
            signal(&crowd, "CONT");
        });
        println!("{part} stood still: most {} NodeClaims", crowd.most());
        crowd.clear();
    }
    crowd.wait_until_no_reservation_is_left();
    assert_eq!(crowd.fill(), LIMIT, "places leaked");
    crowd.end_census();
    println!(
        "{} claims were judged; violations that gates counted: {}",
        crowd.judge(),
        crowd.violations()
    );
    assert!(crowd.most() <= u64::from(LIMIT), "{}", crowd.most());
}

#[test]
fn a_gate_that_may_be_ignored_is_overrun_only_while_it_does_not_answer() {
    let mut crowd = Crowd::start("ignoring", "Ignore");
    let rounds = rounds(50, 1);
    let begun = Instant::now();
    for round in 0..rounds {
        crowd.round(round);
    }
    crowd.report(rounds, begun.elapsed());
    println!(
        "ignoring: overrun by {}",
        crowd.most().saturating_sub(u64::from(LIMIT))
    );

    crowd.kill_all();
    crowd.clear();
    let alone = crowd.crowd_in_unasked();
    assert!(
        alone > LIMIT as usize,
        "only {alone} came in while nobody answered"
    );

    crowd.replace_all();
    assert_eq!(crowd.crowd_in(), 0, "admitted above the limit");
    crowd.clear();
    let had = crowd.crowd_in();
    assert!(had <= LIMIT as usize, "{had} admitted");
    crowd.end_census();
}
