//! AdmissionReview on the wire: bytes in, a verdict with patch or causes out, as bytes.

pub mod answer;
pub mod envelope;
pub mod inquiry;
mod warnings;

use poolgate_core::json::{MOST_PER_BYTE, parsed_size};

pub use answer::{Answer, Summary, Verdict};
pub use envelope::Malformed;
pub use inquiry::About;

/// Whether the objects of a review take no more memory than this. Their text says so before they are built.
pub fn takes_at_most(memory: usize, body: &[u8]) -> bool {
    body.len() <= memory / MOST_PER_BYTE || parsed_size(body) <= memory
}
