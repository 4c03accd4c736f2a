//! How much is repeated.

use std::env;

/// Whether the long repetitions are wanted: `.ci/nightly`.
pub(crate) fn full() -> bool {
    env::var_os("POOLGATE_TEST_FULL").is_some_and(|value| value == "1")
}
