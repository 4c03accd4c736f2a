//! The help for a schedule that Karpenter cannot read.

use serde_json::Value;

use super::Schedule;
use super::error::{CountCause, RangeItem, ScheduleError};
use super::fields::{CronField, MACROS, MONTHS, WEEKDAYS};
use super::parse::named;
use crate::diagnostic::{Edit, Suggestion, nearest_within};
use crate::value::is_cut;

/// Full names of the months and days: longer than the three letters that Karpenter reads.
const FULL_NAMES: &str = "january february march april may june july august september october november december \
     sunday monday tuesday wednesday thursday friday saturday";

const NO_ZONE: &str = "remove the time zone, and write the hours in UTC";

/// The most letters in which a misspelt macro may differ from the intended one.
const TYPING_SLIP: usize = 2;

impl ScheduleError {
    /// What to write instead, in words, if that is certain.
    pub fn suggestion(&self) -> Option<Suggestion> {
        let text = match self {
            ScheduleError::FieldCount { cause, .. } => field_count(*cause),
            ScheduleError::UnknownMacro { name } => misspelt(name).map(|meant| format!("write {meant}")),
            ScheduleError::BadEvery { .. } => Some("write five fields instead of @every".into()),
            ScheduleError::NotANumber { field, item, piece } => not_a_number(*field, item, piece),
            ScheduleError::AboveMaximum(item) => above(item),
            ScheduleError::Backwards(item) => wrapped(item).map(|pieces| format!("write {pieces}")),
            ScheduleError::TooManyHyphens { .. }
            | ScheduleError::TooManySlashes { .. }
            | ScheduleError::BelowMinimum { .. }
            | ScheduleError::ZeroStep { .. }
            | ScheduleError::NegativeStep { .. } => None,
        };
        text.map(Into::into)
    }

    /// What to write instead, in words and with the edit of `text`, the schedule that has the error, if there is only one possible edit.
    pub(crate) fn suggestion_for(&self, text: &str) -> Option<Suggestion> {
        let edit = self
            .corrected(text)
            .map(|schedule| Edit::Set(Value::String(schedule)));
        self.suggestion().map(|suggestion| suggestion.with(edit))
    }

    /// The schedule as it was probably meant; `None` if that is not certain.
    fn corrected(&self, text: &str) -> Option<String> {
        let (old, new) = match self {
            ScheduleError::FieldCount {
                cause: CountCause::MacroWithoutAt(name),
                ..
            } => return Some((*name).to_owned()),
            ScheduleError::UnknownMacro { name } => return misspelt(name).map(str::to_owned),
            ScheduleError::NotANumber { .. } => return legal(&with_short_names(text)),
            ScheduleError::AboveMaximum(item) => (&item.text, within_week(item)?),
            ScheduleError::Backwards(item) => (&item.text, wrapped(item)?),
            _ => return None,
        };
        let mut places = text.match_indices(old.as_str());
        let (at, _) = places.next()?;
        let is_only = places.next().is_none() && !old.is_empty();
        let before = text.get(..at)?;
        let behind = text.get(at + old.len()..)?;
        let stands_alone =
            !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric);
        legal(&format!("{before}{new}{behind}")).filter(|_| is_only && stands_alone)
    }
}

/// The schedule with single blanks, if both Karpenter and its CRD accept it: the CRD rejects `@every`.
fn legal(schedule: &str) -> Option<String> {
    let is_legal = Schedule::parse(schedule).is_ok_and(|schedule| schedule.every().is_none());
    is_legal.then(|| schedule.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text with each name of a month or day shortened to three letters.
fn with_short_names(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphabetic());
    let mut short = String::with_capacity(text.len());
    for word in words {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        short.push_str(short_name(name).unwrap_or(name));
        short.push_str(word.strip_prefix(name).unwrap_or_default());
    }
    short
}

fn field_count(cause: CountCause) -> Option<String> {
    match cause {
        CountCause::TimeZone => Some(NO_ZONE.into()),
        CountCause::Comment => Some("remove the comment".into()),
        CountCause::MacroWithoutAt(name) => Some(format!("write {name}")),
        CountCause::TooMany => Some("remove the extra fields, such as seconds or years".into()),
        CountCause::TooFew => None,
    }
}

/// The macro that a misspelt one means.
fn misspelt(name: &str) -> Option<&'static str> {
    if is_cut(name) {
        return None;
    }
    let (word, rest) = name.split_once(char::is_whitespace).unwrap_or((name, ""));
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with('#') {
        return None;
    }
    nearest_within(TYPING_SLIP, word, MACROS.iter().map(|(name, _)| *name))
}

