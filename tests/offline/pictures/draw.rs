//! A picture in SVG: boxes, arrows, squares, tables, lines of text, and what a terminal shows.
//!
//! Text is measured with the widths of a wide font, so a text that fits here fits everywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

/// The height of a line in a box.
const LINE: f64 = 17.0;
/// Between the edge of a box and its text.
const MARGIN: f64 = 6.0;
/// The width and height of a character in a terminal.
const CELL: (f64, f64) = (7.9, 18.0);

/// Colours for a light background, then for a dark one: classes, their fill, stroke and text.
const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}\
.b{font-weight:600}.m{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px}\
.l{fill:#59636e;font-size:12px}.bg{fill:#ffffff}.c{text-anchor:middle}\
.plain{fill:#f6f8fa;stroke:#818b98}.ours{fill:#ddf4ff;stroke:#0969da}.open{fill:#fff8c5;stroke:#bf8700}\
.closed{fill:#ffebe9;stroke:#cf222e}.good{fill:#dafbe1;stroke:#1a7f37}.mute{fill:#ffffff;stroke:#818b98;stroke-dasharray:4 3}\
.cell{stroke-dasharray:none}.line{fill:none;stroke-dasharray:none;stroke-width:1.5}.heavy{stroke-width:3}.head{stroke:none}\
.head.plain{fill:#818b98}.head.ours{fill:#0969da}.head.open{fill:#bf8700}.head.closed{fill:#cf222e}.head.good{fill:#1a7f37}\
.t{font-size:13px;white-space:pre}.t tspan{white-space:pre}.red{fill:#cf222e}.green{fill:#1a7f37}.yellow{fill:#9a6700}\
.blue{fill:#0550ae}.cyan{fill:#1b7c83}.term{fill:#f6f8fa;stroke:#d1d9e0}\
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.l{fill:#9198a1}.bg{fill:#0d1117}\
.plain{fill:#212830;stroke:#656c76}.ours{fill:#0c2d57;stroke:#4493f8}.open{fill:#3b2d0a;stroke:#d29922}\
.closed{fill:#49151a;stroke:#f85149}.good{fill:#0f3a1d;stroke:#3fb950}.mute{fill:#0d1117;stroke:#656c76}\
.line{fill:none}.head.plain{fill:#656c76}.head.ours{fill:#4493f8}.head.open{fill:#d29922}.head.closed{fill:#f85149}\
.head.good{fill:#3fb950}.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}.blue{fill:#79c0ff}.cyan{fill:#76e3ea}\
.term{fill:#151b23;stroke:#3d444d}}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Picture {
    pub(super) name: String,
    title: String,
    /// Width and height; of a terminal they follow from its lines.
    #[serde(default)]
    size: (f64, f64),
    #[serde(default)]
    boxes: BTreeMap<String, Frame>,
    #[serde(default)]
    arrows: Vec<Arrow>,
    #[serde(default)]
    texts: Vec<Text>,
    #[serde(default)]
    squares: Vec<Squares>,
    #[serde(default)]
    lines: Vec<Line>,
    #[serde(default)]
    tables: Vec<Table>,
    /// Commands, of which the output is shown.
    #[serde(default)]
    pub(super) terminal: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    /// x, y, width, height.
    at: (f64, f64, f64, f64),
    #[serde(default = "plain")]
    kind: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrow {
    from: String,
    to: String,
    #[serde(default = "plain")]
    kind: String,
    #[serde(default)]
    both: bool,
    #[serde(default)]
    heavy: bool,
    #[serde(default)]
    label: String,
    /// Where the label begins, if not at the arrow's middle.
    at: Option<(f64, f64)>,
    /// Whether the label of a horizontal arrow stands below it.
    #[serde(default)]
    below: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    at: (f64, f64),
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Squares {
    at: (f64, f64),
    of: u8,
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    from: (f64, f64),
    to: (f64, f64),
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    at: (f64, f64),
    widths: Vec<f64>,
    heights: Vec<f64>,
    rows: Vec<Vec<String>>,
}

fn plain() -> String {
    "plain".to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A part of a terminal's line: its classes and its text.
pub(super) type Run = (String, String);

/// How wide a text may be, in pixels. Backquotes enclose monospaced words.
fn width(text: &str) -> f64 {
    let (bold, text) = text.strip_prefix('*').map_or((1.0, text), |text| (1.1, text));
    let of = |(number, part): (usize, &str)| -> f64 {
        if number % 2 == 1 {
            return part.chars().map(|_| 7.3).sum();
        }
        let of = |letter| match letter {
            'i' | 'j' | 'l' | '.' | ',' | ':' | '\'' | '|' | '(' | ')' | ' ' => 4.4,
            'f' | 't' | 'r' | '-' | '/' => 5.4,
            'm' | 'w' | 'M' | 'W' => 12.3,
            'A'..='Z' => 9.2,
            _ => 8.1,
        };
        part.chars().map(of).sum::<f64>() * bold
    };
    text.split('`').enumerate().map(of).sum()
}

/// A line of text whose baseline begins at x, y, or is centred there.
fn line(svg: &mut String, (x, y): (f64, f64), classes: &str, text: &str) {
    let (bold, text) = text.strip_prefix('*').map_or(("", text), |text| (" b", text));
    let _ = write!(svg, r#"<text class="{classes}{bold}" x="{x}" y="{y}">"#);
    for (number, part) in text.split('`').enumerate().filter(|(_, part)| !part.is_empty()) {
        let _ = if number % 2 == 1 {
            write!(svg, r#"<tspan class="m">{}</tspan>"#, escaped(part))
        } else {
            write!(svg, "{}", escaped(part))
        };
    }
    svg.push_str("</text>\n");
}

impl Frame {
    /// The middle of a side, such as `r` or `b-20`.
    fn side(&self, side: &str) -> (f64, f64) {
        let (side, along) = side.split_at(1);
        let along: f64 = if along.is_empty() {
            0.0
        } else {
            along.parse().expect(along)
        };
        let (x, y, width, height) = self.at;
        match side {
            "l" => (x, y + height / 2.0 + along),
            "r" => (x + width, y + height / 2.0 + along),
            "t" => (x + width / 2.0 + along, y),
            "b" => (x + width / 2.0 + along, y + height),
            other => panic!("no side is called {other}"),
        }
    }

    fn draw(&self, svg: &mut String, classes: &str) {
        let (x, y, wide, high) = self.at;
        let _ = writeln!(
            svg,
            r#"<rect class="{}{classes}" x="{x}" y="{y}" width="{wide}" height="{high}" rx="5"/>"#,
            self.kind
        );
        let lines: Vec<&str> = self.text.lines().collect();
        for line in &lines {
            assert!(
                width(line) <= wide - MARGIN,
                "{line}: {} in a box of {wide}",
                width(line)
            );
        }
        let count = u8::try_from(lines.len()).map_or(255.0, f64::from);
        assert!(count * LINE <= high - 4.0, "{}: higher than its box", self.text);
        let mut baseline = y + high / 2.0 - count * LINE / 2.0 + 12.5;
        for text in lines {
            line(svg, (x + wide / 2.0, baseline), "c", text);
            baseline += LINE;
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (self.at, other.at);
        let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
        let inside = |a: (f64, f64, f64, f64), b: (f64, f64, f64, f64)| {
            a.0 <= b.0 && a.1 <= b.1 && a.0 + a.2 >= b.0 + b.2 && a.1 + a.3 >= b.1 + b.3
        };
        !apart && !inside(a, b) && !inside(b, a)
    }
}

/// A head at `tip` of a line that comes from `from`.
fn head(svg: &mut String, kind: &str, from: (f64, f64), tip: (f64, f64)) {
    let (x, y) = tip;
    let (along, across) = if (from.1 - y).abs() < 0.1 {
        ((8.0 * (from.0 - x).signum(), 0.0), (0.0, 4.0))
    } else {
        ((0.0, 8.0 * (from.1 - y).signum()), (4.0, 0.0))
    };
    let (ax, ay) = (x + along.0, y + along.1);
    let _ = writeln!(
        svg,
        r#"<path class="head {kind}" d="M{x} {y}L{} {}L{} {}Z"/>"#,
        ax + across.0,
        ay + across.1,
        ax - across.0,
        ay - across.1
    );
}

impl Arrow {
    fn draw(&self, svg: &mut String, boxes: &BTreeMap<String, Frame>) {
        let end = |end: &str| {
            let (name, side) = end.split_once('.').expect("BOX.SIDE");
            let upright = side.starts_with(['t', 'b']);
            let of = boxes
                .get(name)
                .unwrap_or_else(|| panic!("no box is called {name}"));
            (of.side(side), upright)
        };
        let ((from, leaves_upright), (to, comes_upright)) = (end(&self.from), end(&self.to));
        let middle = f64::midpoint(from.0, to.0);
        let height = f64::midpoint(from.1, to.1);
        let points = match (leaves_upright, comes_upright) {
            (true, true) if (from.0 - to.0).abs() < 0.1 => vec![from, to],
            (true, true) => vec![from, (from.0, height), (to.0, height), to],
            (false, false) if (from.1 - to.1).abs() < 0.1 => vec![from, to],
            (false, false) => vec![from, (middle, from.1), (middle, to.1), to],
            (true, false) => vec![from, (from.0, to.1), to],
            (false, true) => vec![from, (to.0, from.1), to],
        };
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x} {y}")).collect();
        let heavy = if self.heavy { " heavy" } else { "" };
        let _ = writeln!(
            svg,
            r#"<path class="{} line{heavy}" d="M{}"/>"#,
            self.kind,
            path.join("L")
        );
        let [first, second, ..] = points[..] else {
            unreachable!("two points")
        };
        head(svg, &self.kind, points[points.len() - 2], to);
        if self.both {
            head(svg, &self.kind, second, first);
        }
        if self.label.is_empty() {
            return;
        }
        let is_level = (from.1 - to.1).abs() < 0.1;
        match self.at {
            Some(at) => line(svg, at, "l", &self.label),
            None if is_level => {
                let y = if self.below { from.1 + 15.0 } else { from.1 - 5.0 };
                line(svg, (middle, y), "l c", &self.label);
            }
            None => {
                let y = height + if points.len() == 2 { 4.0 } else { 18.0 };
                line(svg, (to.0 + 7.0, y), "l", &self.label);
            }
        }
    }
}

impl Picture {
    /// The picture, with these lines of its terminal.
    pub(super) fn draw(&self, lines: &[Vec<Run>]) -> String {
        let (wide, high) = if lines.is_empty() {
            self.size
        } else {
            let rows = u16::try_from(lines.len()).map_or(0.0, f64::from);
            (80.0 * CELL.0 + 32.0, rows * CELL.1 + 28.0)
        };
        assert!(wide <= 860.0, "{}: wider than a page", self.name);
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"bg\" width=\"{wide}\" height=\"{high}\"/>\n"
        );
        let mut largest_first: Vec<&Frame> = self.boxes.values().collect();
        largest_first.sort_by(|a, b| (b.at.2 * b.at.3).total_cmp(&(a.at.2 * a.at.3)));
        for (number, one) in largest_first.iter().enumerate() {
            let (x, y, w, h) = one.at;
            assert!(x + w <= wide && y + h <= high, "{}: {}", self.name, one.text);
            for other in &largest_first[number + 1..] {
                assert!(
                    !one.overlaps(other),
                    "{}: {} and {}",
                    self.name,
                    one.text,
                    other.text
                );
            }
            one.draw(&mut svg, "");
        }
        for table in &self.tables {
            table.draw(&mut svg);
        }
        for arrow in &self.arrows {
            arrow.draw(&mut svg, &self.boxes);
        }
        for squares in &self.squares {
            for number in 0..squares.of {
                let x = squares.at.0 + 22.0 * f64::from(number);
                let _ = writeln!(
                    svg,
                    r#"<rect class="{}" x="{x}" y="{}" width="18" height="22" rx="3"/>"#,
                    squares.kind, squares.at.1
                );
            }
        }
        for mark in &self.lines {
            let ((x, y), (to, end)) = (mark.from, mark.to);
            let _ = writeln!(
                svg,
                r#"<path class="closed line heavy" d="M{x} {y}L{to} {end}"/>"#
            );
            line(&mut svg, (x + 6.0, y + 9.0), "l", &mark.label);
        }
        for text in &self.texts {
            assert!(
                text.at.0 + width(&text.text) <= wide,
                "{}: {}",
                self.name,
                text.text
            );
            line(&mut svg, text.at, "", &text.text);
        }
        terminal(&mut svg, lines, (wide, high));
        svg.push_str("</svg>\n");
        svg
    }
}

impl Table {
    fn draw(&self, svg: &mut String) {
        let mut y = self.at.1;
        for (row, height) in self.rows.iter().zip(&self.heights) {
            let mut x = self.at.0;
            for (cell, width) in row.iter().zip(&self.widths) {
                let (kind, text) = cell.split_once('|').unwrap_or(("mute", cell));
                let cell = Frame {
                    at: (x, y, width - 4.0, height - 4.0),
                    kind: kind.to_owned(),
                    text: text.to_owned(),
                };
                cell.draw(svg, " cell");
                x += width;
            }
            y += height;
        }
    }
}

/// What a terminal of 80 columns shows.
fn terminal(svg: &mut String, lines: &[Vec<Run>], (wide, high): (f64, f64)) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(
        svg,
        r#"<rect class="term" x="1" y="1" width="{}" height="{}" rx="8"/>"#,
        wide - 2.0,
        high - 2.0
    );
    let mut y = 14.0 + 13.0;
    for runs in lines {
        let _ = write!(svg, r#"<text class="m t" x="16" y="{y}" xml:space="preserve">"#);
        for (classes, text) in runs {
            let _ = write!(svg, r#"<tspan class="{classes}">{}</tspan>"#, escaped(text));
        }
        svg.push_str("</text>\n");
        y += CELL.1;
    }
}
