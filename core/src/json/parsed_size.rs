//! How much memory an object takes once it is built, computed from its text: a megabyte of small objects becomes a
//! hundred megabytes of objects.

use std::borrow::Cow;

use memchr::memchr2;

use super::Json;

/// An object's first allocation, which has room for four entries, with what the allocator adds.
const OBJECT: usize = 4 * size_of::<(Cow<'_, str>, Json<'_>)>() + 16;

/// An entry of an object, which may have grown to twice what it needs.
const ENTRY: usize = 2 * size_of::<(Cow<'_, str>, Json<'_>)>();

/// A list's first allocation.
const LIST: usize = 4 * size_of::<Json<'_>>() + 16;

/// An element of a list, which may have grown to twice what it needs.
const ELEMENT: usize = 2 * size_of::<Json<'_>>();

/// A string beside its text, if it has to be copied because of an escape.
const STRING: usize = 32;

/// The most memory that a byte of JSON can take: that of the five bytes of a list in an object.
pub const MOST_PER_BYTE: usize = (OBJECT + STRING + ENTRY + LIST) / 5 + 1;

/// The most bytes that a JSON text takes as [`Json`].
pub fn parsed_size(json: &[u8]) -> usize {
    let mut size = size_of::<Json<'_>>();
    let mut rest = json;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        size += match byte {
            b'{' => OBJECT,
            b'[' => LIST,
            b':' => ENTRY,
            b',' => ELEMENT,
            b'"' => {
                let length = string_length(rest);
                rest = rest.get(length..).unwrap_or_default();
                STRING + length
            }
            _ => 0,
        };
    }
    size
}

/// The bytes up to the end of a string that begins before them.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(found) = memchr2(b'"', b'\\', rest)
    {
        if rest.get(found) == Some(&b'"') {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_a_string_counts_only_by_its_length() {
        let plain = parsed_size(br#"["xxxx"]"#);
        assert_eq!(parsed_size(br#"["{[:,"]"#), plain);
        assert_eq!(parsed_size(br#"["\"{\\"]"#), plain + 1);
        assert!(parsed_size(br#"["xxxx",{}]"#) > plain + OBJECT);
        for unfinished in [&br#"""#[..], br#""\"#, br#""xx\""#] {
            assert!(parsed_size(unfinished) < plain, "{unfinished:?}");
        }
    }

    #[test]
    fn no_text_counts_more_than_its_length_allows() {
        for piece in ["{},", "[],", r#"{"":0},"#, "0,", r#""","#, r#"{"":["#] {
            let text = piece.repeat(1000);
            let size = parsed_size(text.as_bytes());
            assert!(size <= text.len() * MOST_PER_BYTE, "{piece}: {size}");
        }
    }
}
