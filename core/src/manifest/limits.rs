//! How much of a manifest poolgate reads.

/// Bounds on one text. The values of [`Limits::default`] are far above what a cluster would accept (the API server
/// rejects requests over 3 MiB) and keep the worst text within a second and some 100 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest text, in bytes.
    pub bytes: usize,
    /// Most documents in one text.
    pub documents: usize,
    /// Most keys and values in one document, as written.
    pub nodes: usize,
    /// Deepest nesting, aliases followed.
    pub depth: usize,
    /// Most comments in one document. With 0 no comment is kept, and reading is a tenth faster.
    pub comments: usize,
    /// Most keys and values that aliases may add to one document.
    pub alias_nodes: usize,
    /// Most bytes of text that aliases may add to one document.
    pub alias_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            documents: 100_000,
            nodes: 1_000_000,
            depth: 255,
            comments: 200_000,
            alias_nodes: 100_000,
            alias_bytes: 16 << 20,
        }
    }
}
