//! Parses text into sets, with the grammar of robfig/cron v3.0.1 after the `TZ=UTC ` that Karpenter puts before
//! every schedule. Which of two mistakes is reported follows that parser's order of checks.

use std::time::Duration;

use super::Recurrence;
use super::error::{CountCause, RangeItem, ScheduleError};
use super::fields::{CalendarFields, CronField, Days, MACROS, Set};
use crate::value::duration::GoDuration;
use crate::value::excerpt;

/// Parses a schedule as Karpenter's cron library does.
// karpenter: pkg/apis/v1/nodepool.go Budget.IsActive
pub fn schedule(text: &str) -> Result<Recurrence, ScheduleError> {
    let text = text.trim();
    if text.starts_with('@') {
        return descriptor(text);
    }
    fields(text).map(Recurrence::Calendar)
}

/// Parses a text that begins with `@`. It is case-sensitive, and nothing may follow.
fn descriptor(text: &str) -> Result<Recurrence, ScheduleError> {
    if let Some((_, spelt_out)) = MACROS.iter().find(|(name, _)| *name == text) {
        return fields(spelt_out).map(Recurrence::Calendar);
    }
    let Some(delay) = text.strip_prefix("@every ") else {
        return Err(ScheduleError::UnknownMacro { name: excerpt(text) });
    };
    let delay = GoDuration::parse(delay).map_err(|source| ScheduleError::BadEvery {
        delay: excerpt(delay),
        source,
    })?;
    let seconds = u64::try_from(delay.as_nanos() / 1_000_000_000).unwrap_or(0);
    Ok(Recurrence::Every(Duration::from_secs(seconds.max(1))))
}

/// Parses five fields separated by any Unicode white space.
fn fields(text: &str) -> Result<CalendarFields, ScheduleError> {
    let mut words = text.split_whitespace();
    let six: [Option<&str>; 6] = std::array::from_fn(|_| words.next());
    let [
        Some(minute),
        Some(hour),
        Some(day_of_month),
        Some(month),
        Some(day_of_week),
        None,
    ] = six
    else {
        return Err(field_count(text));
    };
    let minutes = field(minute, CronField::Minute)?;
    let hours = field(hour, CronField::Hour)?;
    let dates = field(day_of_month, CronField::DayOfMonth)?;
    let months = field(month, CronField::Month)?;
    let weekdays = field(day_of_week, CronField::DayOfWeek)?;
    Ok(CalendarFields {
        minutes: minutes.bits,
        hours: hours.bits,
        months: months.bits,
        days: Days::new(dates, weekdays),
    })
}

/// The day fields of a text that [`schedule`] accepts; `None` if it has none.
pub fn day_fields(text: &str) -> Option<(Set, Set)> {
    let mut words = text.split_whitespace();
    let dates = field(words.nth(2)?, CronField::DayOfMonth).ok()?;
    let weekdays = field(words.nth(1)?, CronField::DayOfWeek).ok()?;
    Some((dates, weekdays))
}

/// The error for a text of more or fewer than five fields.
fn field_count(text: &str) -> ScheduleError {
    let found = text.split_whitespace().count();
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let lacks_at = |name: &&(&'static str, _)| name.0.strip_prefix('@') == Some(first);
    let cause = if first.starts_with("TZ=") || first.starts_with("CRON_TZ=") {
        CountCause::TimeZone
    } else if words.nth(4).is_some_and(|sixth| sixth.starts_with('#')) {
        CountCause::Comment
    } else if let (1, Some((name, _))) = (found, MACROS.iter().find(lacks_at)) {
        CountCause::MacroWithoutAt(name)
    } else if found > 5 {
        CountCause::TooMany
    } else {
        CountCause::TooFew
    };
    ScheduleError::FieldCount { found, cause }
}

/// Parses one field: a list of items; empty items are ignored.
fn field(text: &str, field: CronField) -> Result<Set, ScheduleError> {
    text.split(',')
        .filter(|item_text| !item_text.is_empty())
        .try_fold(Set::EMPTY, |set, item_text| Ok(set | item(item_text, field)?))
}

/// Parses `base`, `low-high`, or one of them with `/step`.
fn item(text: &str, field: CronField) -> Result<Set, ScheduleError> {
    let mut parts = text.split('/');
    let base = parts.next().unwrap_or_default();
    let step = parts.next();
    let (low, high, starred) = range(base, step.is_some(), text, field)?;
    if parts.next().is_some() {
        return Err(ScheduleError::TooManySlashes { item: excerpt(text) });
    }
    let as_range = || RangeItem {
        field,
        text: excerpt(text),
        low,
        high,
        stepped: step.is_some(),
    };
    let step = step.map_or(Ok(1), |step| step_of(step, text, field))?;
    if low < u64::from(field.lowest()) {
        return Err(ScheduleError::BelowMinimum { field, value: low });
    }
    if high > u64::from(field.highest()) {
        return Err(ScheduleError::AboveMaximum(as_range()));
    }
    if low > high {
        return Err(ScheduleError::Backwards(as_range()));
    }
    if step == 0 {
        return Err(ScheduleError::ZeroStep { item: excerpt(text) });
    }
    let star = starred && step == 1;
    Ok(Set {
        star,
        ..Set::stepped(low, high, step)
    })
}

/// The ends of a range and whether it began with `*` or `?`. After these, a hyphen and everything after it is
/// ignored.
fn range(base: &str, stepped: bool, item: &str, field: CronField) -> Result<(u64, u64, bool), ScheduleError> {
    let mut ends = base.split('-');
    let low = ends.next().unwrap_or_default();
    let high = ends.next();
    if low == "*" || low == "?" {
        return Ok((field.lowest().into(), field.highest().into(), true));
    }
    let low = value(low, item, field)?;
    match high {
        None if stepped => Ok((low, field.highest().into(), false)),
        None => Ok((low, low, false)),
        Some(_) if ends.next().is_some() => Err(ScheduleError::TooManyHyphens { item: excerpt(item) }),
        Some(high) => Ok((low, value(high, item, field)?, false)),
    }
}

/// A value of a field: a name of three letters if the field has names, or a number.
fn value(text: &str, item: &str, field: CronField) -> Result<u64, ScheduleError> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return number(text, item, field);
    }
    match named(text, field.names()) {
        Some(place) => Ok(u64::from(place) + u64::from(field.lowest())),
        None => number(text, item, field),
    }
}

/// The index of a name in a list, ignoring case. Go folds the Turkish dotted capital I to a plain i.
pub fn named(text: &str, names: &[&str]) -> Option<u8> {
    let fold = |character: char| match character {
        '\u{130}' => 'i',
        other => other.to_ascii_lowercase(),
    };
    let place = names
        .iter()
        .position(|name| text.chars().map(fold).eq(name.chars()))?;
    u8::try_from(place).ok()
}

/// A number as Go's `Atoi` reads it: a sign and leading zeros are legal. Only a step can be negative, because a
/// hyphen anywhere else ends a range.
fn number(text: &str, item: &str, field: CronField) -> Result<u64, ScheduleError> {
    text.parse::<i64>()
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| ScheduleError::NotANumber {
            field,
            item: excerpt(item),
            piece: excerpt(text),
        })
}

/// The step after a slash.
fn step_of(text: &str, item: &str, field: CronField) -> Result<u64, ScheduleError> {
    if text.parse::<i64>().is_ok_and(|step| step < 0) {
        return Err(ScheduleError::NegativeStep { item: excerpt(item) });
    }
    number(text, item, field)
}
