//! Values of flags that several commands take. Knows nothing of what they are for.

use std::time::Duration;

use poolgate_core::value::duration::GoDuration;

/// Reads a length of time as Go writes it, such as `500ms`, `10s` or `1m30s`; none if it is negative.
pub(crate) fn go_duration(text: &str) -> Option<Duration> {
    let nanos = GoDuration::parse(text).ok()?.as_nanos();
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// A length of time, nothing included.
pub(crate) fn time(text: &str) -> Result<Duration, &'static str> {
    go_duration(text).ok_or("write a number with its unit: 500ms, 10s, 1m")
}

/// A length of time that passes between two looks.
pub(crate) fn interval(text: &str) -> Result<Duration, &'static str> {
    time(text).and_then(|time| {
        if time.is_zero() {
            Err("it must be longer than nothing")
        } else {
            Ok(time)
        }
    })
}
