//! How long a text may be that is read at all.

/// Longest schedule or duration, in bytes, that is read. Nobody writes one by hand that is a tenth as long, and
/// what is longer would only cost time.
const LONGEST_TEXT: usize = 1_024;

/// What to say of a text that is too long to be read.
pub(in crate::rules) fn too_long(text: &str) -> Option<String> {
    (text.len() > LONGEST_TEXT).then(|| {
        format!(
            "it is {} bytes long, poolgate reads at most {LONGEST_TEXT}",
            text.len()
        )
    })
}
