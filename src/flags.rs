//! Values of flags that several commands take.

use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
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
            Err("it must be longer than nothing")
        } else {
            Ok(time)
        }
    })
}

/// Parses a value with a function, and lists the possible values, so that shells complete them.
#[derive(Clone)]
pub struct Listed<T: 'static> {
    pub parse: fn(&str) -> Result<T, String>,
    pub values: fn() -> Vec<PossibleValue>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Listed<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.values)().into_iter()))
    }
}
