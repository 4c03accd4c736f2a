//! Clusters that several tests use at the same time: to start one takes more than most tests do.
//!
//! Tests that share a cluster do not wait for each other in Karpenter's disruption, which is one loop for all pools.
//! Creations that are denied on and on slow Karpenter down for every pool: tests that bring them about share nothing
//! with the others.

use std::sync::{Arc, Mutex};

use super::guarded::Guarded;
use crate::support::karpenter::{NodeRepair, lock};

/// For pools that are consolidated, and one that is above its limit.
pub static CONSOLIDATING: Shared<Guarded> = Shared::among(2, || {
    let guarded = Guarded::start(&["--settle=5s", "--max-terminations-per-minute=60"]);
    guarded.review_pools();
    guarded
});

/// For drift in a Hard pool and in a Soft one.
pub static DRIFTING: Shared<Guarded> = Shared::among(2, || Guarded::start(&[]));

/// For what the rest must not share: creations that are denied for as long as a node drains.
pub static DENYING: Shared<Guarded> = Shared::among(3, || Guarded::start(&[]));

/// For what takes its time and denies nothing: nodes that are replaced at a limit, one at a time in the whole cluster, and
/// broken ones that Karpenter deletes by itself.
pub static REPLACING: Shared<Guarded> = Shared::among(3, || {
    let guarded = Guarded::start_repairing(NodeRepair::Legacy, &["--settle=5s"]);
    guarded.review_pools();
    guarded
});

/// Something that starts with the first of the tests that use it, and stops with the last.
pub struct Shared<T> {
    start: fn() -> T,
    state: Mutex<State<T>>,
}

struct State<T> {
    running: Option<Arc<T>>,
    /// How many tests have yet to ask for it.
    to_come: usize,
}

impl<T> Shared<T> {
    /// For so many tests, each of which asks once.
    pub const fn among(tests: usize, start: fn() -> T) -> Self {
        Self {
            start,
            state: Mutex::new(State {
                running: None,
                to_come: tests,
            }),
        }
    }

    /// It, started if need be.
    pub fn get(&self) -> Arc<T> {
        // Where it did not start for another test, it may yet start for this one.
        let mut state = lock(&self.state);
        let running = Arc::clone(state.running.get_or_insert_with(|| Arc::new((self.start)())));
        state.to_come = state.to_come.saturating_sub(1);
        if state.to_come == 0 {
            state.running = None;
        }
        running
    }
}
