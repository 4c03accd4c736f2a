//! Which comments are read at all.

use poolgate_core::manifest::Limits;

use super::{rendered, suppress};

/// How a text is parsed: comments take a tenth of the time, and without one of these marks lint needs none of them.
pub fn limits(text: &str) -> Limits {
    let limits = Limits::default();
    if [suppress::MARK, rendered::HELM]
        .iter()
        .any(|mark| text.contains(mark))
    {
        limits
    } else {
        Limits {
            comments: 0,
            ..limits
        }
    }
}
