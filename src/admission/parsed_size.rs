//! How much memory a review may take. The texts of objects say how much it will be, before they are built.

use poolgate_core::json::{MOST_PER_BYTE, parsed_size};

/// How much the objects of one review may take. The largest NodePools in use take a hundredth of it.
pub const LIMIT: usize = 24 * 1024 * 1024;

/// How much a review may take that is answered at once, beside others.
const LIGHT: usize = 4 * 1024 * 1024;

/// The longest text that is examined for this.
const SHORT: usize = 1024 * 1024;

/// Whether a review is like thousands of others, in memory and in time.
pub fn is_light(body: &[u8]) -> bool {
    body.len() <= SHORT && at_most(LIGHT, body)
}

/// Whether the objects of a review may be built.
pub fn fits(body: &[u8]) -> bool {
    at_most(LIMIT, body)
}

fn at_most(limit: usize, text: &[u8]) -> bool {
    text.len() <= limit / MOST_PER_BYTE || parsed_size(text) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_review_is_light_and_one_of_many_objects_is_not() {
        let objects = |count: usize| format!("[{}0]", "{\"a\":1},".repeat(count));
        assert!(is_light(objects(100).as_bytes()));
        assert!(is_light(&vec![b' '; 100_000]));
        assert!(!is_light(objects(10_000).as_bytes()));
        assert!(!is_light(&vec![b' '; SHORT + 1]));
    }
}
