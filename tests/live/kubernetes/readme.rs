//! The picture in the README is what kubectl prints.

use super::shared::published;
use crate::support::readme;

const COMMAND: &str = "$ kubectl apply -f docs/examples/five-mistakes.yaml\n";
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/five-mistakes.yaml");

#[test]
fn the_readme_shows_what_kubectl_prints() {
    let shared = published();
    // As the pool of the example is called.
    shared.ask_about("general");
    let answer = shared.plane.kubectl(&["apply", "-f", FILE], "");
    // kubectl leaves a blank at the end of its headline.
    let printed = answer.stderr.replace(" \n", "\n");
    assert_eq!(readme::block("console", COMMAND), format!("{COMMAND}{printed}"));
}
