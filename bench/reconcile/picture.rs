//! Memory against the number of claims, as a picture.

use std::fmt::Write as _;

/// Where `bench/record` wants the picture.
const FILE: &str = "BENCH_PICTURE";

/// Measures, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 48.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 48.0;

/// How many lines there are across, beside the lowest.
const LINES: u32 = 4;

const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;text-anchor:middle}\
     .t{font-weight:bold;font-size:14px;text-anchor:start}.y{text-anchor:end}line{stroke:#d1d9e0}\
     polyline{fill:none;stroke:#0969da;stroke-width:2}circle{fill:#0969da}";

/// Leaves the picture where `bench/record` wants it, if it runs this. Of each point the claims and the MiB.
pub(crate) fn leave(points: &[(f64, f64)]) -> std::io::Result<()> {
    let Some(file) = std::env::var_os(FILE) else {
        return Ok(());
    };
    std::fs::write(file, picture(points))
}

fn picture(points: &[(f64, f64)]) -> String {
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(1.0, f64::max);
    let (claims, mebibytes) = (
        most(|point| point.0),
        (most(|point| point.1) / 40.0).ceil() * 40.0,
    );
    let x = |value: f64| LEFT + value / claims * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / mebibytes * (HEIGHT - TOP - BOTTOM);
    let mut body = String::new();
    for line in 0..=LINES {
        let value = mebibytes * f64::from(line) / f64::from(LINES);
        let (height, end) = (y(value), WIDTH - RIGHT);
        // A String takes everything.
        let _ = writeln!(
            body,
            "<line x1=\"{LEFT}\" y1=\"{height:.1}\" x2=\"{end}\" y2=\"{height:.1}\"/>\
             <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{value:.0}</text>",
            LEFT - 8.0,
            height + 4.0,
        );
    }
    let mut line = String::new();
    for (at, resident) in points {
        let (left, top) = (x(*at), y(*resident));
        let _ = write!(line, "{left:.1},{top:.1} ");
        let _ = writeln!(
            body,
            "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"4\"/><text x=\"{left:.1}\" y=\"{:.1}\">{resident}</text>\
             <text x=\"{left:.1}\" y=\"{:.1}\">{at}</text>",
            top - 10.0,
            HEIGHT - BOTTOM + 18.0,
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"Memory of the reconciler by the number of NodeClaims\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text class=\"t\" x=\"16\" y=\"24\">Resident MiB of the reconciler, by NodeClaims</text>\n\
         {body}<polyline points=\"{line}\"/>\n</svg>\n"
    )
}
