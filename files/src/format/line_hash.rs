//! The hash by which code scanning of GitHub recognises a line when others have moved it. Its upload action computes the same
//! one and warns of another value; an upload through the API computes none.

use std::collections::HashMap;

/// How many characters count, from the beginning of the line on; blanks and tabs do not.
const LENGTH: usize = 100;

/// The base of the polynomial.
const BASE: u64 = 37;

/// Stands for the end of the text.
const END: u16 = u16::MAX;

/// The hash of each line.
#[derive(Debug)]
pub struct LineHashes(Vec<String>);

impl LineHashes {
    pub fn of(text: &str) -> Self {
        let (units, starts) = counted_units(text);
        let mut met: HashMap<u64, usize> = HashMap::new();
        let hashes = starts.into_iter().map(|start| {
            let rest = units.iter().skip(start).chain(std::iter::repeat(&0));
            let hash = rest.take(LENGTH).fold(0_u64, |hash, unit| {
                hash.wrapping_mul(BASE).wrapping_add(u64::from(*unit))
            });
            let times = met.entry(hash).or_default();
            *times += 1;
            format!("{hash:x}:{times}")
        });
        Self(hashes.collect())
    }

    /// The hash of a line, counted from 1.
    pub fn of_line(&self, line: usize) -> Option<&str> {
        self.0.get(line.checked_sub(1)?).map(String::as_str)
    }
}

/// The UTF-16 units that count, with one for the end, and where the lines begin among them. Every line end is one `\n`.
fn counted_units(text: &str) -> (Vec<u16>, Vec<usize>) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut units = Vec::with_capacity(text.len() + 1);
    let mut starts = vec![0];
    for unit in text.encode_utf16() {
        if unit == u16::from(b' ') || unit == u16::from(b'\t') {
            continue;
        }
        units.push(unit);
        if unit == u16::from(b'\n') {
            starts.push(units.len());
        }
    }
    units.push(END);
    (units, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that GitHub's upload action computes.
    #[test]
    fn hashes_are_those_of_githubs_upload_action() {
        let greetings = [
            "e9496ae3ebfced30:1",
            "fb7c023a8b9ccb3f:1",
            "ce8ba1a563dcdaca:1",
            "e20e36e16fcb0cc8:1",
            "b3edc88f2938467e:1",
            "c8e28b0b4002a3a0:1",
            "c129715d7a2bc9a3:1",
        ];
        let with = |end: &str| [" hello; \t", "world!!!", "", "", "  \t\tGreetings", " End", ""].join(end);
        assert_eq!(LineHashes::of("").0, ["c129715d7a2bc9a3:1"]);
        for end in ["\n", "\r", "\r\n"] {
            assert_eq!(LineHashes::of(&with(end)).0, greetings, "{end:?}");
        }
        assert_eq!(
            LineHashes::of(" a\nb\n  \t\tc\n d").0,
            [
                "271789c17abda88f:1",
                "54703d4cd895b18:1",
                "180aee12dab6264:1",
                "a23a3dc5e078b07b:1"
            ]
        );
    }

    #[test]
    fn equal_lines_are_counted() {
        let text = "x\n".repeat(250);
        let lines = LineHashes::of(&text);
        let first = lines.of_line(1).and_then(|hash| hash.split_once(':'));
        let second = lines.of_line(2).and_then(|hash| hash.split_once(':'));
        assert_eq!(first.map(|(hash, _)| hash), second.map(|(hash, _)| hash));
        assert_eq!(first.map(|(_, times)| times), Some("1"));
        assert_eq!(second.map(|(_, times)| times), Some("2"));
        assert_eq!(lines.of_line(0), None);
    }
}
