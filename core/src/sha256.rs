//! SHA-256 in hexadecimal, as `sha256sum` prints it. By `sha2`, which needs no C compiler: the program `poolgate-lint`
//! has no other use for one.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// How many digits of a hash are in a name.
pub const DIGITS: usize = 16;

/// The hash of these bytes.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The first eight bytes of the hash as a number.
pub fn sha256_prefix(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    hash.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A name made of at most `most` bytes of the beginning of `name`, then `separator`, then the first digits of the
/// hash of `of`.
pub fn hashed_name(name: &str, most: usize, separator: char, of: &str) -> String {
    let mut beginning = name.get(..name.floor_char_boundary(most)).unwrap_or_default();
    beginning = beginning.trim_end_matches(['.', '-']);
    let mut hash = sha256(of.as_bytes());
    hash.truncate(DIGITS);
    format!("{beginning}{separator}{hash}")
}
