//! A week as a picture for a wiki: a panel for each pool and reason, a row a day, an hour a cell. Each cell bears its
//! number, so that no colour is needed to read it.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use poolgate_core::budget::Cell;

use super::clock::Clock;
use super::moment::heading;
use super::subject::Subject;
use super::week::{HOURS_A_DAY, character, label, midnight, rows};

/// Measures, in pixels.
const CELL: usize = 24;
const ROW: usize = 22;
const DAYS_WIDTH: usize = 84;
const LOCAL_WIDTH: usize = 130;
const MARGIN: usize = 16;
const TITLE: usize = 44;
const PANEL_HEAD: usize = 40;
const PANEL: usize = PANEL_HEAD + 7 * ROW + 12;
const LEGEND: usize = 40;

/// Draws the seven days from that of a moment on, the pools below each other.
pub(super) fn picture(subjects: &[Subject<'_>], at: Timestamp, clock: &Clock) -> String {
    let from = midnight(at);
    let width = 2 * MARGIN + DAYS_WIDTH + HOURS_A_DAY * CELL + LOCAL_WIDTH;
    let mut body = String::new();
    let mut top = MARGIN;
    for subject in subjects {
        text(&mut body, MARGIN, top + 16, "t", heading(subject).trim_end());
        let days = format!(
            "seven days from {} on, how many nodes may go at once",
            clock.write(from)
        );
        text(&mut body, MARGIN, top + 34, "n", &days);
        top += TITLE;
        for (reasons, week) in &rows(subject, from) {
            panel(&mut body, top, &label(subject, reasons), week, from, clock);
            top += PANEL;
        }
    }
    legend(&mut body, top);
    let height = top + LEGEND;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"Disruption budgets over a week\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}\
     .t{font-weight:bold;font-size:14px}.n{fill:#57606a}.c{text-anchor:middle}\
     .none{fill:#f6c6c0;stroke:#ffffff}.some{fill:#cfe8d5;stroke:#ffffff}.all{fill:#8fcaa0;stroke:#ffffff}";

fn panel(body: &mut String, top: usize, label: &str, week: &[Cell], from: Timestamp, clock: &Clock) {
    text(body, MARGIN, top + 14, "t", label);
    let grid = MARGIN + DAYS_WIDTH;
    for hour in (0..HOURS_A_DAY).step_by(3) {
        text(
            body,
            grid + hour * CELL + CELL / 2,
            top + PANEL_HEAD - 8,
            "n c",
            &format!("{hour:02}"),
        );
    }
    text(body, MARGIN, top + PANEL_HEAD - 8, "n", "UTC");
    for (day, cells) in week.chunks(HOURS_A_DAY).enumerate() {
        let y = top + PANEL_HEAD + day * ROW;
        let hours = i64::try_from(day * HOURS_A_DAY).unwrap_or(0);
        let begins = from
            .checked_add(SignedDuration::from_hours(hours))
            .unwrap_or(from);
        let name = begins.to_zoned(TimeZone::UTC).strftime("%a %m-%d").to_string();
        text(body, MARGIN, y + 15, "", &name);
        for (hour, cell) in cells.iter().enumerate() {
            draw(body, grid + hour * CELL, y, cell);
        }
        if let Some(local) = clock.local(begins) {
            text(
                body,
                grid + HOURS_A_DAY * CELL + 10,
                y + 15,
                "n",
                &format!("00 is {local}"),
            );
        }
    }
}

fn draw(body: &mut String, x: usize, y: usize, cell: &Cell) {
    let class = match cell.lowest.nodes() {
        None => "all",
        Some(0) => "none",
        Some(_) => "some",
    };
    let _ = writeln!(
        body,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{ROW}\"/>"
    );
    text(body, x + CELL / 2, y + 15, "c", &character(cell).to_string());
}

fn legend(body: &mut String, top: usize) {
    text(
        body,
        MARGIN,
        top + 16,
        "n",
        "0 none   1 to 9 so many   + ten or more   * all, nothing limits: the lowest number of the hour",
    );
}

fn text(body: &mut String, x: usize, y: usize, class: &str, content: &str) {
    let _ = write!(body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">");
    for character in content.chars() {
        match character {
            '&' => body.push_str("&amp;"),
            '<' => body.push_str("&lt;"),
            '>' => body.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => body.push('\u{fffd}'),
            control if control.is_control() => body.push('\u{fffd}'),
            other => body.push(other),
        }
    }
    body.push_str("</text>\n");
}
