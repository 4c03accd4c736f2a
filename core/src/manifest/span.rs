//! A range of bytes in a manifest.

use std::ops::Range;

/// A half-open range of bytes in the text that was parsed. Empty for a value that is not written, such as
/// the null after `key:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    // Four bytes each, because every node of a document carries one; parsing rejects longer texts.
    start: u32,
    end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        Self {
            start,
            end: end.max(start),
        }
    }

    /// The offset of its first byte in the text.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The first byte after it.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// As a range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// Whether it holds no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The text it covers; empty if it does not belong to `text`.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    pub(crate) fn ending_at(self, end: usize) -> Self {
        Self::new(self.start(), end)
    }
}
