//! A week as a picture for a wiki: a panel for each pool and reason, a row for each day, a cell for each hour. Each cell
//! has its number, so that no colour is needed to read it.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::grid::{Amount, Cell, Grid, HOURS_A_DAY, Row};
use super::moment::heading;
use super::subject::Subject;
use super::week::label;
use crate::clock::Clock;
use crate::terminal;

/// Sizes of the parts of the picture, in pixels.
const CELL: usize = 24;
const ROW: usize = 22;
const DAYS_WIDTH: usize = 84;
const MARGIN: usize = 16;
const TITLE: usize = 44;
const PANEL_HEAD: usize = 40;
const PANEL: usize = PANEL_HEAD + 7 * ROW + 12;
/// The width of a character, roughly.
const CHARACTER: usize = 8;

/// A colour with its class, a sign as in a cell, and what it means.
const LEGEND: [(&str, &str, &str); 4] = [
    ("none", "0", "none"),
    ("some", "5", "this many simultaneously"),
    (
        "some",
        "0-5",
        "changes within the hour: the lowest and the highest",
    ),
    ("all", "*", "all nodes, for at least a part of the hour"),
];

/// The width of a colour in the legend.
const LEGEND_CELL: usize = 32;

/// Most characters of a zone's name.
const LONGEST_ZONE: usize = 10;

/// Draws seven days, beginning with the day of a moment, the pools below each other.
pub fn picture(subjects: &[Subject<'_>], at: Timestamp, clock: &Clock) -> String {
    let grids: Vec<_> = subjects
        .iter()
        .map(|subject| (subject, Grid::week(subject, at, clock)))
        .collect();
    // Wide enough for the longest number.
    let longest = grids.iter().map(|(_, grid)| grid.longest()).max().unwrap_or(1);
    let cell = CELL.max(longest * CHARACTER + 4);
    let width = 2 * MARGIN + DAYS_WIDTH + HOURS_A_DAY * cell;
    let mut body = String::new();
    let mut top = MARGIN;
    for (subject, grid) in &grids {
        text(&mut body, MARGIN, top + 16, "t", heading(subject).trim_end());
        let days = format!("Nodes that may be disrupted, from {}", clock.write(grid.from));
        text(&mut body, MARGIN, top + 34, "n", &days);
        top += TITLE;
        let zone = clock.zone().unwrap_or("UTC");
        for row in &grid.rows {
            let panel = Panel { top, cell, zone };
            panel.draw(&mut body, &label(&row.reasons), row, &grid.dates());
            top += PANEL;
        }
        for idle in subject.idle_reasons() {
            text(&mut body, MARGIN, top + 14, "n", &idle);
            top += ROW;
        }
    }
    legend(&mut body, top);
    top += LEGEND.len() * ROW;
    let mut assumed: Vec<&str> = subjects
        .iter()
        .filter_map(|one| one.assumed_release.as_deref())
        .collect();
    assumed.sort_unstable();
    assumed.dedup();
    if !assumed.is_empty() {
        let release = format!(
            "Karpenter {} {}",
            assumed.join(" and "),
            terminal::ASSUMED_RELEASE
        );
        text(&mut body, MARGIN, top + 15, "n", &release);
        top += ROW;
    }
    let height = top + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"Disruption budgets over a week\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Hours without a limit are as visible as closed hours: most often they are a mistake.
const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}\
     .t{font-weight:bold;font-size:14px}.n{fill:#57606a}.c{text-anchor:middle}\
     .none{fill:#f6c6c0;stroke:#ffffff}.some{fill:#cfe8d5;stroke:#ffffff}.all{fill:#ffd24d;stroke:#ffffff}\
     .gap{fill:#eaeef2;stroke:#ffffff}";

/// Where the week of a row of reasons is drawn.
struct Panel<'a> {
    top: usize,
    cell: usize,
    zone: &'a str,
}

impl Panel<'_> {
    fn draw(&self, body: &mut String, label: &str, row: &Row, dates: &[String]) {
        let Self { top, cell, zone } = *self;
        text(body, MARGIN, top + 14, "t", label);
        let grid = MARGIN + DAYS_WIDTH;
        for hour in (0..HOURS_A_DAY).step_by(3) {
            let middle = grid + hour * cell + cell / 2;
            text(body, middle, top + PANEL_HEAD - 8, "n c", &format!("{hour:02}"));
        }
        // A long name would run into the hours.
        let zone = zone.rsplit('/').next().unwrap_or(zone);
        let zone = zone.get(..LONGEST_ZONE).unwrap_or(zone);
        text(body, MARGIN, top + PANEL_HEAD - 8, "n", zone);
        for (day, (hours, date)) in row.days.iter().zip(dates).enumerate() {
            let y = top + PANEL_HEAD + day * ROW;
            text(body, MARGIN, y + 15, "", date);
            for (hour, amount) in hours.iter().enumerate() {
                let x = grid + hour * cell;
                swatch(body, class(*amount), x, y, cell);
                let shown = amount.map(Cell::short).unwrap_or_default();
                text(body, x + cell / 2, y + 15, "c", &shown);
            }
        }
    }
}

/// An hour that is partly without a limit has the colour of one that is so throughout.
fn class(cell: Option<Cell>) -> &'static str {
    match cell {
        None => "gap",
        Some(cell) if cell.is_ever_unlimited() => "all",
        Some(cell) if cell.is_mixed() => "some",
        Some(cell) if cell.lowest == Amount::Nodes(0) => "none",
        Some(_) => "some",
    }
}

fn swatch(body: &mut String, class: &str, x: usize, y: usize, width: usize) {
    let _ = writeln!(
        body,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\"/>"
    );
}

/// What each colour means, in lines below each other: how wide a text is depends on the font of the reader.
fn legend(body: &mut String, mut top: usize) {
    for (class, sign, meaning) in LEGEND {
        swatch(body, class, MARGIN, top, LEGEND_CELL);
        text(body, MARGIN + LEGEND_CELL / 2, top + 15, "c", sign);
        text(body, MARGIN + LEGEND_CELL + 6, top + 15, "n", meaning);
        top += ROW;
    }
}

fn text(body: &mut String, x: usize, y: usize, class: &str, content: &str) {
    let content = terminal::xml(content);
    let _ = writeln!(
        body,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{content}</text>"
    );
}
