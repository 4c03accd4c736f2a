//! The denial in the first week is what kubectl prints.

use super::shared::published;
use crate::support::readme::block_of;

const PAGE: &str = include_str!("../../../docs/first-week.md");
const COMMAND: &str = "$ kubectl apply --dry-run=server -f docs/examples/frozen.yaml\n";
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/frozen.yaml");

#[test]
fn the_first_week_shows_what_kubectl_prints() {
    let shared = published();
    // As the pool of the example is called.
    shared.ask_about("frozen");
    let answer = shared
        .plane
        .kubectl(&["apply", "--dry-run=server", "-f", FILE], "");
    assert_eq!(
        block_of(PAGE, "console", COMMAND),
        format!("{COMMAND}{}", answer.stderr)
    );
}
