//! How many cases to run, and with which seed.

use std::env;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;
use std::process::Command;
use std::sync::OnceLock;

/// How many cases to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) seed: u64,
    pub(crate) first: u64,
    pub(crate) cases: u64,
}

impl Effort {
    /// `bounded` cases, or `full` for a full run; `POOLGATE_ORACLE_CASES` overrides both, `POOLGATE_ORACLE_CASE`
    /// selects one.
    pub(crate) fn wanted(bounded: u64, full: u64) -> Self {
        let seed = seed();
        if let Some(first) = number("POOLGATE_ORACLE_CASE") {
            return Self {
                seed,
                first,
                cases: 1,
            };
        }
        let usual = if is_full() { full } else { bounded };
        let cases = number("POOLGATE_ORACLE_CASES").unwrap_or(usual);
        Self {
            seed,
            first: 0,
            cases,
        }
    }

    /// Whether all cases run, not only a selected one.
    pub(crate) fn is_whole(self) -> bool {
        self.first == 0
    }
}

/// Whether this is a full run.
pub(crate) fn is_full() -> bool {
    is_set("POOLGATE_TEST_FULL")
}

/// Whether a variable is set to `1`.
pub(crate) fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| value == "1")
}

/// The seed of all tests of this run.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = number("POOLGATE_ORACLE_SEED").unwrap_or_else(random);
        tell(&format!(
            "seed {seed}, commit {}; POOLGATE_ORACLE_SEED={seed} asks the same again",
            commit()
        ));
        seed
    })
}

/// A number that differs in each process, and is short enough to type.
fn random() -> u64 {
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

/// Prints a text even if no test fails: the test harness captures the output of `println`.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "oracle: {text}");
}

/// The commit that is checked out, because cases depend on the code that makes them.
fn commit() -> String {
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--exclude=*"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let described = described.ok().filter(|output| output.status.success());
    described.map_or_else(
        || "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}
