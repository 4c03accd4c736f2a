//! Positions as the protocol counts them: lines from 0, and UTF-16 units in a line. A line ends with `\n`, `\r\n` or `\r`.

use lsp_types::{Position, Range};
use poolgate_core::manifest::Span;

/// A table from bytes to positions and back.
#[derive(Debug)]
pub struct Positions<'t> {
    text: &'t str,
    /// The first byte of each line.
    starts: Vec<usize>,
}

impl<'t> Positions<'t> {
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The position of the character at this byte.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self
            .starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let units = self.text.get(start..offset).unwrap_or_default().encode_utf16();
        Position::new(number(line), number(units.count()))
    }

    /// The byte at a position. One behind the end of a line is that end, and one behind the last line the end of the text.
    pub fn offset(&self, at: Position) -> usize {
        let Some(line) = self.line(at.line) else {
            return self.text.len();
        };
        let mut units = at.character;
        let mut offset = line.start();
        for character in line.slice(self.text).chars() {
            // A position inside a character is that of the character.
            let Some(left) = units.checked_sub(number(character.len_utf16())) else {
                break;
            };
            units = left;
            offset += character.len_utf8();
        }
        offset
    }

    /// A line without its end.
    fn line(&self, line: u32) -> Option<Span> {
        let line = usize::try_from(line).ok()?;
        let start = *self.starts.get(line)?;
        let next = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..next)?;
        Some(Span::new(
            start,
            start + text.trim_end_matches(['\r', '\n']).len(),
        ))
    }

    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start()), self.position(span.end()))
    }
}

/// No text has as many lines.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_units_whatever_ends_a_line() {
        let text = "a: 1\r\n日本: 🚀x\n\tb\rc";
        let positions = Positions::new(text);
        for (word, line, character) in [
            ("a", 0, 0),
            ("日", 1, 0),
            ("🚀", 1, 4),
            ("x", 1, 6),
            ("b", 2, 1),
            ("c", 3, 0),
        ] {
            let offset = text.find(word).unwrap();
            let position = Position::new(line, character);
            assert_eq!(positions.position(offset), position, "{word}");
            assert_eq!(positions.offset(position), offset, "{word}");
        }
    }

    #[test]
    fn a_position_outside_of_the_text_is_the_nearest_one_inside() {
        let text = "a🚀\r\nb\n";
        let positions = Positions::new(text);
        for (line, character, offset) in [(0, 2, 1), (0, 99, 5), (1, u32::MAX, 8), (2, 0, 9), (99, 7, 9)] {
            assert_eq!(
                positions.offset(Position::new(line, character)),
                offset,
                "{line}:{character}"
            );
        }
        assert_eq!(
            positions.position(3),
            Position::new(0, 1),
            "inside of a character"
        );
        assert_eq!(positions.position(1000), Position::new(2, 0));
    }
}
