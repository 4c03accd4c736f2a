//! Whether a file names Karpenter's group, whatever its size and encoding: one that does not concerns nobody here.

use std::io::{self, Read};

use poolgate_core::facts::GROUP;

/// How much is searched at a time. An even number, so that no unit of UTF-16 is split.
const CHUNK: u64 = 64 << 10;

/// The longest way to write the group: every letter as `\UXXXXXXXX`.
const LONGEST: usize = GROUP.len() * 10;

/// How the units of a text are stored, by its byte order mark. kubectl reads these three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    fn of(beginning: &[u8]) -> Self {
        match beginning {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Adds the text of some bytes, a byte for each unit. What is not ASCII becomes a byte that no text has.
    fn decode(self, bytes: &[u8], text: &mut Vec<u8>) {
        let unit = |pair: &[u8]| match (self, pair) {
            (Self::Utf16Le, [unit, 0]) | (Self::Utf16Be, [0, unit]) => *unit,
            _ => 0xff,
        };
        match self {
            Self::Utf8 => text.extend_from_slice(bytes),
            _ => text.extend(bytes.chunks(2).map(unit)),
        }
    }
}

/// Whether a text names the group `karpenter.sh`, also with the escapes of JSON and YAML.
pub fn names_karpenter(text: &str) -> bool {
    text.contains(GROUP) || (text.contains('\\') && has_name(text.as_bytes()))
}

/// The same of a text in any encoding that kubectl reads. Reads no more than it must.
pub fn reads_karpenter(mut input: impl Read) -> io::Result<bool> {
    let mut text = Vec::new();
    let mut encoding = None;
    loop {
        let mut bytes = Vec::new();
        (&mut input).take(CHUNK).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let encoding = *encoding.get_or_insert_with(|| Encoding::of(&bytes));
        encoding.decode(&bytes, &mut text);
        if has_name(&text) {
            return Ok(true);
        }
        // The name may continue in the next chunk.
        text.drain(..text.len().saturating_sub(LONGEST));
    }
}

fn has_name(text: &[u8]) -> bool {
    let first = GROUP.as_bytes().first();
    let mut starts = text.iter().enumerate();
    starts.any(|(start, byte)| {
        (Some(byte) == first || *byte == b'\\') && text.get(start..).is_some_and(begins_with_name)
    })
}

fn begins_with_name(mut text: &[u8]) -> bool {
    GROUP.bytes().all(|letter| match character(text) {
        Some((code, rest)) => {
            text = rest;
            code == u32::from(letter)
        }
        None => false,
    })
}

/// The first character of a text, as it is or escaped, and the rest.
fn character(text: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = text.split_first()?;
    if *first != b'\\' {
        return Some((u32::from(*first), rest));
    }
    let (kind, rest) = rest.split_first()?;
    let digits = match kind {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let (digits, rest) = rest.split_at_checked(digits)?;
    let digits = str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(bytes).collect()
    }

    #[test]
    fn the_name_is_found_in_each_encoding_that_kubectl_reads_and_behind_escapes() {
        let names = |bytes: &[u8]| reads_karpenter(bytes).expect("it is read");
        let pool = "# é\napiVersion: karpenter.sh/v1\n";
        assert!(names(pool.as_bytes()));
        assert!(names(b"# \xe9\napiVersion: karpenter.sh/v1\n"));
        assert!(names(&utf16(pool, u16::to_le_bytes)));
        assert!(names(&utf16(pool, u16::to_be_bytes)));
        for written in [
            r"karpenter\u002esh",
            r"\x6barpenter.sh",
            r"karpenter\U0000002esh",
            r"\\karpenter.sh",
        ] {
            assert!(names(written.as_bytes()), "{written}");
        }
        for other in [
            "",
            "karpenter.k8s.aws/v1",
            r"karpenter\u002fsh",
            r"karpenter\",
            "karpenter.s",
        ] {
            assert!(!names(other.as_bytes()), "{other}");
            assert!(!names(&utf16(other, u16::to_le_bytes)), "{other}");
        }
        assert!(!names(&[0xff, 0xfe, b'k']), "half a unit");
    }

    #[test]
    fn a_name_may_cross_the_border_of_two_chunks() {
        let chunk = usize::try_from(CHUNK).expect("a size");
        for written in [GROUP.to_owned(), r"\U0000006b".to_owned() + "arpenter.sh"] {
            for before in chunk - written.len()..=chunk {
                let text = "x".repeat(before) + &written;
                assert!(reads_karpenter(text.as_bytes()).expect("it is read"), "{before}");
                let text = utf16(&"x".repeat(before / 2), u16::to_le_bytes);
                let text = [&text[..], &utf16(&written, u16::to_le_bytes)[2..]].concat();
                assert!(reads_karpenter(&*text).expect("it is read"), "{before}");
            }
        }
    }
}