fn not_a_number(field: CronField, item: &str, piece: &str) -> Option<String> {
    if piece.starts_with("TZ=") || piece.starts_with("CRON_TZ=") {
        return Some(NO_ZONE.into());
    }
    if piece.starts_with(['"', '\'']) {
        return Some("remove the inner quotes".into());
    }
    if is_cut(item) {
        return None;
    }
    if let Some(short) = short_name(piece) {
        if named(short, field.names()).is_some() {
            return Some(format!("write {}", with_short_names(item)));
        }
        return Some(format!("write a name only in the field for {}", home_of(short)));
    }
    let digits_aside = item.trim_matches(|c: char| c.is_ascii_digit() || c == '-');
    matches!(
        digits_aside.to_ascii_uppercase().as_str(),
        "L" | "W" | "LW" | "#" | "MON#" | "FRI#" | "H"
    )
    .then(|| "write numbers instead of L, W, # or H".into())
}

/// The three letters for a month or day that is written in another way, such as `tues` or `mon`.
fn short_name(piece: &str) -> Option<&'static str> {
    let folded = piece.to_ascii_lowercase();
    let full = |name: &str| folded.len() >= 3 && name.starts_with(folded.as_str());
    let place = FULL_NAMES.split(' ').position(full)?;
    MONTHS.iter().chain(&WEEKDAYS).nth(place).copied()
}

/// The field that a name belongs to.
fn home_of(short: &str) -> CronField {
    if WEEKDAYS.contains(&short) {
        CronField::DayOfWeek
    } else {
        CronField::Month
    }
}

fn above(item: &RangeItem) -> Option<String> {
    if item.field == CronField::Hour && item.low == 24 && !item.stepped {
        return Some("write 0 for midnight".into());
    }
    let days = within_week(item)?;
    Some(match item.low {
        7 => format!("write {days} for Sunday"),
        _ => format!("write {days}"),
    })
}

/// The days of the week if Sunday was written as 7.
fn within_week(item: &RangeItem) -> Option<String> {
    if item.field != CronField::DayOfWeek || item.high != 7 || item.stepped {
        return None;
    }
    match item.low {
        7 => Some("0".into()),
        // Not `*`: a star would change how the two day fields combine.
        0 | 1 => Some("0-6".into()),
        _ => wrapped(&RangeItem {
            high: 0,
            ..item.clone()
        }),
    }
}

/// A range that wraps around the end of its field, split into two; if names were used, listed name by name.
fn wrapped(item: &RangeItem) -> Option<String> {
    let field = item.field;
    let (low, high) = (u8::try_from(item.low).ok()?, u8::try_from(item.high).ok()?);
    if item.stepped || low > field.highest() {
        return None;
    }
    let by_name = item.text.starts_with(|c: char| c.is_alphabetic());
    if by_name || field == CronField::DayOfWeek {
        let values = (low..=field.highest()).chain(field.lowest()..=high);
        let written: Vec<String> = values
            .map(|value| match field.name_of(value) {
                Some(name) if by_name => name.to_owned(),
                _ => value.to_string(),
            })
            .collect();
        return Some(written.join(","));
    }
    Some(format!(
        "{},{}",
        span(low, field.highest()),
        span(field.lowest(), high)
    ))
}

