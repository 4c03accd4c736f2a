//! The programs of others that tests run, which `tests/programs/build` builds.

use std::env;
use std::path::PathBuf;

/// What `tests/programs/build` printed: a directory with the programs in `bin`, Karpenter's custom resource
/// definitions in `crds`, and what kwok does in `stages`.
pub(crate) fn assets() -> PathBuf {
    let directory = env::var_os("POOLGATE_PROGRAMS").expect(
        "POOLGATE_PROGRAMS is not set: this test needs programs of others; run tests/run, which builds them, or set \
         it to what tests/programs/build prints",
    );
    PathBuf::from(directory)
}

/// One of the programs.
pub(crate) fn program(name: &str) -> PathBuf {
    assets().join("bin").join(name)
}
