//! A week as a picture: a row a reason for each day, an hour a character. No colour is needed to read it.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use poolgate_core::budget::{Cell, Reason};

use super::clock::Clock;
use super::moment::heading;
use super::notes;
use super::subject::Subject;

/// The hours of a day.
pub(super) const HOURS_A_DAY: usize = 24;
const SECONDS_A_DAY: i64 = 86_400;

/// What the characters mean.
const LEGEND: &str = "\
an hour a character: how many nodes may go at once, the lowest number of the hour
  0 none   1 to 9 so many   + ten or more   * all, nothing limits
";

/// Draws the seven days from that of a moment on.
pub(super) fn picture(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> String {
    let from = midnight(at);
    let rows = rows(subject, from);
    let label = |(reasons, _): &(Vec<Reason>, Vec<Cell>)| label(subject, reasons);
    let width = rows
        .iter()
        .map(|row| label(row).chars().count())
        .max()
        .unwrap_or(0);
    let mut text = heading(subject);
    let _ = writeln!(text, "seven days from {} on\n", clock.write(from));
    let _ = writeln!(text, "UTC       {:width$} 0     6     12    18", "");
    for day in 0..7 {
        let begins = from
            .checked_add(jiff::SignedDuration::from_hours(24 * day))
            .unwrap_or(from);
        let mut name = begins.to_zoned(TimeZone::UTC).strftime("%a %m-%d").to_string();
        for row in &rows {
            let hours = usize::try_from(day).unwrap_or(0) * HOURS_A_DAY;
            let cells: String = row
                .1
                .iter()
                .skip(hours)
                .take(HOURS_A_DAY)
                .map(character)
                .collect();
            let _ = write!(text, "{name:9} {:width$} {cells}", label(row));
            // The same for every row of the day, so said once.
            if let Some(local) = clock.local(begins).filter(|_| !name.is_empty()) {
                let _ = write!(text, "  0 is {local}");
            }
            text.push('\n');
            name.clear();
        }
    }
    let _ = write!(text, "\n{LEGEND}");
    text.push_str(&notes::paragraphs(subject, clock));
    text.push('\n');
    text
}

/// The beginning of the day in UTC.
pub(super) fn midnight(at: Timestamp) -> Timestamp {
    let seconds = at.as_second();
    Timestamp::from_second(seconds - seconds.rem_euclid(SECONDS_A_DAY)).unwrap_or(at)
}

/// The week of each reason; those that are alike share a row.
pub(super) fn rows(subject: &Subject<'_>, from: Timestamp) -> Vec<(Vec<Reason>, Vec<Cell>)> {
    let mut rows: Vec<(Vec<Reason>, Vec<Cell>)> = Vec::new();
    let weeks = subject.budgets.week(&subject.reasons, subject.nodes, from);
    for (reason, week) in subject.reasons.iter().zip(weeks) {
        let is_alike = |other: &[Cell]| other.iter().map(character).eq(week.iter().map(character));
        match rows.iter_mut().find(|(_, other)| is_alike(other)) {
            Some((reasons, _)) => reasons.push(*reason),
            None => rows.push((vec![*reason], week)),
        }
    }
    rows
}

/// What a row is about.
pub(super) fn label(subject: &Subject<'_>, reasons: &[Reason]) -> String {
    if reasons.len() == subject.reasons.len() && reasons.len() > 1 {
        return "every reason".into();
    }
    let names: Vec<_> = reasons.iter().map(|reason| reason.as_str()).collect();
    names.join(", ")
}

/// A number of nodes as one character.
pub(super) fn character(cell: &Cell) -> char {
    match cell.lowest.nodes() {
        None => '*',
        Some(nodes) => char::from_digit(nodes, 10).unwrap_or('+'),
    }
}
