//! For tests: how the cost of some work grows with its input. Time that a thread waits on a busy machine does not count.

use std::fs;
use std::time::Duration;

/// How many times larger the larger input is.
const LARGER: u32 = 16;

/// The kernel counts in ticks of a few milliseconds.
const TICKS: Duration = Duration::from_millis(10);

/// How much CPU time this thread has used. Only known on Linux.
pub fn computed() -> Option<Duration> {
    let schedule = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = schedule.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

/// What some work costs.
fn cost(work: impl FnOnce()) -> Option<Duration> {
    let begun = computed();
    work();
    Some(computed()?.saturating_sub(begun?))
}

/// Asserts that some work costs at most twice as much as other work.
pub fn assert_no_more(other: impl FnOnce(), work: impl FnOnce()) {
    if let (Some(most), Some(taken)) = (cost(other), cost(work)) {
        assert!(taken <= 2 * most.max(TICKS), "{taken:?}, and the other {most:?}");
    }
}

/// Asserts that work on an input of `size` takes at most four times as much per element as on a sixteenth of it. Work that grows
/// by the square takes sixteen times as much.
pub fn assert_in_proportion<I>(size: usize, input: impl Fn(usize) -> I, work: impl Fn(&I)) {
    let cost = |size: usize| {
        let input = input(size);
        cost(|| work(&input))
    };
    let (small, large) = (cost(size / LARGER as usize), cost(size));
    if let (Some(small), Some(large)) = (small, large) {
        let most = 4 * LARGER * small.max(TICKS);
        assert!(large <= most, "{large:?} for {size}, {small:?} for a sixteenth");
    }
}
