//! Values of flags that several commands take.

use std::time::Duration;

use poolgate_core::value::duration::GoDuration;

/// Parses a duration as Go writes it, such as `500ms`, `10s` or `1m30s`; `None` if it is negative or not a
/// duration.
pub fn go_duration(text: &str) -> Option<Duration> {
    GoDuration::parse(text).ok()?.as_duration()
}

/// A duration, zero included.
pub fn time(text: &str) -> Result<Duration, &'static str> {
    go_duration(text).ok_or("write a number with its unit: 500ms, 10s, 1m")
}

/// A duration between two reads.
pub fn interval(text: &str) -> Result<Duration, &'static str> {
    time(text).and_then(|time| {
        if time.is_zero() {
            Err("it must be longer than 0s")
        } else {
            Ok(time)
        }
    })
}
