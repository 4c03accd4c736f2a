//! A week as a picture in the terminal: a row for each reason and day, a column for each hour. No colour is needed to read
//! it.

use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::budget::Reason;

use super::grid::{Cell, Grid, HOURS_A_DAY, Hours};
use super::moment::{frozen, heading};
use super::notes;
use super::subject::Subject;
use crate::clock::Clock;

/// The mark of an hour that the clock skips.
const NO_HOUR: &str = "-";

/// The hour is shown above one in this many columns.
const NAMED_HOURS: usize = 6;

/// Draws seven days, beginning with the day of a moment.
pub fn picture(subject: &Subject<'_>, at: Timestamp, clock: &Clock) -> String {
    let grid = Grid::week(subject, at, clock);
    let labels: Vec<String> = grid.rows.iter().map(|row| label(&row.reasons)).collect();
    let widths = labels.iter().map(|label| label.chars().count());
    let width = widths.max().unwrap_or(0);
    let columns = Columns::new(&grid);
    let mut text = heading(subject);
    let assumed = subject.and_assumed_release();
    let _ = writeln!(text, "seven days from {}{assumed}\n", clock.write(grid.from));
    text.push_str(&frozen(subject, at));
    let zone = clock.zone().unwrap_or("UTC");
    let _ = writeln!(text, "{zone:<before$} {}", columns.header(), before = 10 + width);
    for (day, date) in grid.dates().iter().enumerate() {
        let mut name = date.as_str();
        for (row, label) in grid.rows.iter().zip(&labels) {
            let hours = row.days.get(day);
            let cells = hours.map(|hours| columns.cells(hours)).unwrap_or_default();
            let _ = writeln!(text, "{name:9} {label:width$} {cells}");
            name = "";
        }
    }
    if !grid.rows.is_empty() {
        let _ = write!(text, "\n{}", legend(&grid));
    }
    for idle in subject.idle_reasons() {
        let _ = writeln!(text, "\n{idle}");
    }
    text.push_str(&notes::paragraphs(subject, at, clock));
    text.push('\n');
    text
}

pub fn label(reasons: &[Reason]) -> String {
    let names: Vec<_> = reasons.iter().map(|reason| reason.as_str()).collect();
    names.join(", ")
}

/// How wide each hour is drawn: one character if all numbers have one digit, else as wide as the longest, with spaces
/// between.
struct Columns {
    width: usize,
    gap: usize,
}

impl Columns {
    fn new(grid: &Grid) -> Self {
        let width = grid.longest();
        Self {
            width,
            gap: usize::from(width > 1),
        }
    }

    fn header(&self) -> String {
        let step = NAMED_HOURS * (self.width + self.gap);
        let names = (0..HOURS_A_DAY).step_by(NAMED_HOURS).map(|hour| {
            let name = format!("{hour:>width$}", width = self.width);
            format!("{name:step$}")
        });
        names.collect::<String>().trim_end().to_owned()
    }

    fn cells(&self, hours: &Hours) -> String {
        let cells = hours.iter().map(|hour| {
            let text = hour.map_or_else(|| NO_HOUR.to_owned(), Cell::short);
            format!("{text:>width$}", width = self.width)
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(self.gap))
    }
}

/// The meaning of the columns and characters.
fn legend(grid: &Grid) -> String {
    let mut signs = vec!["0 none", "* all, no limit"];
    if grid.cells().any(|cell| cell.short().contains(['k', 'M'])) {
        signs.push("1k a thousand or more");
    }
    if grid.cells().any(Cell::is_mixed) {
        signs.push("a-b lowest and highest, if it changes within the hour");
    }
    if grid.has_gap() {
        signs.push("- skipped by the clock change");
    }
    format!(
        "one column per hour: how many nodes may be disrupted simultaneously\n  {}\n",
        signs.join("   ")
    )
}
