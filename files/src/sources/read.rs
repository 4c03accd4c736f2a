//! Reads text from a file or a pipe, and says which names mean the same file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use poolgate_core::manifest::Limits;
use same_file::Handle;

use super::language::Language;
use crate::terminal;

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file or stream could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is more than [`Limits::bytes`].
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: usize,
    },
    /// It is not text.
    #[error("is not UTF-8: the byte at offset {offset} is invalid")]
    NotUtf8 {
        /// The first byte at fault, from 0.
        offset: usize,
    },
    /// The error of the first attempt to read it.
    #[error("{0}")]
    Held(String),
    /// Text that generates a manifest but is not one.
    #[error("is {}. {}", .0.name(), terminal::capitalised(.0.help()))]
    Foreign(Language),
}

/// More than most files have: a text that fits is read immediately, and one more read finds its end.
const USUAL: usize = 8 << 10;

/// Reads all of `input` as text: no more than a manifest may have.
pub fn read_text(input: impl Read) -> Result<String, ReadError> {
    read_up_to(input, Limits::default().bytes)
}

/// The bytes of a file, unless there are more than `limit`.
pub fn read_bytes(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bound(limit)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// One byte more than the limit, which shows that there are more.
fn bound(limit: usize) -> u64 {
    u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1)
}

/// Reads all of `input` as text, and never more than one byte over the limit.
fn read_up_to(input: impl Read, limit: usize) -> Result<String, ReadError> {
    let mut bytes = Vec::with_capacity(USUAL);
    input.take(bound(limit)).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
        offset: error.utf8_error().valid_up_to(),
    })
}

/// The regular file of this name, which equals that of every other name of it. Nothing else is opened: a pipe would wait.
pub fn handle(path: &Path) -> Option<Handle> {
    path.is_file().then(|| Handle::from_path(path).ok()).flatten()
}

/// The regular file that standard output was redirected to.
pub fn stdout_handle() -> Option<Handle> {
    let stdout = Handle::stdout().ok()?;
    let is_file = stdout
        .as_file()
        .metadata()
        .is_ok_and(|metadata| metadata.is_file());
    is_file.then_some(stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_rejected_at_the_bound() {
        let error = read_up_to(io::repeat(b'a'), 1000).unwrap_err();
        assert!(matches!(error, ReadError::TooLarge { limit: 1000 }));
        assert_eq!(read_up_to(io::repeat(b'a').take(1000), 1000).unwrap().len(), 1000);
    }

    #[test]
    fn what_is_not_utf8_is_named_by_its_first_bad_byte() {
        let error = read_text(b"ab\xff".as_slice()).unwrap_err();
        assert!(matches!(error, ReadError::NotUtf8 { offset: 2 }));
    }
}
