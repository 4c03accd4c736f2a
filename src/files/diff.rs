//! What would change in a file.

use diffy::DiffOptions;

/// The difference between an old and a new text, as `patch -p0` reads it.
pub(crate) fn diff(name: &str, with: &str, before: &str, after: &str) -> String {
    DiffOptions::new()
        .set_original_filename(name.to_owned())
        .set_modified_filename(format!("{name} with {with}"))
        .create_patch(before, after)
        .to_string()
}
