//! The pictures of the benchmarks show the recorded figures.

use std::fmt::Write as _;

use crate::documents::{WRITE, path, read, record};

/// Dimensions, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 48.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 48.0;

/// The highest line is at a multiple of this.
const STEP: f64 = 40.0;

/// A point nearer than this to the last one has no figures: they would overlap.
const APART: f64 = 40.0;

/// How many horizontal lines there are, besides the lowest.
const LINES: u32 = 4;

const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;text-anchor:middle}\
     .t{font-weight:bold;font-size:14px;text-anchor:start}.y{text-anchor:end}line{stroke:#d1d9e0}\
     polyline{fill:none;stroke:#0969da;stroke-width:2}circle{fill:#0969da}";

/// One column of a table against another, as a picture.
struct Picture {
    /// The record; the picture is in the same directory.
    record: &'static str,
    table: &'static str,
    title: &'static str,
    /// The columns for both axes, counted from 0, and their units.
    across: (usize, f64),
    upwards: (usize, f64),
}

const PICTURES: [Picture; 2] = [
    Picture {
        record: "reconcile",
        table: "cluster",
        title: "Resident MiB of the reconciler, by NodeClaims",
        across: (1, 1.0),
        upwards: (6, 1.0),
    },
    Picture {
        record: "instructions",
        table: "sizes",
        title: "Million instructions of a review, by its KB",
        across: (1, 1e3),
        upwards: (2, 1e6),
    },
];

impl Picture {
    /// Its points; empty if nothing is recorded yet.
    fn points(&self) -> Vec<(f64, f64)> {
        let record = record(self.record).unwrap_or_default();
        let rows = record["tables"][self.table]["rows"].as_array();
        let figure = |row: &serde_json::Value, (column, unit): (usize, f64)| {
            (row[column].as_f64().expect("a number") / unit).round()
        };
        let rows = rows.into_iter().flatten();
        rows.map(|row| (figure(row, self.across), figure(row, self.upwards)))
            .collect()
    }

    fn drawn(&self, points: &[(f64, f64)]) -> String {
        let title = self.title;
        let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(1.0, f64::max);
        let (widest, highest) = (
            most(|point| point.0),
            (most(|point| point.1) / STEP).ceil() * STEP,
        );
        let x = |value: f64| LEFT + value / widest * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM);
        let mut body = String::new();
        for line in 0..=LINES {
            let value = highest * f64::from(line) / f64::from(LINES);
            let (height, end) = (y(value), WIDTH - RIGHT);
            // Writing to a String cannot fail.
            let _ = writeln!(
                body,
                "<line x1=\"{LEFT}\" y1=\"{height:.1}\" x2=\"{end}\" y2=\"{height:.1}\"/>\
             <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{value:.0}</text>",
                LEFT - 8.0,
                height + 4.0,
            );
        }
        let mut line = String::new();
        let mut free = LEFT;
        for (at, value) in points {
            let (left, top) = (x(*at), y(*value));
            let _ = write!(line, "{left:.1},{top:.1} ");
            let _ = write!(body, "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"4\"/>");
            if left < free {
                body.push('\n');
                continue;
            }
            free = left + APART;
            let _ = writeln!(
                body,
                "<text x=\"{left:.1}\" y=\"{:.1}\">{value}</text>\
             <text x=\"{left:.1}\" y=\"{:.1}\">{at}</text>",
                top - 10.0,
                HEIGHT - BOTTOM + 18.0,
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text class=\"t\" x=\"16\" y=\"24\">{title}</text>\n\
         {body}<polyline points=\"{line}\"/>\n</svg>\n"
        )
    }
}

#[test]
fn the_pictures_of_the_benchmarks_show_what_was_recorded() {
    for picture in PICTURES {
        let file = format!("bench/results/{}.svg", picture.record);
        let points = picture.points();
        let drawn = picture.drawn(&points);
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(path(&file), &drawn).expect("the picture can be written");
        }
        assert_eq!(
            read(&file),
            drawn,
            "{file}: tests/generated-files --write fixes it"
        );
        assert!(points.len() > 2, "{file} shows nothing");
    }
}
