//! From byte offsets to the lines and columns that editors show.

use std::fmt;

/// Bytes between two checkpoints: small enough that walking from one costs nothing noticeable, large enough that
/// the table always stays far smaller than the text.
const STRIDE: usize = 4096;

/// A position as editors count it: both numbers from 1, columns in characters. Printed as `line:column`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters (Unicode scalar values). A tab is one character.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Position {
    const START: Self = Self { line: 1, column: 1 };

    /// The position after `text`.
    fn past(self, text: &str) -> Self {
        match memchr::memrchr(b'\n', text.as_bytes()) {
            None => Self {
                column: self.column + text.chars().count(),
                ..self
            },
            Some(last) => {
                let behind = text.get(last + 1..).unwrap_or_default();
                Self {
                    line: self.line + memchr::memchr_iter(b'\n', text.as_bytes()).count(),
                    column: 1 + behind.chars().count(),
                }
            }
        }
    }
}

/// A table that finds the position of any byte of a text in constant time.
#[derive(Debug)]
pub struct Lines<'t> {
    /// The text without its byte order mark.
    text: &'t str,
    /// The length of the byte order mark, which takes no column.
    mark: usize,
    /// The position of the first character of each stride.
    checkpoints: Vec<Position>,
}

impl<'t> Lines<'t> {
    /// Reads through the text once.
    pub fn new(text: &'t str) -> Self {
        let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut checkpoints = vec![Position::START];
        let mut at = Position::START;
        for stride in 1..=unmarked.len() / STRIDE {
            at = at.past(between(unmarked, (stride - 1) * STRIDE, stride * STRIDE));
            checkpoints.push(at);
        }
        Self {
            text: unmarked,
            mark: text.len() - unmarked.len(),
            checkpoints,
        }
    }

    /// The position of the character that begins at byte `offset`; after the text, the position of its end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.saturating_sub(self.mark).min(self.text.len());
        let stride = offset / STRIDE;
        let start = self.checkpoints.get(stride).copied().unwrap_or(Position::START);
        start.past(between(self.text, stride * STRIDE, offset))
    }
}

/// The characters that begin in these bytes.
fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(text.ceil_char_boundary(start)..text.ceil_char_boundary(end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lines: &Lines<'_>, offset: usize) -> (usize, usize) {
        let position = lines.position(offset);
        (position.line, position.column)
    }

    #[test]
    fn columns_count_characters_and_carriage_returns_end_no_line() {
        let text = "a: 1\r\n日本: 🚀x\n\tb";
        let lines = Lines::new(text);
        assert_eq!(place(&lines, 0), (1, 1));
        assert_eq!(place(&lines, text.find('日').unwrap()), (2, 1));
        assert_eq!(place(&lines, text.find('🚀').unwrap()), (2, 5));
        assert_eq!(place(&lines, text.find('x').unwrap()), (2, 6));
        assert_eq!(place(&lines, text.find('b').unwrap()), (3, 2));
        assert_eq!(place(&lines, text.len() + 100), (3, 3));
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        let lines = Lines::new("\u{feff}a");
        assert_eq!(place(&lines, 0), (1, 1));
        assert_eq!(place(&lines, 3), (1, 1));
        assert_eq!(place(&lines, 4), (1, 2));
        assert_eq!(place(&Lines::new(""), 0), (1, 1));
    }

    #[test]
    fn the_table_agrees_with_counting_from_the_start() {
        let text = "é🚀\nxy z\n".repeat(3000);
        let lines = Lines::new(&text);
        let (mut line, mut column) = (1, 1);
        for (offset, character) in text.char_indices() {
            assert_eq!(place(&lines, offset), (line, column), "at {offset}");
            (line, column) = if character == '\n' {
                (line + 1, 1)
            } else {
                (line, column + 1)
            };
        }
        assert_eq!(place(&lines, text.len()), (line, column));
    }
}
