//! docs/reference/rules.md, made from the pages of all rules. `tests/generated-files --write` writes it.

use std::fmt::Write as _;

use super::line;
use crate::explain;
use crate::text_rules;

#[test]
fn documentation_of_rules_is_that_of_the_catalogue() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/rules.md");
    let page = page();
    if std::env::var_os("POOLGATE_WRITE").is_some() {
        std::fs::write(file, &page).expect(file);
    }
    let stored = std::fs::read_to_string(file).expect(file);
    assert!(
        stored == page,
        "docs/reference/rules.md is not current: run tests/generated-files --write"
    );
}

/// What comes before the first rule.
const INTRODUCTION: &str = "\
# Rules

Generated from the catalogue by `tests/generated-files --write`; not edited by hand.

An **error** denies the object, a **warning** admits it and is shown to the user, a **note** is shown by `poolgate lint` only.
On an update, an error in a field that the update does not change becomes a warning. A list counts as one field. A policy can
give each rule another severity: see [policy.md](../policy.md).

First come the rules for every field, then those for each part of the spec, then the bounds that only a policy sets
(`policy-…`), then the rules across objects, then those of `poolgate lint` alone, on the text and its comments.
Examples show only the fields that matter. Where an example has two documents, the first is the stored object and the second
its update. For a rule across objects, both exist.

| rule | severity | what it requires |
| --- | --- | --- |";

fn page() -> String {
    let mut output = format!("{INTRODUCTION}\n");
    for (id, severities, title) in text_rules::all().map(line) {
        let _ = writeln!(output, "| [`{id}`](#{id}) | {severities} | {title} |");
    }
    for rule in text_rules::all() {
        let _ = write!(output, "\n## {}\n\n{}", rule.id, explain::markdown(rule));
    }
    output
}