fn span(low: u8, high: u8) -> String {
    if low == high {
        low.to_string()
    } else {
        format!("{low}-{high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_a_whole_schedule_or_nothing() {
        for (text, meant) in [
            ("0 9 * * sat-sun", Some("0 9 * * sat,sun")),
            ("0 9 * * 5-7", Some("0 9 * * 5,6,0")),
            ("0 9 * * 7", Some("0 9 * * 0")),
            ("0 9 * * 1-7", Some("0 9 * * 0-6")),
            ("0 9 * * monday", Some("0 9 * * mon")),
            ("0 9 * * Monday-Friday", Some("0 9 * * mon-fri")),
            ("0 9 * january tuesday,Thursday", Some("0 9 * jan tue,thu")),
            ("0 9 * monday *", None),
            ("daily", Some("@daily")),
            ("@dayly", Some("@daily")),
            ("7 7 * * 7", None),
            ("0 24 * * *", None),
            ("0 0 * * * *", None),
            ("0 22-6 * * *", Some("0 22-23,0-6 * * *")),
        ] {
            let error = Schedule::parse(text).unwrap_err();
            let edit = meant.map(|meant: &str| Edit::Set(Value::String(meant.into())));
            assert_eq!(
                error.suggestion_for(text).and_then(|one| one.edit),
                edit,
                "{text}"
            );
        }
    }

    fn said(text: &str) -> (String, Option<String>) {
        let error = Schedule::parse(text).unwrap_err();
        (error.to_string(), error.suggestion().map(|one| one.text))
    }

    #[test]
    fn mistakes_read_as_clauses() {
        for (text, clause) in [
            ("0 0 * * 7", "day of week 7 is above 6"),
            ("0 0 * * sat-sun", "the range sat-sun runs backwards (6 to 0)"),
            (
                "0 0 0 * * *",
                "a schedule has 5 fields (minute hour day month weekday), not 6",
            ),
            (
                "x",
                "a schedule has 5 fields (minute hour day month weekday), not 1",
            ),
            (
                "0 0 * * tues",
                "day of week `tues` is neither a number nor a three-letter name",
            ),
            (
                "0 0 * * mon-tues",
                "day of week `tues` in `mon-tues` is neither a number nor a three-letter name",
            ),
            ("x * * * *", "minute `x` is not a number"),
            ("-1 * * * *", "minute `-1` lacks a number"),
            ("0 0 0 * *", "day of month 0 is below 1"),
            ("0 0 5-7-9 * *", "the range 5-7-9 has more than one hyphen"),
            ("5/2/2 * * * *", "5/2/2 has more than one slash"),
            ("*/0 * * * *", "the step of */0 is 0"),
            ("*/-5 * * * *", "the step of */-5 is negative"),
            ("@dailyfoo", "Karpenter has no macro `@dailyfoo`"),
            ("@every 1d", "the interval of @every is not a valid duration"),
        ] {
            assert_eq!(said(text).0, clause, "{text}");
        }
    }

    #[test]
    fn what_to_write_instead_is_said_where_it_is_certain() {
        const ZONE: &str = "remove the time zone, and write the hours in UTC";
        for (text, suggestion) in [
            ("0 0 * * 7", "write 0 for Sunday"),
            ("0 0 * * 1-7", "write 0-6"),
            ("0 0 * * sun-7", "write 0-6"),
            ("0 0 * * 5-7", "write 5,6,0"),
            ("0 0 * * fri-7", "write fri,sat,sun"),
            ("0 0 * * sat-sun", "write sat,sun"),
            ("0 0 * * Fri-Mon", "write fri,sat,sun,mon"),
            ("0 0 * * 6-0", "write 6,0"),
            ("0 22-6 * * *", "write 22-23,0-6"),
            ("0 23-0 * * *", "write 23,0"),
            ("0 0 * nov-feb *", "write nov,dec,jan,feb"),
            ("0 0 * 11-2 *", "write 11-12,1-2"),
            ("0 0 25-5 * *", "write 25-31,1-5"),
            ("0 24 * * *", "write 0 for midnight"),
            ("0 0 * * tues", "write tue"),
            ("0 0 * * Monday-Friday", "write mon-fri"),
            ("0 0 * * monday/2", "write mon/2"),
            ("0 0 * sept *", "write sep"),
            ("0 0 * january *", "write jan"),
            ("0 0 * mon *", "write a name only in the field for day of week"),
            ("jan * * * *", "write a name only in the field for month"),
            ("TZ=UTC 0 9 * *", ZONE),
            ("CRON_TZ=America/New_York 0 9 * *", ZONE),
            ("TZ=Asia/Tokyo 0 9 * * *", ZONE),
            ("0 9 * * 1-5 # weekdays", "remove the comment"),
            ("0 0 9 * * *", "remove the extra fields, such as seconds or years"),
            ("'0 9 * * *'", "remove the inner quotes"),
            ("0 0 L * *", "write numbers instead of L, W, # or H"),
            ("0 0 15W * *", "write numbers instead of L, W, # or H"),
            ("0 0 * * 5#2", "write numbers instead of L, W, # or H"),
            ("@Daily", "write @daily"),
            ("@dayly", "write @daily"),
            ("@ANNUALLY", "write @annually"),
            ("@daily # at night", "write @daily"),
            ("daily", "write @daily"),
            ("@every 1d", "write five fields instead of @every"),
        ] {
            assert_eq!(said(text).1.as_deref(), Some(suggestion), "{text}");
        }
    }

    #[test]
    fn nothing_is_proposed_where_nothing_is_certain() {
        for text in [
            "",
            "* * * *",
            "0 0 0 * *",
            "0 0 * 13 *",
            "60 * * * *",
            "0 0 * * 8",
            "0 0 * * 5-7/2",
            "0 0 * * 7/2",
            "0 22-6/2 * * *",
            "@reboot",
            "@daily x",
            "@minutely",
            "@",
            "5-7-9 * * * *",
            "*/0 * * * *",
            "x * * * *",
            "0 0 * * fr",
            "300/2 * * * *",
        ] {
            assert_eq!(said(text).1, None, "{text}");
        }
    }

    #[test]
    fn a_hostile_schedule_is_rejected_in_few_words() {
        for hostile in [
            "@".repeat(1 << 20),
            "a ".repeat(1 << 19),
            format!("{} * * * *", "9".repeat(1 << 20)),
            format!("{}x * * * *", "1,".repeat(1 << 19)),
            format!("* * * * mon{}", "-".repeat(1 << 20)),
        ] {
            let (clause, suggestion) = said(&hostile);
            assert!(clause.len() + suggestion.unwrap_or_default().len() < 400);
        }
    }
}
