//! The rules about labels in definitions that providers publish: what the API server's own packages say of a label, and what
//! poolgate says.

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;

use super::program::{Definition, Oracle, question};
use crate::definitions::{PUBLISHED, labels, with_definition};

#[test]
fn labels_are_rejected_as_the_definitions_of_providers_reject_them() {
    for definition in PUBLISHED {
        let pools: Vec<Value> = labels()
            .iter()
            .flat_map(|label| definition.pools(label))
            .collect();
        let questions: Vec<Value> = pools.iter().map(|pool| question("judge", pool, None)).collect();
        let answers = Oracle::with(Definition::Provider(definition.file)).ask(&questions);
        let text = definition.text();
        let document = parse(&text, &Limits::default()).next();
        let installed = with_definition(&document.expect("a definition is a document").into_value());
        let mut rejected = 0;
        for (pool, answer) in pools.iter().zip(answers) {
            let schema = answer.given()["schema"].clone();
            let is_rejected = schema.as_array().is_some_and(|objections| !objections.is_empty());
            rejected += usize::from(is_rejected);
            for ours in definition.rejects(pool, &installed) {
                assert_eq!(ours, is_rejected, "{}: {pool}\n{schema}", definition.file);
            }
        }
        assert!(
            rejected > 50,
            "{} rejects {rejected} of {}",
            definition.file,
            pools.len()
        );
    }
}
