//! Whether a task still comes to its next step. It beats by a timer, so a slow API server does not stop the beat. Another
//! task checks it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often the task beats and is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// How long a task that works may go without a beat. No work takes that long between two of its steps, not even on a machine
/// that is too busy.
const LONGEST: Duration = Duration::from_mins(1);

/// The heartbeat of a task. Clones are the same one. A process without such a task has one that is never missed.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    beats: AtomicU64,
    /// For how many seconds there was none, as last seen.
    missed: AtomicU64,
}

impl Heartbeat {
    /// Beats for ever, within the task that does this.
    pub async fn beat(&self) {
        loop {
            self.0.beats.fetch_add(1, Ordering::Relaxed);
            sleep(EVERY).await;
        }
    }

    /// Looks for beats for ever, in another task than the one that beats.
    pub async fn watch(&self, task: &'static str) {
        let mut silence = Silence::since(Instant::now());
        let mut is_logged = false;
        loop {
            sleep(EVERY).await;
            let beats = self.0.beats.load(Ordering::Relaxed);
            let missed = silence.look(beats, Instant::now());
            self.0.missed.store(missed.as_secs(), Ordering::Relaxed);
            if self.missed().is_some() != is_logged {
                is_logged = !is_logged;
                if is_logged {
                    let seconds = missed.as_secs();
                    tracing::error!(task, seconds, "the task makes no progress, /livez fails");
                } else {
                    tracing::warn!(task, "the task makes progress again");
                }
            }
        }
    }

    /// For how long the task has not run, if that is too long.
    pub fn missed(&self) -> Option<Duration> {
        let missed = Duration::from_secs(self.0.missed.load(Ordering::Relaxed));
        (missed >= LONGEST).then_some(missed)
    }
}

/// How long there was no beat while somebody looked.
struct Silence {
    /// How many there were.
    beats: u64,
    lasted: Duration,
    looked: Instant,
}

impl Silence {
    fn since(now: Instant) -> Self {
        Self {
            beats: 0,
            lasted: Duration::ZERO,
            looked: now,
        }
    }

    /// Counts the time since the last look, if there was no beat, and returns for how long there was none. A look that comes
    /// late counts like one in time: then the process was stopped or had no processor, and the other task as well.
    fn look(&mut self, beats: u64, now: Instant) -> Duration {
        let waited = now.saturating_duration_since(self.looked).min(EVERY);
        self.looked = now;
        self.lasted = if beats == self.beats {
            self.lasted + waited
        } else {
            Duration::ZERO
        };
        self.beats = beats;
        self.lasted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks so often, each time `step` later than the last time.
    fn look(silence: &mut Silence, beats: u64, step: Duration, times: u32) -> Duration {
        (0..times).fold(silence.lasted, |_, _| silence.look(beats, silence.looked + step))
    }

    #[test]
    fn time_without_a_beat_adds_up_until_the_next_one() {
        let mut silence = Silence::since(Instant::now());
        assert_eq!(look(&mut silence, 0, EVERY, 11), EVERY * 11, "not one beat");
        assert_eq!(look(&mut silence, 1, EVERY, 1), Duration::ZERO);
        assert_eq!(look(&mut silence, 1, EVERY, 12), LONGEST);
        assert_eq!(look(&mut silence, 9, EVERY, 1), Duration::ZERO);
    }

    #[test]
    fn time_in_which_nobody_looked_is_not_counted() {
        let mut silence = Silence::since(Instant::now());
        look(&mut silence, 1, EVERY, 1);
        let hour = Duration::from_hours(1);
        assert_eq!(look(&mut silence, 1, hour, 1), EVERY, "the process was stopped");
        assert_eq!(
            look(&mut silence, 1, hour, 3),
            EVERY * 4,
            "it was stopped again and again"
        );
        let moment = Duration::from_secs(1);
        assert_eq!(look(&mut silence, 1, moment, 2), EVERY * 4 + moment * 2);
    }
}
