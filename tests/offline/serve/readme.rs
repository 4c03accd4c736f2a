//! The example request in the README gets the answer that the README shows.

use serde_json::Value;

use super::client::Connection;
use crate::support::poolgate::Poolgate;
use crate::support::readme::block;

#[test]
fn the_readme_shows_what_the_example_request_is_answered() {
    let review = include_bytes!("../../../docs/examples/five-mistakes.review.json");
    let answer = Connection::to(&Poolgate::serve()).post("/validate", review);
    let shown: Value = serde_json::from_str(block("json", "{")).expect("the README shows JSON");
    assert_eq!(answer.json()["response"]["allowed"], false);
    assert_eq!(answer.json()["response"]["status"]["details"], shown);
}

#[test]
fn the_example_request_carries_the_example_file() {
    let review = include_str!("../../../docs/examples/five-mistakes.review.json");
    let review: Value = serde_json::from_str(review).expect("JSON");
    let text = include_str!("../../../docs/examples/five-mistakes.yaml");
    let file = poolgate_core::manifest::parse(text, &poolgate_core::manifest::Limits::default()).next();
    let file = file.expect("a document").into_value();
    assert_eq!(review["request"]["object"], file);
}
