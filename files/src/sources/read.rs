//! Reads text from a file or a pipe.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use poolgate_core::manifest::Limits;

use super::language::Language;
use super::mention::reads_karpenter;
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
    /// It never names Karpenter's group, so that it is no input. For this reason it is not known as text.
    #[error(transparent)]
    Unrelated(Box<Self>),
}

impl ReadError {
    /// Whether the file has nothing to do with Karpenter, so that nothing is missed without it.
    pub const fn is_unrelated(&self) -> bool {
        matches!(self, Self::Unrelated(_))
    }
}

/// More than most files have: a text that fits is read immediately, and one more read finds its end.
const USUAL: usize = 8 << 10;

/// Reads all of `input` as text: no more than a manifest may have.
pub fn read_text(input: impl Read) -> Result<String, ReadError> {
    read_up_to(input, Limits::default().bytes, Rest::Unread)
}

/// Reads a file that may have nothing to do with Karpenter. A regular file is searched to its end for that.
pub fn read_file(path: &Path) -> Result<String, ReadError> {
    let file = File::open(path)?;
    let is_regular = file.metadata()?.is_file();
    let rest = if is_regular { Rest::Searched } else { Rest::Related };
    read_up_to(file, Limits::default().bytes, rest)
}

/// The same of any source that ends.
pub fn read_finite(input: impl Read) -> Result<String, ReadError> {
    read_up_to(input, Limits::default().bytes, Rest::Searched)
}

/// Reads a stream that may have nothing to do with Karpenter, as far as it is read.
pub fn read_stream(input: impl Read) -> Result<String, ReadError> {
    read_up_to(input, Limits::default().bytes, Rest::Related)
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

/// What is done about an input that is no text, or more than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It is an error.
    Unread,
    /// It is an error if the input names Karpenter, or may do so behind the limit: the input may be endless.
    Related,
    /// It is an error if the input names Karpenter somewhere.
    Searched,
}

/// Reads all of `input` as text. Never keeps more than one byte over the limit.
fn read_up_to(mut input: impl Read, limit: usize, rest: Rest) -> Result<String, ReadError> {
    let mut bytes = Vec::with_capacity(USUAL);
    (&mut input).take(bound(limit)).read_to_end(&mut bytes)?;
    let is_larger = bytes.len() > limit;
    let (error, bytes) = if is_larger {
        (ReadError::TooLarge { limit }, bytes)
    } else {
        match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                (ReadError::NotUtf8 { offset }, error.into_bytes())
            }
        }
    };
    let is_unrelated = match rest {
        Rest::Unread => false,
        Rest::Related => !is_larger && !reads_karpenter(&*bytes)?,
        Rest::Searched => !reads_karpenter((&*bytes).chain(input))?,
    };
    Err(if is_unrelated {
        ReadError::Unrelated(Box::new(error))
    } else {
        error
    })
}

/// The text of a file as far as a manifest may have one, in any encoding that kubectl reads.
pub fn read_lossy(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(bound(Limits::default().bytes))
        .read_to_end(&mut bytes)?;
    let unit = |from: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2);
        let units: Vec<u16> = pairs.filter_map(|pair| pair.try_into().ok().map(from)).collect();
        String::from_utf16_lossy(&units)
    };
    Ok(match &*bytes {
        [0xff, 0xfe, ..] => unit(u16::from_le_bytes),
        [0xfe, 0xff, ..] => unit(u16::from_be_bytes),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_rejected_at_the_bound() {
        for rest in [Rest::Unread, Rest::Related] {
            let error = read_up_to(io::repeat(b'a'), 1000, rest).unwrap_err();
            assert!(matches!(error, ReadError::TooLarge { limit: 1000 }));
            let text = read_up_to(io::repeat(b'a').take(1000), 1000, rest);
            assert_eq!(text.unwrap().len(), 1000);
        }
    }

    #[test]
    fn what_is_not_utf8_is_named_by_its_first_bad_byte() {
        let error = read_text(b"ab\xff".as_slice()).unwrap_err();
        assert!(matches!(error, ReadError::NotUtf8 { offset: 2 }));
    }
}
