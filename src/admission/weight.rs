//! How much memory an object takes once it is built, computed from its text: a megabyte of small objects becomes a
//! hundred megabytes of objects.

use std::borrow::Cow;

use poolgate_core::json::Json;

/// How much the objects of one review may take. The largest NodePools in use take a hundredth of it.
pub(super) const LIMIT: usize = 24 * 1024 * 1024;

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
const MOST_PER_BYTE: usize = (OBJECT + STRING + ENTRY + LIST) / 5 + 1;

/// How much a review may take that is answered at once, beside others.
const LIGHT: usize = 4 * 1024 * 1024;

/// The longest text that is examined for this.
const SHORT: usize = 1024 * 1024;

/// Whether a review is like thousands of others, in memory and in time.
pub(crate) fn is_light(body: &[u8]) -> bool {
    body.len() <= SHORT && at_most(LIGHT, body)
}

/// Whether the objects of a review may be built.
pub(super) fn fits(body: &[u8]) -> bool {
    at_most(LIMIT, body)
}

fn at_most(limit: usize, text: &[u8]) -> bool {
    text.len() <= limit / MOST_PER_BYTE || weight(text) <= limit
}

/// The bytes that a JSON text takes as [`Json`].
fn weight(json: &[u8]) -> usize {
    let mut weight = size_of::<Json<'_>>();
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        weight += match byte {
            b'{' => OBJECT,
            b'[' => LIST,
            b':' => ENTRY,
            b',' => ELEMENT,
            b'"' => STRING + string_length(&mut bytes),
            _ => 0,
        };
    }
    weight
}

/// The bytes up to the end of a string whose first quote was taken.
fn string_length(bytes: &mut std::slice::Iter<'_, u8>) -> usize {
    let before = bytes.len();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    before - bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_string_weighs_its_length_and_no_more() {
        let plain = weight(br#"["xxxx"]"#);
        assert_eq!(weight(br#"["{[:,"]"#), plain);
        assert_eq!(weight(br#"["\"{\\"]"#), plain + 1);
        assert!(weight(br#"["xxxx",{}]"#) > plain + OBJECT);
    }

    #[test]
    fn no_text_weighs_more_than_its_length_allows() {
        for piece in ["{},", "[],", r#"{"":0},"#, "0,", r#""","#, r#"{"":["#] {
            let text = piece.repeat(1000);
            let weight = weight(text.as_bytes());
            assert!(weight <= text.len() * MOST_PER_BYTE, "{piece}: {weight}");
        }
    }

    #[test]
    fn a_usual_review_is_light_and_one_of_many_objects_is_not() {
        let objects = |count: usize| format!("[{}0]", "{\"a\":1},".repeat(count));
        assert!(is_light(objects(100).as_bytes()));
        assert!(is_light(&vec![b' '; 100_000]));
        assert!(!is_light(objects(10_000).as_bytes()));
        assert!(!is_light(&vec![b' '; SHORT + 1]));
    }
}
