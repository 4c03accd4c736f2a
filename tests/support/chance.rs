//! Chance that can be had again.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Random numbers from a seed that is printed, and can be passed again in the environment.
pub(crate) fn random() -> StdRng {
    let seed = env::var("POOLGATE_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.expect("a clock after 1970").as_secs()
    });
    println!("POOLGATE_TEST_SEED={seed}");
    StdRng::seed_from_u64(seed)
}
