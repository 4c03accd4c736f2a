//! The length limit of schedules and durations.

/// Longest schedule or duration, in bytes, that is read. One written by hand is not a tenth as long, and reading
/// a longer one only costs time.
pub const LONGEST_TEXT: usize = 1_024;

/// The reason to report if a text is too long to be read.
pub fn too_long(text: &str) -> Option<String> {
    (text.len() > LONGEST_TEXT).then(|| {
        format!(
            "it is {} bytes long; poolgate reads at most {LONGEST_TEXT}",
            text.len()
        )
    })
}
