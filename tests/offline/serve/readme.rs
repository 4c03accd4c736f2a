//! The example request in the README gets the answer that the README describes.

use std::process::Command;

use serde_json::Value;

use crate::support::files::directory;
use crate::support::poolgate::Poolgate;
use crate::support::process::run;
use crate::support::program::root;
use crate::support::readme::block;

#[test]
fn the_readmes_first_commands_get_the_answer_that_it_describes() {
    let serve = block("sh", "cargo run --release -- ");
    assert_eq!(
        serve.trim(),
        "cargo run --release -- serve --self-signed --no-cluster --ca-out ca.crt"
    );
    let poolgate = Poolgate::serve();
    let place = directory(&[("ca.crt", &poolgate.ca())]);
    std::os::unix::fs::symlink(root().join("docs"), place.path().join("docs")).expect("a link");
    let request = block("sh", "curl ").replace("127.0.0.1:8443", &poolgate.admission().to_string());
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &request])
        .current_dir(place.path())
        .env("no_proxy", "*");
    let answer = run(&mut shell, "").success();
    assert_eq!(answer.lines().count(), 1, "the answer is one line");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["response"]["allowed"], false);
    let causes = &answer["response"]["status"]["details"]["causes"];
    assert_eq!(causes.as_array().map(Vec::len), Some(5), "{causes:#}");
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
