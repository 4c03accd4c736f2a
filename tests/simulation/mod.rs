//! The real code of gate and reconciler under every order of events: a seed decides when each process runs, how long each
//! call takes and what goes wrong, and the same seed gives the same run again. tests/README.md says how to debug one.
//!
//! It enters by clients, the router and clocks. Time is paused, so that ten minutes take as long as the work in them.

#[cfg(not(tokio_unstable))]
compile_error!("RUSTFLAGS takes the place of .cargo/config.toml: add --cfg tokio_unstable to it");

mod cluster;
mod creators;
mod expect;
mod faults;
mod freezes;
#[path = "../support/history.rs"]
mod history;
mod judged;
mod karpenter;
mod moved;
mod process;
mod schedules;
mod server;
mod store;
mod strangers;
mod trouble;
mod watch;
mod world;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, thread};

use tokio::runtime::{Builder, RngSeed};
use tokio::task::LocalSet;

use world::Outcome;

/// The seeds of every test run.
const FEW: Range<u64> = 0..60;

/// The fixed seeds of a nightly run.
const FIXED: Range<u64> = 0..240;

/// How many fresh seeds a nightly run has: about five minutes.
const FRESH: u64 = 800;

/// What must have happened in them, or they show nothing.
const MUST_HAPPEN: [&str; 20] = [
    "admitted",
    "conflict",
    "closed ledger opened",
    "denied at the limit",
    "denied by a closed ledger",
    "denied by another webhook",
    "freeze",
    "held",
    "leader",
    "limit fallen by its schedule",
    "limit risen by its schedule",
    "ledger of a later release",
    "ledgers moved",
    "marked for a freeze",
    "relabelling denied",
    "replacement",
    "reservation expired",
    "reservation released",
    "surge",
    "termination",
];

/// Runs a seed.
fn run(seed: u64, is_shown: bool) -> Outcome {
    // The jitter of the pauses between tries.
    fastrand::seed(seed);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()))
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, world::run(seed, is_shown))
}

/// Runs these seeds side by side, until one breaks a promise. Returns what happened in all of them.
fn run_all(seeds: Range<u64>) -> BTreeMap<&'static str, usize> {
    let (next, has_failed) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let happened = Mutex::new(BTreeMap::new());
    let work = || {
        while !has_failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return;
            }
            let outcome = run(seed, false);
            let mut happened = happened.lock().expect("nobody panicked with it");
            for (what, count) in outcome.happened {
                *happened.entry(what).or_default() += count;
            }
            if let Some(first) = outcome.violations.first() {
                println!(
                    "{first}\n{} in all; to see what led to it: tests/simulate {seed}",
                    outcome.violations.len()
                );
                has_failed.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(4) {
            scope.spawn(work);
        }
    });
    assert!(!has_failed.into_inner(), "a promise does not hold");
    happened.into_inner().expect("nobody panicked with it")
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in 0..5 {
        assert_eq!(run(seed, false).hash, run(seed, false).hash, "seed {seed}");
    }
}

#[test]
fn promises_hold_in_a_few_simulated_orders_of_events() {
    hold_in(FEW);
}

#[test]
#[ignore = "long: .ci/nightly"]
fn promises_hold_in_every_simulated_order_of_events() {
    hold_in(FIXED);
}

fn hold_in(seeds: Range<u64>) {
    let happened = run_all(seeds);
    println!("{happened:#?}");
    for what in MUST_HAPPEN {
        assert!(happened.contains_key(what), "it never came to this: {what}");
    }
}

/// `tests/simulate` says which, in the environment; otherwise fresh ones.
#[test]
#[ignore = "long: .ci/nightly"]
fn promises_hold_for_these_seeds() {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let Some(first) = number("POOLGATE_SIMULATE_FIRST") else {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a clock after 1970");
        let first = now.as_secs() * 1_000;
        println!("{:#?}", run_all(first..first + FRESH));
        return;
    };
    if let Some(count) = number("POOLGATE_SIMULATE_COUNT") {
        println!("{:#?}", run_all(first..first + count));
        return;
    }
    let log = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .without_time();
    let _shown = tracing::subscriber::set_default(log.with_writer(std::io::stderr).finish());
    let outcome = run(first, true);
    println!("{:#?}", outcome.happened);
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.violations);
}
